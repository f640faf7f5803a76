"""Squared distances between all rows of a sample, as sums of differences."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, read_only_csr, rows_of
from olscale.compiled.decorator import compiled


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
