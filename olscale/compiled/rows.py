"""Row primitives: the only code that knows whether rows are dense or CSR.

A compiled loop is written once in terms of these and numba compiles it for each layout. Weights are
feature-major, ``W[feature, column]``; a column is a class, a setting of a grid or a prototype.
Weights of one column may be a 1-D array, which is the fastest.

Every sum runs over the features in ascending order, for each column separately. Hence stored and
omitted zeros give the same bits, and so do one column alone and the same column among others: dense
equals CSR and a grid equals its settings one by one, to the last bit.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from olscale.arrays import Array, FloatArray
from olscale.compiled.csr import Rows
from olscale.compiled.decorator import INLINED
from olscale.compiled.intrinsics import flat
from olscale.compiled.many_columns import csr_scores

# the name in docs/adding-a-learner.md
from olscale.compiled.many_columns import (
    multiply as column_sums,
)
from olscale.compiled.row_layout import (
    borrowed_rows,
    by_layout,
    prefetch_rows,
    prefetch_weights,
)
from olscale.compiled.simd.columns import move_csr

__all__ = [
    "add_column",
    "add_row",
    "borrowed_rows",
    "column_sums",
    "row_scores",
    "set_column",
]


@by_layout
def row_scores(X: Rows, i: int, W: Array, f: FloatArray) -> Any:
    """Set ``f = x_i W`` for `W` of shape (features, columns) and return ``|x_i|^2``."""

    # The squared norm costs nothing here: its sum runs while the score's sum waits for memory.
    # A 1-D `W` is a column of its own: one running sum, no array of scores.
    def dense_one(X, i, W, f):
        x = X[i]
        score = 0.0
        square = 0.0
        for j in range(W.shape[0]):
            value = x[j]
            score += value * W[j]
            square += value * value
        f[0] = score
        return square

    def csr_one(X, i, W, f):
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        # The weights of a sparse row are anywhere in memory: they are requested ahead.
        prefetch_rows(X, start, stop)
        prefetch_weights(X, start, stop, W)
        score = 0.0
        square = 0.0
        for p in range(start, stop):
            value = X.data[p]
            # Unsigned: numba tests a signed index for being negative, for each value.
            j = np.uint32(X.indices[p])
            score += value * W[j]
            square += value * value
        f[0] = score
        return square

    def dense(X, i, W, f):
        x = X[i]
        features, columns = W.shape
        square = 0.0
        if columns == 1:
            w = flat(W)
            score = 0.0
            for j in range(features):
                value = x[j]
                score += value * w[j]
                square += value * value
            f[0] = score
        else:
            f[:] = 0.0
            # Four features per iteration: the scores stay in registers, and their sums keep the
            # ascending order.
            end_of_fours = features - features % 4
            for j in range(0, end_of_fours, 4):
                x0 = x[j]
                x1 = x[j + 1]
                x2 = x[j + 2]
                x3 = x[j + 3]
                square = (((square + x0 * x0) + x1 * x1) + x2 * x2) + x3 * x3
                w0 = W[j]
                w1 = W[j + 1]
                w2 = W[j + 2]
                w3 = W[j + 3]
                for c in range(columns):
                    first_two = (f[c] + x0 * w0[c]) + x1 * w1[c]
                    f[c] = (first_two + x2 * w2[c]) + x3 * w3[c]
            for j in range(end_of_fours, features):
                x0 = x[j]
                w0 = W[j]
                square += x0 * x0
                for c in range(columns):
                    f[c] += x0 * w0[c]
        return square

    def csr(X, i, W, f):
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        columns = W.shape[1]
        w = flat(W)
        square = 0.0
        prefetch_rows(X, start, stop)
        if columns == 1:
            prefetch_weights(X, start, stop, w)
            score = 0.0
            for p in range(start, stop):
                value = X.data[p]
                j = np.uint32(X.indices[p])
                score += value * w[j]
                square += value * value
            f[0] = score
        else:
            for p in range(start, stop):
                square += X.data[p] * X.data[p]
            csr_scores(X.indices, X.data, start, stop, W, f)
        return square

    if W.ndim == 1:
        return dense_one, csr_one
    return dense, csr


@by_layout
def add_row(X: Rows, i: int, W: Array, a: FloatArray) -> Any:
    """Add the outer product of ``x_i`` and the column coefficients `a` to `W`."""

    def dense_one(X, i, W, a):
        x = X[i]
        step = a[0]
        for j in range(W.shape[0]):
            W[j] += step * x[j]

    def csr_one(X, i, W, a):
        step = a[0]
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        for p in range(start, stop):
            j = np.uint32(X.indices[p])
            W[j] += step * X.data[p]

    def dense(X, i, W, a):
        x = X[i]
        features, columns = W.shape
        if columns == 1:
            w = flat(W)
            step = a[0]
            for j in range(features):
                w[j] += step * x[j]
        else:
            for j in range(features):
                value = x[j]
                w_j = W[j]
                for c in range(columns):
                    w_j[c] += value * a[c]

    def csr(X, i, W, a):
        columns = W.shape[1]
        if columns == 1:
            w = flat(W)
            step = a[0]
            start = np.uint64(X.indptr[i])
            stop = np.uint64(X.indptr[i + 1])
            for p in range(start, stop):
                j = np.uint32(X.indices[p])
                w[j] += step * X.data[p]
        else:
            start = np.uint64(X.indptr[i])
            stop = np.uint64(X.indptr[i + 1])
            move_csr(X.indices, X.data, start, stop, W, a)

    if W.ndim == 1:
        return dense_one, csr_one
    return dense, csr


@by_layout
def add_column(
    X: Rows,
    i: int,
    W: Array,
    c: int,
    a: float,
) -> Any:
    """Add ``a x_i`` to column `c` of `W`."""

    def dense(X, i, W, c, a):
        x = X[i]
        for j in range(W.shape[0]):
            W[j, c] += a * x[j]

    def csr(X, i, W, c, a):
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        for p in range(start, stop):
            j = np.uint32(X.indices[p])
            W[j, c] += a * X.data[p]

    def dense_one(X, i, W, c, a):
        x = X[i]
        for j in range(W.shape[0]):
            W[j] += a * x[j]

    def csr_one(X, i, W, c, a):
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        for p in range(start, stop):
            j = np.uint32(X.indices[p])
            W[j] += a * X.data[p]

    if W.ndim == 1:
        return dense_one, csr_one
    return dense, csr


@by_layout
def set_column(X: Rows, i: int, W: Array, c: int) -> Any:
    """Replace column `c` of `W` by ``x_i``."""

    def dense(X, i, W, c):
        x = X[i]
        for j in range(W.shape[0]):
            W[j, c] = x[j]

    def csr(X, i, W, c):
        for j in range(W.shape[0]):
            W[j, c] = 0.0
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        for p in range(start, stop):
            feature = np.uint32(X.indices[p])
            W[feature, c] = X.data[p]

    return dense, csr


def weight_of(weights: Any, i: int) -> float:
    """Return the weight of row `i`, 1 if `weights` is None or empty; for compiled loops only."""
    raise TypeError("for compiled loops only")


@overload(weight_of, strict=False, jit_options=INLINED)
def _choose(weights: types.Type, i: Any) -> Any:
    if isinstance(weights, types.NoneType):
        return lambda weights, i: 1.0
    # Empty arrays stand for no weights where a loop takes an array anyway.
    return lambda weights, i: weights[i] if weights.shape[0] > 0 else 1.0
