"""Row primitives of a mixture of weights: products with a gated sum of planes, and steps along it.

Weights are ``V[plane, output, feature, 2]``: pairs that belong together and are summed alike. The planes are mixed first, in
the order of the picks; the products with a row are summed in `PARTS` parts. Every product is rounded together with its sum.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.rows import is_csr
from olscale.compiled.simd.mixture import PARTS, fused_product, mixed_product, mixed_step

__all__ = ["add_mixed", "mixed_scores"]

_REST = np.uint32(PARTS - 1)


def mixed_scores(
    X: Rows,
    i: int,
    V: NDArray[Any],
    planes: int,
    picks: NDArray[np.int64],
    gates: NDArray[np.float64],
    f: NDArray[np.float64],
) -> None:
    """Set ``f[c] = x_i sum_n gates[n] V[picks[n], c]``, the sum over the first `planes` picks, for pairs of weights.

    `V` has shape (all planes, outputs, features rounded up to a multiple of `PARTS`, 2).
    """
    raise TypeError("for compiled loops only")


def add_mixed(
    X: Rows,
    i: int,
    V: NDArray[Any],
    planes: int,
    picks: NDArray[np.int64],
    gates: NDArray[np.float64],
    c: int,
    a: float,
    b: float,
) -> None:
    """Add the outer product of ``x_i`` and ``gates[n] (a, b)`` to each ``V[picks[n], c]`` of `mixed_scores`."""
    raise TypeError("for compiled loops only")


@overload(mixed_scores)
def _mixed_scores(X, i, V, planes, picks, gates, f):
    def dense(X, i, V, planes, picks, gates, f):
        x = X[i]
        for c in range(f.shape[0]):
            f[c, 0], f[c, 1] = mixed_product(x, V, c, planes, picks, gates)

    def csr(X, i, V, planes, picks, gates, f):
        sums = np.empty((PARTS, 2))
        for c in range(f.shape[0]):
            sums[:] = 0.0
            for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
                value, j = X.data[p], np.uint32(X.indices[p])
                now, past = 0.0, 0.0
                for n in range(planes):
                    plane, gate = np.uint64(picks[n]), gates[n]
                    now = fused_product(gate, V[plane, c, j, 0], now)
                    past = fused_product(gate, V[plane, c, j, 1], past)
                part = j & _REST
                sums[part, 0] = fused_product(value, now, sums[part, 0])
                sums[part, 1] = fused_product(value, past, sums[part, 1])
            for n in range(2):
                f[c, n] = (sums[0, n] + sums[1, n]) + (sums[2, n] + sums[3, n])

    return csr if is_csr(X) else dense


@overload(add_mixed)
def _add_mixed(X, i, V, planes, picks, gates, c, a, b):
    def dense(X, i, V, planes, picks, gates, c, a, b):
        mixed_step(X[i], V, c, planes, picks, gates, a, b)

    def csr(X, i, V, planes, picks, gates, c, a, b):
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            value, j = X.data[p], np.uint32(X.indices[p])
            now, past = a * value, b * value
            for n in range(planes):
                plane, gate = np.uint64(picks[n]), gates[n]
                V[plane, c, j, 0] = fused_product(gate, now, V[plane, c, j, 0])
                V[plane, c, j, 1] = fused_product(gate, past, V[plane, c, j, 1])

    return csr if is_csr(X) else dense
