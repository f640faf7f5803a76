"""Kernels: products of rows in a feature space that is never computed.

| kernel | k(x, s) |
|---|---|
| ``gaussian`` | ``exp(-gamma |x - s|^2)`` |
| ``laplacian`` | ``exp(-gamma |x - s|_1)`` |
| ``polynomial`` | ``(gamma x.s + coef0)^degree`` |
| ``linear`` | ``x.s`` |

The width of a Gaussian has three names in the literature: ``gamma = 1 / (2 sigma^2) = 1 / p^2``.
"""

from typing import Any, NamedTuple

from olscale.compiled.decorator import inlined, nested
from olscale.compiled.differences import finish_long_places, finish_long_row, is_long
from olscale.compiled.elementary import exponential
from olscale.compiled.simd.features import gaussian_values
from olscale.compiled.support_vectors import distances, products, vector_places

KERNELS = ("gaussian", "laplacian", "polynomial", "linear")
DISTANCE_KERNELS = KERNELS[:2]
GAUSSIAN, LAPLACIAN, POLYNOMIAL, LINEAR = range(4)


class Kernel(NamedTuple):
    """A kernel in the form that compiled loops use.

    Parameters
    ----------
    kind : int
        Position in `KERNELS`.
    gamma, coef0 : float
    degree : int
    """

    kind: int
    gamma: float
    coef0: float
    degree: int


@inlined
def _power(base: float, degree: int) -> float:
    result = 1.0
    for _ in range(degree):
        result *= base
    return result


@inlined
def own_value(kernel: Any, size: float) -> float:
    """Return ``k(x, x)`` for a row of size `size`."""
    if kernel.kind == POLYNOMIAL:
        return _power(kernel.gamma * size + kernel.coef0, kernel.degree)
    # k(x, x) = |x|^2; distance kernels have k(x, x) = 1.
    if kernel.kind == LINEAR:
        return size
    return 1.0


@nested
def size_of(kernel: Any, X: Any, i: int, square: float) -> float:
    """Return the size of a row of squared norm `square`: that, or its sum of absolute values."""
    # Distances of the Laplacian are sums of absolute differences.
    if kernel.kind != LAPLACIAN:
        return square
    size = 0.0
    for p in range(X.indptr[i], X.indptr[i + 1]):
        size += abs(X.data[p])
    return size


@inlined
def raw_row(
    kernel: Any, support: Any, at: Any, value: Any, entries: int, size: float, k: Any
) -> None:
    """Set ``k[s]`` to the part without the width: products, or distances of the Laplacian."""
    if kernel.kind == LAPLACIAN:
        distances(support, at, value, entries, size, k)
    else:
        products(support, at, value, entries, k)


@inlined
def finish_row(
    kernel: Any, support: Any, X: Any, i: int, at: Any, value: Any, size: float, k: Any
) -> None:
    """Turn the result of `raw_row` for row `i` into kernel values; `at` and `value` are space."""
    # Where |x|^2 + |s|^2 - 2 x.s would be lost in rounding, differences are summed.
    if _has_distances(kernel) and is_long(kernel.gamma, size):
        finish_long_row(
            support, kernel.gamma, kernel.kind == LAPLACIAN, X, i, size, (at, value), k
        )
    else:
        _finish_short(kernel, support, size, k)


@inlined
def _has_distances(kernel: Any) -> bool:
    return bool(kernel.kind == GAUSSIAN or kernel.kind == LAPLACIAN)


@inlined
def _finish_short(kernel: Any, support: Any, size: float, k: Any) -> None:
    count = support.counts[0]
    if kernel.kind == LAPLACIAN:
        for s in range(count):
            k[s] = exponential(-kernel.gamma * max(0.0, k[s]))
    elif kernel.kind == GAUSSIAN:
        gaussian_values(count, kernel.gamma, size, support.sizes, k)
    elif kernel.kind == POLYNOMIAL:
        for s in range(count):
            k[s] = _power(kernel.gamma * k[s] + kernel.coef0, kernel.degree)


@nested
def vector_row(
    kernel: Any, support: Any, slot: int, at: Any, value: Any, k: Any
) -> None:
    """Set ``k[s]`` to the kernel values of vector `slot` with all; `at` and `value` are space."""
    entries = vector_places(support, slot, at, value)
    size = support.sizes[slot]
    raw_row(kernel, support, at, value, entries, size, k)
    if _has_distances(kernel) and is_long(kernel.gamma, size):
        finish_long_places(
            support, kernel.gamma, kernel.kind == LAPLACIAN, at, value, entries, size, k
        )
    else:
        _finish_short(kernel, support, size, k)
