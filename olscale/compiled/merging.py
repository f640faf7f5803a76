"""Merging of two support vectors of a Gaussian kernel (Wang, Crammer and Vucetic, JMLR 2012).

Vectors x and s with coefficients a and c become ``z = h x + (1 - h) s``. With ``kappa = k(x, s) =
e^L`` the coefficient of z that changes the model least is ``a p + c q``, where ``p = k(x, z) = e^(L
(1 - h)^2)`` and ``q = k(s, z) = e^(L h^2)``. What is lost, ``A + C + 2 kappa D - |a p + c q|^2``
for ``A = |a|^2, C = |c|^2, D = a.c``, is least where

    h = phi(h) = r (D + A r) / (C + 2 D r + A r^2),    r = p / q = e^(L (1 - 2 h)).

For A up to C and positive D the best h is the least solution. Newton's method finds it from 0,
rising: one exponential per step, and the digits double; a golden section gains one digit in five
steps. The solution lies in [0, 1/2]. Where kappa is below e^-2 there is a second optimum beyond,
which is never better.
"""

from typing import Any

from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.elementary import exponential, quotient

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
    slope = -2.0 * L * r * (C * (D + 2.0 * A * r) + A * D * r * r)
    # Times `under` squared: one division suffices. The slope of phi is 1 where two solutions meet.
    square = under * under
    step = quotient(under * (over - h * under), max(square - slope, 1e-3 * square))
    return min(0.5, max(0.0, h + step))  # type: ignore[no-any-return]


@inlined
def _loss(A: float, C: float, D: float, L: float, h: float) -> float:
    """Return the loss by merging: the squared change of the model."""
    p = exponential(L * (1.0 - h) * (1.0 - h))
    q = exponential(L * h * h)
    return A * (1.0 - p * p) + 2.0 * D * (exponential(L) - p * q) + C * (1.0 - q * q)


@compiled
def merging_losses(A: float, C: Any, D: Any, L: Any, h: Any, before: Any, losses: Any) -> None:
    """Set `losses` for a vector and each partner, given by C, D and L, and `h` nearly to the best.

    `before` is space.
    """
    count = C.shape[0]
    for s in range(count):
        h[s] = 0.0
    for _ in range(STEPS):
        for s in range(count):
            before[s] = h[s]
            h[s] = _closer(A, C[s], D[s], L[s], h[s])
    for s in range(count):
        if h[s] - before[s] > SETTLED:
            h[s] = _solve(A, C[s], D[s], L[s], h[s], SETTLED)
    for s in range(count):
        losses[s] = _loss(A, C[s], D[s], L[s], h[s])


@compiled
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
