"""Tables of an experiment on generated streams: means over seeds, losses of its first learner."""

import math
from collections.abc import Collection, Sequence

import numpy as np

from olscale.analysis.compare import LEAST, Pair
from olscale.analysis.over_seeds import (
    MARGIN,
    StreamComparison,
    compare_over_seeds,
    is_defeat,
    shared_seeds,
)
from olscale.analysis.rank_tests import ALPHA
from olscale.analysis.replicates import ReplicateFigures
from olscale.measures import deviation_of, figure_of
from olscale.report.comparison_tables import p_text
from olscale.report.marks import Mark
from olscale.report.tables import Entry, Table
from olscale.results import Store
from olscale.results.settings import ExperimentSettings

METRIC = "cumulative_error"
_CRITERION = (
    f"Worse: by more than {100 * MARGIN:g} points, or by Wilcoxon's signed-rank test over the "
    f"seeds that both have, at {100 * ALPHA:g} % with Holm's correction for the learners of a row; "
    f"fewer than {LEAST} seeds are not tested."
)


def seed_tables(store: Store, asked: ExperimentSettings) -> list[Table]:
    """Return the tables of an experiment with seeds.

    They are the defeats of its first learner, all means, and differences from the first learner.

    Parameters
    ----------
    store : Store
    asked : ExperimentSettings
        With `streams`.
    """
    comparisons = compare_over_seeds(asked, ReplicateFigures(store).of(METRIC))
    if not comparisons:
        return []
    first = asked.settings[0].label
    labels = list(dict.fromkeys(setting.label for setting in asked.settings))
    return [
        _defeats_table(first, comparisons),
        _means_table(first, labels, comparisons),
        _differences_table(first, labels[1:], comparisons),
    ]


def _defeats_table(first: str, comparisons: Sequence[StreamComparison]) -> Table:
    columns = ("than", first, "the other", "difference", "seeds lost", "p")
    rows = {
        (_row_name(of), pair.b): _defeat(of, pair)
        for of in comparisons
        for pair in of.defeats
    }
    if not rows:
        rows["nowhere", ""] = (Entry(note="-"),) * len(columns)
    return Table(
        title=f"Where {first} is worse: cumulative error (%)",
        columns=columns,
        rows=tuple(row for row, _ in rows),
        entries=tuple(rows.values()),
        notes=(_CRITERION,),
    )


def _defeat(of: StreamComparison, pair: Pair) -> tuple[Entry, ...]:
    errors_of_first = of.errors[pair.a]
    errors_of_other = of.errors[pair.b]
    shared = shared_seeds(errors_of_first, errors_of_other)
    return (
        Entry(pair.b),
        _mean([errors_of_first[seed] for seed in shared]),
        _mean([errors_of_other[seed] for seed in shared]),
        Entry(f"{100 * pair.difference:+.2f}"),
        Entry(f"{pair.losses} of {len(shared)}"),
        Entry(p_text(pair.p_corrected)),
    )


def _means_table(
    first: str, labels: Sequence[str], comparisons: Sequence[StreamComparison]
) -> Table:
    usual = max(len(errors) for of in comparisons for errors in of.errors.values())
    return Table(
        title=f"Cumulative error (%), mean ± standard deviation over {usual} seeds",
        columns=tuple(labels),
        rows=tuple(_row_name(of) for of in comparisons),
        entries=tuple(_means(first, labels, of) for of in comparisons),
        notes=("A figure without a deviation is of one run.",),
        best="best of the row",
    )


def _means(
    first: str, labels: Sequence[str], of: StreamComparison
) -> tuple[Entry, ...]:
    pair_of = {pair.b: pair for pair in of.pairs}
    entries = [
        _mean(of.errors[label].values()) if label in of.errors else Entry(note="-")
        for label in labels
    ]
    usual = len(of.errors.get(first, ()))
    comparable = {
        label: float(np.mean(list(of.errors[label].values())))
        for label in labels
        if label in of.errors and len(of.errors[label]) == usual
    }
    best = min(comparable, key=lambda label: comparable[label], default=None)
    for place, label in enumerate(labels):
        if label == best:
            entries[place] = entries[place].as_best()
        if label in of.errors and len(of.errors[label]) != usual:
            entries[place] = entries[place].marked(_few(len(of.errors[label])))
        if label in pair_of:
            entries[place] = _with_verdict(entries[place], first, pair_of[label])
    return tuple(entries)


def _with_verdict(entry: Entry, first: str, pair: Pair) -> Entry:
    """Mark a figure that the first learner does not beat."""
    if is_defeat(pair):
        return entry.marked(Mark("<", f"less than {first}, by the test or the margin."))
    if pair.p_corrected > ALPHA:
        return entry.marked(Mark("=", f"not told from {first} by the test."))
    return entry


def _few(seeds: int) -> Mark:
    return Mark(f"({seeds})", "mean over the first n seeds.", "(n)")


def _differences_table(
    first: str, others: Sequence[str], comparisons: Sequence[StreamComparison]
) -> Table:
    rows = []
    for of in comparisons:
        pair_of = {pair.b: pair for pair in of.pairs}
        rows.append(tuple(_difference(pair_of.get(learner)) for learner in others))
    return Table(
        title=f"{first} minus the other, over the seeds that both have: points, and corrected p",
        columns=tuple(others),
        rows=tuple(_row_name(of) for of in comparisons),
        entries=tuple(rows),
        notes=(),
    )


def _difference(pair: Pair | None) -> Entry:
    if pair is None:
        return Entry(note="-")
    points = f"{100 * pair.difference:+.2f}"
    if math.isnan(pair.p_corrected):
        return Entry(points)
    return Entry(f"{points}, {p_text(pair.p_corrected)}")


def _mean(errors: Collection[float]) -> Entry:
    values = np.array(list(errors))
    mean = figure_of(METRIC, float(values.mean()))
    if len(values) == 1:
        return Entry(mean)
    return Entry(mean, deviation_of(METRIC, float(values.std(ddof=1)), mean))


def _row_name(of: StreamComparison) -> str:
    if isinstance(of.delay, str):
        return f"{of.stream}, late by {of.delay}"
    if of.delay == 0:
        return of.stream
    rows = "row" if of.delay == 1 else "rows"
    return f"{of.stream}, {of.delay:,} {rows} late"
