"""Pair tiles: those of a plain implementation, drawn pairs, and a table that does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.compiled.csr import read_only
from olscale.errors import ParameterError
from olscale.learners import PairTiles
from olscale.learners.tiles import pair_tiles


def plain_scores(X: np.ndarray, y: np.ndarray, rate: float, classes: int) -> np.ndarray:
    """Learn dictionaries of cells, row by row, all pairs; return the scores before each label."""
    tables: dict[tuple[int, ...], np.ndarray] = {}
    scores = np.empty((len(X), classes))
    for i, x in enumerate(X):
        bins = np.clip(np.floor((x + 1.8) * 16.0 / 3.6), 0, 15).astype(int).tolist()
        cells: list[tuple[int, ...]] = [(j, place) for j, place in enumerate(bins)]
        for j in range(len(bins)):
            for k in range(j):
                cells.append((k, j, bins[k], bins[j]))
                cells.append((k, j, 16 + bins[k] // 4, 16 + bins[j] // 4))
        f = sum(tables.get(cell, np.zeros(classes)) for cell in cells)
        p = np.exp(f - np.max(f))
        p /= p.sum()
        scores[i] = p
        change = rate / len(cells) * (np.eye(classes)[y[i]] - p)
        for cell in cells:
            tables[cell] = tables.get(cell, np.zeros(classes)) + change
    return scores


def learned(X: np.ndarray, y: np.ndarray, classes: int, **params: float) -> np.ndarray:
    learner = PairTiles(**params)
    learner.begin(X.shape[1], classes)
    return learner.learn(read_only(X), read_only(y))


@pytest.mark.parametrize("rate", [0.25, 4.0])
def test_scores_are_those_of_dictionaries(rate: float):
    random = np.random.default_rng(1)
    X = 1.5 * random.standard_normal((400, 4))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(np.int64) + (X[:, 2] > 1.0)
    expected = plain_scores(X, y, rate, 3)
    np.testing.assert_allclose(learned(X, y, 3, rate=rate), expected, atol=1e-9)


def test_two_classes_share_a_table():
    random = np.random.default_rng(2)
    X = random.standard_normal((300, 3))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(np.int64)
    # A softmax of two tables that move by half is the sigmoid of their difference.
    expected = plain_scores(X, y, 0.5, 2)
    differences = expected[:, 1] - expected[:, 0]
    np.testing.assert_allclose(learned(X, y, 2, rate=1.0)[:, 0], differences, atol=1e-9)


def test_a_turned_rule_is_learned_again():
    random = np.random.default_rng(3)
    X = random.standard_normal((4_000, 5))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(np.int64)
    y[2_000:] = 1 - y[2_000:]
    wrong = (learned(X, y, 2)[:, 0] >= 0.0) != y
    assert wrong[1_500:2_000].mean() < 0.15
    assert wrong[2_000:2_050].mean() > 0.5
    assert wrong[3_500:].mean() < 0.15


@pytest.mark.parametrize(
    ("columns", "expected"), [(1, 0), (2, 1), (16, 120), (17, 128), (900, 128)]
)
def test_pairs_are_distinct_and_ordered(columns: int, expected: int):
    pairs = pair_tiles.draw_pairs(columns, np.random.default_rng(0))
    assert len({tuple(pair) for pair in pairs.tolist()}) == len(pairs) == expected
    assert all(0 <= first < second < columns for first, second in pairs.tolist())


def test_a_row_beyond_all_bins_is_in_the_last():
    X = np.array([[1e100, -1e100], [1.9, -1.9]])
    y = np.array([1, 1])
    scores = learned(X, y, 2)
    assert scores[1, 0] > scores[0, 0] == 0.0


def test_a_table_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "olscale.learners.contract.cost.memory_bytes", lambda: 1_000_000
    )
    with pytest.raises(
        ParameterError, match=r"864 cells and 1,000 classes needs .* fewer classes"
    ):
        PairTiles().begin(3, 1_000)


def test_pairs_outside_of_the_row_are_no_state():
    learner = PairTiles()
    learner.begin(3, 2)
    state = {name: array.copy() for name, array in learner.state().items()}
    state["pairs"][0, 1] = 3
    fresh = PairTiles()
    fresh.begin(3, 2)
    with pytest.raises(Exception, match="state"):
        fresh.restore(state)
