"""Networks with a random layer, beside plain numpy, scikit-learn's Ridge and the figures of other programs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Ridge

from olscale.compiled.csr import to_csr
from olscale.errors import DivergedError, ParameterError
from olscale.learners.contract.learner import UNKNOWN, codes_of
from olscale.learners.registry import make_learner
from tests.learners.exact import DATA, REFERENCE, exact_rows, rows_of_file

ROWS = [row for row in exact_rows("oselm") if row["dataset"] in ("svmguide1", "mfeat-fou")]


def portable_layer(nodes: int, columns: int) -> np.ndarray:
    """Return weights that any program can compute, shape (columns + 1, nodes); the first line is the biases."""
    h, j = np.arange(1, nodes + 1), np.arange(columns + 1)[:, None]
    return 2.0 * ((7919 * h + 104729 * j + 31 * h * j * (h + 3 * j)) % 10007) / 10007 - 1.0


@cache
def reference_stream(dataset: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and codes in the order of the reference, and those of its test."""
    path = DATA / ("mfeat/mfeat.mat" if dataset == "mfeat-fou" else "svmguide1/svmguide1.t")
    if not path.exists():
        pytest.skip(f"real data file {path} is absent")
    if dataset == "svmguide1":
        X, y = rows_of_file(dataset, "p7919")
        dense, test, y_test = X.data.reshape(-1, 4), *load_svmlight_file(str(path), n_features=4)
        low, size = dense.min(axis=0), np.ptp(dense, axis=0)
        return 2 * (dense - low) / size - 1, y, 2 * (test.toarray() - low) / size - 1, y_test.astype(np.int64)
    file, at = loadmat(path), 7919 * np.arange(2000) % 2000
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


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row['dataset']} {row['params']} {row['note'][:9]}") for row in ROWS])
def test_figures_of_other_programs_are_met(row: dict[str, str]) -> None:
    X, y, X_test, y_test = reference_stream(row["dataset"])
    given = dict(part.split("=") for part in row["params"].split(";"))
    params = {key: int(value) for key, value in given.items() if key in ("nodes", "N0", "block")}
    params |= {"start": "boost"} if "N0" in given else {"lam": float(given["lam"])}
    learner = begun("oselm", X.shape[1], len(np.unique(y)), activation=given["activation"], **params)
    layer = portable_layer(params["nodes"], X.shape[1])
    learner.state_["A"][:], learner.state_["b"][:] = layer[1:], layer[0]
    if given["activation"] == "rbf":
        learner.state_["A"][:], learner.state_["b"][:] = X[: params["nodes"]].T, float(given["width"])
    predicted = codes_of(learner.learn(X, y))
    tolerance = 1e-6 if row["dataset"] == "svmguide1" and "N0" in given else 1e-9
    assert (predicted != y)[params.get("N0", 0) :].sum() == int(row["mistakes"])
    assert learner.measures()["norm_w"] == pytest.approx(float(row["norm_w"]), rel=tolerance)
    assert np.mean(codes_of(learner.scores(X_test)) == y_test) == pytest.approx(float(row["test_accuracy"]), abs=1e-12)
