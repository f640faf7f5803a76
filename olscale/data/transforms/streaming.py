"""Transforms that learn from the rows as they arrive, never ahead of them.

A row that trains is first learned from and then transformed: the result depends on its own features
and on earlier rows, never on a later row or its own label. StreamLabels of earlier rows count for a
transform that `learns_labels`, once they have arrived. A row that is held out, or of the test
split, is transformed with what is known when it is predicted, and leaves no trace. A row is
transformed once, when it is predicted: one whose label comes later is learned as it was then.
Several passes over the rows are one long stream.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, read_only_rows, rows_of
from olscale.data.chunk import Chunk
from olscale.data.transforms.base import Transform

Arrays = dict[str, NDArray[Any]]


class StreamLabels(NamedTuple):
    """The labels of consecutive rows of a stream, and when they arrive.

    Attributes
    ----------
    y : ndarray of shape (rows,) or (rows, targets)
        As in a `Chunk`.
    waits : int64 array of shape (rows,)
        How many rows later each label arrives, after that row is predicted: 0 if right after its
        own row, less than 0 if never.
    """

    y: NDArray[Any]
    waits: NDArray[np.int64]


class StreamingTransform(Transform):
    """A transform that learns from rows as they arrive, with `begin` in place of `fit`.

    Attributes
    ----------
    learned : dict of str to ndarray
        Everything it has learned, which checkpoints save.
    learns_labels : bool
        Whether `learn_labelled` learns from labels.
    """

    streams = True
    learns_labels: bool = False
    learned: Arrays

    @abstractmethod
    def begin(self, columns: int) -> None:
        """Set `learned` to its value before the first row."""

    @abstractmethod
    def learn(self, X: Any, columns: int, trains: NDArray[np.bool_]) -> Rows:
        """Return the transformed rows; learn from each row that `trains` before transforming it."""

    def can_continue(self) -> bool:
        """Return whether rows can have led to `learned`, or at least its counts and positions.

        Loops rely on them: those of a crafted file could lead out of the arrays.
        """
        return True

    def learn_labelled(
        self,
        X: Any,
        columns: int,
        trains: NDArray[np.bool_],
        labels: StreamLabels | None,
    ) -> Rows:
        """Do as `learn`, and learn the labels of rows that train as they arrive.

        What is returned for a row rests on labels that have arrived before its prediction. Without
        `labels` the rows are none of the stream, and what waits keeps waiting.
        """
        del labels
        return self.learn(X, columns, trains)

    def apply(self, X: Any, columns: int) -> Rows:
        """Return the transformed rows, without learning."""
        return self.learn(X, columns, np.zeros(rows_of(X), dtype=np.bool_))

    def state(self) -> Arrays:
        """Return copies of the learned arrays."""
        return {name: array.copy() for name, array in self.learned.items()}

    def restore(self, state: Mapping[str, NDArray[Any]], columns: int) -> None:
        """Restore what was learned from rows of `columns` features, in place of `begin`."""
        self.begin(columns)
        form = {
            name: (array.shape, array.dtype) for name, array in self.learned.items()
        }
        if {name: (array.shape, array.dtype) for name, array in state.items()} != form:
            raise ValueError(
                f"transform {self.name} has arrays {', '.join(sorted(state))}, expected "
                f"{', '.join(form)}"
            )
        # Copies: a stored state may be read-only, and more is learned into it.
        self.learned = {name: np.array(state[name]) for name in form}
        if not self.can_continue():
            raise ValueError(f"transform {self.name} has arrays that no rows lead to")


def go_through(
    steps: Sequence[Transform],
    chunk: Chunk,
    trains: NDArray[np.bool_] | None = None,
    labels: StreamLabels | None = None,
) -> Chunk:
    """Return `chunk` transformed step by step; streaming steps learn from `trains` rows."""
    X = chunk.X
    columns = chunk.columns
    for step in steps:
        X = read_only_rows(step.rows(X, columns))
        if trains is not None and isinstance(step, StreamingTransform):
            X = step.learn_labelled(X, columns, trains, labels)
        else:
            X = step.apply(X, columns)
        columns = step.width(columns)
    if steps:
        return replace(chunk, X=X, columns=columns, origin=None)
    return chunk


class StreamingSteps:
    """The last steps of a pipeline, from its first streaming transform on, within a stream.

    Parameters
    ----------
    steps : sequence of Transform
        Empty if no transform of the pipeline streams: rows are then unchanged.
    columns : int
        Number of features before the first.

    Attributes
    ----------
    steps : list of Transform
        Copies of the steps, which learn.
    """

    def __init__(self, steps: Sequence[Transform], columns: int) -> None:
        # a pipeline's steps may serve several streams
        self.steps = [copy(step) for step in steps]
        for step in self.steps:
            if isinstance(step, StreamingTransform):
                step.begin(columns)
            columns = step.width(columns)

    @property
    def learns_labels(self) -> bool:
        """Whether a step learns from labels."""
        return any(
            isinstance(s, StreamingTransform) and s.learns_labels for s in self.steps
        )

    def learn(
        self,
        chunk: Chunk,
        trains: NDArray[np.bool_],
        labels: StreamLabels | None = None,
    ) -> Chunk:
        """Return the stream's next rows transformed, after learning from the `trains` rows."""
        return go_through(self.steps, chunk, trains, labels)

    def apply(self, chunk: Chunk) -> Chunk:
        """Return rows transformed with what has been learned so far."""
        return go_through(self.steps, chunk)

    def size_after(self, columns: int, values: float) -> tuple[int, float]:
        """Return the numbers of features and of stored values per row after the steps."""
        for step in self.steps:
            columns, values = step.size_after(columns, values)
        return columns, values

    def state(self) -> Arrays:
        """Return copies of everything the steps have learned."""
        return {
            f"{number}.{name}": array.copy()
            for number, step in enumerate(self.steps)
            if isinstance(step, StreamingTransform)
            for name, array in step.learned.items()
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a `state`.

        Raises
        ------
        KeyError
            If it is not that of these steps.
        """
        for number, step in enumerate(self.steps):
            if isinstance(step, StreamingTransform):
                step.learned = {
                    name: np.array(state[f"{number}.{name}"]) for name in step.learned
                }
