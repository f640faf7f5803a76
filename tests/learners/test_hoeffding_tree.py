"""Hoeffding trees: those of a plain implementation, and MOA's mistakes."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, exp, inf, log, log2, pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import read_only
from olscale.data.generators import recipe
from olscale.errors import ParameterError
from olscale.learners import HoeffdingTree
from olscale.learners.contract.learner import codes_of
from olscale.learners.tree.leaves import TIE
from tests.learners.cut_streams import alike_in_parts
from tests.learners.moa_program import mistakes_of_moa

# A generator, its name in MOA 24.07, and what this prints:
# java -cp moa.jar tests/learners/MoaMistakes.java STREAM "trees.HoeffdingTree" 20000
MISTAKES_OF_MOA = [
    ("sea", "generators.SEAGenerator", 2_711),
    (
        "rbf:speed=0.001,classes=5",
        "generators.RandomRBFGeneratorDrift -s 0.001 -c 5",
        12_631,
    ),
    ("hyperplane", "generators.HyperplaneGenerator", 2_316),
    ("waveform", "generators.WaveformGenerator", 4_062),
    ("sine:function=3", "generators.SineGenerator -f 3", 2_139),
]
# Parameters of the learner and of MOA's. Its mistakes on 20,000 rows of Agrawal's stream and on the
# 45,312 of electricity are of "ArffFileStream -f FILE", the file being that of `write_arff`:
# categories are numbers there.
SETTINGS = [
    ({}, "", 1_335, 8_914),
    ({"leaf": "mc"}, "-l MC", 1_465, 11_045),
    ({"leaf": "nb"}, "-l NB", 1_496, 9_410),
    (
        {"grace": 50, "confidence": 0.05, "tie": 0.1},
        "-g 50 -c 0.05 -t 0.1",
        1_117,
        7_166,
    ),
]
SMALL = {"grace": 20, "confidence": 0.2, "tie": 0.3}


def stream(text: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    module, arguments, _ = recipe(text, "batches", 1, rows, {})
    batches = list(module.batches(**arguments))
    X = np.concatenate([batch.X for batch in batches]).astype(np.float64)
    y = np.concatenate([batch.target for batch in batches]).astype(np.int64)
    return read_only(X), read_only(y)


def electricity(file: Path) -> tuple[np.ndarray, np.ndarray]:
    lines = [line for line in file.read_text().split() if line[0].isdigit()]
    rows = [line.split(",") for line in lines if line.endswith(("UP", "DOWN"))]
    X = np.array([row[:-1] for row in rows], dtype=np.float64)
    return X, np.array([row[-1] == "UP" for row in rows]).astype(np.int64)


def write_arff(X: np.ndarray, y: np.ndarray, file: Path) -> None:
    """Write a stream of numeric attributes that MOA reads to the same bits."""
    attributes = [f"@attribute a{j} numeric" for j in range(X.shape[1])]
    classes = ",".join(map(str, range(int(y.max()) + 1)))
    rows = [
        ",".join(map(repr, [*row, label]))
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    head = ["@relation stream", *attributes, f"@attribute class {{{classes}}}", "@data"]
    file.write_text("\n".join([*head, *rows, ""]))


def begun(X: np.ndarray, y: np.ndarray, **params: Any) -> HoeffdingTree:
    learner = HoeffdingTree(**params)
    learner.begin(X.shape[1], int(y.max()) + 1)
    return learner


def mistakes(X: np.ndarray, y: np.ndarray, **params: Any) -> int:
    scores = begun(X, y, **params).learn(read_only(X), read_only(y))
    return int((codes_of(scores) != y).sum())


@pytest.mark.parametrize(("text", "name", "expected"), MISTAKES_OF_MOA)
def test_mistakes_are_those_of_moa(text: str, name: str, expected: int):
    assert mistakes(*stream(text, 20_000)) == expected, name


@pytest.mark.parametrize(("params", "options", "expected", "of_electricity"), SETTINGS)
def test_mistakes_of_settings_are_those_of_moa(
    params: dict[str, Any],
    options: str,
    expected: int,
    of_electricity: int,
    shared_data: Callable[[str], Path],
):
    assert mistakes(*stream("agrawal", 20_000), **params) == expected, options
    X, y = electricity(shared_data("electricity/electricity.arff"))
    assert len(y) == 45_312
    assert mistakes(X, y, **params) == of_electricity, options


@pytest.mark.long
def test_moa_itself_makes_these_mistakes(tmp_path: Path):
    X, y = stream("agrawal", 20_000)
    write_arff(X, y, tmp_path / "agrawal.arff")
    source = f"ArffFileStream -f {tmp_path / 'agrawal.arff'}"
    assert mistakes_of_moa(source, "trees.HoeffdingTree", 20_000) == SETTINGS[0][2]


class PlainLeaf:
    """A leaf or a test of the plain implementation: its rows are kept."""

    def __init__(self, weights: np.ndarray, classes: int):
        self.weights = weights
        self.classes = classes
        self.evaluated = weights.sum()
        self.correct = [0.0, 0.0]
        self.rows: list[tuple[np.ndarray, int, float]] = []
        self.test: tuple[int, float] | None = None
        self.children: list[PlainLeaf] = []

    def values(self, j: int, c: int) -> tuple[np.ndarray, np.ndarray]:
        of_class = [(x[j], w) for x, label, w in self.rows if label == c]
        return np.array([x for x, _ in of_class]), np.array([w for _, w in of_class])

    def normal(self, j: int, c: int) -> tuple[float, float, float]:
        values, weights = self.values(j, c)
        total = weights.sum()
        mean = (weights * values).sum() / total
        variance = 0.0
        if total > 1.0:
            variance = (weights * (values - mean) ** 2).sum() / (total - 1.0)
        # Equal values have a mean that may be rounded elsewhere.
        return total, mean, 0.0 if np.ptp(values) == 0.0 else sqrt(variance)

    def density(self, j: int, c: int, value: float) -> float:
        _, mean, spread = self.normal(j, c)
        if spread == 0.0:
            return 1.0 if value == self.values(j, c)[0][0] else 0.0
        return exp(-(((value - mean) / spread) ** 2) / 2.0) / (sqrt(2.0 * pi) * spread)

    def bayes(self, x: np.ndarray) -> np.ndarray:
        if self.weights.sum() == 0.0:
            return np.zeros(len(self.weights))
        votes = self.weights / self.weights.sum()
        if not self.rows:
            return votes
        present = {c for _, c, _ in self.rows}
        for c in range(len(votes)):
            if c not in present:
                votes[c] = 0.0
                continue
            for j, value in enumerate(x):
                votes[c] *= self.density(j, c, value)
        return votes

    def sides(self, j: int, threshold: float) -> np.ndarray:
        sides = np.zeros((2, len(self.weights)))
        for c in {label for _, label, _ in self.rows}:
            values, _ = self.values(j, c)
            total, mean, spread = self.normal(j, c)
            if threshold < values.min():
                sides[1, c] = total
            elif threshold >= values.max():
                sides[0, c] = total
            else:
                below = 0.5 + 0.5 * erf((threshold - mean) / spread / sqrt(2.0))
                sides[:, c] = total * below, total * (1.0 - below)
                equal = total * self.density(j, c, threshold)
                sides[1, c] = max(0.0, total - equal - (total * below - equal))
        return sides

    def best(self, j: int) -> tuple[float, float] | None:
        low = min(x[j] for x, _, _ in self.rows)
        high = max(x[j] for x, _, _ in self.rows)
        candidates = [(high - low) / 11.0 * (i + 1) + low for i in range(10)]
        merits = [(self.merit(j, t), t) for t in candidates if low < t < high]
        return max(merits, key=lambda pair: pair[0]) if merits else None

    def merit(self, j: int, threshold: float) -> float:
        sides = self.sides(j, threshold)
        totals = sides.sum(axis=1)
        if not (totals / totals.sum() > 0.01).all():
            return -inf
        after = (
            sum(t * bits(side) for t, side in zip(totals, sides, strict=True))
            / totals.sum()
        )
        return bits(self.weights) - after


def bits(weights: np.ndarray) -> float:
    positive = weights[weights > 0.0]
    shares = positive / positive.sum()
    return float(-(shares * np.log2(shares)).sum())


class PlainTree:
    def __init__(
        self, classes: int, grace: int, confidence: float, tie: float, leaf: str
    ):
        self.root = PlainLeaf(np.zeros(classes), 0)
        self.grace = grace
        self.confidence = confidence
        self.tie = tie
        self.leaf = leaf

    def leaf_of(self, x: np.ndarray) -> PlainLeaf:
        node = self.root
        while node.test is not None:
            j, threshold = node.test
            node = node.children[0 if x[j] <= threshold else 1]
        return node

    def scores(self, x: np.ndarray) -> np.ndarray:
        node = self.leaf_of(x)
        majority = self.leaf == "mc" or (
            self.leaf == "nba" and node.correct[0] > node.correct[1]
        )
        votes = node.weights if majority else node.bayes(x)
        return votes / votes.sum() if votes.sum() > 0.0 else votes

    def learn(self, x: np.ndarray, c: int, weight: float) -> None:
        node = self.leaf_of(x)
        if self.leaf == "nba":
            by_majority = np.argmax(node.weights) if node.classes else -1
            node.correct[0] += weight * (by_majority == c)
            node.correct[1] += weight * (np.argmax(node.bayes(x)) == c)
        node.weights[c] += weight
        node.classes = max(node.classes, c + 1)
        node.rows.append((x, c, weight))
        if node.weights.sum() - node.evaluated >= self.grace:
            node.evaluated = node.weights.sum()
            self.split(node)

    def split(self, node: PlainLeaf) -> None:
        if np.count_nonzero(node.weights) < 2:
            return
        found = [(node.best(j), j) for j in range(len(node.rows[0][0]))]
        candidates = [(pair[0], j, pair[1]) for pair, j in found if pair is not None]
        candidates.sort(key=lambda candidate: candidate[0])
        ranked = [-inf, *(merit for merit, _, _ in candidates)]
        if not candidates:
            node.rows.clear()
            node.correct = [0.0, 0.0]
            return
        width = log2(max(2, node.classes))
        bound = sqrt(width**2 * log(1.0 / self.confidence) / (2.0 * node.weights.sum()))
        if ranked[-1] - ranked[-2] > bound or bound < self.tie:
            _, j, threshold = candidates[-1]
            sides = node.sides(j, threshold)
            node.test = (j, threshold)
            node.children = [
                PlainLeaf(side, int(np.flatnonzero(side)[-1]) + 1) for side in sides
            ]


def rows_of_three(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(rows, 3))
    y = (X[:, 0] > 0.3).astype(np.int64) + (X[:, 1] > 0.5)
    return X, np.where(rng.random(rows) < 0.1, rng.integers(0, 3, rows), y)


@pytest.mark.parametrize("leaf", ["mc", "nb", "nba"])
@pytest.mark.parametrize("classes", [2, 3])
def test_scores_are_those_of_a_plain_implementation(leaf: str, classes: int):
    X, y = rows_of_three(500)
    y = np.minimum(y, classes - 1)
    weights = 0.75 * np.random.default_rng(5).integers(0, 4, 500)
    learner = begun(X, y, leaf=leaf, **SMALL)
    scores = learner.learn(read_only(X), read_only(y), read_only(weights))
    plain = PlainTree(classes, leaf=leaf, **SMALL)
    for i in range(500):
        expected = plain.scores(X[i])
        if classes == 2:
            expected = expected[1:] - expected[:1]
            if expected[0] <= 0.0:
                expected[0] = min(expected[0], TIE)
        np.testing.assert_allclose(
            scores[i], expected, rtol=1e-8, atol=1e-12, err_msg=str(i)
        )
        if weights[i] > 0.0:
            plain.learn(X[i], int(y[i]), float(weights[i]))
    assert learner.measures()["leaves"] > 4


def test_a_growing_tree_is_the_same_for_any_cut_and_after_a_checkpoint():
    X, y = rows_of_three(3_000)
    at_once = alike_in_parts(lambda: begun(X, y, **SMALL), X, y, 217)
    assert at_once.measures()["leaves"] > 16


def test_the_tree_stops_to_grow_at_its_limit_and_continues_to_learn():
    X, y = rows_of_three(2_000)
    learner = begun(X, y, max_leaves=3, **SMALL)
    learner.learn(read_only(X), read_only(y))
    assert learner.measures()["leaves"] == 3.0
    assert learner.state()["counts"].shape[0] == 3
    assert learner.state()["weights"].sum() > 2_000.0


def test_a_tie_is_of_the_first_class_and_so_is_the_first_row():
    X = np.zeros((3, 1))
    scores = begun(X, np.array([0, 1, 0])).learn(
        read_only(X), read_only(np.array([0, 1, 0]))
    )
    assert scores[0, 0] == scores[2, 0] == TIE < 0.0


def test_products_of_very_many_densities_leave_no_vote():
    rng = np.random.default_rng(6)
    y = rng.integers(0, 3, 100)
    X = 100.0 * rng.normal(size=(100, 400))
    scores = begun(X, y, leaf="nb").learn(read_only(X), read_only(y))
    np.testing.assert_array_equal(scores[50:], 0.0)


def test_leaves_whose_features_are_constant_begin_anew():
    y = np.random.default_rng(7).integers(0, 2, 100)
    X = np.ones((100, 2))
    learner = begun(X, y, grace=20)
    learner.learn(read_only(X), read_only(y))
    state = learner.state()
    assert state["counts"].sum() == 0.0
    assert state["weights"].sum() == 100.0


@pytest.mark.parametrize(
    ("array", "value"),
    [("child", 0), ("child", 10**6), ("feature", 3), ("feature", -2), ("sizes", 0)],
)
def test_arrays_with_which_a_row_would_leave_the_tree_are_refused(
    array: str, value: int
):
    X, y = rows_of_three(1_000)
    learner = begun(X, y, **SMALL)
    learner.learn(read_only(X), read_only(y))
    state = learner.state()
    state[array][0] = value
    with pytest.raises(ValueError, match="no rows lead to its arrays"):
        begun(X, y, **SMALL).restore(state)


def test_leaves_beyond_the_memory_are_refused():
    with pytest.raises(ParameterError, match="fewer features"):
        HoeffdingTree().begin(10**9, 1_000)


def test_a_tree_that_outgrows_the_memory_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
):
    X, y = rows_of_three(3_000)
    monkeypatch.setattr("olscale.learners.contract.cost.memory_bytes", lambda: 5_000)
    learner = begun(X, y, **SMALL)
    with pytest.raises(ParameterError, match=r"16 leaves .* take a smaller max_leaves"):
        learner.learn(read_only(X), read_only(y))


def test_weights_that_swallow_each_other_stay_within_the_arrays():
    X, y = rows_of_three(400)
    weights = np.full(400, 1e20)
    weights[::3] = 1.0
    learner = begun(X, y, **SMALL)
    scores = learner.learn(read_only(X), read_only(y), read_only(weights))
    assert np.isfinite(scores).all()
    assert learner.measures()["leaves"] <= len(learner.state()["counts"])
