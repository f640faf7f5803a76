"""The Forgetron against plain numpy, whose phi is a root found in another way, and what it guarantees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.errors import ParameterError
from olscale.learners.kernel.forgetron import Forgetron
from olscale.learners.kernel.kernels import KERNELS
from tests.learners.kernel_oracle import FORMS, Oracle, assert_equal_to_oracle, clusters


def _update(B: int, phis: list[float]):  # type: ignore[no-untyped-def]
    damage = 0.0
    mistakes = 0

    def update(
        model: Oracle,
        x: np.ndarray,
        target: np.ndarray,
        margin: np.ndarray,
        wrong: np.ndarray,
    ) -> None:
        nonlocal damage, mistakes
        del wrong
        if not (margin <= 0).any():
            return
        mistakes += 1
        model.keep(x, target * (margin <= 0))
        if len(model.vectors) <= B:
            return
        oldest = model.alpha[0]
        delta = np.abs(oldest).max()
        mu = np.sign(oldest) @ model.f(model.vectors[0])[0] / np.count_nonzero(oldest)

        def psi(phi: float) -> float:
            return (delta * phi) ** 2 + 2 * delta * phi * (1 - phi * mu)

        low = 0.0
        high = 1.0
        if damage + psi(1.0) > 15 / 32 * mistakes:
            for _ in range(200):
                middle = (low + high) / 2
                low, high = (
                    (middle, high)
                    if damage + psi(middle) <= 15 / 32 * mistakes
                    else (low, middle)
                )
        phis.append(high)
        damage += psi(high)
        model.scale(high)
        del model.vectors[0], model.alpha[0]

    return update


@pytest.mark.parametrize(
    ("classes", "multiclass"), [form for form in FORMS if form[1] == "max-score"]
)
@pytest.mark.parametrize("B", [1, 12])
def test_scores_are_those_of_the_plain_update(
    B: int, classes: int, multiclass: str
) -> None:
    phis: list[float] = []
    assert_equal_to_oracle("forgetron", {"B": B}, _update(B, phis), classes, multiclass)
    assert min(phis) < 1.0


@given(
    st.integers(1, 20),
    st.sampled_from(KERNELS),
    st.floats(0.01, 5),
    st.integers(2, 3),
    st.integers(0, 99),
)
def test_the_model_fades_no_more_than_it_must(
    B: int, kernel: str, gamma: float, classes: int, seed: int
) -> None:
    """Phi is in (0, 1] and Q at most 15/32 M, where phi < 1 just that; the vectors are the last B."""
    X, y = clusters(classes, rows=60, seed=seed)
    learner = Forgetron(B=B, kernel=kernel, gamma=gamma)
    learner.begin(4, classes)
    for i in range(len(y)):
        before = learner.state()
        learner.learn(X[i : i + 1], y[i : i + 1])
        damage, mistakes = learner.state_["memory"][0]
        assert damage <= 15 / 32 * mistakes
        phi = learner.state_["scale"][0] / before["scale"][0]
        assert 0.0 < phi <= 1.0
        if phi < 1.0:
            assert damage == pytest.approx(15 / 32 * mistakes)
        there, ever = learner.state_["counts"][[0, 2]]
        assert sorted(learner.state_["born"][:there]) == list(
            range(ever - min(B, ever), ever)
        )


def test_classes_cannot_be_learned_apart() -> None:
    with pytest.raises(
        ParameterError, match="multiclass was 'ova', expected one of 'max-score'"
    ):
        Forgetron(multiclass="ova").resolved_params()
