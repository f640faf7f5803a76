"""Metrics, learners and parameters as words of a figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.report.tables import heading, value_text

__all__ = ["in_unit", "metric_text", "params_text"]


def metric_text(metric: str) -> str:
    """Return a metric with its unit.

    Examples
    --------
    >>> metric_text("test_error")
    'test error (%)'
    """
    text = heading(metric)
    return text if text.isupper() else text[0].lower() + text[1:]


def in_unit(metric: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values in the unit that `metric_text` names: errors in percent."""
    return 100 * values if metric.endswith("_error") else values


def params_text(params: Mapping[str, Any]) -> str:
    """Return parameters as ``k=60, lam=1``."""
    return ", ".join(f"{name}={value_text(value)}" for name, value in params.items())
