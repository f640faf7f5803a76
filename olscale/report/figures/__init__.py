"""Figures, one kind per file, of a store's aggregates or of learners in the plane.

They need matplotlib.
"""

from olscale.report.figures.alarms import alarm_figure
from olscale.report.figures.boundaries import boundary_figure
from olscale.report.figures.curves import curve_figure
from olscale.report.figures.differences import difference_figure
from olscale.report.figures.heat import heat_figure
from olscale.report.figures.parameters import parameter_figure
from olscale.report.figures.pareto import pareto_figure
from olscale.report.figures.ranks import rank_figure
from olscale.report.figures.rocs import roc_figure
from olscale.report.figures.segments import segment_figure
from olscale.report.figures.style import save
from olscale.report.figures.surfaces import surface_figure

__all__ = [
    "alarm_figure",
    "boundary_figure",
    "curve_figure",
    "difference_figure",
    "heat_figure",
    "parameter_figure",
    "pareto_figure",
    "rank_figure",
    "roc_figure",
    "save",
    "segment_figure",
    "surface_figure",
]
