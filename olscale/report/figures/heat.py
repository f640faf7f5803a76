"""Error of learners by segments, as a map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from olscale.analysis.curves import SegmentErrors
from olscale.report.figures.style import panels, styled
from olscale.report.figures.words import figure_text, legible, tick_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TICKS = 12


def heat_figure(shown: Mapping[str, SegmentErrors], title: str = "") -> Figure:
    """Draw mean errors as a map, one line per learner and one column per segment.

    Parameters
    ----------
    shown : mapping of str to SegmentErrors
        Of one dataset, by label.
    title : str
    """
    shown = legible(shown)
    names = [figure_text(tick_text(name)) for name in next(iter(shown.values())).names]
    percent = np.array([100 * segments.errors.mean(axis=0) for segments in shown.values()])
    lines = [tick_text(name) for name in shown]
    long = max(map(len, names)) > 5
    with styled():
        height = 1.1 + 0.22 * len(shown) + (0.05 * max(map(len, names)) if long else 0.0)
        figure, [panel] = panels(1, width=6.2, height=height)
        mesh = panel.pcolormesh(np.ma.masked_invalid(percent), cmap="cividis")
        every = -(-len(names) // _TICKS)
        at = np.arange(0, len(names), every)
        panel.set_xticks(
            at + 0.5, names[::every], rotation=35 if long else 0, ha="right" if long else "center"
        )
        panel.set_yticks(np.arange(len(shown)) + 0.5, lines)
        panel.invert_yaxis()
        panel.grid(False)
        panel.tick_params(length=0)
        panel.set(title=title, xlabel="segment")
        bar = figure.colorbar(mesh, ax=panel, pad=0.02)
        bar.set_label("error (%)")
    return figure
