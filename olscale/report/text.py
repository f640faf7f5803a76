"""Tables as aligned plain text, coloured for a terminal; summaries as CSV and JSON for programs."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

from olscale.analysis.standing import is_comparable, looked_ahead
from olscale.analysis.summary import Summary
from olscale.printable import csv_cells, printable, width
from olscale.report.tables import Entry, Table
from olscale.results import canonical_json

if TYPE_CHECKING:
    from rich.text import Text as RichText


GAP = "  "


def cell_texts(
    column: Sequence[Entry], plus_minus: str = "±", mark: str = "*"
) -> list[str]:
    """Lay out one column with equal widths, so that means, deviations and marks line up.

    Examples
    --------
    >>> best = Entry("3.41", "0.12", best=True)
    >>> cell_texts([best, Entry("10.20", "1.05"), Entry(note="diverged")])
    [' 3.41 ± 0.12*', '10.20 ± 1.05 ', '    diverged ']
    """
    mean_width = max((len(entry.mean) for entry in column), default=0)
    std_width = max((len(entry.std) for entry in column), default=0)
    marks = [_signs(entry, mark) for entry in column]
    mark_width = max(map(len, marks), default=0)
    texts = []
    for entry, marked in zip(column, marks, strict=True):
        text = entry.note
        if entry.mean:
            text = entry.mean.rjust(mean_width)
        if entry.mean and entry.std:
            text += f" {plus_minus} {entry.std.rjust(std_width)}"
        elif entry.mean and std_width:
            # As wide as a deviation with its sign and two blanks, so that means line
            # up.
            text += " " * (len(plus_minus) + 2 + std_width)
        texts.append(text + marked.ljust(mark_width))
    width = max(map(len, texts), default=0)
    return [text.rjust(width) for text in texts]


def _signs(entry: Entry, best: str) -> str:
    """Return the text after a figure."""
    signs = ""
    if entry.best:
        signs += best
    if entry.alike:
        signs += "~"
    if entry.partial:
        signs += "!"
    return signs + "".join(mark.sign for mark in entry.marks)


def _left(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))


def _right(text: str, columns: int) -> str:
    return " " * (columns - width(text)) + text


def _shown(table: Table) -> Table:
    """Return the table with all of its names made printable."""
    return replace(
        table,
        title=printable(table.title),
        columns=tuple(map(printable, table.columns)),
        rows=tuple(map(printable, table.rows)),
        entries=tuple(
            tuple(_printable_entry(entry) for entry in line) for line in table.entries
        ),
        notes=tuple(map(printable, table.notes)),
        advice=tuple(map(printable, table.advice)),
    )


def _printable_entry(entry: Entry) -> Entry:
    # Figures are made here, notes may hold what a store says.
    if not entry.note or entry.note == "-":
        return entry
    return replace(entry, note=printable(entry.note))


def _grid(table: Table, plus_minus: str, mark: str) -> list[list[str]]:
    """Return the columns of a table as texts."""
    return [
        cell_texts([line[j] for line in table.entries], plus_minus, mark)
        for j in range(len(table.columns))
    ]


def plain(tables: Sequence[Table], ascii_only: bool = False) -> str:
    """Return tables as aligned text, the best of each column marked with ``*``.

    Parameters
    ----------
    tables : sequence of Table
    ascii_only : bool, default False
        Write ``+-`` for the plus-minus sign, and the escapes of other characters that are not
        ASCII.
    """
    blocks = []
    for table in map(_shown, tables):
        cells = _grid(table, "+-" if ascii_only else "±", "*")
        widths = [
            max(width(name), *map(len, column))
            for name, column in zip(table.columns, cells, strict=True)
        ]
        first = max(len("learner"), *map(width, table.rows))
        # Names may have wide characters; cells are figures, each of which takes one
        # column.
        lines = [
            [
                _right(name, room)
                for name, room in zip(table.columns, widths, strict=True)
            ]
        ]
        lines += [
            [column[i].rjust(room) for column, room in zip(cells, widths, strict=True)]
            for i in range(len(table.rows))
        ]
        body = [
            GAP.join([_left(name, first), *line]).rstrip()
            for name, line in zip(["learner", *table.rows], lines, strict=True)
        ]
        rule = "-" * max(map(width, body))
        best = []
        if any(entry.best for line in table.entries for entry in line):
            best = [f"* {table.best}."]
        below = [*best, *table.footnotes, *table.notes, *table.advice]
        blocks.append(
            "\n".join([table.title, "", body[0], rule, *body[1:], rule, *below])
        )
    text = ""
    if blocks:
        text = "\n\n".join(blocks) + "\n"
    if ascii_only:
        # Last, over the whole text: names and notes may hold any character.
        return text.encode("ascii", "backslashreplace").decode("ascii")
    return text


def print_rich(
    tables: Sequence[Table], file: TextIO | None = None, columns: int | None = None
) -> None:
    """Print tables to a terminal, the best of each column in bold, wide ones in several blocks.

    Parameters
    ----------
    tables : sequence of Table
    file : text file, optional
        Where to print; standard output by default.
    columns : int, optional
        Columns of the terminal; found out by default.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(
        file=file,
        width=columns,
        highlight=False,
        force_terminal=True if columns else None,
    )
    for table in map(_shown, tables):
        cells = _grid(table, "±", "")
        widths = [
            max(width(name), *map(len, column))
            for name, column in zip(table.columns, cells, strict=True)
        ]
        first = max(len("learner"), *map(width, table.rows))
        # A terminal that wraps a row leaves no columns to compare: wide tables come in blocks.
        title = table.title
        for block in _blocks(widths, console.width - first - 3):
            console.print(Text(title, style="bold"))
            title = f"{table.title} (continued)"
            drawn = RichTable(
                box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style=""
            )
            drawn.add_column("learner", no_wrap=True)
            for j in block:
                # Padded here: right justification by rich would drop the blanks that keep figures
                # in line.
                drawn.add_column(
                    Text(_right(table.columns[j], widths[j])), no_wrap=True
                )
            for i, row in enumerate(table.rows):
                drawn.add_row(
                    Text(row),
                    *(
                        _styled(cells[j][i].rjust(widths[j]), table.entries[i][j])
                        for j in block
                    ),
                )
            console.print(drawn)
            console.print()
        for note in (*table.footnotes, *table.notes, *table.advice):
            console.print(Text(note, style="dim"))
        console.print()


def _styled(text: str, entry: Entry) -> RichText:
    from rich.text import Text

    style = ""
    if entry.best:
        style = "bold green"
    elif not entry.mean:
        style = "dim"
    return Text(text, style=style)


def _blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Divide columns into blocks that fit the width, at least one per block."""
    blocks: list[list[int]] = [[]]
    used = 0
    for j, wide in enumerate(widths):
        # A column that is wider than the terminal stands alone, rather than nowhere.
        if blocks[-1] and used + wide + 3 > room:
            blocks.append([])
            used = 0
        blocks[-1].append(j)
        used += wide + 3
    return blocks


_ATTRIBUTES = (
    "dataset",
    "transforms",
    "learner",
    "params",
    "protocol",
    "metric",
    "mean",
    "std",
    "n",
    "failures",
    "tuned",
    "fingerprint",
    "version",
    "label",
    "dataset_label",
    "cautions",
)
FIELDS = (*_ATTRIBUTES, "looks_ahead", "comparable")


def as_json(summaries: Iterable[Summary]) -> str:
    """Return a JSON list with one object per line.

    Fields: ``dataset``, ``transforms`` (list), ``learner``, ``params`` (object), ``protocol``
    (object, without the permutation's index), ``metric``, ``mean``, ``std``, ``n``, ``failures``
    (object: outcome to count), ``tuned`` (object: grid and protocol by which the parameters were
    chosen, or null), ``fingerprint``, ``version``, ``label`` and ``dataset_label`` (what tables
    call learner and dataset), ``cautions`` (list: ``not reproducible`` where two models of the
    learner gave other scores of the same rows, ``of classes`` where a measure that ranks rows is of
    a model without scores), ``looks_ahead`` (list: what saw rows before they were predicted),
    ``comparable`` (false of references that predicted nothing by the first rows that count). A mean
    or deviation that is not finite is ``null``.
    """
    # A line each, so that `grep` and `diff` work on the output.
    lines = [json.dumps(_fields(summary), allow_nan=False) for summary in summaries]
    if lines:
        return "[\n" + ",\n".join(lines) + "\n]\n"
    return "[]\n"


def as_csv(summaries: Iterable[Summary]) -> str:
    """Return CSV with a header and the fields of `as_json`.

    Objects become JSON texts, transforms are joined by commas.

    Control characters in names stand as their escapes, and a name that a spreadsheet would take for
    a formula has an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    for summary in summaries:
        values = _fields(summary)
        values["transforms"] = ",".join(summary.transforms)
        values["cautions"] = ",".join(summary.cautions)
        values["looks_ahead"] = ",".join(values["looks_ahead"])
        for name in ("params", "protocol", "failures", "tuned"):
            values[name] = canonical_json(values[name])
        writer.writerow(csv_cells(values.values()))
    return text.getvalue()


def _fields(summary: Summary) -> dict[str, Any]:
    values = {name: getattr(summary, name) for name in _ATTRIBUTES}
    values |= {
        "looks_ahead": looked_ahead(summary),
        "comparable": is_comparable(summary),
    }
    # JSON has no NaN; CSV then has an empty cell.
    for name in ("mean", "std"):
        if not math.isfinite(values[name]):
            values[name] = None
    return values
