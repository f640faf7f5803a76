"""Figures, one kind per file, of a store's aggregates or of learners in the plane.

They need matplotlib.
"""

from olscale.report.figures.boundaries import boundary_figure
from olscale.report.figures.confusions import confusion_figure
from olscale.report.figures.curves import alarm_figure, curve_figure, roc_figure
from olscale.report.figures.parameters import parameter_figure, surface_figure
from olscale.report.figures.pareto import pareto_figure
from olscale.report.figures.ranks import difference_figure, rank_figure
from olscale.report.figures.segments import heat_figure, segment_figure
from olscale.report.figures.style import save

__all__ = [
    "alarm_figure",
    "boundary_figure",
    "confusion_figure",
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
