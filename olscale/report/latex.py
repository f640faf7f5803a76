"""Tables in LaTeX, for the ``booktabs`` package."""

import re
from collections.abc import Sequence

from olscale.printable import printable
from olscale.report.tables import Entry, Table

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # After `\\`, these characters at the start of a row would become its arguments.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "±": r"$\pm$",
} | {char: f"\\{char}" for char in "&%$#_{}"}
# A table's note that begins so explains its figures with an exclamation mark.
_PARTIAL = "! "
_BOLD = {"best of the column": "The best of each column is in bold"}


def escape(text: str) -> str:
    r"""Return text, made printable, with LaTeX's special characters escaped.

    Examples
    --------
    >>> print(escape("covariance_kind 100%"))
    covariance\_kind 100\%
    """
    return re.sub(
        f"[{re.escape(''.join(_SPECIAL))}]",
        lambda match: _SPECIAL[match.group()],
        printable(text),
    )


def _cell(entry: Entry) -> str:
    return _figure(entry) + "".join(
        f"\\textsuperscript{{{escape(mark.sign)}}}" for mark in entry.marks
    )


def _figure(entry: Entry) -> str:
    if not entry.mean:
        if entry.note == "-":
            return "--"
        return escape(entry.note)
    text = escape(entry.mean)
    if entry.std:
        text += f" $\\pm$ {escape(entry.std)}"
    if entry.best:
        text = f"\\textbf{{{text}}}"
    if entry.alike:
        text += "$^{\\sim}$"
    if entry.partial:
        text += "$^{!}$"
    return text


def _caption(table: Table) -> str:
    """Return a table's caption in a paper: title, what the figures are, what the marks mean."""
    best = []
    if any(entry.best for line in table.entries for entry in line):
        best = [_BOLD.get(table.best, f"In bold: {table.best}")]
    notes = [
        note.rstrip(".")
        for note in (*table.footnotes, *table.notes)
        if not note.startswith(_PARTIAL)
    ]
    left_out = [
        note.removeprefix(_PARTIAL).rstrip(".")
        for note in table.notes
        if note.startswith(_PARTIAL)
    ]
    sentences = [escape(text) for text in (table.title, *notes, *best)]
    sentences += [f"$^{{!}}${escape(text)}" for text in left_out]
    return ". ".join(sentences) + "."


def _labels(tables: Sequence[Table]) -> list[str]:
    """Return a unique label for each table, made of its title."""
    labels: list[str] = []
    for table in tables:
        stem = "tab:" + (
            re.sub(r"[^a-z0-9]+", "-", table.title.lower()).strip("-") or "results"
        )
        # Titles that differ in signs alone give one stem, and LaTeX warns of labels given twice.
        count = sum(label == stem or label.startswith(f"{stem}--") for label in labels)
        if count:
            stem += f"--{count + 1}"
        labels.append(stem)
    return labels


def latex(tables: Sequence[Table]) -> str:
    r"""Return tables as LaTeX ``table`` environments with the best of each column in bold.

    Each has a caption and a ``\label``.
    """
    blocks = [r"% needs \usepackage{booktabs}"]
    for table, label in zip(tables, _labels(tables), strict=True):
        lines = [[escape("learner"), *map(escape, table.columns)]]
        lines += [
            [escape(name), *map(_cell, line)]
            for name, line in zip(table.rows, table.entries, strict=True)
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rows = [
            " & ".join(t.ljust(w) for t, w in zip(line, widths, strict=True)).rstrip()
            + r" \\"
            for line in lines
        ]
        blocks.append(
            "\n".join(
                [
                    r"\begin{table}",
                    r"\centering",
                    rf"\caption{{{_caption(table)}}}",
                    rf"\label{{{label}}}",
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
