"""Learners of targets beside plain numpy, scikit-learn and the figures of other programs; baseline baselines."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge as BatchRidge
from sklearn.linear_model import SGDRegressor

from olscale.compiled.csr import to_csr
from olscale.errors import DivergedError, ParameterError
from olscale.learners.contract.learner import UNKNOWN
from olscale.learners.registry import make_learner
from tests.learners.exact import REFERENCE, exact_rows, noted, params_of

ROWS = exact_rows("pa1-r", "pa2-r", "ogd-r", "rls", noting="load_diabetes")


@cache
def diabetes() -> tuple[np.ndarray, np.ndarray]:
    """Return the rows as the reference has them: features from -1 to 1 and a bias, targets in hundreds."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X = 2.0 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1.0
    return np.hstack([X, np.ones((len(X), 1))]), y / 100.0


def begun(name: str, columns: int, **params: Any) -> Any:
    learner = make_learner(name, params)
    learner.begin(columns, 0)
    return learner


@pytest.mark.skipif(not REFERENCE.exists(), reason="reference file exact.csv is absent")
def test_the_reference_file_has_rows_of_diabetes() -> None:
    assert len(ROWS) == 7


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row['learner']} {row['params']}") for row in ROWS]
)
def test_figures_of_other_programs_are_met(row: dict[str, str]) -> None:
    X, y = diabetes()
    params = params_of(row)
    if "eps" in params:
        params["epsilon"] = params.pop("eps")
    for rows in (X, to_csr(X)):
        learner = begun(row["learner"].replace("ogd", "sgd"), X.shape[1], **params)
        error = y - learner.learn(rows, y)[:, 0]
        assert learner.measures()["norm_w"] == pytest.approx(
            float(row["norm_w"]), rel=1e-12
        )
        assert np.abs(error).mean() == pytest.approx(
            noted(row, "cumulative_mae"), rel=1e-12
        )
        assert np.sqrt(np.mean(error**2)) == pytest.approx(
            noted(row, "cumulative_rmse"), rel=1e-12
        )
        if "updates" in row["note"]:
            assert f"; {learner.measures()['updates']:.0f} updates" in row["note"]


@pytest.mark.parametrize(
    ("params", "theirs"),
    [
        ({"loss": "squared"}, {"loss": "squared_error"}),
        ({"loss": "absolute"}, {"loss": "epsilon_insensitive", "epsilon": 0.0}),
        (
            {"loss": "epsilon-insensitive", "epsilon": 0.3},
            {"loss": "epsilon_insensitive", "epsilon": 0.3},
        ),
        ({"loss": "huber", "epsilon": 0.3}, {"loss": "huber", "epsilon": 0.3}),
    ],
)
def test_each_loss_is_that_of_scikit_learn(
    params: dict[str, Any], theirs: dict[str, Any]
) -> None:
    X, y = diabetes()
    fixed = {
        "learning_rate": "invscaling",
        "power_t": 0.4,
        "eta0": 0.05,
        "penalty": None,
        "fit_intercept": False,
    }
    reference = SGDRegressor(
        **theirs, **fixed, shuffle=False, max_iter=1, tol=None
    ).fit(X, y)
    learner = begun("sgd-r", X.shape[1], eta=0.05, power=0.4, **params)
    learner.learn(X, y)
    np.testing.assert_allclose(learner.coef_, reference.coef_, rtol=1e-12)


def test_pa_is_the_smallest_change_that_reaches_the_tube() -> None:
    X, y = diabetes()
    learner = begun("pa-r", X.shape[1], epsilon=0.2)
    w = np.zeros(X.shape[1])
    scores = learner.learn(X, y)[:, 0]
    for x, target, score in zip(X, y, scores, strict=True):
        assert score == pytest.approx(w @ x, abs=1e-9)
        residual = target - w @ x
        w = w + np.sign(residual) * max(0.0, abs(residual) - 0.2) * x / (x @ x)
    np.testing.assert_allclose(learner.coef_, w, rtol=1e-9)


@pytest.mark.parametrize("name", ["rls", "ridge"])
def test_the_batch_solution_is_kept_at_every_row(name: str) -> None:
    X, y = diabetes()
    learner = begun(name, X.shape[1], lam=0.5)
    scores = learner.learn(X, y)[:, 0]
    for n in (0, 1, 5, 40, 441):
        w = np.linalg.solve(X[:n].T @ X[:n] + 0.5 * np.eye(X.shape[1]), X[:n].T @ y[:n])
        assert scores[n] == pytest.approx(X[n] @ w, rel=1e-9, abs=1e-12)
    reference = BatchRidge(alpha=0.5, fit_intercept=False, solver="svd").fit(X, y)
    np.testing.assert_allclose(learner.coef_, reference.coef_, rtol=1e-9)


def test_scaling_makes_units_not_matter() -> None:
    """It is the ridge solution on features divided by their root mean square, whatever the features' units are."""
    X, y = diabetes()
    rms = np.sqrt(np.mean(X**2, axis=0))
    reference = BatchRidge(alpha=3.0, fit_intercept=False, solver="svd").fit(X / rms, y)
    for units in (np.ones(X.shape[1]), 10.0 ** np.arange(-5, 6)):
        learner = begun("ridge", X.shape[1], lam=3.0, scaling="rms")
        learner.learn(X * units, y)
        np.testing.assert_allclose(
            learner.coef_ * units, reference.coef_ / rms, rtol=1e-8
        )


@pytest.mark.parametrize("forget", [1.0, 0.97, 0.5])
def test_the_diagonal_form_is_that_of_the_inverse(forget: float) -> None:
    """With `forget` 0.5 what stands for 1 / forget^t is multiplied in some times."""
    X, y = diabetes()
    X = X * (np.random.default_rng(0).random(X.shape) < 0.5)
    a = np.full(X.shape[1], 2.0)
    w = np.zeros(X.shape[1])
    predicted = []
    for x, target in zip(X, y, strict=True):
        predicted.append(w @ x)
        w = w + x / a * (target - w @ x) / (forget + x @ (x / a))
        a = forget * a + x * x
    for rows in (X, to_csr(X)):
        learner = begun("rls", X.shape[1], lam=2.0, forget=forget, form="diagonal")
        np.testing.assert_allclose(
            learner.learn(rows, y)[:, 0], predicted, rtol=1e-8, atol=1e-10
        )


def test_forgetting_is_least_squares_with_weights() -> None:
    X, y = diabetes()
    learner = begun("rls", X.shape[1], lam=2.0, forget=0.9)
    learner.learn(X, y)
    age = 0.9 ** np.arange(len(y) - 1, -1, -1)
    A = (X * age[:, None]).T @ X + 2.0 * 0.9 ** len(y) * np.eye(X.shape[1])
    np.testing.assert_allclose(
        learner.coef_, np.linalg.solve(A, X.T @ (age * y)), rtol=1e-7
    )


def test_forgetting_without_excitation_ends_as_diverged() -> None:
    """A feature that stays constant: its variance would grow like forget^-t, and predictions be noise without a word."""
    X, y = diabetes()
    X = np.hstack([np.tile(X, (3, 1)), np.zeros((3 * len(X), 1))])
    with pytest.raises(
        DivergedError,
        match=r"a variance grew past .*use a larger forget, or form=diagonal",
    ) as caught:
        begun("rls", X.shape[1], forget=0.95).learn(X, np.tile(y, 3))
    assert caught.value.row == pytest.approx(-np.log(2.0**52) / np.log(0.95), abs=2)


def test_a_matrix_that_does_not_fit_is_refused() -> None:
    with pytest.raises(
        ParameterError,
        match=r"a matrix over 3000000 features needs .*use form=diagonal",
    ):
        begun("rls", 3_000_000)
    begun("rls", 3_000_000, form="diagonal")


def test_baselines_of_targets() -> None:
    y = np.array([2.0, 4.0, np.nan, 9.0, 1.0])
    X = np.zeros((5, 1))
    assert begun("mean", 1).learn(X, y)[:, 0].tolist() == [0.0, 2.0, 3.0, 3.0, 5.0]
    assert begun("last-value", 1).learn(X, y)[:, 0].tolist() == [
        0.0,
        2.0,
        4.0,
        4.0,
        9.0,
    ]


@pytest.mark.parametrize("classes", [2, 3])
def test_baselines_of_classes(classes: int) -> None:
    """Of equal counts the first class; a label that has not arrived is not known."""
    y = np.array([1, 0, 0, UNKNOWN, 1, 1, 1])
    expected = {"majority": [0, 1, 0, 0, 0, 0, 1], "no-change": [0, 1, 0, 0, 0, 1, 1]}
    for name, codes in expected.items():
        learner = make_learner(name, {})
        learner.begin(1, classes)
        scores = learner.learn(np.zeros((7, 1)), y)
        found = (
            scores.argmax(axis=1) if classes > 2 else (scores[:, 0] >= 0.0).astype(int)
        )
        assert found.tolist() == codes
