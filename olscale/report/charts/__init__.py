"""Charts: Vega-Lite specifications, which a page draws instead of figures where scripts run.

A chart takes the arguments of its figure, so that one drawing gives both. Fields and labels match
the figures; each line is a record with lists, which the page expands to rows.
"""

from collections.abc import Callable, Mapping
from typing import Any

from olscale.report.charts.alarms import alarm_charts
from olscale.report.charts.confusions import confusion_charts
from olscale.report.charts.curves import curve_charts
from olscale.report.charts.differences import difference_charts
from olscale.report.charts.parameters import parameter_charts
from olscale.report.charts.pareto import pareto_charts
from olscale.report.charts.segments import heat_charts, segment_charts
from olscale.report.charts.spec import Spec
from olscale.report.charts.surfaces import surface_charts
from olscale.report.drawing import Drawing
from olscale.report.figures.confusions import confusion_figure
from olscale.report.figures.curves import alarm_figure, curve_figure
from olscale.report.figures.parameters import parameter_figure, surface_figure
from olscale.report.figures.pareto import pareto_figure
from olscale.report.figures.ranks import difference_figure
from olscale.report.figures.segments import heat_figure, segment_figure

_OF_FIGURE: Mapping[Callable[..., Any], Callable[..., list[Spec]]] = {
    alarm_figure: alarm_charts,
    confusion_figure: confusion_charts,
    curve_figure: curve_charts,
    difference_figure: difference_charts,
    heat_figure: heat_charts,
    parameter_figure: parameter_charts,
    pareto_figure: pareto_charts,
    segment_figure: segment_charts,
    surface_figure: surface_charts,
}


def charts(drawing: Drawing) -> list[Spec]:
    """Return one specification per panel of a drawing; none if only the figure exists."""
    make = _OF_FIGURE.get(drawing.make)
    specs = make(drawing.shown, **drawing.options) if make else []
    return [spec | {"description": drawing.caption} for spec in specs]
