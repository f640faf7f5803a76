"""The weights of the rows of a dataset while it is being built."""

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.base import Batch
from olscale.data.formats.row_weights import checked_weights
from olscale.data.manifest import WeightsEntry
from olscale.errors import FormatError


class Weights:
    """Collects the weights of one batch after another.

    Parameters
    ----------
    column : str
        The column of weights, as ``--weights`` takes it.
    """

    def __init__(self, column: str) -> None:
        self._asked = column
        self._name = column
        self._least = np.inf
        self._greatest = 0.0
        self._zeros: dict[str, int] = {}
        self._split = "train"

    def begin(self, split: str) -> None:
        """Begin a split, or restart it."""
        self._split = split
        self._zeros[split] = 0

    def take(self, batch: Batch, source: str) -> NDArray[np.float64]:
        """Return the weights of the next rows, those of `batch`, and count them.

        Raises
        ------
        FormatError
            If there are none, or one of them is negative or not finite.
        """
        if batch.weights is None:
            raise FormatError(
                source,
                "its rows have no column of weights; leave --weights out, or write them as a "
                "table (CSV, ARFF, JSON lines, "
                "Parquet), as arrays (NPZ, MAT) or as VW text",
            )
        weights = checked_weights(source, np.asarray(batch.weights, dtype=np.float64), self._asked)
        if batch.table is not None and batch.table.columns.weights is not None:
            self._name = batch.table.columns.names[batch.table.columns.weights]
        self._least = min(self._least, float(weights.min()))
        self._greatest = max(self._greatest, float(weights.max()))
        self._zeros[self._split] += int(np.count_nonzero(weights == 0.0))
        return weights

    @property
    def zeros(self) -> int:
        """How many are 0, over all splits."""
        return sum(self._zeros.values())

    def entry(self) -> WeightsEntry:
        """Return the manifest's entry for the weights."""
        return WeightsEntry(
            column=self._name, least=self._least, greatest=self._greatest, zeros=self.zeros
        )
