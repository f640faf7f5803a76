"""Change points of a series: a piecewise constant fit in least absolute deviations, priced by step.

With absolute deviations a single night that is far off costs what it is off and no more, so it
makes no step; and the level of a part is its median, one of its own values, which makes the search
exact and short (`l1_parts`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_NIGHTS = 8
"""Below so many values nothing is said of a series."""

MOST_NIGHTS = 200
"""The last values that are looked at."""

_CORRELATED = 0.4
"""Correlation of neighbours above which a long series drifts: its steps may be none."""

# Found by simulation: 2 ln n finds a step in 4 of 1,000 series of pure noise of 5 %. At that
# noise a step of 15 % is mostly found after five nights, not after three.
_PRICE = 2.3
"""Price of a step, in deviations of the noise times the logarithm of the nights.

At 2.0 four of a thousand series of pure noise of 5 % have a step. At 2.5 none has, and a step of
15 % that is three nights old is found half as often.
"""


@dataclass(frozen=True, slots=True)
class Parts:
    """A series cut where its level changes.

    Parameters
    ----------
    starts : tuple of int
        Where each part begins; the first is 0.
    levels : tuple of float
        Median of each part.
    correlation : float
        Of neighbours, after the levels are taken off.
    nights : int
        Length of the series.
    """

    starts: tuple[int, ...]
    levels: tuple[float, ...]
    correlation: float
    nights: int

    @property
    def unstable(self) -> bool:
        """Whether neighbours are so alike that drifts look like steps, or few."""
        return bool(self.correlation > max(_CORRELATED, 2.0 / self.nights**0.5))


def l1_parts(values: NDArray[np.float64], price: float, least: int = 3) -> list[int]:
    """Return where the parts with the least sum of absolute deviations and step prices begin.

    Parameters
    ----------
    values : float64 array of shape (n,)
    price : float
        Of one more part.
    least : int
        Values of a part.

    Notes
    -----
    A dynamic programme over the end of the last part and its level. Only the series' own values
    need to be tried as levels: a median is among those of least deviation. Time and memory grow
    with the square of the length.

    Examples
    --------
    >>> l1_parts(np.array([1.0, 1.0, 9.0, 1.0, 5.0, 5.0, 5.0]), price=2.0)
    [0, 4]
    """
    n = len(values)
    off = np.abs(values[:, None] - np.unique(values))  # of each value from each level
    # Of the last part, by its level.
    cost = np.full(off.shape[1], np.inf)
    start = np.zeros(off.shape[1], np.int64)
    # Of all parts up to an end; the first part pays no price, since it begins with no step.
    best = np.full(n + 1, np.inf)
    begins = np.zeros(n + 1, np.int64)
    best[0] = -price
    for end in range(least, n + 1):
        cost += off[end - 1]
        # A part begins with all the values that it must have, so none is ever too short.
        fresh = best[end - least] + price + off[end - least : end].sum(axis=0)
        shorter = fresh < cost
        cost[shorter] = fresh[shorter]
        start[shorter] = end - least
        level = int(cost.argmin())
        best[end] = cost[level]
        begins[end] = start[level]
    starts = [int(begins[n])]
    while starts[0]:
        starts.insert(0, int(begins[starts[0]]))
    return starts


def find_parts(
    values: NDArray[np.float64], change: float, least: int, relative: bool = True
) -> Parts:
    """Cut a series where its level changes by at least `change`.

    Parameters
    ----------
    values : float64 array of shape (n,)
    change : float
        The least step, as a share of the level before it, or as it stands if not `relative`.
    least : int
        Values of a part.
    relative : bool
    """
    n = len(values)
    if n < 2 * least:
        return Parts((0,), (float(np.median(values)),), 0.0, n)
    # Differences of neighbours have no level, so a step does not count as noise; each is the
    # difference of two noises, which makes it wider by the root of two.
    price = _PRICE * np.log(n)
    noise = _noise(np.diff(values)) / np.sqrt(2.0)
    # A series that hardly moves would otherwise make a step of the last digit.
    floor = 1e-3 * abs(float(np.median(values))) or 1e-12
    for _ in range(2):
        starts = l1_parts(values / max(noise, floor), price, least)
        # Differences of neighbours underestimate noise that is not independent.
        if (remaining_noise := _noise(_residuals(values, starts))) <= noise:
            break
        noise = remaining_noise
    starts = _join(values, starts, change, least, relative)
    residuals = _residuals(values, starts)
    # One night that is far off would hide what neighbours share.
    limit = 3.0 * _noise(residuals)
    residuals = residuals.clip(-limit, limit)
    spread = float(residuals @ residuals)
    correlation = 0.0
    if spread:
        correlation = float(residuals[:-1] @ residuals[1:]) / spread
    return Parts(tuple(starts), tuple(_levels(values, starts)), correlation, n)


def _noise(deviations: NDArray[np.float64]) -> float:
    """Return the standard deviation of normal noise with this median absolute deviation."""
    return 1.4826 * float(np.median(np.abs(deviations - np.median(deviations))))


def _levels(values: NDArray[np.float64], starts: list[int]) -> list[float]:
    parts = np.split(values, starts[1:])
    return [float(np.median(part)) for part in parts]


def _residuals(values: NDArray[np.float64], starts: list[int]) -> NDArray[np.float64]:
    parts = np.split(values, starts[1:])
    return np.concatenate([part - np.median(part) for part in parts])


def _join(
    values: NDArray[np.float64],
    starts: list[int],
    change: float,
    least: int,
    relative: bool,
) -> list[int]:
    """Join the most alike neighbours until each step is large and has `least` values per side."""
    while len(starts) > 1:
        levels = np.array(_levels(values, starts))
        steps = np.abs(np.diff(levels))
        if relative:
            steps /= np.abs(levels[:-1])
        parts = np.split(values, starts[1:])
        for i, middle in enumerate((levels[:-1] + levels[1:]) / 2.0):
            # A part may hold a night of its neighbour, to be long enough.
            sides = [
                np.count_nonzero((part > middle) == (level > middle))
                for part, level in zip(parts[i : i + 2], levels[i : i + 2], strict=True)
            ]
            if min(sides) < least:
                steps[i] = 0.0
        smallest = int(steps.argmin())
        if steps[smallest] >= change:
            break
        starts = starts[: smallest + 1] + starts[smallest + 2 :]
    return starts
