"""Random draws of forests, by the formulas of MOA."""

from typing import Any

from olscale.compiled.decorator import inlined, nested
from olscale.compiled.java_random import JavaRandom, next_double, next_int

_MOST_WEIGHT = 100
"""Least bound of draws by `draw_poisson`; ten times the mean where that is more."""


@nested
def draw_poisson(random: JavaRandom, mean: float, power: float) -> int:
    """Return a number of the Poisson distribution with this mean; `power` is ``e^mean``."""
    target = next_double(random) * power
    most = max(_MOST_WEIGHT, 10 * int(mean + 0.999999))
    term = 1.0
    total = 1.0
    count = 1
    while count < most and total <= target:
        term *= mean / count
        total += term
        count += 1
    return count - 1


@inlined
def _insert(features: Any, count: int, feature: int) -> None:
    """Put a feature among the first `count`, which ascend."""
    place = count
    while place > 0 and features[place - 1] > feature:
        features[place] = features[place - 1]
        place -= 1
    features[place] = feature


@nested
def draw_features(random: JavaRandom, columns: int, space: Any, features: Any) -> None:
    """Set `features` to different ones of so many, in ascending order.

    `space` has room for `columns` numbers. If all features are to be taken, nothing is drawn.
    """
    count = features.shape[0]
    if count == columns:
        for j in range(columns):
            features[j] = j
        return
    for j in range(columns):
        space[j] = j
    for k in range(count):
        place = next_int(random, columns - k)
        feature = space[place]
        # The order of what is left counts for later draws.
        for j in range(place, columns - k - 1):
            space[j] = space[j + 1]
        _insert(features, k, feature)


@nested
def draw_until_different(random: JavaRandom, columns: int, features: Any) -> None:
    """Set `features` to different ones of so many, ascending; each is drawn until it is new."""
    for k in range(features.shape[0]):
        is_new = False
        while not is_new:
            feature = next_int(random, columns)
            is_new = True
            for place in range(k):
                is_new &= features[place] != feature
        _insert(features, k, feature)
