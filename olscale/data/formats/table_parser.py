"""Rows of cells, from text to batches: by a compiled loop, or row by row where it stops.

Both ways give the same bytes. Only the slow one (Python's csv, or ARFF's own) reports what is
wrong. They take turns: the loop stops before a row that is not plain; the exact way then reads a
few rows, and more and more as long as the loop makes no progress.
"""

import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.plain_code import PlainLoop
from olscale.data.formats.base import Batch
from olscale.data.formats.cell_form import QuoteWatch
from olscale.data.formats.cell_kinds import (
    EMPTY,
    MOST_HARD,
    NUMBER,
    SKIP,
    TARGET,
    TEXT,
)
from olscale.data.formats.cells import Cell, Column, Row, numbers_of
from olscale.data.formats.lines import ROOM_BYTES, TextBlocks
from olscale.data.formats.table_cells import TableCells
from olscale.data.formats.table_encoder import TableEncoder
from olscale.data.formats.turns import Turns
from olscale.errors import FormatError

_LOOP = "olscale.data.formats._table_loop"
_PARSE_ROWS = PlainLoop(
    _LOOP, "parse_rows", "B1-q-q-q-q-q-q-q-b-B1r-l1-l1-b1-i1-d2-d2-i3-l2"
)
_PARSE_NUMBERS = PlainLoop(_LOOP, "parse_numbers", "B1-q-q-d1")
_CODE_CELLS = PlainLoop(
    "olscale.data.formats._cell_code_loop", "code_cells", "B1-i2-i1-i1-i1"
)
# Categories are few; of more the table grows.
_FEW_DIFFERENT = 512


def different_cells(
    buffer: NDArray[np.uint8],
    spans: NDArray[np.int32],
) -> tuple[list[str], NDArray[Any]]:
    """Return the distinct cells in order of first appearance, and the number of each cell's.

    Parameters
    ----------
    buffer : ndarray of uint8
        UTF-8 text.
    spans : ndarray of shape (cells, 2)
        First byte and end of each.
    """
    cells = np.ascontiguousarray(spans)
    codes = np.empty(len(cells), dtype=np.int32)
    most = _FEW_DIFFERENT
    while True:
        firsts = np.empty(most, dtype=np.int32)
        table = np.full(2 * most, -1, dtype=np.int32)
        known = _CODE_CELLS(buffer, cells, table, codes, firsts)
        if known >= 0:
            break
        most *= 8
    places = cells[firsts[:known]].tolist()
    return [buffer[first:end].tobytes().decode() for first, end in places], codes


BLOCK_BYTES = 1 << 22
"""Bytes of text parsed at a time: about what Python's csv reads while numba starts, if it must."""

# Cells of a batch: 8 MB of numbers.
_MOST_CELLS = 1 << 20
_FEW_ROWS = 2_048
# Rows parsed at once as Python strings, of some 60 bytes per cell.
# The first so many also show whether the values of a column differ.
_FEW_CELLS = 200_000


class Dialect(Protocol):
    """How the cells of a format are written."""

    @property
    def decimal(self) -> str:
        """The mark between whole part and fraction of a number."""
        ...

    @property
    def has_loop(self) -> bool:
        """Whether a compiled loop can read it."""
        ...

    def loop(self) -> Callable[..., tuple[int, int, int, int, bool]]:
        """Return the loop, `olscale.data.formats._table_loop.parse_rows` or a similar one."""
        ...

    @property
    def numbers(self) -> tuple[float, ...]:
        """Numbers that mean "no value"."""
        ...

    def form(self, quoted: NDArray[np.int64]) -> tuple[Any, ...]:
        """Return the arguments of the loop before the kinds of the columns.

        `quoted` receives the lines of quoted cells, as in
        `olscale.data.formats._table_loop.parse_rows`.
        """
        ...


@dataclass(frozen=True, slots=True)
class TextDialect:
    """Cells of CSV and TSV: the characters between and around them, and the decimal mark.

    Also whether a backslash removes the meaning of the next character, and the words and numbers
    that mean "no value" in addition to those of all tables.
    """

    delimiter: str
    quote: str | None
    decimal: str
    escaped: bool = False
    words: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()

    @property
    def has_loop(self) -> bool:
        """Whether a compiled loop can read it."""
        return self.decimal != self.delimiter

    def loop(self) -> Callable[..., tuple[int, int, int, int, bool]]:
        """Return the loop over such rows."""
        return _PARSE_ROWS

    def form(self, quoted: NDArray[np.int64]) -> tuple[Any, ...]:
        """Return the arguments of the loop before the kinds of the columns."""
        quote = -1 if self.quote is None else ord(self.quote)
        return (
            ord(self.delimiter),
            quote,
            ord(self.decimal),
            self.escaped,
            *self._word_bytes(),
            quoted,
        )

    def _word_bytes(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the words that mean "no value", concatenated as written, and where each ends."""
        # Words with quotes or backslashes are not written as they are meant: left to the slow way.
        odd = {self.quote, "\\"} if self.escaped else {self.quote}
        words = [word.encode() for word in self.words if odd.isdisjoint(word)]
        if self.escaped:
            words.append(rb"\N")
        ends = np.cumsum([len(word) for word in words], dtype=np.int64)
        return np.frombuffer(b"".join(words), dtype=np.uint8), ends


def table_text(source: str, stream: io.BufferedReader) -> TextBlocks:
    """Return the text of `stream` for a `TableParser`."""
    return TextBlocks(source, stream, BLOCK_BYTES, returns=True)


# With numba, loading the loop takes longer than parsing a small table row by row.
def pays(text: TextBlocks) -> bool:
    """Return whether the loop pays: it is at hand, or there is enough text."""
    return not text.ended or _PARSE_ROWS.is_at_hand()


def column_of(
    cells: Sequence[str], text: TextBlocks, mark: str
) -> NDArray[np.float64] | None:
    """Return `cells` of `text` as numbers with the decimal mark `mark`, or None.

    None if any of them is no number.
    """
    if pays(text):
        # The loop reads vectors, also behind the last cell.
        lines = bytearray("\n".join([*cells, ""]).encode() + bytes(ROOM_BYTES))
        numbers = np.empty(len(cells))
        if _PARSE_NUMBERS(
            np.frombuffer(lines, dtype=np.uint8),
            len(lines) - ROOM_BYTES,
            ord(mark),
            numbers,
        ):
            return numbers
    return numbers_of(cells, mark)


# `pyarrow.csv` has other rules for missing values, spaces, quotes and blank lines, and messages
# without our lines and columns. So a compiled loop takes plain rows, and Python's csv all others,
# at the same place in the text.
class TableParser:
    """Makes batches of the rows of a text.

    Parameters
    ----------
    text : TextBlocks
    rows : iterator of Row
        The rows of `text`, checked; it reads no further than asked.
    encoder : TableEncoder
    dialect : Dialect
    cell_of : callable
        Returns the meaning of a text cell, from the position of its column and the text in the
        file; None if it has no value. It raises `FormatError` if the cell is not allowed, which the
        slow way raises again with the line.
    declared : mapping of int to collection of float
        Numeric columns, by position, in which no other numbers are allowed.
    watch : QuoteWatch, optional
        Notified of quoted cells that the loop reads.
    """

    def __init__(
        self,
        text: TextBlocks,
        rows: Iterator[Row],
        encoder: TableEncoder,
        dialect: Dialect,
        cell_of: Callable[[int, str], Cell],
        declared: Mapping[int, Collection[float]] = MappingProxyType({}),
        watch: QuoteWatch | None = None,
    ) -> None:
        self._text = text
        self._encoder = encoder
        self._cell_of = cell_of
        self._watch = watch
        self._dialect = dialect
        self._declared = declared
        self._loop: _Loop | None = None
        self._few_rows = encoder.batch_rows(_FEW_ROWS, _FEW_CELLS)
        self._turns = Turns(rows, self._put, self._few_rows)

    def batches(
        self,
        chunk_rows: int,
        first: Sequence[Column] = (),
        lines: Sequence[int] = (),
    ) -> Iterator[Batch]:
        """Yield all rows as batches of `chunk_rows`, smaller if rows are wide.

        `first` are the columns of the rows read before, and `lines` their lines.
        """
        encoder = self._encoder
        chunk_rows = encoder.batch_rows(chunk_rows, _MOST_CELLS)
        start = 0
        while True:
            cells = encoder.cells(chunk_rows)
            while cells.room:
                if start < len(lines):
                    part = slice(start, start + cells.room)
                    start = part.stop
                    encoder.put(cells, [column[part] for column in first], lines[part])
                elif not self._text.fill():
                    break
                else:
                    self._parse(cells)
            if not cells.rows:
                return
            yield encoder.batch(cells, self._few_rows)

    def _parse(self, cells: TableCells) -> None:
        """Fill in some rows of the text."""
        if self._loop is None:
            if not self._dialect.has_loop or not pays(self._text):
                self._turns.exact(cells)
                return
            self._loop = _Loop(
                self._encoder, self._dialect, self._declared, self._watch
            )
        loop = self._loop
        self._turns.both(
            cells, lambda cells: loop.parse(self._text, cells, self._cell_of)
        )

    def _put(self, cells: TableCells, block: list[Row]) -> None:
        columns = list(zip(*(row for _, row in block), strict=True))
        self._encoder.put(cells, columns, [line for line, _ in block])


class _Loop:
    """The compiled loop, and what it needs to know about the columns."""

    def __init__(
        self,
        encoder: TableEncoder,
        dialect: Dialect,
        declared: Mapping[int, Collection[float]],
        watch: QuoteWatch | None = None,
    ) -> None:
        self._encoder = encoder
        columns = encoder.columns
        places = encoder.places
        kinds = np.full(columns.width, SKIP, dtype=np.int8)
        slots = np.zeros(columns.width, dtype=np.int32)
        for positions, kind in (
            (places.numeric + places.others, NUMBER),
            (places.text, TEXT),
        ):
            for place, position in columns.in_file(positions):
                kinds[position] = kind
                slots[position] = place
        targets = [
            label
            for _, label in columns.in_file(columns.labels)
            if label in places.others
        ]
        kinds[targets] = TARGET
        if encoder.empty is not None:
            kinds[encoder.empty] = EMPTY
        self._absent = dialect.numbers
        self._watch = watch
        self._quoted = np.zeros(3, dtype=np.int64)
        self._parse_rows, self._form = (
            dialect.loop(),
            (*dialect.form(self._quoted), kinds, slots),
        )
        self._hard = np.empty((MOST_HARD + 1 + len(kinds), 4), dtype=np.int64)
        self._decimal = dialect.decimal.encode()
        # A column that is coded as text holds no numbers to check.
        declared = {
            position: numbers
            for position, numbers in declared.items()
            if not columns.text[position]
        }
        sets = [
            np.unique(np.array([*numbers], dtype=np.float64))
            for numbers in declared.values()
        ]
        ends = np.cumsum([len(numbers) for numbers in sets], dtype=np.int64)
        self._declared = (
            slots[np.array([*declared], dtype=np.int64)],
            ends,
            np.concatenate([np.empty(0), *sets]),
        )

    def parse(
        self,
        text: TextBlocks,
        cells: TableCells,
        cell_of: Callable[[int, str], Cell],
    ) -> bool:
        """Fill in the plain rows of a block; return whether all of them were plain."""
        if not text.is_plain():
            return False
        buffer = np.frombuffer(text.buffer, dtype=np.uint8)
        before = cells.rows
        width = cells.numbers.shape[1]
        # The loop notes where cells of text are: only distinct ones are decoded.
        spans = np.empty((len(cells.ids), len(cells.numbers), 2), dtype=np.int32)
        pos, lines, rows, hards, odd = self._parse_rows(
            buffer,
            text.pos,
            text.stop,
            before,
            len(cells.numbers),
            *self._form,
            cells.numbers,
            cells.others,
            spans,
            self._hard,
        )
        self._note_quotes(text.line)
        for slot, row, first, end in self._hard[:hards].tolist():
            # The loop leaves numbers to Python that it cannot round correctly.
            number = float(text.buffer[first:end].replace(self._decimal, b"."))
            if slot < width:
                cells.numbers[row, slot] = number
            else:
                cells.others[slot - width, row] = number
        if self._absent and not self._clear(cells, before, rows):
            return False
        # The exact way reads these rows again and names the line.
        if not self._encoder.takes_weights(cells, before, rows):
            return False
        if len(self._declared[0]):
            from olscale.data.formats._declared_loop import all_declared

            if not all_declared(
                cells.numbers, cells.others, before, rows, *self._declared
            ):
                return False
        encoder = self._encoder
        for j, position in encoder.columns.in_file(encoder.places.text):
            if rows > before and not self._put_text(
                buffer,
                spans[j, before:rows],
                j,
                position,
                cells,
                cell_of,
            ):
                return False
        text.pos = pos
        text.line = text.line + lines
        cells.rows = rows
        return not odd

    def _note_quotes(self, line: int) -> None:
        """Note the first quoted cells that span lines or hold a tab, after `line` earlier lines."""
        if self._watch is not None:
            first, last, tab = self._quoted.tolist()
            if first:
                self._watch.add_span(line + first, line + last)
            if tab:
                self._watch.add_tab(line + tab)
        self._quoted[:] = 0

    def _clear(self, cells: TableCells, before: int, rows: int) -> bool:
        """Replace numbers that mean "no value" by NaN; return whether no label is one."""
        absent = np.array(self._absent)
        numbers = cells.numbers[before:rows]
        numbers[np.isin(numbers, absent)] = np.nan
        columns = cells.others[:, before:rows]
        columns[np.isin(columns, absent)] = np.nan
        places = self._encoder.places.others
        labels = [
            j
            for j, position in enumerate(places)
            if position in self._encoder.columns.labels
        ]
        return not np.isnan(columns[labels]).any()

    def _put_text(
        self,
        buffer: NDArray[np.uint8],
        spans: NDArray[np.int32],
        j: int,
        position: int,
        cells: TableCells,
        cell_of: Callable[[int, str], Cell],
    ) -> bool:
        """Fill in the cells of a text column; return whether all of them are allowed."""
        raw, which = different_cells(buffer, spans)
        try:
            words = self._encoder.words(
                position, [cell_of(position, cell) for cell in raw]
            )
        except FormatError:
            return False
        if position in self._encoder.columns.labels and None in words:
            return False
        cells.ids[j, cells.rows : cells.rows + len(spans)] = self._encoder.values[
            j
        ].ids(words)[which]
        return True
