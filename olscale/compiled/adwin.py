"""ADWIN: windows that drop their older part when its mean differs from that of the newer one.

A window is an exponential histogram. Row r of it has at most 5 buckets of 2^r numbers each, the
oldest first, of which only sum and sum of squared differences are kept. At every 32nd number the
cuts between two buckets are compared, the oldest first. With n0 and n1 numbers before and after the
cut, of n in all, whose variance is s^2 and means m0 and m1, the oldest bucket goes if::

    |m0 - m1| > sqrt(2 m s^2 d) + 2/3 d m
    m = 1 / (n0 - 4) + 1 / (n1 - 4)
    d = log(2 log(n) / delta)

and the cuts are compared again. It is MOA's ``ADWIN``, number for number.

References
----------
A. Bifet, R. Gavalda, Learning from time-changing data with adaptive windowing, SDM 2007, section
3.2 and theorem 3.1.
"""

from collections.abc import Mapping
from math import sqrt
from typing import NamedTuple

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.compiled.decorator import compiled, inlined, nested
from olscale.compiled.elementary import quotient
from olscale.compiled.nearest import nearest_logarithm

BUCKETS = 5
"""Buckets of one size; of one more the two oldest are merged."""

LEVELS = 32
"""Sizes of buckets, which hold 2e10 numbers; beyond these the oldest are dropped."""

CLOCK = 32
"""Numbers from one comparison of cuts to the next."""

# Fewest numbers of a window, and of a side of a cut, that are compared: MOA's constants.
_LEAST_WIDTH = 10
_LEAST_SIDE = 5

TIME, WIDTH, DEEPEST = range(3)
"""What `Windows.window_counts` has: numbers so far, numbers in the window, largest used row."""

SUM, SQUARES = range(2)
"""What `Windows.window_sums` has: sum of the numbers, and of their squared differences."""


class Windows(NamedTuple):
    """The state of several windows.

    Parameters
    ----------
    bucket_sums, bucket_squares : float64 arrays of shape (windows, 32, 6)
        Sum of the numbers of each bucket, and of their squared differences from their mean.
    bucket_counts : int64 array of shape (windows, 32)
        Buckets of each size.
    window_counts : int64 array of shape (windows, 3)
    window_sums : float64 array of shape (windows, 2)
    """

    bucket_sums: FloatArray
    bucket_squares: FloatArray
    bucket_counts: IntArray
    window_counts: IntArray
    window_sums: FloatArray


def empty_windows(windows: int) -> Windows:
    """Return the state of so many windows without numbers.

    Examples
    --------
    >>> windows = empty_windows(1)
    >>> alarms = [n for n in range(1000) if add_to_window(windows, 0, float(n >= 500), 0.002)]
    >>> alarms, float(window_mean(windows, 0))
    ([511, 543, 607], 0.9920634920634921)
    """
    buckets = (windows, LEVELS, BUCKETS + 1)
    return Windows(
        bucket_sums=np.zeros(buckets),
        bucket_squares=np.zeros(buckets),
        bucket_counts=np.zeros((windows, LEVELS), dtype=np.int64),
        window_counts=np.zeros((windows, 3), dtype=np.int64),
        window_sums=np.zeros((windows, 2)),
    )


def windows_of(state: Mapping[str, Array]) -> Windows:
    """Return the windows of these arrays, ignoring others."""
    arrays = {name: state[name] for name in Windows._fields}
    return Windows(**arrays)


def are_windows(windows: Windows) -> bool:
    """Return whether the loops stay within these arrays."""
    buckets = windows.bucket_counts
    sizes = 1 << np.arange(LEVELS)
    widths = buckets @ sizes
    # The oldest bucket is dropped from the deepest row: from an empty one its count would go below
    # 0, and the next bucket would lie before the array.
    is_used = buckets > 0
    used_rows = np.where(is_used, np.arange(LEVELS), 0)
    deepest = used_rows.max(axis=1)
    return bool(
        (buckets >= 0).all()
        and (buckets <= BUCKETS).all()
        and (windows.window_counts[:, DEEPEST] == deepest).all()
        and (windows.window_counts[:, WIDTH] == widths).all()
    )


@nested
def copy_window(windows: Windows, source: int, target: int) -> None:
    """Let window `target` have the numbers of another one."""
    for row in range(LEVELS):
        count = windows.bucket_counts[source, row]
        windows.bucket_counts[target, row] = count
        for b in range(BUCKETS + 1):
            total = windows.bucket_sums[source, row, b]
            windows.bucket_sums[target, row, b] = total
            squares = windows.bucket_squares[source, row, b]
            windows.bucket_squares[target, row, b] = squares
    for part in range(3):
        windows.window_counts[target, part] = windows.window_counts[source, part]
    for part in range(2):
        windows.window_sums[target, part] = windows.window_sums[source, part]


@nested
def empty_window(windows: Windows, k: int) -> None:
    """Let window `k` begin anew."""
    for row in range(LEVELS):
        windows.bucket_counts[k, row] = 0
    for part in range(3):
        windows.window_counts[k, part] = 0
    for part in range(2):
        windows.window_sums[k, part] = 0.0


@inlined
def window_mean(windows: Windows, k: int) -> float:
    """Return the mean of the numbers in window `k`; 0 if it has none."""
    width = windows.window_counts[k, WIDTH]
    total = windows.window_sums[k, SUM]
    return float(total / max(width, 1))


@inlined
def _drop_buckets(windows: Windows, k: int, row: int, count: int) -> None:
    """Remove the oldest buckets of one size."""
    stop = windows.bucket_counts[k, row] - count
    for b in range(stop):
        source = b + count
        windows.bucket_sums[k, row, b] = windows.bucket_sums[k, row, source]
        windows.bucket_squares[k, row, b] = windows.bucket_squares[k, row, source]
    windows.bucket_counts[k, row] = stop


@inlined
def _append_bucket(
    windows: Windows,
    k: int,
    row: int,
    total: float,
    squares: float,
) -> None:
    b = windows.bucket_counts[k, row]
    windows.bucket_sums[k, row, b] = total
    windows.bucket_squares[k, row, b] = squares
    windows.bucket_counts[k, row] = b + 1


@nested
def _drop_oldest(windows: Windows, k: int) -> None:
    """Remove the oldest bucket of the window."""
    counts = windows.window_counts[k]
    sums = windows.window_sums[k]
    row = counts[DEEPEST]
    size = 1 << row
    total = windows.bucket_sums[k, row, 0]
    counts[WIDTH] -= size
    sums[SUM] -= total
    width = counts[WIDTH]
    difference = total / size - sums[SUM] / width
    # In MOA's order of operations, on which the last bits depend.
    between = float(size) * width * difference * difference / (size + width)
    sums[SQUARES] -= windows.bucket_squares[k, row, 0] + between
    _drop_buckets(windows, k, row, 1)
    if windows.bucket_counts[k, row] == 0 and row > 0:
        counts[DEEPEST] = row - 1


@nested
def _merge_buckets(windows: Windows, k: int) -> None:
    """Merge the two oldest buckets of each size that has too many."""
    row = 0
    while windows.bucket_counts[k, row] > BUCKETS:
        if row == LEVELS - 1:
            _drop_oldest(windows, k)
            return
        if row == windows.window_counts[k, DEEPEST]:
            windows.window_counts[k, DEEPEST] = row + 1
        size = 1 << row
        sums = windows.bucket_sums[k, row]
        squares = windows.bucket_squares[k, row]
        difference = sums[0] / size - sums[1] / size
        between = float(size) * size * difference * difference / (size + size)
        merged_squares = squares[0] + squares[1] + between
        merged_sum = sums[0] + sums[1]
        _append_bucket(windows, k, row + 1, merged_sum, merged_squares)
        _drop_buckets(windows, k, row, 2)
        row += 1


@inlined
def _differ(
    before: int,
    sum_before: float,
    after: int,
    sum_after: float,
    spread: float,
    d: float,
) -> bool:
    """Return whether the means on both sides of a cut differ."""
    if after <= _LEAST_SIDE + 1 or before <= _LEAST_SIDE + 1:
        return False
    of_first = quotient(1.0, before - _LEAST_SIDE + 1.0)
    of_second = quotient(1.0, after - _LEAST_SIDE + 1.0)
    m = of_first + of_second
    deviation = sqrt(2.0 * m * spread * d)
    bound = deviation + 2.0 / 3.0 * d * m
    mean_before = quotient(sum_before, before * 1.0)
    mean_after = quotient(sum_after, after * 1.0)
    return bool(abs(mean_before - mean_after) > bound)


@nested
def _has_cut(windows: Windows, k: int, delta: float) -> bool:
    """Return whether the means differ at any cut."""
    width = windows.window_counts[k, WIDTH]
    spread = windows.window_sums[k, SQUARES] / width
    # Rounding may leave less than nothing where all numbers are equal.
    if spread < 0.0:
        return False
    log_of_width = nearest_logarithm(float(width))
    d = nearest_logarithm(2.0 * log_of_width / delta)
    before = 0
    sum_before = 0.0
    sum_after = windows.window_sums[k, SUM]
    deepest = windows.window_counts[k, DEEPEST]
    for row in range(deepest, -1, -1):
        size = 1 << row
        count = windows.bucket_counts[k, row]
        for b in range(count):
            total = windows.bucket_sums[k, row, b]
            before += size
            sum_before += total
            sum_after -= total
            after = width - before
            if _differ(before, sum_before, after, sum_after, spread, d):
                return True
    return False


@compiled
def add_to_window(windows: Windows, k: int, value: float, delta: float) -> bool:
    """Add a number to window `k`; return whether it dropped numbers, as the mean has changed.

    `delta` is the probability of a false alarm as far as the bound holds, from 0 to 1.
    """
    counts = windows.window_counts[k]
    sums = windows.window_sums[k]
    counts[TIME] += 1
    counts[WIDTH] += 1
    width = counts[WIDTH]
    if width > 1:
        difference = value - sums[SUM] / (width - 1)
        sums[SQUARES] += (width - 1) * difference * difference / width
    sums[SUM] += value
    _append_bucket(windows, k, 0, value, 0.0)
    _merge_buckets(windows, k)
    if counts[TIME] % CLOCK != 0:
        return False
    has_dropped = False
    if counts[WIDTH] > _LEAST_WIDTH:
        while _has_cut(windows, k, delta):
            _drop_oldest(windows, k)
            has_dropped = True
    return has_dropped


@inlined
def mean_rises(windows: Windows, k: int, value: float, delta: float) -> bool:
    """Add a number to window `k`; return whether it dropped numbers, and its mean has grown."""
    # The first number has no mean before it that it could raise.
    first = windows.window_counts[k, WIDTH] == 0
    before = window_mean(windows, k)
    changed = add_to_window(windows, k, value, delta)
    return changed and not first and window_mean(windows, k) > before
