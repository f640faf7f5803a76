"""The width of a kernel by the median heuristic: the median distance of rows is its sigma."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, rows_of, slice_rows, to_csr

MEDIAN_ROWS = 1_000
"""Rows whose distances from each other the median is taken of."""


def median_gamma(X: Rows) -> float:
    """Return ``1 / (2 m^2)`` for the median distance m of rows: of the first thousand, that is.

    Examples
    --------
    >>> median_gamma(np.array([[0.0], [2.0], [4.0]]))
    0.125
    """
    from sklearn.metrics import pairwise_distances
    from threadpoolctl import threadpool_limits

    if rows_of(X) < 2:
        return 1.0
    with threadpool_limits(limits=1):  # sums of several threads may have other bits
        distance = pairwise_distances(_matrix(slice_rows(X, 0, MEDIAN_ROWS)))
    between: NDArray[np.float64] = distance[np.triu_indices(len(distance), 1)]
    apart = between[between > 0.0]
    return float(1.0 / (2.0 * np.median(apart) ** 2)) if len(apart) else 1.0


def _matrix(X: Rows) -> Any:
    from scipy.sparse import csr_matrix

    rows = to_csr(X)
    first, last = rows.indptr[0], rows.indptr[-1]
    features, columns = np.unique(rows.indices[first:last], return_inverse=True)
    return csr_matrix((rows.data[first:last], columns, rows.indptr - first), (rows_of(X), max(1, len(features))))
