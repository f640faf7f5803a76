"""The section of a report that compares learners: ranks, groups, every two, what an error costs."""

import math

import numpy as np

from olscale.measures import measure_of, metric_words
from olscale.report.choice import stream_key
from olscale.report.comparison import Compared, compared
from olscale.report.comparison_tables import pair_table, rank_table
from olscale.report.figures.differences import difference_figure
from olscale.report.figures.pareto import CostPoint, pareto_figure
from olscale.report.figures.ranks import rank_figure
from olscale.report.figures.words import in_unit, metric_text
from olscale.report.gallery import Gallery, Part
from olscale.report.html import paragraphs, table_html
from olscale.report.mcnemar import rows_compared, rows_table
from olscale.report.papers.base import FigureSource
from olscale.report.wording import heading, protocol_text

MOST = 12
"""Learners of a diagram that anybody can tell apart."""

_COSTS = {"rows_per_second": True, "model_bytes": False}
"""What an error is set against, and whether more of it is better."""

_COLOURS = "Colours are ranks on each data set: the deepest blue is the best, the deepest orange the worst."


def rank_section(source: FigureSource, gallery: Gallery) -> list[Part]:
    """Return tables and figures of each protocol with two learners or more; tests need five data sets."""
    summaries = source.summaries
    costs: dict[tuple[object, ...], float] = {
        (stream_key(s), s.learner, s.version, str(s.params), s.metric): s.mean for s in summaries if s.metric in _COSTS
    }
    parts: list[Part] = []
    for one in compared([s for s in summaries if not math.isnan(s.mean)], most=MOST):
        parts += [table_html(rank_table(one)), paragraphs([_COLOURS], "note")]
        if one.outcome.tested:
            parts += _tested(one, gallery)
        parts += [table_html(rows_table(found)) for found in rows_compared(one, source.store, source.on_damage)]
        if measure_of(one.metric).better == "lower":
            parts += _costs(one, costs, gallery, source)
    return parts


def _tested(one: Compared, gallery: Gallery) -> list[Part]:
    outcome, how = one.outcome, f"{metric_words(one.metric)}, {protocol_text(one.protocol)}"
    n, best = len(outcome.datasets), outcome.learners[0]
    caption = f"Mean ranks over {n} data sets by {how}; a bar spans learners of which no two differ significantly."
    differences = {name: outcome.values[:, i] - outcome.values[:, 0] for i, name in enumerate(outcome.learners) if i}
    minus = f"Differences to {best}, which has the best mean rank, by {how}: a point a data set, the bar their mean."
    options = {"baseline": best, "metric": one.metric, "datasets": outcome.datasets}
    return [
        gallery.add(f"ranks-{one.metric}", caption, rank_figure, {"": outcome}),
        table_html(
            pair_table(outcome.pairs, one.metric, f"Pairs by {metric_text(one.metric)}", one.cautions, one.rope)
        ),
        gallery.add(f"differences-{one.metric}", minus, difference_figure, differences, **options),
    ]


def _costs(one: Compared, costs: dict[tuple[object, ...], float], gallery: Gallery, source: FigureSource) -> list[Part]:
    """Return the figure of error against costs, of those costs that every learner has on every data set."""
    outcome, shown = one.outcome, {}
    errors = in_unit(one.metric, outcome.values.mean(axis=0))
    for cost in _COSTS:
        points = []
        for i, name in enumerate(outcome.learners):
            of = [s for column in outcome.datasets for s in one.cells[name, column]]
            found = [costs.get((stream_key(s), s.learner, s.version, str(s.params), cost), 0.0) for s in of]
            if min(found) > 0.0 and math.isfinite(max(found)):
                points.append(CostPoint(name, float(np.exp(np.mean(np.log(found)))), float(errors[i])))
        if len(points) == len(outcome.learners):
            shown[cost] = points
    if not shown:
        return []
    over = f", means over {len(outcome.datasets)} data sets" if len(outcome.datasets) > 1 else ""
    caption = (
        f"{heading(one.metric)} against rows per second, which are measured and differ from one evaluation to the next, "
        f"and bytes of the model{over} ({protocol_text(one.protocol)}); filled: no other learner is both better and cheaper."
    )
    first = {name: one.cells[name, outcome.datasets[0]][0] for name in outcome.learners}
    options = {"higher": _COSTS, "metric": one.metric, "of_label": source.looks.of(first)}
    return [gallery.add(f"costs-{one.metric}", caption, pareto_figure, shown, **options)]
