"""Docstrings in numpydoc form as Markdown, for pages that are not about Python."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docs.site.equations import formula, is_equation, tex_of

_UNDERLINE = re.compile(r"^-{3,}$")


def sections(docstring: str) -> Iterator[tuple[str, str]]:
    r"""Yield the sections of a docstring with their titles; the first has none.

    Examples
    --------
    >>> list(sections("A rule.\n\nNotes\n-----\nIt is old."))
    [('', 'A rule.'), ('Notes', 'It is old.')]
    """
    lines = docstring.splitlines()
    starts = [
        number
        for number, line in enumerate(lines)
        if number and _UNDERLINE.match(line) and lines[number - 1].strip()
    ]
    titles = ["", *(lines[number - 1] for number in starts)]
    begins = [0, *(number + 1 for number in starts)]
    ends = [*(number - 1 for number in starts), len(lines)]
    for title, begin, end in zip(titles, begins, ends, strict=True):
        yield title, "\n".join(lines[begin:end]).strip()


def definitions(section: str) -> Iterator[tuple[str, str, str]]:
    r"""Yield name, type and meaning of each definition in a section of parameters.

    Examples
    --------
    >>> list(definitions("C : a number\n    Aggressiveness,\n    the largest step."))
    [('C', 'a number', 'Aggressiveness, the largest step.')]
    """
    name = ""
    kind = ""
    meaning: list[str] = []
    for line in section.splitlines():
        if line and not line.startswith(" "):
            if name:
                yield name, kind, " ".join(meaning)
            name, _, kind = (part.strip() for part in line.partition(" : "))
            meaning = []
        elif line.strip():
            meaning.append(line.strip())
    if name:
        yield name, kind, " ".join(meaning)


def prose(text: str) -> str:
    """Return paragraphs with literals in single backticks, and doctests as blocks of Python."""
    parts = []
    for block in re.split(r"\n{2,}", text):
        if block.startswith(">>>"):
            parts.append(f"```pycon\n{block}\n```")
        elif block.startswith("    "):
            parts.append(_displayed(block) or block)  # equations, or a block of code
        else:
            parts.append(re.sub("::$", ":", literals(block)))
    return "\n\n".join(parts)


def _displayed(block: str) -> str:
    """Return a block of equations, one a line, as Markdown; empty where it is code."""
    formulas = [tex_of(line.strip().removesuffix(",")) for line in block.splitlines()]
    if None in formulas:
        return ""
    shown = [formula(rf"\displaystyle {tex}") for tex in formulas if tex]
    # A paragraph may not begin with an element that Markdown does not know.
    return "\n\n".join(f"&emsp;{element}" for element in shown)


def literals(text: str) -> str:
    """Return text with literals and formulas of Markdown, whose angle brackets stay text.

    Examples
    --------
    >>> literals("``C`` where a < b")
    '`C` where a &lt; b'
    """
    pieces = re.split(r"(:math:`[^`]+`|``.+?``|`[^`]+`)", text, flags=re.DOTALL)
    return "".join(_literal(piece) for piece in pieces)


def _literal(piece: str) -> str:
    if piece.startswith(":math:"):
        return formula(piece.removeprefix(":math:").strip("`"))
    if piece.startswith("``"):
        text = " ".join(piece.strip("`").split())
        if is_equation(text):
            return formula(tex_of(text, is_inline=True) or "")
        return "`" + " ".join(piece.strip("`").split()) + "`"
    if piece.startswith("`"):
        return piece
    return piece.replace("<", "&lt;").replace("*", r"\*").replace("|", "&#124;")


def cell(text: str) -> str:
    """Return Markdown for a cell of a table: one line."""
    return " ".join(text.split())


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table in Markdown, with cells in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)
