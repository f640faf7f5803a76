"""Streams that drift, and learners that follow them, against River on the same rows."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.bench import peers
from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.linear import learner
from olscale.compiled.csr import read_only
from olscale.data.chunk import Chunk
from olscale.data.generators import agrawal
from olscale.data.generators.rbf import Rbf

_CLASSES = 5
_BLOCK = 1_000
_RIVER_ROWS = 2_000
_RIVER_NEIGHBOURS = "River KNNClassifier, window 1,000"
_RIVER_BAYES = "River GaussianNB"
_RIVER_AGRAWAL = "River Agrawal, rows"
_WINDOW = 1_000


def figures(rows: int = 20_000, rounds: int = 5) -> list[Figure]:
    """Return the speeds of `knn-window`, `naive-bayes` and a generator, each beside River's."""
    X, y = Rbf(1, classes=_CLASSES, speed=0.001).take(rows)
    rows_in_memory = Chunk(read_only(X), read_only(y.astype(np.int64)), X.shape[1])
    stream = [rows_in_memory[start : start + _BLOCK] for start in range(0, rows, _BLOCK)]
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
        Contestant("agrawal, rows", partial(_generate, rows), rows / 1e6),
    ]
    absent = [
        figure
        for name in (_RIVER_NEIGHBOURS, _RIVER_BAYES, _RIVER_AGRAWAL)
        for figure in peers.missing(name, "river")
    ]
    if not absent:
        table += _river(X[:_RIVER_ROWS], y[:_RIVER_ROWS])
    return [*compare(table, "M rows/s", rounds), *absent]


def _generate(rows: int, model: Any) -> None:
    del model
    for _ in agrawal.batches(rows, 1):
        pass


def _river(X: NDArray[np.float64], y: NDArray[np.float64]) -> list[Contestant]:
    """Return River's learners on the first rows, and its generator."""
    from river.datasets.synth import Agrawal
    from river.naive_bayes import GaussianNB
    from river.neighbors import KNNClassifier, LazySearch

    rows = [(dict(enumerate(x)), label) for x, label in zip(X.tolist(), y.tolist(), strict=True)]

    def neighbours() -> Any:
        return KNNClassifier(n_neighbors=5, engine=LazySearch(window_size=_WINDOW))

    def generate(model: Any) -> None:
        del model
        for _ in Agrawal(seed=1).take(_RIVER_ROWS):
            pass

    return [
        _river_model(_RIVER_NEIGHBOURS, rows, "knn-window", neighbours),
        _river_model(_RIVER_BAYES, rows, "naive-bayes", GaussianNB),
        Contestant(_RIVER_AGRAWAL, generate, _RIVER_ROWS / 1e6, peer="agrawal, rows"),
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
