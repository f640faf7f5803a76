"""Axes of parameters: logarithmic where the values are geometric, with ticks at the values."""

from collections.abc import Sequence

import numpy as np


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


def value_text(value: float, among: Sequence[float]) -> str:
    """Return a value as a tick label: a power if `among` are powers of 2 or 10 over a wide range.

    Examples
    --------
    >>> value_text(0.0625, [0.0625, 1.0, 16.0]), value_text(0.001, [0.001, 1.0, 1000.0])
    ('$2^{-4}$', '$10^{-3}$')
    >>> value_text(40.0, [10.0, 40.0])
    '40'
    """
    if min(among) > 0.0 and max(among) / min(among) > 99.0:
        for base, log in ((10, np.log10), (2, np.log2)):
            powers = log(np.array(among))
            if np.allclose(powers, powers.round(), atol=1e-9):
                return f"${base}^{{{round(float(log(value)))}}}$"
    return f"{value:g}"
