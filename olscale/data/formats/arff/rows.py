"""The rows of an ARFF file, line by line: the exact way, which also says what is wrong."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from olscale.data.formats.arff.declarations import Attribute
from olscale.data.formats.arff.tokens import Token, cell_of, is_weight, tokens
from olscale.data.formats.cells import Cell, Row, is_number
from olscale.data.formats.lines import TextLines
from olscale.errors import FormatError


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may stand in the rows of a file.

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
        """Return `cell`; raise `FormatError` where it is not declared."""
        words, numbers = self.words.get(position), self.numbers.get(position)
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
        """Return what `text` in a cell means."""
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
    weights : int
        Rows so far that have a weight.
    """

    def __init__(self, lines: TextLines, allowed: Allowed) -> None:
        self._lines, self._allowed = lines, allowed
        self.weights = 0

    def dense(self) -> Iterator[Row]:
        """Yield line and all cells of each row."""
        defaults = [attribute.default for attribute in self._allowed.attributes]
        for line, cells in self.listed():
            if len(cells) < len(defaults):
                row = defaults.copy()
                for position, cell in cells.items():
                    row[position] = cell
                yield line, row
            else:
                yield line, [cells[position] for position in range(len(defaults))]

    def listed(self) -> Iterator[tuple[int, dict[int, Cell]]]:
        """Yield line and cells of each row, by position: all of a dense row, and those that a sparse one lists."""
        source, check = self._allowed.source, self._allowed.check
        for text in self._lines:
            line = self._lines.number
            self._lines.begin_row()
            row = [*tokens(source, text, line)]
            if not row:
                continue
            is_sparse = row[0].text == "{"
            cells, behind = self._pairs(row, line) if is_sparse else self._cells(row, line)
            if behind:
                self._weigh(behind, line)
            yield line, {position: check(position, cell, line) for position, cell in cells.items()}

    def _cells(self, row: Sequence[Token], line: int) -> tuple[dict[int, Cell], Sequence[Token]]:
        """Return the cells of a dense row, and the tokens behind them."""
        cells: list[Cell] = []
        width, awaited, end = len(self._allowed.attributes), True, len(row)
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
            cure = "; a cell with a space needs quotes" if len(cells) > width and _is_spaced(row) else ""
            problem = f"the row has {len(cells)} cells, expected {width} as declared{cure}"
            raise FormatError(self._allowed.source, problem, line)
        return dict(enumerate(cells)), row[end:]

    def _pairs(self, row: Sequence[Token], line: int) -> tuple[dict[int, Cell], Sequence[Token]]:
        """Return the cells of a sparse row, and the tokens behind it."""
        source, width = self._allowed.source, len(self._allowed.attributes)
        places = [place for place, token in enumerate(row) if token.text == "}"]
        if not places:
            raise FormatError(source, f"the sparse row {row[-1].text[:40]!r} has no end, expected }}", line)
        words = [token for token in row[1 : places[0]] if token.text != ","]
        cells: dict[int, Cell] = {}
        for place in range(0, len(words), 2):
            pair = words[place : place + 2]
            said = " ".join(token.text for token in pair)[:40]
            index = pair[0].text
            # Python refuses to read numbers of thousands of digits.
            known = index.isascii() and index.isdecimal() and len(index) < 10 and int(index) < width
            if not known or len(pair) < 2 or not pair[1].is_cell:
                problem = f"got {said!r} in a sparse row, expected POSITION VALUE, positions from 0 to {width - 1}"
                raise FormatError(source, problem, line)
            position = int(index)
            if position in cells:
                raise FormatError(source, f"the sparse row has position {position} twice; let it have each once", line)
            cells[position] = cell_of(pair[1].text)
        behind = row[places[0] + 1 :]
        return cells, behind[1:] if behind and behind[0].text == "," else behind

    def _weigh(self, behind: Sequence[Token], line: int) -> None:
        if not is_weight(behind):
            problem = (
                f"got {behind[0].text[:40]!r} behind the cells, expected the end of the row, or a weight in braces"
            )
            raise FormatError(self._allowed.source, problem, line)
        self.weights += 1


def _is_spaced(row: Sequence[Token]) -> bool:
    """Return whether there are fewer commas than would be needed between the cells of a row that has some."""
    commas = sum(token.text == "," for token in row)
    return 0 < commas < sum(token.is_cell for token in row) - 1
