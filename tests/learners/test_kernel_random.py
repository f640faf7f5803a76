"""RBP and BOGD against plain numpy: by victims of a formula on real data, by those that are drawn against the learners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.compiled.csr import to_dense
from olscale.errors import ParameterError
from olscale.learners.kernel.bogd import BOGD
from olscale.learners.kernel.rbp import RBP
from tests.learners.exact import WIDTH, exact_rows, params_of, rows_of_file
from tests.learners.kernel_oracle import FORMS, Oracle, assert_equal_to_oracle, clusters

Draw = Callable[[Oracle, int], int]


def _rbp(B: int, draw: Draw):  # type: ignore[no-untyped-def]
    def update(
        model: Oracle,
        x: np.ndarray,
        target: np.ndarray,
        margin: np.ndarray,
        wrong: np.ndarray,
    ) -> None:
        del margin
        if (wrong & (target != 0)).any():
            model.keep(
                x, target * wrong, draw(model, B) if len(model.vectors) == B else None
            )

    return update


def _bogd(
    B: int, eta: float, lam: float, clip: float, draw: Draw, rescale: bool = True
):  # type: ignore[no-untyped-def]
    def update(
        model: Oracle,
        x: np.ndarray,
        target: np.ndarray,
        margin: np.ndarray,
        wrong: np.ndarray,
    ) -> None:
        del wrong
        hit = (margin <= 1) & (target != 0)
        slot = draw(model, B) if hit.any() and len(model.vectors) == B else None
        model.scale(
            (1 - eta * lam) * (B / (B - 1) if rescale and slot is not None else 1)
        )
        if hit.any():
            model.keep(x, eta * target * hit, slot)
            largest = np.abs(model.alpha).max(axis=0 if not model.pair else None)
            model.scale(np.minimum(1, eta * clip / np.maximum(largest, 1e-300)))

    return update


def _formula() -> Draw:
    numbers: Iterator[int] = iter(range(10**9))

    def draw(model: Oracle, B: int) -> int:
        del model
        j = next(numbers)
        return ((7919 * j + 31 * j * j) % 10007) % B

    return draw


def _philox(seed: int) -> Draw:
    """Return draws by the row's number, as Salmon et al. print their generator."""
    key = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed]))).integers(
        0, 2**32, 2
    )

    def draw(model: Oracle, B: int) -> int:
        c, (k0, k1) = (model.t, 0, 0, 0), map(int, key)
        for _ in range(10):
            a = 0xD2511F53 * c[0]
            b = 0xCD9E8D57 * c[2]
            c = ((b >> 32) ^ c[1] ^ k0, b % 2**32, (a >> 32) ^ c[3] ^ k1, a % 2**32)
            k0 = (k0 + 0x9E3779B9) % 2**32
            k1 = (k1 + 0xBB67AE85) % 2**32
        return c[0] * B >> 32

    return draw


ROWS = [row for row in exact_rows("rbp", "bogd") if "slot" in row["variant"]]


@pytest.mark.parametrize(
    "row", [pytest.param(row, id="-".join([*row.values()][:5])) for row in ROWS]
)
def test_plain_updates_meet_the_reference(row: dict[str, str]) -> None:
    X, y = rows_of_file(row["dataset"], row["order"])
    params = params_of(row)
    gamma = params.pop("gamma")
    B = int(params.pop("B"))
    oracle = Oracle(gamma, 1, pair=False)
    update = {"rbp": _rbp, "bogd": _bogd}[row["learner"]](B, draw=_formula(), **params)
    scores = oracle.learn(to_dense(X, WIDTH[row["dataset"]]), y, update)
    assert int(((scores[:, 0] >= 0) != y).sum()) == int(row["mistakes"])
    assert oracle.norm() == pytest.approx(float(row["norm_w"]), rel=1e-9)


@pytest.mark.parametrize(("classes", "multiclass"), FORMS)
def test_rbp_is_the_plain_update(classes: int, multiclass: str) -> None:
    assert_equal_to_oracle(
        "rbp", {"B": 7, "seed": 5}, _rbp(7, _philox(5)), classes, multiclass
    )


@pytest.mark.parametrize(("classes", "multiclass"), FORMS)
@pytest.mark.parametrize("clip", [0.5, 1.0, 10.0])
def test_bogd_is_the_plain_update(clip: float, classes: int, multiclass: str) -> None:
    params: dict[str, Any] = {"B": 9, "eta": 0.4, "lam": 0.05, "clip": clip}
    assert_equal_to_oracle(
        "bogd",
        {**params, "seed": 3},
        _bogd(**params, draw=_philox(3)),
        classes,
        multiclass,
    )


def test_a_model_that_grows_for_ever_keeps_its_digits() -> None:
    """With B = 2 and nothing clipped every update doubles the other vector: the scale alone would overflow."""
    params: dict[str, Any] = {"B": 2, "eta": 0.4, "lam": 0.0, "clip": 1e9}
    update = _bogd(**params, draw=_philox(0))
    learner, _ = assert_equal_to_oracle(
        "bogd", params, update, 2, "max-score", rows=1_500
    )
    assert learner.measures()["updates"] > 1_024


def test_repetitions_have_victims_of_their_own() -> None:
    X, y = clusters(2)
    kept = []
    for entropy in ((0, 0), (0, 0), (0, 1)):
        learner = RBP(B=10, gamma=0.3)
        learner.begin(4, 2, entropy)
        learner.learn(X, y)
        kept.append(learner.state_["born"].tolist())
    assert kept[0] == kept[1] != kept[2]


@given(
    st.integers(2, 12),
    st.floats(0.05, 2),
    st.floats(0, 0.4),
    st.floats(0.1, 10),
    st.booleans(),
    st.booleans(),
)
def test_bogd_keeps_budget_and_clip(
    B: int, eta: float, lam: float, clip: float, rescale: bool, oldest: bool
) -> None:
    X, y = clusters(3, rows=60)
    for multiclass in ("max-score", "ova"):
        removal = "oldest" if oldest else "random"
        steps = {"eta": eta, "lam": lam, "clip": clip}
        exchange = {"removal": removal, "rescale": rescale}
        learner = BOGD(B=B, gamma=0.5, multiclass=multiclass, **steps, **exchange)
        learner.begin(4, 3)
        for i in range(len(y)):
            learner.learn(X[i : i + 1], y[i : i + 1])
            assert learner.state_["counts"][0] <= B
            largest = np.abs(learner.state_["alpha"] * learner.state_["scale"]).max()
            assert largest <= eta * clip * (1 + 1e-12)


@given(st.integers(1, 12), st.integers(0, 99))
def test_rbp_keeps_the_budget(B: int, seed: int) -> None:
    X, y = clusters(2, rows=80, seed=seed)
    learner = RBP(B=B, seed=seed, gamma=0.5)
    learner.begin(4, 2)
    learner.learn(X, y)
    there, ever = learner.state_["counts"][[0, 2]]
    assert there == min(B, ever)
    assert np.unique(np.abs(learner.state_["alpha"])).tolist() in ([0.0, 1.0], [1.0])


def test_a_budget_of_one_cannot_be_rescaled() -> None:
    with pytest.raises(ParameterError, match="parameter B was 1"):
        BOGD(B=1).resolved_params()
