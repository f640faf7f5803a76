"""The columns of a dataset while it is built: one numbering for all sources, weights, segments."""

import itertools
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, rows_of, trim
from olscale.data.formats.base import Batch, Target
from olscale.data.formats.coding import OTHER, FirstValues
from olscale.data.formats.row_weights import checked_weights
from olscale.data.ingest.members import Member
from olscale.data.layouts.base import StoredRows
from olscale.data.manifest import Manifest, Segment, WeightsEntry
from olscale.errors import DatasetError, FormatError, UnknownNameError

# Types whose every value is exact as float64.
_STORED = tuple(
    np.dtype(name) for name in ("u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8")
)


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
                self._names = {
                    name: place for place, name in enumerate(like.feature_names)
                }
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
        if self._names is None:
            return None
        return tuple(self._names)

    def reorder(self, places: NDArray[np.int64]) -> None:
        """Give each column the place at its position in `places`."""
        order = np.argsort(places)
        names = self.names or ()
        self._names = {
            names[column]: place for place, column in enumerate(order.tolist())
        }

    def align(self, batch: Batch, source: str) -> StoredRows:
        """Return the rows of `batch` in the dataset's columns and stored type.

        Raises
        ------
        DatasetError
            When the kind or width of `batch` differs from earlier batches, or two of its features
            have the same name.
        """
        # Dense and sparse forms of the same rows are two datasets: they do not mix.
        kind: Literal["dense", "sparse"] = (
            "sparse" if isinstance(batch.X, CSR) else "dense"
        )
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

    def _align_dense(
        self,
        batch: Batch,
        X: NDArray[Any],
        source: str,
        first: bool,
    ) -> NDArray[Any]:
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
        self._stored = stored = (
            stored if np.can_cast(dtype, stored) else np.dtype(np.float64)
        )
        self.dtype = np.result_type(self.dtype, stored)
        names = batch.feature_names
        if names is not None and names != self.names:
            if self._names is None or sorted(names) != sorted(self._names):
                raise DatasetError(
                    f"{source} has other column names than the sources before it; name them alike, "
                    "or, of CSV and TSV, give --no-header if first rows are data"
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
            raise DatasetError(
                f"{source} names its columns but the sources before it did not"
            )
        if self._like is not None:
            at = self._places_like(self._like, batch.feature_names, self._names, source)
            return self._known(X, at, len(self._names))
        target = self._placed(batch.feature_names, self._names, source)
        self.width = len(self._names)
        if bool((target == np.arange(len(target))).all()):
            return X
        return _renumber(X, target)

    def _places_like(
        self, like: Manifest, names: tuple[str, ...], known: dict[str, int], source: str
    ) -> NDArray[np.int64]:
        """Return the column of each of `names`, beyond all columns for an unknown value."""
        text = (
            ()
            if like.table is None
            else tuple(f"{name}=" for name in like.table.categorical)
        )
        other = {
            f"{column}=": known.get(f"{column}={OTHER}", len(known))
            for column, coding in (
                ({} if like.table is None else like.table.coded) or {}
            ).items()
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
        self,
        names: tuple[str, ...],
        known: dict[str, int],
        source: str,
    ) -> NDArray[np.int32]:
        """Return the dataset's column of each of `names`; a source only ever appends columns."""
        count = len(self._seen)
        if names[:count] != self._seen:
            count = 0
        if len(names) > count:
            new = np.array(
                [known.setdefault(name, len(known)) for name in names[count:]],
                dtype=np.int32,
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
    # Features of a row ascend, which loops and layouts rely on.
    order = np.lexsort((indices, row))
    return CSR(X.indptr - X.indptr[0], indices[order], X.data[span][order])


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
        weights = checked_weights(
            source, np.asarray(batch.weights, dtype=np.float64), self._asked
        )
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
            column=self._name,
            least=self._least,
            greatest=self._greatest,
            zeros=self.zeros,
        )


# Name of the segment of rows whose folder says that there is no value.
_NO_VALUE = "?"


class Segments(Protocol):
    """Cuts the rows of a split into segments."""

    def add(
        self,
        member: Member,
        X: StoredRows,
        names: tuple[str, ...] | None,
        cells: Target | None,
    ) -> None:
        """Record the next rows, `X` of `member`, with column `names` and, in tables, `cells`.

        The cells are those of the segments' column.
        """
        ...

    def finish(self) -> list[Segment]:
        """Return the segments."""
        ...


def segments_by(by: str | None) -> Segments | None:
    """Return a maker of segments by ``"files"`` or by a column called `by`, or None."""
    if by is None:
        return None
    if by == "files":
        return _MemberSegments()
    return _ColumnSegments(by)


class _MemberSegments:
    """Makes a segment of each member."""

    def __init__(self) -> None:
        self._members: list[Member] = []
        self._rows: list[int] = []

    def add(
        self,
        member: Member,
        X: StoredRows,
        names: tuple[str, ...] | None,
        cells: Target | None,
    ) -> None:
        if not self._members or member is not self._members[-1]:
            self._members.append(member)
            self._rows.append(0)
        self._rows[-1] += rows_of(X)

    def finish(self) -> list[Segment]:
        starts = itertools.accumulate(self._rows, initial=0)
        return [
            Segment(name=member.segment, start=start, rows=rows)
            for member, start, rows in zip(
                self._members, starts, self._rows, strict=False
            )
        ]


class _ColumnSegments:
    """Cuts rows into segments at the changes of a column.

    Parameters
    ----------
    column : str
        Its name in the source.
    """

    def __init__(self, column: str) -> None:
        self._column = column
        self._starts: list[int] = []
        self._values: list[Any] = []
        self._rows = 0

    def add(
        self,
        member: Member,
        X: StoredRows,
        names: tuple[str, ...] | None,
        cells: Target | None,
    ) -> None:
        """Record the next rows; the column need not be a feature.

        Raises
        ------
        DatasetError
            When the source does not name its columns.
        UnknownNameError
            When no column has that name.
        """
        constant = next(
            (column for column in member.constants if column.name == self._column),
            None,
        )
        if cells is None and constant is not None:
            cells = [constant.value or _NO_VALUE] * rows_of(X)
        if cells is None:
            if names is None:
                raise DatasetError(
                    f"{member.name} does not name its columns, so none is called {self._column!r}; "
                    "use segments 'files', one segment a source"
                )
            if self._column not in names:
                raise UnknownNameError("segment column", self._column, names)
            cells = _values(X, names.index(self._column))
        values: NDArray[Any] = np.array(cells)
        changes = np.flatnonzero(values[1:] != values[:-1]) + 1
        # The first row continues the last segment if it has the same value.
        if not self._values or values[0] != self._values[-1]:
            changes = np.concatenate(([0], changes))
        self._starts += (changes + self._rows).tolist()
        self._values += values[changes].tolist()
        self._rows += len(values)

    def finish(self) -> list[Segment]:
        """Return the segments, named by the values of the column."""
        ends = [*self._starts[1:], self._rows]
        return [
            Segment(name=_name(value), start=start, rows=end - start)
            for value, start, end in zip(self._values, self._starts, ends, strict=True)
        ]


def _name(value: float | str) -> str:
    if isinstance(value, str):
        return value
    if value.is_integer():
        return str(int(value))
    return repr(value)


def _values(X: StoredRows, column: int) -> NDArray[np.float64]:
    if not isinstance(X, CSR):
        return X[:, column].astype(np.float64)
    values = np.zeros(len(X.indptr) - 1)
    span = slice(int(X.indptr[0]), int(X.indptr[-1]))
    entries = np.flatnonzero(X.indices[span] == column)
    row = np.searchsorted(X.indptr - X.indptr[0], entries, side="right") - 1
    values[row] = X.data[span][entries]
    return values
