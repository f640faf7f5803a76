"""The byte loop over cells of tables, alone and guarded, in whatever form of table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from olscale.data.formats import _table_loop as loop
from olscale.errors import FormatError
from tests.fuzz.batches import ROWS
from tests.fuzz.guarded import check_marks, guarded_text, marked
from tests.fuzz.target import Broken, Target
from tests.fuzz.texts import ARFF, ARFF_WORDS, TABLE, TABLE_WORDS, one

FORMS = (
    (",", '"', ".", False, False),
    (";", "'", ",", False, False),
    (" ", None, ".", False, False),
    ("\t", '"', ".", True, False),
    (",", "'", ".", True, False),
    (",", '"', ".", False, True),
    ("\t", None, ".", False, True),
)
KINDS = (loop.NUMBER, loop.TEXT, loop.NUMBER, loop.SKIP, loop.TARGET, loop.EMPTY)
MOST_COLUMNS = 20
QUOTED = np.zeros(3, dtype=np.int64)
NUMBERS = b"0.5,-12.25,7\n1,12345678.123456789012345,1e5\n" * 3 + b"90071992.54740993,-0,123456789012345678901\n"


def read_cells(folder: Path) -> None:
    text = (folder / "rows").read_bytes()
    text = text if text.endswith(b"\n") else text + b"\n"
    try:
        text.decode()  # the reader gives the loop nothing else
    except UnicodeDecodeError as error:
        raise FormatError("rows", f"is not UTF-8 text ({error.reason})") from error
    for form in FORMS:
        _read(text, form)
    for mark in b".,":
        numbers = marked(text.count(b"\n"), np.float64)
        plain = loop.parse_numbers(guarded_text(text), len(text), mark, numbers)
        check_marks([numbers])
        if plain and mark != ord(".") and b"." in text:
            raise Broken("a point counts as a decimal mark beside a comma")
        points = text.replace(bytes([mark]), b".")
        if plain and numbers.tolist() != list(map(float, points.split(b"\n")[:-1])):
            raise Broken("numbers differ from those of float")


def _read(text: bytes, form: tuple[str, str | None, str, bool, bool]) -> None:
    """Read the rows of a text with each kind of column, but those that the loop leaves to the slow way."""
    delimiter, quote, mark, arff, escaped = form
    columns = min(text[: text.index(b"\n")].count(delimiter.encode()) + 1, MOST_COLUMNS)
    kinds = np.resize(np.array(KINDS, dtype=np.int8), columns)
    slots = np.arange(columns, dtype=np.int32)
    width = columns // 2
    arrays = [
        marked(ROWS, np.float64, (width,)),
        marked(columns - width, np.float64, (ROWS,)),
        marked(columns, np.int32, (ROWS, 2)),
        marked(loop.MOST_HARD + columns, np.int64, (4,)),
    ]
    words = np.frombuffer(rb"\N-#N/A", dtype=np.uint8), np.array([2, 3, 7])
    given = ord(delimiter), -1 if quote is None else ord(quote), ord(mark), arff, escaped, *words, kinds, slots
    buffer, pos, size = guarded_text(text), 0, len(text)
    while pos < size:
        before = pos
        pos, lines, rows, hards, odd = loop.parse_rows(buffer, pos, size, 0, ROWS, *given, *arrays, QUOTED)
        check_marks(arrays)
        if not before <= pos <= size or text[pos - 1 : pos] not in (b"", b"\n") or (pos == before and not odd):
            raise Broken(f"it went from {before} to {pos} of {size}")
        if lines != text.count(b"\n", before, pos):
            raise Broken(f"{lines} lines from {before} to {pos}")
        if rows > ROWS or not all(before <= first <= end <= size for _, _, first, end in arrays[3][:hards].tolist()):
            raise Broken(f"{rows} rows, hard numbers at {arrays[3][:hards].tolist()}")
        if odd:
            pos = text.index(b"\n", pos) + 1


TARGETS = (
    Target("table-loop", lambda: one("rows", (*TABLE, *ARFF, NUMBERS)), read_cells, (*TABLE_WORDS, *ARFF_WORDS)),
)
