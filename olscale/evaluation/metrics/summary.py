"""The contract of summaries: sums over rows, and measures as functions of the sums."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.evaluation.metrics.base import StreamShape


class Events(NamedTuple):
    """Rows as they are summed: targets, predictions, and what dull learners would have predicted, shape (rows, ...)."""

    y: NDArray[Any]
    predicted: NDArray[Any]
    dull: NDArray[Any]

    def rows(self, start: int, stop: int) -> "Events":
        """Return some of the rows."""
        return Events(*(part[start:stop] for part in self))

    def followed_by(self, later: "Events") -> "Events":
        """Return these rows and `later` ones."""
        return Events(*map(np.concatenate, zip(self, later, strict=True)))


class Summary(ABC):
    """Sums over rows of which measures are functions; `olscale.evaluation.metrics.measured` says over which rows.

    Parameters
    ----------
    shape : StreamShape

    Attributes
    ----------
    size : int
        How many sums there are; the first is the number of rows.
    base : array
        What the dull learners know before the first row.
    """

    size: int
    base: NDArray[Any]

    @abstractmethod
    def __init__(self, shape: StreamShape) -> None: ...

    @abstractmethod
    def events(self, y: NDArray[Any], predicted: NDArray[Any], base: NDArray[Any], frozen: bool = False) -> Events:
        """Return rows as they are summed; the dull learners whose state is `base` go through them."""

    @abstractmethod
    def add(
        self,
        events: Events,
        sums: NDArray[np.float64],
        alpha: float,
        marks: NDArray[np.int64],
        found: NDArray[np.float64],
    ) -> None:
        """Add rows to `sums` one by one, which fade by `alpha`; copy the sums after `marks` rows to the rows of `found`."""

    @abstractmethod
    def values(self, sums: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return the measures by name, of sums of shape (..., size); NaN is one that is not defined."""


def ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quotient; NaN where `whole` is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0.0, part / whole, np.nan)
