"""Ways back to the budget for a model with one support vector too many, at the least change.

Two support vectors of a Gaussian kernel merge as in Wang, Crammer and Vucetic, JMLR 2012. Vectors x
and s with coefficients a and c become ``z = h x + (1 - h) s``. With ``kappa = k(x, s) = e^L`` the
coefficient of z that changes the model least is ``a p + c q``, where ``p = k(x, z) = e^(L (1 -
h)^2)`` and ``q = k(s, z) = e^(L h^2)``. What is lost, ``A + C + 2 kappa D - |a p + c q|^2``
for ``A = |a|^2, C = |c|^2, D = a.c``, is least where

    h = phi(h) = r (D + A r) / (C + 2 D r + A r^2),    r = p / q = e^(L (1 - 2 h)).

For A up to C and positive D the best h is the least solution. Newton's method finds it from 0,
rising: one exponential per step, and the digits double; a golden section gains one digit in five
steps. The solution lies in [0, 1/2]. Where kappa is below e^-2 there is a second optimum beyond,
which is never better.
"""

from typing import Any

import numpy as np

from olscale.compiled.decorator import inlined, nested
from olscale.compiled.differences import is_long, mend_distances
from olscale.compiled.elementary import exponential, quotient
from olscale.compiled.inverse_gram import strike
from olscale.compiled.simd.vectors import VECTOR
from olscale.compiled.support_vectors import (
    drop,
    first_least,
    merge,
    products,
    vector_places,
)
from olscale.learners.kernel.kernels import own_value

# A published table of the optimum is fast, but within 3e-5 only, and for two classes only. Four
# steps serve all partners at once, for any number of classes.
STEPS = 4
"""Steps for all partners together; few need more."""

MOST_STEPS = 60
"""Steps for a partner that needs more, where two solutions are about to meet."""

SETTLED = 1e-5
"""Step of h after which the loss is known within 1e-9 of ``(|a| + |c|)^2``.

The loss is flat at the best h.
"""


@inlined
def _closer(A: float, C: float, D: float, L: float, h: float) -> float:
    """Return `h` after a step of Newton's method."""
    r = exponential(L * (1.0 - 2.0 * h))
    over = r * (D + A * r)
    under = C + r * (2.0 * D + A * r)
    bracket = C * (D + 2.0 * A * r) + A * D * r * r
    slope = -2.0 * L * r * bracket
    # Times `under` squared: one division suffices. The slope of phi is 1 where two solutions meet.
    square = under * under
    divisor = max(square - slope, 1e-3 * square)
    step = quotient(under * (over - h * under), divisor)
    return min(0.5, max(0.0, h + step))  # type: ignore[no-any-return]


@inlined
def _loss(A: float, C: float, D: float, L: float, h: float) -> float:
    """Return the loss by merging: the squared change of the model."""
    p = exponential(L * (1.0 - h) * (1.0 - h))
    q = exponential(L * h * h)
    of_vector = A * (1.0 - p * p)
    of_both = 2.0 * D * (exponential(L) - p * q)
    of_partner = C * (1.0 - q * q)
    return of_vector + of_both + of_partner


@nested
def merging_losses(
    A: float, C: Any, D: Any, L: Any, h: Any, before: Any, losses: Any
) -> None:
    """Set `losses` for a vector and each partner, given by C, D and L, and `h` nearly to the best.

    `before` is space.
    """
    count = C.shape[0]
    for s in range(count):
        h[s] = 0.0
    # Steps of all partners in one loop become vector code; the few that need more follow singly.
    for _ in range(STEPS):
        for s in range(count):
            before[s] = h[s]
            h[s] = _closer(A, C[s], D[s], L[s], h[s])
    for s in range(count):
        if h[s] - before[s] > SETTLED:
            h[s] = _solve(A, C[s], D[s], L[s], h[s], SETTLED)
    for s in range(count):
        losses[s] = _loss(A, C[s], D[s], L[s], h[s])


@nested
def _solve(A: float, C: float, D: float, L: float, h: float, settled: float) -> float:
    for _ in range(MOST_STEPS):
        before = h
        h = _closer(A, C, D, L, h)
        if abs(h - before) <= settled:
            break
    return h


@inlined
def merging_share(A: float, C: float, D: float, L: float, h: float) -> float:
    """Return the best h for a vector and its partner in full precision, from `merging_losses`."""
    return _solve(A, C, D, L, h, 1e-9)


_NEVER = np.int64(2**63 - 1)

ORTHOGONAL = 1e-18
"""Squared cosine up to which coefficients of several classes count as orthogonal."""


@nested
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


@nested
def remove_lightest(model: Any, row: Any) -> None:
    """Drop the vector whose absence changes the model least."""
    support = model.support
    count = model.support.counts[0]
    for s in range(count):
        own = own_value(model.kernel, support.sizes[s])
        row.other[s] = weight(model, s) * own
    drop_vector(model, oldest_of_least(row.other, support.born, count))


@nested
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


@nested
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
        # The least solution for h is the best one for a positive product of the coefficients only.
        is_alike = inner > 0.0 and inner * inner > ORTHOGONAL * A * row.other[s]
        if is_alike and s != lightest:
            slots[partners] = s
            ages[partners] = support.born[s]
            C[partners] = row.other[s]
            D[partners] = inner
            partners += 1
    if partners > 0:
        entries = vector_places(support, lightest, row.at, row.value)
        products(support, row.at, row.value, entries, row.other)
        gamma = model.kernel.gamma
        for s in range(count):
            row.other[s] = size + support.sizes[s] - 2.0 * row.other[s]
        if is_long(gamma, size):
            mend_distances(
                support, gamma, False, row.at, row.value, entries, size, row.other
            )
        for i in range(partners):
            L[i] = -gamma * max(0.0, row.other[slots[i]])
        merging_losses(A, C[:partners], D, L, work[4], work[5], losses)
        best = oldest_of_least(losses, ages, partners)
        # A merge that loses as much as leaving the vector out is not worth its work.
        if losses[best] < A:
            share = merging_share(A, C[best], D[best], L[best], work[4][best])
            p = exponential(L[best] * (1.0 - share) * (1.0 - share))
            q = exponential(L[best] * share * share)
            partner = slots[best]
            for c in range(alpha.shape[1]):
                alpha[partner, c] = alpha[lightest, c] * p + alpha[partner, c] * q
            merge(support, partner, lightest, share)
    drop_vector(model, lightest)
