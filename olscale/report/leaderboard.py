"""Leaderboards: learners by metrics, sorted by the first, with what a test cannot tell apart.

A leaderboard has a table for each data set and protocol. Where learners ran on several data sets,
a table of means over these, with mean ranks, comes first.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from olscale.addresses import redacted
from olscale.analysis.compare import LEAST
from olscale.analysis.rank_tests import ALPHA
from olscale.analysis.replicates import ReplicateFigures, Within, compare_within
from olscale.analysis.standing import is_comparable, looked_ahead, why_incomparable
from olscale.analysis.status import unfinished_experiments
from olscale.analysis.summary import Summary, one_of_each_setting, summarise
from olscale.errors import ReportError, UnknownNameError
from olscale.measures import distance_from_best, figure_of, measure_of, metric_words
from olscale.report.choice import streams
from olscale.report.comparison import Compared, compared
from olscale.report.labels import (
    Row,
    column_of,
    heading,
    metric_text,
    protocol_text,
    row_labels,
    rows_of,
)
from olscale.report.marks import Mark, caution_marks, look_ahead_mark, reference_mark
from olscale.report.notes import (
    count_notes,
    own_setting_notes,
    partial_notes,
    tuned_notes,
    unfinished_notes,
    version_notes,
)
from olscale.report.table_view import TableView
from olscale.report.tables import (
    Entry,
    Table,
    mark_figures,
    select,
    shown_figure,
    usual_metrics,
)
from olscale.results import Store, open_store
from olscale.results.settings import SettingKey, asked_text, natural_order
from olscale.results.store import OnDamage
from olscale.system.garbage import seldom_collected

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NOT_MEASURED = Mark("m", "has none of this metric in its records.")

ALIKE = "~ does not differ significantly from the best of the column (corrected p above 0.05)."
"""What the sign beside a figure means."""


class Leaderboard(TableView):
    """Learners by metrics; see `leaderboard`.

    Iterating gives a dictionary per learner and data set, with the mean of each metric.

    Parameters
    ----------
    store : Store
    metrics : sequence of str
        Columns, the one to sort by first.
    datasets, learners : sequence of str
        Only these, by name or label; all when empty.
    """

    def __init__(
        self,
        store: Store,
        metrics: Sequence[str] = (),
        datasets: Sequence[str] = (),
        learners: Sequence[str] = (),
    ) -> None:
        self._path = redacted(store.path)
        summaries = select(summarise(store), (), datasets, learners)
        self.metrics = list(dict.fromkeys(metrics)) or usual_metrics(summaries)
        self._all = summaries
        self._summaries = [s for s in summaries if s.metric in (*self.metrics, "outcome")]
        self._unfinished = unfinished_experiments(store)
        self._tables = leaderboard_tables(store, summaries, self.metrics)

    def tables(self) -> list[Table]:
        """Return the means over data sets, where there are several, and each data set's table."""
        return list(self._tables)

    def figure(self, cost: str = "rows_per_cpu_second") -> Figure:
        """Draw the first metric against a cost, with a line through what nothing else beats in both.

        Figures are means over the data sets.

        Parameters
        ----------
        cost : str
            Such as ``"rows_per_cpu_second"`` or ``"model_bytes"``.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        UnknownNameError
            If no run has the cost.
        ReportError
            If matplotlib is not installed, or more of the first metric is better.
        """
        from olscale.report.figures.pareto import CostPoint, pareto_figure
        from olscale.report.figures.style import need_matplotlib

        need_matplotlib()
        metric = self.metrics[0]
        if measure_of(metric).better != "lower":
            raise ReportError(
                f"{metric_words(metric)} is drawn against no cost: expected a leaderboard whose "
                "first metric is an error"
            )
        check_metrics(self._all, [cost])
        values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for summary in self._all:
            if summary.metric in (metric, cost) and math.isfinite(summary.mean):
                values[summary.label][summary.metric].append(summary.mean)
        scale = 100 if measure_of(metric).unit == "percent" else 1
        points = [
            CostPoint(label, fmean(of_label[cost]), scale * fmean(of_label[metric]))
            for label, of_label in values.items()
            if len(of_label) == len({metric, cost})
        ]
        return pareto_figure({cost: points}, {cost: measure_of(cost).better == "higher"}, metric)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        by_setting: dict[SettingKey, dict[str, Any]] = {}
        for summary in self._summaries:
            line = by_setting.setdefault(
                summary.key,
                {
                    "dataset": summary.dataset_label,
                    "transforms": ",".join(summary.transforms),
                    "protocol": protocol_text(summary.protocol),
                    "learner": summary.label,
                    "params": dict(summary.params),
                }
                | dict.fromkeys(self.metrics, math.nan),
            )
            if summary.metric in line:
                line[summary.metric] = summary.mean
        return iter(by_setting.values())

    def _empty_text(self) -> str:
        return f"no finished runs in {self._path}"

    def _notes(self) -> Sequence[str]:
        return unfinished_notes(self._unfinished)


@seldom_collected()
def leaderboard(
    store: Store | str | os.PathLike[str],
    metrics: Sequence[str] = (),
    datasets: Sequence[str] = (),
    learners: Sequence[str] = (),
) -> Leaderboard:
    """Return learners by metrics, sorted by the first, as a notebook and papers show them.

    Parameters
    ----------
    store : Store or path
        Metrics store.
    metrics : sequence of str
        Columns, the one to sort by first; by default the errors, the measures that experiments
        ask for, and rows per processor second.
    datasets, learners : sequence of str
        Only these, by name or label; all when empty.

    Returns
    -------
    Leaderboard
        With `to_latex`, `to_markdown`, `to_html` and `to_pandas`.

    Raises
    ------
    UnknownNameError
        If no run has one of the metrics, or a name does not occur.

    Examples
    --------
    >>> leaderboard(open_store("memory://doctest-leaderboard", create=True))
    no finished runs in memory://doctest-leaderboard
    """
    opened = store if isinstance(store, Store) else open_store(store)
    return Leaderboard(opened, metrics, datasets, learners)


@dataclass(frozen=True, slots=True)
class _Line:
    """A learner on one data set: its name in the table and what was measured, by metric."""

    name: str
    by_metric: Mapping[str, Summary]


def leaderboard_tables(
    store: Store,
    summaries: Sequence[Summary],
    metrics: Sequence[str],
    on_damage: OnDamage = "raise",
) -> list[Table]:
    """Return learners by metrics: means over data sets where there are several, then each of them.

    Parameters
    ----------
    store : Store
    summaries : sequence of Summary
        Summaries of all or some of its runs: they select learners and data sets.
    metrics : sequence of str
        Columns, the one to sort by first.
    on_damage : {"raise", "skip"}
        What to do about damaged files of the store.

    Returns
    -------
    list of Table

    Raises
    ------
    UnknownNameError
        If no run has one of the metrics.
    """
    if not summaries:
        return []
    check_metrics(summaries, metrics)
    # A setting without any of the metrics keeps its line, which says so.
    first = {id(summary) for summary in one_of_each_setting(summaries)}
    summaries = [s for s in summaries if s.metric in metrics or id(s) in first]
    figures = ReplicateFigures(store, on_damage)
    tables = []
    by_protocol: dict[str, list[Summary]] = defaultdict(list)
    for summary in summaries:
        by_protocol[asked_text(summary.protocol)].append(summary)
    for protocol in sorted(by_protocol, key=lambda text: (natural_order(text), text)):
        of_protocol = by_protocol[protocol]
        by_stream = streams(of_protocol)
        if len({summary.fingerprint for summary in of_protocol}) > 1:
            tables += _means_table(store, of_protocol, metrics, on_damage, figures)
        for title, of_stream in by_stream.items():
            tables.append(_stream_table(title, of_stream, metrics, figures))
    return tables


def check_metrics(summaries: Sequence[Summary], metrics: Sequence[str]) -> None:
    """Refuse metrics that no run has.

    Raises
    ------
    UnknownNameError
        With the nearest name that there is.
    """
    available = {summary.metric for summary in summaries} - {"outcome"}
    for metric in metrics:
        if metric not in available:
            raise UnknownNameError("metric in this store", metric, available)


def _stream_table(
    title: str, summaries: Sequence[Summary], asked: Sequence[str], figures: ReplicateFigures
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
        lines.sort(key=lambda line: _distance(line.by_metric.get(metrics[0])))

    absent = {
        metric: reference_mark(why_incomparable(s for s in summaries if s.metric == metric))
        for metric in metrics
    }
    grid: list[list[Summary | None]] = []
    entries: list[list[Entry]] = []
    for line in lines:
        cells_of_line = [_cell(line.by_metric, metric, absent[metric]) for metric in metrics]
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
        alike = {pair.b for pair in within.pairs if pair.p_corrected > ALPHA}
        for i, name in enumerate(names):
            if name in alike:
                entries[i][j] = replace(entries[i][j], alike=True)

    protocol = summaries[0].protocol
    transforms = ", ".join(summaries[0].transforms)
    counts = {summary.n for line in grid for summary in line if summary is not None and summary.n}
    has_alike = any(entry.alike for line in entries for entry in line)
    return Table(
        title=f"Leaderboard of {_with_protocol(title, protocol_text(protocol))}",
        columns=tuple(_short(metric) for metric in metrics),
        rows=tuple(names),
        entries=tuple(tuple(line) for line in entries),
        notes=(
            *([ALIKE] if has_alike else []),
            *([f"No run on this data set has {', '.join(missing)}."] if missing else []),
            *untested_notes(untested),
            *count_notes(counts),
            *([f"Transforms: {transforms}."] if transforms else []),
            *partial_notes(names, [metric_text(metric) for metric in metrics], grid),
            *own_setting_notes(own, grid),
            *version_notes(next(iter(line.by_metric.values())) for line in lines),
            *tuned_notes(grid),
        ),
        advice=("`--format json` shows all parameters.",) if own else (),
    )


def untested_notes(reasons: Mapping[str, None]) -> list[str]:
    """Return why differences of some columns are not tested, in one sentence."""
    if not reasons:
        return []
    return [f"Not tested: {'; '.join(reasons)}."]


def _with_protocol(title: str, protocol: str) -> str:
    # Streams that differ by protocol alone have it in their title already.
    return title if protocol in title else f"{title}, {protocol}"


def _short(metric: str) -> str:
    """Return the words at the head of a column."""
    words = metric_words(metric)
    return f"{words} %" if measure_of(metric).unit == "percent" else words


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
        reference.transforms,
    )
    if within is None:
        return f"one run of each learner, and at least {LEAST} are needed"
    if not within.pairs or math.isnan(within.pairs[0].p):
        return within.note.removeprefix("Not tested: ").rstrip(".")
    first = within.pairs[0]
    runs = first.wins + first.ties + first.losses
    if within.test == "Wilcoxon" and runs < least_blocks(len(within.pairs)):
        return too_few(runs, "runs", len(within.pairs))
    return within


def least_blocks(pairs: int) -> int:
    """Return how many blocks Wilcoxon's test needs to find a difference in one of several pairs.

    Of n blocks the least p is 2 / 2 ** n, and Holm's correction multiplies it by the pairs.

    Examples
    --------
    >>> least_blocks(1), least_blocks(3)
    (6, 7)
    """
    return 1 + math.ceil(math.log2(pairs / ALPHA))


def too_few(blocks: int, of_what: str, pairs: int) -> str:
    """Say that so few blocks find no difference, however clear it is."""
    return (
        f"with {blocks} {of_what} no difference between {pairs + 1} learners reaches a corrected p "
        f"of {ALPHA}; at least {least_blocks(pairs)} are needed"
    )


def _means_table(
    store: Store,
    summaries: Sequence[Summary],
    metrics: Sequence[str],
    on_damage: OnDamage,
    figures: ReplicateFigures,
) -> list[Table]:
    """Return means over data sets and mean ranks; no table where nothing is common to learners."""
    comparisons: dict[str, Compared] = {}
    notes: list[str] = []
    first_of_setting = {id(summary) for summary in one_of_each_setting(summaries)}
    for metric in metrics:
        if not measure_of(metric).better:
            notes.append(
                f"{heading(metric)} stands in the tables of single data sets: neither more nor "
                "less of it is better."
            )
            continue
        if not any(summary.metric == metric for summary in summaries):
            notes.append(f"No run of this protocol has {metric_words(metric)}.")
            continue
        # Settings without the metric are named; their other metrics would only take time.
        concerned = [s for s in summaries if s.metric == metric or id(s) in first_of_setting]
        results = compared(
            store, concerned, metric, on_damage=on_damage, figures=figures, against_best=True
        )
        if not results:
            notes.append(f"{heading(metric)}: no two learners have it on common data sets.")
        elif len(results[0].outcome.datasets) == 1:
            [dataset] = results[0].outcome.datasets
            notes.append(f"{heading(metric)} stands in the table of {dataset} alone.")
        else:
            comparisons[metric] = results[0]
    if not comparisons:
        return []
    ranked = _ranked_learners(comparisons)
    entries: list[list[Entry]] = [[] for _ in ranked]
    columns: list[str] = []
    for metric, comparison in comparisons.items():
        columns += [_short(metric), "rank"]
        of_learner = _mean_entries(metric, comparison)
        for line, name in zip(entries, ranked, strict=True):
            line += of_learner.get(name, [Entry(note="-"), Entry(note="-")])
        notes += comparison.notes
    first = next(iter(comparisons.values()))
    has_alike = any(entry.alike for line in entries for entry in line)
    table = Table(
        title=f"Means over data sets, {protocol_text(first.protocol)}",
        columns=tuple(columns),
        rows=tuple(ranked),
        entries=tuple(tuple(line) for line in entries),
        notes=(
            *([ALIKE] if has_alike else []),
            *_datasets_notes(comparisons),
            *dict.fromkeys(notes),
        ),
        advice=("`olscale compare` tests every pair of learners.",),
    )
    return [table]


def _ranked_learners(comparisons: Mapping[str, Compared]) -> list[str]:
    """Return all compared learners by the mean of the first metric; those without it come last."""
    first = next(iter(comparisons))
    means = _means(comparisons[first])
    names = dict.fromkeys(
        name for comparison in comparisons.values() for name in comparison.outcome.learners
    )
    return sorted(
        names,
        key=lambda name: distance_from_best(first, means[name]) if name in means else math.inf,
    )


def _means(comparison: Compared) -> dict[str, float]:
    means = comparison.outcome.values.mean(axis=0)
    return dict(zip(comparison.outcome.learners, means.tolist(), strict=True))


def _mean_entries(metric: str, comparison: Compared) -> dict[str, list[Entry]]:
    """Return the mean and the mean rank of each learner that is compared by a metric."""
    outcome = comparison.outcome
    means = _means(comparison)
    best_mean = min(means.values(), key=lambda mean: distance_from_best(metric, mean))
    best_rank = float(outcome.mean_ranks.min())
    alike: set[str] = set()
    if len(outcome.datasets) >= least_blocks(len(outcome.learners) - 1):
        alike = set(outcome.alike()) - {outcome.learners[0]}
    behind = comparison.behind_all()
    seen = {
        name: dict.fromkeys(what for setting in settings for what in looked_ahead(setting))
        for name, settings in behind.items()
    }
    ahead = look_ahead_mark(what for of_learner in seen.values() for what in of_learner)
    entries = {}
    for name, rank in zip(outcome.learners, outcome.mean_ranks.tolist(), strict=True):
        marks = caution_marks(behind[name], metric)
        if seen[name]:
            marks = (*marks, ahead)
        shown = figure_of(metric, means[name])
        entries[name] = [
            Entry(shown, best=shown == figure_of(metric, best_mean), marks=marks),
            Entry(f"{rank:.2f}", best=rank == best_rank, alike=name in alike),
        ]
    return entries


def _datasets_notes(comparisons: Mapping[str, Compared]) -> list[str]:
    """Say which data sets the means are over, and whether differences are tested."""
    by_datasets: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for metric, comparison in comparisons.items():
        by_datasets[comparison.outcome.datasets].append(metric)
    notes = []
    for datasets, metrics in by_datasets.items():
        which = f"{len(datasets)} data sets ({', '.join(datasets)})"
        of = (
            f"{', '.join(map(metric_words, metrics))} over "
            if len(by_datasets) > 1
            else "Means over "
        )
        notes.append(f"{of[0].upper()}{of[1:]}{which}.")
        others = max(len(comparisons[metric].outcome.learners) - 1 for metric in metrics)
        if len(datasets) < least_blocks(others):
            notes.append(f"Not tested: {too_few(len(datasets), 'data sets', others)}.")
    return notes
