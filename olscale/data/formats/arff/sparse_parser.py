"""Sparse rows, from text to batches: by a compiled loop, or row by row where it stops."""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.data.formats import table_parser
from olscale.data.formats.arff.rows import Allowed, Listed
from olscale.data.formats.arff.sparse_cells import (
    MOST_ENTRIES,
    SparseCells,
    SparsePlaces,
    without_zeros,
)
from olscale.data.formats.base import Batch
from olscale.data.formats.cell_spans import codes_of, different_cells
from olscale.data.formats.cells import Cell, numbers_of
from olscale.data.formats.lines import TextBlocks
from olscale.data.formats.table_encoder import TableEncoder
from olscale.data.formats.turns import Turns
from olscale.errors import FormatError

_MOST_TEXT = 1 << 20
"""Text cells per batch, including those that are left out."""
_FEW_ROWS = 256
"""Rows parsed at once as Python strings."""

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
    """

    def __init__(
        self, text: TextBlocks, rows: Iterator[Listed], encoder: TableEncoder, allowed: Allowed
    ) -> None:
        self._text = text
        self._encoder = encoder
        self._allowed = allowed
        columns = encoder.columns
        defaults = dict(enumerate([*(a.default for a in allowed.attributes), *columns.constants]))
        encoder.cells(0)  # refuses columns of one value that do not fit
        self._places = SparsePlaces(columns, defaults)
        self._needed = [
            label for label in columns.labels if columns.text[label] and defaults[label] is None
        ]
        self._numeric = self._places.numeric_slots(len(columns.names))
        self._others = {position: slot for slot, position in enumerate(self._places.others)}
        self._texts = {position: slot for slot, position in enumerate(self._places.text)}
        self._turns: Turns[SparseCells, Listed] = Turns(rows, self._put, _FEW_ROWS)
        self._loop: _Loop | None = None

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
            if not table_parser.pays(self._text) and self._text.stop - self._text.pos < FEW_BYTES:
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
                self._encoder.check_label(label, [listed.get(label) is None], [line])
        counts = [len(listed) for _, listed in block]
        rows = np.repeat(np.arange(len(block)), counts)
        positions = np.fromiter(
            chain.from_iterable(listed for _, listed in block), np.int64, len(rows)
        )
        row_cells = [*chain.from_iterable(listed.values() for _, listed in block)]
        slots = self._numeric[positions]
        for i in np.flatnonzero(slots < 0).tolist():
            line = block[rows[i]][0]
            self._put_cell(cells, cells.rows + int(rows[i]), int(positions[i]), row_cells[i], line)
        order = np.lexsort((positions, rows))
        order = order[slots[order] >= 0]
        words = [row_cells[i] for i in order.tolist()]
        data = numbers_of(words)
        if data is None:
            owners = zip(words, positions[order].tolist(), rows[order].tolist(), strict=True)
            floats = [
                self._encoder.floats(position, [word], [block[row][0]])
                for word, position, row in owners
            ]
            data = np.concatenate([np.empty(0), *floats])
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[order], minlength=len(block)))])
        cells.add(without_zeros(CSR(indptr, slots[order], data)))

    def _put_cell(self, cells: SparseCells, row: int, position: int, cell: Cell, line: int) -> None:
        """Fill in a cell that is not one of the numbers of a sparse row."""
        encoder = self._encoder
        is_label = position in encoder.columns.labels
        if position in self._others:
            number = encoder.floats(position, [cell], [line])[0]
            if is_label:
                encoder.check_label(position, [bool(np.isnan(number))], [line])
            if position == encoder.columns.weights:
                encoder.check_weights(np.array([number]), [line])
            cells.others[self._others[position], row] = number
        elif position in self._texts:
            words = encoder.words(position, [cell])
            if is_label:
                encoder.check_label(position, [words[0] is None], [line])
            slot = self._texts[position]
            cells.ids[slot, row] = encoder.values[slot].ids(words)[0]


class _Loop:
    """The compiled loop, and what it needs to know about the columns."""

    def __init__(
        self, encoder: TableEncoder, places: SparsePlaces, needed: Sequence[int], allowed: Allowed
    ) -> None:
        from olscale.data.formats import _table_loop as table_loop
        from olscale.data.formats.arff import _sparse_loop as loop

        self._parse_rows = loop.parse_rows
        self._encoder = encoder
        self._allowed = allowed
        self._places = places
        columns = encoder.columns
        kinds = np.full(len(columns.names), table_loop.SKIP, dtype=np.int8)
        slots = np.zeros(len(columns.names), dtype=np.int32)
        positions, number_slots = places.slots()
        kinds[positions] = table_loop.NUMBER
        slots[positions] = number_slots
        kinds[places.text], slots[places.text] = table_loop.TEXT, np.arange(len(places.text))
        kinds[[label for label in columns.labels if label in places.others]] = table_loop.TARGET
        kinds[list(needed)] = loop.NEEDED
        self._form = (
            kinds[: columns.width],
            slots[: columns.width],
            len(places.numeric),
            len(needed),
        )
        sets = {
            int(slots[position]): sorted(numbers) for position, numbers in allowed.numbers.items()
        }
        number_sets = [
            sets.get(slot, []) for slot in range(len(places.numeric) + len(places.others))
        ]
        self._ends = np.cumsum([0, *map(len, number_sets)], dtype=np.int64)
        self._declared = np.array(
            [number for numbers in number_sets for number in numbers], dtype=np.float64
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
        numbers = CSR(indptr[: rows - before + 1], indices[:count].copy(), data[:count].copy())
        takes_weights = self._encoder.takes_weights(cells, before, rows)
        declared = takes_weights and self._are_declared(numbers, cells, rows)
        if not declared or not self._put_words(buffer, words[:texts], cells):
            self._forget(cells)
            return False
        cells.add(numbers)
        text.pos = pos
        text.line = text.line + lines
        return not odd

    def _are_declared(self, numbers: CSR, cells: SparseCells, rows: int) -> bool:
        if not len(self._declared):
            return True
        from olscale.data.formats._declared_loop import entries_declared

        columns = cells.others[:, cells.rows : rows]
        slots = np.arange(len(columns), dtype=np.int32) + np.int32(len(self._places.numeric))
        by_row = np.repeat(slots, columns.shape[1])
        return bool(
            entries_declared(numbers.indices, numbers.data, self._ends, self._declared)
            and entries_declared(
                by_row, np.ascontiguousarray(columns).reshape(-1), self._ends, self._declared
            )
        )

    def _put_words(
        self, buffer: NDArray[np.uint8], words: NDArray[np.int32], cells: SparseCells
    ) -> bool:
        """Fill in cells of text; return whether all of them are allowed."""
        if not len(words):
            return True
        import pyarrow

        raw, which = different_cells(buffer, words[:, 2:])
        pairs = words[:, 0].astype(np.int64) * len(raw) + which
        items = pyarrow.Array.from_buffers(
            pyarrow.int64(), len(pairs), [None, pyarrow.py_buffer(pairs)]
        )
        coded = items.dictionary_encode()
        places = self._places
        encoder = self._encoder
        ids = np.empty(len(coded.dictionary), dtype=np.int32)
        for i, pair in enumerate(coded.dictionary.to_pylist()):
            slot, text = divmod(pair, len(raw))
            position = places.text[slot]
            try:
                cell_words = encoder.words(position, [self._allowed.read(position, raw[text])])
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
