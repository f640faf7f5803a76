"""JSON lines: one flat record per line, whose keys are the columns.

*Columns*: the keys of the first `SAMPLE_ROWS` records, in order of first appearance. A key that a
record lacks is a missing value there, like ``null``. A key that no record of the sample has is an
error, unless it is dropped. Objects and arrays within a record are no cells: they are refused by
name, unless their key is dropped.

*Types*: JSON says what a value is, so nothing is guessed from how it is written: ``"5"`` is a word
and ``5`` a number, ``true`` and ``false`` are 1 and 0, and a column has values of one type. Numbers
are read as Python's ``float`` reads them.

*Label*: `ReadOptions.label`, or else the last key of the first record.

Arrow parses the records, a block of lines at a time. Python's json parses, line by line, what Arrow
refuses, and reports what is wrong. Both give the same cells.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.cells import Column, TypedCells
from olscale.data.formats.coding import AsNumber, parse_codings
from olscale.data.formats.csv import SAMPLE_ROWS
from olscale.data.formats.lines import MAX_CELLS, TextBlocks, TextLines
from olscale.data.formats.table_columns import (
    UNLABELLED,
    TableColumns,
    label_positions,
    segment_position,
    words_in,
)
from olscale.data.formats.table_encoder import TableEncoder
from olscale.data.formats.text import is_unicode, open_text
from olscale.errors import FormatError, NoRowsError, UnknownNameError

Record: TypeAlias = tuple[int, dict[str, Any]]
"""A record with its one-based line."""

NUMBER = "a number"
TEXT = "text"
TRUTH = "true or false"
"""Types of a column."""

# From here on float64 does not represent every whole number.
_SAME_WHOLE = 2.0**53

_TYPES: dict[type, str] = {float: NUMBER, str: TEXT, bool: TRUTH}
_NESTED: dict[type, str] = {dict: "an object", list: "an array"}


class JsonLinesFormat:
    """Flat JSON records, one per line.

    Values are typed: `"5"`, `"NA"` and `""` are words; `5` is a number; `true` and `false` are
    1 and 0; `null` or an absent key is a missing value. A column with values of several types
    is refused with its line, and so are objects and arrays within a record, repeated keys, and
    keys that none of the first 2,000 records has, unless ``--drop`` names them.
    """

    name: ClassVar[str] = "jsonl"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson", ".json")

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether the first line that is not blank begins like an object with a key."""
        begin = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        return begin.startswith(b"{") and begin[1:].lstrip(b" \t").startswith(
            (b'"', b"}")
        )

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train",)``: a text file is a single split."""
        return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of `source` in its order.

        Raises
        ------
        FormatError
            Names file and line of what is no record, of a nested or repeated key, of a value of
            another type than those before it in its column, of a key that appears too late, of a
            missing label. Names the file when it has no rows.
        UnknownNameError
            When no record has a key that `options` name.
        """
        with open_text(source, options.stream) as stream:
            text = TextBlocks(source, stream)
            records = _Records(text, options)
            yield from records.batches(options.chunk_rows)


@dataclass(frozen=True, slots=True)
class _Key:
    """The treatment of a key's values: their type, and whether they are read or carried along.

    A key of another type than text is read `as_words` where a coding or a model asks for them.
    """

    type: str
    is_read: bool
    as_written: bool
    as_words: bool = False


class _Records:
    """The records of a text; the first ones decide the columns."""

    def __init__(self, text: TextBlocks, options: ReadOptions) -> None:
        self._text = text
        self._lines = TextLines(text)
        self._sample = self._take(SAMPLE_ROWS)
        if not self._sample:
            raise NoRowsError(text.source, "no rows")
        before = options.table
        names = [key for _, record in self._sample for key in record]
        if before is not None:
            # Keys of earlier sources are columns, even if no record here has them.
            names = [*before.names, *names]
        # In order of first appearance, each once.
        names = list(dict.fromkeys(names))
        # JSON can escape half of a surrogate pair, which no file can hold.
        if unwritable := [name for name in names if not is_unicode(name)]:
            raise FormatError(
                text.source,
                f"key {unwritable[0][:40]!a} is no valid text; rename it",
            )
        self._known_rows = len(self._sample)
        width = len(names)
        added = options.added_columns(names)
        names += [constant.name for constant in added]
        dropped_names = [
            name for word in options.drop for name in words_in(word, names)
        ]
        # A key may come later, if it is no position. One that no record has is a misspelt one;
        # only the end of the file shows it.
        self._late = {
            name
            for name in dropped_names
            if name not in names and not name.lstrip("-").isdecimal()
        }
        self._unmet = set(self._late)
        in_time = tuple(name for name in dropped_names if name not in self._late)
        self._drop_list = options.drop_list
        strict = replace(options, drop=in_time)
        dropped = strict.positions_to_drop(text.source, names, width)
        dropped, carried, as_written, weights = options.set_aside(
            text.source,
            names,
            dropped,
            width,
        )
        segments = segment_position(text.source, names, options.segments)
        labels = self._labels(names, width, dropped, options)
        keys = names[:width]
        is_read = [
            place not in dropped or place in (segments, weights)
            for place in range(width)
        ]
        types = self._types(
            {name for name, read in zip(keys, is_read, strict=True) if read}
        )
        coded = {
            name
            for name, coding in parse_codings(options.encode).items()
            if not isinstance(coding, AsNumber)
        }
        for place, name in enumerate(keys):
            if place not in labels and name not in coded:
                self._check_before(name, types, before)
        matched = _matched_as_text(before)
        self._keys = {
            name: _Key(
                types.get(name, NUMBER),
                read,
                place in as_written,
                name in coded or (name in matched and types.get(name) == TRUTH),
            )
            for place, (name, read) in enumerate(zip(keys, is_read, strict=True))
        }
        is_text = [
            key.as_written or (key.is_read and (key.as_words or key.type == TEXT))
            for key in self._keys.values()
        ]
        is_text += [
            constant.text or place in as_written
            for place, constant in enumerate(added, width)
        ]
        columns = TableColumns(
            tuple(names),
            labels[0],
            tuple(is_text),
            dropped,
            segments,
            more=labels[1:],
            constants=tuple(constant.value for constant in added),
            carried=carried,
            weights=weights,
        )
        self._encoder = TableEncoder(
            text.source,
            columns,
            codings=parse_codings(options.encode),
            before=before,
            rules=TypedCells(),
        )

    def batches(self, chunk_rows: int) -> Iterator[Batch]:
        """Yield all rows as batches of `chunk_rows`, smaller if rows are wide."""
        encoder = self._encoder
        rows = encoder.batch_rows(chunk_rows)
        cells = encoder.cells(rows)
        # Blocks of text and batches of rows have different ends: a batch takes what
        # fits.
        for columns, lines in self._blocks():
            start = 0
            while start < len(lines):
                part = slice(start, start + cells.room)
                encoder.put(cells, [column[part] for column in columns], lines[part])
                start = part.stop
                if not cells.room:
                    yield encoder.batch(cells)
                    cells = encoder.cells(rows)
        if cells.rows:
            yield encoder.batch(cells)
        if self._drop_list is not None:
            self._drop_list.meet(self._late - self._unmet)
        elif self._unmet:
            kind = f"column of {self._text.source}"
            raise UnknownNameError(kind, min(self._unmet), list(self._keys))

    def _blocks(self) -> Iterator[tuple[list[Column], Sequence[int]]]:
        """Yield the columns of consecutive records, and their lines."""
        yield self._columns_of(self._sample)
        self._sample = []
        while self._text.fill():
            yield self._parsed() or self._columns_of(self._take(None))

    def _take(self, most: int | None) -> list[Record]:
        """Return the next `most` records, or all in the lines that the text holds now."""
        records: list[Record] = []
        text = self._text
        values = 0
        while text.pos < text.stop or (most is not None and text.fill()):
            # Wide records must not fill the memory before their columns are known.
            if len(records) == most or values > MAX_CELLS:
                break
            self._lines.begin_row()
            line = next(self._lines)
            if line.strip():
                records.append((text.line, self._record(line)))
                values += len(records[-1][1])
        return records

    def _record(self, line: str) -> dict[str, Any]:
        """Return the record in a line."""
        source = self._text.source
        number = self._text.line
        try:
            # As float, since a whole number may have thousands of digits.
            record = json.loads(
                line, parse_int=float, object_pairs_hook=self._unrepeated
            )
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", None) or "it is nested too deeply"
            problem = f"is no JSON record ({reason}): got {line.strip()[:40]!r}"
            raise FormatError(
                source, f"{problem}, expected one object a line", number
            ) from None
        if record is None:
            # A line `null` is a row without any value.
            return {}
        if not isinstance(record, dict):
            got = _NESTED.get(type(record), repr(line.strip()[:40]))
            raise FormatError(
                source,
                f"the line is {got}, expected an object of keys and values",
                number,
            )
        return record

    def _unrepeated(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            problem = f"key {twice[:40]!r} is in the record twice; name it once"
            raise FormatError(self._text.source, problem, self._text.line)
        return record

    def _labels(
        self,
        names: Sequence[str],
        width: int,
        dropped: frozenset[int],
        options: ReadOptions,
    ) -> tuple[int, ...]:
        source = self._text.source
        label = options.label
        before = options.table
        if not options.labelled:
            return (UNLABELLED,)
        if label is None and (before is None or before.label == UNLABELLED):
            remaining = [
                key for key in self._sample[0][1] if names.index(key) not in dropped
            ]
            label = next(reversed(remaining), None)
        return label_positions(source, names, label, dropped, width, before)

    def _types(self, read: set[str]) -> dict[str, str]:
        """Return the type of each key of the sample that is read and has a value."""
        types: dict[str, str] = {}
        for line, record in self._sample:
            for key, value in record.items():
                if key in read and value is not None:
                    self._check_type(
                        key,
                        value,
                        types.setdefault(key, self._type(key, value, line)),
                        line,
                    )
        return types

    def _type(self, key: str, value: object, line: int) -> str:
        if type(value) in _NESTED:
            problem = (
                f"key {key[:40]!r} is {_NESTED[type(value)]}, expected a number or text"
            )
            cure = f"flatten it, as pandas.json_normalize does, or leave it out with --drop {key}"
            raise FormatError(self._text.source, f"{problem}; {cure}", line)
        return _TYPES[type(value)]

    def _check_type(
        self,
        key: str,
        value: object,
        expected: str,
        line: int,
    ) -> None:
        got = self._type(key, value, line)
        if got != expected:
            problem = f"key {key[:40]!r} is {got}: {json.dumps(value)[:40]}"
            cure = f"write all its values alike, or leave it out with --drop {key}"
            problem += f", expected {expected} as in the rows before; {cure}"
            raise FormatError(self._text.source, problem, line)

    def _check_before(
        self,
        name: str,
        types: dict[str, str],
        before: TableColumns | None,
    ) -> None:
        """Refuse a key that changed between text and numbers since the previous source."""
        if before is None or name not in before.names:
            return
        was_text = before.text[before.names.index(name)]
        expected = TEXT if was_text else NUMBER
        if name not in types:
            types[name] = expected
        elif was_text and types[name] == TRUTH and before.truth_in_text:
            return
        elif was_text != (types[name] == TEXT):
            problem = f"key {name[:40]!r} is {types[name]}, expected {expected}"
            raise FormatError(self._text.source, f"{problem} as in the source before")

    def _columns_of(
        self, records: Sequence[Record]
    ) -> tuple[list[Column], Sequence[int]]:
        """Return the columns of `records`, as read by Python."""
        for line, record in records:
            for key, value in record.items():
                self._check_value(key, value, line)
        columns = [
            _column([record.get(name) for _, record in records], key)
            for name, key in self._keys.items()
        ]
        return columns, [line for line, _ in records]

    def _check_value(self, key: str, value: object, line: int) -> None:
        expected = self._keys.get(key)
        self._unmet.discard(key)
        if expected is None and key not in self._late:
            problem = (
                f"key {key[:40]!r} is in none of the first {self._known_rows:,} records"
            )
            cure = f"leave it out with --drop {key}, or put a record that has it among the first"
            raise FormatError(
                self._text.source,
                f"{problem}, which decide the columns; {cure}",
                line,
            )
        if expected is not None and expected.is_read and value is not None:
            self._check_type(key, value, expected.type, line)
            if isinstance(value, str) and not is_unicode(value):
                problem = f"key {key[:40]!r} is {json.dumps(value)[:40]}, which is no valid text"
                raise FormatError(self._text.source, problem, line)

    def _parsed(self) -> tuple[list[Column], Sequence[int]] | None:
        """Return the columns of the text's block, as read by Arrow; None if it refuses."""
        import pyarrow
        from pyarrow import json as arrow_json

        text = self._text
        # Arrow does not know the types of columns that are carried along.
        if not text.is_plain() or any(key.as_written for key in self._keys.values()):
            return None
        block = bytes(text.buffer[text.pos : text.stop])
        types = {
            NUMBER: pyarrow.float64(),
            TEXT: pyarrow.string(),
            TRUTH: pyarrow.bool_(),
        }
        schema = [
            (name, types[key.type]) for name, key in self._keys.items() if key.is_read
        ]
        try:
            table = arrow_json.read_json(
                pyarrow.BufferReader(block),
                read_options=arrow_json.ReadOptions(
                    use_threads=False, block_size=len(block) + 1
                ),
                parse_options=arrow_json.ParseOptions(
                    explicit_schema=pyarrow.schema(schema)
                ),
            )
        except pyarrow.ArrowException:
            return None
        lines = block.count(b"\n")
        unknown = set(table.column_names) - self._keys.keys() - self._late
        # Python's json names the key or the line that is wrong.
        if unknown or table.num_rows != lines:
            return None
        columns = [
            _arrow_column(table.column(name), key) if key.is_read else ()
            for name, key in self._keys.items()
        ]
        self._unmet -= set(table.column_names)
        first = text.line + 1
        text.pos = text.stop
        text.line += lines
        return columns, range(first, first + lines)


def _matched_as_text(before: TableColumns | None) -> set[str]:
    """Return the text columns in which a model takes truth values for their words."""
    if before is None or not before.truth_in_text:
        return set()
    return {
        name for name, is_text in zip(before.names, before.text, strict=True) if is_text
    }


def _column(values: Sequence[Any], key: _Key) -> Column:
    """Return the cells of a column read by Python."""
    if key.as_written:
        return [None if value is None else _word(value) for value in values]
    if not key.is_read:
        return ()
    if key.type == TEXT:
        return values
    if key.as_words:
        return [None if value is None else _coded_word(value) for value in values]
    return np.array(
        [np.nan if value is None else value for value in values], dtype=np.float64
    )


def _word(value: object) -> str:
    """Return a value as text, as it is written: a whole number as such, true as 1."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer() and abs(value) < _SAME_WHOLE:
        return str(int(value))
    return json.dumps(value)


def _coded_word(value: object) -> str:
    """Return a value as the word that is coded: a whole number as such, and true or false."""
    if isinstance(value, bool):
        return json.dumps(value)
    return _word(value)


def _arrow_column(column: Any, key: _Key) -> Column:
    """Return the cells of a column read by Arrow."""
    if key.type == TEXT or key.as_words:
        return _column(column.to_pylist(), key)
    if key.type == TRUTH:
        column = column.cast("uint8")
    return np.asarray(column.cast("float64").to_numpy(), dtype=np.float64)
