"""Metrics: what a run reports of its rows. A new one is one file here and one name in `METRICS`."""

from olscale.evaluation.metrics.base import CURVE_POINTS, Metric, StreamShape
from olscale.evaluation.metrics.drift import DriftAlarms
from olscale.evaluation.metrics.fading import FadingError
from olscale.evaluation.metrics.final_error import FinalError
from olscale.evaluation.metrics.holdout import HoldoutError
from olscale.evaluation.metrics.prequential import Prequential
from olscale.evaluation.metrics.window import WindowError

__all__ = [
    "CURVE_POINTS",
    "METRICS",
    "DriftAlarms",
    "FadingError",
    "FinalError",
    "HoldoutError",
    "Metric",
    "Prequential",
    "StreamShape",
    "WindowError",
]

METRICS: tuple[type[Metric], ...] = (Prequential, FinalError, WindowError, FadingError, HoldoutError, DriftAlarms)
