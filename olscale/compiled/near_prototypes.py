"""The prototype nearest to a row, also where products lose all digits of the distances.

If a feature is 1e8 in all rows, and they differ by 1, ``|x|^2 + |s|^2/n^2 - (2/n) x.s`` has no
right digit. So where the least distance is tiny compared to ``|x|^2``, and there are several such
prototypes, their distances are summed by differences. Another prototype is taken only if it is
nearer by more than what rounding does to means of equal rows: copies of a row keep their prototype.
Where rows differ, but from all prototypes by less than that, the nearest one cannot be determined.
"""

from typing import Any

import numpy as np

from olscale.arrays import FloatArray
from olscale.compiled.csr import Rows
from olscale.compiled.decorator import inlined, nested
from olscale.compiled.prototypes import Prototypes
from olscale.compiled.row_layout import by_layout
from olscale.compiled.simd.lowest import lowest

PRESENT, ABSENT, RELATIVE = range(3)
"""Differences at features that a row has, at those it lacks, and relative ones at the first."""

NONE = -1
"""Instead of a prototype: rounding hides which one is nearest."""

_LOST = 2.0**-8
"""Share of `Prototypes.close` below which a distance of rows of length 1 has no digits."""

_ALIKE = 2.0**-20
"""Square of a relative difference up to which a value may be a copy of another."""


@inlined
def nearest(prototypes: Prototypes, X: Any, i: int, square: float) -> int:
    """Return the prototype nearest to the measured row `i`, of squared norm `square`, or `NONE`.

    It is the first among equals.
    """
    place, least = lowest(prototypes.offsets, prototypes.slopes, prototypes.products)
    # |x|^2 + |p|^2 - 2 x.p has lost its digits: differences are summed for the nearest few.
    if square + least < prototypes.close * square:
        place = _nearest_by_differences(prototypes, X, i, square, place)
    return int(place)


@inlined
def _product_distance(prototypes: Prototypes, square: float, p: int) -> float:
    from_origin = prototypes.offsets[p] - prototypes.slopes[p] * prototypes.products[p]
    return float(square + from_origin)


@inlined
def _clear_distances(prototypes: Prototypes, count: int) -> None:
    for n in range(count):
        prototypes.distances[n] = 0.0


# These loops replace `max` and `min` of an array, which numba takes a second to compile.


@inlined
def _are_all_up_to(distances: FloatArray, count: int, most: float) -> bool:
    """Return whether none of the first `count` distances is greater than `most`."""
    answer = True
    for n in range(count):
        answer &= distances[n] <= most
    return answer


@inlined
def _are_all_above(distances: FloatArray, count: int, least: float) -> bool:
    """Return whether each of the first `count` distances is greater than `least`."""
    answer = True
    for n in range(count):
        answer &= distances[n] > least
    return answer


@nested
def _nearest_by_differences(
    prototypes: Prototypes,
    X: Any,
    i: int,
    square: float,
    place: int,
) -> int:
    """Return the nearest of the prototypes that are too close for products to separate."""
    least = max(0.0, _product_distance(prototypes, square, place))
    far = least + prototypes.close * square
    candidates = prototypes.candidates
    distances = prototypes.distances
    count = 0
    existing = 0
    for p in range(prototypes.counts.shape[0]):
        # Places without a prototype yet are infinitely far.
        existing += prototypes.offsets[p] < np.inf
        if _product_distance(prototypes, square, p) <= far:
            candidates[count] = p
            count += 1
    # The products have separated it from all others.
    if count < 2:
        return place
    _clear_distances(prototypes, count)
    add_differences(X, i, prototypes, count, 1.0, PRESENT)
    # Copies of the row are as near as possible, and it may lack millions of features.
    if _are_all_up_to(distances, count, prototypes.same * square):
        _clear_distances(prototypes, count)
        add_differences(X, i, prototypes, count, 1.0, RELATIVE)
        is_hidden = count == existing and _are_all_above(distances, count, _ALIKE)
        return NONE if is_hidden else place
    add_differences(X, i, prototypes, count, 1.0, ABSENT)
    best = 0
    chosen = 0
    for n in range(count):
        if distances[n] < distances[best]:
            best = n
        if candidates[n] == place:
            chosen = n
    # Within rounding of the best: what the products chose stays, as in all other rows.
    if distances[chosen] - distances[best] <= prototypes.same * square:
        return place
    return int(candidates[best])


@inlined
def are_blurred(
    prototypes: Prototypes,
    X: Any,
    i: int,
    scale: float,
    existing: int,
) -> bool:
    """Return whether row `i`, of length 1 by `scale`, differs from all prototypes by rounding only.

    `nearest_few` has set the distances, which this overwrites.
    """
    if existing < 2:
        return False
    for p in range(existing):
        if prototypes.distances[p] >= prototypes.close:
            return False
    return bool(_all_differ_little(prototypes, X, i, scale, existing))


@nested
def _all_differ_little(
    prototypes: Prototypes,
    X: Any,
    i: int,
    scale: float,
    existing: int,
) -> bool:
    for p in range(existing):
        prototypes.candidates[p] = p
    _clear_distances(prototypes, existing)
    add_differences(X, i, prototypes, existing, scale, RELATIVE)
    # It is a copy of one of them, which no rounding makes.
    if not _are_all_above(prototypes.distances, existing, _ALIKE):
        return False
    _clear_distances(prototypes, existing)
    add_differences(X, i, prototypes, existing, scale, PRESENT)
    add_differences(X, i, prototypes, existing, scale, ABSENT)
    little = True
    for p in range(existing):
        little &= prototypes.distances[p] < _LOST * prototypes.close
    return little


@by_layout
def add_differences(
    X: Rows,
    i: int,
    prototypes: Prototypes,
    count: int,
    scale: float,
    kind: int,
) -> Any:
    """Add squared differences of row `i`, times `scale`, and the first `count` candidates.

    They are added to the candidates' distances; `kind` says which differences. The row is converted
    to the precision of the sums.
    """
    number: Any = prototypes[0].dtype

    @inlined
    def add_feature(prototypes, j, value, count, kind):
        for n in range(count):
            p = prototypes.candidates[n]
            rows = max(1.0, prototypes.counts[p])
            difference = value - prototypes.sums[j, p] / rows
            if kind == RELATIVE:
                difference /= value
            prototypes.distances[n] += difference * difference

    add: Any = add_feature

    def dense(X, i, prototypes, count, scale, kind):
        row = prototypes.rows[i & 1]
        for j in range(prototypes.sums.shape[0]):
            if (row[j] != 0.0) == (kind != ABSENT):
                add(prototypes, j, scale * np.float64(row[j]), count, kind)

    def csr(X, i, prototypes, count, scale, kind):
        start = X.indptr[i]
        stop = X.indptr[i + 1]
        if kind != ABSENT:
            for p in range(start, stop):
                value = number(X.data[p])
                if value != 0.0:
                    add(
                        prototypes, X.indices[p], scale * np.float64(value), count, kind
                    )
        else:
            p = start
            for j in range(prototypes.sums.shape[0]):
                value = number(0.0)
                if p < stop and X.indices[p] == j:
                    value = number(X.data[p])
                    p += 1
                if value == 0.0:
                    add(prototypes, j, 0.0, count, kind)

    return dense, csr


def why_hidden(means: FloatArray, x: FloatArray, share: float) -> str:
    """Return that rounding hides the distances of `x` from all `means`, or an empty text.

    They are hidden below `share` of the squared norm of `x`.
    """
    squares = np.sum((means - x) ** 2, axis=1)
    if len(means) < 2 or squares.max() > share * float(np.sum(x * x)):
        return ""
    return (
        "rows differ by so small a part of their length that their distances are rounding; take "
        "large "
        "offsets off the features, for example with the transform standardize or "
        "running-standardize"
    )


def lost_share(close: float) -> float:
    """Return the share of the squared norm that a distance of rows of length 1 loses."""
    return _LOST * close
