"""Text columns as one-hot columns, numbered in order of first appearance."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.data.formats.cells import is_missing

_ABSENT = np.iinfo(np.int32).max


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
    >>> X, missing = features.rows(np.array([[31.0], [40.0]]), np.array([[0, 1]]), [["cook", "?"]])
    >>> features.feature_names, X.indices, missing[:, 0]
    (['age', 'job=cook'], array([0, 1, 0], dtype=int32), array([False,  True]))
    """

    def __init__(
        self, names: Sequence[str], numeric: Sequence[int], text: Sequence[int], values: Mapping[int, Sequence[str]]
    ) -> None:
        self.feature_names = [names[position] for position in numeric]
        self._names = [names[position] for position in text]
        self._declared: list[dict[str, int]] = [{} for _ in text]
        # The feature of each value by its number.
        self._codes = [np.empty(0, dtype=np.int32) for _ in text]
        for j, position in enumerate(text):
            for value in values.get(position, ()):
                self._declared[j][value] = self._number(j, value)

    def rows(
        self, numbers: NDArray[np.float64], ids: NDArray[np.int32], values: Sequence[Sequence[str]]
    ) -> tuple[CSR, NDArray[np.bool_]]:
        """Return some rows as sparse ones, and which text cells are missing.

        Parameters
        ----------
        numbers : ndarray of shape (rows, numeric columns)
        ids : ndarray of shape (text columns, rows)
            The cells of each text column, as positions in `values`.
        values : sequence of sequences of str
            Of each text column: its different cells, stripped, in order of first appearance in all rows so far.
        """
        rows, width = numbers.shape
        self._learn(ids, values)
        codes = np.stack([known[column] for known, column in zip(self._codes, ids, strict=True)], axis=1)
        missing = codes == _ABSENT
        codes.sort(axis=1)
        used = np.hstack([numbers != 0, codes != _ABSENT])
        indices = np.hstack([np.broadcast_to(np.arange(width, dtype=np.int32), numbers.shape), codes])[used]
        data = np.hstack([numbers, np.ones(codes.shape)])[used]
        indptr = np.zeros(rows + 1, dtype=np.int64)
        np.cumsum(used.sum(axis=1), out=indptr[1:])
        return CSR(indptr, indices, data), missing

    def _learn(self, ids: NDArray[np.int32], values: Sequence[Sequence[str]]) -> None:
        """Give numbers to the values not seen before in order of their first row, then of their column."""
        new = []
        for j, known in enumerate(self._codes):
            if len(values[j]) > len(known):
                unseen = np.flatnonzero(ids[j] >= len(known))
                found, first = np.unique(ids[j][unseen], return_index=True)
                new += [(row, j, i) for row, i in zip(unseen[first].tolist(), found.tolist(), strict=True)]
                more = np.full(len(values[j]) - len(known), _ABSENT, dtype=np.int32)
                self._codes[j] = np.concatenate([known, more])
        for _, j, i in sorted(new):
            value = values[j][i]
            if value in self._declared[j]:
                self._codes[j][i] = self._declared[j][value]
            elif not is_missing(value):
                self._codes[j][i] = self._number(j, value)

    def _number(self, j: int, value: str) -> int:
        self.feature_names.append(f"{self._names[j]}={value}")
        return len(self.feature_names) - 1
