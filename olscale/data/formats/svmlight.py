"""LIBSVM / SVMlight text: ``label index:value index:value ... # comment``, one row per line.

Indices of a row must increase. ``qid:N`` and comments are ignored, blank lines are skipped, a line
with only a label is an empty row, lines may end in CRLF and the last one need not end at all.

Indices count from 1 unless the source shows otherwise: with ``zero_based=None`` an index 0 in the
rows of the first batch makes the whole source zero-based. An index 0 that first appears later, when
rows numbered from 1 have already been passed on, is a `ZeroIndexError`: read the source again with
``zero_based=True``. Sources that belong together must be numbered alike: pass `Batch.zero_based` of
the first on to the others.

Rows to predict (`ReadOptions.labels_needed` is False) may have any word for a label, or none: their
labels are then NaN.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.lines import TextBlocks
from olscale.data.formats.text import open_text
from olscale.errors import FormatError, NoRowsError

MAX_NONZEROS = 4_000_000

_ROW = re.compile(rb"\s*[-+]?[\w.][-+\w.]*(\s+qid:\S+)?(\s+\d+:[-+\w.]+)+\s*(#.*)?")
# Also matches a row with several labels, which is refused by name.
_ROW_WITHOUT_LABEL = re.compile(
    rb"\s*((\?|\d+(,\d+)+)\s+)?(qid:\S+\s+)?\d+:[-+\w.]+(\s+\d+:[-+\w.]+)*\s*"
)
# Larger than any index.
_NO_INDEX = 2**31 - 1


class ZeroIndexError(FormatError):
    """An index 0 where indices were taken to count from 1."""


class SvmlightFormat:
    """LIBSVM / SVMlight text.

    Indices count from 0 in all sources of a dataset if any row has an index 0, be it the last,
    else from 1. A source without index 0 whose largest index is one above that of the others is
    refused: it seems to count from 1. ``--index-base`` decides it. Where at least a quarter of
    the entries is present, in at most 65,536 columns, rows are stored dense.
    """

    name: ClassVar[str] = "svmlight"
    suffixes: ClassVar[tuple[str, ...]] = (".svm", ".svmlight", ".libsvm", ".svml")

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether the first lines, except empty rows and comments, look like rows."""
        lines = head.splitlines()
        # The last line may extend beyond the head.
        complete = lines[:-1] if len(lines) > 1 and not head.endswith(b"\n") else lines
        for line in complete[:100]:
            text = line.split(b"#")[0]
            if len(text.split()) > 1:
                matches = (
                    _ROW.fullmatch(text)
                    or _ROW.match(text + b"0")
                    or _ROW_WITHOUT_LABEL.fullmatch(text)
                )
                return matches is not None
        return False

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train",)``: a text file is a single split."""
        return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of `source` as sparse batches; see `read_svmlight`."""
        return read_svmlight(source, options)


def read_svmlight(
    source: str,
    options: ReadOptions,
    block_bytes: int | None = None,
) -> Iterator[Batch]:
    """Yield the rows of `source` in its order as CSR batches.

    Parameters
    ----------
    source : str
        Text file, compressed or not.
    options : ReadOptions
        `chunk_rows`, `zero_based` and `labels_needed` are used. A batch also ends after the row
        with which it reaches 4 million nonzeros.
    block_bytes : int, optional
        Bytes of text parsed at a time; it does not affect the batches.

    Raises
    ------
    FormatError
        Names the file and the one-based line of: a missing or malformed label, a pair that is not
        ``index:value``, an index that is negative, larger than 2**31 - 2 or not larger than the one
        before it. Names the file when it has no rows or its compressed data are damaged.
    ZeroIndexError
        Names the file and the line of an index 0 in a one-based source.
    """
    with open_text(source, options.stream) as stream:
        text = TextBlocks(source, stream, block_bytes)
        parser = _Parser(text, options)
        while text.fill():
            yield from parser.parse()
    yield from parser.finish()


@dataclass(frozen=True, slots=True)
class IndexRange:
    """The smallest and largest index of a source as written; the largest is -1 if there is none."""

    smallest: int = _NO_INDEX
    largest: int = -1

    def widened(self, batch: Batch) -> IndexRange:
        """Return the range extended by the indices of `batch`, whose source counts from 0."""
        X = batch.X
        assert isinstance(X, CSR)
        used = X.indices[X.indptr[0] : X.indptr[-1]]
        return IndexRange(
            int(used.min(initial=self.smallest)),
            int(used.max(initial=self.largest)),
        )


def index_range(source: str) -> IndexRange:
    """Return the smallest and the largest index in the rows of `source`, which need no labels.

    Raises
    ------
    FormatError
        As `read_svmlight` does.
    """
    span = IndexRange()
    for batch in read_svmlight(
        source, ReadOptions(zero_based=True, labels_needed=False)
    ):
        span = span.widened(batch)
    return span


class _Parser:
    """Collects parsed rows into batches whose bounds do not depend on the blocks."""

    def __init__(self, text: TextBlocks, options: ReadOptions) -> None:
        self._text = text
        self._options = options
        self._zero_based = options.zero_based
        self._emitted = self._columns = 0
        self._rows = 0
        self._smallest = 2**31
        self._largest = -1
        self._labels = np.empty(0)
        self._indptr = np.zeros(1, dtype=np.int64)
        self._indices = np.empty(0, dtype=np.int32)
        self._data = np.empty(0)
        self._hard = np.empty((0, 3), dtype=np.int64)

    def parse(self) -> Iterator[Batch]:
        from olscale.data.formats import _svmlight_loop as loop

        text = self._text
        buffer = np.frombuffer(text.buffer, dtype=np.uint8)
        while text.pos < text.stop:
            zero_allowed = self._zero_based is True or self._open
            base = 1
            if zero_allowed:
                base = 0
            # The loop checks no bounds.
            self._make_room(text.stop - text.pos)
            (
                text.pos,
                lines,
                self._rows,
                hards,
                smallest,
                largest,
                fault,
                token,
                previous,
            ) = loop.parse_rows(
                buffer,
                text.pos,
                text.stop,
                self._options.chunk_rows,
                MAX_NONZEROS,
                zero_allowed,
                base,
                self._options.labels_needed,
                self._rows,
                self._labels,
                self._indptr,
                self._indices,
                self._data,
                self._hard,
            )
            text.line += lines
            if fault:
                problem = self._problem(text.buffer, fault, token, previous)
                kind = ZeroIndexError if fault == loop.ZERO_INDEX else FormatError
                raise kind(text.source, problem, text.line + 1)
            for slot, first, end in self._hard[:hards].tolist():
                # The loop leaves numbers to Python that it cannot round correctly.
                number = float(text.buffer[first:end])
                if slot < 0:
                    self._labels[-1 - slot] = number
                else:
                    self._data[slot] = number
            self._smallest, self._largest = (
                min(self._smallest, smallest),
                max(self._largest, largest),
            )
            if (
                self._rows == self._options.chunk_rows
                or self._indptr[self._rows] >= MAX_NONZEROS
            ):
                yield self._emit()

    def finish(self) -> Iterator[Batch]:
        if self._rows:
            yield self._emit()
        if not self._emitted:
            raise NoRowsError(
                self._text.source,
                "no rows: the file is empty, or holds only comments",
            )

    @property
    def _open(self) -> bool:
        """Whether the current rows are those that decide whether indices count from 0 or 1."""
        return self._zero_based is None and not self._emitted

    def _emit(self) -> Batch:
        late = self._open
        if late and self._smallest == 0:
            self._zero_based = True
        base = 1
        if self._zero_based:
            base = 0
        rows = self._rows
        nonzeros = int(self._indptr[self._rows])
        # The large arrays are passed on, not copied: the next batch gets new ones.
        indices = self._indices[:nonzeros]
        data = self._data[:nonzeros]
        self._indices, self._data = (
            np.empty_like(self._indices),
            np.empty_like(self._data),
        )
        if late and base:
            indices -= np.int32(base)
        # Small arrays are copied and used again.
        X = CSR(self._indptr[: rows + 1].copy(), indices, data)
        self._columns = max(self._columns, self._largest + 1 - base)
        self._emitted += rows
        self._rows = 0
        return Batch(X, self._labels[:rows].copy(), self._columns, zero_based=base == 0)

    def _make_room(self, size: int) -> None:
        """Make room for any rows in `size` more bytes: a row takes two bytes, a pair four."""
        used = int(self._indptr[self._rows])
        rows = min(self._rows + size // 2 + 1, self._options.chunk_rows)
        pairs = used + size // 4 + 1
        # When full, the arrays grow to the likely size of the whole batch: once, not little by
        # little.
        likely = (
            min(used * self._options.chunk_rows // max(1, self._rows), MAX_NONZEROS)
            + size // 2
        )
        self._labels = _grown(self._labels, rows, self._rows, 2 * self._rows)
        self._indptr = _grown(self._indptr, rows + 1, self._rows + 1, 2 * self._rows)
        self._indices = _grown(self._indices, pairs, used, likely)
        self._data = _grown(self._data, pairs, used, likely)
        if len(self._hard) < size // 2 + 1:
            self._hard = np.empty((size // 2 + 1, 3), dtype=np.int64)

    def _problem(
        self,
        buffer: bytearray,
        fault: int,
        token: int,
        previous: int,
    ) -> str:
        from olscale.data.formats import _svmlight_loop as loop

        word = re.split(rb"[ \t\r\n]", bytes(buffer[token : token + 200]), maxsplit=1)[
            0
        ]
        got = repr(
            word[:40].decode("utf-8", "replace") + ("..." if len(word) > 40 else "")
        )
        index = got.strip("'").partition(":")[0]
        reason = "in the rows before"
        if self._zero_based is False:
            reason = "in the files before, or as asked"
        label = "expected a finite number"
        if re.fullmatch(r"'[^',]+(,[^',]+)+'", got):
            label = "which are several, expected one number; a table can have a column for each"
        problems = {
            loop.MISSING_LABEL: f"the line starts with {got}, expected a label before the first "
            "index:value",
            loop.BAD_LABEL: f"the label is {got}, {label}",
            loop.BAD_INDEX: f"got {got}, expected index:value",
            loop.NEGATIVE_INDEX: f"index {index} in {got} is negative",
            loop.LARGE_INDEX: f"index {index} in {got} is too large, expected at most "
            f"{loop.MAX_INDEX}",
            loop.BAD_VALUE: f"the value in {got} is not a number",
            loop.UNORDERED: f"index {index} in {got} comes "
            f"{'twice' if index == str(previous) else f'after {previous}'}"
            ", expected indices to increase",
            loop.ZERO_INDEX: f"index 0 in {got}, but indices count from 1 {reason}; --index-base 0 "
            "if all count from 0",
        }
        return problems[fault]


def _grown(
    array: NDArray[Any],
    needed: int,
    used: int,
    likely: int,
) -> NDArray[Any]:
    """Return `array`, or a larger one of `needed` or `likely` entries that begins like it."""
    if len(array) >= needed:
        return array
    longer = np.empty(max(needed, likely), dtype=array.dtype)
    longer[:used] = array[:used]
    return longer
