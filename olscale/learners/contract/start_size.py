"""How large the arrays are that a learner starts with, told from smaller ones: a plan refuses those that no memory holds."""

from __future__ import annotations

import contextlib
from math import log2

from olscale.errors import ParameterError
from olscale.learners.contract.cost import LARGE
from olscale.learners.contract.learner import Learner
from olscale.learners.contract.many_targets import expect_targets, targets_of
from olscale.system.memory import memory_bytes
from olscale.system.sizes import size_text

_SMALL = 512
_MEMORIES = 16
"""So many times this machine's memory may be asked for: workers may have more, and pages that no row touches take none."""

_MANY_WEIGHTS = 1 << 24
"""Features with classes below which weights are small whatever a learner keeps of each."""


def check_start_size(learner: Learner, columns: int, classes: int) -> None:
    """Refuse a learner of which one array is far larger than all memory, before anything runs.

    Raises
    ------
    ParameterError
        With the parameters that ask for so much, or the features.
    """
    params = learner.get_params(deep=False) if learner.restorable else {}
    large = {name: value for name, value in params.items() if _is_large(value)}
    if not learner.restorable or not (large or columns * max(1, classes) >= _MANY_WEIGHTS):
        return
    sizes = _start_bytes(learner, params, large, columns, classes)
    needed, there = max(sizes.values(), default=0.0), memory_bytes()
    if needed > _MEMORIES * there:
        name = max(sizes, key=lambda array: sizes[array])
        words = [f"{name} was {value:g}" for name, value in large.items()] or [
            f"columns were {columns:,}"
        ]
        raise ParameterError(
            f"learner {learner.name}: {', '.join(words)}, and its array {name} alone would take "
            f"{size_text(needed)}, where "
            f"this machine has {size_text(there)} of memory; expected sizes that fit it"
        )


def _is_large(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and LARGE <= value == value // 1
    )


def _start_bytes(
    learner: Learner, params: dict[str, object], large: dict[str, float], columns: int, classes: int
) -> dict[str, float]:
    """Return the bytes of each array, by how they grow from half of a small size to a small one; none where that fails."""
    wanted = {**large, "": float(columns)}
    small = {name: min(_SMALL, int(value)) for name, value in wanted.items()}
    with contextlib.suppress(Exception):  # of sizes that do not go together
        found = _bytes_of(learner, params, small, classes)
        sizes = {name: float(count) for name, count in found.items()}
        for size, value in small.items():
            if value < wanted[size]:
                half = _bytes_of(learner, params, {**small, size: value // 2}, classes)
                for name, count in found.items():
                    if count and half.get(name):
                        sizes[name] *= (wanted[size] / value) ** round(log2(count / half[name]))
        return sizes
    return {}


def _bytes_of(
    learner: Learner, params: dict[str, object], small: dict[str, int], classes: int
) -> dict[str, int]:
    sizes = {name: value for name, value in small.items() if name}
    fresh = type(learner)(**{**params, **sizes})
    if (targets := targets_of(learner)) > 1:
        expect_targets(fresh, targets)
    fresh.begin(small[""], classes)
    return {name: array.nbytes for name, array in fresh.state_.items()}
