"""CSV and TSV: one row a line, cells apart by a delimiter, optionally a header.

*Delimiter*: the first of comma, tab, semicolon, bar that splits the first lines into equally many cells, else white
space; always a tab for ``tsv``.

*Header*: the first row is one when it holds text above a column of numbers, or when it is all text, without repetition,
and none of its cells comes back in its column. `ReadOptions.header` overrides this.

*Columns*: a column is text when a cell of the first `SAMPLE_ROWS` rows is neither a number nor missing, else it is
numeric. Missing cells (empty, ``?``, ``NA``, ``nan``, ``null``, ``none``) are NaN in numeric columns and no value at
all in text columns. Tables with text columns become sparse one-hot rows, see `olscale.data.formats._table`; all others
are dense. Text that first shows up in a numeric column later is an error.

*Label*: `ReadOptions.label`, or else the last column. A table of numbers without a header is the exception (USPS is
published so): when the first column, and no other, holds only whole numbers in the first `SAMPLE_ROWS` rows, at most
`MOST_LABELS` different ones and each twice on average, that is the label. Labels in a file of their own
(`olscale.data.formats.text`) come before everything else.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from olscale.data.formats._table import Line, TableEncoder, checked_rows, is_missing, is_number, label_position
from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.text import labels_beside, open_text
from olscale.errors import FormatError

__all__ = ["MOST_LABELS", "SAMPLE_ROWS", "CsvFormat", "TsvFormat", "read_table"]

SAMPLE_ROWS = 2000
"""Rows that decide which columns hold text, fewer of a table of more than 2,000 columns."""
_SAMPLE_CELLS = 4_000_000

MOST_LABELS = 100
"""Different values up to which a first column of whole numbers can be taken for the label."""

_DELIMITERS = ",\t;|"
_WHITESPACE = " "


class CsvFormat:
    """Tables with any delimiter."""

    name: ClassVar[str] = "csv"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    delimiter: ClassVar[str | None] = None

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether the first lines split into equally many cells."""
        lines = _text_lines(head)
        return bool(lines) and (delimiter := _delimiter(lines)) is not None and self.delimiter in (None, delimiter)

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train",)``: a table is one split."""
        return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of `source`; see `read_table`."""
        return read_table(source, options, self.delimiter)


class TsvFormat(CsvFormat):
    """Tables whose cells are apart by tabs."""

    name: ClassVar[str] = "tsv"
    suffixes: ClassVar[tuple[str, ...]] = (".tsv", ".tab")
    delimiter: ClassVar[str | None] = "\t"


def read_table(source: str, options: ReadOptions, delimiter: str | None = None) -> Iterator[Batch]:
    """Yield the rows of the table `source` in its order.

    Parameters
    ----------
    source : str
        Text file, compressed or not, in UTF-8.
    options : ReadOptions
        `chunk_rows`, `label` and `header` are used.
    delimiter : str, optional
        Character between cells (a space means any white space); found out when left out.

    Yields
    ------
    Batch
        Dense float64 rows, or CSR when a column holds text; `Batch.feature_names` names the columns.

    Raises
    ------
    FormatError
        Names file and line of a row with another number of cells, text in a numeric column, a missing label or text
        that is not UTF-8 or badly quoted. Names the file when it has no rows.
    UnknownNameError
        When no column has the name `options.label`.
    """
    with open_text(source, options.stream) as stream:
        head = _text_lines(stream.peek(1 << 16))
        sniffed = _delimiter(head) if delimiter is None else delimiter
        if sniffed is None:
            if not stream.peek().strip():
                raise FormatError(source, "no rows: the file is empty")
            raise FormatError(source, "its first lines do not split into equally many cells, expected a table", 1)
        rows = checked_rows(source, _cells(source, stream, sniffed))
        sample = list(itertools.islice(rows, 1))
        if sample:
            fit = max(2, _SAMPLE_CELLS // len(sample[0][1]))
            sample += itertools.islice(rows, min(SAMPLE_ROWS, fit))
        beside = options.stream is None and labels_beside(source) is not None
        header = options.header
        if header is None:
            header = not beside and _is_header([row for _, row in sample])
            if len(sample) == 1 and not any(map(_fits_number, sample[0][1])):
                raise FormatError(source, "no rows below the line that names the columns", 1)
        names = [cell.strip() for cell in sample[0][1]] if header and sample else []
        body = sample[1:] if header else sample
        if not body:
            raise FormatError(source, "no rows")
        names = names or [f"x{position}" for position in range(len(body[0][1]))]
        columns = list(zip(*(row for _, row in body), strict=True))
        text = [not all(map(_fits_number, column)) for column in columns]
        chosen = options.label
        if chosen is None and (beside or (not header and not any(text) and _label_is_first(columns))):
            chosen = 0
        label = label_position(source, names, chosen)
        encoder = TableEncoder(source, names, label, text, label_name=names[label] if header else label)
        for batch in encoder.batches(itertools.chain(body, rows), options.chunk_rows):
            yield replace(batch, label=None) if beside else batch


def _cells(source: str, stream: io.BufferedReader, delimiter: str) -> Iterator[Line]:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    if delimiter == _WHITESPACE:
        lines: Iterable[Line] = ((number, line.split()) for number, line in enumerate(text, 1))
    else:
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        lines = ((reader.line_num, row) for row in reader)
    number = 0
    try:
        for number, row in lines:
            if row:
                yield number, row
    except UnicodeDecodeError as error:
        raise FormatError(source, f"is not UTF-8 text ({error.reason}) here or further on", number + 1) from error
    except csv.Error as error:
        raise FormatError(source, f"cannot be split into cells ({error})", number + 1) from error


def _text_lines(head: bytes) -> list[str]:
    """Return the first whole lines of `head`, or none when it is no text."""
    if b"\0" in head:
        return []
    lines = head.decode("utf-8-sig", "replace").splitlines()
    whole = lines[:-1] if len(lines) > 1 and not head.endswith(b"\n") else lines
    return [line for line in whole if line.strip()][:20]


def _delimiter(lines: Sequence[str]) -> str | None:
    if not lines:
        return None
    for delimiter in _DELIMITERS:
        if _widths([next(csv.reader([line], delimiter=delimiter)) for line in lines]):
            return delimiter
    if _widths([line.split() for line in lines]):
        return _WHITESPACE
    # A ragged row among the first: the reader will name it.
    return next((delimiter for delimiter in _DELIMITERS if delimiter in lines[0]), None)


def _widths(rows: Sequence[Sequence[str]]) -> bool:
    return len({len(row) for row in rows}) == 1 and len(rows[0]) > 1


def _fits_number(cell: str) -> bool:
    return is_number(cell) or is_missing(cell)


def _label_is_first(columns: Sequence[Sequence[str]]) -> bool:
    whole = [all(is_number(cell) and float(cell).is_integer() for cell in column) for column in columns]
    values = len(set(columns[0]))
    return whole[0] and not any(whole[1:]) and values <= MOST_LABELS and 2 * values <= len(columns[0])


def _is_header(rows: Sequence[Sequence[str]]) -> bool:
    if len(rows) < 2:
        return False
    first = [cell.strip() for cell in rows[0]]
    columns = list(zip(*rows[1:], strict=True))
    names_numbers = any(
        not _fits_number(name) and any(map(is_number, cells)) and all(map(_fits_number, cells))
        for name, cells in zip(first, columns, strict=True)
    )
    if names_numbers:
        return True
    all_text = not any(map(_fits_number, first)) and len(set(first)) == len(first)
    return all_text and all(name not in cells for name, cells in zip(first, columns, strict=True))
