"""The declarations of an ARFF file before its rows, and the words and quotes of its lines."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from olscale.data.formats.cells import Cell, is_number
from olscale.data.formats.lines import TextLines
from olscale.errors import FormatError

MOST_LETTERS = 131_072
"""Longest cell, as in other tables."""

_TOKEN = re.compile(
    r"""[\x00-\x20]*+(?:
    (?P<quoted> '(?:[^'\\]++|\\.|'')*+' | "(?:[^"\\]++|\\.|"")*+")
    | (?P<sign> [,{}])
    | (?P<comment> %.*)
    | (?P<open> ['"].*)
    | (?P<word> [^\x00-\x20,{}%]++)
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = r"\\(u[0-9a-fA-F]{4}|[0-3][0-7]{0,2}|[4-7][0-7]?|.)"
_ESCAPES = {
    quote: re.compile(f"{_ESCAPE}|{quote}{quote}", re.DOTALL) for quote in "'\""
}
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}

Kind: TypeAlias = Literal["word", "quoted", "sign"]


class Token(NamedTuple):
    """A part of a line, as it is written."""

    kind: Kind
    text: str

    @property
    def is_cell(self) -> bool:
        """Whether it is a word or quoted."""
        return self.kind != "sign"

    @property
    def name(self) -> str:
        """The word, or the text between the quotes."""
        if self.kind == "word":
            return self.text
        return unquoted(self.text)


def tokens(source: str, line: str, number: int) -> Iterator[Token]:
    """Yield the tokens of `line`, but for its comment.

    Raises
    ------
    FormatError
        If a quote is not closed in the line, or a cell is too long.

    Examples
    --------
    >>> [token.text for token in tokens("t.arff", "1,'a b' {c} % note", 1)]
    ['1', ',', "'a b'", '{', 'c', '}']
    """
    for match in _TOKEN.finditer(line):
        kind = match.lastgroup
        text = match[match.lastgroup or 0]
        if kind == "comment":
            return
        if kind == "open":
            problem = (
                f"the quote in {text[:40].rstrip()!r} is not closed in its line; a line "
                "break in a word is \\n"
            )
            raise FormatError(source, problem, number)
        if len(text) > MOST_LETTERS:
            problem = (
                "a cell is longer than 131,072 characters, the most that is read; is a "
                "quote not closed?"
            )
            raise FormatError(source, problem, number)
        yield Token(kind, text)  # type: ignore[arg-type]


def is_weight(several: Sequence[Token]) -> bool:
    """Return whether `several` tokens are a weight in braces.

    Examples
    --------
    >>> is_weight([*tokens("t.arff", "{0.5}", 1)]), is_weight([*tokens("t.arff", "{a}", 1)])
    (True, False)
    """
    texts = [token.text for token in several]
    return (
        len(texts) == 3 and texts[0] == "{" and texts[2] == "}" and is_number(texts[1])
    )


def cell_of(text: str) -> Cell:
    r"""Return the meaning of a cell that is written as `text`; None if it has no value.

    Examples
    --------
    >>> cell_of("?"), cell_of("'?'"), cell_of(r"'it\'s'"), cell_of("NA"), cell_of("")
    (None, '?', "it's", 'NA', None)
    """
    if text in ("", "?"):
        return None
    if text[0] in "'\"":
        return unquoted(text)
    return text


def unquoted(text: str) -> str:
    r"""Return the text between the quotes of `text`, with its escapes resolved.

    Examples
    --------
    >>> unquoted(r"'a\tb\u00e9\101'"), unquoted("'it''s'"), unquoted('"\'a\'"')
    ('a\tbéA', "it's", "'a'")
    """
    quote = text[0]
    inner = text[1:-1]
    if "\\" not in inner:
        # Most have none, and need no regular expression.
        return inner.replace(2 * quote, quote)
    word = _ESCAPES[quote].sub(_letter, inner)
    if any("\ud800" <= letter <= "\udfff" for letter in word):
        # Java writes a character beyond 16 bits as two halves; a single half is no character.
        word = word.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return word


def _letter(match: re.Match[str]) -> str:
    code = match[1]
    if code is None:
        return match[0][0]
    # u and four hexadecimal digits.
    if len(code) == 5:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _LETTERS.get(code, code)


_NUMERIC = ("numeric", "real", "integer")
_TEXT = ("string", "date")
_OF_KEEL = ("@input", "@inputs", "@output", "@outputs")
_LABELS_OF_MEKA = re.compile(r"\s-C\s+(-?\d{1,6})\b")
_KEYWORD = re.compile(r"[\x00-\x20]*(@[^\x00-\x20'\"{%]*)", re.DOTALL)
_NAME = re.compile(
    r"""[\x00-\x20]*+('(?:[^'\\]++|\\.|'')*+'"""
    r"""|"(?:[^"\\]++|\\.|"")*+"|[^\x00-\x20'"{},%][^\x00-\x20{]*+)""",
    re.DOTALL,
)
_PLAIN_NUMERIC = re.compile(
    r"@attribute[ \t]++([^\x00-\x20'\"{},%][^\x00-\x20{]*+)"
    r"[ \t]++(?:numeric|real|integer)[ \t]*+\r?\n",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Attribute:
    """A declared attribute.

    Parameters
    ----------
    name : str
    kind : {"numeric", "text", "nominal"}
    line : int
        Where it is declared.
    values : tuple of str
        Of a nominal one, in declared order.
    """

    name: str
    kind: Literal["numeric", "text", "nominal"]
    line: int
    values: tuple[str, ...] = ()

    @property
    def default(self) -> Cell:
        """The value of the attribute in a sparse row that leaves it out."""
        if self.kind == "numeric":
            return "0"
        if self.values:
            return self.values[0]
        return None

    @property
    def numbers(self) -> frozenset[float]:
        """The declared values if all of them are numbers."""
        if all(map(self.is_number, self.values)):
            return frozenset(map(float, self.values))
        return frozenset()

    def is_number(self, value: str) -> bool:
        """Return whether a declared value is a number."""
        return is_number(value) and math.isfinite(float(value))

    def check(self, source: str, as_numbers: bool) -> None:
        """Refuse two declared values that have the same meaning."""
        readings: dict[str | float, str] = {}
        for value in self.values:
            # 1 and 1.0 are two words and one number.
            read = float(value) if as_numbers else value
            if read in readings:
                kind = "value"
                if as_numbers:
                    kind = "number"
                raise FormatError(
                    source,
                    f"attribute {self.name!r} declares {readings[read][:40]!r} and {value[:40]!r}, "
                    f"which are the same {kind}; "
                    "declare one of them, or leave the attribute out with --drop",
                    self.line,
                )
            readings[read] = value


class Header(NamedTuple):
    """What stands before the rows.

    Parameters
    ----------
    attributes : list of Attribute
    labels : int
        How many attributes MEKA takes for labels, by ``-C`` in the name of the relation: the first
        ones, the last ones if it is negative; 0 where it says nothing.
    """

    attributes: list[Attribute]
    labels: int


def declarations(source: str, lines: TextLines) -> Header:
    """Return what is declared in `lines`, and leave `lines` at the first row.

    Raises
    ------
    FormatError
        Names the line that is no declaration; also when there is no ``@data``.
    """
    attributes: list[Attribute] = []
    labels = 0
    for line in lines:
        lines.begin_row()
        numeric = _PLAIN_NUMERIC.fullmatch(line)
        if numeric is not None:  # most are, in files with many attributes
            attributes.append(Attribute(numeric[1], "numeric", lines.number))
            continue
        match = _KEYWORD.match(line)
        word = ""
        if match is not None:
            word = match[1].lower()
        if match is not None and word == "@data":
            # A comment may follow, which yields no token.
            extra_token = next(tokens(source, line[match.end() :], lines.number), None)
            if extra_token is not None:
                raise FormatError(
                    source,
                    f"got {extra_token.text[:40]!r} behind @data, expected it in the next line",
                    lines.number,
                )
            return Header(attributes, labels)
        if match is not None and word == "@attribute":
            attributes.append(_attribute(source, line[match.end() :], lines))
        elif word == "@relation":
            of_meka = _LABELS_OF_MEKA.search(line)
            labels = int(of_meka[1]) if of_meka is not None else 0
        elif word in _OF_KEEL:
            problem = (
                f"got {line.strip()[:40]!r}, which KEEL writes; take such lines out and name the "
                r"label with --label: sed -E '/^@(in|out)puts?\b/d' FILE > NEW.arff"
            )
            raise FormatError(source, problem, lines.number)
        elif next(tokens(source, line, lines.number), None) is not None:
            raise FormatError(
                source,
                f"got {line.strip()[:40]!r}, expected @attribute or @data",
                lines.number,
            )
    raise FormatError(source, "there is no @data, so no rows", lines.number or None)


def _attribute(source: str, text: str, lines: TextLines) -> Attribute:
    line = lines.number
    match = _NAME.match(text)
    if match is None:
        raise FormatError(
            source,
            f"got {text.strip()[:40]!r} behind @attribute, expected NAME TYPE",
            line,
        )
    name = unquoted(match[1]) if match[1][0] in "'\"" else match[1]
    following = _Following(source, text[match.end() :], lines)
    kind = next((token for token in following if token.text != ","), None)
    if kind is None or kind.text.startswith("@"):
        raise FormatError(
            source,
            f"attribute {name!r} has no type, expected numeric, {{a,b,...}} or string",
            line,
        )
    if kind == Token("sign", "{"):
        return Attribute(name, "nominal", line, _values(source, name, following, lines))
    # KEEL writes the range of a number at once behind its type: real[0,1].
    word = kind.text.lower().partition("[")[0]
    if word == "relational":
        problem = (
            f"attribute {name!r} is relational, a table in each row, which is not read; "
            "leave it out in Weka"
        )
        raise FormatError(source, problem, line)
    if word not in _NUMERIC + _TEXT:
        problem = (
            f"attribute {name!r} has type {kind.text[:40]!r}, expected numeric, {{a,b,...}} "
            "or string"
        )
        raise FormatError(source, problem, line)
    return Attribute(name, "numeric" if word in _NUMERIC else "text", line)


class _Following:
    """The tokens of the rest of a line, and of further lines as long as more are needed."""

    def __init__(self, source: str, text: str, lines: TextLines) -> None:
        self._source = source
        self._lines = lines
        self._line = tokens(source, text, lines.number)

    def __iter__(self) -> Iterator[Token]:
        return self

    def __next__(self) -> Token:
        while True:
            token = next(self._line, None)
            if token is not None:
                return token
            self._line = tokens(self._source, next(self._lines), self._lines.number)

    def line(self) -> list[Token]:
        """Return the remaining tokens of the line."""
        return list(self._line)


def _values(
    source: str,
    name: str,
    following: _Following,
    lines: TextLines,
) -> tuple[str, ...]:
    line = lines.number
    values: list[str] = []
    for token in following:
        if token.is_cell:
            values.append(token.name)
        elif token.text == "}":
            break
        elif token.text == "{":
            problem = f"the values of {name!r} hold a brace; put a value with a brace in quotes"
            raise FormatError(source, problem, lines.number)
    else:
        raise FormatError(
            source, f"the values of {name!r} have no end, expected }}", line
        )
    if not values:
        raise FormatError(source, f"attribute {name!r} declares no values", line)
    extra_tokens = following.line()
    if extra_tokens and not is_weight(extra_tokens):
        problem = (
            f"got {extra_tokens[0].text[:40]!r} behind the values of {name!r}; put a value with a "
            "brace in quotes"
        )
        raise FormatError(source, problem, lines.number)
    return tuple(values)
