"""The section of a report that compares learners: ranks, groups, pairs, error against cost."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from olscale.analysis.compare import Comparison, Pair
from olscale.analysis.rank_tests import ALPHA
from olscale.analysis.replicates import ReplicateFigures, SettingFigures
from olscale.measures import measure_of, metric_words
from olscale.report.comparison import Compared, compared
from olscale.report.comparison_tables import pair_table, rank_table
from olscale.report.cost_points import cost_points
from olscale.report.figures.pareto import pareto_figure
from olscale.report.figures.ranks import difference_figure, rank_figure
from olscale.report.figures.words import metric_text
from olscale.report.gallery import Gallery, Part
from olscale.report.html import fold_html, matrix_html, paragraphs, table_html
from olscale.report.labels import heading, protocol_text
from olscale.report.mcnemar import RowsCompared, rows_table
from olscale.report.papers.base import FigureSource

MOST = 12
"""Most learners of a diagram that readers can distinguish."""

_COSTS = {"rows_per_cpu_second": True, "rows_per_second": True, "model_bytes": False}
"""Costs to plot an error against, and whether more is better; the clock only as a fallback."""

_COLOURS = (
    "Colours are ranks on each data set: the deepest blue is the best, the deepest orange "
    "the worst."
)


def comparisons_of(
    source: FigureSource, figures: ReplicateFigures, metric: str | None = None
) -> list[Compared]:
    """Return the comparisons of a report: of each protocol with two or more learners."""
    if metric is not None and not measure_of(metric).better:
        return []
    return compared(source.store, source.summaries, metric, most=MOST, figures=figures)


def rank_section(
    source: FigureSource,
    gallery: Gallery,
    comparisons: Sequence[Compared],
    figures: ReplicateFigures,
    on_rows: Sequence[Sequence[RowsCompared]],
) -> list[Part]:
    """Return tables and figures of each comparison.

    Tests need five data sets.

    All learners are ranked and tested; if there are many, only the best are shown.
    """
    costs = {cost: figures.of(cost) for cost in _COSTS if comparisons}
    parts: list[Part] = []
    for comparison, of_rows in zip(comparisons, on_rows, strict=True):
        parts += [
            table_html(rank_table(comparison)),
            paragraphs([*comparison.advice, _COLOURS], "note"),
        ]
        shown = comparison.outcome.part(comparison.shown)
        if shown.tested:
            parts += _tested(comparison, shown, gallery)
        for rows in of_rows:
            pairs = tuple(
                pair
                for pair in rows.pairs
                if pair.a in comparison.shown and pair.b in comparison.shown
            )
            parts.append(table_html(rows_table(replace(rows, pairs=pairs))))
        if measure_of(comparison.metric).better == "lower":
            parts += _costs(comparison, shown, costs, gallery, source)
    return parts


def _tested(one: Compared, outcome: Comparison, gallery: Gallery) -> list[Part]:
    how = f"{metric_words(one.metric)}, {protocol_text(one.protocol)}"
    n = len(outcome.datasets)
    best = outcome.learners[0]
    among = (
        f" among {len(one.outcome.learners)}"
        if len(one.shown) < len(one.outcome.learners)
        else ""
    )
    caption = (
        f"Mean ranks{among} over {n} data sets by {how}; a bar spans learners of which no "
        "two differ significantly."
    )
    differences = {
        name: outcome.values[:, i] - outcome.values[:, 0]
        for i, name in enumerate(outcome.learners)
        if i
    }
    minus = (
        f"Differences to {best}, which has the best mean rank, by {how}: a point a data set, "
        "the bar their mean."
    )
    options: dict[str, Any] = {
        "baseline": best,
        "metric": one.metric,
        "datasets": outcome.datasets,
    }
    pairs = outcome.with_posteriors(outcome.pairs, one.rope)
    pairs_title = f"Pairs by {metric_text(one.metric)}"
    cautions = one.cautions(one.metric, outcome.learners)
    return [
        gallery.add(f"ranks-{one.metric}", caption, rank_figure, {"": outcome}),
        *_folded(
            pairs,
            table_html(pair_table(pairs, one.metric, pairs_title, cautions, one.rope)),
        ),
        gallery.add(
            f"differences-{one.metric}",
            minus,
            difference_figure,
            differences,
            **options,
        ),
    ]


def _folded(pairs: Sequence[Pair], table: str) -> list[str]:
    """Return the table of pairs behind a fold, with a matrix or a sentence in front."""
    sure = sum(pair.p_corrected <= ALPHA for pair in pairs)
    if not sure:
        sentence = (
            f"No two of the learners differ significantly ({len(pairs)} pairs tested)."
        )
        return [paragraphs([sentence]), fold_html(f"All {len(pairs)} pairs", table)]
    return [
        matrix_html(pairs, ALPHA),
        fold_html(f"All {len(pairs)} pairs, with p values and differences", table),
    ]


def _costs(
    one: Compared,
    outcome: Comparison,
    costs: Mapping[str, SettingFigures],
    gallery: Gallery,
    source: FigureSource,
) -> list[Part]:
    """Return the figure of error against those costs that all learners have for all runs."""
    shown = {}
    for cost, figures in costs.items():
        points = cost_points(one, outcome, figures)
        if len(points) == len(outcome.learners):
            shown[cost] = points
    if "rows_per_cpu_second" in shown:
        shown.pop("rows_per_second", None)
    if not shown:
        return []
    speed = next((cost for cost in shown if cost != "model_bytes"), "rows_per_second")
    over = (
        f", means over {len(outcome.datasets)} data sets"
        if len(outcome.datasets) > 1
        else ""
    )
    caption = (
        f"{heading(one.metric)} against {metric_words(speed)}, which are measured and differ from "
        "one evaluation to the "
        f"next, and bytes of the model{over} ({protocol_text(one.protocol)}); "
        "filled: no other learner is both better and cheaper."
    )
    first = {
        name: one.settings(name, outcome.datasets[0])[0] for name in outcome.learners
    }
    options: dict[str, Any] = {
        "higher": _COSTS,
        "metric": one.metric,
        "of_label": source.looks.of(first),
    }
    return [
        gallery.add(f"costs-{one.metric}", caption, pareto_figure, shown, **options)
    ]
