"""The contract of summaries: sums over rows, and measures as functions of the sums."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.evaluation.metrics.base import StreamShape

NO_WEIGHTS = np.empty(0)
"""Weights of rows that all count alike."""


class Events(NamedTuple):
    """Rows to be summed: targets, predictions, and predictions of baselines, shape (rows, ...).

    `weights` has the weight of each row; it is empty if all count alike.
    """

    y: NDArray[Any]
    predicted: NDArray[Any]
    dull: NDArray[Any]
    weights: NDArray[np.float64] = NO_WEIGHTS

    def rows(self, index: slice | NDArray[np.bool_]) -> "Events":
        """Return some of the rows."""
        weights = self.weights[index] if len(self.weights) else self.weights
        return Events(self.y[index], self.predicted[index], self.dull[index], weights)

    def followed_by(self, later: "Events") -> "Events":
        """Return these rows followed by `later` ones."""
        return Events(*map(np.concatenate, zip(self, later, strict=True)))


class RowSums(ABC):
    """Sums over rows; measures are functions of them, and `estimates` defines the rows.

    Parameters
    ----------
    shape : StreamShape

    Attributes
    ----------
    names : tuple of str
        Names of the measures.
    size : int
        Number of sums; the first one sums the weights of the rows.
    base : array
        What the baselines know before the first row.
    """

    names: ClassVar[tuple[str, ...]]
    size: int
    base: NDArray[Any]

    @abstractmethod
    def __init__(self, shape: StreamShape) -> None: ...

    @abstractmethod
    def events(self, y: NDArray[Any], predicted: NDArray[Any], dull: bool) -> Events:
        """Return rows to be summed, with space for predictions of baselines if these are kept."""

    @abstractmethod
    def dull_before(
        self, labels: NDArray[Any], asked: NDArray[np.int64], base: NDArray[Any]
    ) -> NDArray[Any]:
        """Return the baselines' predictions before the events `asked`, as they learn `labels`."""

    @abstractmethod
    def follow(
        self,
        events: Events,
        base: NDArray[Any],
        frozen: bool,
        sums: NDArray[np.float64],
        marks: NDArray[np.int64],
        found: NDArray[np.float64],
    ) -> None:
        """Add new rows one by one; the baselines learn them unless they are `frozen`.

        The sums after `marks` rows are copied to the rows of `found`.
        """

    @abstractmethod
    def add(
        self,
        events: Events,
        sums: NDArray[np.float64],
        alpha: float,
        marks: NDArray[np.int64],
        found: NDArray[np.float64],
    ) -> None:
        """Add rows that `follow` has processed, one by one, while sums fade by `alpha`."""

    @abstractmethod
    def values(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the measures of rows of sums, shape (rows, names); NaN if undefined."""
