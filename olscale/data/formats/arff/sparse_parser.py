"""Sparse rows, from text to batches: by a compiled loop, or row by row where it stops.

Numbers are CSR, all other cells stand in arrays filled with the defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, stack_rows
from olscale.data.formats import table_parser
from olscale.data.formats.arff.rows import Allowed, Listed
from olscale.data.formats.arrow_columns import codes_of
from olscale.data.formats.base import Batch
from olscale.data.formats.cell_kinds import NUMBER, SKIP, TARGET, TEXT
from olscale.data.formats.cells import Cell, numbers_of
from olscale.data.formats.lines import TextBlocks
from olscale.data.formats.one_hot import side_by_side
from olscale.data.formats.table_cells import CellPlaces, Values
from olscale.data.formats.table_columns import TableColumns
from olscale.data.formats.table_encoder import TableEncoder
from olscale.data.formats.table_parser import different_cells
from olscale.data.formats.turns import Turns
from olscale.errors import FormatError

# In place of the number of a text cell that a row does not list.
_LEFT_OUT = -1


class SparsePlaces(CellPlaces):
    """The destination of the cells of each column of sparse rows.

    Parameters
    ----------
    columns : TableColumns
    defaults : mapping of int to Cell
        The value of a column that a row leaves out, by position.

    Attributes
    ----------
    filled : list of int
        Features of numbers that are kept as columns of all rows, among `others`: leaving them out
        means a number other than 0, or they also make the segments or are carried along.
    left_out : ndarray of shape (others,)
        The value of each of `others` in rows that leave it out.
    """

    def __init__(self, columns: TableColumns, defaults: Mapping[int, Cell]) -> None:
        super().__init__(columns)
        zeros = {
            position: float(defaults[position] or "nan")
            for position in (*self.numeric, *self.others)
        }
        self.filled = [
            position
            for position in self.numeric
            # A sparse row leaves out the first declared value of a nominal attribute:
            # as a number that need not be 0.
            if zeros[position] != 0 or position == columns.segments
        ]
        self.others = self.others + self.filled
        self.left_out = np.array([zeros[position] for position in self.others])
        self._defaults = [defaults[position] for position in self.text]
        self._slots = {position: slot for slot, position in enumerate(self.numeric)}

    def numeric_slots(self, columns: int) -> NDArray[np.int32]:
        """Return the place of each column among the numbers of sparse rows, -1 if it has none."""
        slots = np.full(columns, -1, dtype=np.int32)
        slots[self.numeric] = np.arange(len(self.numeric))
        slots[self.filled] = -1
        return slots

    def slots(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions of the numeric columns, and the place of each: features first."""
        slots = self._slots | {
            position: len(self.numeric) + j for j, position in enumerate(self.others)
        }
        return np.array([*slots], dtype=np.int64), np.array(
            [*slots.values()], dtype=np.int64
        )

    def empty_sparse(self, rows: int) -> SparseCells:
        """Return cells that have room for `rows` rows."""
        return SparseCells(
            self,
            np.repeat(self.left_out[:, None], rows, axis=1),
            np.full((len(self.text), rows), _LEFT_OUT, dtype=np.int32),
        )

    def fill_text(self, cells: SparseCells, values: Sequence[Values]) -> None:
        """Fill the text columns of `cells` with the values of cells that are left out."""
        for j, default in enumerate(self._defaults):
            ids = cells.ids[j, : cells.rows]
            left_out = ids == _LEFT_OUT
            if left_out.any():
                # Only now: values are numbered as they appear, and those that rows list
                # come before the one that they leave out.
                ids[left_out] = values[j].ids([default])[0]

    def filled_rows(self, cells: SparseCells) -> CSR:
        """Return the features of `filled` as sparse rows."""
        first = len(self.others) - len(self.filled)
        dense = cells.others[first:, : cells.rows].T
        row, column = np.nonzero(dense)
        indptr = np.concatenate(
            [[0], np.cumsum(np.bincount(row, minlength=cells.rows))]
        )
        slots = np.array(
            [self._slots[position] for position in self.filled], dtype=np.int32
        )
        return CSR(indptr.astype(np.int64), slots[column], dense[row, column])


class SparseCells:
    """Sparse rows that are filled in step by step.

    Parameters
    ----------
    places : SparsePlaces
    others : ndarray of shape (other columns of numbers, rows), float64
    ids : ndarray of shape (text columns, rows), int32

    Attributes
    ----------
    rows : int
        Number of rows filled in so far.
    """

    def __init__(
        self,
        places: SparsePlaces,
        others: NDArray[np.float64],
        ids: NDArray[np.int32],
    ) -> None:
        self.places: SparsePlaces = places
        self.others = others
        self.ids = ids
        self.rows = self.entries = 0
        self._most_rows = int(ids.shape[1])
        self._pieces: list[CSR] = []

    @property
    def room(self) -> int:
        """The number of rows that still fit, if they have few numbers."""
        if self.entries < MOST_ENTRIES:
            return self._most_rows - self.rows
        return 0

    def add(self, numbers: CSR) -> None:
        """Add the numeric features of the next rows, whose other cells are already filled in."""
        self._pieces.append(numbers)
        self.rows += len(numbers.indptr) - 1
        self.entries += len(numbers.indices)

    @property
    def features(self) -> CSR:
        """The numeric features of the rows filled in so far."""
        numbers = stack_rows(self._pieces)
        assert isinstance(numbers, CSR)
        if self.places.filled:
            return side_by_side([numbers, self.places.filled_rows(self)])
        return numbers


def without_zeros(numbers: CSR) -> CSR:
    """Return sparse rows without the numbers that are 0.

    Examples
    --------
    >>> indptr, entries = np.array([0, 1, 2]), np.array([3, 4], dtype=np.int32)
    >>> without_zeros(CSR(indptr, entries, np.array([0.0, 5.0])))
    CSR(indptr=array([0, 0, 1]), indices=array([4], dtype=int32), data=array([5.]))
    """
    is_nonzero = numbers.data != 0
    indptr = np.concatenate([[0], np.cumsum(is_nonzero)])[numbers.indptr]
    return CSR(indptr, numbers.indices[is_nonzero], numbers.data[is_nonzero])


MOST_ENTRIES = 1 << 21
"""Numbers per batch: it ends with the row that reaches them."""


# Text cells per batch, including those that are left out.
_MOST_TEXT = 1 << 20
# Rows parsed at once as Python strings.
_FEW_ROWS = 256

FEW_BYTES = 1 << 20
"""Bytes of text that are read row by row in the time in which Numba would start."""


class SparseParser:
    """Makes batches of sparse rows.

    Parameters
    ----------
    text : TextBlocks
    rows : iterator of (int, dict)
        Line and listed cells, by position, of the rows of `text`; it reads no further than asked.
    encoder : TableEncoder
    allowed : Allowed
    has_loop : bool
        Whether the compiled loop reads plain rows, which `rows` then do not yield.
    """

    def __init__(
        self,
        text: TextBlocks,
        rows: Iterator[Listed],
        encoder: TableEncoder,
        allowed: Allowed,
        *,
        has_loop: bool,
    ) -> None:
        self._text = text
        self._encoder = encoder
        self._allowed = allowed
        columns = encoder.columns
        defaults = dict(
            enumerate([*(a.default for a in allowed.attributes), *columns.constants])
        )
        encoder.cells(0)  # refuses columns of one value that do not fit
        self._places = SparsePlaces(columns, defaults)
        self._needed = [
            label
            for label in columns.labels
            # A label that a row leaves out is its default; without one it is missing.
            if columns.text[label] and defaults[label] is None
        ]
        self._numeric = self._places.numeric_slots(len(columns.names))
        self._others = {
            position: slot for slot, position in enumerate(self._places.others)
        }
        self._texts = {
            position: slot for slot, position in enumerate(self._places.text)
        }
        self._turns: Turns[SparseCells, Listed] = Turns(rows, self._put, _FEW_ROWS)
        self._loop: _Loop | None = None
        self._has_loop = has_loop

    def batches(self, chunk_rows: int) -> Iterator[Batch]:
        """Yield all rows as batches of `chunk_rows`, smaller if rows have many entries."""
        rows = min(chunk_rows, max(1, _MOST_TEXT // (1 + len(self._places.text))))
        while True:
            cells = self._places.empty_sparse(rows)
            while cells.room and self._text.fill():
                self._parse(cells)
            if not cells.rows:
                return
            self._places.fill_text(cells, self._encoder.values)
            yield self._encoder.batch(cells)

    def _parse(self, cells: SparseCells) -> None:
        """Fill in some rows of the text."""
        if self._loop is None:
            is_short = self._text.stop - self._text.pos < FEW_BYTES
            if not self._has_loop or (is_short and not table_parser.pays(self._text)):
                self._turns.exact(cells)
                return
            self._loop = _Loop(self._encoder, self._places, self._needed, self._allowed)
        loop = self._loop
        self._turns.both(cells, lambda cells: loop.parse(self._text, cells))

    def _put(self, cells: SparseCells, block: list[Listed]) -> None:
        try:
            self._put_block(cells, block)
        except FormatError:
            # Of several errors the first in the file is reported.
            for row in block:
                self._put_block(cells, [row])
            raise

    def _put_block(self, cells: SparseCells, block: list[Listed]) -> None:
        for line, listed in block:
            for label in self._needed:
                self._encoder.checks.label(label, [listed.get(label) is None], [line])
        counts = [len(listed) for _, listed in block]
        rows = np.repeat(np.arange(len(block)), counts)
        positions = np.fromiter(
            chain.from_iterable(listed for _, listed in block),
            np.int64,
            len(rows),
        )
        row_cells = [*chain.from_iterable(listed.values() for _, listed in block)]
        slots = self._numeric[positions]
        for i in np.flatnonzero(slots < 0).tolist():
            line = block[rows[i]][0]
            self._put_cell(
                cells, cells.rows + int(rows[i]), int(positions[i]), row_cells[i], line
            )
        # The cells of a row may be listed in any order, and CSR needs ascending
        # features.
        order = np.lexsort((positions, rows))
        order = order[slots[order] >= 0]
        words = [row_cells[i] for i in order.tolist()]
        data = numbers_of(words)
        if data is None:
            owners = zip(
                words, positions[order].tolist(), rows[order].tolist(), strict=True
            )
            floats = [
                self._encoder.checks.floats(position, [word], [block[row][0]])
                for word, position, row in owners
            ]
            data = np.concatenate([np.empty(0), *floats])
        indptr = np.concatenate(
            [[0], np.cumsum(np.bincount(rows[order], minlength=len(block)))]
        )
        cells.add(without_zeros(CSR(indptr, slots[order], data)))

    def _put_cell(
        self,
        cells: SparseCells,
        row: int,
        position: int,
        cell: Cell,
        line: int,
    ) -> None:
        """Fill in a cell that is not one of the numbers of a sparse row."""
        encoder = self._encoder
        is_label = position in encoder.columns.labels
        if position in self._others:
            number = encoder.checks.floats(position, [cell], [line])[0]
            if is_label:
                encoder.checks.label(position, [bool(np.isnan(number))], [line])
            if position == encoder.columns.weights:
                encoder.checks.weights(np.array([number]), [line])
            cells.others[self._others[position], row] = number
        elif position in self._texts:
            words = encoder.words(position, [cell])
            if is_label:
                encoder.checks.label(position, [words[0] is None], [line])
            slot = self._texts[position]
            cells.ids[slot, row] = encoder.values[slot].ids(words)[0]


class _Loop:
    """The compiled loop, and what it needs to know about the columns."""

    def __init__(
        self,
        encoder: TableEncoder,
        places: SparsePlaces,
        needed: Sequence[int],
        allowed: Allowed,
    ) -> None:
        from olscale.data.formats.arff import _rows_loop as loop

        self._parse_rows = loop.parse_sparse_rows
        self._encoder = encoder
        self._allowed = allowed
        self._places = places
        columns = encoder.columns
        kinds = np.full(len(columns.names), SKIP, dtype=np.int8)
        slots = np.zeros(len(columns.names), dtype=np.int32)
        positions, number_slots = places.slots()
        kinds[positions] = NUMBER
        slots[positions] = number_slots
        kinds[places.text], slots[places.text] = (
            TEXT,
            np.arange(len(places.text)),
        )
        kinds[[label for label in columns.labels if label in places.others]] = TARGET
        kinds[list(needed)] = loop.NEEDED
        self._form = (
            kinds[: columns.width],
            slots[: columns.width],
            len(places.numeric),
            len(needed),
        )
        sets = {
            int(slots[position]): sorted(numbers)
            for position, numbers in allowed.numbers.items()
        }
        number_sets = [
            sets.get(slot, [])
            for slot in range(len(places.numeric) + len(places.others))
        ]
        self._ends = np.cumsum([0, *map(len, number_sets)], dtype=np.int64)
        self._declared = np.array(
            [number for numbers in number_sets for number in numbers],
            dtype=np.float64,
        )

    def parse(self, text: TextBlocks, cells: SparseCells) -> bool:
        """Fill in the plain rows of a block; return whether all of them were plain."""
        if not text.is_plain():
            return False
        buffer = np.frombuffer(text.buffer, dtype=np.uint8)
        # a pair takes four bytes
        before = cells.rows
        pairs = (text.stop - text.pos) // 4 + 1
        indptr = np.empty(cells.room + 1, dtype=np.int64)
        indices = np.empty(pairs, dtype=np.int32)
        data = np.empty(pairs)
        words = np.empty((pairs, 4), dtype=np.int32)
        pos, lines, rows, texts, odd = self._parse_rows(
            buffer,
            text.pos,
            text.stop,
            before,
            before + cells.room,
            MOST_ENTRIES - cells.entries,
            *self._form,
            indptr,
            indices,
            data,
            cells.others,
            words,
        )
        count = int(indptr[rows - before])
        numbers = CSR(
            indptr[: rows - before + 1], indices[:count].copy(), data[:count].copy()
        )
        takes_weights = self._encoder.takes_weights(cells, before, rows)
        declared = takes_weights and self._are_declared(numbers, cells, rows)
        if not declared or not self._put_words(buffer, words[:texts], cells):
            self._forget(cells)
            return False
        cells.add(numbers)
        text.pos = pos
        text.line = text.line + lines
        return not odd

    def _are_declared(
        self,
        numbers: CSR,
        cells: SparseCells,
        rows: int,
    ) -> bool:
        if not len(self._declared):
            return True
        from olscale.data.formats._declared_loop import entries_declared

        columns = cells.others[:, cells.rows : rows]
        slots = np.arange(len(columns), dtype=np.int32) + np.int32(
            len(self._places.numeric)
        )
        # As entries, so that one loop checks sparse and filled columns.
        by_row = np.repeat(slots, columns.shape[1])
        return bool(
            entries_declared(numbers.indices, numbers.data, self._ends, self._declared)
            and entries_declared(
                by_row,
                np.ascontiguousarray(columns).reshape(-1),
                self._ends,
                self._declared,
            )
        )

    def _put_words(
        self,
        buffer: NDArray[np.uint8],
        words: NDArray[np.int32],
        cells: SparseCells,
    ) -> bool:
        """Fill in cells of text; return whether all of them are allowed."""
        if not len(words):
            return True
        import pyarrow

        raw, which = different_cells(buffer, words[:, 2:])
        # One number for column and text: each pair is read once, however many rows have
        # it.
        pairs = words[:, 0].astype(np.int64) * len(raw) + which
        items = pyarrow.Array.from_buffers(
            pyarrow.int64(),
            len(pairs),
            [None, pyarrow.py_buffer(pairs)],
        )
        coded = items.dictionary_encode()
        places = self._places
        encoder = self._encoder
        ids = np.empty(len(coded.dictionary), dtype=np.int32)
        for i, pair in enumerate(coded.dictionary.to_pylist()):
            slot, text = divmod(pair, len(raw))
            position = places.text[slot]
            try:
                cell_words = encoder.words(
                    position, [self._allowed.read(position, raw[text])]
                )
            except FormatError:
                return False
            if position in encoder.columns.labels and None in cell_words:
                return False
            ids[i] = encoder.values[slot].ids(cell_words)[0]
        cells.ids[words[:, 0], words[:, 1]] = ids[codes_of(coded)]
        return True

    def _forget(self, cells: SparseCells) -> None:
        """Empty the rows that the loop wrote but that are left to the exact way."""
        cells.others[:, cells.rows :] = self._places.left_out[:, None]
