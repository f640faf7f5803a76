"""Error against cost, and its front: learners that no other beats in both error and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from olscale.report.figures.looks import looks
from olscale.report.figures.style import legend, panels, styled
from olscale.report.figures.words import figure_text, metric_text
from olscale.report.palette import GREY, Look

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class CostPoint(NamedTuple):
    """The cost and the error of a learner."""

    label: str
    cost: float
    error: float


def front(points: list[CostPoint], higher: bool) -> list[CostPoint]:
    """Return the Pareto-optimal points, by cost; `higher` says that more of it is better.

    Examples
    --------
    >>> points = [CostPoint("a", 1, 2), CostPoint("b", 2, 1), CostPoint("c", 2, 3)]
    >>> [point.label for point in front(points, higher=False)]
    ['a', 'b']
    """
    sign = 1
    if higher:
        sign = -1
    best_points: list[CostPoint] = []
    for point in sorted(points, key=lambda point: (sign * point.cost, point.error)):
        if not best_points or point.error < best_points[-1].error:
            best_points.append(point)
    return best_points


def pareto_figure(
    shown: Mapping[str, list[CostPoint]],
    higher: Mapping[str, bool],
    metric: str,
    of_label: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw a metric against costs, one panel per cost, with the front as a line.

    Parameters
    ----------
    shown : mapping of str to list of CostPoint
        By metric of cost.
    higher : mapping of str to bool
        Whether more of it is better.
    metric : str
        The metric of `error`; less of it must be better.
    of_label : mapping of str to Look, optional
        Looks of the learners in other figures too; by their order when left out.
    """
    labels = list(
        dict.fromkeys(point.label for points in shown.values() for point in points)
    )
    of_label = of_label or looks(labels)
    in_legend: dict[str, Look] = {}
    with styled():
        figure, axes = panels(len(shown), width=2.9, height=2.6, beside=labels)
        for panel, (cost, points) in zip(axes, shown.items(), strict=True):
            best = front(points, higher[cost])
            panel.plot(
                [p.cost for p in best], [p.error for p in best], color=GREY, zorder=1
            )
            for label in labels:
                at = next((point for point in points if point.label == label), None)
                if at is not None:
                    style = of_label[label] | {"linestyle": "", "markersize": 6}
                    # Filled marks are on the front, hollow ones behind it.
                    style["markerfacecolor"] = style["color"] if at in best else "white"
                    panel.plot(at.cost, at.error, **style)
                    in_legend.setdefault(figure_text(label), style)
            panel.set_xscale("log")  # costs of learners span powers of ten
            panel.set(
                xlabel=f"{metric_text(cost)} ({'more' if higher[cost] else 'less'} is better)"
            )
            panel.set(ylabel=metric_text(metric))
        legend(figure, in_legend)
    return figure
