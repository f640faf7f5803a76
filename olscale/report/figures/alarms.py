"""Where a drift detector raised its alarm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from olscale.analysis.curves import Curve
from olscale.report.figures.looks import Looks, looks
from olscale.report.figures.style import panels, styled
from olscale.report.figures.words import legible

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def alarm_figure(
    shown: Mapping[str, Curve],
    rows: int | None = None,
    title: str = "",
    of_learner: Looks | None = None,
) -> Figure:
    """Draw a stroke at the row of every alarm, one line per label with all its replicates.

    Parameters
    ----------
    shown : mapping of str to Curve
        Numbers of alarms (``curves(..., metric="drift_alarms")``) of one dataset, by label.
    rows : int, optional
        Length of the stream; up to the last alarm when left out.
    title : str
    of_learner : Looks, optional
        Looks of the learners in other figures too; by the order of the labels when left out.
    """
    shown = legible(shown)
    of_label = of_learner.of(shown) if of_learner else looks(shown)
    with styled():
        figure, [panel] = panels(1, width=5.2, height=0.9 + 0.22 * len(shown))
        for place, (label, curve) in enumerate(shown.items()):
            raised = np.diff(curve.errors, axis=1, prepend=0.0).any(axis=0)
            panel.eventplot(
                curve.rows[raised],
                lineoffsets=place,
                linelengths=0.7,
                linewidths=0.8,
                color=of_label[label]["color"],
            )
        panel.set_yticks(range(len(shown)), list(shown))
        panel.set_ylim(len(shown) - 0.4, -0.6)
        panel.set_xlim(
            0,
            rows
            or max((int(curve.rows[-1]) for curve in shown.values() if len(curve.rows)), default=1),
        )
        panel.set(title=title, xlabel="rows")
        panel.grid(axis="y", visible=False)
        panel.locator_params(axis="x", nbins=4)
        panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    return figure
