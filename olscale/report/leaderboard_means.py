"""Means over data sets and mean ranks of a leaderboard."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from olscale.analysis.replicates import ReplicateFigures
from olscale.analysis.standing import looked_ahead
from olscale.analysis.summary import Summary
from olscale.measures import distance_from_best, figure_of, measure_of, metric_words
from olscale.report.comparison import Compared, compared_with_best
from olscale.report.labels import heading, protocol_text
from olscale.report.leaderboard_words import ALIKE, column_words, least_blocks, too_few
from olscale.report.left_out import arrange_settings
from olscale.report.marks import caution_marks, look_ahead_mark
from olscale.report.tables import Entry, Table
from olscale.results.settings import asked_protocol


def means_table(
    summaries: Sequence[Summary], metrics: Sequence[str], figures: ReplicateFigures
) -> list[Table]:
    """Return means over data sets and mean ranks; no table where nothing is common to learners."""
    comparisons: dict[str, Compared] = {}
    notes: list[str] = []
    protocol = asked_protocol(summaries[0].protocol)
    arranged = arrange_settings(summaries)
    available = {summary.metric for summary in summaries}
    for metric in metrics:
        if not measure_of(metric).better:
            notes.append(
                f"{heading(metric)} stands in the tables of single data sets: neither more nor "
                "less of it is better."
            )
            continue
        if metric not in available:
            notes.append(f"No run of this protocol has {metric_words(metric)}.")
            continue
        comparison = compared_with_best(arranged, protocol, metric, figures)
        if comparison is None:
            notes.append(
                f"{heading(metric)}: no two learners have it on common data sets."
            )
        elif len(comparison.outcome.datasets) == 1:
            [dataset] = comparison.outcome.datasets
            notes.append(f"{heading(metric)} stands in the table of {dataset} alone.")
        else:
            comparisons[metric] = comparison
    if not comparisons:
        return []
    ranked = _ranked_learners(comparisons)
    entries: list[list[Entry]] = [[] for _ in ranked]
    columns: list[str] = []
    for metric, comparison in comparisons.items():
        columns += [column_words(metric), "rank"]
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
            # Several metrics have the same notes on what was left out.
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
        name
        for comparison in comparisons.values()
        for name in comparison.outcome.learners
    )
    return sorted(
        names,
        key=lambda name: (
            distance_from_best(first, means[name]) if name in means else math.inf
        ),
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
        # Tests are of ranks, so their mark stands at the ranks and not at the means.
        alike = set(outcome.alike()) - {outcome.learners[0]}
    settings_of = comparison.behind_all()
    seen_ahead = {
        name: dict.fromkeys(
            what for setting in settings for what in looked_ahead(setting)
        )
        for name, settings in settings_of.items()
    }
    ahead_mark = look_ahead_mark(
        what for of_learner in seen_ahead.values() for what in of_learner
    )
    entries = {}
    for name, rank in zip(outcome.learners, outcome.mean_ranks.tolist(), strict=True):
        marks = caution_marks(settings_of[name], metric)
        if seen_ahead[name]:
            marks = (*marks, ahead_mark)
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
        rivals = max(
            len(comparisons[metric].outcome.learners) - 1 for metric in metrics
        )
        if len(datasets) < least_blocks(rivals):
            notes.append(f"Not tested: {too_few(len(datasets), 'data sets', rivals)}.")
    return notes
