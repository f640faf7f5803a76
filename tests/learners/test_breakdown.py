"""Second-order learners stop at the row that breaks their numbers, in both layouts and however the stream is cut."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.compiled.csr import to_csr
from olscale.data.chunk import Chunk
from olscale.errors import DivergedError
from olscale.learners.registry import make_learner

STEPS = (7, 5000)


def _end(params: dict[str, object], chunk: Chunk, sparse: bool, step: int) -> str:
    """Return how CW ends on three classes."""
    learner = make_learner("cw", {"eta": 0.9, **params})
    learner.begin(chunk.columns, 3)
    try:
        for start in range(0, len(chunk), step):
            part = chunk.X[start : start + step]
            learner.learn(
                to_csr(part) if sparse else part, chunk.y[start : start + step]
            )
    except DivergedError as error:
        return str(error)
    return "ok"


def _noise() -> Chunk:
    rng = np.random.default_rng(0)
    return Chunk(rng.normal(size=(5000, 4)), rng.integers(0, 3, 5000), 4)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_a_variance_that_underflows_in_float32_is_found(sparse: bool) -> None:
    """Labels of chance shrink variances without end; below 1e-38 float32 has few digits and then none."""
    ends = {
        _end({"covariance": "diagonal", "dtype": "float32"}, _noise(), sparse, step)
        for step in STEPS
    }
    assert len(ends) == 1
    assert "a variance underflowed" in ends.pop()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_a_full_covariance_that_loses_definiteness_is_found(
    sparse: bool, dtype: str
) -> None:
    ends = {
        _end({"covariance": "full", "dtype": dtype}, _noise(), sparse, step)
        for step in STEPS
    }
    assert len(ends) == 1
    assert "definiteness" in ends.pop()


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_mean_that_overflows_is_found_in_its_row(covariance: str, dtype: str) -> None:
    largest = float(np.finfo(dtype).max)
    learner = make_learner("arow", {"covariance": covariance, "dtype": dtype})
    learner.begin(2, 2)
    state = learner.state()
    state["mean" if covariance == "full" else "mean_variance"][:, 0] = [
        -largest,
        largest,
    ]
    learner.restore(state)
    # The score is -0.75 of the largest number, so the step takes the second mean past it.
    with pytest.raises(DivergedError, match="a mean is not finite") as caught:
        learner.learn(np.array([[1.0, 0.25], [1.0, 1.0]]), np.array([1, 1]))
    assert caught.value.row == 0


@pytest.mark.parametrize("length", [1e160, 1e-170])
def test_an_estimator_says_which_row_it_cannot_use(length: float) -> None:
    """Predictions were the first class whatever the row."""
    from sklearn.exceptions import ConvergenceWarning

    X = np.array([[1.0, 0.0], [0.0, 1.0], [length, 0.0]])
    y = np.array([0, 1, 1])
    learner = make_learner("pa1", {})
    with pytest.warns(
        ConvergenceWarning, match="pa1: diverged at row 2: the squared norm of the row"
    ):
        learner.fit(X, y)
    with pytest.raises(
        ValueError,
        match="pa1: row 2 of X cannot be predicted: the squared norm of the row",
    ):
        learner.predict(X)


def test_an_estimator_warns_and_stops_where_an_evaluation_records_a_failed_run() -> (
    None
):
    from sklearn.datasets import make_blobs
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.preprocessing import scale

    X, y = make_blobs(n_samples=300, random_state=0)
    learner = make_learner("cw", {})
    with pytest.warns(ConvergenceWarning, match="cw: diverged at row"):
        learner.fit(scale(X), y)
    assert np.isfinite(learner.decision_function(X)).all()
