"""Rules of the second-order learners: how far a row moves mean and covariance.

The row has margin m and variance ``v = x' Sigma x``.

A rule is a named tuple of parameters. Its function gives ``(alpha, gamma)`` of the update that all
rules share,

    mu += alpha y Sigma x,    Sigma^-1 += gamma x x'
"""

import inspect
from collections.abc import Callable
from typing import Any

from numba.extending import overload

from olscale.arrays import FloatArray
from olscale.compiled.decorator import inlined
from olscale.compiled.row_layout import is_tuple_of

FINE, VARIANCE_OF_ROW, VARIANCE_OF_FEATURE, STEP_NOT_FINITE, MEAN_NOT_FINITE = range(5)
"""Names of what has broken down."""


_WEIGHTED: set[type] = set()
"""Rules whose functions take the weight of a row."""


def takes_weight(rule: Any) -> bool:
    """Return whether `rule` accepts weights of rows."""
    return type(rule) in _WEIGHTED


# Loops are compiled anew for each type of rule, about three seconds a form. So the max-score form
# is a flag of the rule, and CW is SCW-I with C infinite: ``min(inf, alpha)`` keeps the bits.
def step(rule: Any, m: float, v: float, weight: float) -> tuple[float, float]:
    """Return ``(alpha, gamma)`` of `rule`.

    Compiled loops resolve the call to the rule's own function at compile time.
    """
    raise TypeError("for compiled loops only")


def margin_needed(rule: Any, square: float) -> float:
    """Return a margin at which `rule` does not move, given that ``v <= |x|^2 = square``."""
    raise TypeError("for compiled loops only")


@inlined
def best_rival(f: FloatArray, own: int) -> int:
    """Return the class other than `own` with the highest score, the first of equal ones."""
    if own != 0:
        rival = 0
    else:
        rival = 1
    for c in range(f.shape[0]):
        if c != own and f[c] > f[rival]:
            rival = c
    return rival


def moves(
    rule_type: type, needed: Callable[..., float]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function ``(rule, m, v) -> (alpha, gamma)`` as the step of the rule `rule_type`.

    The function of a learner that `takes_weights` has a fourth argument, the weight of the row, 1
    where rows have none. `needed` is a function ``(rule, square)``: rows with at least that margin
    are skipped without the cost of v.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        is_weighted = len(inspect.signature(function).parameters) == 4
        if is_weighted:
            _WEIGHTED.add(rule_type)
        without_weight: Any = inlined(function)

        def step_alone(rule, m, v, weight):  # type: ignore[no-untyped-def]
            return without_weight(rule, m, v)

        @overload(step, inline="always")
        def choose_step(rule, m, v, weight):  # type: ignore[no-untyped-def]
            if not is_tuple_of(rule, rule_type):
                return None
            if is_weighted:
                return function
            return step_alone

        @overload(margin_needed, inline="always")
        def choose_needed(rule, square):  # type: ignore[no-untyped-def]
            if is_tuple_of(rule, rule_type):
                return needed
            return None

        return function

    return register
