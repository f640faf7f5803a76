"""Error by segment of a stream, by day of URL for example: as lines, or as a map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from olscale.analysis.curves import SegmentErrors
from olscale.report.figures.looks import Looks, looks_of
from olscale.report.figures.style import legend, panels, styled
from olscale.report.figures.words import figure_text, legible, tick_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


_TICKS = 12
_LONG = 5
"""Characters of a name that fits below its segment."""


def segment_figure(
    shown: Mapping[str, SegmentErrors], title: str = "", of_learner: Looks | None = None
) -> Figure:
    """Draw the error on each segment, one line per label, with deviation bars for replicates.

    Parameters
    ----------
    shown : mapping of str to SegmentErrors
        Of one dataset, by label.
    title : str
    of_learner : Looks, optional
        Looks of the learners in other figures too; by the order of the labels when left out.
    """
    shown = legible(shown)
    of_label = looks_of(shown, of_learner)
    with styled():
        figure, [panel] = panels(1, width=5.2, height=2.8, beside=shown)
        names = [figure_text(name) for name in next(iter(shown.values())).names]
        at = np.arange(float(len(names)))
        for label, segments in shown.items():
            percent = 100 * segments.errors
            spread = None
            if len(percent) > 1:
                spread = percent.std(axis=0, ddof=1)
            panel.errorbar(
                at,
                percent.mean(axis=0),
                spread,
                label=label,
                capsize=2,
                elinewidth=0.8,
                **of_label[label],
            )
        _name_segments(panel, at, names)
        panel.set(title=title, xlabel="segment", ylabel="error on the segment (%)")
        panel.set_ylim(bottom=0)
        legend(figure, {label: of_label[label] for label in shown})
    return figure


def _name_segments(panel: Axes, at: NDArray[np.float64], names: Sequence[str]) -> None:
    """Set ticks at some of the positions; long names are turned, or they would overlap."""
    every = -(-len(names) // _TICKS)
    if max(map(len, names)) > _LONG:
        panel.set_xticks(at[::every], names[::every], rotation=35, ha="right")
    else:
        panel.set_xticks(at[::every], names[::every])


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
    percent = np.array(
        [100 * segments.errors.mean(axis=0) for segments in shown.values()]
    )
    lines = [tick_text(name) for name in shown]
    longest = max(map(len, names))
    height = 1.1 + 0.22 * len(shown)
    if longest > _LONG:
        height += 0.05 * longest
    with styled():
        figure, [panel] = panels(1, width=6.2, height=height)
        mesh = panel.pcolormesh(np.ma.masked_invalid(percent), cmap="cividis")
        _name_segments(panel, np.arange(0.5, len(names)), names)
        panel.set_yticks(np.arange(len(shown)) + 0.5, lines)
        panel.invert_yaxis()
        panel.grid(False)
        panel.tick_params(length=0)
        panel.set(title=title, xlabel="segment")
        bar = figure.colorbar(mesh, ax=panel, pad=0.02)
        bar.set_label("error (%)")
    return figure
