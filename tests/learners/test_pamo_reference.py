"""PAMO against an independent version in plain numpy: Algorithm 1 with eqs. (17) and (22) mended, one row at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import to_csr
from olscale.data.chunk import Chunk
from olscale.learners.contract.learner import UNKNOWN
from olscale.learners.local.pamo import PAMO1, PAMO2


def slow(
    X: np.ndarray,
    y: np.ndarray,
    U: np.ndarray,
    w: np.ndarray,
    p: dict[str, float],
    always: bool,
) -> np.ndarray:
    """One pass of a binary problem, labels -1 and +1; hyperplanes `U` of shape (h, k, d) and `w` move in place."""
    scores = np.zeros(len(X))
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        if not x.any():
            continue
        x = x / np.linalg.norm(x)
        raw = (U @ x).max(axis=1)
        winner = (U @ x).argmax(axis=1)
        z = raw / np.linalg.norm(raw)
        scores[t] = w @ z
        loss = max(0.0, 1.0 - label * scores[t])
        if loss > 0.0:
            w += min(p["C"], (1.0 - p["alpha"]) * loss) * label * z
            left = max(0.0, 1.0 - label * (w @ z))
            z = z + left / (w @ w) * label * w
        if loss > 0.0 or always:
            for m in range(len(U)):
                error = z[m] - raw[m]
                U[m, winner[m]] += (
                    np.sign(error)
                    * min(p["C"], max(0.0, abs(error) - p["epsilon"]))
                    * x
                )
    return scores


@pytest.mark.parametrize("kind", [PAMO1, PAMO2])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    classes=st.integers(2, 4),
    h=st.sampled_from([1, 3, 8, 64]),
    k=st.integers(1, 4),
    C=st.sampled_from([0.05, 0.125, 2.0]),
    alpha=st.sampled_from([0.1, 0.9]),
    epsilon=st.sampled_from([0.0, 0.05]),
)
def test_the_learner_is_the_plain_version(
    kind: type[PAMO1],
    sparse: bool,
    seed: int,
    classes: int,
    h: int,
    k: int,
    C: float,
    alpha: float,
    epsilon: float,
) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, 50)
    X = rng.normal(size=(classes, 5))[y] + rng.normal(size=(50, 5))
    X[rng.random(X.shape) < 0.2] = 0.0
    X[7] = 0.0
    learner = kind(h=h, k=k, C=C, alpha=alpha, epsilon=epsilon, seed=seed % 1000)
    learner.begin(5, classes)
    start = learner.state()
    rows = Chunk(to_csr(X) if sparse else X, y, 5)
    # In two chunks: what a row leaves for the next to do must not be left undone at the end of a
    # chunk.
    scores = np.concatenate(
        [learner.learn(part.X, part.y) for part in (rows[:20], rows[20:])]
    )
    planes = start["theta"].T.reshape(len(start["W"]), h, k, 5)
    for c, (U, w) in enumerate(zip(planes, start["W"], strict=True)):
        target = np.where(y == (c if classes > 2 else 1), 1.0, -1.0)
        expected = slow(
            X, target, U, w, {"C": C, "alpha": alpha, "epsilon": epsilon}, kind.always
        )
        np.testing.assert_allclose(scores[:, c], expected, rtol=0.0, atol=1e-8)
        np.testing.assert_allclose(learner.state_["W"][c], w, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(
        learner.state_["theta"].T, planes.reshape(-1, 5), rtol=0.0, atol=1e-8
    )


@pytest.mark.parametrize("kind", [PAMO1, PAMO2])
@pytest.mark.parametrize("sparse", [False, True])
def test_classes_that_are_learned_a_few_at_once_get_the_same_bits(
    kind: type[PAMO1], sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of no known class, and one that nothing can be learned from, among them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.7)
    y = rng.integers(0, 7, 60)
    y[::9] = UNKNOWN
    X[50, 2] = np.inf
    rows = to_csr(X) if sparse else X

    def learned() -> list[bytes]:
        learner = kind(h=4)
        learner.begin(5, 7)
        scores = learner.learn(rows, y)
        return [
            scores.tobytes(),
            *(array.tobytes() for array in learner.state_.values()),
        ]

    together = learned()
    monkeypatch.setattr("olscale.learners.local.pamo._CACHE_BYTES", 5 * 4 * 2 * 8 * 3)
    assert kind(h=4)._classes_together(rows, np.zeros((5, 4 * 2 * 7))) == 3
    assert learned() == together
