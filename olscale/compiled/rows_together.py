"""Products of a few rows with all support vectors, each fetched once for all of these rows.

The vectors of rows with many features do not fit the processor's first cache, and fetching them
takes longer than multiplying. So rows with the same features, such as dense ones without zeros, are
taken four at a time. Where an update changes a vector, its products with the remaining rows are
computed again: the bits are those of one row after another.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.arrays import FloatArray
from olscale.compiled.decorator import compiled, inlined, nested
from olscale.compiled.simd.row_tiles import ROWS, multiply_rows
from olscale.compiled.simd.vectors import VECTOR
from olscale.compiled.support_vectors import WIDTH

# Below this the vectors fit the first cache, and looking for rows to take together costs 5 % or
# more. Eight rows by two vectors are as fast as four by four; eight by four overflow the
# registers, at a third of the speed.
LEAST_PRODUCTS = 4096
"""Products of a row and all vectors from which rows are taken together: 32 kB of vectors."""


class RowsTogether(NamedTuple):
    """Space for a few rows.

    Parameters
    ----------
    position : int32 array of shape (places,)
        Position in a row of the feature of a place.
    squares : float64 array of shape (rows,)
        Squared norms.
    products : float64 array of shape (rows, slots)
        Products with the vectors.
    """

    position: NDArray[np.int32]
    squares: FloatArray
    products: FloatArray


def together_space(entries: int, slots: int) -> RowsTogether:
    """Return the space for rows and vectors of `entries` entries."""
    return RowsTogether(
        position=np.empty(entries, np.int32),
        squares=np.empty(ROWS),
        products=np.empty((ROWS, slots)),
    )


@inlined
def may_go_together(support: Any, X: Any, i: int, last: int) -> bool:
    """Return whether `ROWS` rows from `i` on, before row `last`, are worth a call, at a glance.

    They are if the vectors, at the row's features, exceed the first cache, and if the next row has
    as many features, the first and the last of which are the same.
    """
    first = X.indptr[i]
    second = X.indptr[i + 1]
    length = second - first
    if (
        length * support.counts[0] < LEAST_PRODUCTS
        or i + ROWS > last
        or X.indptr[i + 2] - second != length
    ):
        return False
    return bool(
        X.indices[first] == X.indices[second]
        and X.indices[second - 1] == X.indices[second + length - 1]
    )


@compiled
def multiply_together(
    support: Any,
    X: Any,
    i: int,
    at: Any,
    space: Any,
) -> bool:
    """Set squares and products of `ROWS` rows from `i` on in `space`; False if features differ."""
    length = X.indptr[i + 1] - X.indptr[i]
    if not _have_same_features(X, i, length):
        return False
    support.changed[:] = False
    _multiply(support, X, i, length, at, space)
    return True


@inlined
def take_products(space: Any, row: int, count: int, k: Any) -> float:
    """Set `k` to the products of a row with `count` vectors, in eights; return its square."""
    vectors = (count + VECTOR - 1) // VECTOR
    for s in range(vectors * VECTOR):
        k[s] = space.products[row, s]
    return float(space.squares[row])


@inlined
def renew(
    support: Any,
    X: Any,
    i: int,
    at: Any,
    space: Any,
) -> None:
    """Compute the products of `ROWS` rows from `i` on again for vectors that have changed."""
    if support.changed.any():
        _multiply_changed(support, X, i, at, space)
        support.changed[:] = False


@inlined
def _have_same_features(X: Any, i: int, length: int) -> bool:
    first = X.indptr[i]
    for r in range(1, ROWS):
        other = i + r
        if X.indptr[other + 1] - X.indptr[other] != length:
            return False
    features = X.indices[first : first + length]
    for r in range(1, ROWS):
        start = first + r * length
        stop = first + (r + 1) * length
        features_of_other = X.indices[start:stop]
        differ = np.int32(0)
        if features[0] != features_of_other[0]:
            return False
        for p in range(length):  # to the end: sixteen at a time
            differ |= features[p] ^ features_of_other[p]
        if differ != 0:
            return False
    return True


@inlined
def _multiply(
    support: Any,
    X: Any,
    i: int,
    length: int,
    at: Any,
    space: Any,
) -> None:
    position, squares, K = space
    first = X.indptr[i]
    products = 0
    a = 0.0
    b = 0.0
    c = 0.0
    d = 0.0
    for p in range(first, first + length):
        # The four sums do not wait for each other.
        x_a = X.data[p]
        a += x_a * x_a
        x_b = X.data[p + length]
        b += x_b * x_b
        x_c = X.data[p + 2 * length]
        c += x_c * x_c
        x_d = X.data[p + 3 * length]
        d += x_d * x_d
        place = support.place[X.indices[p]]
        if place >= 0:
            at[products] = place
            position[products] = p - first
            products += 1
    squares[0] = a
    squares[1] = b
    squares[2] = c
    squares[3] = d
    count = support.counts[0]
    blocks = (count + WIDTH - 1) // WIDTH
    for block in range(blocks):
        first_slot = block * WIDTH
        slots = min(WIDTH, count - first_slot)
        vectors = (slots + VECTOR - 1) // VECTOR
        values = support.values[block]
        sums = K[:, first_slot:]
        multiply_rows(
            at,
            position,
            products,
            X.data,
            first,
            length,
            values,
            0,
            vectors,
            sums,
        )


@nested
def _multiply_changed(
    support: Any,
    X: Any,
    i: int,
    at: Any,
    space: Any,
) -> None:
    position, _, K = space
    first = X.indptr[i]
    products = 0
    length = X.indptr[i + 1] - first
    for p in range(first, first + length):
        place = support.place[X.indices[p]]
        if place >= 0:
            at[products] = place
            position[products] = p - first
            products += 1
    for vector in range(support.changed.shape[0]):
        if support.changed[vector]:
            block = vector * VECTOR // WIDTH
            column = vector * VECTOR % WIDTH
            values = support.values[block]
            sums = K[:, block * WIDTH :]
            multiply_rows(
                at,
                position,
                products,
                X.data,
                first,
                length,
                values,
                column,
                1,
                sums,
            )
