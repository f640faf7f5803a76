"""Streams that drift, and learners that follow them, against River on the same rows."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.bench import other_learners
from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.linear import learner
from olscale.compiled.csr import read_only
from olscale.data.chunk import Chunk
from olscale.data.generators import agrawal
from olscale.data.generators.hyperplane import Hyperplane
from olscale.data.generators.rbf import Rbf

_CLASSES = 5
_BLOCK = 1_000
_RIVER_ROWS = 2_000
_RIVER_NEIGHBOURS = "River KNNClassifier, window 1,000"
_RIVER_BAYES = "River GaussianNB"
_RIVER_TREE = "River HoeffdingTreeClassifier"
_RIVER_REGRESSION = "River HoeffdingTreeRegressor"
_RIVER_AGRAWAL = "River Agrawal, rows"
_RIVER_LEARNERS = (_RIVER_NEIGHBOURS, _RIVER_BAYES, _RIVER_TREE, _RIVER_REGRESSION)
_WINDOW = 1_000
_LEAST_SPEED = {10: 50_000, 250: 20_000}
"""Rows a second that are asked of `drift-ensemble`, by features."""


def figures(rows: int = 20_000, rounds: int = 5) -> list[Figure]:
    """Return the speeds of learners and of a generator, each compared to River's."""
    X, y = Rbf(1, classes=_CLASSES, speed=0.001).take(rows)
    stream = _chunks_of(X, y)
    loans, granted = agrawal.Agrawal(1).take(rows)
    table = [
        learner("knn-window", {"window": _WINDOW}, stream, classes=_CLASSES),
        learner(
            "knn-window",
            {"window": _WINDOW, "scaling": "range"},
            stream,
            "knn-window",
            title="knn-window, ranges",
            classes=_CLASSES,
        ),
        learner("naive-bayes", {}, stream, classes=_CLASSES),
        learner("hoeffding-tree", {}, _chunks_of(loans, granted), classes=2),
        learner("fimt-dd", {}, _targets_of(X)),
        Contestant("agrawal, rows", partial(_generate, rows), rows / 1e6),
    ]
    absent = [
        figure
        for name in (*_RIVER_LEARNERS, _RIVER_AGRAWAL)
        for figure in other_learners.missing(name, "river")
    ]
    if not absent:
        table += _river(X[:_RIVER_ROWS], y[:_RIVER_ROWS])
        table.append(_river_tree(loans[:_RIVER_ROWS], granted[:_RIVER_ROWS]))
        table.append(_river_regression_tree(X[:_RIVER_ROWS]))
    return [*compare(table, "M rows/s", rounds), *absent, *_ensembles(rows, rounds)]


def _ensembles(rows: int, rounds: int) -> list[Figure]:
    """Return the speeds of `drift-ensemble` on turning hyperplanes of two classes."""
    table = []
    for features in _LEAST_SPEED:
        X, y = Hyperplane(1, columns=features, change=0.001).take(rows)
        # Numbers from 0 to 1, as they are, would all be in the middle cells of the tables.
        stream = _chunks_of((X - 0.5) * np.sqrt(12.0), y)
        title = f"drift-ensemble, {features} features"
        table.append(learner("drift-ensemble", {}, stream, title=title, unit=1e3))
    results = []
    asked_speeds = _LEAST_SPEED.values()
    for figure, asked in zip(
        compare(table, "k rows/s", rounds), asked_speeds, strict=True
    ):
        speed = figure.value or 0.0
        ratio = 1e3 * speed / asked
        peer = f"{asked:,} rows/s"
        results.append(replace(figure, ratio=ratio, peer=peer, target=">= 1"))
    return results


def _chunks_of(X: NDArray[np.float64], y: NDArray[np.float64]) -> list[Chunk]:
    # Read-only, as chunks from storage are: loops compile for one kind of array.
    rows_in_memory = Chunk(read_only(X), read_only(y.astype(np.int64)), X.shape[1])
    return [
        rows_in_memory[start : start + _BLOCK] for start in range(0, len(y), _BLOCK)
    ]


def _target(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return targets of rows: steps of one feature, and slopes of others on either side."""
    return np.where(X[:, 0] > 0.5, X[:, 1] - X[:, 2], 2.0 * X[:, 3] + 1.0)


def _targets_of(X: NDArray[np.float64]) -> list[Chunk]:
    rows_in_memory = Chunk(read_only(X), read_only(_target(X)), X.shape[1])
    return [
        rows_in_memory[start : start + _BLOCK] for start in range(0, len(X), _BLOCK)
    ]


def _generate(rows: int, model: Any) -> None:
    del model
    for _ in agrawal.batches(rows, 1):
        pass


def _river(X: NDArray[np.float64], y: NDArray[np.float64]) -> list[Contestant]:
    """Return River's learners on the first rows, and its generator."""
    from river.datasets.synth import Agrawal
    from river.naive_bayes import GaussianNB

    def generate(model: Any) -> None:
        del model
        for _ in Agrawal(seed=1).take(_RIVER_ROWS):
            pass

    return [
        _river_model(
            _RIVER_NEIGHBOURS,
            _dictionaries_of(X, y),
            "knn-window",
            other_learners.river_neighbours,
        ),
        _river_model(_RIVER_BAYES, _dictionaries_of(X, y), "naive-bayes", GaussianNB),
        Contestant(_RIVER_AGRAWAL, generate, _RIVER_ROWS / 1e6, peer="agrawal, rows"),
    ]


def _river_tree(X: NDArray[np.float64], y: NDArray[np.float64]) -> Contestant:
    from river.tree import HoeffdingTreeClassifier

    rows = _dictionaries_of(X, y)
    return _river_model(_RIVER_TREE, rows, "hoeffding-tree", HoeffdingTreeClassifier)


def _river_regression_tree(X: NDArray[np.float64]) -> Contestant:
    from river.tree import HoeffdingTreeRegressor

    rows = _dictionaries_of(X, _target(X))
    return _river_model(_RIVER_REGRESSION, rows, "fimt-dd", HoeffdingTreeRegressor)


def _dictionaries_of(
    X: NDArray[np.float64], y: NDArray[np.float64]
) -> list[tuple[dict[int, float], float]]:
    return [
        (dict(enumerate(x)), label)
        for x, label in zip(X.tolist(), y.tolist(), strict=True)
    ]


def _river_model(
    name: str,
    rows: Sequence[tuple[dict[int, float], float]],
    peer: str,
    untrained: Callable[[], Any],
) -> Contestant:
    def learn(model: Any) -> None:
        for x, y in rows:
            model.predict_one(x)
            model.learn_one(x, y)

    note = f"{len(rows):,} rows, dictionaries made before"
    return Contestant(name, learn, len(rows) / 1e6, untrained, peer, note=note)
