"""Columns of Arrow's decimals as the doubles nearest to them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Up to here every whole number is a double.
_EXACT = 2**53

# The powers of ten that are doubles.
_POWERS = 10.0 ** np.arange(23)


def decimals_as_floats(column: Any) -> NDArray[np.float64]:
    """Return an array of decimals of any width as doubles, NaN for missing values.

    The quotient of two doubles is rounded once. So if the digits of a decimal and its power of ten
    are both exact doubles, their quotient is the double nearest to the decimal. Python converts all
    others.

    Parameters
    ----------
    column : pyarrow.Array
        Of ``decimal32``, ``decimal64``, ``decimal128`` or ``decimal256``.

    Returns
    -------
    ndarray of shape (rows,), float64

    Examples
    --------
    >>> from decimal import Decimal
    >>> import pyarrow
    >>> decimals_as_floats(pyarrow.array([Decimal("1003.858"), None]))
    array([1003.858,      nan])
    """
    numbers = np.full(len(column), np.nan)
    present = column.is_valid().to_numpy(zero_copy_only=False)
    digits, short = _digits(column)
    digits, scales = _without_end_zeros(digits, column.type.scale)
    exact = present & short & (scales >= 0) & (scales < len(_POWERS))
    exact &= (digits >= -_EXACT) & (digits <= _EXACT)
    numbers[exact] = digits[exact].astype(np.float64) / _POWERS[scales[exact]]
    inexact = np.flatnonzero(present & ~exact)
    if len(inexact):
        numbers[inexact] = [
            float(decimal) for decimal in column.take(inexact).to_pylist()
        ]
    return numbers


def _digits(column: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the digits of each decimal as a whole number, and whether they fit into 64 bits."""
    rows = len(column)
    if not rows:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
    width = column.type.byte_width
    begin = column.offset * width
    end = (column.offset + rows) * width
    octets = np.frombuffer(column.buffers()[1], dtype=np.uint8)[begin:end]
    if width < 8:
        return octets.view("<i4").astype(np.int64), np.ones(rows, dtype=np.bool_)
    words = octets.view("<i8").reshape(rows, width // 8)
    # The other words only repeat the sign of a number that fits into the first.
    short = (words[:, 1:] == (words[:, :1] >> 63)).all(axis=1)
    return words[:, 0].astype(np.int64), short


def _without_end_zeros(
    digits: NDArray[np.int64],
    scale: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return `digits` and their scales after cutting trailing zeros off large ones.

    Spark writes 1.5 with 18 digits after the point.
    """
    digits = digits.copy()
    scales = np.full(len(digits), scale)
    large = np.flatnonzero((digits < -_EXACT) | (digits > _EXACT))
    for zeros in (16, 8, 4, 2, 1):
        power = 10**zeros
        ends = large[digits[large] % power == 0]
        digits[ends] //= power
        scales[ends] -= zeros
    return digits, scales
