"""The rows of an ARFF file, line by line: the exact way, which also reports errors."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.arff.declarations import (
    MOST_LETTERS,
    Attribute,
    Token,
    cell_of,
    is_weight,
    tokens,
)
from olscale.data.formats.cells import Cell, Row, is_number
from olscale.data.formats.lines import TextLines
from olscale.data.formats.row_weights import weight_problem
from olscale.errors import FormatError

Listed: TypeAlias = tuple[int, dict[int, Cell]]
"""A row of some cells, by position, with its one-based line."""

WEIGHTS = "instance"
"""The weight in braces behind a row, in ``--weights``: Weka calls it an instance weight."""

_NO_VALUE = frozenset(("", "?"))
_PLAIN_CELLS = re.compile(r"[!#$&(-z|~]+")
# Rows without quotes, comments and odd letters; no blanks around the cells of the first kind.
_PLAIN_PAIRS = re.compile(
    r"\{(?:[ \t,]*+[0-9]{1,9}+[ \t]++[!#$&(-+\--z|~]{1,999}+(?=[ \t,}]))*+[ \t,]*+\}"
)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The cells that rows of a file may contain.

    Parameters
    ----------
    source : str
        Named in errors.
    attributes : sequence of Attribute
    words : mapping of int to frozenset of str
        Declared values of attributes whose cells are words, by position.
    numbers : mapping of int to frozenset of float
        Declared values of attributes whose cells are numbers.
    """

    source: str
    attributes: Sequence[Attribute]
    words: Mapping[int, frozenset[str]]
    numbers: Mapping[int, frozenset[float]]

    def check(self, position: int, cell: Cell, line: int | None = None) -> Cell:
        """Return `cell`; raise `FormatError` if it is not declared."""
        words = self.words.get(position)
        numbers = self.numbers.get(position)
        if cell is None:
            return None
        unknown = words is not None and cell not in words
        if numbers is not None and is_number(cell) and float(cell) == float(cell):
            unknown = float(cell) not in numbers
        if unknown:
            name = self.attributes[position].name
            problem = f"attribute {name!r} is {cell[:40]!r}, which is not among its declared values"
            raise FormatError(self.source, problem, line)
        return cell

    def read(self, position: int, text: str) -> Cell:
        """Return the meaning of `text` in a cell."""
        return self.check(position, cell_of(text))


class ArffRows:
    """Reads rows from `lines`.

    Parameters
    ----------
    lines : TextLines
        Before a row.
    allowed : Allowed

    Attributes
    ----------
    weighted : int
        Number of rows so far that have a weight.
    """

    def __init__(
        self, lines: TextLines, allowed: Allowed, *, keeps_weights: bool
    ) -> None:
        self._lines = lines
        self._allowed = allowed
        self._width = len(allowed.attributes)
        self._declared = {*allowed.words, *allowed.numbers}
        self.weighted = 0
        self._keeps_weights = keeps_weights
        self._weights: list[float] = []

    def take_weights(self, rows: int) -> NDArray[np.float64]:
        """Return the weights of the next rows, 1 where a row has none, and forget them."""
        weights = np.array(self._weights[:rows])
        del self._weights[:rows]
        return weights

    def dense(self) -> Iterator[Row]:
        """Yield line and all cells of each row."""
        check = self._allowed.check
        defaults = [attribute.default for attribute in self._allowed.attributes]
        for line, cells in self._rows():
            if isinstance(cells, dict):
                row = defaults.copy()
                for position, cell in cells.items():
                    row[position] = cell
            else:
                row = cells
            for position in self._declared:
                check(position, row[position], line)
            yield line, row

    def listed(self) -> Iterator[Listed]:
        """Yield line and cells of each row: all of a dense row, some of a sparse one."""
        check = self._allowed.check
        for line, cells in self._rows():
            row = cells if isinstance(cells, dict) else dict(enumerate(cells))
            for position in row.keys() & self._declared:
                check(position, row[position], line)
            yield line, row

    def _rows(self) -> Iterator[tuple[int, list[Cell] | dict[int, Cell]]]:
        for text in self._lines:
            line = self._lines.number
            self._lines.begin_row()
            cells = self._plain(text)
            if cells is not None:
                if self._keeps_weights:
                    self._weights.append(1.0)
                yield line, cells
                continue
            row = [*tokens(self._allowed.source, text, line)]
            if not row:
                continue
            cells, extra_tokens = (
                self._pairs(row, line) if row[0].text == "{" else self._cells(row, line)
            )
            weight = self._weight(extra_tokens, line) if extra_tokens else 1.0
            if self._keeps_weights:
                self._weights.append(weight)
            yield line, cells

    def _plain(self, text: str) -> list[Cell] | dict[int, Cell] | None:
        """Return the cells of a row that needs no tokens, which is faster, or None."""
        row = text.strip(" \t\r\n")
        if _PLAIN_CELLS.fullmatch(row):
            words = row.split(",")
            if len(words) == self._width + 1 and not words[-1]:
                words.pop()
            if len(words) != self._width or len(row) > MOST_LETTERS:
                return None
            return [None if word in _NO_VALUE else word for word in words]
        if _PLAIN_PAIRS.fullmatch(row):
            words = row[1:-1].replace(",", " ").split()
            places = words[::2]
            values = words[1::2]
            cells = {
                int(place): None if word == "?" else word
                for place, word in zip(places, values, strict=False)
            }
            # A position that is twice in the row, or too large, is reported by way of tokens.
            if (
                len(cells) == len(places) == len(values)
                and max(cells, default=0) < self._width
            ):
                return cells
        return None

    def _cells(
        self, row: Sequence[Token], line: int
    ) -> tuple[list[Cell], Sequence[Token]]:
        """Return the cells of a dense row, and the tokens after them."""
        cells: list[Cell] = []
        width = self._width
        awaited = True
        end = len(row)
        for place, token in enumerate(row):
            if token.is_cell:
                cells.append(cell_of(token.text))
                awaited = False
            elif token.text == ",":
                if awaited:
                    cells.append(None)
                awaited = True
            else:
                end = place
                break
        if awaited and len(cells) < width:
            cells.append(None)
        if len(cells) != width:
            cure = ""
            if len(cells) > width and _is_spaced(row):
                cure = "; a cell with a space needs quotes"
            problem = (
                f"the row has {len(cells)} cells, expected {width} as declared{cure}"
            )
            raise FormatError(self._allowed.source, problem, line)
        return cells, row[end:]

    def _pairs(
        self, row: Sequence[Token], line: int
    ) -> tuple[dict[int, Cell], Sequence[Token]]:
        """Return the cells of a sparse row, and the tokens after it."""
        source = self._allowed.source
        width = self._width
        places = [place for place, token in enumerate(row) if token.text == "}"]
        if not places:
            raise FormatError(
                source,
                f"the sparse row {row[-1].text[:40]!r} has no end, expected }}",
                line,
            )
        words = [token for token in row[1 : places[0]] if token.text != ","]
        cells: dict[int, Cell] = {}
        for place in range(0, len(words), 2):
            pair = words[place : place + 2]
            excerpt = " ".join(token.text for token in pair)[:40]
            index = pair[0].text
            # Python refuses to read numbers of thousands of digits.
            is_position = (
                index.isascii()
                and index.isdecimal()
                and len(index) < 10
                and int(index) < width
            )
            if not is_position or len(pair) < 2 or not pair[1].is_cell:
                problem = (
                    f"got {excerpt!r} in a sparse row, expected POSITION VALUE, positions from "
                    f"0 to {width - 1}"
                )
                raise FormatError(source, problem, line)
            position = int(index)
            if position in cells:
                raise FormatError(
                    source,
                    f"the sparse row has position {position} twice; let it have each once",
                    line,
                )
            cells[position] = cell_of(pair[1].text)
        extra_tokens = row[places[0] + 1 :]
        return cells, extra_tokens[1:] if extra_tokens and extra_tokens[
            0
        ].text == "," else extra_tokens

    def _weight(self, extra_tokens: Sequence[Token], line: int) -> float:
        if not is_weight(extra_tokens):
            problem = (
                f"got {extra_tokens[0].text[:40]!r} behind the cells, expected the end of the "
                "row, or a weight in braces"
            )
            raise FormatError(self._allowed.source, problem, line)
        self.weighted += 1
        weight = float(extra_tokens[1].text)
        if self._keeps_weights and not 0.0 <= weight < np.inf:
            problem = weight_problem(weight, WEIGHTS)
            raise FormatError(self._allowed.source, problem, line)
        return weight + 0.0  # -0 becomes 0


def _is_spaced(row: Sequence[Token]) -> bool:
    """Return whether there are too few commas to separate the cells of a row that has some."""
    commas = sum(token.text == "," for token in row)
    return 0 < commas < sum(token.is_cell for token in row) - 1
