"""BPA-S takes the step of PA-I, and gives up the vector with which that changes the model least."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.learners.contract.learner import codes_of
from olscale.learners.kernel.bpas import BPAS
from tests.learners.exact import WIDTH, exact_rows, noted, params_of, rows_of_file
from tests.learners.kernel_oracle import (
    FORMS,
    Oracle,
    assert_equal_to_oracle,
    clusters,
    vectors,
)


@pytest.mark.parametrize(
    "row", [pytest.param(r, id="-".join([*r.values()][:5])) for r in exact_rows("bpas")]
)
def test_exact(row: dict[str, str]) -> None:
    X, y = rows_of_file(row["dataset"], row["order"])
    learner = BPAS(**params_of(row))
    learner.begin(WIDTH[row["dataset"]], 2)
    scores = learner.learn(X, y)
    assert int((codes_of(scores) != y).sum()) == int(row["mistakes"])
    _, alpha = vectors(learner)
    assert alpha.sum() == pytest.approx(noted(row, "sum alpha"), rel=1e-9)
    assert (alpha**2).sum() == pytest.approx(noted(row, "sum alpha^2"), rel=1e-9)
    if row["norm_w"]:
        assert scores.sum() == pytest.approx(noted(row, "sum of scores"), rel=1e-9)
        assert learner.measures()["norm_w"] == pytest.approx(
            float(row["norm_w"]), rel=1e-9
        )


def _bpas(C: float, B: int) -> Callable[..., None]:
    """Return the update that compares the change of the model for every vector; of equal ones the first goes."""

    def update(
        model: Oracle,
        x: np.ndarray,
        target: np.ndarray,
        margin: np.ndarray,
        wrong: np.ndarray,
    ) -> None:
        loss = np.where(target != 0.0, np.maximum(0.0, 1.0 - margin), 0.0)
        if not loss.any():
            return
        step = target * np.minimum(C, loss / (2.0 if model.pair else 1.0))
        if len(model.vectors) < B:
            model.keep(x, step)
            return
        k = model.k(x)[:, None]
        old = np.array(model.alpha)
        new = step + k * old
        # |new x - old s|^2 in the space of the kernel
        change = (old**2 - 2.0 * old * new * k + new**2).sum(axis=1)
        slot = int(np.flatnonzero(change <= change.min() + 1e-11)[0])
        model.keep(x, new[slot], slot)

    return update


@pytest.mark.parametrize(("classes", "multiclass"), FORMS)
@pytest.mark.parametrize("B", [1, 7, 200])
def test_scores_are_those_of_the_plain_update(
    B: int, classes: int, multiclass: str
) -> None:
    assert_equal_to_oracle(
        "bpas", {"B": B, "C": 0.4}, _bpas(0.4, B), classes, multiclass
    )


@given(
    st.integers(1, 20), st.floats(0.05, 2.0), st.floats(0.05, 5.0), st.integers(0, 99)
)
def test_a_row_is_scored_by_its_step_more_whatever_goes(
    B: int, C: float, gamma: float, seed: int
) -> None:
    """And there are never more vectors than the budget."""
    X, y = clusters(2, 60, seed)
    learner = BPAS(C=C, B=B, gamma=gamma)
    learner.begin(X.shape[1], 2)
    for i in range(len(y)):
        before = learner.learn(X[i : i + 1], y[i : i + 1])[0, 0]
        sign = 2.0 * y[i] - 1.0
        after = before + sign * min(C, max(0.0, 1.0 - sign * before))
        assert learner.scores(X[i : i + 1])[0, 0] == pytest.approx(
            after, rel=1e-9, abs=1e-9
        )
    assert learner.measures()["support_vectors"] <= B
