"""The loops of LOL and soft-LOL do what the slow versions in their docstrings do."""

from __future__ import annotations

import numpy as np

from olscale.compiled import prototypes
from olscale.learners.local import lol_loop, soft_lol_loop
from olscale.learners.local.lol import LOL
from olscale.learners.local.soft_lol import SoftLOL
from tests.compiled.slow import slow_versions

_RNG = np.random.default_rng(0)
_X = _RNG.normal(size=(200, 5))
_Y = (_X[:, 0] * _X[:, 1] > 0.0).astype(np.int64)


def test_lol() -> None:
    learner = LOL(k=4, lam=2.0, C=0.5)
    learner.begin(5, 2)
    scores = learner.learn(_X, _Y)
    slow = slow_versions(prototypes)["SlowPrototypes"](5, 4)
    learn_row = slow_versions(lol_loop)["learn_row"]
    w = np.zeros(5)
    u = np.zeros((4, 5))
    expected = [
        learn_row(i, _X[i], 2.0 * _Y[i] - 1.0, w, u, slow, 0.5, 2.0) for i in range(200)
    ]
    np.testing.assert_allclose(scores[:, 0], expected, rtol=1e-9, atol=1e-9)


def test_soft_lol() -> None:
    """One prototype is nearest to every row, with the gate 1; those of many are compared elsewhere."""
    learner = SoftLOL(k=1, m=1, lam=2.0, C=0.5)
    learner.begin(5, 2)
    learner.learn(_X, _Y)
    learn_row = slow_versions(soft_lol_loop)["learn_row"]
    w = np.zeros(5)
    u = np.zeros((1, 5))
    for x, y in zip(_X, _Y, strict=True):
        learn_row(x / np.linalg.norm(x), 2.0 * y - 1.0, w, u, [0], np.ones(1), 0.5, 2.0)
    np.testing.assert_allclose(
        learner.state_["V"][:, 0, :5, 0], [u[0], w], rtol=1e-9, atol=1e-9
    )
