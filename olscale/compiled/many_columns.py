"""Row primitives for many columns of weights: products, and updates with the next products.

The products are summed in the precision of the weights. For a row x, in numpy:

>>> import numpy as np
>>> def multiply(x, W):
...     f = np.zeros(W.shape[1], W.dtype)
...     for j, value in enumerate(x.astype(W.dtype)):
...         f += value * W[j]  # each column by itself, in ascending order of the features
...     return f, x @ x
>>> def move_multiply(W, before, a, x):
...     W += np.outer(before, a)
...     return multiply(x, W)
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from olscale.arrays import Array, FloatArray
from olscale.compiled.csr import Rows
from olscale.compiled.decorator import INLINED
from olscale.compiled.row_layout import FOUR, ONE, THREE, TWO, by_layout, prefetch_rows
from olscale.compiled.simd.columns import (
    move_csr,
    move_multiply_dense,
    multiply_csr,
    multiply_dense,
)


def csr_scores(
    indices: Any,
    data: Any,
    start: Any,
    stop: Any,
    W: Array,
    f: FloatArray,
) -> None:
    """Set ``f = x W`` for the sparse row `start` to `stop`, summed in double precision."""
    raise TypeError("for compiled loops only")


@by_layout
def multiply(X: Rows, i: int, W: Array, f: FloatArray) -> Any:
    """Set ``f = x_i W`` for many columns and return ``|x_i|^2``.

    The products with `W` are summed in the precision of `W`; `f` may have more entries than
    columns.
    """

    def dense(X, i, W, f):
        return multiply_dense(X[i], W, f)

    def csr(X, i, W, f):
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        prefetch_rows(X, start, stop)
        return multiply_csr(X.indices, X.data, start, stop, W, f)

    return dense, csr


@by_layout
def move_multiply(
    X: Rows,
    before: int,
    a: Array,
    i: int,
    W: Array,
    f: Array,
) -> Any:
    """Add the outer product of ``x_before`` and `a` to `W`, then do `multiply` with row `i`.

    The weights of many columns do not fit in the nearest cache: moving them and then multiplying
    would fetch them twice. The bits are those of `add_row` followed by `multiply`.
    """

    def dense(X, before, a, i, W, f):
        return move_multiply_dense(X[before], a, X[i], W, f)

    def csr(X, before, a, i, W, f):
        # Two sparse rows share few features: there is nothing to save.
        start = np.uint64(X.indptr[before])
        stop = np.uint64(X.indptr[before + 1])
        move_csr(X.indices, X.data, start, stop, W, a)
        return multiply(X, i, W, f)

    return dense, csr


@overload(csr_scores, jit_options=INLINED)
def _csr_scores(
    indices,
    data,
    start,
    stop,
    W,
    f,
):
    def double(indices, data, start, stop, W, f):
        multiply_csr(indices, data, start, stop, W, f)

    # For float32 weights the vector code would sum in float32. LLVM vectorizes this loop, with the
    # sums in memory.
    def single(indices, data, start, stop, W, f):
        columns = W.shape[1]
        f[:] = 0.0
        end_of_fours = stop - (stop - start) % FOUR
        for p in range(start, end_of_fours, FOUR):
            x0 = data[p]
            x1 = data[p + ONE]
            x2 = data[p + TWO]
            x3 = data[p + THREE]
            j0 = np.uint32(indices[p])
            j1 = np.uint32(indices[p + ONE])
            j2 = np.uint32(indices[p + TWO])
            j3 = np.uint32(indices[p + THREE])
            w0 = W[j0]
            w1 = W[j1]
            w2 = W[j2]
            w3 = W[j3]
            for c in range(columns):
                first_two = (f[c] + x0 * w0[c]) + x1 * w1[c]
                f[c] = (first_two + x2 * w2[c]) + x3 * w3[c]
        for p in range(end_of_fours, stop):
            x0 = data[p]
            j0 = np.uint32(indices[p])
            w0 = W[j0]
            for c in range(columns):
                f[c] += x0 * w0[c]

    return double if W.dtype == types.float64 else single
