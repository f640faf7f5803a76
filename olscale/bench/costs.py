"""Costs: numbers a learner processes per processor second, next to the constant of plans.

Plans say what a run takes from the numbers it goes through (`EstimatesCost`). Learners go through
them at different speeds, so each has a constant of its own, `Learner.numbers_per_second`; this
benchmark measures it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, log
from statistics import fmean, median
from time import process_time

import numpy as np

from olscale.bench.base import Figure
from olscale.bench.linear import untrained
from olscale.compiled.csr import CSR, read_only, read_only_csr
from olscale.data.chunk import Chunk
from olscale.learners.contract.capability import looks_ahead
from olscale.learners.contract.cost import cost_of
from olscale.learners.contract.learner import Learner
from olscale.learners.registry import LEARNERS, make_learner

_NUMBERS = 3e7
"""Numbers per round, by the learner's own estimate: some hundredths of a second."""

_CHUNK_ROWS = 1000
_FEWEST_ROWS = 300
_MOST_ROWS = 30_000
_MOST_NUMBERS = 1e10
"""Of a round, with the fewest rows: a shape that takes a learner more is left out."""

_ROUNDS = 5
_UNIT = "M numbers/s"


@dataclass(frozen=True, slots=True)
class _Shape:
    """Rows of a kind: their features, classes, and values that are not zero (None: dense)."""

    columns: int
    classes: int
    values: int | None = None


_SHAPES = (
    _Shape(columns=22, classes=2),
    _Shape(columns=100, classes=10),
    _Shape(columns=784, classes=10),
    _Shape(columns=5000, classes=2, values=60),
)


def figures() -> list[Figure]:
    """Return numbers a second of each learner, as a ratio to what its plan is made with."""
    return [_figure(name) for name in LEARNERS if not make_learner(name, {}).baseline]


def _figure(name: str) -> Figure:
    learner = make_learner(name, {})
    speeds = [
        _numbers_per_second(name, shape)
        for shape in _SHAPES
        if _is_quick(learner, shape)
    ]
    # A geometric mean: one constant is to be wrong by similar factors in all shapes.
    mean = exp(fmean(map(log, speeds)))
    spread = " ".join(f"{speed / 1e6:,.0f}" for speed in speeds)
    return Figure(
        name,
        mean / 1e6,
        _UNIT,
        mean / learner.numbers_per_second,
        "its constant",
        note=f"by shape: {spread}",
    )


def _size(learner: Learner, shape: _Shape) -> tuple[int, int, float]:
    classes = {"classification": shape.classes, "regression": 0, "novelty": 2}[
        learner.task
    ]
    return shape.columns, classes, float(shape.values or shape.columns)


def _is_quick(learner: Learner, shape: _Shape) -> bool:
    return (
        cost_of(learner).stream_numbers(*_size(learner, shape), _FEWEST_ROWS)
        <= _MOST_NUMBERS
    )


def _numbers_per_second(name: str, shape: _Shape) -> float:
    learner = make_learner(name, {})
    size = _size(learner, shape)
    row_numbers = cost_of(learner).stream_numbers(*size, 1000) / 1000
    rows = int(min(max(_NUMBERS / row_numbers, _FEWEST_ROWS), _MOST_ROWS))
    numbers = cost_of(learner).stream_numbers(*size, rows)
    chunks = list(_chunks(shape, rows, learner))
    seconds = []
    for _ in range(_ROUNDS):
        # A new model each time: one that has learned updates more seldom.
        model = untrained(name, {}, chunks[0], size[1])
        if looks_ahead(model):
            model.prepare(chunks[0].X)
        begin = process_time()
        for chunk in chunks:
            model.learn(chunk.X, chunk.y)
        seconds.append(process_time() - begin)
    return numbers / median(seconds)


def _chunks(shape: _Shape, rows: int, learner: Learner) -> Iterator[Chunk]:
    """Yield rows of length about 1 around their class means.

    The classes overlap, so that learners keep updating.
    """
    rng = np.random.default_rng(0)
    means = rng.normal(size=(shape.classes, shape.columns))
    stored = shape.values or shape.columns
    for start in range(0, rows, _CHUNK_ROWS):
        count = min(_CHUNK_ROWS, rows - start)
        codes = rng.integers(0, shape.classes, count)
        # A sparse row has one value in each of so many equal ranges of columns.
        width = shape.columns // stored
        columns = np.arange(stored) * width + rng.integers(0, width, (count, stored))
        noise = 2.0 * rng.normal(size=(count, stored))
        values = means[codes[:, np.newaxis], columns] + noise
        # The variance of a value is 1 + 4, so rows have a length of about 1.
        values /= np.sqrt(5.0 * stored)
        if not learner.takes_negative:
            values = np.abs(values)
        target = values[:, 0] + 0.1 * rng.normal(size=count)
        y = target if learner.task == "regression" else codes
        indptr = np.arange(count + 1, dtype=np.int64) * stored
        sparse = CSR(indptr, columns.ravel().astype(np.int32), values.ravel())
        X = read_only(values) if shape.values is None else read_only_csr(sparse)
        yield Chunk(X, read_only(y), shape.columns)
