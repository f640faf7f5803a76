"""Vowpal Wabbit text: ``[label [importance [base]]] ['tag]|namespace[:weight] feature[:value] ..``.

*Labels* are numbers: classes such as -1 and 1 or 1 to k, or real values. A row without one is an
error, unless rows are only predicted. Labels of several numbers (``--csoaa``, ``--cb``,
``--multilabel_oaa``) are refused by name. Importances are the weights of the rows if
`ReadOptions.weights` is ``importance``, else they are not used; neither are bases. A note says how
many rows have one. A word that touches the first bar is a tag, as in Vowpal Wabbit, even a number.

*Features* are named as ``vw --audit`` names them: ``namespace^name``, or just ``name`` without a
namespace, numbered in order of first appearance. A feature without a value is 1, one without a name
is called by its position among the nameless features of its namespace, and a value that is a word
makes the feature ``namespace^name^word``. Values are multiplied by the weight of the namespace;
zeros are left out; values of a feature that occurs twice in a row are added.

*Hashed*, with ``--encode '*=hash:features=2^N'``: features are numbered as ``vw --bit_precision N``
numbers them, with memory that does not grow with the names.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, stack_rows
from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.coding import Hash, parse_codings
from olscale.data.formats.dialect import text_lines
from olscale.data.formats.lines import TextBlocks
from olscale.data.formats.row_weights import EXPECTED
from olscale.data.formats.table_columns import UNLABELLED, TableColumns, TableRows
from olscale.data.formats.text import open_text
from olscale.errors import FormatError, NoRowsError

MAX_NONZEROS = 4_000_000
"""Nonzeros of a batch, which ends after the row that reaches them."""

ALL = "*"
"""The column that ``--encode`` names for all features."""

IMPORTANCE = "importance"
"""The name of the second number before the first bar in ``--weights``."""

_DIGITS_ROOM = 64
_FIRST_NAMES = 1 << 12
_FIRST_BYTES = 1 << 17
_LABEL_WORD = r"[-+\w.:,]+"
_ROW = re.compile(
    rf"\s*(?:{_LABEL_WORD}\s+){{0,3}}(?:'\S*\s*|{_LABEL_WORD})?\|.*[^|\s]\s*"
)
_VALUED = re.compile(r"\s[^\s:|]+:[-+]?\.?\d")
_TIME = re.compile(r"\s\d\d?:\d\d(?:\s|$)")


class VwFormat:
    """Vowpal Wabbit text.

    Lines are ``[label [importance [base]]] ['tag]|namespace[:weight] feature[:value] ...``.
    Features are named as ``vw --audit`` names them, `namespace^name` (`name` without a
    namespace, `namespace^name^word` for a value that is a word), and numbered as they appear.
    The weight of a namespace multiplies its values, zeros are left out, and values of a feature
    that a row has twice are added up.

    With ``--encode '*=hash:features=2^18'`` features have the numbers of ``vw --bit_precision
    18``, in bounded memory. Importances are weights with ``--weights importance``, else they
    are not used, nor are bases. Labels of costs, of contextual bandits and of several classes
    per row are refused. A word that touches the first bar is a tag, as it is to `vw`: ``1|f a``
    has no label, ``1 |f a`` has.
    """

    name: ClassVar[str] = "vw"
    suffixes: ClassVar[tuple[str, ...]] = (".vw",)

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether the first lines are rows, and probably not those of a table with bars."""
        lines = text_lines(head)
        if not lines or not all(_ROW.fullmatch(line) for line in lines):
            return False
        rows = [line.partition("|")[2].split("|") for line in lines]
        parts = [part for row in rows for part in row]
        if any(_VALUED.search(part) and not _TIME.search(part) for part in parts):
            return True
        # Words alone: a namespace occurs in many rows, the beginning of a text cell does not.
        namespaces = {re.split(r"\s", part, maxsplit=1)[0] for part in parts}
        has_words = any(len(part.split()) > 2 for part in parts)
        return has_words and len(namespaces) <= max(map(len, rows)) and len(lines) > 1

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train",)``: a text file is a single split."""
        return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of `source` in its order as CSR batches.

        Raises
        ------
        FormatError
            Names file and line of a missing or malformed label, of a namespace, name or value that
            is malformed, and of text that is not UTF-8. Names the file when it has no rows.
        """
        coding = _coding(source, options)
        if options.weights not in (None, IMPORTANCE):
            problem = (
                "is vw text, whose rows have no weights but their importance, got "
                f"--weights {options.weights}"
            )
            raise FormatError(source, f"{problem}; give --weights {IMPORTANCE}")
        with open_text(source, options.stream) as stream:
            yield from _Parser(TextBlocks(source, stream), options, coding).batches()


def _coding(source: str, options: ReadOptions) -> Hash | None:
    """Return how features are hashed; None where they are named."""
    if options.drop:
        problem = "is vw text, which has no columns to drop; take the features out of the file"
        raise FormatError(source, f"{problem}, or leave --drop out")
    codings = parse_codings(options.encode)
    if not codings:
        return None
    coding = codings.get(ALL)
    if len(codings) > 1 or not isinstance(coding, Hash):
        problem = f"is vw text, whose features can be hashed only, got --encode {options.encode[0]}"
        raise FormatError(
            source, f"{problem}, expected --encode '{ALL}=hash:features=2^18'"
        )
    size = len(coding.parts)
    # A power of two has a single bit: Vowpal Wabbit takes the lowest bits of a hash.
    if size & (size - 1):
        problem = f"is vw text, whose features are hashed to a power of two, got {size}"
        raise FormatError(
            source, f"{problem}, expected --encode '{ALL}=hash:features=2^18'"
        )
    return coding


class _Names:
    """The names of the features so far; `_vw_names` describes the arrays."""

    def __init__(self) -> None:
        self.slots = np.zeros(4 * _FIRST_NAMES, dtype=np.uint64)
        self.arena = np.empty(_FIRST_BYTES, dtype=np.uint8)
        self._names: tuple[str, ...] = ()
        self._read = 0

    def grow(self, used: int, more: int) -> None:
        """Make room for as many names again, and for `more` bytes after the `used` ones."""
        from olscale.data.formats._vw_names import move_names

        # Doubled, so that all growing together costs as much as the last time.
        arena = np.empty(2 * used + more, dtype=np.uint8)
        arena[:used] = self.arena[:used]
        slots = np.zeros(2 * len(self.slots), dtype=np.uint64)
        move_names(self.slots, slots)
        self.arena = arena
        self.slots = slots

    def names(self, used: int) -> tuple[str, ...]:
        """Return the names in the `used` bytes, decoding only the new ones."""
        # A key without a namespace begins with NUL: with a newline in front, such a
        # beginning is told from a NUL within.
        keys = b"\n" + self.arena[self._read : used].tobytes()
        text = keys.replace(b"\n\0", b"\n").replace(b"\0", b"^").decode()
        self._names += tuple(text.split("\n")[1:-1])
        self._read = used
        return self._names


class _Parser:
    """Collects parsed rows into batches whose bounds do not depend on the blocks."""

    def __init__(
        self,
        text: TextBlocks,
        options: ReadOptions,
        coding: Hash | None,
    ) -> None:
        self._text = text
        self._options = options
        self._names = _Names()
        self._table: TableRows | None = None
        self._hashed: tuple[str, ...] | None = None
        self._mask = -1
        self._weighted = options.weights is not None
        if coding is not None:
            self._hashed = tuple(f"{ALL}={part}" for part in coding.parts)
            self._mask = len(coding.parts) - 1
            coded = {ALL: str(coding)}
            self._table = TableRows(
                TableColumns((ALL,), UNLABELLED, (True,), coded=coded)
            )
        self._parts: list[tuple[CSR, NDArray[np.float64], NDArray[np.float64]]] = []
        self._counts = np.zeros(4, dtype=np.int64)

    def batches(self) -> Iterator[Batch]:
        """Yield all rows; notes come with the last ones."""
        text = self._text
        # One batch is held back: notes that count all rows come with the last.
        last: Batch | None = None
        while text.fill():
            self._check_text()
            while text.pos < text.stop:
                self._parse()
                rows, nonzeros = self._size()
                if rows == self._options.chunk_rows or nonzeros >= MAX_NONZEROS:
                    if last is not None:
                        yield last
                    last = self._batch()
        if self._parts:
            if last is not None:
                yield last
            last = self._batch()
        if last is None:
            raise NoRowsError(text.source, "no rows")
        yield replace(last, notes=self._notes())

    def _size(self) -> tuple[int, int]:
        """Return the numbers of rows and nonzeros since the last batch."""
        rows = sum(len(labels) for _, labels, _ in self._parts)
        return rows, sum(len(X.data) for X, _, _ in self._parts)

    def _batch(self) -> Batch:
        from olscale.data.formats._vw_names import BYTES

        X = stack_rows([rows for rows, _, _ in self._parts])
        assert isinstance(X, CSR)
        labels = np.concatenate([labels for _, labels, _ in self._parts])
        importances = np.concatenate([importances for _, _, importances in self._parts])
        self._parts = []
        names = self._hashed
        if names is None:
            names = self._names.names(int(self._counts[BYTES]))
        # The loop refuses single rows without a label, unless rows are only predicted.
        unlabelled = bool(np.isnan(labels).all())
        if unlabelled:
            labels = np.zeros(len(labels))
        weights = None
        if self._weighted:
            weights = importances
        return Batch(
            X,
            labels,
            len(names),
            names,
            table=self._table,
            unlabelled=unlabelled,
            weights=weights,
        )

    def _notes(self) -> tuple[str, ...]:
        from olscale.data.formats import _vw_loop as loop

        unused = 0
        if not self._weighted:
            unused = self._counts[loop.WEIGHTED]
        kinds = {
            "an importance other than 1, which is not used without --weights importance": unused,
            "a base (an initial prediction), which is not used": self._counts[
                loop.BASED
            ],
        }
        return tuple(
            f"rows of {self._text.source} that have {kind}: {count:,}"
            for kind, count in kinds.items()
            if count
        )

    def _parse(self) -> None:
        """Parse the text's block as far as rows fit in the batch."""
        from olscale.data.formats import _vw_loop as loop
        from olscale.data.formats._vw_names import BYTES, ROOM

        text = self._text
        names = self._names
        size = text.stop - text.pos
        rows, nonzeros = self._size()
        buffer = np.frombuffer(text.buffer, dtype=np.uint8)
        entries = size // 2 + 1
        most_rows = min(self._options.chunk_rows - rows, entries)
        labels = np.empty(most_rows)
        importances = np.empty(most_rows)
        indptr = np.zeros(most_rows + 1, dtype=np.int64)
        indices = np.empty(entries, dtype=np.int32)
        data = np.empty(entries)
        spare_indices = np.empty_like(indices)
        spare_data = np.empty_like(data)
        digits = np.empty(_DIGITS_ROOM, dtype=np.uint8)
        hard = np.empty((entries, 2), dtype=np.int64)
        hard_values = np.empty(0)
        row_count = 0
        while True:
            text.pos, lines, row_count, fault, token, hards = loop.parse_rows(
                buffer,
                text.pos,
                text.stop,
                most_rows,
                MAX_NONZEROS - nonzeros,
                self._options.labelled and self._options.labels_needed,
                self._weighted,
                self._mask,
                row_count,
                labels,
                importances,
                indptr,
                indices,
                data,
                names.slots,
                names.arena,
                self._counts,
                digits,
                spare_indices,
                spare_data,
                hard,
                hard_values,
                len(hard_values),
            )
            text.line += lines
            hard_values = np.empty(0)
            if fault == loop.FULL:
                names.grow(int(self._counts[BYTES]), size + ROOM)
            # The loop starts the row anew, with the numbers that Python converts.
            elif fault == loop.HARD_NUMBERS:
                spans = hard[:hards].tolist()
                hard_values = np.array(
                    [float(text.buffer[start:end]) for start, end in spans]
                )
            elif fault:
                raise FormatError(
                    text.source, self._problem(fault, token), text.line + 1
                )
            else:
                break
        stop = int(indptr[row_count])
        if row_count:
            # Copied, since the arrays have room for any rows of the block.
            X = CSR(indptr[: row_count + 1], indices[:stop].copy(), data[:stop].copy())
            self._parts.append((X, labels[:row_count], importances[:row_count]))

    def _check_text(self) -> None:
        """Refuse a block that is no text."""
        text = self._text
        nul = text.buffer.find(b"\0", text.pos, text.stop)
        if nul >= 0:
            line = text.line + text.buffer.count(b"\n", text.pos, nul) + 1
            raise FormatError(
                text.source, "holds a NUL byte, expected UTF-8 text", line
            )
        if text.is_plain():
            return
        try:
            text.buffer[text.pos : text.stop].decode()
        except UnicodeDecodeError as error:
            line = (
                text.line
                + text.buffer.count(b"\n", text.pos, text.pos + error.start)
                + 1
            )
            cure = (
                "if it is Latin-1, write it anew: iconv -f LATIN1 -t UTF-8 FILE > NEW"
            )
            problem = f"is not UTF-8 text ({error.reason}); {cure}"
            raise FormatError(text.source, problem, line) from None

    def _problem(self, fault: int, token: int) -> str:
        from olscale.data.formats import _vw_loop as loop

        begin = bytes(self._text.buffer[token : token + 200]).decode("utf-8", "replace")
        word = re.split(r"[\s|]", begin, maxsplit=1)[0]
        got = repr(word[:40])
        row = begin.partition("\n")[0]
        before = row.partition("|")[0].strip()
        problems = {
            loop.BAD_LABEL: _label_problem(word),
            loop.BAD_IMPORTANCE: f"the row {row[:40]!r} has an importance less than 0, expected "
            f"{EXPECTED}",
            loop.NO_LABEL: "the row has no label; write one, or take the row out",
            loop.TAB_BEFORE_BAR: f"there is a tab behind {got}, and Vowpal Wabbit leaves out what "
            "is "
            "before a tab; write a space",
            loop.NO_BAR: f"got {row[:40]!r}, expected a label, a bar and features",
            loop.BAD_SPACE: f"the namespace is {got}, expected NAME or NAME:WEIGHT",
            loop.BAD_VALUE: f"the feature is {got}, expected NAME or NAME:VALUE, a finite number",
            loop.BAD_RETURN: "there is a carriage return within the line; end lines in newlines",
        }
        if fault == loop.NO_LABEL and before and not before.startswith("'"):
            return (
                f"the row has no label: {before[:40]!r} touches the bar, so Vowpal Wabbit takes "
                "it for "
                "the tag; write a space before the bar"
            )
        return problems[fault]


def _label_problem(word: str) -> str:
    """Return what is wrong with a label."""
    got = f"the label is {word[:40]!r}"
    expected = "expected a number, and behind it at most an importance and a base"
    if ":" in word or word in ("shared", "ca", "ccb", "slates"):
        kind = "as for costs or contextual bandits (--csoaa, --cb)"
        return f"{got}, {kind}; {expected}: write the one class that is right"
    if re.fullmatch(r"\d+(?:,\d*)+", word):
        return f"{got}, several labels (--multilabel_oaa); {expected}: a file for each label"
    return f"{got}, {expected}; give each class a number"
