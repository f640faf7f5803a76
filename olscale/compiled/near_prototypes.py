"""The prototype nearest to a row, also where products leave nothing of the distances but rounding.

Where a feature is 1e8 in all rows, and they differ by 1, ``|x|^2 + |s|^2/n^2 - (2/n) x.s`` has no right
digit. So where the least distance is tiny beside ``|x|^2``, and there are several such prototypes,
their distances are summed by differences. Another prototype is taken only if it is nearer by more
than what rounding does to means of equal rows: rows that are copies of each other keep theirs.
"""

from typing import Any

import numpy as np

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.prototypes import Array, Prototypes
from olscale.compiled.row_layout import by_layout
from olscale.compiled.simd.lowest import lowest


@inlined
def nearest(prototypes: Prototypes, X: Any, i: int, square: float) -> int:
    """Return the prototype nearest to the measured row `i`, of squared norm `square`.

    Of equals it is the first.
    """
    place: int = lowest(prototypes.offsets, prototypes.slopes, prototypes.products)
    if _product_distance(prototypes, square, place) < prototypes.close * square:
        place = _nearest_by_differences(prototypes, X, i, square, place)
    return place


@inlined
def _product_distance(prototypes: Prototypes, square: float, p: int) -> float:
    from_origin = prototypes.offsets[p] - prototypes.slopes[p] * prototypes.products[p]
    return float(square + from_origin)


@compiled
def _nearest_by_differences(
    prototypes: Prototypes, X: Any, i: int, square: float, place: int
) -> int:
    """Return the nearest of the prototypes that are too near for products to tell."""
    least = max(0.0, _product_distance(prototypes, square, place))
    far = least + prototypes.close * square
    candidates = np.empty(prototypes.counts.shape[0], np.int64)
    count = 0
    for p in range(prototypes.counts.shape[0]):
        if _product_distance(prototypes, square, p) <= far:
            candidates[count] = p
            count += 1
    if count < 2:
        return place
    distances = np.zeros(count)
    add_differences(X, i, prototypes, candidates[:count], True, distances)
    # Copies of the row are as near as can be, and features that it lacks may be millions.
    if distances.max() <= prototypes.same * square:
        return place
    add_differences(X, i, prototypes, candidates[:count], False, distances)
    best, chosen = 0, 0
    for n in range(count):
        if distances[n] < distances[best]:
            best = n
        if candidates[n] == place:
            chosen = n
    if distances[chosen] - distances[best] <= prototypes.same * square:
        return place
    return int(candidates[best])


@by_layout
def add_differences(
    X: Rows, i: int, prototypes: Prototypes, candidates: Any, nonzero: bool, distances: Array
) -> Any:
    """Add the squared differences of row `i` and each candidate at the features that are 0, or are not.

    The row is taken in the precision of the sums.
    """
    number = prototypes[0].dtype

    def add(prototypes, j, value, candidates, distances):
        for n in range(candidates.shape[0]):
            p = candidates[n]
            rows = max(1.0, prototypes.counts[p])
            difference = value - prototypes.sums[j, p] / rows
            distances[n] += difference * difference

    add = inlined(add)

    def dense(X, i, prototypes, candidates, nonzero, distances):
        row = prototypes.rows[i & 1]
        for j in range(prototypes.sums.shape[0]):
            if (row[j] != 0.0) == nonzero:
                add(prototypes, j, np.float64(row[j]), candidates, distances)

    def csr(X, i, prototypes, candidates, nonzero, distances):
        start, stop = X.indptr[i], X.indptr[i + 1]
        if nonzero:
            for p in range(start, stop):
                value = number(X.data[p])
                if value != 0.0:
                    add(prototypes, X.indices[p], np.float64(value), candidates, distances)
        else:
            p = start
            for j in range(prototypes.sums.shape[0]):
                value = number(0.0)
                if p < stop and X.indices[p] == j:
                    value = number(X.data[p])
                    p += 1
                if value == 0.0:
                    add(prototypes, j, 0.0, candidates, distances)

    return dense, csr
