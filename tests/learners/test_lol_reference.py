"""LOL and I-LOL against an independent version in plain numpy: prototypes are points, distances are distances.

Nothing here is shared with the package: prototypes move by eq. (20) as printed (or with MacQueen's
count), the hyperplanes are separate vectors, one row at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import to_csr
from olscale.data.chunk import Chunk
from olscale.learners.contract.learner import codes_of
from olscale.learners.local.lol import ILOL, LOL


@dataclass
class SlowLOL:
    """One pass of LOL; ``lam = inf`` is I-LOL. Points given beforehand stay where they are."""

    k: int
    lam: float
    C: float
    multiclass: str
    count_rule: str
    points: list[np.ndarray] = field(default_factory=list)
    scores: list[np.ndarray] = field(default_factory=list)
    assigned: list[int] = field(default_factory=list)
    doubtful: bool = False
    """Whether rounding decides an assignment or a rival somewhere: results may then differ rightly."""

    def run(self, X: np.ndarray, y: np.ndarray, classes: int) -> SlowLOL:
        fixed = bool(self.points)
        outputs = 1 if classes == 2 else classes
        d = X.shape[1]
        numbers = [0] * self.k
        self.w, self.u = np.zeros((outputs, d)), np.zeros((self.k, outputs, d))
        for x, label in zip(X, y, strict=True):
            if not fixed and len(self.points) < self.k:
                i = len(self.points)
                self.points.append(x.copy())
                numbers[i] = 1
            else:
                i = self._nearest(x)
                if not fixed and self.count_rule == "macqueen":
                    numbers[i] += 1
                    self.points[i] += (x - self.points[i]) / numbers[i]
                elif not fixed:
                    self.points[i] += (x - self.points[i]) / numbers[i]
                    numbers[i] += 1
            self.assigned.append(i)
            f = (self.w + self.u[i]) @ x
            self.scores.append(f)
            if x.any():
                for c, step in self._steps(
                    f, int(label), (1.0 + 1.0 / self.lam) * (x @ x)
                ):
                    self.w[c] += step / self.lam * x
                    self.u[i, c] += step * x
        return self

    def _nearest(self, x: np.ndarray) -> int:
        distances = np.array([np.sum((x - point) ** 2) for point in self.points])
        best = int(np.argmin(distances))
        others = [
            d
            for point, d in zip(self.points, distances, strict=True)
            if not np.array_equal(point, self.points[best])
        ]
        self.doubtful |= bool(
            others and min(others) - distances[best] < 1e-9 * (1.0 + x @ x)
        )
        return best

    def _steps(
        self, f: np.ndarray, label: int, square: float
    ) -> list[tuple[int, float]]:
        if len(f) == 1:
            target = 1.0 if label == 1 else -1.0
            return [(0, target * min(self.C, max(0.0, 1.0 - target * f[0]) / square))]
        if self.multiclass == "ova":
            targets = [1.0 if c == label else -1.0 for c in range(len(f))]
            return [
                (c, t * min(self.C, max(0.0, 1.0 - t * f[c]) / square))
                for c, t in enumerate(targets)
            ]
        wrong = [c for c in range(len(f)) if c != label]
        rival = max(wrong, key=lambda c: (f[c], -c))
        self.doubtful |= any(
            c != rival and 0.0 < abs(f[c] - f[rival]) < 1e-9 for c in wrong
        )
        step = min(self.C, max(0.0, 1.0 - (f[label] - f[rival])) / (2.0 * square))
        return [(label, step), (rival, -step)]


@st.composite
def streams(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Return small streams with zeros, some of them with empty rows."""
    classes = draw(st.integers(2, 4))
    rows = draw(st.integers(1, 60))
    d = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.integers(0, classes, rows)
    X = rng.normal(size=(classes, d))[y] + draw(
        st.sampled_from([0.3, 1.0])
    ) * rng.normal(size=(rows, d))
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.4]))] = 0.0
    return X, y, classes


@pytest.mark.parametrize("prototypes", ["sequential", "offline"])
@pytest.mark.parametrize("common", [True, False], ids=["lol", "ilol"])
@settings(max_examples=150)
@given(
    stream=streams(),
    k=st.integers(1, 20),
    lam=st.sampled_from([0.01, 0.5, 1.0, 30.0]),
    C=st.sampled_from([0.05, 1.0, 100.0]),
    multiclass=st.sampled_from(["ova", "max-score"]),
    count_rule=st.sampled_from(["macqueen", "paper"]),
    sparse=st.booleans(),
)
def test_the_learner_is_the_plain_version(
    prototypes: str,
    common: bool,
    stream: tuple[np.ndarray, np.ndarray, int],
    k: int,
    lam: float,
    C: float,
    multiclass: str,
    count_rule: str,
    sparse: bool,
) -> None:
    X, y, classes = stream
    rows = Chunk(to_csr(X) if sparse else X, y, X.shape[1]).X
    learner: LOL | ILOL = LOL(lam=lam) if common else ILOL()
    learner.set_params(
        k=k, C=C, multiclass=multiclass, prototypes=prototypes, count_rule=count_rule
    )
    learner.begin(X.shape[1], classes)
    slow = SlowLOL(k, lam if common else math.inf, C, multiclass, count_rule)
    if prototypes == "offline":
        learner.prepare(rows)
        slow.points = list(learner.prototypes_.copy())
    slow.run(X, y, classes)
    assume(not slow.doubtful)
    expected = np.array(slow.scores)
    scores = learner.learn(rows, y)
    np.testing.assert_allclose(scores, expected, rtol=0.0, atol=1e-8)
    if (
        not (np.abs(np.diff(np.sort(expected, axis=1), axis=1)) < 1e-8).any()
        and not (np.abs(expected) < 1e-8).any()
    ):
        assert np.array_equal(codes_of(scores), codes_of(expected))
    np.testing.assert_allclose(
        learner.prototypes_, np.array(slow.points), rtol=0.0, atol=1e-10
    )
    np.testing.assert_allclose(
        learner.state_["U"].transpose(0, 2, 1), slow.u, rtol=0.0, atol=1e-8
    )
    if common:
        np.testing.assert_allclose(learner.state_["W"].T, slow.w, rtol=0.0, atol=1e-8)
