"""A chunk: consecutive rows and their targets, the unit of reading and streaming."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, read_only, read_only_rows, rows_of, slice_rows  # noqa: F401, learners written for 0.1
from olscale.system.plain_arrays import refuse_masked


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows with their targets.

    Parameters
    ----------
    X : Rows
        Dense array of shape (rows, columns) or `CSR` rows, float64, read-only.
    y : ndarray of shape (rows,) or (rows, targets)
        int64 class codes (positions in the dataset's sorted classes), or float64 targets of a regression, several where the
        dataset has several.
    columns : int
        Number of features.
    delays : int64 array of shape (rows,), optional
        How many rows later the label of each row is known, where the dataset says so.

    Examples
    --------
    >>> import numpy as np
    >>> chunk = Chunk(np.eye(3), np.array([0, 1, 1]), 3)
    >>> len(chunk), len(chunk[1:])
    (3, 2)
    """

    X: Rows
    y: NDArray[Any]
    columns: int
    delays: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        refuse_masked(self.X, "rows")  # of a transform or layout of somebody's own
        object.__setattr__(self, "X", read_only_rows(self.X))
        object.__setattr__(self, "y", read_only(self.y))
        if self.delays is not None:
            object.__setattr__(self, "delays", read_only(self.delays))

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, span: slice) -> Chunk:
        start, stop, step = span.indices(len(self))
        if step != 1:
            raise ValueError(f"a chunk is cut into consecutive rows, step was {step}")
        delays = None if self.delays is None else self.delays[start:stop]
        return Chunk(slice_rows(self.X, start, stop), self.y[start:stop], self.columns, delays)
