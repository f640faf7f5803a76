"""A chunk: consecutive rows and their targets, the unit of reading and streaming."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import (  # noqa: F401, learners written for 0.1
    CSR,
    Rows,
    read_only,
    read_only_rows,
    rows_of,
    sized,
    slice_rows,
    stack_rows,
    take_rows,
    to_dense,
    to_scipy,
)
from olscale.system.plain_arrays import refuse_masked

if TYPE_CHECKING:
    from olscale.data.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows with their targets.

    Parameters
    ----------
    X : Rows
        Dense array of shape (rows, columns) or `CSR` rows, float64, read-only.
    y : ndarray of shape (rows,) or (rows, targets)
        int64 class codes (positions in the dataset's sorted classes), or float64 targets of a
        regression, several where the dataset has several.
    columns : int
        Number of features.
    delays : int64 array of shape (rows,), optional
        Number of rows after which the label of each row is known, where the dataset says so.
    weights : float64 array of shape (rows,), optional
        How much each row counts, where the dataset says so: finite, 0 or more.
    origin : Manifest, optional
        The dataset whose columns and labels these are; None after transforms.

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
    weights: NDArray[np.float64] | None = None
    origin: Manifest | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        refuse_masked(self.X, "rows")  # from a user's own transform or layout
        # All runs of a group share the chunk: none may change it for the others.
        object.__setattr__(self, "X", sized(read_only_rows(self.X), self.columns))
        object.__setattr__(self, "y", read_only(self.y))
        if self.delays is not None:
            object.__setattr__(self, "delays", read_only(self.delays))
        if self.weights is not None:
            object.__setattr__(self, "weights", read_only(self.weights))

    def __len__(self) -> int:
        return len(self.y)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and features."""
        return len(self), self.columns

    def to_numpy(self) -> NDArray[np.float64]:
        """Return the rows as an array of shape (rows, features), read-only where they are dense.

        Examples
        --------
        >>> Chunk(np.eye(2), np.array([0, 1]), 2).to_numpy()
        array([[1., 0.],
               [0., 1.]])
        """
        return to_dense(self.X, self.columns)

    def to_scipy(self) -> Any:
        """Return the rows as a ``scipy.sparse.csr_array`` of shape (rows, features)."""
        return to_scipy(self.X, self.columns)

    def __getitem__(self, span: slice) -> Chunk:
        start, stop, step = span.indices(len(self))
        if step != 1:
            raise ValueError(f"a chunk is cut into consecutive rows, step was {step}")
        return self._with_rows(slice_rows(self.X, start, stop), slice(start, stop))

    def take(self, index: NDArray[np.int64]) -> Chunk:
        """Return the rows at `index`, in that order, as a copy.

        Examples
        --------
        >>> Chunk(np.eye(3), np.array([0, 1, 1]), 3).take(np.array([2, 0])).y
        array([1, 0])
        """
        return self._with_rows(take_rows(self.X, index), index)

    def _with_rows(self, X: Rows, selection: slice | NDArray[np.int64]) -> Chunk:
        """Return `X`, some of the rows, with their targets, delays and weights."""
        delays = None
        if self.delays is not None:
            delays = self.delays[selection]
        weights = None
        if self.weights is not None:
            weights = self.weights[selection]
        return replace(self, X=X, y=self.y[selection], delays=delays, weights=weights)


def join_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Concatenate `chunks`, which all have delays and weights or none.

    Examples
    --------
    >>> chunk = Chunk(np.eye(3), np.array([0, 1, 1]), 3)
    >>> len(join_chunks([chunk, chunk]))
    6
    """
    delays = [chunk.delays for chunk in chunks if chunk.delays is not None]
    weights = [chunk.weights for chunk in chunks if chunk.weights is not None]
    return Chunk(
        stack_rows([chunk.X for chunk in chunks]),
        np.concatenate([chunk.y for chunk in chunks]),
        chunks[0].columns,
        np.concatenate(delays) if delays else None,
        np.concatenate(weights) if weights else None,
    )
