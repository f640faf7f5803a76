"""Tables in LaTeX, for the ``booktabs`` package."""

from __future__ import annotations

import re
from collections.abc import Sequence

from olscale.report.tables import Entry, Table

__all__ = ["escape", "latex"]

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
} | {char: f"\\{char}" for char in "&%$#_{}"}


def escape(text: str) -> str:
    r"""Return text with LaTeX's special characters escaped.

    Examples
    --------
    >>> print(escape("covariance_kind 100%"))
    covariance\_kind 100\%
    """
    return re.sub(r"[\\~^<>&%$#_{}]", lambda match: _SPECIAL[match.group()], text)


def _cell(entry: Entry) -> str:
    if not entry.mean:
        return "--" if entry.note == "-" else escape(entry.note)
    text = f"{entry.mean} $\\pm$ {entry.std}" if entry.std else entry.mean
    text = f"\\textbf{{{text}}}" if entry.best else text
    return f"{text}$^{{!}}$" if entry.partial else text


def latex(tables: Sequence[Table]) -> str:
    """Return tables as LaTeX ``table`` environments, the best of each column in bold."""
    blocks = [r"% needs \usepackage{booktabs}"]
    for table in tables:
        lines = [[escape("learner"), *map(escape, table.columns)]]
        lines += [[escape(name), *map(_cell, line)] for name, line in zip(table.rows, table.entries, strict=True)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rows = [" & ".join(t.ljust(w) for t, w in zip(line, widths, strict=True)).rstrip() + r" \\" for line in lines]
        caption = escape(". ".join([table.title, *(note.rstrip(".") for note in table.notes)]) + ".")
        blocks.append(
            "\n".join(
                [
                    r"\begin{table}",
                    r"\centering",
                    rf"\caption{{{caption}}}",
                    rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
                    r"\toprule",
                    rows[0],
                    r"\midrule",
                    *rows[1:],
                    r"\bottomrule",
                    r"\end{tabular}",
                    r"\end{table}",
                ]
            )
        )
    return "\n\n".join(blocks) + "\n"
