"""Kernel learners in plain numpy: lists of vectors and coefficients, distances of pairs. No code of ours, and other sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olscale.learners.kernel.kernel_learner import KernelLearner
from olscale.learners.registry import make_learner

FORMS = [(2, "max-score"), (3, "max-score"), (3, "ova")]


class Oracle:
    """Vectors with a coefficient for each output, in the order in which they are kept."""

    def __init__(self, gamma: float, outputs: int, pair: bool) -> None:
        self.gamma = gamma
        self.outputs = outputs
        self.pair = pair
        self.t = 0
        self.vectors: list[np.ndarray] = []
        self.alpha: list[np.ndarray] = []
        self.offset = np.zeros(outputs)

    def k(self, x: np.ndarray) -> np.ndarray:
        return np.exp(
            -self.gamma
            * ((np.reshape(self.vectors, (-1, len(x))) - x) ** 2).sum(axis=1)
        )

    def f(self, x: np.ndarray) -> np.ndarray:
        return (
            np.reshape(self.k(x), (1, -1))
            @ np.reshape(self.alpha, (-1, self.outputs)).astype(float)
            + self.offset
        )

    def targets(
        self, f: np.ndarray, y: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return +1, -1 or 0 for each output, the margins, and whether the prediction is wrong."""
        if self.pair:
            rival = max(
                (c for c in range(self.outputs) if c != y), key=lambda c: (f[c], -c)
            )
            target = np.zeros(self.outputs)
            target[[y, rival]] = 1.0, -1.0
            return (
                target,
                np.full(self.outputs, f[y] - f[rival]),
                np.full(self.outputs, np.argmax(f) != y),
            )
        target = np.where(
            np.arange(self.outputs) == (y if self.outputs > 1 else 1 - y), 1.0, -1.0
        )
        return target, target * f, (f >= 0) != (target > 0)

    def scale(self, factor: float) -> None:
        self.alpha = [a * factor for a in self.alpha]

    def keep(self, x: np.ndarray, step: np.ndarray, slot: int | None = None) -> None:
        """Append a vector, or put it where another was."""
        if slot is None:
            self.vectors.append(x)
            self.alpha.append(step)
        else:
            self.vectors[slot] = x
            self.alpha[slot] = step

    def norm(self) -> float:
        gram = np.array([self.k(x) for x in self.vectors])
        alpha = np.reshape(self.alpha, (-1, self.outputs))
        return float(np.sqrt(np.sum(alpha * (gram @ alpha))))

    def learn(
        self, X: np.ndarray, y: np.ndarray, update: Callable[..., None]
    ) -> np.ndarray:
        scores = np.empty((len(y), self.outputs))
        for i in range(len(y)):
            self.t += 1
            scores[i] = f = self.f(X[i])[0]
            update(self, X[i], *self.targets(f, int(y[i])))
        return scores


def clusters(
    classes: int, rows: int = 150, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy clusters, in which vectors come again."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    X = rng.normal(size=(classes, 4))[y] + rng.normal(size=(rows, 4))
    X[rng.random(rows) < 0.1] = X[0]
    return X, y


def assert_equal_to_oracle(
    name: str,
    params: dict[str, Any],
    update: Callable[..., None],
    classes: int,
    multiclass: str,
    rows: int = 150,
) -> tuple[KernelLearner, Oracle]:
    """Learn a stream twice and compare scores and norm; return both models."""
    X, y = clusters(classes, rows)
    learner = make_learner(name, {"gamma": 0.3, "multiclass": multiclass, **params})
    assert isinstance(learner, KernelLearner)
    learner.begin(X.shape[1], classes)
    assert learner.measures()["norm_w"] == 0.0
    outputs = 1 if classes == 2 else classes
    oracle = Oracle(0.3, outputs, outputs > 1 and multiclass == "max-score")
    scores = oracle.learn(X, y, update)
    np.testing.assert_allclose(learner.learn(X, y), scores, rtol=1e-9, atol=1e-12)
    measures = learner.measures()
    np.testing.assert_allclose(measures["norm_w"], oracle.norm(), rtol=1e-9)
    assert measures["support_vectors"] == len(oracle.vectors)
    return learner, oracle


def vectors(learner: KernelLearner) -> tuple[np.ndarray, np.ndarray]:
    """Return the support vectors, a row each, and their coefficients."""
    state = learner.state_
    count = int(state["counts"][0])
    columns = len(state["place"])
    blocks, places, width = state["values"].shape
    S = np.zeros((count, columns))
    by_slot = state["values"].transpose(0, 2, 1).reshape(blocks * width, places)[:count]
    held = state["feature"] >= 0
    S[:, state["feature"][held]] = by_slot[:, held]
    return S, state["alpha"][:count] * state["scale"]


def gaussian(A: np.ndarray, B: np.ndarray, gamma: float) -> np.ndarray:
    """Return the kernel values of rows: differences squared one by one, not by way of products."""
    return np.exp(
        -gamma
        * np.array([((B - a) ** 2).sum(axis=1) for a in A]).reshape(len(A), len(B))
    )


def rkhs_norm(learner: KernelLearner, gamma: float) -> float:
    S, alpha = vectors(learner)
    return float(np.sqrt(np.sum(alpha * (gaussian(S, S, gamma) @ alpha))))


def is_close_call(values: np.ndarray, bound: float) -> bool:
    """Tell whether a value is as good as at a bound without being there, where rounding decides."""
    apart = np.abs(np.asarray(values) - bound)
    return bool(np.any((apart > 0) & (apart < 1e-7 * (1 + abs(bound)))))
