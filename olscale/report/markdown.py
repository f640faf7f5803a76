"""Tables as Markdown, and the page ``docs/reproduction.md``, which is made from a store."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from olscale.analysis.ledger import Cell
from olscale.printable import printable
from olscale.report.labels import parts_text
from olscale.report.reproduction import (
    LEGEND,
    counts,
    described,
    differences,
    measured_tables,
    p_text,
    published_tables,
    rank_tables,
    with_deviation,
)
from olscale.report.tables import Entry, Table
from olscale.results import Store
from olscale.results.settings import ExperimentSettings


def page(
    store: Store,
    ledgers: Sequence[tuple[ExperimentSettings, Sequence[Cell]]],
    words: Sequence[str],
) -> str:
    """Return the page of one or more reproductions.

    Parameters
    ----------
    store : Store
    ledgers : sequence of (ExperimentSettings, sequence of Cell)
    words : sequence of str
        The command's arguments besides the store.
    """
    command = " ".join(
        ["olscale reproduce", *words, "--store STORE --no-run --markdown FILE"]
    )
    parts = [
        "# Reproduction of published tables",
        f"Made by `{command}` from a metrics store; do not edit.",
    ]
    if any(cells for _, cells in ledgers):
        parts.append(f"In the tables: {_plain(LEGEND)}")
    for experiment, cells in ledgers:
        parts += _reproduction(store, experiment, cells)
    return "\n\n".join(parts) + "\n"


def filled_in(
    text: str,
    store: Store,
    ledgers: Sequence[tuple[ExperimentSettings, Sequence[Cell]]],
) -> str | None:
    """Return a page with the tables of reproductions in their places; None if it has no place.

    The place of one is between the lines ``<!-- olscale reproduce NAME -->`` and ``<!-- end -->``;
    that of its second table alone has ``NAME, table 2`` in place of ``NAME``.

    Parameters
    ----------
    text : str
        The page, which says more than the tables do.
    store : Store
    ledgers : sequence of (ExperimentSettings, sequence of Cell)

    Examples
    --------
    >>> filled_in("A page without a place.", None, []) is None
    True
    """
    is_filled = False
    for experiment, cells in ledgers:
        place = re.compile(
            rf"(<!-- olscale reproduce {re.escape(experiment.name)}(?:, table (\d+))? -->\n)"
            r".*?(<!-- end -->)",
            re.DOTALL,
        )
        if place.search(text):
            # By a function, since backslashes of a replacement text would be escapes.
            text = place.sub(partial(_fill, store, experiment, cells), text)
            is_filled = True
    return text if is_filled else None


def _fill(
    store: Store,
    experiment: ExperimentSettings,
    cells: Sequence[Cell],
    place: re.Match[str],
) -> str:
    """Return a place with the tables of an experiment in it, or with one of them."""
    if cells:
        tables = [*published_tables(cells), *rank_tables(cells)]
    else:
        tables = measured_tables(store, experiment)
    if place[2] is not None:
        number = int(place[2])
        tables = tables[number - 1 : number]
    parts = "\n\n".join(_titled(tables, "**"))
    return f"{place[1]}\n{parts}\n\n{place[3]}"


def _reproduction(
    store: Store, experiment: ExperimentSettings, cells: Sequence[Cell]
) -> list[str]:
    parts = [f"## {_plain(experiment.name)}"]
    if not cells:
        parts.append("Its paper has no table to set beside these figures.")
        return [*parts, *_titled(measured_tables(store, experiment))]
    parts.append(f"{len(cells)} published cells: {counts(cells)}.")
    published = published_tables(cells)
    # The page has the legend once, at its top, and what all tables of a paper note above them.
    common = set.intersection(*(set(table.notes) for table in published))
    shared = [note for note in published[0].notes if note in common]
    parts += [f"- {_plain(note)}" for note in shared if note != LEGEND]
    parts += _titled(
        [
            *(
                replace(
                    table,
                    notes=tuple(note for note in table.notes if note not in common),
                )
                for table in published
            ),
            *rank_tables(cells),
        ]
    )
    # The figures themselves are in the table of all cells.
    lines = [
        [line.partition(":")[0], "; ".join(causes)]
        for line, causes in differences(cells)
    ]
    if lines:
        parts += [
            "### Figures that differ",
            markdown_table([["cell", "settings tried"], *lines]),
        ]
    parts += ["### All cells", _ledger(cells)]
    return parts


def markdown(tables: Sequence[Table]) -> str:
    """Return tables under their titles, with notes as lists and the best of columns in bold."""
    return "\n\n".join(_titled(tables, "**")) + "\n"


def _titled(tables: Sequence[Table], bold: str = "") -> list[str]:
    parts = []
    for table in tables:
        notes = [f"- {_plain(note)}" for note in (*table.footnotes, *table.notes)]
        if bold and notes:
            notes = ["\n".join(notes)]
        parts += [f"### {_plain(table.title)}", _table(table, bold), *notes]
    return parts


def _table(table: Table, bold: str) -> str:
    lines = [["", *table.columns]]
    lines += [
        [name, *(_text(entry, bold) for entry in line)]
        for name, line in zip(table.rows, table.entries, strict=True)
    ]
    return markdown_table(lines)


def _text(entry: Entry, bold: str) -> str:
    marks = "".join(mark.sign for mark in entry.marks)
    if not entry.mean:
        return entry.note + marks
    text = entry.mean
    # Columns of a terminal are aligned with blanks, and a dash stands for no deviation.
    if entry.std.strip() not in ("", "-"):
        text = f"{text} ± {entry.std}"
    if entry.best:
        text = f"{bold}{text.strip()}{bold}"
    if bold and entry.alike:
        text += "~"
    if entry.partial:
        text += "!"
    return (text + marks).strip()


def _ledger(cells: Sequence[Cell]) -> str:
    head = (
        "table|dataset|method|published|ours|runs|deviations|difference|Welch's "
        "p|verdict|parameters|tuned on"
    )
    lines = [head.split("|")]
    for cell in cells:
        published = cell.published
        summary = cell.summary
        setting = cell.setting
        difference = cell.difference
        measured = ["", ""]
        if summary is not None:
            measured = [with_deviation(summary.mean, summary.std), str(summary.n)]
        distances = ["", "", ""]
        if difference is not None:
            relative = f"{100 * difference.relative:+.0f} %"
            distances = [f"{difference.distance:+.1f}", relative, p_text(difference.p)]
        params = ""
        if setting is not None and setting.params is not None:
            params = described(setting)
        lines.append(
            [
                published.table,
                published.dataset,
                published.learner,
                with_deviation(published.mean, published.std),
                *measured,
                *distances,
                cell.verdict,
                params,
                _tuned(cell),
            ]
        )
    return markdown_table(lines)


def _tuned(cell: Cell) -> str:
    how = None
    if cell.setting is not None:
        how = cell.setting.tuned
    if how is None:
        return ""
    parts = parts_text(how["folds"], how["split"])
    grid = ", ".join(
        f"{name} ({_values(values)})" for name, values in how["grid"].items()
    )
    return f"{grid} on {parts}"


def _values(values: list[Any] | Mapping[str, float]) -> str:
    """Say how many values there were to choose from, or from which range they were drawn."""
    if isinstance(values, list):
        return f"{len(values)} values"
    return f"{values['low']:g} to {values['high']:g}"


def _plain(text: str) -> str:
    """Return text on one line that begins no HTML; our own notes may have code in backticks."""
    return re.sub(r"<(?=[A-Za-z!/?])", "&lt;", printable(text))


def markdown_table(lines: Sequence[Sequence[str]]) -> str:
    """Return lines of cells, the first of them the head, as a table of Markdown."""
    # A bar would end the cell.
    head, *body = [
        [_plain(text).replace("|", "\\|") for text in line] for line in lines
    ]
    rows = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
