"""Loops to compare with: a learner's bare memory accesses, common ways to write it, and BLAS."""

from typing import Any

import numpy as np

from olscale.compiled.decorator import compiled
from olscale.compiled.intrinsics import prefetch

_AHEAD = np.uint64(128)
_STREAM_AHEAD = np.uint64(512)
_LINE = np.uint64(8)


@compiled
def bare_pa1(X: Any, steps: Any, w: Any) -> float:
    """Do the dot product of every row and the axpy of those with a step, and nothing else."""
    total = 0.0
    # Unsigned: numba checks signed indices for negative ones at each access.
    last = np.uint64(X.indices.shape[0])
    for i in range(steps.shape[0]):
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        # One request for each cache line of eight values.
        for p in range(start, stop, _LINE):
            prefetch(X.data, p + _STREAM_AHEAD)
            prefetch(X.indices, p + _STREAM_AHEAD)
        for p in range(min(start + _AHEAD, last), min(stop + _AHEAD, last)):
            prefetch(w, np.uint32(X.indices[p]))
        score = 0.0
        for p in range(start, stop):
            score += X.data[p] * w[np.uint32(X.indices[p])]
        total += score
        if steps[i] != 0.0:
            for p in range(start, stop):
                w[np.uint32(X.indices[p])] += steps[i] * X.data[p]
    return total


@compiled
def gemv_float32(X: Any, P: Any, out: Any) -> None:
    """Multiply the matrix `P` of shape (k, features) with every row: one BLAS gemv each."""
    for i in range(X.shape[0]):
        np.dot(P, X[i], out)


@compiled
def bare_max_out(X: Any, moved: Any, P: Any, k: int, out: Any) -> None:
    """Multiply the hyperplanes `P`, k per dimension, by every row, and move some of them.

    One hyperplane per dimension moves for each row with `moved`.
    """
    for i in range(X.shape[0]):
        x = X[i]
        np.dot(P, x, out)
        if moved[i]:
            for first in range(0, P.shape[0], k):
                plane = P[first + i % k]
                # Tiny, so that many passes hardly change the hyperplanes.
                step = 1e-9 * out[first]
                for j in range(x.shape[0]):
                    plane[j] += step * x[j]


@compiled
def prototype_major(X: Any, P: Any, squares: Any) -> int:
    """Find the nearest prototype of each sparse row by looping over prototypes (k, features)."""
    total = 0
    for i in range(X.indptr.shape[0] - 1):
        nearest = 0
        best = np.inf
        for k in range(P.shape[0]):
            near = 0.0
            for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
                near += X.data[p] * P[k, X.indices[p]]
            if squares[k] - 2.0 * near < best:
                nearest = k
                best = squares[k] - 2.0 * near
        total += nearest
    return total


def lol_numpy(X: Any, y: Any, k: int, C: float, lam: float) -> Any:
    """LOL as one would write it with numpy, row by row; returns the scores before each update."""
    features = X.shape[1]
    P = X[:k].astype(float)
    counts = np.ones(k)
    w = np.zeros(features)
    U = np.zeros((k, features))
    scores = np.empty(len(X))
    for i, x in enumerate(X):
        if i < k:
            p = i
        else:
            distances = ((P - x) ** 2).sum(axis=1)
            p = int(np.argmin(distances))
            counts[p] += 1.0
            P[p] += (x - P[p]) / counts[p]
        scores[i] = (w + U[p]) @ x
        target = 1.0 if y[i] else -1.0
        loss = max(0.0, 1.0 - target * scores[i])
        square = x @ x
        if loss > 0.0 and square > 0.0:
            step = target * min(C, loss / ((1.0 + 1.0 / lam) * square))
            w += step / lam * x
            U[p] += step * x
    return scores


def arow_numpy(X: Any, y: Any, r: float = 1.0) -> Any:
    """Full AROW with numpy, row by row; returns the weights."""
    features = X.shape[1]
    w = np.zeros(features)
    S = np.eye(features)
    for x, positive in zip(X, y, strict=True):
        target = 1.0 if positive else -1.0
        loss = max(0.0, 1.0 - target * (w @ x))
        if loss > 0.0:
            Sx = S @ x
            beta = 1.0 / (x @ Sx + r)
            w += loss * beta * target * Sx
            S -= beta * np.outer(Sx, Sx)
    return w


def symv_syr(X: Any, S: Any) -> None:
    """Do BLAS symv and syr of a full covariance for every row."""
    from scipy.linalg.blas import dsymv, dsyr

    for x in X:
        Sx = dsymv(1.0, S, x)
        dsyr(-1e-9, Sx, a=S, overwrite_a=1)
