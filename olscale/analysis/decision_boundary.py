"""Learners of rows with two features: what they predict where, after so many rows.

For looking at a learner, not for measuring it: a run of an experiment is
`olscale.evaluation.run_state.RunState`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from olscale.arrays import FloatArray, IntArray
from olscale.compiled.csr import read_only, to_dense
from olscale.data.formats.base import Batch
from olscale.data.stream import Shuffle, open_streams
from olscale.errors import ParameterError
from olscale.learners.contract.capability import looks_ahead
from olscale.learners.contract.learner import State, codes_of
from olscale.learners.registry import make_learner


@dataclass(frozen=True, slots=True, eq=False)
class DecisionBoundary:
    """Rows of two features.

    Parameters
    ----------
    name : str
        Where they are from.
    X : float64 array of shape (n_rows, 2)
    y : int64 array of shape (n_rows,)
        Codes of the classes.
    """

    name: str
    X: FloatArray
    y: IntArray

    def shuffled(self, seed: int) -> DecisionBoundary:
        """Return the rows in the order of permutation number 0 of `seed`."""
        order = Shuffle(seed, 0).order(len(self.y))
        return DecisionBoundary(self.name, self.X[order], self.y[order])


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A learner in mid-stream.

    Parameters
    ----------
    start, stop : int
        The rows since the last snapshot.
    x, y : float64 array of shape (resolution,)
        Coordinates of the grid.
    scores : float64 array of shape (resolution, resolution)
        Score at ``(x[j], y[i])``: the second class where it is not negative.
    prototypes : float64 array of shape (n_prototypes, 2 or 3), optional
        Of a learner that has them.
    state : dict of str to ndarray
        The learner's state.
    """

    start: int
    stop: int
    x: FloatArray
    y: FloatArray
    scores: FloatArray
    prototypes: FloatArray | None
    state: State


def features(X: FloatArray, bias: bool) -> FloatArray:
    """Return rows as learners take them; with `bias` they have a feature that is always 1."""
    if bias:
        ones = np.ones(len(X))
        X = np.column_stack([X, ones])
    return read_only(np.ascontiguousarray(X))


def plane_of(name: str, batches: Iterable[Batch]) -> DecisionBoundary:
    """Return the rows of a generator of two features and the targets -1 and +1."""
    chunks = list(batches)
    X = np.concatenate([batch.X for batch in chunks])
    target = np.concatenate([batch.target for batch in chunks])
    y = (target > 0).astype(np.int64)
    return DecisionBoundary(name, X, y)


def principal_plane(path: str) -> DecisionBoundary:
    """Return the training rows of a dataset, standardised, on their first two principal components.

    Each component points where its largest weight is positive. The rows are held in memory as a
    dense array.

    Raises
    ------
    DatasetError
        If there is no dataset at `path`.
    ParameterError
        If it has fewer than two features.
    """
    stream = open_streams(path, ["standardize"]).train
    if stream.columns < 2:
        raise ParameterError(
            f"{path} has {stream.columns} feature; a plane needs at least 2"
        )
    chunks = list(stream.chunks())
    parts = [to_dense(chunk.X, chunk.columns) for chunk in chunks]
    X = np.concatenate(parts)
    y = np.concatenate([chunk.y for chunk in chunks])
    # Columns are standardised, so that moments are taken about zero.
    covariance = X.T @ X / len(X)
    _, vectors = np.linalg.eigh(covariance)
    axes = vectors[:, :-3:-1]  # the last two, the largest first
    largest = np.abs(axes).argmax(axis=0)
    signs = np.sign(axes[largest, [0, 1]])
    axes = axes * signs
    return DecisionBoundary(stream.dataset.name, X @ axes, y)


def snapshots(
    learner: str,
    params: dict[str, Any],
    plane: DecisionBoundary,
    every: int | None = None,
    bias: bool = True,
    seed: int = 0,
    resolution: int = 400,
) -> Iterator[Snapshot]:
    """Train a learner on the rows in their order and yield it every so many rows.

    Parameters
    ----------
    learner : str
        Registry name.
    params : dict
        Parameters.
    plane : DecisionBoundary
    every : int, optional
        Rows between snapshots; only the last when left out.
    bias : bool
        Whether rows get a feature that is always 1.
    seed : int
        For learners that start at random.
    resolution : int
        Points of the grid along each axis.

    Raises
    ------
    ParameterError
        If there are more than two classes.

    Examples
    --------
    >>> plane = DecisionBoundary("two", np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1, 0]))
    >>> drawn = snapshots("pa", {}, plane, every=1, resolution=2)
    >>> [(snapshot.scores[0] >= 0).tolist() for snapshot in drawn]
    [[False, True], [False, True]]
    """
    if plane.y.max() > 1:
        raise ParameterError(
            f"{plane.name} has {plane.y.max() + 1} classes; a boundary is drawn between 2"
        )
    x, y = _axes(plane.X, resolution)
    # A row for each point of the grid, x running fastest.
    coordinates = np.meshgrid(x, y)
    points = np.stack(coordinates, axis=-1).reshape(-1, 2)
    grid = features(points, bias)
    rows = features(plane.X, bias)
    labels = read_only(plane.y)
    model = make_learner(learner, params)
    model.begin(rows.shape[1], 2, (seed,))
    # Learners that need rows ahead, for centres or scales, get all of them.
    if looks_ahead(model):
        model.prepare(rows)
    every = every or len(rows)
    for start in range(0, len(rows), every):
        stop = min(start + every, len(rows))
        model.learn(rows[start:stop], labels[start:stop])
        scores = model.scores(grid)
        yield Snapshot(
            start=start,
            stop=stop,
            x=x,
            y=y,
            scores=scores.reshape(resolution, resolution),
            prototypes=getattr(model, "prototypes_", None),
            state={name: array.copy() for name, array in model.state_.items()},
        )


def _axes(X: FloatArray, resolution: int) -> tuple[FloatArray, FloatArray]:
    """Return the coordinates of a grid over rows, with a margin about them."""
    low = X.min(axis=0)
    high = X.max(axis=0)
    margin = 0.05 * np.maximum(high - low, 1e-9)
    x, y = np.linspace(low - margin, high + margin, resolution).T
    return np.ascontiguousarray(x), np.ascontiguousarray(y)


def errors_of_starts(learner: str, plane: DecisionBoundary, starts: int) -> FloatArray:
    """Return the error on all rows after 0, 1, 2 ... rows, shape (starts, n_rows + 1).

    Each start draws the learner's random numbers, and a permutation of the rows, anew.
    """
    rows = features(plane.X, bias=False)
    errors = np.empty((starts, len(rows) + 1))
    for start in range(starts):
        model = make_learner(learner, {})
        model.begin(2, 2, (start,))
        order = plane.shuffled(start)
        X = features(order.X, bias=False)
        for i in range(len(rows) + 1):
            # Before the row is learned: the first error is that of an untrained model.
            predicted = codes_of(model.scores(rows))
            errors[start, i] = np.mean(predicted != plane.y)
            if i < len(rows):
                row = slice(i, i + 1)
                model.learn(X[row], order.y[row])
    return errors
