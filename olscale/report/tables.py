"""Pivots of summaries to learners x datasets, free of any output format.

One table per metric and protocol. Entries hold figures as text; renderers only lay them out.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from olscale.analysis.standing import is_comparable, looked_ahead, why_incomparable
from olscale.analysis.summary import Summary, by_setting, one_of_each_setting
from olscale.measures import (
    HEADLINES,
    deviation_of,
    distance_from_best,
    figure_of,
    measure_of,
    metric_words,
)
from olscale.report.labels import (
    Column,
    Row,
    column_labels,
    column_of,
    heading,
    own_transforms_note,
    protocol_parts,
    protocol_text,
    row_labels,
    rows_of,
    transforms_note,
)
from olscale.report.marks import (
    Mark,
    caution_marks,
    footnotes,
    is_of_classes,
    look_ahead_mark,
    reference_mark,
    runs_mark,
    usual_replicates,
)
from olscale.report.notes import (
    count_notes,
    own_setting_notes,
    partial_notes,
    tuned_notes,
    version_notes,
)
from olscale.results import canonical_json
from olscale.results.settings import natural_order

_WORDS = {"learner_error": "failed"}
"""Words of outcomes that a table has in place of their names."""

_WHY = "`olscale status` says why runs failed."


@dataclass(frozen=True, slots=True)
class Entry:
    """One cell of a table.

    Parameters
    ----------
    mean, std : str
        Formatted figures; `std` is empty for a single run, both are empty if there is nothing to
        show.
    note : str
        Why there is no figure: ``-`` (not run or not measured) or the outcome.
    best : bool
        Whether no other entry of the column is better, at the digits shown.
    partial : bool
        Whether some of the runs failed, so that the figures cover only the others.
    alike : bool
        Whether it does not differ significantly from the best.
    shade : int
        From 1, the best rank of a data set, to 5; 0 for none.
    marks : tuple of Mark
        What a reader must also know about the figure.
    """

    mean: str = ""
    std: str = ""
    note: str = ""
    best: bool = False
    partial: bool = False
    alike: bool = False
    shade: int = 0
    marks: tuple[Mark, ...] = ()

    def marked(self, mark: Mark) -> "Entry":
        """Return the entry with one more mark."""
        return self._with(self.best, self.alike, (*self.marks, mark))

    def as_best(self) -> "Entry":
        """Return the entry as the best of its column."""
        return self._with(True, self.alike, self.marks)

    def as_alike(self) -> "Entry":
        """Return the entry as one that does not differ significantly from the best."""
        return self._with(self.best, True, self.marks)

    def _with(self, best: bool, alike: bool, marks: tuple[Mark, ...]) -> "Entry":
        # Tables of thousands of learners mark each entry: `replace` takes five times as long.
        return Entry(
            self.mean, self.std, self.note, best, self.partial, alike, self.shade, marks
        )


@dataclass(frozen=True, slots=True)
class Table:
    """A pivot, ready to be laid out.

    Parameters
    ----------
    title : str
        Metric, unit and protocol.
    columns : tuple of str
        Names of the datasets.
    rows : tuple of str
        Names of the learners, with what distinguishes rows of one learner.
    entries : tuple of tuple of Entry, of shape (rows, columns)
    notes : tuple of str
        Cautions for readers, one sentence per note.
    advice : tuple of str
        Commands that a user may want to run; not for a paper.
    best : str
        What a mark of the best means.
    heading : str
        The title without the protocol, where a page shows that as chips.
    chips : tuple of str
        The options of the protocol.
    topic : str
        The metric, in words by which a page filters tables and figures.
    better : {"lower", "higher", ""}
        Which of two figures is the better one, where all columns have one metric.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    entries: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...]
    advice: tuple[str, ...] = ()
    best: str = "best of the column"
    heading: str = ""
    chips: tuple[str, ...] = ()
    topic: str = ""
    better: str = ""

    @property
    def footnotes(self) -> tuple[str, ...]:
        """The meaning of the entries' marks, one line per mark."""
        return footnotes(entry.marks for line in self.entries for entry in line)


_Cells = Mapping[tuple[Row, Column], Mapping[str, Summary]]  # by metric


def tables(summaries: Iterable[Summary], metric: str | None = None) -> list[Table]:
    """Pivot summaries to one table per metric and protocol.

    Parameters
    ----------
    summaries : iterable of Summary
    metric : str, optional
        The metric to show. By default `HEADLINES`, the test error where there is a test split and
        the cumulative error, and the measures that the protocol asks for, each in a separate
        table.

    Returns
    -------
    list of Table
        Errors and other fractions of rows are in percent.
    """
    by_protocol: dict[str, dict[tuple[Row, Column], dict[str, Summary]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for group in by_setting(summaries):
        cells = by_protocol[canonical_json(group[0].protocol)]
        column = column_of(group[0])
        by_metric = {s.metric: s for s in group}
        for row in rows_of(group[0]):
            # A setting that several experiments plan under their own labels has a row
            # for each.
            cells[row, column] |= by_metric
    results = []
    for protocol in sorted(by_protocol, key=lambda text: (natural_order(text), text)):
        cells = by_protocol[protocol]
        columns_with = _columns_with(cells)
        shown: set[Column] = set()
        options = json.loads(protocol)
        chosen = [metric] if metric else _headlines(cells, options)
        for i, name in enumerate(chosen):
            columns = set(columns_with[name])
            if i == len(chosen) - 1:
                # A dataset without any figure keeps a column in the last table, which says why.
                columns |= {column for _, column in cells} - shown - columns
            shown |= columns
            results.append(_table(name, options, cells, sorted(columns)))
    return results


def with_notes(tables: Sequence[Table], notes: Iterable[str]) -> list[Table]:
    """Return tables, with notes on all of them below the first."""
    if not tables:
        return []
    return [replace(tables[0], notes=(*tables[0].notes, *notes)), *tables[1:]]


def _columns_with(cells: _Cells) -> dict[str, set[Column]]:
    """Return, by metric, the columns that have a figure of it."""
    columns: dict[str, set[Column]] = defaultdict(set)
    for (_, column), metrics in cells.items():
        for metric in metrics:
            columns[metric].add(column)
    return columns


def usual_metrics(summaries: Sequence[Summary]) -> list[str]:
    """Return the columns of a leaderboard that none is asked of.

    They are the errors, the measures that experiments ask for, and a speed.
    """
    available = {summary.metric for summary in summaries}
    measures = [
        name for s in one_of_each_setting(summaries) for name in _asked(s.protocol)
    ]
    names = [*HEADLINES, *measures, "rows_per_cpu_second"]
    return [name for name in dict.fromkeys(names) if name in available]


def _met_as_they_stand(
    columns: Sequence[Column],
    labels: Sequence[str],
    grid: Sequence[Sequence[Summary | None]],
) -> tuple[list[Column], list[str]]:
    """Return the columns, and their labels, with a learner that has the column's transforms."""
    # A table of one learner would else name transforms that only others have.
    met = []
    for j, column in enumerate(columns):
        of_column = [s for s in (line[j] for line in grid) if s is not None]
        if not of_column or any(s.transforms == column.transforms for s in of_column):
            met.append(j)
    return [columns[j] for j in met], [labels[j] for j in met]


def _headlines(cells: _Cells, protocol: Mapping[str, Any]) -> list[str]:
    """Return the metrics that are shown unasked: errors, and what the protocol asks for."""
    available = {metric for metrics in cells.values() for metric in metrics}
    names = dict.fromkeys([*HEADLINES, *_asked(protocol)])
    return [name for name in names if name in available] or [
        # Without headlines there is still one table, or failed runs would be shown
        # nowhere.
        min(available - {"outcome"}, default="outcome")
    ]


def _asked(protocol: Mapping[str, Any]) -> list[str]:
    """Return the metrics of the measures that a protocol asks for."""
    measures = protocol.get("measures", ())
    return [name for measure in measures for name in (f"test_{measure}", measure)]


def _table(
    metric: str, protocol: Mapping[str, Any], cells: _Cells, columns: list[Column]
) -> Table:
    at_column = {column: j for j, column in enumerate(columns)}
    present = {
        place: metrics for place, metrics in cells.items() if place[1] in at_column
    }
    labels, own = row_labels(present)
    # Rows may share a label, and then share a line of the table.
    names = list(dict.fromkeys(labels[row] for row in sorted(labels, key=Row.order)))

    at_row = {name: i for i, name in enumerate(names)}
    grid: list[list[Summary | None]] = [[None] * len(columns) for _ in names]
    entries = [[Entry(note="-") for _ in columns] for _ in names]
    absent = reference_mark(
        why_incomparable(
            metrics[metric] for metrics in present.values() if metric in metrics
        )
    )
    for (row, column), metrics in present.items():
        i = at_row[labels[row]]
        j = at_column[column]
        grid[i][j], entries[i][j] = shown_figure(metrics, metric, absent)
    mark_figures(grid, entries, [metric] * len(columns))

    labels_of = column_labels(columns)
    advice = []
    if own:
        advice.append("`--format json` shows all parameters.")
    if any(entry.note not in ("", "-", "nan") for line in entries for entry in line):
        advice.append(_WHY)
    counts = {
        summary.n
        for line in grid
        for summary in line
        if summary is not None and summary.n
    }
    return Table(
        title=f"{heading(metric)}, {protocol_text(protocol)}",
        columns=tuple(labels_of),
        rows=tuple(names),
        entries=tuple(tuple(line) for line in entries),
        notes=(
            *count_notes(counts),
            *transforms_note(*_met_as_they_stand(columns, labels_of, grid)),
            *own_transforms_note(
                (name, s) for name, line in zip(names, grid, strict=True) for s in line
            ),
            *partial_notes(names, labels_of, grid),
            *own_setting_notes(own, grid),
            *version_notes(
                next(iter(metrics.values())) for metrics in present.values()
            ),
            *tuned_notes(grid),
        ),
        advice=tuple(advice),
        heading=heading(metric),
        chips=tuple(protocol_parts(protocol)),
        topic=metric_words(metric),
        better=measure_of(metric).better,
    )


def shown_figure(
    metrics: Mapping[str, Summary], metric: str, absent: Mark
) -> tuple[Summary | None, Entry]:
    """Return the summary behind a cell, as far as it may be compared, and the cell's entry.

    Parameters
    ----------
    metrics : mapping of str to Summary
        What was measured of one setting on one dataset, by metric.
    metric : str
        The metric that the cell shows.
    absent : Mark
        Stands in place of a figure that is compared with no others.
    """
    summary = metrics.get(metric)
    # References that predict nothing early are excluded, so that they never become the best.
    if summary is not None and not is_comparable(summary):
        return None, Entry(note="-", marks=(absent,))
    return summary, _entry(summary, next(iter(metrics.values())), metric)


def mark_figures(
    grid: list[list[Summary | None]], entries: list[list[Entry]], metrics: Sequence[str]
) -> None:
    """Mark figures that look ahead, means of other runs, and the best of each column.

    Parameters
    ----------
    grid : list of list of Summary or None, of shape (rows, columns)
    entries : list of list of Entry, of the same shape
        The cells of the table, which get the marks.
    metrics : sequence of str
        The metric of each column.
    """
    _mark_looks_ahead(grid, entries)
    for j, metric in enumerate(metrics):
        column = [line[j] for line in grid]
        not_comparable = _mark_runs(column, entries, j) | _of_classes(metric, column)
        _mark_best(metric, column, not_comparable, entries, j)


def _entry(summary: Summary | None, group: Summary, metric: str) -> Entry:
    if summary is None or summary.n == 0:
        if group.metric != "outcome" or not group.failures:
            # Other runs of the setting ended well: this metric was not measured, and
            # nothing failed.
            return Entry(note="-")
        return Entry(
            note=", ".join(_WORDS.get(outcome, outcome) for outcome in group.failures)
        )
    if math.isnan(summary.mean):
        # A measure without a value, such as the AUC of a single class: not the same as
        # no run.
        return Entry(note="nan")
    mean = figure_of(metric, summary.mean)
    return Entry(
        mean=mean,
        std=deviation_of(metric, summary.std, mean) if summary.n > 1 else "",
        partial=bool(summary.failures),
        marks=caution_marks([summary], metric),
    )


def _mark_looks_ahead(
    grid: list[list[Summary | None]], entries: list[list[Entry]]
) -> None:
    """Mark the figures that rest on rows of the future."""
    items = {
        (i, j): looked_ahead(summary)
        for i, line in enumerate(grid)
        for j, summary in enumerate(line)
        if summary is not None and summary.n
    }
    mark = look_ahead_mark(name for names in items.values() for name in names)
    for (i, j), names in items.items():
        if names:
            entries[i][j] = entries[i][j].marked(mark)


def _mark_runs(
    column: list[Summary | None], entries: list[list[Entry]], j: int
) -> set[int]:
    """Mark the means of a column that average other runs than most; return their rows."""
    usual = usual_replicates(column)
    not_comparable = set()
    for i, summary in enumerate(column):
        if (
            summary is not None
            and summary.n
            and (summary.n, summary.replicates) != usual
        ):
            entries[i][j] = entries[i][j].marked(runs_mark(summary.n))
            not_comparable.add(i)
    return not_comparable


def _of_classes(metric: str, column: list[Summary | None]) -> set[int]:
    """Return the rows of a column whose figures rank rows by predicted classes alone."""
    return {
        i
        for i, summary in enumerate(column)
        if summary is not None and is_of_classes([summary], metric)
    }


def _mark_best(
    metric: str,
    column: list[Summary | None],
    others: set[int],
    entries: list[list[Entry]],
    j: int,
) -> None:
    """Mark the best figure of a column, except among `others`; a single figure has no best."""
    # Of one row each figure would be the best.
    if len(column) < 2 or not measure_of(metric).better:
        return
    means = {
        i: summary.mean
        for i, summary in enumerate(column)
        if summary is not None and not math.isnan(summary.mean) and i not in others
    }
    if not means or (others and len(means) == 1):
        return
    best = figure_of(
        metric, min(means.values(), key=lambda mean: distance_from_best(metric, mean))
    )
    for i in means:
        entry = entries[i][j]
        # compares figures as shown, so that visible ties are marked as ties
        if entry.mean == best:
            entries[i][j] = entry.as_best()
