"""Nearest neighbours in a window: those of a plain implementation, and MOA's mistakes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from olscale.compiled.adwin import WIDTH, add_to_window, empty_windows
from olscale.compiled.csr import read_only
from olscale.data.generators import recipe
from olscale.errors import ParameterError
from olscale.learners import KNNWindow
from olscale.learners.contract.cost import cost_of
from olscale.learners.contract.learner import UNKNOWN, codes_of
from olscale.learners.neighbour.window_loop import SOFT, TIE

# A generator, its name in MOA 24.07, and what this prints for the three forms below:
# java -cp moa.jar tests/learners/MoaMistakes.java STREAM "lazy.kNN -k K -w W" 5000
MISTAKES_OF_MOA = [
    ("sea", "generators.SEAGenerator", (692, 792)),
    (
        "rbf:speed=0.001,classes=5",
        "generators.RandomRBFGeneratorDrift -s 0.001 -c 5",
        (842, 1859),
    ),
    ("hyperplane", "generators.HyperplaneGenerator", (940, 1034)),
    ("waveform", "generators.WaveformGenerator", (969, 1003)),
    ("sine:function=3", "generators.SineGenerator -f 3", (445, 680)),
]
FORMS = ({"k": 5, "window": 1_000}, {"k": 10, "window": 200})


def stream(text: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    module, arguments, _ = recipe(text, "batches", 1, rows, {})
    batches = list(module.batches(**arguments))
    X = np.concatenate([batch.X for batch in batches])
    y = np.concatenate([batch.target for batch in batches]).astype(np.int64)
    return read_only(X), read_only(y)


def learned(X: np.ndarray, y: np.ndarray, **params: Any) -> np.ndarray:
    learner = KNNWindow(**params)
    learner.begin(X.shape[1], len(np.unique(y)))
    return learner.learn(read_only(X), read_only(y))


@pytest.mark.parametrize(("text", "name", "mistakes"), MISTAKES_OF_MOA)
def test_mistakes_are_those_of_moa(text: str, name: str, mistakes: tuple[int, int]):
    X, y = stream(text, 5_000)
    for form, expected in zip(FORMS, mistakes, strict=True):
        codes = codes_of(learned(X, y, scaling="range", **form))
        assert int((codes != y).sum()) == expected, (name, form)


def plain_scores(
    X: np.ndarray, y: np.ndarray, k: int, window: int, by_distance: bool, by_range: bool
) -> np.ndarray:
    """The shares of three classes, row by row."""
    scores = np.zeros((len(X), 3))
    for i in range(1, len(X)):
        newest_first = np.arange(i - 1, max(-1, i - 1 - window), -1)
        rows = X[newest_first]
        scale = np.ones(X.shape[1])
        if by_range:
            width = rows.max(axis=0) - rows.min(axis=0)
            scale = np.divide(1.0, width, out=np.zeros_like(width), where=width > 0.0)
        squares = (((X[i] - rows) * scale) ** 2).sum(axis=1)
        nearest = np.argsort(squares, kind="stable")[:k]
        votes = np.ones(len(nearest))
        if by_distance:
            votes = 1.0 / (squares[nearest] / X.shape[1] + SOFT)
        np.add.at(scores[i], y[newest_first[nearest]], votes / votes.sum())
    return scores


def shortened(X: np.ndarray, y: np.ndarray, k: int, window: int) -> list[int]:
    """Return the predictions of a plain KNNADWINClassifier, row by row."""
    adwin = empty_windows(1)
    kept: list[int] = []
    predicted = []

    def nearest_class(i: int) -> int:
        squares = ((X[i] - X[kept]) ** 2).sum(axis=1)
        nearest = np.argsort(squares, kind="stable")[:k]
        return int(np.bincount(y[kept][nearest]).argmax())

    for i in range(len(X)):
        predicted.append(nearest_class(i) if kept else 0)
        kept = [*kept, i][-window:]
        knows = len(kept) >= k and nearest_class(i) == y[i]
        has_changed = add_to_window(adwin, 0, float(knows), 0.002)
        width = int(adwin.window_counts[0, WIDTH])
        if has_changed and len(kept) >= k and width < len(kept):
            kept = kept[len(kept) - width :]
    return predicted


@pytest.mark.parametrize("scaling", ["none", "range"])
@pytest.mark.parametrize("cuts", [(), (777, 2_050, 2_051)])
def test_windows_are_shortened_where_the_accuracy_changes(
    scaling: str, cuts: tuple[int, ...]
) -> None:
    """Three times the classes change places; also after checkpoints, and where ranges scale."""
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(4_000, 3))
    # With ranges of 1, scaled distances are those without.
    X[::50] = rng.integers(0, 2, (80, 3))
    y = (X[:, 0] > 0.5) ^ (np.arange(4_000) // 1_000 % 2 == 1)
    y = y.astype(np.int64)
    learner = KNNWindow(adwin=0.002, scaling=scaling)
    learner.begin(3, 2)
    scores = []
    lengths = []
    for start, stop in pairwise((0, *cuts, 4_000)):
        state = learner.state()
        learner.begin(3, 2)
        learner.restore(state)
        rows = read_only(X[start:stop])
        scores.append(learner.learn(rows, read_only(y[start:stop])))
        lengths.append(len(learner.newest_first()[0]))
    codes = codes_of(np.concatenate(scores))
    expected = shortened(X, y, 5, 1_000)
    if scaling == "none":
        assert codes.tolist() == expected
    mistakes = int((codes != y).sum())
    assert mistakes < 0.6 * int((codes_of(learned(X, y)) != y).sum())
    assert 0 < lengths[-1] < 1_000


def test_a_crafted_length_of_the_window_is_refused() -> None:
    X, y = stream("sea", 300)
    learner = KNNWindow(adwin=0.002)
    learner.begin(X.shape[1], 2)
    learner.learn(X, y)
    state = learner.state()
    learner.restore(state)
    for length in (-1, 301):
        crafted = {**state, "length": np.array([length])}
        with pytest.raises(ValueError, match="no rows lead to its arrays"):
            learner.restore(crafted)


def test_a_window_that_nothing_shortens_is_that_of_earlier_versions() -> None:
    """Its runs have the same ids, and its checkpoints the same arrays."""
    learner = KNNWindow()
    learner.begin(2, 2)
    assert "adwin" not in learner.resolved_params()
    assert learner.state().keys() == {
        *("seen", "updates", "rows", "labels", "low", "high")
    }
    assert KNNWindow(adwin=0.01).resolved_params()["adwin"] == 0.01


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("scaling", ["none", "range"])
def test_scores_are_those_of_a_plain_implementation(weights: str, scaling: str):
    """With values of a coarse grid, where many rows are equally near."""
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(400, 6)))
    y = rng.integers(0, 3, 400)
    if scaling == "range":
        # Rounding of quotients tells equal distances apart: there are none.
        X = X + rng.normal(scale=1e-3, size=X.shape)
    plain = plain_scores(X, y, 7, 60, weights == "distance", scaling == "range")
    scores = learned(X, y, k=7, window=60, weights=weights, scaling=scaling)
    np.testing.assert_allclose(scores, plain, rtol=1e-9, atol=1e-12)


def test_of_equal_rows_the_newer_are_neighbours():
    X = np.zeros((6, 1))
    y = np.array([0, 0, 0, 1, 1, 0])
    assert learned(X, y, k=2)[5, 0] == 1.0


def test_a_tie_is_of_the_first_class_and_so_is_the_first_row():
    X = np.array([[0.0], [1.0], [0.5]])
    y = np.array([0, 1, 1])
    scores = learned(X, y, k=2)
    assert scores[0, 0] == scores[2, 0] == TIE < 0.0
    assert codes_of(scores).tolist() == [0, 0, 0]


def test_older_rows_are_forgotten():
    X = np.zeros((30, 2))
    y = np.repeat([0, 1], 15)
    scores = learned(X, y, k=3, window=4)
    np.testing.assert_array_equal(codes_of(scores)[18:], 1)


@pytest.mark.parametrize("scaling", ["none", "range"])
def test_bits_do_not_depend_on_the_rows_that_come_together(scaling: str):
    """Distances of several rows are computed at once, while labels come, or do not come."""
    rng = np.random.default_rng(4)
    X = read_only(rng.normal(size=(60, 6)))
    labels = rng.integers(0, 2, 60)
    labels[rng.random(60) < 0.3] = UNKNOWN
    y = read_only(labels)
    form = {"window": 13, "weights": "distance", "scaling": scaling}
    scores = []
    for size in (1, 2, 3, 5, 60):
        learner = KNNWindow(**form)
        learner.begin(6, 2)
        parts = [
            learner.learn(X[i : i + size], y[i : i + size]) for i in range(0, 60, size)
        ]
        scores.append(np.concatenate(parts).tolist())
    assert all(of_parts == scores[0] for of_parts in scores[1:])


def test_a_window_beyond_the_memory_is_refused():
    with pytest.raises(ParameterError, match="take a shorter window"):
        KNNWindow(window=10**7).begin(10**6, 2)


def test_the_cost_of_a_stream_counts_the_rows_that_are_compared():
    learner = KNNWindow(window=100)
    compared = sum(min(i, 100) for i in range(1_000)) * 44.0
    assert cost_of(learner).stream_numbers(10, 2, 10.0, 1_000) == pytest.approx(
        compared, rel=1e-2
    )
    assert cost_of(learner).stream_numbers(10, 2, 10.0, 0) == 0.0


def test_labels_of_a_crafted_state_are_refused():
    learner = KNNWindow(window=3)
    learner.begin(2, 2)
    state = learner.state()
    state["labels"][1] = 7
    with pytest.raises(ValueError, match="no rows lead to its arrays"):
        learner.restore(state)
