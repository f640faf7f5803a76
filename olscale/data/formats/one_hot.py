"""Text columns as one-hot columns, numbered in order of first appearance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.data.formats.cells import is_missing

__all__ = ["OneHot"]


class OneHot:
    """Makes sparse rows of numeric columns and of text columns, each value of which is a column of its own.

    Parameters
    ----------
    names : sequence of str
        All columns of the table.
    numeric, text : sequence of int
        Positions of the features.
    values : mapping of int to sequence of str
        Declared values of text columns: they are numbered in this order before any row is seen.

    Attributes
    ----------
    feature_names : list of str
        Those known so far; it only ever grows.

    Examples
    --------
    >>> features = OneHot(["age", "job"], [0], [1], {})
    >>> X, missing = features.rows(np.array([[31.0], [40.0]]), [["cook", "?"]])
    >>> features.feature_names, X.indices, missing[:, 0]
    (['age', 'job=cook'], array([0, 1, 0], dtype=int32), array([False,  True]))
    """

    def __init__(
        self, names: Sequence[str], numeric: Sequence[int], text: Sequence[int], values: Mapping[int, Sequence[str]]
    ) -> None:
        self.feature_names = [names[position] for position in numeric]
        self._names, self._text = names, text
        self._codes: dict[int, dict[str, int]] = {position: {} for position in text}
        for position in text:
            for value in values.get(position, ()):
                self._number(position, value)

    def rows(self, numbers: NDArray[np.float64], values: Sequence[Sequence[str]]) -> tuple[CSR, NDArray[np.bool_]]:
        """Return rows of `numbers` and `values`, the stripped cells of each text column, and which of these are missing."""
        rows, width = numbers.shape
        self._learn(values)
        absent = np.iinfo(np.int64).max
        codes = np.empty((rows, len(values)), dtype=np.int64)
        for j, (position, cells) in enumerate(zip(self._text, values, strict=True)):
            known = self._codes[position]
            codes[:, j] = [known.get(cell, absent) for cell in cells]
        missing = codes == absent
        codes.sort(axis=1)
        used = np.hstack([numbers != 0, codes != absent])
        indices = np.hstack([np.broadcast_to(np.arange(width, dtype=np.int64), numbers.shape), codes])[used]
        data = np.hstack([numbers, np.ones(codes.shape)])[used]
        indptr = np.zeros(rows + 1, dtype=np.int64)
        np.cumsum(used.sum(axis=1), out=indptr[1:])
        return CSR(indptr, indices.astype(np.int32), data), missing

    def _learn(self, values: Sequence[Sequence[str]]) -> None:
        """Give numbers to the values not seen before in order of their first row, then of their column."""
        new = []
        for j, (position, cells) in enumerate(zip(self._text, values, strict=True)):
            unseen = [value for value in set(cells) - self._codes[position].keys() if not is_missing(value)]
            if unseen:
                first = dict(zip(reversed(cells), range(len(cells) - 1, -1, -1), strict=True))
                new += [(first[value], j, position, value) for value in unseen]
        for _, _, position, value in sorted(new):
            self._number(position, value)

    def _number(self, position: int, value: str) -> None:
        self._codes[position][value] = len(self.feature_names)
        self.feature_names.append(f"{self._names[position]}={value}")
