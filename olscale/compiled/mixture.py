"""Row primitives of a mixture of hyperplanes: products with their gated sum, and steps along it.

Weights are ``V[plane, output, feature, 2]``: two per feature, which are summed alike. The planes
are mixed first, in the order of the mixture; the products with a row are summed in `GROUPS` groups
of features. Every product is rounded together with its sum. In numpy:

>>> import numpy as np
>>> def mixed_scores(x, V, indices, gates):
...     return np.einsum("n,ncjt,j->ct", gates, V[indices, :, : len(x)], x)
>>> def add_mixed(x, V, indices, gates, c, a, b):
...     V[indices, c, : len(x)] += np.einsum("n,j,t->njt", gates, x, [a, b])
"""

from typing import Any, NamedTuple

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.compiled.csr import Rows
from olscale.compiled.decorator import nested
from olscale.compiled.row_layout import by_layout
from olscale.compiled.simd.mixture import (
    GROUPS,
    mix_move,
    mix_multiply,
    multiply_add_numbers,
)

CLOSEST = 1e-12
"""A smaller square distance of rows of length 1 is rounding."""

_REST = np.uint32(GROUPS - 1)


class Mixture(NamedTuple):
    """Which hyperplanes score a row, and by how much: the first few `gates` at `indices` count."""

    indices: IntArray
    gates: FloatArray


@nested
def set_gates(
    distances: FloatArray,
    few: int,
    sharpness: int,
    gates: FloatArray,
) -> None:
    """Set the first few `gates` in proportion to ``distances^-sharpness``, of Euclidean norm 1."""
    # Relative to the closest, so that no power overflows: the ratios are 1 at most.
    closest = max(CLOSEST, distances[0])
    square = 0.0
    for n in range(few):
        gates[n] = closest / max(CLOSEST, distances[n])
    for n in range(few):
        ratio = gates[n]
        gate = gates[n]
        for _ in range(sharpness - 1):
            gate *= ratio
        gates[n] = gate
        square += gate * gate
    norm = 1.0 / np.sqrt(square)
    for n in range(few):
        gates[n] *= norm


# A product with each hyperplane would cost as many passes as there are gates. Their gated sum is
# made for sixteen features at a time, in registers, and multiplied at once.
@by_layout
def mixed_scores(
    X: Rows,
    i: int,
    V: Array,
    mixture: Mixture,
    planes: int,
    f: FloatArray,
) -> Any:
    """Set ``f[c] = x_i sum_n gates[n] V[indices[n], c]``, summed over the first `planes`.

    `V` has shape (all planes, outputs, features rounded up to a multiple of `GROUPS`, 2).
    """

    def dense(X, i, V, mixture, planes, f):
        x = X[i]
        for c in range(f.shape[0]):
            f[c, 0], f[c, 1] = mix_multiply(
                x, V, c, planes, mixture.indices, mixture.gates
            )

    def csr(X, i, V, mixture, planes, f):
        indices = mixture.indices
        gates = mixture.gates
        sums = np.empty((GROUPS, 2))
        for c in range(f.shape[0]):
            sums[:] = 0.0
            start = np.uint64(X.indptr[i])
            stop = np.uint64(X.indptr[i + 1])
            for p in range(start, stop):
                value = X.data[p]
                j = np.uint32(X.indices[p])
                current = 0.0
                past = 0.0
                for n in range(planes):
                    plane = np.uint64(indices[n])
                    gate = gates[n]
                    current = multiply_add_numbers(gate, V[plane, c, j, 0], current)
                    past = multiply_add_numbers(gate, V[plane, c, j, 1], past)
                group = j & _REST
                sums[group, 0] = multiply_add_numbers(value, current, sums[group, 0])
                sums[group, 1] = multiply_add_numbers(value, past, sums[group, 1])
            for n in range(2):
                f[c, n] = (sums[0, n] + sums[1, n]) + (sums[2, n] + sums[3, n])

    return dense, csr


@by_layout
def add_mixed(
    X: Rows,
    i: int,
    V: Array,
    mixture: Mixture,
    planes: int,
    c: int,
    a: float,
    b: float,
) -> Any:
    """Add the outer product of ``x_i`` and ``gates[n] (a, b)`` to each ``V[indices[n], c]``.

    The layout is that of `mixed_scores`.
    """

    def dense(X, i, V, mixture, planes, c, a, b):
        mix_move(X[i], V, c, planes, mixture.indices, mixture.gates, a, b)

    def csr(X, i, V, mixture, planes, c, a, b):
        indices = mixture.indices
        gates = mixture.gates
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        for p in range(start, stop):
            value = X.data[p]
            j = np.uint32(X.indices[p])
            current = a * value
            past = b * value
            for n in range(planes):
                plane = np.uint64(indices[n])
                gate = gates[n]
                V[plane, c, j, 0] = multiply_add_numbers(
                    gate, current, V[plane, c, j, 0]
                )
                V[plane, c, j, 1] = multiply_add_numbers(gate, past, V[plane, c, j, 1])

    return dense, csr
