"""Metrics: what a run reports of its rows. A new one is one file here and one name in `METRICS`."""

from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.metrics.prequential import Prequential
from olscale.evaluation.metrics.test_error import TestError

__all__ = ["METRICS", "Metric", "Prequential", "StreamShape", "TestError"]

METRICS: tuple[type[Metric], ...] = (Prequential, TestError)
