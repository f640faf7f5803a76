"""The contract of every source format: batches of rows in the order of the source.

A format turns a source (a file, an archive member, a name such as ``sklearn:digits``) into `Batch`
objects. It does not decide how rows are stored, which classes exist or how they are coded;
ingestion does that from the raw targets.

To add a format, write a module with a class that follows `Format` and name it in the registry of
this package.
"""

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.data.formats.cell_form import check_quoting
from olscale.data.formats.coding import parse_codings
from olscale.data.formats.dialect import check_delimiter
from olscale.data.formats.drop_list import DropList
from olscale.data.formats.row_weights import checked_weights, weights_position
from olscale.data.formats.table_columns import (
    Constant,
    TableColumns,
    TableRows,
    Target,
    columns_named,
    columns_there,
    constants_lacking,
)
from olscale.errors import FormatError, NoRowsError, ParameterError
from olscale.system.plain_arrays import refuse_masked

__all__ = [
    "Batch",
    "Format",
    "ReadOptions",
    "Target",
    "batches_of_arrays",
    "split_fragment",
]

_KEPT = (np.uint8, np.int8, np.uint16, np.int16, np.float32, np.float64)


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive rows of a source with their raw targets.

    Parameters
    ----------
    X : ndarray of shape (rows, columns) or CSR
        Dense rows keep the source's dtype when it is small (pixels stay uint8) and are float64
        otherwise.
    target : ndarray of shape (rows,) or (rows, targets), float64, or list of str
        Labels as the source has them.
    columns : int
        Width known so far: that of dense rows, or one more than the largest index of the sparse
        rows so far.
    feature_names : tuple of str, optional
        Names of the first columns known so far, if the source has names. Grows with `columns`.
    zero_based : bool, optional
        Whether the indices of SVMlight text start at 0; pass it on in `ReadOptions` to further
        sources of the same data set, so that all are numbered alike.
    label : str or int, optional
        Column of a table that was taken as the target: its name, or its position where the table
        has no names. Pass a position on likewise.
    regression : bool, optional
        Whether the targets are declared to be those of a regression (True), even if all are whole
        numbers, or to be classes (False), even if there are many; None if neither is known.
    table : TableRows, optional
        For rows of a table: its columns, and which cells hold no value.
    unlabelled : bool, default False
        Whether the source was read as one without labels; targets are then zeros.
    targets : tuple of str
        Names of the targets, where a row has several; else empty.
    notes : tuple of str
        What the user should know about how the source was read, where that was ambiguous; with its
        first rows.
    weights : ndarray of shape (rows,), float64, optional
        The weight of each row, if `ReadOptions.weights` asks for it: finite, 0 or more.
    """

    X: NDArray[Any] | CSR
    target: Target
    columns: int
    feature_names: tuple[str, ...] | None = None
    zero_based: bool | None = None
    label: str | int | None = None
    regression: bool | None = None
    table: TableRows | None = None
    unlabelled: bool = False
    targets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    weights: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        refuse_masked(self.X, "the rows of a source")  # from a user's own format
        refuse_masked(
            None if isinstance(self.target, list) else self.target,
            "the labels of a source",
        )

    def __len__(self) -> int:
        return len(self.target)


class ColumnsAside(NamedTuple):
    """Positions of columns that are set aside.

    Parameters
    ----------
    dropped : frozenset of int
        All columns that are no features.
    carried : tuple of int
        Columns that are carried along.
    as_written : frozenset of int
        Columns in both: text, as it is written.
    weights : int, optional
        The column of row weights, one of the dropped.
    """

    dropped: frozenset[int]
    carried: tuple[int, ...]
    as_written: frozenset[int]
    weights: int | None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a source.

    Parameters
    ----------
    chunk_rows : int
        Largest number of rows in a batch.
    label : str or int, optional
        Column that holds the target, by name or zero-based position (negative counts from the end);
        several names separated by commas are several targets. When left out it is the last column,
        but see `olscale.data.formats.csv` for tables without names. Formats whose target has a
        fixed place ignore it.
    zero_based : bool, optional
        Whether the indices of SVMlight text start at 0. Detected when left out; see
        `olscale.data.formats.svmlight`.
    header : bool, optional
        Whether the first row of a table names its columns. Detected when left out.
    stream : io.BufferedReader, optional
        Text to read instead of opening the source, which then only names it in errors: a member of
        an archive.
    drop : tuple of str
        Columns of a table to leave out: names, positions, or several of them separated by commas.
    encode : tuple of str
        Columns of a table that are not read by their type, most of them as a fixed number of
        features, as `olscale.data.formats.coding.parse_codings` takes them.
    segments : str, optional
        Column of a table whose cells go to `TableRows.segments`.
    decimal : {'.', ','}, optional
        Mark between whole part and fraction of a number in CSV and TSV; a point when left out.
    table : TableColumns, optional
        Columns of the previous source, whose decisions also hold for this one.
    labelled : bool
        Whether a column of a table is the target; if not, all are features. Also whether targets
        are read from files of arrays.
    delimiter : str, optional
        Character between the cells of a table in CSV and TSV; a space means any white space.
        Detected when left out.
    labels_needed : bool
        Whether a source that is no table must have labels. Rows to predict need none:
        `Batch.unlabelled` reports that they have none, and a label that is no number is NaN.
    drop_list : DropList, optional
        The columns of `drop` where there are several sources, some of which may lack some columns.
    drop_if_there : tuple of str
        Names of columns of a table to leave out if the source has them.
    carry : tuple of str
        Names of columns of a table whose cells go to `TableRows.carried` if the source has them.
        Cells of columns that are left out are text, as it is written.
    constants : tuple of Constant
        Columns named by folders; a format of tables adds those that the file lacks.
    arrays : mapping of str to str, optional
        ``X``, ``y``, ``X_test``, ``y_test`` -> names of the arrays in NPZ and MAT files, as
        `olscale.data.formats.arrays.parse_arrays` returns them; the usual ones when left out.
    quoting : {'none'}, optional
        Of CSV and TSV: quotes are ordinary characters. When left out a cell may stand between
        double quotes.
    escape : {'backslash'}, optional
        Of CSV and TSV: a backslash removes the meaning of the next character, see
        `olscale.data.formats.cell_form`.
    missing : tuple of str
        Of CSV and TSV: words that mean "no value", in addition to those that do so in all tables.
    weights : str, optional
        Column of a table, or array of a file of arrays, with the weights of the rows; for VW text
        ``importance``, for the braces behind rows of ARFF ``instance``. It is no feature; its
        values go to `Batch.weights`.
    """

    chunk_rows: int = 8192
    label: str | int | None = None
    zero_based: bool | None = None
    header: bool | None = None
    stream: io.BufferedReader | None = None
    drop: tuple[str, ...] = ()
    encode: tuple[str, ...] = ()
    segments: str | None = None
    decimal: str | None = None
    table: TableColumns | None = None
    labelled: bool = True
    delimiter: str | None = None
    labels_needed: bool = True
    drop_if_there: tuple[str, ...] = ()
    carry: tuple[str, ...] = ()
    constants: tuple[Constant, ...] = ()
    arrays: Mapping[str, str] | None = None
    quoting: str | None = None
    escape: str | None = None
    missing: tuple[str, ...] = ()
    weights: str | None = None
    drop_list: DropList | None = None

    def __post_init__(self) -> None:
        if self.chunk_rows < 1:
            raise ParameterError(
                f"chunk_rows is {self.chunk_rows}, expected at least 1"
            )
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"decimal is {self.decimal!r}, expected '.' or ','")
        if self.delimiter is not None:
            check_delimiter(self.delimiter)
        check_quoting(self.quoting, self.escape)
        if self.escape is not None and self.delimiter == "\\":
            raise ParameterError(
                "delimiter is a backslash, which escape gives another meaning; leave one of them "
                "out"
            )

    def positions_to_drop(
        self, source: str, names: Sequence[str], width: int
    ) -> frozenset[int]:
        """Return the positions of the columns to drop among `names`; `width` are in the file.

        Raises
        ------
        UnknownNameError
            When a single source has no column of a name.
        FormatError
            When there is no column at a position.
        """
        if self.drop_list is None:
            return columns_named(source, names, self.drop, width)
        return self.drop_list.positions(source, names, width)

    def set_aside(
        self,
        source: str,
        names: Sequence[str],
        dropped: frozenset[int],
        width: int,
    ) -> ColumnsAside:
        """Return which of the columns `names` are no features, other than the labels.

        `dropped` are left out anyway, and `width` of the columns are in the file.
        """
        weights = weights_position(
            source, names, self.weights, self.label, dropped, width
        )
        if weights is not None:
            dropped |= {weights}
        dropped |= set(columns_there(names, self.drop_if_there))
        carried = columns_there(names, self.carry)
        return ColumnsAside(dropped, carried, dropped.intersection(carried), weights)

    def added_columns(self, names: Collection[str]) -> tuple[Constant, ...]:
        """Return the constant columns to append to those of a table, which are called `names`."""
        if not self.constants:
            return ()
        return constants_lacking(
            self.constants, names, parse_codings(self.encode), self.table
        )


class Format(Protocol):
    """A source format.

    Attributes
    ----------
    name : str
        What users write after ``--format``.
    suffixes : tuple of str
        Endings of file names (lower case, after any compression suffix) that mean this format.
    """

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether `head`, the first decompressed bytes, looks like this format."""
        return False

    def splits(self, source: str) -> tuple[str, ...]:
        """Return the splits that `source` contains: ``("train",)`` or ``("train", "test")``."""
        return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of `source` in order; raise `FormatError` if it breaks the format."""
        ...


def split_fragment(source: str) -> tuple[str, str | None]:
    """Return `source` without its ``#fragment``, and the fragment.

    Examples
    --------
    >>> split_fragment("faces.npz#test")
    ('faces.npz', 'test')
    >>> split_fragment("faces.npz")
    ('faces.npz', None)
    """
    path, mark, fragment = source.rpartition("#")
    if not mark or "/" in fragment:
        return source, None
    return path, fragment


def batches_of_arrays(
    source: str,
    X: NDArray[Any],
    y: NDArray[Any] | list[str] | None,
    options: ReadOptions,
    feature_names: tuple[str, ...] | None = None,
    weights: NDArray[Any] | None = None,
) -> Iterator[Batch]:
    """Yield whole arrays of a source as batches.

    Parameters
    ----------
    source : str
        Named in errors.
    X : ndarray of shape (rows, ...)
        Numbers; further axes (height and width of images) are flattened.
    y : ndarray of shape (rows,) or (rows, targets), or list of str, optional
        Targets, numbers or text; several targets of a row are called y0, y1, ... If they are left
        out, or empty while `ReadOptions.labels_needed` is False, the rows have no labels.
    options : ReadOptions
        `chunk_rows` and `labels_needed` are used.
    feature_names : tuple of str, optional
        Passed on.
    weights : ndarray, optional
        One weight per row.

    Raises
    ------
    FormatError
        When there are no rows, the numbers of rows and targets differ, or either array has another
        type or shape.
    """
    if X.ndim < 2 or X.dtype.kind not in "buif":
        raise FormatError(
            source,
            f"features are {X.dtype} of shape {X.shape}, expected numbers of shape (rows, columns)",
        )
    unlabelled = y is None or (not options.labels_needed and np.size(y) == 0)
    if y is None or unlabelled:
        y = np.zeros(len(X))
    target_names = _target_names(y, len(X))
    target = y if isinstance(y, list) else _target(source, y, bool(target_names))
    if len(X) != len(target):
        problem = f"{len(X)} rows of features but {len(target)} targets"
        # MATLAB keeps images, and many programs their columns of samples, in this order.
        if X.shape[-1] == len(target):
            problem += (
                f"; features are of shape {X.shape}, expected rows first: "
                "numpy.moveaxis(X, -1, 0), or permute in MATLAB"
            )
        raise FormatError(source, problem)
    if len(X) == 0:
        raise NoRowsError(source, "no rows")
    columns = int(np.prod(X.shape[1:]))
    source_dtype = np.dtype(np.uint8) if X.dtype == bool else X.dtype.newbyteorder("=")
    dtype = source_dtype if source_dtype.type in _KEPT else np.dtype(np.float64)
    counts = None
    if weights is not None:
        counts = _weights(source, weights, len(X), str(options.weights))
    for start in range(0, len(X), options.chunk_rows):
        part = slice(start, start + options.chunk_rows)
        rows = np.ascontiguousarray(
            X[part].reshape(len(target[part]), columns), dtype=dtype
        )
        yield Batch(
            rows,
            target[part],
            columns,
            feature_names,
            unlabelled=unlabelled,
            targets=target_names,
            weights=None if counts is None else counts[part],
        )


def _weights(
    source: str,
    weights: NDArray[Any],
    rows: int,
    name: str,
) -> NDArray[np.float64]:
    """Return the array `name` as the weights of `rows` rows."""
    if (
        weights.size != rows
        or max(weights.shape, default=0) != rows
        or weights.dtype.kind not in "buif"
    ):
        got = f"{weights.dtype} of shape {weights.shape}"
        raise FormatError(
            source,
            f"the weights, its array {name}, are {got}; expected a number for each of {rows} rows",
        )
    return checked_weights(source, weights.reshape(-1).astype(np.float64), name)


def _target_names(y: NDArray[Any] | list[str], rows: int) -> tuple[str, ...]:
    """Return names for the targets of a row if there are several, one array row per row."""
    is_matrix = (
        isinstance(y, np.ndarray) and y.ndim == 2 and len(y) == rows and y.shape[1] > 1
    )
    if isinstance(y, np.ndarray) and is_matrix:
        return tuple(f"y{number}" for number in range(y.shape[1]))
    return ()


def _target(source: str, y: NDArray[Any], several: bool) -> Target:
    flat = y.reshape(-1) if y.ndim == 2 and 1 in y.shape and not several else y
    if flat.ndim != 1 and not several:
        raise FormatError(
            source,
            f"targets have shape {y.shape}, expected (rows,), or (rows, targets) of numbers",
        )
    if several and flat.dtype.kind not in "buif":
        raise FormatError(
            source,
            f"targets are {y.dtype} of shape {y.shape}; several of a row must be numbers",
        )
    if flat.dtype.kind == "U":
        _check_text(source, flat)
        return [str(label) for label in flat]
    if flat.dtype.kind == "S":
        return [label.decode("utf-8", "replace") for label in flat.tolist()]
    if flat.dtype.kind not in "buif":
        raise FormatError(source, f"targets are {y.dtype}, expected numbers or text")
    return flat.astype(np.float64)


def _check_text(source: str, labels: NDArray[Any]) -> None:
    """Refuse text that cannot be written: numbers beyond Unicode, or surrogates."""
    if not labels.dtype.itemsize:
        return
    # NumPy stores text as words of 32 bits, which a damaged file sets to any number.
    codes = np.ascontiguousarray(labels).view(labels.dtype.str[0] + "u4")
    if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))).any():
        raise FormatError(source, "a label is no valid text")
