"""The width of a kernel by the median heuristic: the median distance of rows is its sigma.

Squared distances between all rows of a sample, as sums of differences.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, read_only_csr, rows_of, slice_rows, to_csr
from olscale.compiled.decorator import compiled

MEDIAN_ROWS = 1_000
"""Number of rows between which the median distance is taken."""

_FAR_OFF = 2.0**26
"""Squared length of rows, as a multiple of squared distance, up to which products suffice.

Distances of rows farther from the origin lose more than a hundred-millionth to rounding.
"""


def median_gamma(X: Rows) -> float:
    """Return ``1 / (2 m^2)`` for the median distance m of rows, of at most the first thousand.

    Examples
    --------
    >>> median_gamma(np.array([[0.0], [2.0], [4.0]]))
    0.125
    """
    from sklearn.metrics import pairwise_distances
    from threadpoolctl import threadpool_limits

    if rows_of(X) < 2:
        return 1.0
    sample = slice_rows(X, 0, MEDIAN_ROWS)
    matrix = _matrix(sample)
    with threadpool_limits(limits=1):  # sums over several threads may have other bits
        distance = pairwise_distances(matrix)
    median = _median_apart(distance[np.triu_indices(len(distance), 1)])
    squares = np.asarray(matrix.multiply(matrix).sum(axis=1))
    if np.median(squares) > _FAR_OFF * median**2:
        median = _median_apart(np.sqrt(pair_distances(to_csr(sample))))
    return float(1.0 / (2.0 * median**2)) if median > 0.0 else 1.0


def _median_apart(distances: NDArray[np.float64]) -> float:
    """Return the median of the distances above 0, or 0 if there are none."""
    positive = distances[distances > 0.0]
    return float(np.median(positive)) if len(positive) else 0.0


def _matrix(X: Rows) -> Any:
    from scipy.sparse import csr_matrix

    rows = to_csr(X)
    first = rows.indptr[0]
    last = rows.indptr[-1]
    features, columns = np.unique(rows.indices[first:last], return_inverse=True)
    return csr_matrix(
        (rows.data[first:last], columns, rows.indptr - first), (rows_of(X), max(1, len(features)))
    )


def pair_distances(X: CSR) -> NDArray[np.float64]:
    """Return the squared distances of all pairs of rows, in the order of `numpy.triu_indices`.

    The diagonal is left out (k = 1).

    Examples
    --------
    >>> from olscale.compiled.csr import to_csr
    >>> pair_distances(to_csr(np.array([[1e9, 1.0], [1e9, 2.0], [1e9, 4.0]]))).tolist()
    [1.0, 9.0, 4.0]
    """
    rows = rows_of(X)
    squares = np.empty(rows * (rows - 1) // 2)
    _set_pairs(read_only_csr(X), squares)
    return squares


@compiled
def _set_pairs(X: Any, squares: Any) -> None:
    n = 0
    for i in range(X.indptr.shape[0] - 1):
        for j in range(i + 1, X.indptr.shape[0] - 1):
            squares[n] = _square(X, i, j)
            n += 1


@compiled
def _square(X: Any, i: int, j: int) -> float:
    p = X.indptr[i]
    p_end = X.indptr[i + 1]
    q = X.indptr[j]
    q_end = X.indptr[j + 1]
    total = 0.0
    while p < p_end or q < q_end:
        difference = 0.0
        both = p < p_end and q < q_end
        take_left = q == q_end or (both and X.indices[p] <= X.indices[q])
        take_right = p == p_end or (both and X.indices[q] <= X.indices[p])
        if take_left:
            difference += X.data[p]
            p += 1
        if take_right:
            difference -= X.data[q]
            q += 1
        total += difference * difference
    return total
