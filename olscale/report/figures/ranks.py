"""Ranks and differences of learners over datasets.

A critical-difference diagram has mean ranks on one axis and bars over groups without significance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from olscale.analysis.compare import Comparison
from olscale.report.figures.style import panels, styled
from olscale.report.figures.words import figure_text, in_unit, metric_text
from olscale.report.palette import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MOST_TICKS = 20
"""Most ranks with room for their numbers on the axis."""


def rank_figure(shown: Mapping[str, Comparison], title: str = "") -> Figure:
    """Draw the critical-difference diagram of each comparison in a separate panel.

    Parameters
    ----------
    shown : mapping of str to Comparison
        By title of the panel.
    title : str

    References
    ----------
    J. Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006,
    figure 1.
    """
    most = max(len(comparison.learners) for comparison in shown.values())
    bars = max(len(comparison.cliques) for comparison in shown.values())
    with styled():
        height = 0.75 + 0.2 * ((most + 1) // 2) + 0.12 * bars
        figure, axes = panels(len(shown), width=5.6, height=height, across=1)
        for panel, (name, comparison) in zip(axes, shown.items(), strict=True):
            _draw(panel, comparison)
            panel.set_title(figure_text(name), pad=18)
        if title:
            figure.suptitle(title)
    return figure


def _draw(panel: Axes, one: Comparison) -> None:
    k = len(one.learners)
    ranks = one.mean_ranks.tolist()
    # Ranks are those among all learners, even if only some are shown.
    last = max(k, math.ceil(max(ranks)))
    half = (k + 1) // 2
    first = 0.3 + 0.3 * len(one.cliques)
    margin = 0.1 * last / k
    panel.set(
        xlim=(1 - 6 * margin, last + 6 * margin), ylim=(first + 0.5 * half + 0.2, -0.1)
    )
    panel.xaxis.tick_top()
    panel.set_xticks(range(1, last + 1, 1 + (last - 1) // _MOST_TICKS))
    panel.grid(False)
    panel.yaxis.set_visible(False)
    for side in ("left", "bottom"):
        panel.spines[side].set_visible(False)
    panel.spines["top"].set(visible=True, bounds=(1, last))
    for i, (name, mean) in enumerate(zip(one.learners, ranks, strict=True)):
        # The better half hangs on the left, the others on the right, the innermost lowest.
        place = i
        edge = 1 - margin
        side = "right"
        text = f" {figure_text(name)}  {mean:.2f} "
        if i >= half:
            place = k - 1 - i
            edge = last + margin
            side = "left"
            text = f" {mean:.2f}  {figure_text(name)} "
        down = first + 0.5 * place + 0.2
        panel.plot(
            [mean, mean, edge],
            [-0.1, down, down],
            color="black",
            linewidth=0.8,
            clip_on=False,
        )
        panel.text(edge, down, text, ha=side, va="center")
    for level, clique in enumerate(one.cliques):
        ends = [ranks[one.learners.index(name)] for name in (clique[0], clique[-1])]
        at = 0.25 + 0.3 * level
        panel.plot(
            [ends[0] - 0.4 * margin, ends[1] + 0.4 * margin],
            [at, at],
            color=COLOURS[0],
            linewidth=3.2,
            solid_capstyle="butt",
        )


def difference_figure(
    shown: Mapping[str, NDArray[np.float64]],
    baseline: str,
    metric: str,
    datasets: Sequence[str] = (),
) -> Figure:
    """Draw one line per learner: differences on data sets as points, their mean as a bar.

    Parameters
    ----------
    shown : mapping of str to array of shape (n_datasets,)
        By learner, its figures minus those of the baseline.
    baseline, metric : str
    datasets : sequence of str
        Their names, which a chart shows for each point.
    """
    with styled():
        figure, [panel] = panels(1, width=5.2, height=0.9 + 0.24 * len(shown))
        for i, values in enumerate(shown.values()):
            points = in_unit(metric, values)
            panel.plot(
                points,
                np.full(len(points), i),
                linestyle="",
                marker="o",
                color=COLOURS[0],
                alpha=0.55,
            )
            panel.plot(
                points.mean(),
                i,
                linestyle="",
                marker="|",
                color="black",
                markersize=13,
                markeredgewidth=2,
            )
        panel.axvline(0.0, color="black", linewidth=0.8)
        panel.set_yticks(range(len(shown)), [figure_text(name) for name in shown])
        panel.set_ylim(len(shown) - 0.5, -0.5)
        panel.set_xlabel(f"{metric_text(metric)} minus that of {figure_text(baseline)}")
    return figure
