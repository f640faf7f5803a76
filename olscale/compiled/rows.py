"""Row primitives: the only code that knows whether rows are dense or CSR.

A compiled loop is written once on these and numba compiles it for each layout. Weights are feature-major, ``W[feature,
column]``; a column is a class, a setting of a grid or a prototype. Weights of one column may come as a 1-D array, which is
the fastest.

Every sum runs over the features in ascending order, for each column by itself. Hence a zero that is stored and a zero
that is left out give the same bits, and so do one column alone and the same column among others: dense equals CSR and a
grid equals its settings one by one, to the last bit.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows
from olscale.compiled.intrinsics import borrowed, flat, prefetch
from olscale.compiled.simd.columns import add_csr, block_csr, block_dense, first_dense

__all__ = [
    "PREFETCH_AHEAD",
    "add_column",
    "add_row",
    "borrowed_rows",
    "column_sums",
    "row_scores",
    "set_column",
]

PREFETCH_AHEAD = np.uint64(256)
"""Nonzeros by which weights are fetched ahead of their use in sparse rows."""

STREAM_AHEAD = np.uint64(512)
"""Nonzeros by which the rows themselves are fetched ahead: the processor does so too, but not across pages."""

LINE = np.uint64(8)
"""Values of a cache line."""

ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


def row_scores(X: Rows, i: int, W: NDArray[Any], f: NDArray[np.float64]) -> float:
    """Set ``f = x_i W`` for `W` of shape (features, columns) and return ``|x_i|^2``."""
    raise TypeError("for compiled loops only")


def column_sums(X: Rows, i: int, W: NDArray[Any], f: NDArray[np.float64]) -> float:
    """Set ``f = x_i W`` for many columns and return ``|x_i|^2``.

    The products with `W` are summed in the precision of `W`; `f` may be longer than there are columns.
    """
    raise TypeError("for compiled loops only")


def add_row(X: Rows, i: int, W: NDArray[Any], a: NDArray[np.float64]) -> None:
    """Add the outer product of ``x_i`` and the column coefficients `a` to `W`."""
    raise TypeError("for compiled loops only")


def add_column(X: Rows, i: int, W: NDArray[Any], c: int, a: float) -> None:
    """Add ``a x_i`` to column `c` of `W`."""
    raise TypeError("for compiled loops only")


def set_column(X: Rows, i: int, W: NDArray[Any], c: int) -> None:
    """Replace column `c` of `W` by ``x_i``."""
    raise TypeError("for compiled loops only")


def is_csr(X: types.Type) -> bool:
    """Tell whether the numba type `X` is that of `CSR` rows."""
    return isinstance(X, types.BaseNamedTuple) and getattr(X, "instance_class", None) is CSR


# The loops stand in the bodies themselves: numba counts references anew for each function that gets the arrays of a row,
# and at a hundred nonzeros that was a fifth of PA-I's time. Positions and features of nonzeros are unsigned, or each use
# would ask whether it counts from the end: a third of the time. (Unsigned and signed do not mix: their sum is a float.)


def borrowed_rows(X: Rows) -> Rows:
    """Return rows that are an argument of a compiled loop with arrays `olscale.compiled.intrinsics.borrowed`."""
    raise TypeError("for compiled loops only")


@overload(borrowed_rows)
def _borrowed_rows(X):
    def dense(X):
        return borrowed(X)

    def csr(X):
        return CSR(borrowed(X.indptr), borrowed(X.indices), borrowed(X.data))

    return csr if is_csr(X) else dense


@overload(row_scores)
def _row_scores(X, i, W, f):
    # The squared norm costs nothing here: its sum runs while that of the score waits for memory.
    def dense_one(X, i, W, f):
        x = X[i]
        score, square = 0.0, 0.0
        for j in range(W.shape[0]):
            value = x[j]
            score += value * W[j]
            square += value * value
        f[0] = score
        return square

    def csr_one(X, i, W, f):
        start, stop = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
        last = np.uint64(X.indices.shape[0])
        for p in range(start, stop, LINE):
            prefetch(X.data, p + STREAM_AHEAD)
            prefetch(X.indices, p + STREAM_AHEAD)
        for p in range(min(start + PREFETCH_AHEAD, last), min(stop + PREFETCH_AHEAD, last)):
            prefetch(W, np.uint32(X.indices[p]))
        score, square = 0.0, 0.0
        for p in range(start, stop):
            value = X.data[p]
            score += value * W[np.uint32(X.indices[p])]
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
            # Four features a turn: the scores stay in registers, and their sums keep the ascending order.
            whole = features - features % 4
            for j in range(0, whole, 4):
                x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
                square = (((square + x0 * x0) + x1 * x1) + x2 * x2) + x3 * x3
                w0, w1, w2, w3 = W[j], W[j + 1], W[j + 2], W[j + 3]
                for c in range(columns):
                    f[c] = (((f[c] + x0 * w0[c]) + x1 * w1[c]) + x2 * w2[c]) + x3 * w3[c]
            for j in range(whole, features):
                x0, w0 = x[j], W[j]
                square += x0 * x0
                for c in range(columns):
                    f[c] += x0 * w0[c]
        return square

    def csr(X, i, W, f):
        start, stop = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
        columns, last, w = W.shape[1], np.uint64(X.indices.shape[0]), flat(W)
        square = 0.0
        for p in range(start, stop, LINE):
            prefetch(X.data, p + STREAM_AHEAD)
            prefetch(X.indices, p + STREAM_AHEAD)
        if columns == 1:
            for p in range(min(start + PREFETCH_AHEAD, last), min(stop + PREFETCH_AHEAD, last)):
                prefetch(w, np.uint32(X.indices[p]))
            score = 0.0
            for p in range(start, stop):
                value = X.data[p]
                score += value * w[np.uint32(X.indices[p])]
                square += value * value
            f[0] = score
        else:
            for p in range(start, stop):
                square += X.data[p] * X.data[p]
            many_sums(X.indices, X.data, start, stop, W, f)
        return square

    if W.ndim == 1:
        return csr_one if is_csr(X) else dense_one
    return csr if is_csr(X) else dense


FIRST64, FIRST16, FIRST8, FIRST4, FIRST2, FIRST1 = first_dense.values()
DENSE64, DENSE16, DENSE8, DENSE4, DENSE2, DENSE1 = block_dense.values()
CSR64, CSR16, CSR8, CSR4, CSR2, CSR1 = block_csr.values()
_, ADD16, ADD8, ADD4, ADD2, ADD1 = add_csr.values()


def many_sums(indices: Any, data: Any, start: Any, stop: Any, W: NDArray[Any], f: NDArray[np.float64]) -> float:
    """Set ``f = x W`` for the sparse row `start` to `stop`, summed in double precision, and return ``x x``."""
    raise TypeError("for compiled loops only")


@overload(many_sums)
def _many_sums(indices, data, start, stop, W, f):
    def blocks(indices, data, start, stop, W, f):
        return block_sums(indices, data, start, stop, W, f)

    def narrow(indices, data, start, stop, W, f):
        columns, square = W.shape[1], 0.0
        f[:] = 0.0
        whole = stop - (stop - start) % FOUR
        for p in range(start, whole, FOUR):
            x0, x1, x2, x3 = data[p], data[p + ONE], data[p + TWO], data[p + THREE]
            square = (((square + x0 * x0) + x1 * x1) + x2 * x2) + x3 * x3
            w0, w1 = W[np.uint32(indices[p])], W[np.uint32(indices[p + ONE])]
            w2, w3 = W[np.uint32(indices[p + TWO])], W[np.uint32(indices[p + THREE])]
            for c in range(columns):
                f[c] = (((f[c] + x0 * w0[c]) + x1 * w1[c]) + x2 * w2[c]) + x3 * w3[c]
        for p in range(whole, stop):
            x0, w0 = data[p], W[np.uint32(indices[p])]
            square += x0 * x0
            for c in range(columns):
                f[c] += x0 * w0[c]
        return square

    return blocks if W.dtype == types.float64 else narrow


def block_sums(indices: Any, data: Any, start: Any, stop: Any, W: NDArray[Any], f: NDArray[np.float64]) -> float:
    """Set ``f = x W`` for the sparse row `start` to `stop`, a block of columns at a time, and return ``x x``.

    The products with `W` are summed in its precision.
    """
    raise TypeError("for compiled loops only")


@overload(block_sums)
def _block_sums(indices, data, start, stop, W, f):
    def blocks(indices, data, start, stop, W, f):
        columns, c, square = W.shape[1], 0, 0.0
        while c + 64 <= columns:
            square = CSR64(indices, data, start, stop, W, c, f)
            c += 64
        while c + 16 <= columns:
            square = CSR16(indices, data, start, stop, W, c, f)
            c += 16
        if c + 8 <= columns:
            square = CSR8(indices, data, start, stop, W, c, f)
            c += 8
        if c + 4 <= columns:
            square = CSR4(indices, data, start, stop, W, c, f)
            c += 4
        if c + 2 <= columns:
            square = CSR2(indices, data, start, stop, W, c, f)
            c += 2
        if c < columns:
            square = CSR1(indices, data, start, stop, W, c, f)
        return square

    return blocks


@overload(column_sums)
def _column_sums(X, i, W, f):
    def dense(X, i, W, f):
        x, columns = X[i], W.shape[1]
        if columns >= 64:
            square, c = FIRST64(x, W, 0, f), 64
        elif columns >= 16:
            square, c = FIRST16(x, W, 0, f), 16
        elif columns >= 8:
            square, c = FIRST8(x, W, 0, f), 8
        elif columns >= 4:
            square, c = FIRST4(x, W, 0, f), 4
        elif columns >= 2:
            square, c = FIRST2(x, W, 0, f), 2
        else:
            square, c = FIRST1(x, W, 0, f), 1
        while c + 64 <= columns:
            DENSE64(x, W, c, f)
            c += 64
        while c + 16 <= columns:
            DENSE16(x, W, c, f)
            c += 16
        while c < columns:
            DENSE1(x, W, c, f)
            c += 1
        return square

    def csr(X, i, W, f):
        start, stop = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
        for p in range(start, stop, LINE):
            prefetch(X.data, p + STREAM_AHEAD)
            prefetch(X.indices, p + STREAM_AHEAD)
        return block_sums(X.indices, X.data, start, stop, W, f)

    return csr if is_csr(X) else dense


@overload(add_row)
def _add_row(X, i, W, a):
    def dense_one(X, i, W, a):
        x, step = X[i], a[0]
        for j in range(W.shape[0]):
            W[j] += step * x[j]

    def csr_one(X, i, W, a):
        step = a[0]
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            W[np.uint32(X.indices[p])] += step * X.data[p]

    def dense(X, i, W, a):
        x = X[i]
        features, columns = W.shape
        if columns == 1:
            w, step = flat(W), a[0]
            for j in range(features):
                w[j] += step * x[j]
        else:
            for j in range(features):
                value, w_j = x[j], W[j]
                for c in range(columns):
                    w_j[c] += value * a[c]

    def csr(X, i, W, a):
        columns = W.shape[1]
        if columns == 1:
            w, step = flat(W), a[0]
            for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
                w[np.uint32(X.indices[p])] += step * X.data[p]
        else:
            c, start, stop = 0, np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
            while c + 16 <= columns:
                ADD16(X.indices, X.data, start, stop, W, c, a)
                c += 16
            if c + 8 <= columns:
                ADD8(X.indices, X.data, start, stop, W, c, a)
                c += 8
            if c + 4 <= columns:
                ADD4(X.indices, X.data, start, stop, W, c, a)
                c += 4
            if c + 2 <= columns:
                ADD2(X.indices, X.data, start, stop, W, c, a)
                c += 2
            if c < columns:
                ADD1(X.indices, X.data, start, stop, W, c, a)

    if W.ndim == 1:
        return csr_one if is_csr(X) else dense_one
    return csr if is_csr(X) else dense


@overload(add_column)
def _add_column(X, i, W, c, a):
    def dense(X, i, W, c, a):
        x = X[i]
        for j in range(W.shape[0]):
            W[j, c] += a * x[j]

    def csr(X, i, W, c, a):
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            W[np.uint32(X.indices[p]), c] += a * X.data[p]

    def dense_one(X, i, W, c, a):
        x = X[i]
        for j in range(W.shape[0]):
            W[j] += a * x[j]

    def csr_one(X, i, W, c, a):
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            W[np.uint32(X.indices[p])] += a * X.data[p]

    if W.ndim == 1:
        return csr_one if is_csr(X) else dense_one
    return csr if is_csr(X) else dense


@overload(set_column)
def _set_column(X, i, W, c):
    def dense(X, i, W, c):
        x = X[i]
        for j in range(W.shape[0]):
            W[j, c] = x[j]

    def csr(X, i, W, c):
        for j in range(W.shape[0]):
            W[j, c] = 0.0
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            W[np.uint32(X.indices[p]), c] = X.data[p]

    return csr if is_csr(X) else dense
