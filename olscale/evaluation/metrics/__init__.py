"""Metrics: what a run reports about its rows. A new one is a file here and a line in `METRICS`."""

from olscale.evaluation.metrics.base import CURVE_POINTS, Metric, StreamShape
from olscale.evaluation.metrics.calibration_error import CalibrationError
from olscale.evaluation.metrics.class_measures import ClassMeasures
from olscale.evaluation.metrics.confusion import Confusion
from olscale.evaluation.metrics.drift import DriftAlarms
from olscale.evaluation.metrics.final_error import FinalError
from olscale.evaluation.metrics.holdout import HoldoutError
from olscale.evaluation.metrics.kept_rows import MedianError
from olscale.evaluation.metrics.log_loss import LogLoss
from olscale.evaluation.metrics.mean_losses import Brier, DecisionCost
from olscale.evaluation.metrics.model_watch import Latency, ModelSize
from olscale.evaluation.metrics.one_class import AveragePrecision, OneClass
from olscale.evaluation.metrics.prequential import Prequential, WeightedError
from olscale.evaluation.metrics.ranking import Ranking, Roc
from olscale.evaluation.metrics.residuals import Residuals
from olscale.evaluation.metrics.window import (
    FadingError,
    WeightedWindowError,
    WindowError,
)
from olscale.evaluation.metrics.wrong_rows import WrongRows
from olscale.registry import Registry

__all__ = [
    "CURVE_POINTS",
    "METRICS",
    "AveragePrecision",
    "Brier",
    "CalibrationError",
    "ClassMeasures",
    "Confusion",
    "DecisionCost",
    "DriftAlarms",
    "FadingError",
    "FinalError",
    "HoldoutError",
    "Latency",
    "LogLoss",
    "MedianError",
    "Metric",
    "ModelSize",
    "OneClass",
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
        "weighted-error": "olscale.evaluation.metrics.prequential:WeightedError",
        "final-error": "olscale.evaluation.metrics.final_error:FinalError",
        "train-error": "olscale.evaluation.metrics.final_error:TrainError",
        "window-error": "olscale.evaluation.metrics.window:WindowError",
        "weighted-window-error": "olscale.evaluation.metrics.window:WeightedWindowError",
        "fading-error": "olscale.evaluation.metrics.window:FadingError",
        "holdout-error": "olscale.evaluation.metrics.holdout:HoldoutError",
        "drift-alarms": "olscale.evaluation.metrics.drift:DriftAlarms",
        "residuals": "olscale.evaluation.metrics.residuals:Residuals",
        "class-measures": "olscale.evaluation.metrics.class_measures:ClassMeasures",
        "confusion": "olscale.evaluation.metrics.confusion:Confusion",
        "ranking": "olscale.evaluation.metrics.ranking:Ranking",
        "median-error": "olscale.evaluation.metrics.kept_rows:MedianError",
        "log-loss": "olscale.evaluation.metrics.log_loss:LogLoss",
        "brier": "olscale.evaluation.metrics.mean_losses:Brier",
        "decision-cost": "olscale.evaluation.metrics.mean_losses:DecisionCost",
        "calibration-error": "olscale.evaluation.metrics.calibration_error:CalibrationError",
        "one-class": "olscale.evaluation.metrics.one_class:OneClass",
        "average-precision": "olscale.evaluation.metrics.one_class:AveragePrecision",
        "roc": "olscale.evaluation.metrics.ranking:Roc",
        "model-size": "olscale.evaluation.metrics.model_watch:ModelSize",
        "latency": "olscale.evaluation.metrics.model_watch:Latency",
        "wrong-rows": "olscale.evaluation.metrics.wrong_rows:WrongRows",
    },
)
"""All metrics; a run measures those that its protocol asks for, in this order."""
