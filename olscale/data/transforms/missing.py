"""Missing values: filled in, or marked by a feature of their own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, trim
from olscale.compiled.decorator import compiled
from olscale.data.transforms.base import Transform
from olscale.data.transforms.streaming import StreamingTransform
from olscale.errors import ParameterError

MEDIAN_ROWS = 255
"""Number of latest values of a feature for the median: 4 KB per feature."""


@compiled
def _fill_dense(
    X: Any,
    trains: Any,
    rows: Any,
    total: Any,
    missing: Any,
    out: Any,
) -> None:
    for i in range(X.shape[0]):
        if trains[i]:
            rows[0] += 1
        for j in range(X.shape[1]):
            value = X[i, j]
            absent = np.isnan(value)
            if trains[i]:
                if absent:
                    missing[j] += 1
                else:
                    total[j] += value
            out[i, j] = _mean(rows[0] - missing[j], total[j]) if absent else value


@compiled
def _fill_sparse(
    X: Any,
    trains: Any,
    rows: Any,
    total: Any,
    missing: Any,
    out: Any,
) -> None:
    for i in range(X.indptr.shape[0] - 1):
        if trains[i]:
            rows[0] += 1
        for p in range(X.indptr[i], X.indptr[i + 1]):
            value = X.data[p]
            j = X.indices[p]
            absent = np.isnan(value)
            if trains[i]:
                if absent:
                    missing[j] += 1
                else:
                    total[j] += value
            out[p] = _mean(rows[0] - missing[j], total[j]) if absent else value


@compiled
def _mean(count: int, total: float) -> float:
    return total / count if count > 0 else 0.0


# An exact median of all rows needs all of them, the P2 algorithm has no error bound, and a
# reservoir needs random numbers. The latest 255 values have an exact median, follow drift and
# take 4 kB a feature.
@compiled
def _fill_medians(
    X: Any,
    trains: Any,
    seen: Any,
    latest: Any,
    ordered: Any,
    out: Any,
) -> None:
    room = latest.shape[1]
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            value = X[i, j]
            count = min(seen[j], room)
            ranks = ordered[j]
            if not np.isnan(value):
                out[i, j] = value
                if trains[i]:
                    at = count  # the gap: at the end, or where the oldest value was
                    if count == room:
                        at = np.searchsorted(ranks, latest[j, seen[j] % room])
                    while at > 0 and ranks[at - 1] > value:
                        ranks[at] = ranks[at - 1]
                        at -= 1
                    last = min(count, room - 1)
                    while at < last and ranks[at + 1] < value:
                        ranks[at] = ranks[at + 1]
                        at += 1
                    ranks[at] = value
                    latest[j, seen[j] % room] = value
                    seen[j] += 1
            elif count == 0:
                out[i, j] = 0.0
            else:  # halves before the sum: it cannot overflow
                out[i, j] = 0.5 * ranks[(count - 1) // 2] + 0.5 * ranks[count // 2]


class Impute(StreamingTransform):
    """Fill in missing values (NaN) from earlier values of the feature, or 0 without any.

    Parameters
    ----------
    strategy : {"mean", "median", "zero"}
        The mean of all values so far, including zeros of sparse rows: their sum, in the order of
        the rows, over their number. The exact median of the latest 255 values, for which sparse
        rows are made dense. Or 0, which learns nothing.

    Examples
    --------
    >>> step = Impute("mean")
    >>> step.begin(1)
    >>> X = np.array([[1.0], [np.nan], [4.0], [np.nan]])
    >>> step.learn(X, 1, np.array([True, True, True, False]))[:, 0]
    array([1. , 1. , 4. , 2.5])
    """

    name = "impute"
    keeps_missing = True
    keeps_values = True

    def __init__(self, strategy: str = "mean") -> None:
        if strategy not in ("mean", "median", "zero"):
            raise ParameterError(
                f"transform impute: strategy was {strategy!r}, expected mean, median or zero"
            )
        self.strategy = strategy
        self.learned = {}  # no stream calls `begin` if the value is 0
        self.streams = strategy != "zero"
        self.takes_sparse = strategy != "median"

    def begin(self, columns: int) -> None:
        if self.strategy == "mean":
            self.learned = {
                "rows": np.zeros(1, np.int64),
                "total": np.zeros(columns),
                "missing": np.zeros(columns, np.int64),
            }
        elif self.strategy == "median":
            window = columns, MEDIAN_ROWS
            self.learned = {
                "seen": np.zeros(columns, np.int64),
                "latest": np.zeros(window),
                "ordered": np.zeros(window),
            }
        else:
            self.learned = {}

    def can_continue(self) -> bool:
        learned = self.learned
        if self.strategy == "median":
            return bool((learned["seen"] >= 0).all()) and self._is_ordered()
        if self.strategy == "mean":
            rows = learned["rows"][0]
            missing = learned["missing"]
            return bool(rows >= 0 and ((missing >= 0) & (missing <= rows)).all())
        return True

    def _is_ordered(self) -> bool:
        """Return whether each feature's ordered values are its latest ones, sorted."""
        count = np.minimum(self.learned["seen"], MEDIAN_ROWS)
        is_used = np.arange(MEDIAN_ROWS) < count[:, np.newaxis]
        latest = np.where(is_used, self.learned["latest"], np.inf)
        ordered = np.where(is_used, self.learned["ordered"], np.inf)
        # A search for the oldest value finds no place for it if the two differ.
        return bool(np.array_equal(np.sort(latest, axis=1), ordered))

    def learn(self, X: Rows, columns: int, trains: NDArray[np.bool_]) -> Rows:
        if isinstance(X, CSR):
            X = trim(X)
        values = X.data if isinstance(X, CSR) else X
        learned = self.learned
        filled = np.empty(values.shape)
        if self.strategy == "zero":
            filled = np.where(np.isnan(values), 0.0, values)
        elif self.strategy == "median":
            _fill_medians(
                X,
                trains,
                learned["seen"],
                learned["latest"],
                learned["ordered"],
                filled,
            )
        else:
            fill = _fill_sparse if isinstance(X, CSR) else _fill_dense
            fill(
                X, trains, learned["rows"], learned["total"], learned["missing"], filled
            )
        if isinstance(X, CSR):
            return X._replace(data=filled)
        return filled


class MissingIndicator(Transform):
    """Append a feature for each feature: 1 if its value is missing (NaN), else 0.

    Examples
    --------
    >>> MissingIndicator().apply(np.array([[np.nan, 2.0]]), 2)
    array([[nan,  2.,  1.,  0.]])
    """

    name = "missing-indicator"
    keeps_missing = True
    keeps_values = True
    takes_sparse = True

    def feature_names(self, names: Sequence[str]) -> list[str]:
        return [*names, *(f"{name} is missing" for name in names)]

    def width(self, columns: int) -> int:
        return 2 * columns

    def apply(self, X: Rows, columns: int) -> Rows:
        if not isinstance(X, CSR):
            return np.hstack([X, np.isnan(X).astype(np.float64)])
        indptr, indices, data = trim(X)
        at = np.flatnonzero(np.isnan(data))
        row = np.searchsorted(indptr, at, side="right") - 1
        ends = indptr[row + 1]
        # The number of values added to the rows before each row.
        before = np.searchsorted(row, np.arange(len(indptr)))
        more = (indices[at] + columns).astype(indices.dtype)
        return CSR(
            indptr + before, np.insert(indices, ends, more), np.insert(data, ends, 1.0)
        )
