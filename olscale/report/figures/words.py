"""Metrics, learners and parameters as words of a figure."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from olscale.measures import measure_of
from olscale.printable import printable
from olscale.report.wording import metric_text, value_text

__all__ = ["figure_text", "in_unit", "legible", "metric_text", "params_text"]

T = TypeVar("T")


_LONGEST_TICK = 24


def figure_text(name: str) -> str:
    r"""Return a name as matplotlib needs it: printable, no formula, never hidden from a legend.

    Examples
    --------
    >>> print(figure_text("gain in $"), figure_text("_private:Learner"))
    gain in \$  _private:Learner
    """
    text = printable(name).replace("$", r"\$")
    if text.startswith("_"):
        return f" {text}"
    return text


def tick_text(name: str) -> str:
    """Return a name for a tick, cut if it would leave no room for the figure.

    Examples
    --------
    >>> tick_text("2026-11-22"), len(tick_text(100 * "x"))
    ('2026-11-22', 24)
    """
    if len(name) <= _LONGEST_TICK:
        return name
    return f"{name[: _LONGEST_TICK - 3]}..."


def legible(shown: Mapping[str, T]) -> dict[str, T]:
    """Return the content of a figure under names that matplotlib accepts."""
    return {figure_text(name): item for name, item in shown.items()}


def in_unit(metric: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values in the unit that `metric_text` names: errors in percent."""
    if measure_of(metric).unit == "percent":
        return 100 * values
    return values


def params_text(params: Mapping[str, Any]) -> str:
    """Return parameters as ``k=60, lam=1``."""
    return ", ".join(f"{name}={value_text(value)}" for name, value in params.items())
