"""Metrics: what a run reports about its rows. A new one is a file here and a line in `METRICS`."""

from olscale.evaluation.metrics.base import CURVE_POINTS, Metric, StreamShape
from olscale.evaluation.metrics.class_measures import ClassMeasures
from olscale.evaluation.metrics.confusion import Confusion
from olscale.evaluation.metrics.drift import DriftAlarms
from olscale.evaluation.metrics.fading import FadingError
from olscale.evaluation.metrics.final_error import FinalError
from olscale.evaluation.metrics.holdout import HoldoutError
from olscale.evaluation.metrics.latency import Latency
from olscale.evaluation.metrics.log_loss import LogLoss
from olscale.evaluation.metrics.median_error import MedianError
from olscale.evaluation.metrics.model_size import ModelSize
from olscale.evaluation.metrics.prequential import Prequential
from olscale.evaluation.metrics.ranking import Ranking
from olscale.evaluation.metrics.residuals import Residuals
from olscale.evaluation.metrics.roc import Roc
from olscale.evaluation.metrics.weighted_rates import WeightedError, WeightedWindowError
from olscale.evaluation.metrics.window import WindowError
from olscale.evaluation.metrics.wrong_rows import WrongRows
from olscale.registry import Registry

__all__ = [
    "CURVE_POINTS",
    "METRICS",
    "ClassMeasures",
    "Confusion",
    "DriftAlarms",
    "FadingError",
    "FinalError",
    "HoldoutError",
    "Latency",
    "LogLoss",
    "MedianError",
    "Metric",
    "ModelSize",
    "Prequential",
    "Ranking",
    "Residuals",
    "Roc",
    "StreamShape",
    "WeightedError",
    "WeightedWindowError",
    "WindowError",
    "WrongRows",
]

METRICS: Registry[type[Metric]] = Registry(
    "metric",
    {
        "prequential": "olscale.evaluation.metrics.prequential:Prequential",
        "weighted-error": "olscale.evaluation.metrics.weighted_rates:WeightedError",
        "final-error": "olscale.evaluation.metrics.final_error:FinalError",
        "train-error": "olscale.evaluation.metrics.train_error:TrainError",
        "window-error": "olscale.evaluation.metrics.window:WindowError",
        "weighted-window-error": "olscale.evaluation.metrics.weighted_rates:WeightedWindowError",
        "fading-error": "olscale.evaluation.metrics.fading:FadingError",
        "holdout-error": "olscale.evaluation.metrics.holdout:HoldoutError",
        "drift-alarms": "olscale.evaluation.metrics.drift:DriftAlarms",
        "residuals": "olscale.evaluation.metrics.residuals:Residuals",
        "class-measures": "olscale.evaluation.metrics.class_measures:ClassMeasures",
        "confusion": "olscale.evaluation.metrics.confusion:Confusion",
        "ranking": "olscale.evaluation.metrics.ranking:Ranking",
        "median-error": "olscale.evaluation.metrics.median_error:MedianError",
        "log-loss": "olscale.evaluation.metrics.log_loss:LogLoss",
        "roc": "olscale.evaluation.metrics.roc:Roc",
        "model-size": "olscale.evaluation.metrics.model_size:ModelSize",
        "latency": "olscale.evaluation.metrics.latency:Latency",
        "wrong-rows": "olscale.evaluation.metrics.wrong_rows:WrongRows",
    },
)
"""All metrics; a run measures those that its protocol asks for, in this order."""
