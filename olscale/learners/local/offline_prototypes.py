"""Prototypes fitted before the stream: k-means by scikit-learn, the same for any threads."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, rows_of, trim
from olscale.learners.contract.learner import FloatArray
from olscale.learners.reference.batch_machine import (
    first_row_everywhere,
    is_far_off,
    take_off,
)
from olscale.system.blas import one_thread_of_sklearn


def offline_prototypes(
    X: Rows, k: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the features that occur in `X` and the means of `k` clusters in them.

    The means are 0 at the other features.

    Lloyd's algorithm from one k-means++ start. Dense and sparse rows of the same values give the
    same clusters up to rounding, which decides between starts that are equally good.

    Parameters
    ----------
    X : Rows
        Rows to cluster, all at once in memory.
    k : int
        Number of clusters; with fewer rows each row is one.
    random : numpy.random.Generator
        Source of the start.

    Returns
    -------
    features : int64 array of shape (m,)
    means : float64 array of shape (at most k, m)

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.0, 1.5], [4.0, 0.0], [5.0, 0.0]])
    >>> features, means = offline_prototypes(X, 2, np.random.default_rng(0))
    >>> sorted(means.tolist())
    [[0.0, 1.25], [4.5, 0.0]]
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    features, matrix = _compact(X)
    if not (len(features) and rows_of(X)):
        return features, np.zeros((1, len(features)))
    # For dense rows KMeans subtracts the mean itself.
    if isinstance(X, CSR) and is_far_off(matrix):
        offset = first_row_everywhere(matrix)
    else:
        offset = None
    if offset is not None:
        matrix = take_off(matrix, offset)
    clusters = min(k, rows_of(X))
    seed = int(random.integers(2**31))
    model = KMeans(clusters, n_init=1, random_state=seed)
    # The sums of a cluster are added up thread by thread, so more threads would give other bits.
    with one_thread_of_sklearn(), warnings.catch_warnings():
        # fewer distinct rows than clusters: some are equal
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(matrix)
    means: FloatArray = model.cluster_centers_
    if offset is not None:
        means = means + offset.toarray()
    return features, means


def _compact(X: Rows) -> tuple[NDArray[np.int64], Any]:
    """Return the features that occur and a matrix of them alone.

    Of millions of features only few occur in a sample.
    """
    if not isinstance(X, CSR):
        return np.arange(X.shape[1]), X
    from scipy.sparse import csr_matrix

    indptr, indices, data = trim(X)
    features, columns = np.unique(indices, return_inverse=True)
    shape = (rows_of(X), len(features))
    matrix = csr_matrix((data.astype(np.float64), columns, indptr), shape)
    return features.astype(np.int64), matrix
