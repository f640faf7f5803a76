"""The layout of rows for primitives: dense or CSR, and how far ahead numbers are fetched."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from olscale.arrays import Array
from olscale.compiled.csr import CSR, Rows
from olscale.compiled.decorator import INLINED, inlined
from olscale.compiled.intrinsics import borrowed, prefetch

# All of these are unsigned, as positions and features of nonzeros are: a signed one would be tested
# at each use for counting from the end, a third of the time of a loop. Unsigned and signed do not
# mix, for their sum is a float.

PREFETCH_AHEAD = np.uint64(256)
"""Number of nonzeros by which weights are fetched ahead of their use in sparse rows."""

STREAM_AHEAD = np.uint64(512)
"""Number of nonzeros by which rows are fetched ahead: processors do so only within pages."""

LINE = np.uint64(8)
"""Number of values in a cache line."""

ONE = np.uint64(1)
TWO = np.uint64(2)
THREE = np.uint64(3)
FOUR = np.uint64(4)


def is_tuple_of(kind: types.Type, of: type) -> bool:
    """Return whether `kind` is numba's type of the named tuple `of`."""
    return (
        isinstance(kind, types.BaseNamedTuple)
        and getattr(kind, "instance_class", None) is of
    )


def is_csr(X: types.Type) -> bool:
    """Return whether the numba type `X` is that of `CSR` rows."""
    return is_tuple_of(X, CSR)


def by_layout(loops: Callable[..., Any]) -> Callable[..., Any]:
    """Make a primitive, for compiled loops only, from its loops for dense and for CSR rows.

    `loops` is called with numba's types of the arguments, the rows first, and returns the loops.
    They are in its body: a call that passes the arrays of a row costs reference counts.
    """

    @wraps(loops)
    def primitive(*arguments: Any) -> Any:
        raise TypeError("for compiled loops only")

    # In strict mode the loops would have to name their arguments as `primitive` does.
    @overload(primitive, strict=False, jit_options=INLINED)
    def choose(X: types.Type, *others: types.Type) -> Callable[..., Any]:
        dense, csr = loops(X, *others)
        loop: Callable[..., Any] = csr if is_csr(X) else dense
        return loop

    return primitive


@by_layout
def borrowed_rows(X: Rows) -> Any:
    """Return rows, an argument of a compiled loop, with arrays `intrinsics.borrowed`."""

    def dense(X):
        return borrowed(X)

    def csr(X):
        indptr = borrowed(X.indptr)
        indices = borrowed(X.indices)
        data = borrowed(X.data)
        return CSR(indptr, indices, data)

    return dense, csr


# Inlined, as the loops of the primitives are in the bodies themselves: numba counts references
# again for each function that gets the arrays of a row, which at a hundred nonzeros was a fifth of
# PA-I's time.


@inlined
def prefetch_rows(X: Any, start: Any, stop: Any) -> None:
    """Fetch the nonzeros `STREAM_AHEAD` after those from `start` to `stop`, in later rows."""
    for p in range(start, stop, LINE):
        prefetch(X.data, p + STREAM_AHEAD)
        prefetch(X.indices, p + STREAM_AHEAD)


@inlined
def prefetch_weights(X: Any, start: Any, stop: Any, w: Array) -> None:
    """Fetch the weights of the nonzeros `PREFETCH_AHEAD` after those from `start` to `stop`."""
    last = np.uint64(X.indices.shape[0])
    start_ahead = min(start + PREFETCH_AHEAD, last)
    stop_ahead = min(stop + PREFETCH_AHEAD, last)
    for p in range(start_ahead, stop_ahead):
        j = np.uint32(X.indices[p])
        prefetch(w, j)
