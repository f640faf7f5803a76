"""ARFF files of any look, and what they hold: cells by the rules of Weka, as far as liac-arff knows them by its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

LETTERS = "abcXYZ0189 ,'\"%\\{}?\t\n\r\b\fé中😀\x01\x7f-._"
WORDS = (
    "NA",
    "none",
    "null",
    "?",
    "",
    " a",
    "a ",
    "x",
    "nan",
    "1",
    "0",
    "01",
    "-1.5",
    "it's",
    '"a"',
)
CONTROLS = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f"}


@dataclass
class Column:
    """An attribute: its values where it is nominal."""

    name: str
    kind: str
    values: list[str] = field(default_factory=list)

    def default(self) -> float | str | None:
        if self.kind == "numeric":
            return 0.0
        return self.values[0] if self.values else None


@dataclass
class File:
    """A file: its text, and the cells that it holds; None where a cell has no value."""

    columns: list[Column]
    rows: list[list[float | str | None]]
    text: str


def make_file(seed: int, by_liac: bool) -> File:
    """Return the file of a seed; one that liac-arff reads, too, where `by_liac`."""
    return _Maker(Random(seed), by_liac).file()


class _Maker:
    def __init__(self, random: Random, by_liac: bool) -> None:
        self._random = random
        self._by_liac = by_liac
        self._rows_kind = random.choice(["dense", "dense", "sparse", "mixed"])
        self._end = random.choice(["\n", "\n", "\r\n"])
        self._between = (
            "," if by_liac else random.choice([",", ",", ", ", "\t", " ", " ,\t"])
        )
        self._last = "" if by_liac else random.choice(["", "", ","])

    def file(self) -> File:
        random = self._random
        columns = [self._column(i) for i in range(random.randint(2, 6))]
        rows = [self._row(columns) for _ in range(random.randint(1, 12))]
        lines = self._head(columns)
        for row in rows:
            lines += self._noise()
            lines.append(self._line(columns, row))
        return File(columns, rows, self._end.join([*lines, ""]))

    def _maybe(self, share: float = 0.5) -> bool:
        return self._random.random() < share

    def _word(self) -> str:
        random = self._random
        if self._maybe(0.4):
            return random.choice(WORDS)
        return "".join(random.choice(LETTERS) for _ in range(random.randint(1, 6)))

    def _column(self, number: int) -> Column:
        random = self._random
        name = f"{random.choice(['a', 'b c', 'd=', 'é', 'x%y', 'p,q'])}{number}"
        kind = random.choice(["numeric", "numeric", "string", "nominal", "digits"])
        if kind == "nominal":
            words = [self._word() for _ in range(random.randint(1, 4))]
            if self._by_liac:  # which takes such a value for a part of the name
                words = [word.lstrip() for word in words]
            return Column(name, kind, [*dict.fromkeys(words)])
        if kind == "digits":
            return Column(
                name,
                "nominal",
                random.choice(
                    [["0", "1"], ["1", "2", "3"], ["-1", "1"], ["2.5", "1e3"]]
                ),
            )
        return Column(name, kind)

    def _row(self, columns: list[Column]) -> list[float | str | None]:
        cells = [self._cell(column, False) for column in columns[:-1]]
        return [*cells, self._cell(columns[-1], True)]

    def _cell(self, column: Column, is_label: bool) -> float | str | None:
        random = self._random
        if not is_label and self._maybe(0.1):
            return None
        if column.kind == "numeric":
            return random.choice(
                [
                    0.0,
                    1.0,
                    -2.5,
                    random.gauss(0, 1),
                    float(random.randint(-(10**20), 10**20)),
                ]
            )
        return random.choice(column.values) if column.values else self._word()

    def _head(self, columns: list[Column]) -> list[str]:
        random = self._random
        lines = [
            *self._noise(),
            f"{self._keyword('@relation')} {random.choice(['r', chr(39) + 'a b' + chr(39)])}",
        ]
        for column in columns:
            lines += self._noise()
            lines.append(self._declared(column))
        return [*lines, "", self._keyword("@data") + self._comment()]

    def _keyword(self, word: str) -> str:
        return self._random.choice([word, word.upper(), word.title()])

    def _declared(self, column: Column) -> str:
        random = self._random
        quote = random.choice("'\"")
        plain = column.name.isalnum() and self._maybe()
        name = column.name if plain else f"{quote}{column.name}{quote}"
        if not column.values:
            numeric = (
                ["real", "NUMERIC"] if self._by_liac else ["Real", "numeric", "Integer"]
            )
            kind = random.choice(numeric) if column.kind == "numeric" else "STRING"
            gap = " " if self._by_liac or plain else random.choice(["", " ", "\t"])
            return f"{self._keyword('@attribute')} {name}{gap}{kind}{self._comment()}"
        values = [self._written(value, declared=True) for value in column.values]
        if self._by_liac:
            return f"{self._keyword('@attribute')} {name} {{{','.join(values)}}}"
        gap = random.choice(["", " ", self._comment() + self._end])
        inner = random.choice([",", ", ", " ", f",{self._comment()}{self._end} "]).join(
            values
        )
        return f"{self._keyword('@attribute')} {name}{gap}{{{inner}}}{self._comment()}"

    def _comment(self) -> str:
        return (
            ""
            if self._by_liac or self._maybe(0.7)
            else self._random.choice([" % it's {a,b}", "\t%", " %% 'x"])
        )

    def _noise(self) -> list[str]:
        return (
            [self._random.choice(["", "% it's {a} \"", "  ", "%"])]
            if self._maybe(0.2)
            else []
        )

    def _line(self, columns: list[Column], row: list[float | str | None]) -> str:
        is_sparse = self._rows_kind == "sparse" or (
            self._rows_kind == "mixed" and self._maybe()
        )
        if not is_sparse:
            cells = self._between.join(self._written(cell) for cell in row)
            return f"{cells}{self._last}{self._comment()}"
        pairs = [
            f"{position} {self._written(cell)}"
            for position, (column, cell) in enumerate(zip(columns, row, strict=True))
            if cell != self._left_out(column) or self._maybe(0.2)
        ]
        if self._maybe(0.2):
            self._random.shuffle(pairs)
        return f"{{{self._random.choice([',', ', ']).join(pairs)}}}{self._comment()}"

    def _left_out(self, column: Column) -> float | str | None:
        # liac-arff reads a left-out string as the word 0.
        return (
            "none is left out"
            if self._by_liac and column.kind == "string"
            else column.default()
        )

    def _written(self, cell: float | str | None, declared: bool = False) -> str:
        random = self._random
        if cell is None:
            return "?"
        if not isinstance(cell, str):
            return random.choice([repr(cell), f"{cell:.17g}", f"{cell:.20e}"])
        if (
            cell
            and cell.isascii()
            and cell.replace(".", "").replace("-", "").isalnum()
            and self._maybe(0.8)
        ):
            return cell
        quote = random.choice("'\"")
        return quote + "".join(self._letter(letter, quote) for letter in cell) + quote

    def _letter(self, letter: str, quote: str) -> str:
        if letter in ("\\", quote):
            return f"\\{letter}"
        if letter in CONTROLS:
            return f"\\{CONTROLS[letter]}"
        code = ord(letter)
        if (letter == "%" or letter in "'\"") and self._maybe():
            return f"\\{letter}"
        if code < 32 or self._maybe(0.1):
            if code < 256:
                return f"\\{code:03o}"
            if code < 1 << 16:
                return f"\\u{code:04x}"
        return letter
