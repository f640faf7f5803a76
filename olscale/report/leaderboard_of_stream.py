"""The leaderboard of one data set under one protocol."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from olscale.analysis.compare import LEAST
from olscale.analysis.rank_tests import ALPHA
from olscale.analysis.replicates import ReplicateFigures, Within, compare_within
from olscale.analysis.standing import is_comparable, why_incomparable
from olscale.analysis.summary import Summary
from olscale.measures import distance_from_best, measure_of, metric_words
from olscale.report.labels import (
    Row,
    column_of,
    metric_text,
    own_transforms_note,
    protocol_text,
    row_labels,
    rows_of,
)
from olscale.report.leaderboard_words import (
    ALIKE,
    column_words,
    least_blocks,
    too_few,
    untested_notes,
)
from olscale.report.marks import Mark, reference_mark
from olscale.report.notes import (
    count_notes,
    own_setting_notes,
    partial_notes,
    tuned_notes,
    version_notes,
)
from olscale.report.tables import Entry, Table, mark_figures, shown_figure

_NOT_MEASURED = Mark("m", "has none of this metric in its records.")


@dataclass(frozen=True, slots=True)
class _Line:
    """A learner on one data set: its name in the table and what was measured, by metric."""

    name: str
    by_metric: Mapping[str, Summary]


def stream_table(
    title: str,
    summaries: Sequence[Summary],
    asked: Sequence[str],
    figures: ReplicateFigures,
) -> Table:
    """Return the leaderboard of one data set under one protocol."""
    available = {summary.metric for summary in summaries}
    metrics = [metric for metric in asked if metric in available]
    missing = [metric_words(metric) for metric in asked if metric not in available]
    cells: dict[Row, dict[str, Summary]] = defaultdict(dict)
    for summary in summaries:
        for row in rows_of(summary):
            cells[row][summary.metric] = summary
    column = column_of(summaries[0])
    labels, own = row_labels((row, column) for row in cells)
    lines = [_Line(labels[row], cells[row]) for row in sorted(cells, key=Row.order)]
    if metrics:
        # A stable sort: learners without a figure stay in the order of the experiment.
        lines.sort(key=lambda line: _distance(line.by_metric.get(metrics[0])))

    absent = {
        metric: reference_mark(
            why_incomparable(s for s in summaries if s.metric == metric)
        )
        for metric in metrics
    }
    grid: list[list[Summary | None]] = []
    entries: list[list[Entry]] = []
    for line in lines:
        cells_of_line = [
            _cell(line.by_metric, metric, absent[metric]) for metric in metrics
        ]
        grid.append([summary for summary, _ in cells_of_line])
        entries.append([entry for _, entry in cells_of_line])
    mark_figures(grid, entries, metrics)

    names = [line.name for line in lines]
    untested: dict[str, None] = {}
    for j, metric in enumerate(metrics):
        of_column = [line[j] for line in grid]
        within = _against_best(names, of_column, entries, j, metric, figures)
        if isinstance(within, str):
            untested |= {within: None} if within else {}
            continue
        # The first of each pair is the best.
        alike = {pair.b for pair in within.pairs if pair.p_corrected > ALPHA}
        for i, name in enumerate(names):
            if name in alike:
                entries[i][j] = entries[i][j].as_alike()

    protocol = summaries[0].protocol
    transforms = ", ".join(column.transforms)
    if all(s.transforms != column.transforms for s in summaries):
        transforms = ""
    counts = {
        summary.n
        for line in grid
        for summary in line
        if summary is not None and summary.n
    }
    has_alike = any(entry.alike for line in entries for entry in line)
    return Table(
        title=f"Leaderboard of {_with_protocol(title, protocol_text(protocol))}",
        columns=tuple(column_words(metric) for metric in metrics),
        rows=tuple(names),
        entries=tuple(tuple(line) for line in entries),
        notes=(
            *([ALIKE] if has_alike else []),
            *(
                [f"No run on this data set has {', '.join(missing)}."]
                if missing
                else []
            ),
            *untested_notes(untested),
            *count_notes(counts),
            *([f"Transforms: {transforms}."] if transforms else []),
            *own_transforms_note(
                (line.name, next(iter(line.by_metric.values()))) for line in lines
            ),
            *partial_notes(names, [metric_text(metric) for metric in metrics], grid),
            *own_setting_notes(own, grid),
            *version_notes(next(iter(line.by_metric.values())) for line in lines),
            *tuned_notes(grid),
        ),
        advice=("`--format json` shows all parameters.",) if own else (),
    )


def _with_protocol(title: str, protocol: str) -> str:
    # Streams that differ by protocol alone have it in their title already.
    return title if protocol in title else f"{title}, {protocol}"


def _distance(summary: Summary | None) -> float:
    """Return what learners are sorted by; those without a figure come last."""
    if summary is None or math.isnan(summary.mean) or not is_comparable(summary):
        return math.inf
    return distance_from_best(summary.metric, summary.mean)


def _cell(
    by_metric: Mapping[str, Summary], metric: str, absent: Mark
) -> tuple[Summary | None, Entry]:
    if metric not in by_metric and "outcome" not in by_metric:
        return None, Entry(note="-", marks=(_NOT_MEASURED,))
    return shown_figure(by_metric, metric, absent)


def _against_best(
    names: Sequence[str],
    column: Sequence[Summary | None],
    entries: Sequence[Sequence[Entry]],
    j: int,
    metric: str,
    figures: ReplicateFigures,
) -> Within | str:
    """Compare the best of a column with the others that have the same runs, or say why not.

    Where there is nothing to compare, the reason is empty.
    """
    words = metric_words(metric)
    direction = measure_of(metric).better
    if not direction:
        return f"{words}: neither more nor less of it is better"
    best = next((i for i in range(len(names)) if entries[i][j].best), None)
    if best is None:
        return ""
    reference = column[best]
    assert reference is not None  # an entry marked as the best has a figure
    same_runs = [
        i
        for i, summary in enumerate(column)
        if summary is not None
        and (summary.n, summary.replicates) == (reference.n, reference.replicates)
    ]
    by_setting = figures.of(metric)
    values = [by_setting.get(column[i].key, {}) for i in same_runs]  # type: ignore[union-attr]
    within = compare_within(
        reference.dataset,
        [names[i] for i in same_runs],
        values,
        reference.protocol,
        metric,
        direction == "higher",
        names[best],
        reference.column_transforms,
    )
    if within is None:
        return f"one run of each learner, and at least {LEAST} are needed"
    if not within.pairs or math.isnan(within.pairs[0].p):
        return within.note.removeprefix("Not tested: ").rstrip(".")
    first = within.pairs[0]
    runs = first.wins + first.ties + first.losses
    # With so few runs not even a learner that is better in each of them could be told
    # apart.
    if within.test == "Wilcoxon" and runs < least_blocks(len(within.pairs)):
        return too_few(runs, "runs", len(within.pairs))
    return within
