"""Parquet tables: numeric, boolean and text columns, read a few rows at a time.

Text columns, and dictionaries of whatever type, such as a categorical of pandas, become sparse one-hot columns after the
numeric ones, see `olscale.data.formats.table_encoder`; nulls are NaN or no value at all. A label that is a dictionary of
numbers is these numbers. The target is the last column or `ReadOptions.label`. What pandas wrote as the index of its rows
is left out, unless it is named as the label: it stands behind all columns, where the label is looked for.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.coding import parse_codings
from olscale.data.formats.compression import open_raw
from olscale.data.formats.table_columns import (
    UNLABELLED,
    TableColumns,
    columns_named,
    label_positions,
    segment_position,
    text_columns,
    unique_names,
)
from olscale.data.formats.table_encoder import TableEncoder
from olscale.errors import FormatError

_SAME_WHOLE = 2.0**53
"""From here on float64 has not every whole number."""


class ParquetFormat:
    """Parquet tables."""

    name: ClassVar[str] = "parquet"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether `head` has the magic number."""
        return head.startswith(b"PAR1")

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train",)``: a table is one split."""
        return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of `source` in its order.

        Raises
        ------
        FormatError
            When the file is damaged or empty, a column holds neither numbers nor text, or a label is missing (its line
            counts rows from 1).
        """
        import pyarrow
        from pyarrow import parquet

        with open_raw(source) as file:
            try:
                table = parquet.ParquetFile(file)
                yield from _batches(source, table, options)
            except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
                raise FormatError(source, f"is no Parquet file or is damaged ({str(error) or repr(error)})") from error


def _batches(source: str, table: Any, options: ReadOptions) -> Iterator[Batch]:
    schema = table.schema_arrow
    names = list(schema.names)
    if len(names) < 1 + options.labelled or not table.metadata.num_rows:
        raise FormatError(source, f"no rows with features and a label: {table.metadata.num_rows} rows, columns {names}")
    names = unique_names(names)
    dropped = columns_named(source, names, options.drop)
    segments = segment_position(source, names, options.segments)
    if index := _index_of(schema, names) - _labels_named(source, names, options, dropped):
        dropped |= index
    read = [position not in dropped or position == segments for position in range(len(names))]
    labels = label_positions(source, names, options.label, dropped) if options.labelled else (UNLABELLED,)
    categories = _categories(table.metadata.metadata or {})
    text = tuple(
        is_read and _is_text(source, field, field.name in categories and position not in labels)
        for position, (is_read, field) in enumerate(zip(read, schema, strict=True))
    )
    text = text_columns(names, text, labels, options.table)
    columns = TableColumns(tuple(names), labels[0], text, dropped, segments, more=labels[1:])
    encoder = TableEncoder(source, columns, codings=parse_codings(options.encode), before=options.table)
    text = columns.text  # as the codings say
    # Of declared categories each is a class, however many there are.
    declared = options.labelled and all(schema[label].name in categories for label in labels)
    row = 1
    for part in table.iter_batches(batch_size=encoder.batch_rows(options.chunk_rows), use_threads=False):
        cells = [
            _cells(column, is_text) if is_read else ()
            for column, is_text, is_read in zip(part.columns, text, read, strict=True)
        ]
        batch = encoder.encode(cells, range(row, row + part.num_rows))
        yield replace(batch, regression=False) if declared else batch
        row += part.num_rows
    if row == 1:
        raise FormatError(source, f"no rows, though its footer promises {table.metadata.num_rows}")


def _index_of(schema: Any, names: list[str]) -> frozenset[int]:
    """Return the positions of the columns that are the index of a data frame of pandas, as its metadata say."""
    try:
        index = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        return frozenset(names.index(name) for name in index if isinstance(name, str) and name in names)
    except (LookupError, ValueError, TypeError):  # not of pandas, or of none that we know
        return frozenset()


def _labels_named(source: str, names: list[str], options: ReadOptions, dropped: frozenset[int]) -> frozenset[int]:
    named = options.labelled and options.label is not None
    return frozenset(label_positions(source, names, options.label, dropped)) if named else frozenset()


def _categories(metadata: Mapping[bytes, bytes]) -> frozenset[str]:
    """Return the columns that Arrow or pandas declared as categories: of numbers Parquet itself does not keep that."""
    import pyarrow

    names: set[str] = set()
    try:
        arrow = pyarrow.BufferReader(base64.b64decode(metadata[b"ARROW:schema"]))
        schema = pyarrow.ipc.read_schema(arrow)
        names.update(field.name for field in schema if pyarrow.types.is_dictionary(field.type))
    except (LookupError, ValueError, OSError, pyarrow.ArrowException):  # of another writer
        pass
    try:
        columns = json.loads(metadata[b"pandas"])["columns"]
        names.update(str(each["field_name"]) for each in columns if each["pandas_type"] == "categorical")
    except (LookupError, ValueError, TypeError):  # not of pandas, or of none that we know
        pass
    return frozenset(names)


def _is_text(source: str, field: Any, is_category: bool) -> bool:
    from pyarrow import types

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    if _holds_words(kind):
        return True
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return is_category
    raise FormatError(
        source,
        f"column {field.name!r} is {field.type}, expected numbers or text; leave it out with --drop, or write it as one of "
        "them (a time as text: --encode makes numbers of it)",
    )


def _holds_words(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _cells(column: Any, is_text: bool) -> Any:
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text and not _holds_words(column.type):
        return [_word(cell) for cell in column.to_pylist()]
    if is_text or _holds_words(column.type):
        return column.to_pylist()
    if pyarrow.types.is_boolean(column.type):
        column = column.cast("uint8")
    # Whole numbers beyond 2^53, as identifiers have, are rounded as they are in text.
    floats = column.cast(pyarrow.float64(), safe=not pyarrow.types.is_integer(column.type))
    return np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64)


def _word(value: Any) -> str | None:
    """Return a value of a column of numbers as the name of a category, a whole one as such: 7.0 is 7."""
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < _SAME_WHOLE:
        return str(int(value))
    return str(value)
