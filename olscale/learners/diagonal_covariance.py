"""The loop of the second-order learners with a diagonal covariance.

The state has a row a feature: the means of all columns, then the variances (one, or one a column). The diagonal kept is
that of the inverse: ``1/sigma_j += gamma x_j^2``, as AROW's authors and SOL have it.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from olscale.data.chunk import Rows
from olscale.jit import kernel, prefetch
from olscale.learners.base import FloatArray
from olscale.learners.rows import PREFETCH_AHEAD, is_csr
from olscale.learners.second_order import margin_needed, step

__all__ = ["learn_diagonal"]


def moments(X: Rows, i: int, A: NDArray[Any], f: FloatArray, v: FloatArray) -> float:
    """Set ``f = x_i M`` and ``v = x_i^2 S`` for ``A = [M, S]``; return ``|x_i|^2``."""
    raise TypeError("for kernels only")


def move(X: Rows, i: int, A: NDArray[Any], c: int, rival: int, u: int, a: float, gamma: float) -> None:
    """Add ``a Sigma x_i`` to mean `c`, take it from mean `rival` (-1: none), then add ``gamma x_i^2`` to 1/variance `u`."""
    raise TypeError("for kernels only")


@overload(moments)
def _moments(X, i, A, f, v):
    def dense(X, i, A, f, v):
        x = X[i]
        outputs, covariances = f.shape[0], v.shape[0]
        square = 0.0
        if outputs == 1:
            score = 0.0
            variance = 0.0
            for j in range(A.shape[0]):
                xx = x[j] * x[j]
                score += x[j] * A[j, 0]
                variance += xx * A[j, 1]
                square += xx
            f[0] = score
            v[0] = variance
        else:
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
        start, stop = X.indptr[i], X.indptr[i + 1]
        outputs, covariances = f.shape[0], v.shape[0]
        square = 0.0
        if outputs == 1:
            flat = A.reshape(A.size)
            last = X.indices.shape[0]
            for p in range(min(start + PREFETCH_AHEAD, last), min(stop + PREFETCH_AHEAD, last)):
                prefetch(flat, np.uint64(X.indices[p]) * np.uint64(2))
            score = 0.0
            variance = 0.0
            for p in range(start, stop):
                value = X.data[p]
                j = np.uint64(X.indices[p]) * np.uint64(2)
                xx = value * value
                score += value * flat[j]
                variance += xx * flat[j + np.uint64(1)]
                square += xx
            f[0] = score
            v[0] = variance
        else:
            f[:] = 0.0
            v[:] = 0.0
            for p in range(start, stop):
                value = X.data[p]
                xx = value * value
                a = A[np.uint32(X.indices[p])]
                square += xx
                for c in range(outputs):
                    f[c] += value * a[c]
                for c in range(covariances):
                    v[c] += xx * a[outputs + c]
        return square

    return csr if is_csr(X) else dense


@overload(move)
def _move(X, i, A, c, rival, u, a, gamma):
    def dense(X, i, A, c, rival, u, a, gamma):
        x = X[i]
        for j in range(A.shape[0]):
            sx = A[j, u] * x[j]
            A[j, c] += a * sx
            if rival >= 0:
                A[j, rival] -= a * sx
            A[j, u] /= 1.0 + gamma * (sx * x[j])

    def csr(X, i, A, c, rival, u, a, gamma):
        for p in range(X.indptr[i], X.indptr[i + 1]):
            w = A[np.uint32(X.indices[p])]
            value = X.data[p]
            sx = w[u] * value
            w[c] += a * sx
            if rival >= 0:
                w[rival] -= a * sx
            w[u] /= 1.0 + gamma * (sx * value)

    return csr if is_csr(X) else dense


@kernel
def learn_diagonal(
    X: Any, y: NDArray[np.int64], A: Any, rule: Any, max_score: bool, seen: Any, updates: Any, scores: FloatArray
) -> tuple[bool, float]:
    """Learn the rows; return whether the numbers broke down (at row ``seen - 1``) and the variance that did."""
    outputs = scores.shape[1]
    v = np.zeros(A.shape[1] - outputs)
    for i in range(y.shape[0]):
        f = scores[i]
        square = moments(X, i, A, f, v)
        seen[0] += 1
        if square == 0.0:
            continue
        moved = 0
        for k in range(1 if max_score else outputs):
            rival = -1
            column = k
            if max_score:
                column = y[i]
                rival = 0 if column != 0 else 1
                for c in range(outputs):
                    if c != column and f[c] > f[rival]:
                        rival = c
                target = 1.0
                m = f[column] - f[rival]
            else:
                target = 1.0 if y[i] == (k if outputs > 1 else 1) else -1.0
                m = target * f[k]
            if m >= margin_needed(rule, square) or v[k] == 0.0:
                continue
            if not (v[k] > 0.0):
                return True, v[k]
            alpha, gamma = step(rule, m, v[k])
            if not (np.isfinite(alpha) and np.isfinite(gamma)):
                return True, v[k]
            if alpha > 0.0:
                moved = 1
                move(X, i, A, column, rival, outputs + k, target * alpha, gamma)
        updates[0] += moved
    return False, 0.0
