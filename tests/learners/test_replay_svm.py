"""replay-svm: its figures by plain NumPy, any cut of a stream, and models that go on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from olscale.compiled.csr import read_only_csr
from olscale.compiled.philox import philox
from olscale.errors import ParameterError
from olscale.learners.contract.learner import UNKNOWN
from olscale.learners.kernel.replay_svm import ReplaySVM

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]


def stream(rows: int, columns: int, classes: int, seed: int = 0) -> tuple[FloatArray, Labels]:
    """Return noisy clusters, two for each class; a third of the values is 0."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(2 * classes, columns)) * 1.2
    cluster = rng.integers(0, 2 * classes, rows)
    X = centres[cluster] + rng.normal(size=(rows, columns))
    X[rng.random(X.shape) < 1 / 3] = 0.0
    return X, cluster % classes


def learned(params: dict[str, Any], X: FloatArray, y: Labels, cuts: Sequence[int] = ()) -> Any:
    """Return a learner after a stream that is cut into chunks, and its scores."""
    learner = ReplaySVM(**params)
    learner.begin(X.shape[1], int(y.max()) + 1)
    edges = [0, *cuts, len(X)]
    chunks = [slice(*edge) for edge in pairwise(edges)]
    return learner, np.concatenate([learner.learn(X[part], y[part]) for part in chunks])


def same_state(one: ReplaySVM, other: ReplaySVM) -> bool:
    a = one.state()
    b = other.state()
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


SMALL = {"B": 60, "D": 30, "race": 700}


# Of several classes, steps on rows again meet ties between classes, which rounding breaks.
@pytest.mark.parametrize(("classes", "R"), [(2, 2), (2, 0), (3, 0)])
def test_scores_are_those_of_plain_numpy(classes: int, R: int) -> None:
    X, y = stream(1100, 5, classes)
    learner, scores = learned(SMALL | {"R": R}, X, y)
    expected = Plain(learner, R=R, **SMALL).learn(X, y)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("columns", [3, 80])
def test_bits_do_not_depend_on_chunks_or_layout(classes: int, columns: int) -> None:
    X, y = stream(900, columns, classes)
    whole, scores = learned(SMALL, X, y)
    for cuts in ([1, 2, 399, 400, 401, 640], [350, 702], range(7, 900, 7)):
        cut, cut_scores = learned(SMALL, X, y, cuts)
        assert np.array_equal(cut_scores, scores)
        assert same_state(cut, whole)
    sparse = ReplaySVM(**SMALL)
    sparse.begin(columns, classes)
    assert np.array_equal(sparse.learn(read_only_csr(X), y), scores)
    assert same_state(sparse, whole)
    assert np.array_equal(sparse.scores(read_only_csr(X)), whole.scores(X))


@pytest.mark.parametrize("at", [0, 200, 400, 401, 690, 699, 705, 850])
def test_a_restored_learner_goes_on_to_the_same_bits(at: int) -> None:
    X, y = stream(900, 12, 3)
    whole, scores = learned(SMALL, X, y)
    first = ReplaySVM(**SMALL)
    first.begin(12, 3)
    first.learn(X[:at], y[:at])
    other = ReplaySVM(**SMALL)
    other.begin(12, 3)
    other.restore(first.state())
    assert np.array_equal(other.learn(X[at:], y[at:]), scores[at:])
    assert same_state(other, whole)


def test_rows_without_a_label_are_only_scored() -> None:
    X, y = stream(900, 6, 3)
    hidden = np.arange(len(y)) % 4 == 1
    late = np.where(hidden, UNKNOWN, y)
    learner = ReplaySVM(**SMALL)
    learner.begin(6, 3)
    scores = learner.learn(X, late)
    known, own_scores = learned(SMALL, X[~hidden], y[~hidden])
    assert np.array_equal(scores[~hidden], own_scores)
    assert same_state(learner, known)


def test_each_row_is_looked_at_once_without_replay() -> None:
    X, y = stream(900, 6, 2)
    learner, _ = learned(SMALL | {"R": 0}, X, y)
    replayed, _ = learned(SMALL, X, y)
    assert not same_state(learner, replayed)


def test_a_larger_memory_errs_less() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, size=(6000, 2))
    y = (np.floor(2.0 * X[:, 0]) + np.floor(2.0 * X[:, 1])).astype(np.int64) % 2
    errors = []
    for B in (20, 400):
        learner = ReplaySVM(B=B, D=20).fit(X[:4000], y[:4000])
        errors.append(float(np.mean(learner.predict(X[4000:]) != y[4000:])))
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.06


def test_wide_rows_are_refused_with_what_they_need() -> None:
    with pytest.raises(
        ParameterError, match=r"learner replay-svm: 2,304 rows of 900,000,000 features may take "
    ):
        ReplaySVM().begin(900_000_000, 2)


def test_a_damaged_state_is_refused() -> None:
    X, y = stream(600, 4, 2)
    learner, _ = learned(SMALL, X, y)
    for name, value in (
        ("landmarks", 31),
        ("label", 5),
        ("alive", 2),
        ("gamma", np.nan),
        ("key", 2**40),
    ):
        state = learner.state()
        state[name][0] = value
        other = ReplaySVM(**SMALL)
        other.begin(4, 2)
        with pytest.raises(ValueError, match="state does not fit learner replay-svm"):
            other.restore(state)


class Plain:
    """The algorithm row by row in NumPy, with the random rows of the learner's key."""

    def __init__(self, like: ReplaySVM, B: int, D: int, R: int, race: int) -> None:
        self.B = B
        self.R = R
        self.D = D
        self.race = race
        self.key = like.state_["key"]
        self.outputs = like._outputs
        self.rows: list[FloatArray] = []
        self.labels: list[int] = []
        self.landmarks = 0
        self.born: list[int] = []
        self.alive = [True] * 4
        self.errors = np.zeros((2, 4))
        self.trust = np.full(10, 1 / 10)

    def learn(self, X: FloatArray, y: Labels) -> FloatArray:
        self.W = np.zeros((self.outputs, X.shape[1] + 1))
        self.late_W = np.zeros_like(self.W)
        scores = np.zeros((len(X), self.outputs))
        sample = min(400, self.B + self.D)
        for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
            unit = np.append(x, 1.0) / np.sqrt(x @ x + 1.0)
            linear = self.W @ unit
            mean = linear - self.late_W @ unit / max(1, i) ** 3
            if i == sample:
                self.open(X[:sample], y[:sample].tolist())
            if i < sample:
                scores[i] = linear
            else:
                scores[i] = self.score(x, label, [linear, mean], i)
                self.step_row(x, label, i + 1)
                if i + 1 == self.race:
                    self.end_race()
            self.learn_linear(unit, linear, label, i + 1)
        return scores

    def open(self, X: FloatArray, labels: list[int]) -> None:
        squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        self.gamma = 1.0 / np.median(squares[np.tril_indices(len(X), -1)])
        self.landmarks = min(self.D, len(X))
        self.rows = list(X[: self.landmarks])
        self.labels = labels[: self.landmarks]
        self.alpha = np.zeros((4, self.outputs, self.landmarks))
        self.late = np.zeros_like(self.alpha)
        K = np.exp(-self.gamma * squares[: self.landmarks, : self.landmarks])
        self.inverse = [
            np.linalg.inv(K ** (2**e) + 1e-3 * np.eye(self.landmarks)) for e in range(4)
        ]
        self.share = np.zeros((4, self.landmarks))
        for i, (x, label) in enumerate(zip(X, labels, strict=True)):
            self.set_scores(x, max(1, i))
            self.step_row(x, label, i + 1)

    def kernel(self, x: FloatArray) -> FloatArray:
        squares = ((np.array(self.rows) - x) ** 2).sum(axis=1)
        return np.array([np.exp(-self.gamma * squares) ** (2**e) for e in range(4)])

    def set_scores(self, x: FloatArray, t: int) -> None:
        self.k = self.kernel(x)
        self.f = np.einsum("ecs,es->ec", self.alpha, self.k)
        self.g = self.f - np.einsum("ecs,es->ec", self.late, self.k) / t**3

    def wrong(self, f: FloatArray, label: int) -> bool:
        predicted = int(f[0] >= 0.0) if self.outputs == 1 else int(np.argmax(f))
        return predicted != label

    def margin(self, f: FloatArray, label: int) -> float:
        if self.outputs == 1:
            return float(f[0] if label == 1 else -f[0])
        return float(f[label] - np.delete(f, label).max())

    def score(self, x: FloatArray, label: int, linear: list[FloatArray], t: int) -> FloatArray:
        self.set_scores(x, t)
        experts = [*self.f, *self.g, *linear]
        member = np.array([*self.alive, *self.alive, True, True])
        score = sum(w * f for w, f in zip(self.trust * member, experts, strict=True))
        for j, f in enumerate(experts):
            if member[j] and self.wrong(f, label):
                self.trust[j] *= np.exp(-0.5)
                if j < 8:
                    self.errors[j // 4, j % 4] += 1
        self.trust[~member] = 0.0
        self.trust /= self.trust.sum()
        self.trust[member] = 0.999 * self.trust[member] + 0.001 / member.sum()
        return np.asarray(score)

    def step_row(self, x: FloatArray, label: int, t: int) -> None:
        living = [e for e in range(4) if self.alive[e]]
        if min(self.margin(self.f[e], label) for e in living) < 0.5:
            f = self.f.copy()
            slot = self.store(x, label, living)
            for e in living:
                self.step(e, slot, f[e], label, t)
        stored = len(self.rows) - self.landmarks
        for r in range(self.R if stored else 0):
            words = philox.py_func(
                np.uint64(t), np.uint64(0), np.uint64(r), np.uint64(0), *self.key
            )
            slot = self.landmarks + int(words[0] * np.uint64(stored) >> np.uint64(32))
            k = self.kernel(self.rows[slot])
            for e in living:
                self.step(e, slot, self.alpha[e] @ k[e], self.labels[slot], t)

    def store(self, x: FloatArray, label: int, living: list[int]) -> int:
        slot = len(self.rows)
        stored = slice(self.landmarks, None)
        if slot - self.landmarks == self.B:
            need = sum((self.alpha[e] ** 2).sum(axis=0) * self.share[e] for e in living)
            slot = self.landmarks + int(np.argmin(np.asarray(need)[stored]))
            k = self.kernel(self.rows[slot])[:, : self.landmarks]
            for e in living:
                p = self.inverse[e] @ k[e]
                self.alpha[e][:, : self.landmarks] += np.outer(self.alpha[e][:, slot], p)
                self.late[e][:, : self.landmarks] += np.outer(self.late[e][:, slot], p)
            self.alpha[:, :, slot] = 0.0
            self.late[:, :, slot] = 0.0
            self.rows[slot] = x
            self.labels[slot] = label
        else:
            self.rows.append(x)
            self.labels.append(label)
            self.alpha = np.concatenate([self.alpha, np.zeros((4, self.outputs, 1))], axis=2)
            self.late = np.concatenate([self.late, np.zeros((4, self.outputs, 1))], axis=2)
            self.share = np.concatenate([self.share, np.zeros((4, 1))], axis=1)
        k = self.kernel(x)[:, : self.landmarks]
        for e in living:
            self.share[e, slot] = max(1e-3, 1.0 - k[e] @ self.inverse[e] @ k[e])
        return slot

    def step(self, e: int, slot: int, f: FloatArray, label: int, t: int) -> None:
        most = (1.0, 3.0, 10.0, 30.0)[e]
        old = self.alpha[e][:, slot].copy()
        if self.outputs == 1:
            sign = 1.0 if label == 1 else -1.0
            new = np.array([sign * np.clip(sign * old[0] + 1.0 - sign * f[0], 0.0, most)])
        else:
            target = np.eye(self.outputs)[label]
            gain = target - f
            free = old < most * target
            up = int(np.argmax(np.where(free, gain, -np.inf)))
            down = int(np.argmin(gain))
            new = old.copy()
            if gain[up] - gain[down] > 1e-3:
                tau = min((gain[up] - gain[down]) / 2, most * target[up] - old[up])
                new[up] += tau
                new[down] -= tau
        self.alpha[e][:, slot] = new
        self.late[e][:, slot] += float(t) ** 3 * (new - old)

    def end_race(self) -> None:
        best = int(np.argmin(self.errors.min(axis=0)))
        self.alive = [e == best for e in range(4)]
        self.trust *= [*self.alive, *self.alive, True, True]
        self.trust /= self.trust.sum()

    def learn_linear(self, unit: FloatArray, f: FloatArray, label: int, t: int) -> None:
        loss = max(0.0, 1.0 - self.margin(f, label))
        change = np.zeros_like(self.W)
        if self.outputs == 1:
            change[0] = min(10.0, loss) * (1.0 if label == 1 else -1.0) * unit
        else:
            rivals = f.copy()
            rivals[label] = -np.inf
            change[label] = min(10.0, loss / 2) * unit
            change[int(np.argmax(rivals))] = -min(10.0, loss / 2) * unit
        self.W += change
        self.late_W += float(t) ** 3 * change
