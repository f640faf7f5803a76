"""Rules of the second-order learners: how far a row of margin m and variance ``v = x' Sigma x`` moves mean and covariance.

A rule is a named tuple of parameters. Its function gives ``(alpha, gamma)`` of the update that all rules share,

    mu += alpha y Sigma x,    Sigma^-1 += gamma x x'
"""

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from olscale.compiled.row_layout import is_tuple_of

FINE, VARIANCE_OF_ROW, VARIANCE_OF_FEATURE, STEP_NOT_FINITE, MEAN_NOT_FINITE = range(5)
"""What the loops say has broken down."""


def step(rule: Any, m: float, v: float) -> tuple[float, float]:
    """Return ``(alpha, gamma)`` of `rule`; compiled loops resolve it to the rule's own function at compile time."""
    raise TypeError("for compiled loops only")


def margin_needed(rule: Any, square: float) -> float:
    """Return a margin at which `rule` does not move, given that ``v <= |x|^2 = square``."""
    raise TypeError("for compiled loops only")


def moves(rule_type: type, needed: Callable[..., float]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function ``(rule, m, v) -> (alpha, gamma)`` as the step of the rule `rule_type`.

    `needed` is a function ``(rule, square)``: rows with at least that margin are passed over without the cost of v.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        @overload(step, inline="always")
        def choose_step(rule, m, v):  # type: ignore[no-untyped-def]
            return function if is_tuple_of(rule, rule_type) else None

        @overload(margin_needed, inline="always")
        def choose_needed(rule, square):  # type: ignore[no-untyped-def]
            return needed if is_tuple_of(rule, rule_type) else None

        return function

    return register
