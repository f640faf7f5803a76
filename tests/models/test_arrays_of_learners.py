"""Arrays of a crafted model file that no rows lead to are refused: loops rely on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from olscale.learners.registry import make_learner

ROWS = 70
X = np.random.default_rng(0).normal(size=(ROWS, 3))
Y = np.random.default_rng(1).integers(0, 2, ROWS)


def _learned(name: str, **params: Any) -> Any:
    learner = make_learner(name, params)
    learner.begin(3, 2)
    learner.learn(X, Y)
    return learner


@pytest.mark.parametrize(
    ("name", "params", "array", "place", "value"),
    [
        ("pa1", {}, "seen", 0, -1),
        ("pa1", {}, "updates", 0, -1),
        ("amm", {}, "count", 0, 2**31 - 1),
        ("amm", {}, "owner", 0, 64),
        ("amm", {}, "owner", 0, 1),
        ("oselm", {"nodes": 4}, "counts", 0, 17),
        ("oselm", {"nodes": 4, "block": 4}, "counts", 1, 4),
        ("ipca-lda", {"block": 4}, "mean", 0, np.nan),
        ("svm", {}, "indptr", 3, 2**62),
        ("svm", {}, "indices", 0, 3),
        ("svm", {}, "indices", 0, -1),
        ("svm", {}, "data", 0, np.inf),
        ("svm", {}, "seen", 0, 1),
        ("bpas", {"B": 5}, "counts", 0, 6_000),
        ("forgetron", {"B": 5}, "alpha", 7, -1.0),
    ],
)
def test_arrays_that_no_rows_lead_to_are_refused(
    name: str, params: dict[str, Any], array: str, place: int, value: float
):
    learner = _learned(name, **params)
    state = learner.state()
    fresh = make_learner(name, params)
    fresh.begin(3, 2)
    fresh.restore(state)
    np.testing.assert_array_equal(fresh.scores(X), learner.scores(X))
    state[array][place] = value
    if name == "amm" and (place, value) == (0, 1):
        # No hyperplane of the first class is left.
        state["owner"][:] = 1
    with pytest.raises(
        ValueError, match=r"does not fit|not at their places|support vectors"
    ):
        fresh.restore(state)
