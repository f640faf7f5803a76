"""A metric against one parameter, or over two as a map with its figures written in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from olscale.analysis.sweeps import Sweep
from olscale.measures import measure_of
from olscale.report.figures.looks import Looks, looks_of
from olscale.report.figures.style import legend, panels, styled
from olscale.report.figures.words import (
    axis_value,
    figure_text,
    in_unit,
    is_geometric,
    legible,
    metric_text,
)
from olscale.report.palette import COLOURS

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
    of_label = looks_of(every, of_learner)
    with styled():
        line_names: Collection[str] = ()
        if len(labels) > 1:
            line_names = labels
        size = {"width": 2.9, "height": 2.2}
        if len(shown) == 1:
            size = {"width": 3.6, "height": 2.6}
        figure, axes = panels(len(shown), across=across, beside=line_names, **size)
        for panel, (name, sweeps) in zip(axes, shown.items(), strict=True):
            for label, sweep in sweeps.items():
                metric = sweep.summary.metric
                finite = np.isfinite(sweep.mean)
                deviations = None
                if len(sweeps) <= BARS:  # more bars would hide the lines
                    deviations = in_unit(metric, sweep.std[finite])
                panel.errorbar(
                    np.array(sweep.values[0])[finite],
                    in_unit(metric, sweep.mean[finite]),
                    deviations,
                    label=label,
                    capsize=2.5,
                    elinewidth=0.9,
                    **of_label[label],
                )
            first = next(iter(sweeps.values()))
            panel.set(
                title=name,
                xlabel=first.names[0],
                ylabel=metric_text(first.summary.metric),
            )
            _ticks(
                panel,
                sorted(
                    {value for sweep in sweeps.values() for value in sweep.values[0]}
                ),
            )
        if line_names:
            legend(figure, {label: of_label[label] for label in line_names})
        if title:
            figure.suptitle(title)
    return figure


def _ticks(panel: Axes, values: list[float]) -> None:
    if is_geometric(values):
        panel.set_xscale("log")
        panel.minorticks_off()
    # A tick at each value of a grid; of many evenly spaced values matplotlib's own are better.
    if len(values) <= _TICKS or is_geometric(values):
        # Every second, third, ... value: ticks stay on values of the grid.
        shown = values[:: -(-len(values) // _TICKS)]
        panel.set_xticks(shown, [axis_value(value, values) for value in shown])


# its lightness rises evenly, which serves grey print and colour-blind readers
_MAP = "cividis"
_CELL = 0.36
_WRITTEN = 16
"""Most cells along an axis with figures written in."""


def surface_figure(
    shown: Mapping[str, Sweep], title: str = "", across: int = 2
) -> Figure:
    """Draw a map for each sweep over two parameters; the best cell has a frame.

    Parameters
    ----------
    shown : mapping of str to Sweep
        Sweeps over two parameters, by title of the panel.
    title : str
        Over all panels.
    across : int
        Panels per row.
    """
    rows, columns = (
        max(sweep.mean.shape[axis] for sweep in shown.values()) for axis in (0, 1)
    )
    size = {
        "width": max(2.6, _CELL * min(columns, 20) + 1.2),
        "height": max(2.0, 0.7 * _CELL * min(rows, 20) + 0.9),
    }
    with styled():
        figure, axes = panels(len(shown), across=across, **size)
        for panel, (name, sweep) in zip(axes, shown.items(), strict=True):
            _draw(panel, sweep)
            panel.set(
                title=figure_text(name), xlabel=sweep.names[1], ylabel=sweep.names[0]
            )
        if title:
            figure.suptitle(title)
    return figure


def _draw(panel: Axes, sweep: Sweep) -> None:
    from matplotlib.patches import Rectangle

    mean = in_unit(sweep.summary.metric, sweep.mean)
    higher = measure_of(sweep.summary.metric).better == "higher"
    low, top = map_limits(sweep.summary.metric, mean)
    mesh = panel.pcolormesh(
        np.ma.masked_invalid(mean),
        cmap=_MAP,
        vmin=low,
        vmax=top,
        edgecolors="white",
        linewidth=0.4,
    )
    figure = panel.get_figure()
    assert figure is not None
    # Colours end at these limits; an arrow on the bar marks values beyond them.
    beyond = "neither"
    if low > float(np.nanmin(mean)):
        beyond = "min"
    if top < float(np.nanmax(mean)):
        beyond = "max"
    bar = figure.colorbar(mesh, ax=panel, pad=0.02, aspect=28, extend=beyond)
    bar.set_label(metric_text(sweep.summary.metric))
    bar.outline.set_visible(False)
    for axis, values in (
        (panel.yaxis, sweep.values[0]),
        (panel.xaxis, sweep.values[1]),
    ):
        every = -(-len(values) // 20)
        places = np.arange(0, len(values), every)
        axis.set_ticks(places + 0.5, [axis_value(values[i], values) for i in places])
    panel.tick_params(length=0)
    panel.grid(False)
    for spine in panel.spines.values():
        spine.set_visible(False)
    if max(mean.shape) <= _WRITTEN:
        for (i, j), value in np.ndenumerate(mean):
            if np.isfinite(value):
                dark = value < (low + top) / 2  # cividis is dark at its low end
                colour = "black"
                if dark:
                    colour = "white"
                panel.text(
                    j + 0.5,
                    i + 0.5,
                    _figure(value),
                    ha="center",
                    va="center",
                    size=6.5,
                    color=colour,
                )
    best = np.nanargmin(mean)
    if higher:
        best = np.nanargmax(mean)
    i, j = np.unravel_index(best, mean.shape)
    frame = Rectangle(
        (float(j), float(i)),
        1,
        1,
        fill=False,
        edgecolor=COLOURS[1],
        linewidth=2,
        clip_on=False,
        zorder=3,
    )
    panel.add_patch(frame)


def map_limits(metric: str, mean: NDArray[np.float64]) -> tuple[float, float]:
    """Return the values at the ends of a map's colours, clipped against a few extreme cells.

    Otherwise those cells would leave all others in one colour.
    """
    shares = (0.0, 0.9)
    if measure_of(metric).better == "higher":
        shares = (0.1, 1.0)
    low, top = np.nanquantile(mean, shares)
    return float(low), float(top)


def _figure(value: float) -> str:
    if abs(value) < 10:
        return f"{value:.2f}"
    if abs(value) < 100:
        return f"{value:.1f}"
    return f"{value:.0f}"
