"""Predictions of learners across the plane, over the rows they have seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from olscale.report.figures.style import panels, styled
from olscale.report.figures.words import figure_text
from olscale.report.palette import COLOURS, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from olscale.analysis.decision_boundary import DecisionBoundary, Snapshot

_TINTS = ("#fbe0cc", "#cfe3f2")
_INKS = COLOURS[:2]
_POINTS = 1_500


def boundary_figure(
    shown: Mapping[str, tuple[DecisionBoundary, Snapshot]],
    title: str = "",
    across: int = 2,
    width: float = 2.9,
    axes_names: tuple[str, str] = ("", ""),
) -> Figure:
    """Draw each snapshot's regions, its boundary, and the rows since the last snapshot.

    At most 1,500 rows are drawn, evenly spaced among them. The prototypes of a learner that has
    them are crosses.

    Parameters
    ----------
    shown : mapping of str to (DecisionBoundary, Snapshot)
        By title of the panel.
    title : str
        Over all panels.
    across : int
        Panels per row.
    width : float
        Width and height of a panel in inches.
    axes_names : tuple of str
        Names of the two features.
    """
    with styled():
        figure, axes = panels(
            len(shown), width, width, across, sharex=True, sharey=True
        )
        for i, (panel, (name, (plane, snapshot))) in enumerate(
            zip(axes, shown.items(), strict=True)
        ):
            _draw(panel, plane, snapshot)
            panel.set_title(figure_text(name))
            # Panels share their axes: names stand below the last line and left of the first column.
            if i + across >= len(axes):
                panel.set_xlabel(axes_names[0])
            if i % across == 0:
                panel.set_ylabel(axes_names[1])
        if title:
            figure.suptitle(title)
    return figure


def _draw(panel: Axes, plane: DecisionBoundary, snapshot: Snapshot) -> None:
    from matplotlib.patheffects import withStroke

    scores = snapshot.scores
    ends = [min(-1.0, scores.min()), 0.0, max(1.0, scores.max())]
    panel.contourf(snapshot.x, snapshot.y, scores, levels=ends, colors=_TINTS, zorder=0)
    # Without a change of sign there is no boundary, and matplotlib warns of an empty contour.
    if scores.min() < 0.0 <= scores.max():
        boundary = panel.contour(
            snapshot.x,
            snapshot.y,
            scores,
            levels=[0.0],
            colors="black",
            linewidths=1.5,
            zorder=3,
        )
        boundary.set_path_effects([withStroke(linewidth=3.0, foreground="white")])
    rows = np.arange(snapshot.start, snapshot.stop)
    scatter_rows(panel, plane, rows[:: -(-len(rows) // _POINTS)])
    if snapshot.prototypes is not None:
        panel.scatter(
            snapshot.prototypes[:, 0],
            snapshot.prototypes[:, 1],
            marker="x",
            s=16,
            c="black",
            linewidths=0.9,
            zorder=2,
        )
    panel.set_xlim(snapshot.x[0], snapshot.x[-1])
    panel.set_ylim(snapshot.y[0], snapshot.y[-1])


def scatter_rows(panel: Axes, plane: DecisionBoundary, rows: NDArray[np.int64]) -> None:
    """Draw some rows of a plane, with a colour and a mark per class."""
    for code, (ink, marker) in enumerate(zip(_INKS, MARKERS, strict=False)):
        X = plane.X[rows[plane.y[rows] == code]]
        # Open and filled marks remain distinct in grey.
        face = ink
        if code:
            face = "none"
        panel.scatter(
            X[:, 0],
            X[:, 1],
            s=7,
            marker=marker,
            c=face,
            edgecolors=ink,
            linewidths=0.5,
            alpha=0.7,
            zorder=1,
        )
    panel.grid(False)
