"""Values along a line as one word of blocks, for terminals."""

from collections.abc import Sequence
from math import isfinite

_BLOCKS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"


def sparkline(values: Sequence[float], width: int) -> str:
    """Return values as blocks, the lowest value as the lowest block.

    Examples
    --------
    >>> sparkline([4.0, 3.0, 2.0, 1.0], 4)
    '█▆▃▁'
    """
    finite = [value for value in values if isfinite(value)]
    if len(finite) < 2:
        return ""
    count = min(width, len(finite))
    picked = [finite[round(i * (len(finite) - 1) / (count - 1))] for i in range(count)]
    low = min(picked)
    span = (max(picked) - low) or 1.0
    return "".join(
        _BLOCKS[round((value - low) / span * (len(_BLOCKS) - 1))] for value in picked
    )
