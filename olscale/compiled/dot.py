"""Products of a row with one column of weights and with itself, in eight groups of features.

A sum in ascending order waits for each addition before the next, which is most of its time if there
is no other work. Group n has the features whose number is n modulo 8, each group in ascending
order, and the groups are added in one fixed order. So the bits are again the same for dense and
sparse rows, with and without stored zeros:

>>> import numpy as np
>>> def dot(x, w):
...     groups = np.zeros(8)
...     for j, value in enumerate(x):
...         groups[j % 8] += value * w[j]
...     while len(groups) > 1:  # neighbours first
...         groups = groups[0::2] + groups[1::2]
...     return groups[0]
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from olscale.arrays import Array
from olscale.compiled.csr import Rows
from olscale.compiled.intrinsics import intrinsic, prefetch
from olscale.compiled.row_layout import by_layout, prefetch_rows
from olscale.compiled.simd.vectors import (
    DOUBLE,
    INT32,
    INT64,
    accumulate,
    convert,
    load_feature,
    load_number,
    load_vector,
    open_arrays,
    store_vector,
    zero_slot,
)

_GROUPS = 8
_SUMS = ir.VectorType(DOUBLE, _GROUPS)


@by_layout
def dot(X: Rows, i: int, w: Array) -> Any:
    """Return ``x_i w`` for flat weights `w`, in double precision."""

    def dense(X, i, w):
        return vector_dot(X[i], w)

    def csr(X, i, w):
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        for p in range(start, stop):
            # This row's own weights: which ones are needed is known only now, after its prototype
            # was chosen.
            j = np.uint32(X.indices[p])
            prefetch(w, j)
        return _csr_dot(X.indices, X.data, start, stop, w)

    return dense, csr


@by_layout
def dot_both(X: Rows, i: int, w: Array, u: Array) -> Any:
    """Return ``x_i w`` and ``x_i u``, each as in `dot`, in one pass over the row."""

    def dense(X, i, w, u):
        return _dense_dot_both(X[i], w, u)

    def csr(X, i, w, u):
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        for p in range(start, stop):
            j = np.uint32(X.indices[p])
            prefetch(w, j)
            prefetch(u, j)
        return _csr_dot_both(X.indices, X.data, start, stop, w, u)

    return dense, csr


@by_layout
def copy_square(X: Rows, i: int, row: Array) -> Any:
    """Return ``|x_i|^2``, in double precision, and copy a dense row to `row` in its precision.

    Sparse rows are not copied: `row` does not change.
    """

    def dense(X, i, row):
        return _dense_square(X[i], row)

    def csr(X, i, row):
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        prefetch_rows(X, start, stop)
        return _csr_square(X.indices, X.data, start, stop)

    return dense, csr


def _sum_dense(weighted: int, copied: bool) -> Callable[..., Any]:
    """Return the code of sums over a dense row.

    They are ``x x`` if it is `copied`, and ``x w`` for each of `weighted` arrays.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        places = range(len(arguments))
        x, *arrays = open_arrays(context, builder, signature, arguments, *places)
        copy: Any = arrays[-1] if copied else None
        size = builder.extract_value(x.shape, 0)
        remainder = builder.urem(size, INT64(_GROUPS))
        end = builder.sub(size, remainder)
        squares = zero_slot(builder, _SUMS)
        products = [(w.data, zero_slot(builder, _SUMS)) for w in arrays[:weighted]]

        # Eight features are a vector: one addition serves all groups.
        with cgutils.for_range_slice(builder, INT64(0), end, INT64(_GROUPS)) as (j, _):
            values = load_vector(builder, x.data, j, _GROUPS)
            if copied:
                store_vector(builder, values, copy.data, j)
                accumulate(builder, squares, values, values)
            for w, sums in products:
                stored = load_vector(builder, w, j, _GROUPS)
                numbers = convert(builder, stored, DOUBLE)
                accumulate(builder, sums, values, numbers)
        # The last few go one by one, each to its own slot: loading a vector just after storing one
        # number in it waits until the number is in the cache.
        sums_of = [(None, _groups(builder, squares))] * copied
        sums_of += [(w, _groups(builder, sums)) for w, sums in products]
        with ExitStack() as further:
            for n in range(_GROUPS - 1):
                j = builder.add(end, INT64(n))
                inside = builder.icmp_unsigned("<", j, size)
                further.enter_context(builder.if_then(inside))
                value = load_number(builder, x.data, j)
                if copied:
                    rounded = convert(builder, value, copy.data.type.pointee)
                    address = builder.gep(copy.data, [j])
                    builder.store(rounded, address)
                for w, groups in sums_of:
                    if w is None:
                        factor = value
                    else:
                        factor = _double(builder, w, j)
                    accumulate(builder, groups[n], value, factor)
        columns = [groups for _, groups in sums_of]
        return _totals(context, builder, signature, columns)

    return codegen


def _sum_csr(weighted: int, squared: bool) -> Callable[..., Any]:
    """Return the code of sums over a sparse row.

    They are ``x x`` if `squared`, and ``x w`` for each of `weighted` arrays.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start, stop = arguments[2:4]
        places = (0, 1, *range(4, 4 + weighted))
        arrays = open_arrays(context, builder, signature, arguments, *places)
        features, values, *weights = arrays
        squares = zero_slot(builder, _SUMS)
        products = [(w.data, zero_slot(builder, _SUMS)) for w in weights]
        with cgutils.for_range(builder, stop, start=start) as loop:
            j = load_feature(builder, features, loop.index)
            value = load_number(builder, values.data, loop.index)
            if squared:
                slot = _group(builder, squares, j)
                accumulate(builder, slot, value, value)
            for w, sums in products:
                slot = _group(builder, sums, j)
                weight = _double(builder, w, j)
                accumulate(builder, slot, value, weight)
        columns = [squares] * squared + [sums for _, sums in products]
        groups = [_groups(builder, sums) for sums in columns]
        return _totals(context, builder, signature, groups)

    return codegen


_TWO = types.UniTuple(types.float64, 2)


@intrinsic
def vector_dot(typing_context, x, w):
    """Return ``x w`` for flat arrays, as `dot` does; `w` may be longer."""
    signature = types.float64(x, w)
    return signature, _sum_dense(weighted=1, copied=False)


@intrinsic
def _dense_dot_both(typing_context, x, w, u):
    signature = _TWO(x, w, u)
    return signature, _sum_dense(weighted=2, copied=False)


@intrinsic
def _dense_square(typing_context, x, row):
    signature = types.float64(x, row)
    return signature, _sum_dense(weighted=0, copied=True)


@intrinsic
def _csr_dot(
    typing_context,
    indices,
    data,
    start,
    stop,
    w,
):
    signature = types.float64(indices, data, types.uint64, types.uint64, w)
    return signature, _sum_csr(weighted=1, squared=False)


@intrinsic
def _csr_dot_both(
    typing_context,
    indices,
    data,
    start,
    stop,
    w,
    u,
):
    signature = _TWO(indices, data, types.uint64, types.uint64, w, u)
    return signature, _sum_csr(weighted=2, squared=False)


@intrinsic
def _csr_square(
    typing_context,
    indices,
    data,
    start,
    stop,
):
    signature = types.float64(indices, data, types.uint64, types.uint64)
    return signature, _sum_csr(weighted=0, squared=True)


def _double(builder: Any, numbers: Any, j: Any) -> Any:
    stored = load_number(builder, numbers, j)
    return convert(builder, stored, DOUBLE)


def _group(builder: Any, sums: Any, j: Any) -> Any:
    """Return the slot of the group of feature `j`."""
    groups = builder.bitcast(sums, DOUBLE.as_pointer())
    # By the feature's number, as in dense rows: both layouts have the same bits.
    group = builder.and_(j, INT64(_GROUPS - 1))
    return builder.gep(groups, [group])


def _groups(builder: Any, sums: Any) -> list[Any]:
    """Split a slot of eight sums into eight slots of one."""
    vector = builder.load(sums)
    slots = [zero_slot(builder, DOUBLE) for _ in range(_GROUPS)]
    for n, slot in enumerate(slots):
        number = builder.extract_element(vector, INT32(n))
        builder.store(number, slot)
    return slots


def _totals(
    context: Any,
    builder: Any,
    signature: Any,
    columns: list[list[Any]],
) -> Any:
    """Return the sum of the groups of each column, neighbours first."""
    totals = []
    for slots in columns:
        groups = [builder.load(slot) for slot in slots]
        while len(groups) > 1:
            even = groups[::2]
            odd = groups[1::2]
            pairs = zip(even, odd, strict=True)
            groups = [builder.fadd(a, b) for a, b in pairs]
        totals.append(groups[0])
    if len(totals) == 1:
        return totals[0]
    return context.make_tuple(builder, signature.return_type, totals)
