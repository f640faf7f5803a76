"""Differences to a baseline, a point for each data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from olscale.report.figures.style import panels, styled
from olscale.report.figures.words import figure_text, in_unit, metric_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
                color="#0072b2",
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
