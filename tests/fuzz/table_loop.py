"""The byte loop over cells of tables, alone and guarded, in whatever form of table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from olscale.data.formats import _table_loop as loop
from olscale.data.formats import cell_kinds
from olscale.data.formats._cell_code_loop import code_cells
from olscale.data.formats.arff import _rows_loop as sparse_loop
from olscale.data.formats.arff.format import ArffDialect
from olscale.data.formats.table_parser import Dialect, TextDialect
from olscale.errors import FormatError
from tests.fuzz.batches import ROWS
from tests.fuzz.guarded import check_marks, guarded_text, marked
from tests.fuzz.target import Broken, Target
from tests.fuzz.texts import ARFF, ARFF_WORDS, TABLE, TABLE_WORDS, one

DIALECTS = (
    TextDialect(",", '"', "."),
    TextDialect(";", "'", ","),
    TextDialect(" ", None, "."),
    TextDialect("\t", '"', "."),
    TextDialect(",", '"', ".", escaped=True, words=(r"\N", "-", "#N/A")),
    TextDialect("\t", None, ".", escaped=True),
    ArffDialect(has_loop=True),
)
KINDS = (
    cell_kinds.NUMBER,
    cell_kinds.TEXT,
    cell_kinds.NUMBER,
    cell_kinds.SKIP,
    cell_kinds.TARGET,
    cell_kinds.EMPTY,
)
MOST_COLUMNS = 20
QUOTED = np.zeros(3, dtype=np.int64)
NUMBERS = (
    b"0.5,-12.25,7\n1,12345678.123456789012345,1e5\n" * 3
    + b"90071992.54740993,-0,123456789012345678901\n"
)


def read_cells(folder: Path) -> None:
    text = (folder / "rows").read_bytes()
    text = text if text.endswith(b"\n") else text + b"\n"
    try:
        text.decode()  # the reader gives the loop nothing else
    except UnicodeDecodeError as error:
        raise FormatError("rows", f"is not UTF-8 text ({error.reason})") from error
    for dialect in DIALECTS:
        _read(text, dialect)
    _read_sparse(text)
    _code(text)
    for mark in b".,":
        numbers = marked(text.count(b"\n"), np.float64)
        plain = loop.parse_numbers(guarded_text(text), len(text), mark, numbers)
        check_marks([numbers])
        if plain and mark != ord(".") and b"." in text:
            raise Broken("a point counts as a decimal mark beside a comma")
        points = text.replace(bytes([mark]), b".")
        if plain and numbers.tolist() != list(map(float, points.split(b"\n")[:-1])):
            raise Broken("numbers differ from those of float")


def _read(text: bytes, dialect: Dialect) -> None:
    """Read the rows of a text with each kind of column, but those that the loop leaves to the slow way."""
    delimiter = getattr(dialect, "delimiter", ",")
    columns = min(text[: text.index(b"\n")].count(delimiter.encode()) + 1, MOST_COLUMNS)
    kinds = np.resize(np.array(KINDS, dtype=np.int8), columns)
    slots = np.arange(columns, dtype=np.int32)
    width = columns // 2
    arrays = [
        marked(ROWS, np.float64, (width,)),
        marked(columns - width, np.float64, (ROWS,)),
        marked(columns, np.int32, (ROWS, 2)),
        marked(cell_kinds.MOST_HARD + columns, np.int64, (4,)),
    ]
    parse_rows = dialect.loop()
    given = (*dialect.form(QUOTED), kinds, slots)
    buffer = guarded_text(text)
    pos = 0
    size = len(text)
    while pos < size:
        before = pos
        pos, lines, rows, hards, odd = parse_rows(
            buffer, pos, size, 0, ROWS, *given, *arrays
        )
        check_marks(arrays)
        if (
            not before <= pos <= size
            or text[pos - 1 : pos] not in (b"", b"\n")
            or (pos == before and not odd)
        ):
            raise Broken(f"it went from {before} to {pos} of {size}")
        if lines != text.count(b"\n", before, pos):
            raise Broken(f"{lines} lines from {before} to {pos}")
        if rows > ROWS or not all(
            before <= first <= end <= size
            for _, _, first, end in arrays[3][:hards].tolist()
        ):
            raise Broken(f"{rows} rows, hard numbers at {arrays[3][:hards].tolist()}")
        if odd:
            pos = text.index(b"\n", pos) + 1


def _code(text: bytes) -> None:
    """Number what stands between commas and ends of lines, as if it was one column."""
    cells = text.replace(b"\n", b",").split(b",")
    ends = np.cumsum([len(cell) + 1 for cell in cells]) - 1
    spans = np.array(
        [(end - len(cell), end) for cell, end in zip(cells, ends, strict=True)],
        dtype=np.int32,
    )
    table = np.full(2 * len(cells) + 2, -1, np.int32)
    table = table[: 1 << (len(table).bit_length() - 1)]
    codes = marked(len(cells), np.int32)
    firsts = marked(len(table) // 2, np.int32)
    known = code_cells(guarded_text(text), spans, table, codes, firsts)
    check_marks([codes, firsts])
    different = [*dict.fromkeys(cells)]
    if known != -1 and [different[code] for code in codes.tolist()] != cells:
        raise Broken(f"{known} cells are {len(different)} different ones")
    if (known == -1) != (len(different) > len(firsts)):
        raise Broken(f"{len(different)} cells where there is room for {len(firsts)}")


def _read_sparse(text: bytes) -> None:
    """Read the sparse rows of a text, but those that the loop leaves to the slow way."""
    kinds = np.resize(
        np.array([*KINDS[:5], sparse_loop.NEEDED], dtype=np.int8), MOST_COLUMNS
    )
    slots = np.arange(MOST_COLUMNS, dtype=np.int32)
    width = MOST_COLUMNS // 2
    pairs = len(text) // 4 + 1
    arrays = [
        marked(ROWS + 1, np.int64),
        marked(pairs, np.int32),
        marked(pairs, np.float64),
        marked(MOST_COLUMNS - width, np.float64, (ROWS,)),
        marked(pairs, np.int32, (4,)),
    ]
    buffer = guarded_text(text)
    pos = 0
    size = len(text)
    while pos < size:
        before = pos
        given = kinds, slots, width, 0
        pos, lines, rows, texts, odd = sparse_loop.parse_sparse_rows(
            buffer, pos, size, 0, ROWS, 1 << 20, *given, *arrays
        )
        check_marks(arrays)
        if (
            not before <= pos <= size
            or text[pos - 1 : pos] not in (b"", b"\n")
            or (pos == before and not odd)
        ):
            raise Broken(f"it went from {before} to {pos} of {size}")
        if lines != text.count(b"\n", before, pos):
            raise Broken(f"{lines} lines from {before} to {pos}")
        if rows > ROWS or not all(
            before < first < end <= size
            for _, _, first, end in arrays[4][:texts].tolist()
        ):
            raise Broken(f"{rows} rows, text at {arrays[4][:texts].tolist()}")
        if odd:
            pos = text.index(b"\n", pos) + 1


TARGETS = (
    Target(
        "table-loop",
        lambda: one("rows", (*TABLE, *ARFF, NUMBERS)),
        read_cells,
        (*TABLE_WORDS, *ARFF_WORDS),
    ),
)
