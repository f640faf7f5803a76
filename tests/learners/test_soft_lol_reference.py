"""soft-lol against an independent version in plain numpy: prototypes are points, every past weight is kept and averaged.

Nothing here is shared with the package: a row is scaled to length 1 first, distances are distances,
the mean of the weights is the weighted sum of all that were.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from olscale.compiled.csr import to_csr
from olscale.data.chunk import Chunk
from olscale.errors import ParameterError
from olscale.learners.contract.learner import codes_of
from olscale.learners.local.lol import LOL
from olscale.learners.local.soft_lol import SoftLOL


class SlowSoftLOL:
    """One pass, with the weights after each row; `adaptive` predicts by the mean or by the weights of now."""

    def __init__(
        self,
        k: int,
        m: int,
        lam: float,
        C: float,
        sharpness: int,
        averaging: int,
        adaptive: bool = False,
    ) -> None:
        self.k = k
        self.m = m
        self.lam = lam
        self.C = C
        self.sharpness = sharpness
        self.averaging = averaging
        self.adaptive = adaptive
        self.force = "mean"
        self.forces: list[str] = []
        # of each row since the other took over, by how much the one not in force did better
        self.ahead: list[int] = []
        self.points: list[np.ndarray] = []
        self.scores: list[np.ndarray] = []
        self.doubtful = False

    def run(self, X: np.ndarray, y: np.ndarray, classes: int) -> SlowSoftLOL:
        outputs = 1 if classes == 2 else classes
        self.w = np.zeros((self.k + 1, outputs, X.shape[1]))
        self.past = [self.w.copy()]
        numbers = [0] * self.k
        for row, label in zip(X, y, strict=True):
            if row.any():
                x = row / np.linalg.norm(row)
                fresh = len(self.points) < self.k
                if fresh:
                    self.points.append(np.zeros_like(x))
                gates = self._gates(x, fresh)
                nearest = len(self.points) - 1 if fresh else int(np.argmax(gates[:-1]))
                numbers[nearest] += 1
                self.points[nearest] = (
                    self.points[nearest] + (x - self.points[nearest]) / numbers[nearest]
                )
                f = np.einsum("p,pcd,d->c", gates, self.w, x)
                both = {
                    "mean": np.einsum("p,pcd,d->c", gates, self.mean(), x),
                    "now": f,
                }
                self.forces.append(self.force)
                self.scores.append(both[self.force])
                if self.adaptive:
                    self._choose(both, int(label))
                for c, step in self._steps(f, int(label)):
                    self.w[:, c] += step * np.outer(gates, x)
            else:
                self.forces.append(self.force)
                self.scores.append(np.zeros(outputs))
            self.past.append(self.w.copy())
        return self

    def _choose(self, both: dict[str, np.ndarray], label: int) -> None:
        other = "now" if self.force == "mean" else "mean"
        errs = {}
        for form, f in both.items():
            values = np.sort(np.array([0.0, f[0]]) if len(f) == 1 else f)
            self.doubtful |= bool(0.0 < values[-1] - values[-2] < 1e-9)
            errs[form] = (
                int(f[0] >= 0.0) if len(f) == 1 else int(np.argmax(f))
            ) != label
        self.ahead.append(int(errs[self.force]) - int(errs[other]))
        if np.cumsum(self.ahead[::-1]).max() == 16:
            self.force = other
            self.ahead = []

    def mean(self) -> np.ndarray:
        """Return the mean of the weights so far: those after row t count t^q - (t-1)^q."""
        t = np.arange(1, len(self.past))
        if not len(t):
            return self.past[0]
        weights = t**self.averaging - (t - 1) ** self.averaging
        return np.average(self.past[1:], axis=0, weights=weights)

    def _gates(self, x: np.ndarray, fresh: bool) -> np.ndarray:
        gates = np.zeros(self.k + 1)
        gates[-1] = 1.0 / np.sqrt(self.lam)
        if fresh:
            gates[len(self.points) - 1] = 1.0
            return gates
        far = np.array([np.sum((x - point) ** 2) for point in self.points])
        order = np.argsort(far, kind="stable")
        # Rounding decides between equals, and how near a prototype is that coincides with the row.
        sorted_ = far[order[: self.m + 1]]
        self.doubtful |= bool((np.diff(sorted_) < 1e-9).any() or sorted_[0] < 1e-6)
        picks = order[: self.m]
        raw = np.maximum(far[picks], 1e-12) ** -float(self.sharpness)
        gates[picks] = raw / np.linalg.norm(raw)
        return gates

    def _steps(self, f: np.ndarray, label: int) -> list[tuple[int, float]]:
        norm = 1.0 + 1.0 / self.lam
        if len(f) == 1:
            target = 1.0 if label == 1 else -1.0
            return [(0, target * min(self.C, max(0.0, 1.0 - target * f[0]) / norm))]
        wrong = [c for c in range(len(f)) if c != label]
        rival = max(wrong, key=lambda c: (f[c], -c))
        self.doubtful |= any(
            c != rival and 0.0 < abs(f[c] - f[rival]) < 1e-9 for c in wrong
        )
        step = min(self.C, max(0.0, 1.0 - f[label] + f[rival]) / (2.0 * norm))
        return [(label, step), (rival, -step)]


@st.composite
def streams(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Return small streams with zeros, some of them with empty rows."""
    classes = draw(st.integers(2, 6))
    rows = draw(st.integers(1, 60))
    d = draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.integers(0, classes, rows)
    X = rng.normal(size=(classes, d))[y] + draw(
        st.sampled_from([0.3, 1.0])
    ) * rng.normal(size=(rows, d))
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.2]))] = 0.0
    return X, y, classes


@settings(max_examples=300)
@given(
    stream=streams(),
    k=st.integers(1, 20),
    m=st.integers(1, 9),
    lam=st.sampled_from([0.1, 1.0, 30.0]),
    C=st.sampled_from([0.05, 1.0, 100.0]),
    sharpness=st.integers(1, 3),
    averaging=st.integers(1, 4),
    sparse=st.booleans(),
)
def test_the_learner_is_the_plain_version(
    stream: tuple[np.ndarray, np.ndarray, int],
    k: int,
    m: int,
    lam: float,
    C: float,
    sharpness: int,
    averaging: int,
    sparse: bool,
) -> None:
    X, y, classes = stream
    slow = SlowSoftLOL(k, m, lam, C, sharpness, averaging).run(X, y, classes)
    assume(not slow.doubtful)
    rows = Chunk(to_csr(X) if sparse else X, y, X.shape[1]).X
    learner = SoftLOL(k=k, m=m, lam=lam, C=C, sharpness=sharpness, averaging=averaging)
    learner.begin(X.shape[1], classes)
    expected = np.array(slow.scores)
    scores = learner.learn(rows, y)
    np.testing.assert_allclose(scores, expected, rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(
        learner.prototypes_, np.array(slow.points).reshape(-1, X.shape[1]), atol=1e-9
    )
    V = learner.state_["V"]
    np.testing.assert_allclose(V[:, :, : X.shape[1], 0], slow.w, rtol=0.0, atol=1e-7)
    assert not V[:, :, X.shape[1] :].any()


@settings(max_examples=6)
@given(
    seed=st.integers(0, 2**32 - 1),
    classes=st.sampled_from([2, 3]),
    k=st.sampled_from([1, 6]),
    sparse=st.booleans(),
    cut=st.integers(0, 500),
)
def test_the_adaptive_form_is_the_plain_version(
    seed: int, classes: int, k: int, sparse: bool, cut: int
) -> None:
    """On streams whose labels turn over twice, cut somewhere and restored: scores, and which form is in force."""
    X, y = _turning(seed, classes)
    slow = SlowSoftLOL(k, 3, 3.0, 1.0, 2, 3, adaptive=True).run(X, y, classes)
    assume(not slow.doubtful)
    rows = (
        Chunk(to_csr(part) if sparse else part, y, 4).X for part in (X[:cut], X[cut:])
    )
    labels = (y[:cut], y[cut:])
    scores: list[np.ndarray] = []
    state = None
    for part, codes in zip(rows, labels, strict=True):
        learner = SoftLOL(k=k, m=3, averaging="adaptive")
        learner.begin(4, classes)
        if state is not None:
            learner.restore(state)
        scores.extend(learner.learn(part, codes))
        state = learner.state()
    np.testing.assert_allclose(
        np.array(scores), np.array(slow.scores), rtol=0.0, atol=1e-7
    )
    assert learner.state_["force"][0] == (slow.force == "mean")


def _turning(seed: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 500 rows, the labels of which are others from row 200 on, and the first again from row 400 on."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, 500)
    X = np.eye(4)[y] + 0.3 * rng.normal(size=(500, 4))
    y[200:400] = (y[200:400] + 1) % classes
    return X, y


def test_the_form_that_erred_less_lately_predicts() -> None:
    """Both forms are in force at times on such a stream; the plain mean makes far more mistakes on it."""
    X, y = _turning(0, 2)
    forces = SlowSoftLOL(6, 3, 3.0, 1.0, 2, 3, adaptive=True).run(X, y, 2).forces
    assert set(forces) == {"mean", "now"}
    mistakes = {}
    for averaging in (3, "adaptive"):
        learner = SoftLOL(k=6, m=3, averaging=averaging)
        learner.begin(4, 2)
        mistakes[averaging] = np.sum(codes_of(learner.learn(X, y)) != y)
    assert mistakes["adaptive"] < 0.7 * mistakes[3], mistakes


def test_the_adaptive_form_changes_no_run_of_before() -> None:
    """Parameters and version are part of every run's id: those of the default are what they were; a typo is refused."""
    names = {"k", "m", "lam", "C", "sharpness", "averaging", "dtype"}
    assert SoftLOL().resolved_params().keys() == names
    assert (SoftLOL().resolved_params()["averaging"], SoftLOL.version) == (3, 2)
    assert SoftLOL(averaging="adaptive").resolved_params()["averaging"] == "adaptive"
    with pytest.raises(
        ParameterError,
        match="averaging was 'adaptiv', expected a whole number >= 1, or 'adaptive'",
    ):
        SoftLOL(averaging="adaptiv").resolved_params()


def test_the_choice_of_a_form_leaves_the_weights_alone() -> None:
    """Weights and prototypes of the adaptive form are those of the mean; so is what the default knows of itself."""
    X, y = _turning(1, 3)
    states = []
    sizes = []
    for averaging in (3, "adaptive"):
        learner = SoftLOL(k=6, averaging=averaging)
        learner.begin(4, 3)
        learner.learn(X, y)
        states.append(learner.state())
        sizes.append(learner.measures()["model_bytes"])
    assert states[1].keys() - states[0].keys() == {"force"}
    for name, array in states[0].items():
        np.testing.assert_array_equal(states[1][name], array)
    assert sizes[1] - sizes[0] == states[1]["force"].nbytes


def test_most_streams_are_not_left_out() -> None:
    """The reference calls few streams doubtful, so that the comparison above is one."""
    rng = np.random.default_rng(0)
    doubtful = 0
    for _ in range(50):
        X = rng.normal(size=(60, 5))
        y = rng.integers(0, 3, 60)
        doubtful += SlowSoftLOL(8, 3, 1.0, 1.0, 1, 3).run(X, y, 3).doubtful
    assert doubtful <= 10


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_length_of_a_row_is_of_no_effect(dtype: str, classes: int) -> None:
    """Rows a power of two times as long give the same bits."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(200, 9))
    y = rng.integers(0, classes, 200)
    factors = 2.0 ** rng.integers(-8, 8, 200)
    if dtype == "float32":
        X = X.astype(np.float32).astype(np.float64)
    scores = []
    for rows in (X, X * factors[:, None]):
        learner = SoftLOL(k=12, dtype=dtype)
        learner.begin(9, classes)
        scores.append(learner.learn(rows, y))
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_without_distances_end_learning(dtype: str) -> None:
    """Rows too long for their squares leave no prototype near: none of them moves anything, nor does a row that follows."""
    X = np.random.default_rng(0).normal(size=(40, 5))
    y = np.arange(40) % 2
    X[20:30] *= 1e200
    learner = SoftLOL(k=4, dtype=dtype)
    learner.begin(5, 2)
    with np.errstate(all="ignore"):
        scores = learner.learn(X, y)
    assert learner.state_["members"].sum() == 20.0
    np.testing.assert_array_equal(np.isnan(scores[:, 0]), np.arange(40) >= 20)


def test_float32_makes_nearly_the_same_predictions() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 8))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(np.int64)
    codes = []
    for dtype in ("float64", "float32"):
        learner = SoftLOL(k=20, dtype=dtype)
        learner.begin(8, 2)
        learner.learn(X[:3000], y[:3000])
        codes.append(codes_of(learner.scores(X[3000:])))
    assert np.mean(codes[0] != codes[1]) < 0.02
    assert np.mean(codes[0] != y[3000:]) < 0.15


def test_it_learns_letter_far_better_than_lol_does(
    shared_data: Callable[[str], Path],
) -> None:
    """On half of the training rows, the other half held out, the error is below two thirds of LOL's."""
    X, y = load_svmlight_file(str(shared_data("letter/letter.scale")), n_features=16)
    order = np.random.default_rng(0).permutation(len(y))
    rows = np.ascontiguousarray(X.toarray()[order])
    labels = (y[order] - 1).astype(np.int64)
    rows = np.hstack(
        [
            (rows - rows[:7500].mean(axis=0)) / rows[:7500].std(axis=0),
            np.ones((len(rows), 1)),
        ]
    )
    errors = []
    for learner in (SoftLOL(), LOL()):
        learner.begin(17, 26)
        learner.learn(rows[:7500], labels[:7500])
        errors.append(np.mean(codes_of(learner.scores(rows[7500:])) != labels[7500:]))
    assert errors[0] < errors[1] * 2.0 / 3.0, errors
