"""A metric against one parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from olscale.analysis.sweeps import Sweep
from olscale.report.figures.looks import Looks, looks
from olscale.report.figures.scale import is_geometric, value_text
from olscale.report.figures.style import legend, panels, styled
from olscale.report.figures.words import figure_text, in_unit, legible, metric_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TICKS = 11

BARS = 4
"""Most lines of a panel with bars."""


def parameter_figure(
    shown: Mapping[str, Mapping[str, Sweep]],
    title: str = "",
    across: int = 2,
    of_learner: Looks | None = None,
) -> Figure:
    """Draw means against a parameter, at most four lines per panel, with one-deviation bars.

    Parameters
    ----------
    shown : mapping of str to mapping of str to Sweep
        Sweeps over one parameter, by label, by title of the panel.
    title : str
        Over all panels.
    across : int
        Panels per row.
    of_learner : Looks, optional
        Looks of the learners in other figures too; by the order of the labels when left out.
    """
    shown = {figure_text(name): legible(sweeps) for name, sweeps in shown.items()}
    every = {label: item for sweeps in shown.values() for label, item in sweeps.items()}
    labels = dict.fromkeys(every)
    of_label = of_learner.of(every) if of_learner else looks(labels)
    with styled():
        is_single = len(shown) == 1
        named = labels if len(labels) > 1 else ()
        size = {"width": 3.6 if is_single else 2.9, "height": 2.6 if is_single else 2.2}
        figure, axes = panels(len(shown), across=across, beside=named, **size)
        for panel, (name, sweeps) in zip(axes, shown.items(), strict=True):
            for label, sweep in sweeps.items():
                metric = sweep.summary.metric
                finite = np.isfinite(sweep.mean)
                panel.errorbar(
                    np.array(sweep.values[0])[finite],
                    in_unit(metric, sweep.mean[finite]),
                    in_unit(metric, sweep.std[finite]) if len(sweeps) <= BARS else None,
                    label=label,
                    capsize=2.5,
                    elinewidth=0.9,
                    **of_label[label],
                )
            first = next(iter(sweeps.values()))
            panel.set(title=name, xlabel=first.names[0], ylabel=metric_text(first.summary.metric))
            _ticks(panel, sorted({value for sweep in sweeps.values() for value in sweep.values[0]}))
        if named:
            legend(figure, {label: of_label[label] for label in named})
        if title:
            figure.suptitle(title)
    return figure


def _ticks(panel: Axes, values: list[float]) -> None:
    if is_geometric(values):
        panel.set_xscale("log")
        panel.minorticks_off()
    if len(values) <= _TICKS or is_geometric(values):
        shown = values[:: -(-len(values) // _TICKS)]
        panel.set_xticks(shown, [value_text(value, values) for value in shown])
