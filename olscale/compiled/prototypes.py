"""Prototypes of local learners: the means of the rows nearest to them, moved as rows come.

A prototype is kept as the sum s of its n rows, so moving it means adding a row. The squared
distance of a row x is then ``|x|^2 + |s|^2/n^2 - (2/n) x.s``: the products with all sums determine
the nearest prototype, and a row moves the terms of only one prototype. In numpy:

>>> import numpy as np
>>> class SlowPrototypes:
...     def __init__(self, features, k):
...         self.sums, self.counts = np.zeros((features, k)), np.zeros(k)
...     def nearest(self, x):
...         means = self.sums / np.maximum(1.0, self.counts)
...         distances = np.where(self.counts > 0.0, ((x[:, None] - means) ** 2).sum(axis=0), np.inf)
...         return int(np.argmin(distances))
...     def move(self, p, x):
...         self.sums[:, p] += x
...         self.counts[p] += 1.0

A column of the sums is a cache line per feature: writing to it takes as long as multiplying with
all columns. So a compiled loop postpones the write of a row, and does it while the next row is
multiplied:

    prototypes = begin(prototypes)          # an argument of the loop
    measure(prototypes, X, i)               # adds the row before, sets the products of this one
    p = nearest(prototypes, X, i, square)   # of `near_prototypes`
    move(prototypes, i, p, ...)             # changes the distance to p; `measure` adds the row
    ...
    flush(prototypes, X)                    # after the last row: adds it
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import DTypeLike

from olscale.arrays import Array, FloatArray, IntArray
from olscale.compiled.csr import CSR, Rows
from olscale.compiled.decorator import INLINED, inlined
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.pages import aligned_zeros
from olscale.compiled.row_layout import is_csr
from olscale.compiled.rows import set_column
from olscale.compiled.simd.blocks import pad_columns
from olscale.compiled.simd.columns import multiply_csr_fused
from olscale.compiled.simd.lowest import AT_ONCE, few_lowest
from olscale.compiled.simd.prototypes import add_multiply_dense

PROTOTYPES = ("S", "members", "squares")
"""Names of the arrays of `allocate_prototypes`."""


class Prototypes(NamedTuple):
    """Prototypes within a compiled loop: the state of a learner, and the terms of distances.

    Attributes
    ----------
    sums : array of shape (features, k or more)
        Column p is the sum of the rows of prototype p. There are a few columns more than k, never
        touched, so that a row of it fills vectors and cache lines.
    counts, squares : float64 arrays of shape (k,)
        Rows of each prototype, and squared norms of the sums.
    products : float64 array, as the four below of k numbers and more up to a multiple of 64
        Products of the current row with the sums.
    offsets, slopes : float64 arrays
        The squared distance to p is ``|x|^2 + offsets[p] - slopes[p] products[p]``; infinite where
        there is no prototype.
    distances : float64 array
        Space for `nearest_few`, and for the distances of `candidates`.
    candidates : int64 array
        Space for the prototypes whose distances are summed by differences.
    rows : array of shape (2, features)
        Dense rows in the precision of the sums: the current row and, alternating, the previous one.
        Empty for sparse rows.
    pending : int64 array of shape (2,)
        Prototype to which a row is still to be added (-1: none), and the number of that row.
    weight : float64 array of shape (1,)
        How many times the row is added.
    existing : int
        Prototypes that exist when the loop begins.
    close, same : float
        Shares of the squared norm of a row. A distance below the first, from products, may be
        rounding; one below the second, from differences, is (`olscale.compiled.near_prototypes`).
    """

    sums: Array
    counts: FloatArray
    squares: FloatArray
    products: FloatArray
    offsets: FloatArray
    slopes: FloatArray
    distances: FloatArray
    candidates: IntArray
    rows: Array
    pending: IntArray
    weight: FloatArray
    existing: int
    close: float
    same: float


def allocate_prototypes(features: int, k: int, dtype: DTypeLike) -> dict[str, Array]:
    """Return the state of `k` prototypes of no rows: sums S, members (counts) and squares."""
    return {
        "S": aligned_zeros((features, pad_columns(k)), dtype),
        "members": np.zeros(k),
        "squares": np.zeros(k),
    }


def open_prototypes(state: dict[str, Array], X: Rows, existing: int) -> Prototypes:
    """Return a learner's `existing` prototypes for a compiled loop over `X`."""
    sums = state["S"]
    counts = state["members"]
    squares = state["squares"]
    size = -(-sums.shape[1] // AT_ONCE) * AT_ONCE
    products = np.zeros(size)
    offsets = np.empty(size)
    slopes = np.empty(size)
    distances = np.empty(size)
    features = len(sums)
    if isinstance(X, CSR):
        features = 0
    rows = np.empty((2, features), sums.dtype)
    pending = np.empty(2, np.int64)
    weight = np.empty(1)
    return Prototypes(
        sums,
        counts,
        squares,
        products,
        offsets,
        slopes,
        distances,
        np.empty(size, np.int64),
        rows,
        pending,
        weight,
        existing,
        close=close_share(sums.dtype),
        same=same_share(sums.dtype),
    )


def close_share(dtype: DTypeLike) -> float:
    """Return `Prototypes.close` for sums of that precision, allowing for rounding of many rows.

    Examples
    --------
    >>> close_share("float64") == 2.0**-32
    True
    """
    if np.dtype(dtype) == np.float64:
        return 2.0**-32
    return 2.0**-18


def same_share(dtype: DTypeLike) -> float:
    """Return `Prototypes.same` for sums of that precision: the square of what their means may lose.

    Examples
    --------
    >>> same_share("float64") == 2.0**-80
    True
    """
    if np.dtype(dtype) == np.float64:
        return 2.0**-80
    return 2.0**-34


def means_of(state: dict[str, Array], existing: int) -> FloatArray:
    """Return the `existing` prototypes as points, shape (existing, features).

    Examples
    --------
    >>> state = allocate_prototypes(2, 3, "float64")
    >>> state["S"][:, 0], state["members"][0] = [4.0, 6.0], 2.0
    >>> means_of(state, 1).tolist()
    [[2.0, 3.0]]
    """
    sums = state["S"][:, :existing]
    counts = np.maximum(state["members"][:existing], 1.0)
    means: FloatArray = (sums / counts).T
    return means


@inlined
def _set_distance(prototypes: Prototypes, p: int) -> None:
    # A first row that the paper's count rule does not count has count 0: it is the prototype all
    # the same.
    n = max(1.0, prototypes.counts[p])
    prototypes.offsets[p] = prototypes.squares[p] / n / n
    prototypes.slopes[p] = 2.0 / n


@inlined
def begin(prototypes: Prototypes) -> Prototypes:
    """Return the prototypes for a compiled loop that has them as an argument, with distances."""
    ready = Prototypes(
        borrowed(prototypes.sums),
        borrowed(prototypes.counts),
        borrowed(prototypes.squares),
        borrowed(prototypes.products),
        borrowed(prototypes.offsets),
        borrowed(prototypes.slopes),
        borrowed(prototypes.distances),
        borrowed(prototypes.candidates),
        borrowed(prototypes.rows),
        borrowed(prototypes.pending),
        borrowed(prototypes.weight),
        prototypes.existing,
        prototypes.close,
        prototypes.same,
    )
    # A prototype that does not exist yet is infinitely far, and so are the columns of padding.
    for p in range(ready.offsets.shape[0]):
        ready.offsets[p] = np.inf
        ready.slopes[p] = 0.0
    for p in range(ready.existing):
        _set_distance(ready, p)
    ready.pending[0] = -1
    ready.pending[1] = 0
    return ready


@inlined
def row_space(prototypes: Prototypes, i: int) -> Any:
    """Return where a dense row `i` must be copied before it is measured."""
    return prototypes.rows[i & 1]


# The column of one prototype is a cache line for every feature: moving it alone takes as long as
# the distances to all 60. Two rows a pass, wider vectors and other distances between move and sum
# gained nothing.
def measure(prototypes: Prototypes, X: Rows, i: int) -> None:
    """Add the previous row if its write was postponed; then set the products of row `i`.

    The products are those with all sums. A dense row comes from its `row_space`. Each product and
    its sum are rounded together, in the precision of the sums.
    """
    raise TypeError("for compiled loops only")


def flush(prototypes: Prototypes, X: Rows) -> None:
    """Add the row whose write was postponed, if any."""
    raise TypeError("for compiled loops only")


@overload(measure, jit_options=INLINED)
def _measure(prototypes, X, i):
    def dense(prototypes, X, i):
        p, before = prototypes.pending
        row = prototypes.rows[i & 1]
        earlier = prototypes.rows[before & 1]
        add_multiply_dense(
            earlier,
            p,
            prototypes.weight[0],
            row,
            prototypes.sums,
            prototypes.products,
        )
        prototypes.pending[0] = -1

    def csr(prototypes, X, i):
        # Two sparse rows share few features: there is nothing to save.
        flush(prototypes, X)
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        multiply_csr_fused(
            X.indices, X.data, start, stop, prototypes.sums, prototypes.products
        )

    if is_csr(X):
        return csr
    return dense


@overload(flush, jit_options=INLINED)
def _flush(prototypes, X):
    number = prototypes[0].dtype

    def dense(prototypes, X):
        p, before = prototypes.pending
        if p >= 0:
            row = prototypes.rows[before & 1]
            sums = prototypes.sums
            weight = prototypes.weight[0]
            for j in range(sums.shape[0]):
                sums[j, p] += weight * row[j]
            prototypes.pending[0] = -1

    def csr(prototypes, X):
        p, before = prototypes.pending
        if p >= 0:
            sums = prototypes.sums
            weight = prototypes.weight[0]
            for n in range(
                np.uint64(X.indptr[before]), np.uint64(X.indptr[before + 1])
            ):
                # Rows are used in the precision of the sums, as dense ones are, which `row_space`
                # holds in that precision.
                sums[np.uint32(X.indices[n]), p] += weight * number(X.data[n])
            prototypes.pending[0] = -1

    if is_csr(X):
        return csr
    return dense


@inlined
def nearest_few(
    prototypes: Prototypes,
    scale: float,
    indices: IntArray,
    distances: FloatArray,
) -> int:
    """Set `indices` to the prototypes nearest to the measured row; return their number.

    The row is scaled to length 1 by `scale`, and so are the products. The squared `distances`
    ascend; there are as many as `distances` is long, or all.
    """
    products = prototypes.products
    offsets = prototypes.offsets
    slopes = prototypes.slopes
    for p in range(products.shape[0]):
        products[p] *= scale
        prototypes.distances[p] = 1.0 + (offsets[p] - slopes[p] * products[p])
    few: int = few_lowest(prototypes.distances, indices, distances)
    return few


@inlined
def move(
    prototypes: Prototypes,
    i: int,
    p: int,
    weight: float,
    square: float,
    count: float,
) -> None:
    """Add the measured row `i`, times `weight`, to prototype `p`, as a row that counts `count`.

    `square` is the squared norm of the sum including the row, which the loop knows:
    ``|s|^2 + 2 x.s + |x|^2``.
    """
    prototypes.squares[p] = square
    prototypes.counts[p] += count
    _set_distance(prototypes, p)
    prototypes.pending[0] = p
    prototypes.pending[1] = i
    prototypes.weight[0] = weight


@inlined
def replace(
    prototypes: Prototypes,
    X: Any,
    i: int,
    p: int,
    square: float,
) -> None:
    """Replace prototype `p` by row `i`, of squared norm `square`, as the first row that counts."""
    set_column(X, i, prototypes.sums, p)
    prototypes.squares[p] = square
    prototypes.counts[p] = 1.0
    _set_distance(prototypes, p)
