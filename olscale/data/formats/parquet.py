"""Parquet tables: numeric, boolean and text columns, read a few rows at a time.

Text columns become sparse one-hot columns after the numeric ones, see `olscale.data.formats.table_encoder`; nulls are NaN or
no value at all. The target is the last column or `ReadOptions.label`. What pandas wrote as the index of its rows is left
out, unless it is named as the label: it stands behind all columns, where the label is looked for.
"""

import json
from collections.abc import Iterator
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
    unique_names,
)
from olscale.data.formats.table_encoder import TableEncoder
from olscale.errors import FormatError, NoRowsError


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
    width = len(schema.names)
    added = options.added_columns(unique_names(schema.names))
    names = [*unique_names(schema.names), *(constant.name for constant in added)]
    problem = f"no rows with features and a label: {table.metadata.num_rows} rows, columns {names}"
    if not table.metadata.num_rows:
        raise NoRowsError(source, problem)
    if len(names) < 1 + options.labelled:
        raise FormatError(source, problem)
    dropped = columns_named(source, names, options.drop, width)
    segments = segment_position(source, names, options.segments)
    if index := _index_of(schema, names) - _labels_named(source, names, options, dropped, width):
        dropped |= index
    dropped, carried, as_written = options.set_aside(names, dropped)
    read = [position not in dropped or position == segments for position in range(width)]
    text = tuple(
        position in as_written or (is_read and _is_text(source, field))
        for position, (is_read, field) in enumerate(zip(read, schema, strict=True))
    )
    text += tuple(constant.text or position in as_written for position, constant in enumerate(added, width))
    values = tuple(constant.value for constant in added)
    labels: tuple[int, ...] = (UNLABELLED,)
    if options.labelled:
        labels = label_positions(source, names, options.label, dropped, width, options.table)
    columns = TableColumns(
        tuple(names), labels[0], text, dropped, segments, more=labels[1:], constants=values, carried=carried
    )
    encoder = TableEncoder(source, columns, codings=parse_codings(options.encode), before=options.table)
    row = 1
    for part in table.iter_batches(batch_size=encoder.batch_rows(options.chunk_rows), use_threads=False):
        cells = [
            _cells(column, is_text) if is_read else ()
            for column, is_text, is_read in zip(part.columns, text[:width], read, strict=True)
        ]
        for position in as_written:
            if position < width:
                cells[position] = _as_written(part.columns[position])
        yield encoder.encode(cells, range(row, row + part.num_rows))
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


def _labels_named(
    source: str, names: list[str], options: ReadOptions, dropped: frozenset[int], width: int
) -> frozenset[int]:
    if not options.labelled or options.label is None:
        return frozenset()
    return frozenset(label_positions(source, names, options.label, dropped, width))


def _is_text(source: str, field: Any) -> bool:
    from pyarrow import types

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return True
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return False
    raise FormatError(
        source,
        f"column {field.name!r} is {field.type}, expected numbers or text; leave it out with --drop, or write it as one of "
        "them (a time as text: --encode makes numbers of it)",
    )


def _as_written(column: Any) -> list[str | None]:
    """Return the cells of a column of any type as text."""
    import pyarrow

    if pyarrow.types.is_boolean(column.type):
        column = column.cast("uint8")  # as features and labels are read
    return [None if cell is None else str(cell) for cell in column.to_pylist()]


def _cells(column: Any, is_text: bool) -> Any:
    import pyarrow

    if is_text:
        return column.to_pylist()
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pyarrow.types.is_boolean(column.type):
        column = column.cast("uint8")
    # Whole numbers beyond 2^53, as identifiers have, are rounded as they are in text.
    floats = column.cast(pyarrow.float64(), safe=not pyarrow.types.is_integer(column.type))
    return np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64)
