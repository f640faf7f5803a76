"""Ways back to the budget for a model with one support vector too many, at the least change."""

from typing import Any

import numpy as np

from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.differences import is_long, mend_distances
from olscale.compiled.elementary import exponential
from olscale.compiled.inverse_gram import strike
from olscale.compiled.merging import merging_losses, merging_share
from olscale.compiled.simd.vectors import VECTOR
from olscale.compiled.support_vectors import drop, first_least, merge, products, vector_places
from olscale.learners.kernel.kernels import own_value

_NEVER = np.int64(2**63 - 1)

ORTHOGONAL = 1e-18
"""Squared cosine up to which coefficients of several classes count as orthogonal."""


@compiled
def drop_vector(model: Any, slot: int) -> None:
    """Drop a support vector with its coefficients; the last moves into its slot."""
    last = drop(model.support, slot)
    for c in range(model.alpha.shape[1]):
        model.alpha[slot, c] = model.alpha[last, c]
        model.alpha[last, c] = 0.0


@inlined
def weight(model: Any, slot: int) -> float:
    """Return the squared norm of a vector's coefficients."""
    square = 0.0
    for c in range(model.alpha.shape[1]):
        square += model.alpha[slot, c] * model.alpha[slot, c]
    return square


@inlined
def oldest_of_least(values: Any, born: Any, count: int) -> int:
    """Return the slot of the least value, the oldest vector among equals; -1 if all are infinite.

    `values` has room for full vectors of eight numbers.
    """
    least = values[first_least(values, count)]
    first = _NEVER
    if count == 0 or not least < np.inf:
        return -1
    # Three loops without unpredictable branches: most coefficients of `bsgd` are equal.
    for s in range(count):
        first = min(first, born[s] if values[s] == least else _NEVER)
    slot = -1
    for s in range(count):
        slot = max(slot, s if born[s] == first else -1)
    return slot


@compiled
def remove_lightest(model: Any, row: Any) -> None:
    """Drop the vector whose absence changes the model least."""
    support = model.support
    count = model.support.counts[0]
    for s in range(count):
        row.other[s] = weight(model, s) * own_value(model.kernel, support.sizes[s])
    drop_vector(model, oldest_of_least(row.other, support.born, count))


@compiled
def project_lightest(model: Any, row: Any) -> None:
    """Drop the vector that the others can replace best, and move its part to them."""
    support = model.support
    alpha = model.alpha
    inverse = model.matrix
    count = model.support.counts[0]
    for s in range(count):
        row.other[s] = weight(model, s) / inverse[s, s]
    slot = oldest_of_least(row.other, support.born, count)
    for c in range(alpha.shape[1]):
        share = alpha[slot, c] / inverse[slot, slot]
        for s in range(count):
            alpha[s, c] -= share * inverse[s, slot]
    strike(inverse, count, slot, row.other)
    drop_vector(model, slot)


@compiled
def merge_lightest(model: Any, row: Any) -> None:
    """Merge the lightest vector with the partner that loses least; without one, drop it."""
    support = model.support
    alpha = model.alpha
    count = model.support.counts[0]
    room = -(-count // VECTOR) * VECTOR
    work = np.empty((6, room))
    places = np.empty((2, room), np.int64)
    C = work[0]
    D = work[1]
    L = work[2]
    losses = work[3]
    slots = places[0]
    ages = places[1]
    for s in range(count):
        row.other[s] = weight(model, s)
    lightest = oldest_of_least(row.other, support.born, count)
    A = row.other[lightest]
    size = support.sizes[lightest]
    partners = 0
    for s in range(count):
        inner = 0.0
        for c in range(alpha.shape[1]):
            inner += alpha[lightest, c] * alpha[s, c]
        if inner > 0.0 and inner * inner > ORTHOGONAL * A * row.other[s] and s != lightest:
            slots[partners] = s
            ages[partners] = support.born[s]
            C[partners] = row.other[s]
            D[partners] = inner
            partners += 1
    if partners > 0:
        found = vector_places(support, lightest, row.at, row.value)
        products(support, row.at, row.value, found, row.other)
        gamma = model.kernel.gamma
        for s in range(count):
            row.other[s] = size + support.sizes[s] - 2.0 * row.other[s]
        if is_long(gamma, size):
            mend_distances(support, gamma, False, row.at, row.value, found, size, row.other)
        for i in range(partners):
            L[i] = -gamma * max(0.0, row.other[slots[i]])
        merging_losses(A, C[:partners], D, L, work[4], work[5], losses)
        best = oldest_of_least(losses, ages, partners)
        if losses[best] < A:
            share = merging_share(A, C[best], D[best], L[best], work[4][best])
            p = exponential(L[best] * (1.0 - share) * (1.0 - share))
            q = exponential(L[best] * share * share)
            for c in range(alpha.shape[1]):
                alpha[slots[best], c] = alpha[lightest, c] * p + alpha[slots[best], c] * q
            merge(support, slots[best], lightest, share)
    drop_vector(model, lightest)
