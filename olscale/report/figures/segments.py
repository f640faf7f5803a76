"""Error by segment of a stream: by day of URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from olscale.analysis.curves import SegmentErrors
from olscale.report.figures.looks import Looks, looks
from olscale.report.figures.style import legend, panels, styled
from olscale.report.figures.words import figure_text, legible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TICKS = 12


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
    of_label = of_learner.of(shown) if of_learner else looks(shown)
    with styled():
        figure, [panel] = panels(1, width=5.2, height=2.8, beside=shown)
        names = [figure_text(name) for name in next(iter(shown.values())).names]
        at = np.arange(len(names))
        for label, segments in shown.items():
            percent = 100 * segments.errors
            spread = percent.std(axis=0, ddof=1) if len(percent) > 1 else None
            panel.errorbar(
                at,
                percent.mean(axis=0),
                spread,
                label=label,
                capsize=2,
                elinewidth=0.8,
                **of_label[label],
            )
        every = -(-len(names) // _TICKS)
        long = max(map(len, names)) > 5
        panel.set_xticks(
            at[::every],
            names[::every],
            rotation=35 if long else 0,
            ha="right" if long else "center",
        )
        panel.set(title=title, xlabel="segment", ylabel="error on the segment (%)")
        panel.set_ylim(bottom=0)
        legend(figure, {label: of_label[label] for label in shown})
    return figure
