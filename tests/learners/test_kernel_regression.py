"""Regressors with support vectors against plain numpy, figures of other programs, and what equals what."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import SGDRegressor
from sklearn.svm import SVR

from olscale.compiled.csr import read_only, slice_rows, to_csr
from olscale.errors import ParameterError
from olscale.learners.contract.learner import hide_labels
from olscale.learners.kernel.kernel_learner import KernelRegressor
from olscale.learners.registry import make_learner
from tests.learners.exact import exact_rows, rows_of_file

Step = Callable[["Vectors", np.ndarray, float, float], None]
GAMMA = 0.3


class Vectors:
    """Vectors and coefficients as lists, kernel values of pairs."""

    def __init__(self) -> None:
        self.X: list[np.ndarray] = []
        self.alpha: list[float] = []
        self.tube = 0.0
        self.t = 0

    def k(self, x: np.ndarray) -> np.ndarray:
        return np.exp(
            -GAMMA * ((np.reshape(self.X, (-1, len(x))) - x) ** 2).sum(axis=1)
        )

    def fade(self, factor: float) -> None:
        self.alpha = [a * factor for a in self.alpha]

    def keep(self, x: np.ndarray, alpha: float) -> None:
        self.X.append(x)
        self.alpha.append(alpha)


def _perceptron(eta: float, step: str) -> Step:
    def learn(model: Vectors, x: np.ndarray, y: float, f: float) -> None:
        model.keep(x, eta * (y - f if step == "lms" else np.sign(y - f)))

    return learn


def _norma(
    eta: float,
    lam: float,
    epsilon: float,
    nu: float,
    power: float,
    loss: str,
    tau: int = 10**9,
) -> Step:
    def learn(model: Vectors, x: np.ndarray, y: float, f: float) -> None:
        model.tube = epsilon if model.t == 1 else model.tube
        rate = eta / model.t**power
        model.fade(1 - rate * lam)
        if loss == "squared":
            model.keep(x, rate * (y - f))
            return
        hit = abs(y - f) > model.tube
        if hit:
            model.keep(x, rate * np.sign(y - f))
        model.tube += rate * ((1 - nu) * hit - nu * (not hit)) if nu else 0
        if len(model.X) > tau:
            del model.X[0], model.alpha[0]

    return learn


def _olk(C: float, r: float, epsilon: float) -> Step:
    def learn(model: Vectors, x: np.ndarray, y: float, f: float) -> None:
        u = (1 + r) * y - f
        e = (1 + r) * epsilon
        a = np.clip(u - e, 0, C) - np.clip(-u - e, 0, C)
        model.fade(1 / (1 + r))
        if a != 0:
            model.keep(x, a / (1 + r))

    return learn


def _krls(nu: float, B: int = 10**9) -> Step:
    """Least squares of all rows over the dictionary, solved anew for every row: ``alpha = lstsq(A K, y)``."""
    A: list[np.ndarray] = []
    targets: list[float] = []

    def learn(model: Vectors, x: np.ndarray, y: float, f: float) -> None:
        del f
        K = np.array([model.k(s) for s in model.X]).reshape(len(model.X), len(model.X))
        a = np.linalg.solve(K, model.k(x)) if model.X else np.zeros(0)
        if 1 - model.k(x) @ a > nu and len(model.X) < B:
            a = np.eye(len(model.X) + 1)[-1]
            model.keep(x, 0.0)
            K = np.array([model.k(s) for s in model.X])
        A.append(a)
        targets.append(y)
        rows = np.array([np.pad(row, (0, len(model.X) - len(row))) for row in A])
        model.alpha = np.linalg.solve(
            K, np.linalg.lstsq(rows, np.array(targets), rcond=None)[0]
        ).tolist()

    return learn


SETTINGS: list[tuple[str, dict[str, Any], Callable[..., Step]]] = [
    ("kernel-perceptron-r", {"eta": 0.4, "step": "lms"}, _perceptron),
    ("kernel-perceptron-r", {"eta": 0.1, "step": "sign"}, _perceptron),
    (
        "norma-r",
        {
            "eta": 0.3,
            "lam": 0.1,
            "epsilon": 0.1,
            "nu": 0.0,
            "power": 0.0,
            "loss": "epsilon-insensitive",
        },
        _norma,
    ),
    (
        "norma-r",
        {
            "eta": 0.3,
            "lam": 0.1,
            "epsilon": 0.0,
            "nu": 0.4,
            "power": 0.5,
            "loss": "epsilon-insensitive",
        },
        _norma,
    ),
    (
        "norma-r",
        {
            "eta": 0.3,
            "lam": 0.1,
            "epsilon": 0.0,
            "nu": 0.0,
            "power": 0.0,
            "loss": "squared",
        },
        _norma,
    ),
    (
        "norma-r",
        {
            "eta": 0.3,
            "lam": 0.0,
            "epsilon": 0.2,
            "nu": 0.0,
            "power": 0.0,
            "loss": "epsilon-insensitive",
            "tau": 9,
        },
        _norma,
    ),
    ("olk-r", {"C": 0.5, "r": 0.0, "epsilon": 0.2}, _olk),
    ("olk-r", {"C": 5.0, "r": 0.3, "epsilon": 0.1}, _olk),
    ("krls", {"nu": 0.2}, _krls),
    ("krls", {"nu": 0.01, "B": 12}, _krls),
]


def stream(rows: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Return a noisy curve over four features, some rows of which come again."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4))
    X[rng.random(rows) < 0.1] = X[0]
    X[rng.random(X.shape) < 0.3] = 0.0
    return read_only(X), read_only(
        np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=rows)
    )


@pytest.mark.parametrize(("name", "params", "step"), SETTINGS)
def test_scores_are_those_of_the_plain_update(
    name: str, params: dict[str, Any], step: Callable[..., Step]
) -> None:
    X, y = stream()
    model = Vectors()
    update = step(**params)
    expected = []
    for x, target in zip(X, y, strict=True):
        f = float(model.k(x) @ np.array(model.alpha)) if model.X else 0.0
        model.t += 1
        expected.append(f)
        update(model, x, target, f)
    learner = make_learner(name, {"gamma": GAMMA, **params})
    learner.begin(4, 0)
    np.testing.assert_allclose(
        learner.learn(X, y)[:, 0], expected, rtol=1e-8, atol=1e-9
    )
    assert learner.measures()["support_vectors"] == len(model.X)


@pytest.mark.parametrize("name", ["kernel-perceptron-r", "norma-r", "olk-r", "krls"])
def test_any_cut_and_layout_gives_the_same_bits_and_unknown_targets_are_only_scored(
    name: str,
) -> None:
    X, y = stream()
    hidden = np.arange(len(y)) % 3 == 1
    part = hide_labels(y, hidden)

    def learned(rows: Any, cut: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        learner = make_learner(name, {"gamma": GAMMA})
        learner.begin(4, 0)
        scores = np.concatenate(
            [
                learner.learn(slice_rows(rows, i, i + cut), part[i : i + cut])
                for i in range(0, 150, cut)
            ]
        )
        return scores, learner.state()

    whole, state = learned(X, 150)
    for rows, cut in ((X, 7), (to_csr(X), 150), (to_csr(X), 13)):
        scores, other = learned(rows, cut)
        np.testing.assert_array_equal(scores, whole)
        for key in state:
            np.testing.assert_array_equal(state[key], other[key])
    known = make_learner(name, {"gamma": GAMMA})
    known.begin(4, 0)
    known.learn(read_only(X[~hidden]), read_only(y[~hidden]))
    np.testing.assert_array_equal(known.scores(X), make_restored(name, state).scores(X))
    assert int(state["seen"][0]) == int((~hidden).sum())


def make_restored(name: str, state: dict[str, np.ndarray]) -> KernelRegressor:
    learner = make_learner(name, {"gamma": GAMMA})
    assert isinstance(learner, KernelRegressor)
    learner.begin(4, 0)
    learner.restore(state)
    return learner


@pytest.mark.parametrize("name", ["olk-r", "krls"])
def test_a_row_that_is_no_number_ends_learning(name: str) -> None:
    X, y = (array.copy() for array in stream())
    X[20, 2] = np.nan
    learner = make_learner(name, {"gamma": GAMMA})
    learner.begin(4, 0)
    finite = np.isfinite(learner.learn(read_only(X), read_only(y))[:, 0])
    assert finite[:20].all()
    assert not finite[20:].any()


def test_no_more_vectors_than_the_capacity() -> None:
    learner = make_learner("krls", {"gamma": 10.0, "nu": 0.0, "capacity": 70})
    learner.begin(4, 0)
    with pytest.raises(ParameterError, match="more than its parameter capacity allows"):
        learner.learn(*stream())
    bounded = make_learner("krls", {"gamma": 10.0, "nu": 0.0, "B": 70})
    bounded.begin(4, 0)
    assert np.isfinite(bounded.learn(*stream())).all()
    assert bounded.measures()["support_vectors"] == 70


def test_without_regularisation_and_a_linear_kernel_olk_is_pa1() -> None:
    X, y = stream()
    peer = SGDRegressor(
        loss="epsilon_insensitive",
        penalty=None,
        learning_rate="pa1",
        eta0=0.5,
        epsilon=0.1,
        fit_intercept=False,
    )
    expected = []
    for i in range(len(y)):
        expected.append(peer.predict(X[i : i + 1])[0] if i else 0.0)
        peer.partial_fit(X[i : i + 1], y[i : i + 1])
    learner = make_learner(
        "olk-r", {"C": 0.5, "r": 0.0, "epsilon": 0.1, "kernel": "linear"}
    )
    learner.begin(4, 0)
    np.testing.assert_allclose(learner.learn(X, y)[:, 0], expected, atol=1e-12)


ROWS = [
    row
    for row in exact_rows(*{name for name, *_ in SETTINGS})
    if row["dataset"] == "diabetes"
]


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row['learner']}-{row['params']}") for row in ROWS]
)
def test_exact(row: dict[str, str]) -> None:
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X = 2.0 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1.0
    y = y / 100.0
    given = [
        part.split("=") for part in row["params"].replace("eps=", "epsilon=").split(";")
    ]
    params = {key: value if value.isalpha() else float(value) for key, value in given}
    if "starts at 0" in row["variant"]:
        params["epsilon"] = 0.0
    if "bias feature" in row["variant"]:
        X = np.hstack([X, np.ones((len(X), 1))])
        X /= np.sqrt((X * X).sum(axis=1))[:, None]
    learner = make_learner(row["learner"], params)
    learner.begin(X.shape[1], 0)
    error = learner.learn(read_only(X), read_only(y))[:, 0] - y
    noted = dict(
        re.findall(r"(cumulative_\w+|sum alpha|dictionary) ([-\d.]+)", row["note"])
    )
    assert np.abs(error).mean() == pytest.approx(
        float(noted["cumulative_mae"]), rel=1e-12
    )
    assert np.sqrt(np.mean(error**2)) == pytest.approx(
        float(noted["cumulative_rmse"]), rel=1e-12
    )
    assert learner.measures()["norm_w"] == pytest.approx(
        float(row["norm_w"]), rel=1e-12
    )
    vectors = re.search(r"(\d+) (?:SV|terms)", row["note"])
    assert learner.measures()["support_vectors"] == float(
        vectors[1] if vectors else noted["dictionary"]
    )
    if "sum alpha" in noted:
        total = (learner.state_["alpha"] * learner.state_["scale"]).sum()
        assert total == pytest.approx(float(noted["sum alpha"]), rel=1e-12)


def test_krls_on_labels_is_that_of_kafbox() -> None:
    X, codes = rows_of_file("a1a", "time")
    y = read_only(2.0 * codes - 1.0)
    learner = make_learner("krls", {"nu": 0.1, "gamma": 0.01})
    learner.begin(123, 0)
    f = learner.learn(X, y)[:, 0]
    assert int(((f >= 0) != (y > 0)).sum()) == 291
    assert learner.measures()["support_vectors"] == 41
    assert f.sum() == pytest.approx(-856.545300292624, rel=1e-9)


def test_batch_references_are_those_of_all_rows() -> None:
    X, y = stream()
    svr = make_learner("svr", {"C": 2.0, "epsilon": 0.05, "gamma": GAMMA})
    svr.begin(4, 0)
    scores = svr.learn(X, y)[:, 0]
    peer = SVR(C=2.0, epsilon=0.05, gamma=GAMMA).fit(X[:64], y[:64])
    np.testing.assert_array_equal(scores[:64], 0.0)
    np.testing.assert_allclose(scores[64:128], peer.predict(X[64:128]), atol=1e-9)
    ls = make_learner("ls-svm", {"C": 2.0, "gamma": GAMMA})
    ls.begin(4, 0)
    ls.learn(X, y)
    K = np.exp(-GAMMA * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    n = len(y)
    bordered = np.block(
        [[np.zeros((1, 1)), np.ones((1, n))], [np.ones((n, 1)), K + np.eye(n) / 2.0]]
    )
    solved = np.linalg.solve(bordered, np.concatenate([[0.0], y]))
    np.testing.assert_allclose(
        ls.scores(X)[:, 0], K @ solved[1:] + solved[0], atol=1e-9
    )
