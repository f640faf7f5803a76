"""drift-ensemble: its scores by plain NumPy, any cut of a stream, drift, and models that go on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import read_only_csr
from olscale.errors import ParameterError
from olscale.learners import KNNWindow, PairTiles
from olscale.learners.contract.cost import cost_of
from olscale.learners.contract.learner import UNKNOWN
from olscale.learners.ensemble.drift_ensemble import DriftEnsemble
from olscale.learners.ensemble.expert_forest import expert_forest
from olscale.learners.kernel.replay_machine import MACHINES
from tests.learners.plain_replay import FloatArray, Labels, PlainReplay


class ShortEnsemble(DriftEnsemble):
    """The learner with fewer landmarks and a race that ends within a short stream."""

    D = 30
    race = 700
    rests_from = 1000


class SingleLook(ShortEnsemble):
    """The form without steps on stored rows, where rounding breaks no ties between classes."""

    R = 0


SMALL = {"B": 60, "window": 100}


def turning_stream(
    rows: int, columns: int, classes: int, seed: int = 0
) -> tuple[FloatArray, Labels]:
    """Return noisy clusters, two for each class, that exchange classes half way; some values are 0."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(2 * classes, columns)) * 1.2
    cluster = rng.integers(0, 2 * classes, rows)
    X = centres[cluster] + rng.normal(size=(rows, columns))
    X[rng.random(X.shape) < 1 / 3] = 0.0
    labels = cluster % classes
    labels[rows // 2 :] = (labels[rows // 2 :] + 1) % classes
    return X, labels


def learned(
    X: FloatArray,
    y: Labels,
    cuts: Sequence[int] = (),
    kind: type[DriftEnsemble] = ShortEnsemble,
    params: dict[str, int] = SMALL,
) -> tuple[Any, FloatArray]:
    """Return a learner after a stream that is cut into chunks, and its scores."""
    learner = kind(**params)
    learner.begin(X.shape[1], int(y.max()) + 1)
    edges = [0, *cuts, len(X)]
    chunks = [slice(*edge) for edge in pairwise(edges)]
    return learner, np.concatenate([learner.learn(X[part], y[part]) for part in chunks])


def same_state(one: DriftEnsemble, other: DriftEnsemble) -> bool:
    a = one.state()
    b = other.state()
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize(
    ("classes", "kind"), [(2, ShortEnsemble), (2, SingleLook), (3, SingleLook)]
)
def test_scores_are_those_of_plain_numpy(
    classes: int, kind: type[DriftEnsemble]
) -> None:
    X, y = turning_stream(2200, 4, classes)
    learner, scores = learned(X, y, kind=kind)
    plain = PlainEnsemble(learner, window=SMALL["window"])
    expected = plain.learn(X, y)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)
    assert plain.drifted > 100, "the stream must show the machines' way with drift"


class TinyEnsemble(DriftEnsemble):
    """The learner with so few landmarks that linear experts are soon better, and with early rests."""

    D = 5
    race = 300
    rests_from = 400
    rests_below = 0.1


class EarlyRest(ShortEnsemble):
    """The learner whose machines rest at a greater worth."""

    rests_below = 0.04


def test_machines_rest_where_they_add_nothing() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1800, 4))
    y = (X.sum(axis=1) + 0.3 * rng.normal(size=1800) > 0.0).astype(np.int64)
    small = {"B": 5, "window": 50}
    learner, scores = learned(X, y, kind=TinyEnsemble, params=small)
    plain = PlainEnsemble(learner, window=50)
    np.testing.assert_allclose(scores, plain.learn(X, y), rtol=1e-4, atol=1e-4)
    assert plain.rested > 200
    cut, cut_scores = learned(X, y, range(11, 1800, 11), TinyEnsemble, small)
    assert np.array_equal(cut_scores, scores)
    assert same_state(cut, learner)


def test_machines_wake_where_they_are_needed() -> None:
    """Behind noisy half spaces comes the parity of two signs, turned: machines learn it best."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-1.0, 1.0, size=(12000, 5))
    y = ((X.sum(axis=1) > 0.0) ^ (rng.random(12000) < 0.2)).astype(np.int64)
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0][:, :2]
    y[6000:] = np.prod(np.sign(X[6000:] @ axes), axis=1) > 0.0
    learner = EarlyRest(B=400, window=16)
    learner.begin(5, 2)
    learner.learn(X[:6000], y[:6000])
    assert learner.state_["resting"][0] == 1
    wrong = (learner.learn(X[6000:], y[6000:])[:, 0] >= 0.0) != y[6000:]
    assert learner.state_["resting"][0] == 0
    assert wrong[:500].mean() > 0.3
    assert wrong[-1000:].mean() < 0.2


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("columns", [3, 80])
def test_bits_do_not_depend_on_chunks_or_layout(classes: int, columns: int) -> None:
    X, y = turning_stream(900, columns, classes)
    whole, scores = learned(X, y)
    for cuts in ([1, 2, 399, 400, 401, 640], [350, 702], range(7, 900, 7)):
        cut, cut_scores = learned(X, y, cuts)
        assert np.array_equal(cut_scores, scores)
        assert same_state(cut, whole)
    sparse = ShortEnsemble(**SMALL)
    sparse.begin(columns, classes)
    assert np.array_equal(sparse.learn(read_only_csr(X), y), scores)
    assert same_state(sparse, whole)
    assert np.array_equal(sparse.scores(read_only_csr(X)), whole.scores(X))


@pytest.mark.parametrize("at", [0, 50, 90, 91, 200, 690, 699, 705, 850])
def test_a_restored_learner_goes_on_to_the_same_bits(at: int) -> None:
    X, y = turning_stream(900, 12, 3)
    whole, scores = learned(X, y)
    first = ShortEnsemble(**SMALL)
    first.begin(12, 3)
    first.learn(X[:at], y[:at])
    other = ShortEnsemble(**SMALL)
    other.begin(12, 3)
    other.restore(first.state())
    assert np.array_equal(other.learn(X[at:], y[at:]), scores[at:])
    assert same_state(other, whole)


def test_rows_without_a_label_are_only_scored() -> None:
    X, y = turning_stream(900, 6, 3)
    hidden = np.arange(len(y)) % 4 == 1
    learner = ShortEnsemble(**SMALL)
    learner.begin(6, 3)
    scores = learner.learn(X, np.where(hidden, UNKNOWN, y))
    known, own_scores = learned(X[~hidden], y[~hidden])
    assert np.array_equal(scores[~hidden], own_scores)
    assert same_state(learner, known)


@pytest.mark.parametrize("delay", [1, 48])
def test_late_labels_are_those_of_single_steps(delay: int) -> None:
    """A row is scored when it comes and scored anew when its label does: experts are judged then."""
    X, y = turning_stream(600, 5, 2)
    learner = ShortEnsemble(**SMALL)
    learner.begin(5, 2)
    single = ShortEnsemble(**SMALL)
    single.begin(5, 2)
    # In the order of their events: row t comes, then the label of row t - delay.
    rows = [t - late for t in range(len(X)) for late in (0, delay) if t >= late]
    asked = np.array(
        [late == 0 for t in range(len(X)) for late in (0, delay) if t >= late]
    )
    scores = learner.learn(X[rows], np.where(asked, UNKNOWN, y[rows]))[asked]
    for t in range(len(X)):
        assert np.array_equal(single.scores(X[t : t + 1])[0], scores[t])
        if t >= delay:
            single.learn(X[t - delay : t - delay + 1], y[t - delay : t - delay + 1])
    assert same_state(learner, single)


def test_experts_are_those_of_the_learners_they_are_named_after() -> None:
    X, y = turning_stream(300, 5, 3)
    learner, _ = learned(X, y)
    learner.scores(X[:1])
    window = KNNWindow(window=100, weights="distance")
    window.begin(5, 3)
    window.learn(X, y)
    rows, labels = learner.newest_first()
    assert np.array_equal(rows, window.newest_first()[0])
    assert np.array_equal(labels, window.newest_first()[1])
    for rate, table in zip(
        (16.0, 4.0, 1.0, 0.25), learner.state_["tables"], strict=True
    ):
        tiles = PairTiles(rate=rate)
        tiles.begin(5, 3)
        tiles.learn(X, y)
        assert np.array_equal(tiles.state_["table"], table)


def test_a_turn_is_followed_where_each_half_is_learned() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.5, 1.5, size=(6000, 2))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(np.int64)
    y[3000:] = 1 - y[3000:]
    learner = DriftEnsemble(B=200)
    learner.begin(2, 2)
    wrong = (learner.learn(X, y)[:, 0] >= 0.0) != y
    assert wrong[2000:3000].mean() < 0.02
    assert wrong[3000:3050].mean() > 0.3
    assert wrong[4000:].mean() < 0.02


def test_wide_rows_are_refused_with_what_they_need() -> None:
    with pytest.raises(
        ParameterError, match="take a smaller B or window, or project rows first"
    ):
        DriftEnsemble().begin(900_000_000, 2)


def test_the_cost_is_that_of_all_parts() -> None:
    cost = cost_of(DriftEnsemble())
    numbers = cost.row_numbers(10, 2, 10.0)
    assert numbers > cost_of(DriftEnsemble(window=10)).row_numbers(10, 2, 10.0)
    assert numbers > cost_of(DriftEnsemble(B=10)).row_numbers(10, 2, 10.0)
    few = cost.stream_numbers(10, 2, 10.0, 1_000)
    assert 0.0 < few < cost.stream_numbers(10, 2, 10.0, 2_000)


def test_a_damaged_state_is_refused() -> None:
    X, y = turning_stream(600, 4, 2)
    learner, _ = learned(X, y)
    for name, value in (
        ("labels", 5),
        ("pairs", 4),
        ("drifting", 2),
        ("landmarks", 31),
        ("forest_front", 11),
    ):
        state = learner.state()
        state[name].ravel()[0] = value
        other = ShortEnsemble(**SMALL)
        other.begin(4, 2)
        with pytest.raises(
            ValueError, match="state does not fit learner drift-ensemble"
        ):
            other.restore(state)


class PlainEnsemble(PlainReplay):
    """The mixture row by row in NumPy; the machines are those of replay-svm."""

    def __init__(self, like: DriftEnsemble, window: int) -> None:
        super().__init__(like, B=like.B, D=like.D, R=like.R, race=like.race)
        self.window = window
        self.classes = max(2, self.outputs)
        self.past: list[tuple[FloatArray, int]] = []
        self.tables: list[dict[tuple[int, ...], FloatArray]] = [{} for _ in range(4)]
        self.stack = np.full(30, 2 / 30)
        self.lapses = np.full(11, 0.5)
        self.trust = np.where(np.arange(31) < 8, 0.0, 1 / 23)
        self.drifted = 0
        self.rests_from = like.rests_from
        self.rests_below = like.rests_below
        self.worth = 1.0
        self.resting = False
        self.rested = 0

    def learn(self, X: FloatArray, y: Labels) -> FloatArray:
        columns = X.shape[1]
        self.linear = np.zeros((4, self.outputs, columns + 1))
        self.late_linear = np.zeros((self.outputs, columns + 1))
        scores = np.zeros((len(X), self.outputs))
        sample = min(400, self.B + self.D)
        forest = expert_forest(seed=0)
        forest.begin(columns, self.classes)
        of_trees = forest.tree_scores(X, y, learning=True)
        for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
            unit = np.append(x, 1.0) / np.sqrt(x @ x + 1.0)
            cells = self.cells_of(x)
            others = [*self.score_linear(unit, i), *self.score_windows(x)]
            others += [self.signed(p) for p in self.probabilities(cells)]
            others += [*of_trees[i]]
            opened = i >= sample
            if i == sample:
                self.open(X[:sample], y[:sample].tolist())
                self.trust *= 23 / 31
                self.trust[:8] = 1 / 31
            runs = opened and not (self.resting and i >= self.rests_from and i % 4)
            self.rested += opened and not runs
            machines = np.zeros((8, self.outputs))
            if runs:
                self.set_scores(x, i)
                machines = np.concatenate([self.f, self.g])
            scores[i] = self.mix(np.array([*machines, *others]), label, runs)
            if runs:
                self.step_row(x, label, i + 1)
            if opened and i + 1 == self.race:
                self.end_race_of_machines()
            self.learn_parts(unit, np.array(others), cells, label, i + 1)
            self.past.insert(0, (x, label))
            del self.past[self.window :]
        return scores

    def mix(self, experts: FloatArray, label: int, runs: bool) -> FloatArray:
        running = np.array([runs and alive for alive in self.alive] * 2 + [True] * 23)
        told = np.where(running[:30, None], np.clip(experts, -2.0, 2.0), 0.0)
        p = self.softmax(2.0 * self.stack @ told)
        every = np.concatenate([told, [self.signed(p)]])
        score = self.trust @ every
        wrong = np.array([self.is_wrong(f, label) for f in [*experts, self.signed(p)]])
        self.errors += np.where(running[:8], wrong[:8], False).reshape(2, 4)
        shared = self.trust[running]
        total = 1.0 if runs else shared.sum()
        shared = shared * np.exp(-0.5 * wrong[running])
        self.trust[running] = total * (
            0.999 * shared / shared.sum() + 0.001 / running.sum()
        )
        self.stack = self.stack + 0.02 * told @ (self.target(label) - p)
        followed = np.array([*range(8), 13, 14, 15])
        active = running[followed]
        self.lapses[active] += (wrong[followed][active] - self.lapses[active]) / 200
        if runs:
            machines = self.lapses[:8][running[:8]]
            self.drifting = bool(self.lapses[8:].min() < machines.min())
            parts = np.abs(self.stack[:, None] * told).sum(axis=1)
            share = parts[:8].sum() / parts.sum()
            self.worth += (
                self.trust[:8].sum() + self.trust[30] * share - self.worth
            ) / 500
            self.resting = self.worth < self.rests_below * (
                1.5 if self.resting else 1.0
            )
        self.drifted += self.drifting
        return score

    def target(self, label: int) -> FloatArray:
        return (
            np.array([float(label)])
            if self.outputs == 1
            else np.eye(self.outputs)[label]
        )

    def softmax(self, f: FloatArray) -> FloatArray:
        if self.outputs == 1:
            return 1.0 / (1.0 + np.exp(-f))
        power = np.exp(f - f.max())
        return power / power.sum()

    def signed(self, p: FloatArray) -> FloatArray:
        return 2.0 * p - 1.0 if self.outputs == 1 else p

    def score_linear(self, unit: FloatArray, i: int) -> list[FloatArray]:
        now = [W @ unit for W in self.linear]
        return [*now, now[0] - self.late_linear @ unit / max(1, i) ** 3]

    def score_windows(self, x: FloatArray) -> list[FloatArray]:
        scores = []
        for window in (max(1, self.window // 16), self.window // 4, self.window):
            rows = self.past[:window]
            votes = np.zeros(self.classes)
            squares = np.array([((x - row) ** 2).sum() for row, _ in rows])
            for place in np.argsort(squares, kind="stable")[:5].tolist():
                votes[rows[place][1]] += 1.0 / (squares[place] / len(x) + 1e-3)
            votes /= votes.sum() or 1.0
            difference = votes[1] - votes[0] or -1e-9
            scores.append(np.array([difference]) if self.outputs == 1 else votes)
        return scores

    def cells_of(self, x: FloatArray) -> list[tuple[int, ...]]:
        bins = np.clip(np.floor((x + 1.8) * 16.0 / 3.6), 0, 15).astype(int).tolist()
        cells: list[tuple[int, ...]] = list(enumerate(bins))
        for k, j in combinations(range(len(bins)), 2):
            cells.append((k, j, bins[k], bins[j]))
            cells.append((k, j, 16 + bins[k] // 4, 16 + bins[j] // 4))
        return cells

    def probabilities(self, cells: list[tuple[int, ...]]) -> list[FloatArray]:
        zero = np.zeros(self.outputs)
        sums = [
            np.sum([table.get(c, zero) for c in cells], axis=0) for table in self.tables
        ]
        return [self.softmax(f) for f in sums]

    def learn_parts(
        self,
        unit: FloatArray,
        others: FloatArray,
        cells: list[tuple[int, ...]],
        label: int,
        t: int,
    ) -> None:
        target = self.target(label)
        rates = (16.0, 4.0, 1.0, 0.25)
        for table, rate, p in zip(
            self.tables, rates, self.probabilities(cells), strict=True
        ):
            for cell in cells:
                table[cell] = table.get(cell, 0.0) + rate / len(cells) * (target - p)
        for a, most in enumerate((10.0, 0.3, 0.05, 0.01)):
            f = others[a]
            loss = max(0.0, 1.0 - self.margin(f, label))
            change = np.zeros_like(self.late_linear)
            if self.outputs == 1:
                change[0] = min(most, loss) * (1.0 if label == 1 else -1.0) * unit
            else:
                rivals = f.copy()
                rivals[label] = -np.inf
                change[label] = min(most, loss / 2) * unit
                change[int(np.argmax(rivals))] = -min(most, loss / 2) * unit
            self.linear[a] += change
            if a == 0:
                self.late_linear += float(t) ** 3 * change

    def end_race_of_machines(self) -> None:
        best = int(np.argmin(self.errors.min(axis=0)))
        self.alive = [e == best for e in range(MACHINES)]
        self.trust *= [*self.alive, *self.alive, *([True] * 23)]
        self.trust /= self.trust.sum()
