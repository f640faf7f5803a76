"""Row primitives of a mixture of weights: products with a gated sum of planes, and steps along it.

Weights are ``V[plane, output, feature, 2]``: pairs that belong together and are summed alike, each in ascending order of the
features and planes in the order of the picks. Dense rows mix the planes first, sparse rows at each nonzero.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from olscale.data.chunk import Rows
from olscale.jit import flat
from olscale.learners.rows import is_csr

__all__ = ["add_mixed", "mixed_scores", "mixing_space"]


def mixing_space(X: Rows, V: NDArray[Any]) -> NDArray[np.float64]:
    """Return scratch space for `mixed_scores` and `add_mixed`: as large as a plane for dense rows."""
    raise TypeError("for kernels only")


def mixed_scores(
    X: Rows,
    i: int,
    V: NDArray[Any],
    planes: int,
    picks: NDArray[np.int64],
    gates: NDArray[np.float64],
    mixed: NDArray[np.float64],
    f: NDArray[np.float64],
) -> None:
    """Set ``f[c] = x_i sum_n gates[n] V[picks[n], c]``, the sum over the first `planes` picks, for pairs of weights.

    `V` has shape (all planes, outputs, features, 2). The sum over the planes comes before that over the features; `mixed`
    is the `mixing_space` for it.
    """
    raise TypeError("for kernels only")


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
    mixed: NDArray[np.float64],
) -> None:
    """Add the outer product of ``x_i`` and ``gates[n] (a, b)`` to each ``V[picks[n], c]`` of `mixed_scores`."""
    raise TypeError("for kernels only")


@overload(mixing_space)
def _mixing_space(X, V):
    def dense(X, V):
        return np.empty(V.shape[1:])

    def csr(X, V):
        return np.empty((0, 0, 2))

    return csr if is_csr(X) else dense


@overload(mixed_scores)
def _mixed_scores(X, i, V, planes, picks, gates, mixed, f):
    def dense(X, i, V, planes, picks, gates, mixed, f):
        x, (outputs, features, _), sums, v = X[i], mixed.shape, flat(mixed), flat(V)
        size = np.uint64(sums.shape[0])
        sums[:] = 0.0
        # Four planes a turn; at the end some stand in for none, with a gate of 0.
        for n in range(0, planes, 4):
            n1, n2, n3 = min(n + 1, planes - 1), min(n + 2, planes - 1), min(n + 3, planes - 1)
            first0, first1 = np.uint64(picks[n]) * size, np.uint64(picks[n1]) * size
            first2, first3 = np.uint64(picks[n2]) * size, np.uint64(picks[n3]) * size
            gate0 = gates[n]
            gate1 = gates[n1] if n1 == n + 1 else 0.0
            gate2 = gates[n2] if n2 == n + 2 else 0.0
            gate3 = gates[n3] if n3 == n + 3 else 0.0
            for q in range(size):
                pair = (sums[q] + gate0 * v[first0 + q]) + gate1 * v[first1 + q]
                sums[q] = (pair + gate2 * v[first2 + q]) + gate3 * v[first3 + q]
        # A sum waits for each of its additions; those of four outputs run side by side.
        whole = outputs - outputs % 4
        for c in range(0, whole, 4):
            v0, v1, v2, v3 = mixed[c], mixed[c + 1], mixed[c + 2], mixed[c + 3]
            f0 = f1 = f2 = f3 = g0 = g1 = g2 = g3 = 0.0
            for j in range(features):
                value = x[j]
                f0 += value * v0[j, 0]
                g0 += value * v0[j, 1]
                f1 += value * v1[j, 0]
                g1 += value * v1[j, 1]
                f2 += value * v2[j, 0]
                g2 += value * v2[j, 1]
                f3 += value * v3[j, 0]
                g3 += value * v3[j, 1]
            f[c, 0], f[c + 1, 0], f[c + 2, 0], f[c + 3, 0] = f0, f1, f2, f3
            f[c, 1], f[c + 1, 1], f[c + 2, 1], f[c + 3, 1] = g0, g1, g2, g3
        for c in range(whole, outputs):
            v0 = mixed[c]
            f0 = g0 = 0.0
            for j in range(features):
                value = x[j]
                f0 += value * v0[j, 0]
                g0 += value * v0[j, 1]
            f[c, 0], f[c, 1] = f0, g0

    def csr(X, i, V, planes, picks, gates, mixed, f):
        for c in range(f.shape[0]):
            score, late = 0.0, 0.0
            for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
                value, j = X.data[p], np.uint32(X.indices[p])
                now, past = 0.0, 0.0
                for n in range(planes):
                    plane, gate = np.uint64(picks[n]), gates[n]
                    now += gate * V[plane, c, j, 0]
                    past += gate * V[plane, c, j, 1]
                score += value * now
                late += value * past
            f[c, 0], f[c, 1] = score, late

    return csr if is_csr(X) else dense


@overload(add_mixed)
def _add_mixed(X, i, V, planes, picks, gates, c, a, b, mixed):
    def dense(X, i, V, planes, picks, gates, c, a, b, mixed):
        x, steps = X[i], mixed[0]
        for j in range(steps.shape[0]):
            value = x[j]
            steps[j, 0] = a * value
            steps[j, 1] = b * value
        along, v, size = flat(steps), flat(V), np.uint64(2 * V.shape[2])
        for n in range(planes):
            gate, first = gates[n], (np.uint64(picks[n]) * np.uint64(V.shape[1]) + np.uint64(c)) * size
            for q in range(size):
                v[first + q] += gate * along[q]

    def csr(X, i, V, planes, picks, gates, c, a, b, mixed):
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            value, j = X.data[p], np.uint32(X.indices[p])
            now, past = a * value, b * value
            for n in range(planes):
                plane, gate = np.uint64(picks[n]), gates[n]
                V[plane, c, j, 0] += gate * now
                V[plane, c, j, 1] += gate * past

    return csr if is_csr(X) else dense
