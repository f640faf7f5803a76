"""Mean and variance of a row's score under a diagonal covariance, and their update.

The state has a row per feature: the means of all columns, then the variances (one, or one per
column).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.intrinsics import prefetch
from olscale.compiled.row_layout import (
    FOUR,
    LINE,
    ONE,
    PREFETCH_AHEAD,
    STREAM_AHEAD,
    THREE,
    TWO,
    by_layout,
)
from olscale.compiled.simd.mean_variance import move_four, sum_moments
from olscale.learners.contract.learner import FloatArray


@by_layout
def pair_moments(X: Rows, i: int, A: NDArray[Any]) -> Any:
    """Return ``x_i mu``, ``x_i^2 sigma`` and ``|x_i|^2`` for pairs ``A = (mu_0, sigma_0, ...)``."""

    def dense(X, i, A):
        x = X[i]
        score = 0.0
        variance = 0.0
        square = 0.0
        for j in range(x.shape[0]):
            value = x[j]
            xx = value * value
            score += value * A[2 * j]
            variance += xx * A[2 * j + 1]
            square += xx
        return score, variance, square

    def csr(X, i, A):
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        last = np.uint64(X.indices.shape[0])
        for p in range(start, stop, LINE):
            prefetch(X.data, p + STREAM_AHEAD)
            prefetch(X.indices, p + STREAM_AHEAD)
        for p in range(min(start + PREFETCH_AHEAD, last), min(stop + PREFETCH_AHEAD, last)):
            prefetch(A, np.uint64(np.uint32(X.indices[p])) * TWO)
        return sum_moments(A, X.indices, X.data, start, stop)

    return dense, csr


@by_layout
def move_pairs(X: Rows, i: int, A: NDArray[Any], a: float, gamma: float, tiny: float) -> Any:
    """Add ``a Sigma x_i`` to the mean and ``gamma x_i^2`` to 1/variance.

    Return whether a variance is below `tiny`.
    """

    def dense(X, i, A, a, gamma, tiny):
        x = X[i]
        broken = False
        for j in range(x.shape[0]):
            value = x[j]
            variance = A[2 * j + 1]
            sx = variance * value
            A[2 * j] += a * sx
            A[2 * j + 1] = variance / (1.0 + gamma * (sx * value))
            broken |= not (A[2 * j + 1] >= tiny)
        return broken

    def csr(X, i, A, a, gamma, tiny):
        broken = False
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        whole = stop - (stop - start) % FOUR
        for p in range(start, whole, FOUR):
            m0 = np.uint64(np.uint32(X.indices[p])) * TWO
            m1 = np.uint64(np.uint32(X.indices[p + ONE])) * TWO
            m2 = np.uint64(np.uint32(X.indices[p + TWO])) * TWO
            m3 = np.uint64(np.uint32(X.indices[p + THREE])) * TWO
            broken |= not move_four(A, m0, m1, m2, m3, X.data, p, a, gamma, tiny)
        for p in range(whole, stop):
            mean = np.uint64(np.uint32(X.indices[p])) * TWO
            value = X.data[p]
            variance = A[mean + ONE]
            sx = variance * value
            A[mean] += a * sx
            A[mean + ONE] = variance / (1.0 + gamma * (sx * value))
            broken |= not (A[mean + ONE] >= tiny)
        return broken

    return dense, csr


@by_layout
def moments(X: Rows, i: int, A: NDArray[Any], f: FloatArray, v: FloatArray) -> Any:
    """Set ``f = x_i M`` and ``v = x_i^2 S`` for ``A = [M, S]``; return ``|x_i|^2``."""

    def dense(X, i, A, f, v):
        x = X[i]
        outputs = f.shape[0]
        covariances = v.shape[0]
        square = 0.0
        f[:] = 0.0
        v[:] = 0.0
        for j in range(A.shape[0]):
            value = x[j]
            xx = value * value
            a = A[j]
            square += xx
            for c in range(outputs):
                f[c] += value * a[c]
            for c in range(covariances):
                v[c] += xx * a[outputs + c]
        return square

    def csr(X, i, A, f, v):
        outputs = f.shape[0]
        covariances = v.shape[0]
        square = 0.0
        f[:] = 0.0
        v[:] = 0.0
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            value = X.data[p]
            xx = value * value
            a = A[np.uint32(X.indices[p])]
            square += xx
            for c in range(outputs):
                f[c] += value * a[c]
            for c in range(covariances):
                v[c] += xx * a[outputs + c]
        return square

    return dense, csr


@by_layout
def move(
    X: Rows,
    i: int,
    A: NDArray[Any],
    c: int,
    rival: int,
    u: int,
    a: float,
    gamma: float,
    tiny: float,
) -> Any:
    """Add ``a Sigma x_i`` to mean `c`, and then ``gamma x_i^2`` to 1/variance `u`.

    The same move is subtracted from mean `rival` (-1: none).

    Return whether a variance is below `tiny`.
    """

    def dense(X, i, A, c, rival, u, a, gamma, tiny):
        x = X[i]
        broken = False
        for j in range(A.shape[0]):
            sx = A[j, u] * x[j]
            A[j, c] += a * sx
            if rival >= 0:
                A[j, rival] -= a * sx
            A[j, u] /= 1.0 + gamma * (sx * x[j])
            broken |= not (A[j, u] >= tiny)
        return broken

    def csr(X, i, A, c, rival, u, a, gamma, tiny):
        broken = False
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            w = A[np.uint32(X.indices[p])]
            value = X.data[p]
            sx = w[u] * value
            w[c] += a * sx
            if rival >= 0:
                w[rival] -= a * sx
            w[u] /= 1.0 + gamma * (sx * value)
            broken |= not (w[u] >= tiny)
        return broken

    return dense, csr
