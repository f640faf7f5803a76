"""The inverse of the kernel matrix of support vectors, updated in O(m^2) per vector.

All loops write full lines in ascending order, and what they add is symmetric to the bit, so the
inverse is too.
"""

from typing import Any

from olscale.compiled.decorator import nested
from olscale.compiled.simd.columns import multiply_first

LEAST_DISTANCE = 1e-8
"""Share of ``k(x, x)`` below which the vectors span a row: the inverse would be noise."""


@nested
def project(
    inverse: Any,
    count: int,
    k: Any,
    own: float,
    c: Any,
) -> float:
    """Set `c` to the coefficients of a row's projection on the vectors; return its distance.

    It is the squared distance of the row from the projection.
    """
    if count == 0:
        return own
    multiply_first(k[:count], inverse, count, c)
    inside = 0.0
    for s in range(count):
        inside += k[s] * c[s]
    return max(0.0, own - inside)


@nested
def border(inverse: Any, count: int, c: Any, distance: float) -> None:
    """Add a vector, whose projection `project` gave, as number `count`."""
    share = 1.0 / distance
    for s in range(count):
        line = inverse[s]
        size = c[s]
        for r in range(count):
            line[r] += (size * c[r]) * share
    for s in range(count):
        inverse[s, count] = inverse[count, s] = -c[s] * share
    inverse[count, count] = share


@nested
def strike(inverse: Any, count: int, slot: int, c: Any) -> None:
    """Remove vector `slot` of `count`; the last takes its number. `c` is space."""
    share = 1.0 / inverse[slot, slot]
    for s in range(count):
        c[s] = inverse[slot, s]
    for s in range(count):
        line = inverse[s]
        size = c[s]
        for r in range(count):
            line[r] -= (size * c[r]) * share
    last = count - 1
    for s in range(count):
        inverse[slot, s] = inverse[last, s]
    for s in range(count):
        inverse[s, slot] = inverse[s, last]
    inverse[slot, slot] = inverse[last, last]
    for s in range(count):
        inverse[last, s] = inverse[s, last] = 0.0
