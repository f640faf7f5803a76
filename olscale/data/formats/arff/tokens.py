"""Words, quotes and signs of a line of ARFF."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from olscale.data.formats.cells import Cell, is_number
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
_ESCAPES = {quote: re.compile(f"{_ESCAPE}|{quote}{quote}", re.DOTALL) for quote in "'\""}
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
        return self.text if self.kind == "word" else unquoted(self.text)


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
    return len(texts) == 3 and texts[0] == "{" and texts[2] == "}" and is_number(texts[1])


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
    if len(code) == 5:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _LETTERS.get(code, code)
