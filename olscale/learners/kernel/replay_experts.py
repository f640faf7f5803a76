"""Experts in addition to the dual machines, and weights that follow the mistakes of all of them.

A learner has a named tuple of its experts and five functions of it (`mixes`): the loop of
`replay_svm_loop` calls them for each row. All have the arrays of `trust`: weights of the machines
first, as they are now, then of their means, then of the other experts.
"""

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from olscale.compiled.decorator import INLINED, nested
from olscale.compiled.row_layout import is_tuple_of
from olscale.learners.kernel.replay_machine import MACHINES, is_wrong

FIXED_SHARE = 1e-3
"""Share of the weights that is dealt anew to all experts after each row."""

_PENALTY = 0.6065306597126334  # exp(-1 / 2)


def sit_out(experts: Any, rows: int) -> bool:
    """Return whether the machines neither score nor learn the row after `rows` rows.

    For compiled loops only, as the others.
    """
    raise TypeError("for compiled loops only")


def score_others(experts: Any, X: Any, i: int, length: float, rows: int) -> None:
    """Set the scores of the other experts for row `i`, after `rows` rows.

    `length` is that of ``(x, 1)``.
    """
    raise TypeError("for compiled loops only")


def mix_scores(experts: Any, alive: Any, runs: bool, space: Any, scores: Any) -> None:
    """Set the scores of a row from those of all experts; machines have some where they run."""
    raise TypeError("for compiled loops only")


def judge(experts: Any, alive: Any, runs: bool, space: Any, y: int) -> None:
    """Learn from the mistakes of the experts on a row of class `y`."""
    raise TypeError("for compiled loops only")


def learn_others(
    experts: Any, X: Any, i: int, length: float, rows: int, y: int
) -> None:
    """Let the other experts learn row `i`, the last of `rows` rows."""
    raise TypeError("for compiled loops only")


def mixes(kind: type, functions: dict[Callable[..., Any], Callable[..., Any]]) -> None:
    """Register how the experts of a named tuple do each of the five operations."""
    for operation, function in functions.items():
        _register(kind, operation, function)


def _register(
    kind: type, operation: Callable[..., Any], function: Callable[..., Any]
) -> None:
    @overload(operation, strict=False, jit_options=INLINED)
    def choose(experts, *others):  # type: ignore[no-untyped-def]
        if is_tuple_of(experts, kind):
            return function
        return None


@nested
def trust_experts(
    alive: Any,
    runs: bool,
    trust: Any,
    errors: Any,
    others: Any,
    space: Any,
    y: int,
    last_share: float,
) -> None:
    """Trust experts that err less, and each one at least a little: it may be needed later.

    Machines that do not run keep their weights, and the others share what theirs were. The last
    expert gets `last_share` of what another is dealt.
    """
    first = 2 * MACHINES
    before = 0.0
    total = 0.0
    count = others.shape[0]
    members = count - 1 + last_share
    last = trust.shape[0] - 1
    for j in range(count):
        before += trust[first + j]
        if is_wrong(others[j], y):
            trust[first + j] *= _PENALTY
        total += trust[first + j]
    if not runs:
        for j in range(first, trust.shape[0]):
            dealt = FIXED_SHARE / members
            if j == last:
                dealt *= last_share
            trust[j] = before * ((1.0 - FIXED_SHARE) * (trust[j] / total) + dealt)
        return
    for e in range(MACHINES):
        if alive[e]:
            if is_wrong(space.current[e], y):
                trust[e] *= _PENALTY
                errors[0, e] += 1
            if is_wrong(space.mean[e], y):
                trust[MACHINES + e] *= _PENALTY
                errors[1, e] += 1
            total += trust[e] + trust[MACHINES + e]
            members += 2
    for j in range(trust.shape[0]):
        if trust[j] > 0.0:
            dealt = FIXED_SHARE / members
            if j == last:
                dealt *= last_share
            trust[j] = (1.0 - FIXED_SHARE) * (trust[j] / total) + dealt


@nested
def end_race(alive: Any, experts: Any) -> None:
    """Keep the machine with the fewest mistakes, now or of its mean."""
    errors = experts.errors
    trust = experts.trust
    best = 0
    least = min(errors[0, 0], errors[1, 0])
    for e in range(1, MACHINES):
        fewer = min(errors[0, e], errors[1, e])
        if fewer < least:
            least = fewer
            best = e
    total = 0.0
    for j in range(2 * MACHINES, trust.shape[0]):
        total += trust[j]
    total += trust[best] + trust[MACHINES + best]
    for e in range(MACHINES):
        if e != best:
            alive[e] = 0
            trust[e] = 0.0
            trust[MACHINES + e] = 0.0
    for j in range(trust.shape[0]):
        trust[j] /= total
