"""Rows around the means of their classes, at a distance at which one in ten is on the wrong side.

How often a learner updates decides what a row takes: rows of classes far apart take a second-order
learner of ten classes a fifth of the time. Benchmarks of time are made with these, as streams of
data sets are about as hard.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from olscale.arrays import FloatArray
from olscale.compiled.csr import CSR, read_only, read_only_csr
from olscale.data.chunk import Chunk
from olscale.task import Task

_CHUNK_ROWS = 8192
"""As many as a chunk of a dataset has, unless it is told otherwise."""

_DISTANCES = {2: 2.6, 10: 5.0}
"""Distance of two class means in standard deviations of a value, by the number of classes."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows of a kind: their features, classes, and values that are not zero (None: dense)."""

    columns: int
    classes: int
    values: int | None = None


def clouds(
    shape: Shape,
    rows: int,
    task: Task = "classification",
    takes_negative: bool = True,
) -> Iterator[Chunk]:
    """Yield chunks of rows of length about 1; those of a regression depend on a column.

    Examples
    --------
    >>> [len(chunk) for chunk in clouds(Shape(columns=10, classes=2), 10_000)]
    [8192, 1808]
    """
    rng = np.random.default_rng(0)
    stored = shape.values or shape.columns
    means = _means(rng, shape) * np.sqrt(shape.columns / stored)
    for start in range(0, rows, _CHUNK_ROWS):
        count = min(_CHUNK_ROWS, rows - start)
        codes = rng.integers(0, shape.classes, count)
        # A sparse row has one value in each of so many equal ranges of columns.
        width = shape.columns // stored
        columns = np.arange(stored) * width + rng.integers(0, width, (count, stored))
        noise = rng.normal(size=(count, stored))
        values = means[codes[:, np.newaxis], columns] + noise
        values /= np.sqrt(2.0 * stored)
        if not takes_negative:
            values = np.abs(values)
        target = values[:, 0] + 0.1 * rng.normal(size=count)
        y = target if task == "regression" else codes
        indptr = np.arange(count + 1, dtype=np.int64) * stored
        sparse = CSR(indptr, columns.ravel().astype(np.int32), values.ravel())
        X = read_only(values) if shape.values is None else read_only_csr(sparse)
        yield Chunk(X, read_only(y), shape.columns)


def _means(rng: np.random.Generator, shape: Shape) -> FloatArray:
    """Return class means whose mean distance is the same for all numbers of columns."""
    means = rng.normal(size=(shape.classes, shape.columns))
    between = np.linalg.norm(means[:, np.newaxis] - means, axis=2)
    others = shape.classes * (shape.classes - 1)
    scale = float(_DISTANCES[shape.classes] * others / between.sum())
    return scale * means
