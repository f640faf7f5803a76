"""Logistic regression, AdaGrad and FTRL-Proximal compared with scikit-learn, River and the papers' formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from olscale.compiled.csr import to_csr
from olscale.learners import FTRL, AdaGrad, Logistic
from olscale.learners.contract.capability import show_probabilities
from olscale.learners.contract.fused_settings import fuse, group_fusible
from olscale.learners.registry import make_learner

NAMES = ("logistic", "adagrad", "ftrl")
RNG = np.random.default_rng(5)
X = np.round(RNG.normal(size=(300, 6)), 3) * (RNG.random((300, 6)) < 0.6)
Y2 = ((X @ RNG.normal(size=6) + RNG.normal(size=300)) > 0.0).astype(np.int64)
Y3 = np.argmax(X @ RNG.normal(size=(6, 3)) + RNG.normal(size=(300, 3)), axis=1)
WEIGHTS = RNG.choice([0.0, 0.5, 1.0, 3.0], 300)
LABELS = {2: Y2, 3: Y3}


def sigmoid(scores: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-scores))


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


class LogisticNumpy:
    """Steps of logistic regression, as printed."""

    def __init__(self, outputs: int) -> None:
        self.w = np.zeros((outputs, 6))
        self.t = 0

    def move(self, gradient: np.ndarray) -> None:
        self.t += 1
        self.w -= 0.3 / self.t**0.25 * gradient


class AdaGradNumpy:
    """The diagonal form of figure 1 of Duchi et al., with eps under the root."""

    def __init__(self, outputs: int) -> None:
        self.w = np.zeros((outputs, 6))
        self.squares = np.zeros((outputs, 6))

    def move(self, gradient: np.ndarray) -> None:
        self.squares += gradient**2
        self.w -= 0.3 * gradient / np.sqrt(self.squares + 1e-8)


class FTRLNumpy:
    """Algorithm 1 of McMahan et al.: weights are made of z and n when a row comes."""

    alpha, beta, l1, l2 = 0.4, 0.7, 0.2, 0.3

    def __init__(self, outputs: int) -> None:
        self.z = np.zeros((outputs, 6))
        self.n = np.zeros((outputs, 6))

    @property
    def w(self) -> np.ndarray:
        scale = (self.beta + np.sqrt(self.n)) / self.alpha + self.l2
        moved = -(self.z - np.sign(self.z) * self.l1) / scale
        return np.where(np.abs(self.z) <= self.l1, 0.0, moved)

    def move(self, gradient: np.ndarray) -> None:
        w = self.w
        sigma = (np.sqrt(self.n + gradient**2) - np.sqrt(self.n)) / self.alpha
        self.z += gradient - sigma * w
        self.n += gradient**2


PRINTED: dict[str, tuple[type[Any], dict[str, float]]] = {
    "logistic": (LogisticNumpy, {"eta": 0.3, "power": 0.25}),
    "adagrad": (AdaGradNumpy, {"eta": 0.3}),
    "ftrl": (FTRLNumpy, {"alpha": 0.4, "beta": 0.7, "l1": 0.2, "l2": 0.3}),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
@pytest.mark.parametrize("form", ["two", "softmax", "ova"])
@pytest.mark.parametrize("name", NAMES)
def test_each_row_is_that_of_the_printed_algorithm(
    name: str, form: str, weighted: bool
) -> None:
    """Scores of all rows before their updates, weights and probabilities, to rounding."""
    printed, params = PRINTED[name]
    classes = 2 if form == "two" else 3
    y = LABELS[classes]
    outputs = 1 if classes == 2 else classes
    model = printed(outputs)
    expected = np.empty((300, outputs))
    chances = np.empty((300, classes))
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        expected[i] = model.w @ x
        if form == "two":
            p = sigmoid(expected[i])
            chances[i] = (1.0 - p[0], p[0])
            target = np.array([float(label)])
        else:
            p = softmax(expected[i]) if form == "softmax" else sigmoid(expected[i])
            chances[i] = p / p.sum()
            target = np.eye(classes)[label]
        weight = WEIGHTS[i] if weighted else 1.0
        model.move(weight * np.outer(p - target, x))
    learner: Any = make_learner(
        name, {**params, **({"multiclass": form} if form != "two" else {})}
    )
    learner.begin(6, classes)
    assert show_probabilities(learner, classes) == classes
    scores = learner.learn(to_csr(X), y, WEIGHTS if weighted else None)
    np.testing.assert_allclose(scores[:, :outputs], expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(scores[:, outputs:], chances, rtol=1e-10)
    np.testing.assert_allclose(learner.coef_, model.w, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("power", "schedule"),
    [(0.0, "constant"), (0.5, "invscaling")],
    ids=["constant", "falling"],
)
def test_logistic_is_that_of_scikit_learn(
    classes: int, power: float, schedule: Any
) -> None:
    peer = SGDClassifier(
        loss="log_loss",
        penalty=None,
        fit_intercept=False,
        learning_rate=schedule,
        eta0=0.3,
        power_t=power,
        max_iter=1,
        shuffle=False,
        tol=None,
    ).fit(X, LABELS[classes])
    ours = Logistic(eta=0.3, power=power, multiclass="ova").fit(X, LABELS[classes])
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("name", ["logistic", "adagrad"])
def test_two_classes_are_those_of_river(name: str) -> None:
    linear_model = pytest.importorskip("river.linear_model", reason="river")
    from river import optim

    step = optim.SGD(0.3) if name == "logistic" else optim.AdaGrad(0.3)
    peer = linear_model.LogisticRegression(optimizer=step, intercept_lr=0.0)
    chances = []
    for x, label in zip(X, Y2, strict=True):
        row = dict(enumerate(x))
        chances.append(peer.predict_proba_one(row).get(True, 0.5))
        peer.learn_one(row, bool(label))
    learner: Any = make_learner(name, {"eta": 0.3})
    learner.begin(6, 2)
    learner.show_probabilities()
    np.testing.assert_allclose(learner.learn(X, Y2)[:, 2], chances, rtol=1e-9)
    np.testing.assert_allclose(
        learner.coef_[0], [peer.weights[j] for j in range(6)], rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("name", ["logistic", "adagrad"])
def test_softmax_is_that_of_river(name: str) -> None:
    linear_model = pytest.importorskip("river.linear_model", reason="river")
    from river import optim

    step = optim.SGD(0.3) if name == "logistic" else optim.AdaGrad(0.3)
    peer = linear_model.SoftmaxRegression(optimizer=step, l2=0.0)
    for label in range(3):
        # A class counts from its first row on; an empty row of each makes that the beginning.
        peer.learn_one({}, label)
    for x, label in zip(X, Y3, strict=True):
        peer.learn_one(dict(enumerate(x)), int(label))
    ours: Any = make_learner(name, {"eta": 0.3})
    expected = [[peer.weights[label][j] for j in range(6)] for label in range(3)]
    np.testing.assert_allclose(ours.fit(X, Y3).coef_, expected, rtol=1e-9, atol=1e-12)


def test_ftrl_forgets_weights_below_l1() -> None:
    few = FTRL(l1=3.0).fit(X, Y2).coef_
    assert 0 < np.count_nonzero(few) < np.count_nonzero(FTRL().fit(X, Y2).coef_)


def test_settings_of_logistic_share_a_pass_with_their_probabilities() -> None:
    def begun() -> list[Any]:
        learners = [
            Logistic(eta=eta, power=power) for eta in (0.1, 0.5) for power in (0.0, 0.5)
        ]
        for learner in learners:
            learner.begin(6, 3)
            learner.show_probabilities()
        return learners

    alone = begun()
    together = begun()
    assert group_fusible(together) == [[0, 1, 2, 3]]
    fused = fuse(together)
    parts = fused.learn(to_csr(X), Y3)
    fused.release()
    for learner, shared, part in zip(alone, together, parts, strict=True):
        np.testing.assert_array_equal(part, learner.learn(X, Y3))
        np.testing.assert_array_equal(shared.coef_, learner.coef_)


@pytest.mark.parametrize("learner", [Logistic(), AdaGrad(), FTRL()], ids=NAMES)
def test_extreme_rows_keep_finite_probabilities(learner: Any) -> None:
    rows = np.array([[1e6, -1e3], [-1e6, 1e3], [1e6, 1e3], [0.0, 0.0]])
    for y in (np.array([0, 1, 0, 1]), np.array([0, 1, 2, 1])):
        chances = learner.fit(rows, y).predict_proba(rows)
        assert np.isfinite(chances).all()
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)


def test_one_class_is_certain() -> None:
    assert Logistic().fit(X, np.zeros(300)).predict_proba(X[:2]).tolist() == [
        [1.0],
        [1.0],
    ]
