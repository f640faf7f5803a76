"""Metrics, learners and parameters as words of a figure, and values as ticks of its axes."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from olscale.measures import measure_of
from olscale.printable import printable
from olscale.report.labels import metric_text, value_text

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


def is_geometric(values: Sequence[float]) -> bool:
    """Return whether positive ascending values grow by a factor and not by a step.

    Examples
    --------
    >>> is_geometric([0.25, 1.0, 4.0]), is_geometric([10, 20, 30]), is_geometric([0.0, 1.0, 10.0])
    (True, False, False)
    """
    if len(values) < 3 or values[0] <= 0.0:
        return False
    steps = np.diff(values)
    factors = np.diff(np.log(values))
    return bool(factors.std() / factors.mean() < steps.std() / steps.mean())


def axis_value(value: float, among: Sequence[float]) -> str:
    """Return a value as a tick label: a power if `among` are powers of 2 or 10 over a wide range.

    Examples
    --------
    >>> axis_value(0.0625, [0.0625, 1.0, 16.0]), axis_value(0.001, [0.001, 1.0, 1000.0])
    ('$2^{-4}$', '$10^{-3}$')
    >>> axis_value(40.0, [10.0, 40.0])
    '40'
    """
    if min(among) > 0.0 and max(among) / min(among) > 99.0:
        for base, log in ((10, np.log10), (2, np.log2)):
            powers = log(np.array(among))
            if np.allclose(powers, powers.round(), atol=1e-9):
                return f"${base}^{{{round(float(log(value)))}}}$"
    return f"{value:g}"
