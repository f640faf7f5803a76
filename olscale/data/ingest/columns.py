"""One numbering of the columns for all sources of a dataset."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, trim
from olscale.data.formats.base import Batch
from olscale.data.formats.coding import OTHER, FirstValues
from olscale.data.layouts.base import StoredRows
from olscale.data.manifest import Manifest
from olscale.errors import DatasetError

_STORED = tuple(np.dtype(name) for name in ("u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8"))
"""Types whose every value is exact as float64."""


class Columns:
    """Maps every batch to the columns of the dataset.

    Sparse rows may widen the dataset. If the sources name their columns (a table whose categories
    become columns), the name decides, so that two files with categories in different orders agree.
    Each split of dense rows has its own stored type; `dtype` is one that holds them all.

    Parameters
    ----------
    like : Manifest, optional
        A dataset that has all columns there are.

    Attributes
    ----------
    unknown : int
        Values so far for which `like` has no column.
    """

    def __init__(self, like: Manifest | None = None) -> None:
        self.width = 0
        self.unknown = 0
        self.kind: Literal["dense", "sparse"] | None = None
        self.dtype = np.dtype(np.float64)
        self._stored: np.dtype[Any] | None = None
        self._names: dict[str, int] | None = None
        self._like = like
        if like is not None:
            self.width = like.columns
            # Text that lists nonzeros is read as sparse rows, and made dense after the last.
            self.kind = like.kind if like.index_base is None else "sparse"
            if like.feature_names is not None:
                self._names = {name: place for place, name in enumerate(like.feature_names)}
        self._seen: tuple[str, ...] = ()
        self._target = np.empty(0, dtype=np.int32)

    def begin(self) -> None:
        """Begin a split.

        Its dense rows are stored in the type of the first, or in float64 if that is too narrow.
        """
        self._stored = None

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, if there are any."""
        return None if self._names is None else tuple(self._names)

    def reorder(self, places: NDArray[np.int64]) -> None:
        """Give each column the place at its position in `places`."""
        order = np.argsort(places)
        names = self.names or ()
        self._names = {names[column]: place for place, column in enumerate(order.tolist())}

    def align(self, batch: Batch, source: str) -> StoredRows:
        """Return the rows of `batch` in the dataset's columns and stored type.

        Raises
        ------
        DatasetError
            When the kind or width of `batch` differs from earlier batches, or two of its features
            have the same name.
        """
        kind: Literal["dense", "sparse"] = "sparse" if isinstance(batch.X, CSR) else "dense"
        first = self.kind is None
        if first:
            self.kind = kind
            self._names = {} if batch.feature_names is not None else None
        elif kind != self.kind:
            raise DatasetError(
                f"{source} has {kind} rows but the sources before it had {self.kind} ones"
            )
        if isinstance(batch.X, CSR):
            return self._align_sparse(batch, batch.X, source)
        return self._align_dense(batch, batch.X, source, first)

    def _align_dense(self, batch: Batch, X: NDArray[Any], source: str, first: bool) -> NDArray[Any]:
        dtype = X.dtype if X.dtype in _STORED else np.dtype(np.float64)
        if first:
            self.width = batch.columns
            self.dtype = dtype
            if batch.feature_names is not None:
                self._names = {name: i for i, name in enumerate(batch.feature_names)}
        if batch.columns != self.width:
            raise DatasetError(
                f"{source} has {batch.columns} columns but the sources before it had {self.width}"
            )
        stored = self._stored or dtype
        self._stored = stored = stored if np.can_cast(dtype, stored) else np.dtype(np.float64)
        self.dtype = np.result_type(self.dtype, stored)
        names = batch.feature_names
        if names is not None and names != self.names:
            if self._names is None or sorted(names) != sorted(self._names):
                cure = (
                    "name them alike, or, of CSV and TSV, give --no-header if first rows are data"
                )
                raise DatasetError(
                    f"{source} has other column names than the sources before it; {cure}"
                )
            X = X[:, [names.index(name) for name in self._names]]
        return X.astype(stored, copy=False)

    def _align_sparse(self, batch: Batch, X: CSR, source: str) -> CSR:
        if batch.feature_names is None and self._like is not None:
            return self._known(X, np.arange(max(batch.columns, self.width)), self.width)
        if batch.feature_names is None:
            self.width = max(self.width, batch.columns)
            return X
        if self._names is None:
            raise DatasetError(f"{source} names its columns but the sources before it did not")
        if self._like is not None:
            at = self._places_like(self._like, batch.feature_names, self._names, source)
            return self._known(X, at, len(self._names))
        target = self._placed(batch.feature_names, self._names, source)
        self.width = len(self._names)
        return X if bool((target == np.arange(len(target))).all()) else _renumber(X, target)

    def _places_like(
        self, like: Manifest, names: tuple[str, ...], known: dict[str, int], source: str
    ) -> NDArray[np.int64]:
        """Return the column of each of `names`, beyond all columns for an unknown value."""
        text = () if like.table is None else tuple(f"{name}=" for name in like.table.categorical)
        other = {
            f"{column}=": known.get(f"{column}={OTHER}", len(known))
            for column, coding in (({} if like.table is None else like.table.coded) or {}).items()
            if coding.startswith(FirstValues.name)
        }
        places = []
        for name in names:
            place = known.get(name)
            if place is None and text and not name.startswith(text):
                raise DatasetError(
                    f"{source} has the column {name!r}, which the dataset that it is to be like "
                    "lacks; leave it out with --drop"
                )
            if place is None:
                starts = [start for start in other if name.startswith(start)]
                place = other[starts[0]] if starts else len(known)
            places.append(place)
        return np.array(places, dtype=np.int64)

    def _known(self, X: CSR, places: NDArray[np.int64], columns: int) -> CSR:
        """Return rows at `places`, without what is beyond `columns`."""
        indptr, indices, data = trim(X)
        at = places[indices]
        is_known = at < columns
        self.unknown += int(np.count_nonzero(~is_known))
        ends = np.concatenate([[0], np.cumsum(is_known)])[indptr].astype(np.int64)
        # Features of each row must ascend, and places need not.
        return _renumber(
            CSR(ends, indices[is_known], data[is_known]),
            np.minimum(places, columns).astype(np.int32),
        )

    def _placed(
        self, names: tuple[str, ...], known: dict[str, int], source: str
    ) -> NDArray[np.int32]:
        """Return the dataset's column of each of `names`; a source only ever appends columns."""
        count = len(self._seen)
        if names[:count] != self._seen:
            count = 0
        if len(names) > count:
            new = np.array(
                [known.setdefault(name, len(known)) for name in names[count:]], dtype=np.int32
            )
            self._target = np.concatenate([self._target[:count], new])
            self._seen = names
            counts = np.bincount(self._target)
            if counts.max() > 1:  # two features would share a column
                twice = names[int(np.flatnonzero(self._target == counts.argmax())[0])]
                raise DatasetError(
                    f"{source} has two features {twice!r}; rename one of them, or leave one out"
                )
        return self._target[: len(names)]


def _renumber(X: CSR, target: NDArray[np.int32]) -> CSR:
    span = slice(int(X.indptr[0]), int(X.indptr[-1]))
    indices = target[X.indices[span]]
    row = np.repeat(np.arange(len(X.indptr) - 1), np.diff(X.indptr))
    order = np.lexsort((indices, row))
    return CSR(X.indptr - X.indptr[0], indices[order], X.data[span][order])
