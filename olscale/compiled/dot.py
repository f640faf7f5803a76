"""Products of a row with one column of weights, and with itself, summed in eight parts.

A sum in ascending order waits for each addition before the next; where nothing else is there to be done meanwhile, that is
most of its time. Part n has the features whose number is n modulo 8, each part in ascending order, and the parts are added
in one fixed order. So the bits are again the same for dense and sparse rows, with and without stored zeros.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import overload
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.intrinsics import intrinsic, prefetch
from olscale.compiled.rows import LINE, PREFETCH_AHEAD, STREAM_AHEAD, is_csr

__all__ = ["row_and_products", "row_and_square", "row_product"]

_PARTS = 8
_DOUBLE, _INT32, _INT64 = ir.DoubleType(), ir.IntType(32), ir.IntType(64)
_SUMS = ir.VectorType(_DOUBLE, _PARTS)


def row_product(X: Rows, i: int, w: NDArray[Any]) -> float:
    """Return ``x_i w`` for flat weights `w`, in double precision."""
    raise TypeError("for compiled loops only")


def row_and_products(X: Rows, i: int, w: NDArray[Any], row: NDArray[Any]) -> tuple[float, float]:
    """Return ``|x_i|^2`` and ``x_i w``, in double precision; set `row` to a dense row in its own precision.

    `w` is flat, of at least as many numbers as there are features. For sparse rows `row` is left as it is.
    """
    raise TypeError("for compiled loops only")


def row_and_square(X: Rows, i: int, row: NDArray[Any]) -> float:
    """Return ``|x_i|^2``, the first of `row_and_products`, and set `row` as that does."""
    raise TypeError("for compiled loops only")


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


@overload(row_and_products)
def _row_and_products(X, i, w, row):
    def dense(X, i, w, row):
        return dense_products(X[i], w, row)

    def csr(X, i, w, row):
        start, stop = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
        last = np.uint64(X.indices.shape[0])
        for p in range(start, stop, LINE):
            prefetch(X.data, p + STREAM_AHEAD)
            prefetch(X.indices, p + STREAM_AHEAD)
        for p in range(min(start + PREFETCH_AHEAD, last), min(stop + PREFETCH_AHEAD, last)):
            prefetch(w, np.uint32(X.indices[p]))
        return csr_products(X.indices, X.data, start, stop, w)

    return csr if is_csr(X) else dense


@overload(row_and_square)
def _row_and_square(X, i, row):
    def dense(X, i, row):
        return dense_square(X[i], row)

    def csr(X, i, row):
        start, stop = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
        for p in range(start, stop, LINE):
            prefetch(X.data, p + STREAM_AHEAD)
            prefetch(X.indices, p + STREAM_AHEAD)
        return csr_square(X.indices, X.data, start, stop)

    return csr if is_csr(X) else dense


def _dense(weighted: bool, copied: bool) -> Callable[..., Any]:
    """Return a sum or two over a dense row: ``x x`` if the row is `copied`, ``x w`` if `weighted`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, *others = (
            context.make_array(kind)(context, builder, array)
            for kind, array in zip(signature.args, arguments, strict=True)
        )
        w: Any = others[0] if weighted else None
        copy: Any = others[-1] if copied else None
        size = builder.extract_value(x.shape, 0)
        whole = builder.sub(size, builder.urem(size, _INT64(_PARTS)))
        squares, products = (_zeros(builder) for _ in range(2))

        def eight(j: Any) -> None:
            values = _eight(context, builder, x.data, j)
            if copied:
                number = copy.data.type.pointee
                vector = ir.VectorType(number, _PARTS)
                place = builder.bitcast(builder.gep(copy.data, [j]), vector.as_pointer())
                narrow = values if number == _DOUBLE else builder.fptrunc(values, vector)
                builder.store(narrow, place).align = context.get_abi_sizeof(number)
                builder.store(builder.fadd(builder.load(squares), builder.fmul(values, values)), squares)
            if weighted:
                factors = _eight(context, builder, w.data, j)
                builder.store(builder.fadd(builder.load(products), builder.fmul(values, factors)), products)

        def one(j: Any) -> None:
            value = builder.load(builder.gep(x.data, [j]))
            if copied:
                number = copy.data.type.pointee
                narrow = value if number == _DOUBLE else builder.fptrunc(value, number)
                builder.store(narrow, builder.gep(copy.data, [j]))
                _add(builder, squares, j, value, value)
            if weighted:
                _add(builder, products, j, value, _double(builder, w.data, j))

        with cgutils.for_range_slice(builder, _INT64(0), whole, _INT64(_PARTS)) as (j, _):
            eight(j)
        with cgutils.for_range(builder, size, start=whole) as loop:
            one(loop.index)
        return _found(context, builder, signature, [squares] * copied + [products] * weighted)

    return codegen


def _csr(weighted: bool, squared: bool) -> Callable[..., Any]:
    """Return a sum or two over a sparse row: ``x x`` if `squared`, ``x w`` if `weighted`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args[:2] + signature.args[4:]
        features, values, *weights = (
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(kinds, [*arguments[:2], *arguments[4:]], strict=True)
        )
        squares, products = (_zeros(builder) for _ in range(2))
        with cgutils.for_range(builder, arguments[3], start=arguments[2]) as loop:
            j = builder.zext(builder.load(builder.gep(features, [loop.index])), _INT64)
            value = builder.load(builder.gep(values, [loop.index]))
            if squared:
                _add(builder, squares, j, value, value)
            if weighted:
                _add(builder, products, j, value, _double(builder, weights[0], j))
        return _found(context, builder, signature, [squares] * squared + [products] * weighted)

    return codegen


def _found(context: Any, builder: Any, signature: Any, sums: list[Any]) -> Any:
    totals = [_total(builder, parts) for parts in sums]
    return totals[0] if len(totals) == 1 else context.make_tuple(builder, signature.return_type, totals)


_PAIR = types.UniTuple(types.float64, 2)


@intrinsic
def dense_product(typing_context, x, w):
    """Return ``x w`` for a dense row."""
    return types.float64(x, w), _dense(weighted=True, copied=False)


@intrinsic
def dense_products(typing_context, x, w, row):
    """Return ``x x`` and ``x w`` for a dense row, and set `row` to it."""
    return _PAIR(x, w, row), _dense(weighted=True, copied=True)


@intrinsic
def dense_square(typing_context, x, row):
    """Return ``x x`` for a dense row, and set `row` to it."""
    return types.float64(x, row), _dense(weighted=False, copied=True)


@intrinsic
def csr_product(typing_context, indices, data, start, stop, w):
    """Return ``x w`` for the sparse row `start` to `stop`."""
    return types.float64(indices, data, types.uint64, types.uint64, w), _csr(weighted=True, squared=False)


@intrinsic
def csr_products(typing_context, indices, data, start, stop, w):
    """Return ``x x`` and ``x w`` for the sparse row `start` to `stop`."""
    return _PAIR(indices, data, types.uint64, types.uint64, w), _csr(weighted=True, squared=True)


@intrinsic
def csr_square(typing_context, indices, data, start, stop):
    """Return ``x x`` for the sparse row `start` to `stop`."""
    return types.float64(indices, data, types.uint64, types.uint64), _csr(weighted=False, squared=True)


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


def _double(builder: Any, numbers: Any, j: Any) -> Any:
    """Return a number of an array as a double."""
    one = builder.load(builder.gep(numbers, [j]))
    return one if one.type == _DOUBLE else builder.fpext(one, _DOUBLE)


def _add(builder: Any, sums: Any, j: Any, value: Any, weight: Any) -> None:
    """Add one product, of feature `j`, to the part it belongs to."""
    parts = builder.bitcast(sums, _DOUBLE.as_pointer())
    part = builder.gep(parts, [builder.and_(j, _INT64(_PARTS - 1))])
    builder.store(builder.fadd(builder.load(part), builder.fmul(value, weight)), part)


def _total(builder: Any, sums: Any) -> Any:
    """Return the sum of the parts, neighbours first."""
    parts = [builder.extract_element(builder.load(sums), _INT32(n)) for n in range(_PARTS)]
    while len(parts) > 1:
        parts = [builder.fadd(parts[n], parts[n + 1]) for n in range(0, len(parts), 2)]
    return parts[0]
