"""Masked arrays, whose values under the mask NumPy would silently use."""

import sys
from typing import Any

import numpy as np

from olscale.errors import ParameterError

_MASKED = "numpy.ma"


def masked_values(array: Any) -> int:
    """Return how many values of `array`, or of the arrays that a list of them has, are masked.

    Examples
    --------
    >>> masked_values(np.ma.array([1.0, 2.0], mask=[False, True]))
    1
    >>> masked_values([1.0, np.ma.masked]), masked_values([1.0])
    (1, 0)
    """
    # No masked array exists then, and the first use of `numpy.ma` would import it.
    if _MASKED not in sys.modules:
        return 0
    parts = [array]
    if isinstance(array, list | tuple):
        parts = list(array)
    return sum(
        int(np.ma.getmaskarray(part).sum())
        for part in parts
        if isinstance(part, np.ma.MaskedArray)
    )


def refuse_masked(array: Any, what: str) -> None:
    """Raise `ParameterError` if `array`, called `what`, has masked values."""
    if count := masked_values(array):
        raise ParameterError(
            f"masked values in {what} ({count:,}) hold no number; fill them in, or leave such "
            "rows out"
        )
