"""Parquet tables: numeric, boolean and text columns, read a few rows at a time.

Text columns, and dictionaries of any type, such as a categorical of pandas, become sparse one-hot
columns after the numeric ones, see `olscale.data.formats.table_encoder`; nulls are NaN or no value
at all, and any text is a value as it stands, including ``NA`` and ``none``. A label that is a
dictionary of numbers is these numbers. Checksums of pages are verified if the file has them. The
target is the last column or `ReadOptions.label`. The index of a pandas data frame is left out,
unless it is named as the label: it stands after all columns, where the label is expected.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.cells import Cell, Column, TypedCells
from olscale.data.formats.coding import Date, parse_codings
from olscale.data.formats.compression import open_raw
from olscale.data.formats.date_coding import ADVISED
from olscale.data.formats.table_columns import (
    UNLABELLED,
    TableColumns,
    columns_named,
    label_positions,
    listed_columns,
    segment_position,
    text_columns,
    unique_names,
)
from olscale.data.formats.table_encoder import TableEncoder
from olscale.errors import FormatError, NoRowsError

_ENCRYPTED = "is encrypted; write it without encryption"
_ARROW = "is an Arrow (Feather) file, no Parquet file; write it as Parquet"
# First bytes of files that are called .parquet but cannot be read -> their kinds.
_OTHER_KINDS = {b"PARE": _ENCRYPTED, b"ARROW1": _ARROW, b"FEA1": _ARROW}
_MAGIC_BYTES = 6


class ParquetFormat:
    """Parquet tables.

    Only nulls are missing; `NA` and `none` are text. A decimal is the nearest double, the one
    that a CSV file of it has. Checksums of pages are verified where the file has them. A column
    of type null is a column of missing values.
    """

    name: ClassVar[str] = "parquet"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether `head` has the magic number."""
        return head.startswith(b"PAR1")

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train",)``: a table is a single split."""
        return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of `source` in its order.

        Raises
        ------
        FormatError
            When the file is damaged, encrypted or empty, columns hold neither numbers nor text, or
            a label is missing (its line counts rows from 1).
        """
        import pyarrow
        from pyarrow import parquet

        with open_raw(source) as file:
            _refuse_other_kinds(source, file)
            try:
                table = parquet.ParquetFile(file, page_checksum_verification=True)
                yield from _batches(source, table, options)
            except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
                raise FormatError(
                    source, _problem(str(error) or repr(error))
                ) from error


def _refuse_other_kinds(source: str, file: BinaryIO) -> None:
    head = file.read(_MAGIC_BYTES)
    file.seek(0)
    for magic, problem in _OTHER_KINDS.items():
        if head.startswith(magic):
            raise FormatError(source, problem)


def _problem(words: str) -> str:
    """Return why a file could not be read, given pyarrow's message."""
    if "decrypt" in words:
        return _ENCRYPTED
    return f"is no Parquet file or is damaged ({words})"


def _batches(source: str, table: Any, options: ReadOptions) -> Iterator[Batch]:
    schema = table.schema_arrow
    width = len(schema.names)
    if not width:
        raise FormatError(source, "no columns")
    if not table.metadata.num_rows:
        raise NoRowsError(source, "no rows")
    added = options.added_columns(unique_names(schema.names))
    names = [*unique_names(schema.names), *(constant.name for constant in added)]
    if len(names) < 1 + options.labelled:
        problem = f"one column, {names[0]!r}; a table needs features and a label"
        raise FormatError(source, problem)
    dropped = columns_named(source, names, options.drop, width)
    segments = segment_position(source, names, options.segments)
    if index := _index_of(schema, names) - _labels_named(
        source, names, options, dropped, width
    ):
        dropped |= index
    dropped, carried, as_written, weights = options.set_aside(
        source, names, dropped, width
    )
    read = [
        position not in dropped or position in (segments, weights)
        for position in range(width)
    ]
    fields = [
        field if is_read else None for is_read, field in zip(read, schema, strict=True)
    ]
    labels: tuple[int, ...] = (UNLABELLED,)
    if options.labelled:
        labels = label_positions(
            source, names, options.label, dropped, width, options.table
        )
    categories = declared_categories(table.metadata.metadata or {})
    codings = parse_codings(options.encode)
    dated = frozenset(
        name for name, coding in codings.items() if isinstance(coding, Date)
    )
    text = text_fields(source, fields, names[:width], options.table, dated)
    text += tuple(constant.text for constant in added)
    chosen = [
        name in categories and position not in labels
        for position, name in enumerate(names)
    ]
    text = tuple(
        is_text
        or position in as_written
        or (chosen[position] and position < width and read[position])
        for position, is_text in enumerate(text)
    )
    columns = TableColumns(
        tuple(names),
        labels[0],
        text_columns(names, text, labels, options.table),
        dropped,
        segments,
        more=labels[1:],
        constants=tuple(constant.value for constant in added),
        carried=carried,
        weights=weights,
    )
    encoder = TableEncoder(
        source,
        columns,
        codings=codings,
        before=options.table,
        rules=TypedCells(),
    )
    text = columns.text  # as the codings decide
    # Each declared category is a class, no matter how many there are.
    declared = options.labelled and all(names[label] in categories for label in labels)
    row = 1
    for part in table.iter_batches(
        batch_size=encoder.batch_rows(options.chunk_rows),
        use_threads=False,
    ):
        cells = [
            _cells(column, is_text) if is_read else ()
            for column, is_text, is_read in zip(
                part.columns, text[:width], read, strict=True
            )
        ]
        for position in as_written:
            if position < width:
                cells[position] = _as_written(part.columns[position])
        batch = encoder.encode(cells, range(row, row + part.num_rows))
        yield replace(batch, regression=False) if declared else batch
        row += part.num_rows
    if row - 1 != table.metadata.num_rows:
        # pyarrow leaves rows out if the header of a page is damaged, which no checksum covers.
        promise = f"its footer promises {table.metadata.num_rows}"
        raise FormatError(source, f"is damaged: {row - 1} rows, though {promise}")


def _index_of(schema: Any, names: list[str]) -> frozenset[int]:
    """Return the positions of the index columns of a pandas data frame, from its metadata."""
    try:
        index = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        return frozenset(
            names.index(name)
            for name in index
            if isinstance(name, str) and name in names
        )
    except (LookupError, ValueError, TypeError):
        # not written by pandas, or by an unknown version
        return frozenset()


def _labels_named(
    source: str,
    names: list[str],
    options: ReadOptions,
    dropped: frozenset[int],
    width: int,
) -> frozenset[int]:
    if not options.labelled or options.label is None:
        return frozenset()
    return frozenset(label_positions(source, names, options.label, dropped, width))


def _as_written(column: Any) -> list[str | None]:
    """Return the cells of a column of any type as text."""
    import pyarrow

    if pyarrow.types.is_boolean(column.type):
        column = column.cast("uint8")  # as for features and labels
    return [None if cell is None else str(cell) for cell in column.to_pylist()]


def _cells(column: Any, is_text: bool) -> Column:
    if is_text or holds_words(column.type):
        return text_cells(column)
    return number_cells(column)


# Up to here every whole number is a double.
_EXACT = 2**53
# The powers of ten that are doubles.
_POWERS = 10.0 ** np.arange(23)


def decimals_as_floats(column: Any) -> NDArray[np.float64]:
    """Return an array of decimals of any width as doubles, NaN for missing values.

    The quotient of two doubles is rounded once. So if the digits of a decimal and its power of ten
    are both exact doubles, their quotient is the double nearest to the decimal. Python converts all
    others.

    Parameters
    ----------
    column : pyarrow.Array
        Of ``decimal32``, ``decimal64``, ``decimal128`` or ``decimal256``.

    Returns
    -------
    ndarray of shape (rows,), float64

    Examples
    --------
    >>> from decimal import Decimal
    >>> import pyarrow
    >>> decimals_as_floats(pyarrow.array([Decimal("1003.858"), None]))
    array([1003.858,      nan])
    """
    numbers = np.full(len(column), np.nan)
    present = column.is_valid().to_numpy(zero_copy_only=False)
    digits, short = _digits(column)
    digits, scales = _without_end_zeros(digits, column.type.scale)
    exact = present & short & (scales >= 0) & (scales < len(_POWERS))
    exact &= (digits >= -_EXACT) & (digits <= _EXACT)
    numbers[exact] = digits[exact].astype(np.float64) / _POWERS[scales[exact]]
    inexact = np.flatnonzero(present & ~exact)
    if len(inexact):
        numbers[inexact] = [
            float(decimal) for decimal in column.take(inexact).to_pylist()
        ]
    return numbers


def _digits(column: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the digits of each decimal as a whole number, and whether they fit into 64 bits."""
    rows = len(column)
    if not rows:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
    width = column.type.byte_width
    begin = column.offset * width
    end = (column.offset + rows) * width
    octets = np.frombuffer(column.buffers()[1], dtype=np.uint8)[begin:end]
    if width < 8:
        return octets.view("<i4").astype(np.int64), np.ones(rows, dtype=np.bool_)
    words = octets.view("<i8").reshape(rows, width // 8)
    # The other words only repeat the sign of a number that fits into the first.
    short = (words[:, 1:] == (words[:, :1] >> 63)).all(axis=1)
    return words[:, 0].astype(np.int64), short


def _without_end_zeros(
    digits: NDArray[np.int64],
    scale: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return `digits` and their scales after cutting trailing zeros off large ones.

    Spark writes 1.5 with 18 digits after the point.
    """
    digits = digits.copy()
    scales = np.full(len(digits), scale)
    large = np.flatnonzero((digits < -_EXACT) | (digits > _EXACT))
    for zeros in (16, 8, 4, 2, 1):
        power = 10**zeros
        ends = large[digits[large] % power == 0]
        digits[ends] //= power
        scales[ends] -= zeros
    return digits, scales


# From here on float64 does not represent every whole number.
_SAME_WHOLE = 2.0**53

# Largest number of characters of a column's type in errors: a struct lists all its fields.
_LONGEST_TYPE = 40


def text_fields(
    source: str,
    fields: Sequence[Any],
    names: Sequence[str],
    before: TableColumns | None,
    dated: frozenset[str] = frozenset(),
) -> tuple[bool, ...]:
    """Return which columns hold text; the others hold numbers.

    Parameters
    ----------
    source : str
        Named in errors.
    fields : sequence of pyarrow.Field or None
        The columns; None for those that are not read.
    names : sequence of str
        Their names.
    before : TableColumns, optional
        Columns of an earlier source. A column without any value is text where it was text there.
    dated : frozenset of str
        Columns that are encoded as dates, and may hold these in place of text.

    Raises
    ------
    FormatError
        When columns hold neither: names them all.
    """
    from pyarrow import types

    read = [
        (name, field)
        for name, field in zip(names, fields, strict=True)
        if field is not None
    ]
    refused = {
        name: field.type
        for name, field in read
        if not (_is_read(field.type) or (name in dated and _is_time(field.type)))
    }
    if refused:
        raise FormatError(source, _refusal(refused))
    texts = {
        name for name, field in read if holds_words(field.type) or _is_time(field.type)
    }
    if before is not None:
        texts_before = {
            name for name, text in zip(before.names, before.text, strict=True) if text
        }
        texts |= {
            name for name, field in read if types.is_null(field.type)
        } & texts_before
    return tuple(name in texts for name in names)


def declared_categories(metadata: Mapping[bytes, bytes]) -> frozenset[str]:
    """Return the columns that Arrow or pandas declared as categories.

    Parquet itself does not record that for numbers.
    """
    import pyarrow

    names: set[str] = set()
    try:
        arrow = pyarrow.BufferReader(base64.b64decode(metadata[b"ARROW:schema"]))
        schema = pyarrow.ipc.read_schema(arrow)
        names.update(
            field.name for field in schema if pyarrow.types.is_dictionary(field.type)
        )
    except (LookupError, ValueError, OSError, pyarrow.ArrowException):
        # from another writer
        pass
    try:
        columns = json.loads(metadata[b"pandas"])["columns"]
        names.update(
            str(column["field_name"])
            for column in columns
            if column["pandas_type"] == "categorical"
        )
    except (LookupError, ValueError, TypeError):
        # not written by pandas, or by an unknown version
        pass
    return frozenset(names)


def text_cells(column: Any) -> Sequence[Cell]:
    """Return the cells of a column as words, None where there is no value."""
    from pyarrow import types

    column = _stored(column)
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if _is_time(column.type):
        return _iso_cells(column)
    cells: Sequence[Cell] = column.to_pylist()
    if holds_words(column.type) or types.is_null(column.type):
        return cells
    return [_word(cell) for cell in cells]


def _iso_cells(column: Any) -> list[Cell]:
    """Return dates and times as ISO 8601 writes them, to the microsecond."""
    import pyarrow

    if pyarrow.types.is_timestamp(column.type):
        # Python's times have no nanoseconds, which are cut off.
        column = column.cast(pyarrow.timestamp("us", column.type.tz), safe=False)
    return [None if cell is None else cell.isoformat() for cell in column.to_pylist()]


def _is_time(type: Any) -> bool:
    """Return whether a column of a type holds dates, with or without the time of the day."""
    from pyarrow import types

    return bool(types.is_timestamp(type) or types.is_date(type))


def _word(value: Any) -> Cell:
    """Return a value of a numeric column as the name of a category; 7.0 becomes 7."""
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < _SAME_WHOLE:
        return str(int(value))
    return str(value)


def number_cells(column: Any) -> NDArray[np.float64]:
    """Return the cells of a column of numbers, NaN where there is no value."""
    import pyarrow

    column = _stored(column)
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pyarrow.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pyarrow.types.is_decimal(column.type):
        return decimals_as_floats(column)
    if pyarrow.types.is_boolean(column.type):
        column = column.cast("uint8")
    # Whole numbers beyond 2^53, as in identifiers, are rounded as they are in text.
    safe = not pyarrow.types.is_integer(column.type)
    floats = column.cast(pyarrow.float64(), safe=safe).to_numpy(zero_copy_only=False)
    return np.asarray(floats, dtype=np.float64)


def _is_read(type: Any) -> bool:
    return holds_words(type) or _is_number(_value_type(type))


def holds_words(type: Any) -> bool:
    """Return whether a column of a type holds text, also as a dictionary or an extension."""
    from pyarrow import types

    value = _value_type(type)
    is_text = (types.is_string, types.is_large_string, types.is_string_view)
    return any(is_kind(value) for is_kind in is_text)


def _is_number(value: Any) -> bool:
    from pyarrow import types

    is_number = (
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_decimal,
        types.is_null,
    )
    return any(is_kind(value) for is_kind in is_number)


def _value_type(type: Any) -> Any:
    """Return the type of the values of a dictionary, or the storage type of an extension."""
    from pyarrow import BaseExtensionType, types

    if isinstance(type, BaseExtensionType):
        type = type.storage_type
    if types.is_dictionary(type):
        return type.value_type
    return type


def _stored(column: Any) -> Any:
    """Return the storage of an array of an extension type; any other array unchanged."""
    from pyarrow import ExtensionArray

    if isinstance(column, ExtensionArray):
        return column.storage
    return column


def _refusal(refused: dict[str, Any]) -> str:
    kinds = {name: _short(str(type)) for name, type in refused.items()}
    pronoun = "them"
    if len(kinds) == 1:
        pronoun = "it"
    times = [name for name, type in refused.items() if _is_time(type)]
    cure = (
        f"leave {pronoun} out with --drop {listed_columns(kinds)}, or cast {pronoun} to numbers or "
        "text"
    )
    if times:
        cure = f"{cure}; --encode {times[0]}=date:{ADVISED} makes features of dates"
    if len(kinds) == 1:
        ((name, kind),) = kinds.items()
        return f"column {name!r} is {kind}, expected numbers or text; {cure}"
    columns = ", ".join(f"{name!r} ({kind})" for name, kind in kinds.items())
    return f"columns {columns} hold neither numbers nor text; {cure}"


def _short(type: str) -> str:
    if len(type) <= _LONGEST_TYPE:
        return type
    return f"{type[: _LONGEST_TYPE - 3]}..."
