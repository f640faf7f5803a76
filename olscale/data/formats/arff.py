"""ARFF, the format of Weka and OpenML: declared attributes, then rows of cells.

Numeric attributes are numeric columns. A nominal attribute whose values are all numbers (``{1,2,3}``) is one too, in which
no other number may stand. Other nominal ones become one-hot columns, one a declared value, after the numeric ones, and the
rows are then sparse. String and date attributes are text columns whose values are numbered as they appear. ``?`` is NaN, or
no value at all. Sparse rows (``{1 0.5, 7 red}``) are read. The target is the last attribute or `ReadOptions.label`.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.cells import Line, checked_rows, is_missing, is_number
from olscale.data.formats.coding import parse_codings
from olscale.data.formats.lines import TextBlocks, TextLines, cells_problem
from olscale.data.formats.table_columns import (
    UNLABELLED,
    TableColumns,
    columns_named,
    label_positions,
    segment_position,
    unique_names,
)
from olscale.data.formats.table_encoder import TableEncoder
from olscale.data.formats.table_parser import Dialect, TableParser, table_text
from olscale.data.formats.text import open_text
from olscale.errors import FormatError, NoRowsError

_ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+(.+)", re.IGNORECASE)
_NUMERIC = ("numeric", "real", "integer")
_TEXT = ("string", "date")


@dataclass(frozen=True, slots=True)
class Attribute:
    """A declared attribute and its line; `values` is None when it is not nominal."""

    name: str
    numeric: bool
    values: tuple[str, ...] | None
    line: int

    @property
    def default(self) -> str:
        """What a sparse row means by leaving the attribute out."""
        return self.values[0] if self.values else "0"

    @property
    def numbers(self) -> frozenset[float]:
        """The declared values where these are numbers."""
        return frozenset(map(float, self.values)) if self.values and self.numeric else frozenset()

    def check(self, source: str) -> None:
        """Refuse two declared values that are read as one."""
        known: dict[str | float, str] = {}
        for value in self.values or ():
            read = float(value) if self.numeric else value.strip()
            if read in known:
                raise FormatError(
                    source,
                    f"attribute {self.name!r} declares {known[read][:40]!r} and {value[:40]!r}, which are the same "
                    f"{'number' if self.numeric else 'value'}; declare one of them, or leave the attribute out with --drop",
                    self.line,
                )
            known[read] = value


class ArffFormat:
    """Attribute-relation files."""

    name: ClassVar[str] = "arff"
    suffixes: ClassVar[tuple[str, ...]] = (".arff",)

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether the first line that is no comment declares a relation."""
        lines = (line.strip().lower() for line in head.splitlines())
        return next((line.startswith(b"@relation") for line in lines if line and not line.startswith(b"%")), False)

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train",)``: an ARFF file is one split."""
        return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of `source` in its order.

        Raises
        ------
        FormatError
            Names file and line of a malformed declaration, two declared values that are read as one, a row with another
            number of cells, a cell that is no number or not among the declared values, a missing label. Names the file when
            it has no rows.
        """
        with open_text(source, options.stream) as stream:
            yield from _read(table_text(source, stream), options)


def _read(text: TextBlocks, options: ReadOptions) -> Iterator[Batch]:
    source, lines = text.source, TextLines(text, ",")
    attributes = _declarations(source, lines, least=1 + options.labelled)
    names = unique_names(attribute.name for attribute in attributes)
    added = options.added_columns(names)
    names += [constant.name for constant in added]
    dropped = columns_named(source, names, options.drop, len(attributes))
    dropped, carried, as_written = options.set_aside(names, dropped)
    labels: tuple[int, ...] = (UNLABELLED,)
    if options.labelled:
        labels = label_positions(source, names, options.label, dropped, len(attributes), options.table)
    columns = TableColumns(
        tuple(names),
        labels[0],
        (
            *(not attribute.numeric or i in as_written for i, attribute in enumerate(attributes)),
            *(constant.text or i in as_written for i, constant in enumerate(added, len(attributes))),
        ),
        dropped,
        segment_position(source, names, options.segments),
        more=labels[1:],
        constants=tuple(constant.value for constant in added),
        carried=carried,
    )
    codings = parse_codings(options.encode)
    encoder = TableEncoder(
        source,
        columns,
        {i: a.values for i, a in enumerate(attributes) if a.values and not a.numeric and a.name not in codings},
        codings=codings,
        before=options.table,
    )
    for i, attribute in enumerate(attributes):
        if i not in dropped:
            attribute.check(source)
    allowed = [
        frozenset(a.values) if a.values and not a.numeric and i not in dropped else None
        for i, a in enumerate(attributes)
    ]
    numbers = {i: a.numbers for i, a in enumerate(attributes) if a.numbers and i not in dropped}
    cells = _cells(source, lines, attributes, allowed, numbers)
    rows = checked_rows(source, cells, len(attributes), least=1 + options.labelled)
    parser = TableParser(
        text, rows, encoder, Dialect(",", "'", ".", arff=True), _cell_of(source, attributes, allowed), numbers
    )
    empty = True
    for batch in parser.batches(options.chunk_rows):
        empty = False
        yield batch
    if empty:
        raise NoRowsError(source, "no rows")


def _declarations(source: str, lines: TextLines, least: int) -> list[Attribute]:
    attributes: list[Attribute] = []
    for raw in lines:
        lines.begin_row()
        line, number = raw.strip(), lines.number
        if line.lower().startswith("@data"):
            if len(attributes) < least:
                raise FormatError(
                    source, f"{len(attributes)} attributes declared, expected features and a label", number
                )
            return attributes
        if line.lower().startswith("@attribute"):
            attributes.append(_attribute(source, line, number))
        elif line and not line.startswith("%") and not line.lower().startswith("@relation"):
            raise FormatError(source, f"got {line[:40]!r}, expected @attribute or @data", number)
    raise FormatError(source, "there is no @data, so no rows", lines.number or None)


def _attribute(source: str, line: str, number: int) -> Attribute:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None:
        raise FormatError(source, f"got {line[:40]!r}, expected @attribute NAME TYPE", number)
    name, kind = _unquoted(match[1]), match[2].strip()
    if kind.startswith("{") and kind.endswith("}"):
        try:
            cells = next(csv.reader([kind[1:-1]], quotechar="'", escapechar="\\", skipinitialspace=True), [])
        except csv.Error as error:
            raise FormatError(source, f"the values of {name!r} cannot be told apart ({error})", number) from error
        values = tuple(_unquoted(cell) for cell in cells)
        if not values:
            raise FormatError(source, f"attribute {name!r} declares no values", number)
        return Attribute(name, all(map(is_number, values)), values, number)
    word = kind.split()[0].lower()
    if word not in _NUMERIC + _TEXT:
        raise FormatError(
            source, f"attribute {name!r} has type {kind[:40]!r}, expected numeric, {{a,b,...}} or string", number
        )
    return Attribute(name, word in _NUMERIC, None, number)


def _cell_of(
    source: str, attributes: Sequence[Attribute], allowed: Sequence[frozenset[str] | None]
) -> Callable[[int, str], str]:
    """Return what makes a cell of the text in the file, of the values that are allowed."""

    def cell(position: int, raw: str) -> str:
        word = _unquoted(raw[1:-1].replace("''", "'") if raw.startswith("'") else raw)
        values = allowed[position]
        if values is None or word in values or is_missing(word):
            return word
        raise _undeclared(source, attributes[position], word)

    return cell


def _cells(
    source: str,
    lines: TextLines,
    attributes: Sequence[Attribute],
    allowed: Sequence[frozenset[str] | None],
    numbers: Mapping[int, frozenset[float]],
) -> Iterator[Line]:
    rows = ("\n" if line.startswith("%") else line for line in lines)
    reader = csv.reader(rows, quotechar="'", escapechar="\\", skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            number = lines.number
            lines.begin_row()
            if not cells or not any(cells):
                continue
            row = [_unquoted(cell) for cell in cells]
            if row[0].startswith("{"):
                row = _filled(source, row, attributes, number)
            for cell, values, attribute in zip(row, allowed, attributes, strict=False):
                if values is not None and cell not in values and not is_missing(cell):
                    raise _undeclared(source, attribute, cell, number)
            for i, known in numbers.items():
                cell = row[i] if i < len(row) else ""
                if is_number(cell) and not is_missing(cell) and float(cell) not in known:
                    raise _undeclared(source, attributes[i], cell, number)
            yield number, row
    except csv.Error as error:
        raise FormatError(source, cells_problem(error), lines.number) from error


def _undeclared(source: str, attribute: Attribute, cell: str, line: int | None = None) -> FormatError:
    problem = f"attribute {attribute.name!r} is {cell[:40]!r}, which is not among its declared values"
    return FormatError(source, problem, line)


def _filled(source: str, cells: Sequence[str], attributes: Sequence[Attribute], number: int) -> list[str]:
    row = [attribute.default for attribute in attributes]
    for pair in ",".join(cells).strip().removeprefix("{").removesuffix("}").split(","):
        position, _, value = pair.strip().partition(" ")
        if not pair.strip():
            continue
        # Python refuses to read numbers of thousands of digits.
        known = position.isdecimal() and len(position) < 10 and int(position) < len(row)
        if not known or not value:
            raise FormatError(source, f"got {pair.strip()[:40]!r} in a sparse row, expected POSITION VALUE", number)
        row[int(position)] = _unquoted(value)
    return row


def _unquoted(cell: str) -> str:
    cell = cell.strip()
    if len(cell) > 1 and cell[0] == cell[-1] and cell[0] in "'\"":
        return cell[1:-1].replace("\\'", "'").replace('\\"', '"')
    return cell
