"""Parquet tables: numeric, boolean and text columns, read a few rows at a time.

Text columns, and dictionaries of any type, such as a categorical of pandas, become sparse one-hot
columns after the numeric ones, see `olscale.data.formats.table_encoder`; nulls are NaN or no value
at all, and any text is a value as it stands, including ``NA`` and ``none``. A label that is a
dictionary of numbers is these numbers. Checksums of pages are verified if the file has them. The
target is the last column or `ReadOptions.label`. The index of a pandas data frame is left out,
unless it is named as the label: it stands after all columns, where the label is expected.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO, ClassVar

from olscale.data.formats.arrow_columns import (
    declared_categories,
    holds_words,
    number_cells,
    refuse_truth_after_text,
    text_cells,
    text_fields,
)
from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.cells import Column, ParquetCells
from olscale.data.formats.coding import Date, parse_codings
from olscale.data.formats.compression import open_raw
from olscale.data.formats.table_columns import (
    UNLABELLED,
    TableColumns,
    label_positions,
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
    dropped = options.positions_to_drop(source, names, width)
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
    unmatched = {
        name: field
        for position, (name, field) in enumerate(
            zip(names[:width], fields, strict=True)
        )
        if position not in labels and position not in as_written
        if name not in codings
    }
    refuse_truth_after_text(source, unmatched, options.table)
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
        rules=ParquetCells(),
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
