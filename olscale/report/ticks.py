"""Round numbers for axes that are drawn here."""

import math


def nice_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers that span a range, at most `most` and one.

    Examples
    --------
    >>> nice_ticks(39.3, 44.8)
    [38.0, 40.0, 42.0, 44.0, 46.0]
    """
    span = (high - low) or abs(high) or 1.0
    raw = span / (most - 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(
        factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9)
    )
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [round(step * i, 12) for i in range(first, max(last, first + 1) + 1)]
