"""A product of a row with one column of weights, summed in eight parts.

A sum in ascending order waits for each addition before the next; where nothing else is there to be done meanwhile, that is
most of its time. Part n has the features whose number is n modulo 8, each part in ascending order, and the parts are added
in one fixed order. So the bits are again the same for dense and sparse rows, with and without stored zeros.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import overload
from numpy.typing import NDArray

from olscale.data.chunk import Rows
from olscale.jit import intrinsic, prefetch
from olscale.learners.rows import is_csr

__all__ = ["row_product"]

_PARTS = 8
_DOUBLE, _INT32, _INT64 = ir.DoubleType(), ir.IntType(32), ir.IntType(64)
_SUMS = ir.VectorType(_DOUBLE, _PARTS)


def row_product(X: Rows, i: int, w: NDArray[Any]) -> float:
    """Return ``x_i w`` for flat weights `w`, in double precision."""
    raise TypeError("for kernels only")


@overload(row_product)
def _row_product(X, i, w):
    def dense(X, i, w):
        return dense_product(X[i], w)

    def csr(X, i, w):
        start, stop = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
        for p in range(start, stop):
            prefetch(w, np.uint32(X.indices[p]))
        return csr_product(X.indices, X.data, start, stop, w)

    return csr if is_csr(X) else dense


@intrinsic
def dense_product(typing_context, x, w):
    """Return ``x w`` for a dense row."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, weights = (
            context.make_array(kind)(context, builder, array) for kind, array in zip((x, w), arguments, strict=True)
        )
        size = builder.extract_value(row.shape, 0)
        whole = builder.sub(size, builder.urem(size, _INT64(_PARTS)))
        sums = _zeros(builder)
        with cgutils.for_range_slice(builder, _INT64(0), whole, _INT64(_PARTS)) as (j, _):
            products = builder.fmul(_eight(context, builder, row.data, j), _eight(context, builder, weights.data, j))
            builder.store(builder.fadd(builder.load(sums), products), sums)
        with cgutils.for_range(builder, size, start=whole) as loop:
            _add(builder, sums, loop.index, row.data, loop.index, weights.data)
        return _total(builder, sums)

    return types.float64(x, w), codegen


@intrinsic
def csr_product(typing_context, indices, data, start, stop, w):
    """Return ``x w`` for the sparse row `start` to `stop`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds, arrays = (indices, data, w), (arguments[0], arguments[1], arguments[4])
        features, values, weights = (
            context.make_array(kind)(context, builder, array).data for kind, array in zip(kinds, arrays, strict=True)
        )
        sums = _zeros(builder)
        with cgutils.for_range(builder, arguments[3], start=arguments[2]) as loop:
            j = builder.zext(builder.load(builder.gep(features, [loop.index])), _INT64)
            _add(builder, sums, j, values, loop.index, weights)
        return _total(builder, sums)

    return types.float64(indices, data, types.uint64, types.uint64, w), codegen


def _zeros(builder: Any) -> Any:
    zeros = ir.Constant(_SUMS, [0.0] * _PARTS)
    sums = cgutils.alloca_once(builder, _SUMS)
    builder.store(zeros, sums)
    return sums


def _eight(context: Any, builder: Any, data: Any, j: Any) -> Any:
    """Return eight numbers of an array as doubles."""
    number = data.type.pointee
    vector = ir.VectorType(number, _PARTS)
    loaded = builder.load(builder.bitcast(builder.gep(data, [j]), vector.as_pointer()))
    loaded.align = context.get_abi_sizeof(number)
    return loaded if number == _DOUBLE else builder.fpext(loaded, _SUMS)


def _add(builder: Any, sums: Any, j: Any, values: Any, p: Any, weights: Any) -> None:
    """Add one product, of feature `j`, to the part it belongs to."""
    numbers = [builder.load(builder.gep(values, [p])), builder.load(builder.gep(weights, [j]))]
    value, weight = (one if one.type == _DOUBLE else builder.fpext(one, _DOUBLE) for one in numbers)
    parts = builder.bitcast(sums, _DOUBLE.as_pointer())
    part = builder.gep(parts, [builder.and_(j, _INT64(_PARTS - 1))])
    builder.store(builder.fadd(builder.load(part), builder.fmul(value, weight)), part)


def _total(builder: Any, sums: Any) -> Any:
    """Return the sum of the parts, neighbours first."""
    parts = [builder.extract_element(builder.load(sums), _INT32(n)) for n in range(_PARTS)]
    while len(parts) > 1:
        parts = [builder.fadd(parts[n], parts[n + 1]) for n in range(0, len(parts), 2)]
    return parts[0]
