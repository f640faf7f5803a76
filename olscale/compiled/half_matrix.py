"""Half of a symmetric matrix, in panels: products, updates and the inverse.

The panels are those of `olscale.compiled.simd.triangle`. Sums are in a fixed order for any number
of vectors that are multiplied at a time.
"""

from typing import Any

import numpy as np

from olscale.arrays import FloatArray
from olscale.compiled.decorator import compiled, nested
from olscale.compiled.simd.triangle import (
    PANEL,
    multiply_panel,
    packed_size,
    subtract_panel,
)


@compiled
def place(width: int, j: int, k: int) -> int:
    """Return where the element of row `j` and column `k` is.

    A column before the panel of its row does not exist.
    """
    r = j - j % PANEL
    start_of_panel = r * width - r * (r - PANEL) // 2
    start_of_row = start_of_panel + (j - r) * (width - r)
    return start_of_row + (k - r)


def half_of_diagonal(diagonal: FloatArray) -> FloatArray:
    """Return a diagonal matrix whose size is a multiple of `PANEL`.

    Examples
    --------
    >>> half_of_diagonal(np.arange(8.0)).reshape(8, 8).diagonal().tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    """
    width = len(diagonal)
    half = np.zeros(packed_size(width))
    place_of: Any = place.py_func  # type: ignore[attr-defined]
    places = [place_of(width, j, j) for j in range(width)]
    half[places] = diagonal
    return half


@nested
def multiply(half: Any, Z: Any, count: int, G: Any) -> None:
    """Set the first `count` rows of `G` to the products with those of `Z`, each panel read once."""
    width = Z.shape[1]
    start = 0
    for r in range(count):
        for j in range(width):
            G[r, j] = 0.0
    for first in range(0, width, PANEL):
        for r in range(count):
            multiply_panel(half, start, first, Z[r], G[r])
        start += PANEL * (width - first)


@nested
def subtract(half: Any, H: Any, count: int) -> None:
    """Subtract ``h h'`` for the first `count` rows h of `H`, one after the other."""
    width = H.shape[1]
    start = 0
    for first in range(0, width, PANEL):
        subtract_panel(half, start, first, H, count)
        start += PANEL * (width - first)


@compiled
def invert(half: Any, size: int, width: int) -> bool:
    """Invert the first `size` rows and columns of a positive definite matrix; return success.

    The inverse replaces them. Each step of elimination is a rank-one update of the full matrix: the
    sweep operator.
    """
    line = np.zeros((1, width))
    a = line[0]
    for k in range(size):
        for j in range(width):
            at = place(width, min(j, k), max(j, k))
            a[j] = half[at]
        pivot = a[k]
        if not (0.0 < pivot < np.inf):
            return False
        root = np.sqrt(pivot)
        for j in range(width):
            a[j] /= root
        a[k] = 0.0
        subtract(half, line, 1)
        a[k] = -1.0 / root
        for j in range(width):
            element = a[j] / root
            at = place(width, min(j, k), max(j, k))
            half[at] = element
            if j - j % PANEL == k - k % PANEL:
                element = a[j] / root
                across = place(width, max(j, k), min(j, k))
                half[across] = element
    # All steps together leave minus the inverse.
    for n in range(half.shape[0]):
        half[n] = -half[n]
    return True
