"""Networks with a random layer, beside plain numpy, scikit-learn's Ridge and the figures of other programs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Ridge

from olscale.compiled.csr import read_only, to_csr
from olscale.data.transforms.matrix import MatrixRows
from olscale.errors import DivergedError, ParameterError
from olscale.learners.contract.capability import looks_ahead
from olscale.learners.contract.learner import UNKNOWN, codes_of
from olscale.learners.network.least_squares_loop import learn_features
from olscale.learners.network.oselm import (
    OSELM,
    SVDOSELM,
    set_radial,
    set_sigmoids,
    singular_vectors,
)
from olscale.learners.network.rff_rls import RFFRLS
from olscale.learners.registry import make_learner
from tests.learners.exact import DATA, REFERENCE, exact_rows, rows_of_file

ROWS = [
    row for row in exact_rows("oselm") if row["dataset"] in ("svmguide1", "mfeat-fou")
]


def portable_layer(nodes: int, columns: int) -> np.ndarray:
    """Return weights that any program can compute, shape (columns + 1, nodes); the first line is the biases."""
    h = np.arange(1, nodes + 1)
    j = np.arange(columns + 1)[:, None]
    return (
        2.0 * ((7919 * h + 104729 * j + 31 * h * j * (h + 3 * j)) % 10007) / 10007 - 1.0
    )


@cache
def reference_stream(
    dataset: str,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and codes in the order of the reference, and those of its test."""
    path = DATA / (
        "mfeat/mfeat.mat" if dataset == "mfeat-fou" else "svmguide1/svmguide1.t"
    )
    if not path.exists():
        pytest.skip(f"real data file {path} is absent")
    if dataset == "svmguide1":
        X, y = rows_of_file(dataset, "p7919")
        dense, test, y_test = (
            X.data.reshape(-1, 4),
            *load_svmlight_file(str(path), n_features=4),
        )
        low = dense.min(axis=0)
        size = np.ptp(dense, axis=0)
        return (
            2 * (dense - low) / size - 1,
            y,
            2 * (test.toarray() - low) / size - 1,
            y_test.astype(np.int64),
        )
    file = loadmat(path)
    at = 7919 * np.arange(2000) % 2000
    view = next(view for view in file["X"][:, 0] if view.shape[1] == 76)[at]
    y = np.unique(file["y"].ravel(), return_inverse=True)[1].astype(np.int64)[at]
    return view[:1000], y[:1000], view[1000:], y[1000:]


def begun(name: str, columns: int, classes: int, **params: Any) -> Any:
    learner = make_learner(name, params)
    learner.begin(columns, classes, (1, 2))
    return learner


def test_the_reference_file_has_rows_of_oselm() -> None:
    if not REFERENCE.exists():
        pytest.skip("reference file exact.csv is absent")
    assert len(ROWS) == 7


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=f"{row['dataset']} {row['params']} {row['note'][:9]}")
        for row in ROWS
    ],
)
def test_figures_of_other_programs_are_met(row: dict[str, str]) -> None:
    X, y, X_test, y_test = reference_stream(row["dataset"])
    given = dict(part.split("=") for part in row["params"].split(";"))
    params = {
        key: int(value)
        for key, value in given.items()
        if key in ("nodes", "N0", "block")
    }
    params |= {"start": "boost"} if "N0" in given else {"lam": float(given["lam"])}
    learner = begun(
        "oselm", X.shape[1], len(np.unique(y)), activation=given["activation"], **params
    )
    layer = portable_layer(params["nodes"], X.shape[1])
    learner.state_["A"][:] = layer[1:]
    learner.state_["b"][:] = layer[0]
    if given["activation"] == "rbf":
        learner.state_["A"][:], learner.state_["b"][:] = (
            X[: params["nodes"]].T,
            float(given["width"]),
        )
    predicted = codes_of(learner.learn(X, y))
    tolerance = 1e-6 if row["dataset"] == "svmguide1" and "N0" in given else 1e-9
    assert (predicted != y)[params.get("N0", 0) :].sum() == int(row["mistakes"])
    assert learner.measures()["norm_w"] == pytest.approx(
        float(row["norm_w"]), rel=tolerance
    )
    assert np.mean(codes_of(learner.scores(X_test)) == y_test) == pytest.approx(
        float(row["test_accuracy"]), abs=1e-12
    )


def small_stream(
    classes: int, rows: int = 150, columns: int = 5
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(classes)
    y = rng.integers(0, max(2, classes), rows)
    X = np.eye(columns)[y] + 0.5 * rng.normal(size=(rows, columns))
    return X, y if classes else np.sin(X.sum(axis=1)) + 3.0


def features_of(learner: Any, X: np.ndarray) -> np.ndarray:
    """Return the features of rows by their formulas."""
    state = learner.state_
    if learner.name.startswith("rff"):
        key = (int(state["key"][0]), int(state["key"][1]))
        frequencies = MatrixRows(key, X.shape[1], learner.features // 2, 0.0).times(
            to_csr(read_only(np.eye(X.shape[1])))
        )
        angles = X @ (np.sqrt(2.0 * state["gamma"][0]) * frequencies)
        z = np.sqrt(2.0 / learner.features) * np.hstack(
            [np.cos(angles), np.sin(angles)]
        )
        return np.hstack([z, np.ones((len(X), 1)), X]) if learner.linear else z
    if learner.activation == "rbf":
        return np.exp(-state["b"] * ((X[:, :, None] - state["A"]) ** 2).sum(axis=1))
    return 1.0 / (1.0 + np.exp(-(X @ state["A"] + state["b"])))


def oracle(
    H: np.ndarray, T: np.ndarray, lam: float, forget: float, block: int
) -> np.ndarray:
    """Return the scores before each update: ridge solutions of all rows before the block, by solving for each anew."""
    scores = np.zeros(T.shape)
    for i in range(len(T)):
        n = i - i % block
        weights = forget ** np.arange(n - 1, -1, -1)[:, None]
        A = H[:n].T @ (weights * H[:n]) + lam * forget**n * np.eye(H.shape[1])
        scores[i] = H[i] @ np.linalg.solve(A, H[:n].T @ (weights * T[:n]))
    return scores


def targets_of(y: np.ndarray, classes: int) -> np.ndarray:
    if not classes:
        return y[:, None]
    return (2.0 * y - 1.0)[:, None] if classes == 2 else 2.0 * np.eye(classes)[y] - 1.0


SETTINGS = [
    ("oselm", 4, {"nodes": 19, "lam": 0.1}),
    ("oselm", 2, {"nodes": 9, "activation": "rbf", "block": 16, "lam": 0.1}),
    ("oselm", 3, {"nodes": 12, "block": 37, "forget": 0.97, "lam": 0.5}),
    ("oselm-r", 0, {"nodes": 8, "forget": 0.7, "lam": 0.5}),
    ("svd-oselm", 4, {"rank": 3, "nodes": 20, "lam": 0.1}),
    ("rff-rls", 4, {"features": 40, "lam": 0.01, "linear": True}),
    (
        "rff-rls-r",
        0,
        {"features": 22, "linear": False, "gamma": 0.3, "block": 2, "forget": 0.99},
    ),
]
EACH_SETTING = pytest.mark.parametrize(("name", "classes", "params"), SETTINGS)


def prepared(name: str, X: np.ndarray, classes: int, params: dict[str, Any]) -> Any:
    learner = begun(name, X.shape[1], classes, **params)
    if looks_ahead(learner):
        learner.prepare(X)
    return learner


@EACH_SETTING
def test_scores_are_those_of_batch_solutions(
    name: str, classes: int, params: dict[str, Any]
) -> None:
    """With ``forget=0.7`` the scale of P is multiplied into the matrix after 117 rows."""
    X, y = small_stream(classes)
    learner = prepared(name, X, classes, params)
    expected = oracle(
        features_of(learner, X),
        targets_of(y, classes),
        learner.lam,
        learner.forget,
        learner.block,
    )
    np.testing.assert_allclose(learner.learn(X, y), expected, rtol=1e-6, atol=1e-8)


@EACH_SETTING
def test_no_cut_changes_a_bit_and_rows_without_labels_change_nothing(
    name: str, classes: int, params: dict[str, Any]
) -> None:
    X, y = small_stream(classes)
    whole = prepared(name, X, classes, params)
    scores = whole.learn(X, y)
    learner = prepared(name, X, classes, params)
    parts = []
    for first in range(0, len(y), 7):
        state = learner.state()
        learner = begun(name, X.shape[1], classes, **params)
        learner.restore(state)
        unknown = np.full(3, np.nan if classes == 0 else UNKNOWN)
        np.testing.assert_array_equal(
            learner.learn(X[:3], unknown), learner.scores(X[:3])
        )
        parts.append(
            learner.learn(to_csr(read_only(X[first : first + 7])), y[first : first + 7])
        )
    np.testing.assert_array_equal(np.vstack(parts), scores)
    for key, array in whole.state().items():
        np.testing.assert_array_equal(learner.state_[key], array)


def test_ridge_is_that_of_scikit_learn_at_every_prefix() -> None:
    X, y = small_stream(4)
    learner = begun("oselm", 5, 4, nodes=30, lam=0.01)
    H = features_of(learner, X)
    for n in range(1, len(y)):
        learner.learn(X[n - 1 : n], y[n - 1 : n])
        batch = Ridge(alpha=0.01, fit_intercept=False, solver="svd").fit(
            H[:n], targets_of(y, 4)[:n]
        )
        np.testing.assert_allclose(
            learner.state_["W"][:, :30], batch.coef_, rtol=1e-8, atol=1e-8
        )


def test_boosting_is_least_squares_from_its_last_row_on() -> None:
    X, y = small_stream(3)
    learner = begun("oselm", 5, 3, nodes=10, start="boost", N0=40)
    scores = learner.learn(X, y)
    H = features_of(learner, X)
    T = targets_of(y, 3)
    assert not scores[:40].any()
    for n in (40, 41, 57, 149):
        np.testing.assert_allclose(
            scores[n],
            H[n] @ np.linalg.lstsq(H[:n], T[:n], rcond=None)[0],
            rtol=1e-6,
            atol=1e-8,
        )


def test_what_has_no_solution_is_refused_or_ends_the_run() -> None:
    X, y = small_stream(2)
    with pytest.raises(ParameterError, match="N0 was 9, expected at least 10"):
        begun("oselm", 5, 2, nodes=10, start="boost", N0=9)
    with pytest.raises(
        ParameterError, match="N0 was 9, expected none with start=ridge"
    ):
        begun("oselm", 5, 2, nodes=10, N0=9)
    with pytest.raises(ParameterError, match="features was 5, expected an even number"):
        begun("rff-rls", 5, 2, features=5)
    with pytest.raises(
        DivergedError,
        match="row 19: features of the first N0 rows depend on each other",
    ):
        begun("oselm", 5, 2, nodes=10, start="boost", N0=20).learn(0.0 * X, y)


def test_boosting_refuses_streams_that_end_before_it_does() -> None:
    """No row of these would be scored by anything but 0."""
    learner = OSELM(nodes=10, start="boost", N0=61)
    with pytest.raises(
        ParameterError,
        match=r"60 rows are learned from .* nothing is before 61; take a smaller N0",
    ):
        learner.fit(*small_stream(2, rows=60))
    assert learner.fit(*small_stream(2, rows=61)).score(*small_stream(2)) > 0.5


def test_forgetting_without_excitation_ends_as_diverged_with_a_hint() -> None:
    """Features that do not vary: all of P but one direction grows like ``forget^-t``."""
    learner = begun("oselm", 3, 2, nodes=10, forget=0.9)
    X = np.ones((1000, 3))
    with pytest.raises(
        DivergedError,
        match=r"a variance grew past .* with forget=0\.9 .*use a larger forget$",
    ):
        learner.learn(X, np.ones(1000, dtype=np.int64))
    assert 300 < learner.state_["seen"][0] < 400
    assert np.isfinite(learner.state_["W"]).all()


def test_long_forgetting_does_not_drift() -> None:
    """P of the textbook's recursion loses its symmetry, and its scores here are wrong by more than 1."""
    X, y = small_stream(2, rows=400)
    learner = begun("oselm", 5, 2, nodes=20, lam=1.0, forget=0.9)
    H = features_of(learner, X)
    scores = learner.learn(X, y)[:, 0]
    weights = 0.9 ** np.arange(398, -1, -1)
    A = (H[:399].T * weights) @ H[:399]
    b = (H[:399].T * weights) @ (2.0 * y[:399] - 1.0)
    assert scores[399] == pytest.approx(
        H[399] @ np.linalg.solve(A + 0.9**399 * np.eye(20), b), abs=1e-6
    )


@pytest.mark.parametrize(("rows", "columns"), [(60, 8), (12, 40)])
def test_singular_vectors_are_those_of_numpy_but_for_signs(
    rows: int, columns: int
) -> None:
    X = np.random.default_rng(0).normal(size=(rows, columns)) * np.arange(
        1, columns + 1
    )
    for kind in (X, to_csr(X)):
        mean, V, deviations = singular_vectors(kind, columns, 6)
        _, sizes, lines = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
        np.testing.assert_allclose(mean, X.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(deviations, sizes[:6] / np.sqrt(rows), rtol=1e-10)
        np.testing.assert_allclose(np.abs(V), np.abs(lines[:6].T), atol=1e-8)
        assert (V[np.abs(V).argmax(axis=0), range(6)] > 0.0).all()


@pytest.mark.parametrize("params", [{}, {"activation": "rbf"}])
def test_no_rows_have_the_loops_compiled(params: dict[str, Any]) -> None:
    """So that compilation is over before a run's clock starts."""
    learner = begun("oselm", 5, 2, nodes=9, **params)
    X, y = small_stream(2)
    learner.compile(read_only(X))
    loops = [learn_features, set_radial if params else set_sigmoids]
    signatures = [list(loop.signatures) for loop in loops]
    learner.learn(read_only(X), read_only(y))
    assert [list(loop.signatures) for loop in loops] == signatures
    assert all(signatures)


def test_rows_that_are_all_alike_have_no_singular_vectors() -> None:
    for columns in (5, 40):
        _, V, deviations = singular_vectors(np.full((20, columns), 0.1), columns, 3)
        assert V.shape == (columns, 0)
        assert deviations.shape == (0,)


def test_projected_features_have_mean_0_and_deviation_1() -> None:
    """So what the nodes of svd-oselm are shown has the size that their weights are made for, whatever the units of x."""
    X, y = small_stream(4)
    scores = []
    for units in (1.0, 1e6):
        learner = prepared(
            "svd-oselm", units * X + 7.0 * units, 4, {"rank": 5, "nodes": 30}
        )
        sums = (units * X + 7.0 * units) @ learner.state_["A"] + learner.state_["b"]
        assert np.abs(sums.mean(axis=0)).max() < 1.0 + 1e-9
        scores.append(learner.learn(units * X + 7.0 * units, y))
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-4, atol=1e-6)


def test_partial_fit_looks_at_the_rows_of_its_first_call() -> None:
    X, y = small_stream(4)
    for learner in (RFFRLS(features=30), SVDOSELM(rank=3, nodes=10)):
        other = (
            type(learner)(**learner.get_params())
            .fit(X[:50], y[:50])
            .partial_fit(X[50:], y[50:])
        )
        learner.partial_fit(X[:50], y[:50], classes=range(4)).partial_fit(
            X[50:], y[50:]
        )
        np.testing.assert_array_equal(
            learner.decision_function(X), other.decision_function(X)
        )
        with pytest.raises(ValueError, match="must see rows before it learns"):
            type(learner)().partial_fit(X[:1], y[:1], classes=range(4))
