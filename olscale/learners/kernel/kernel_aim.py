"""The aim of a row's scores, given by its label: a class sets margins, a target residuals."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from olscale.compiled.decorator import INLINED
from olscale.learners.contract.learner import UNKNOWN


def is_known(y: float) -> bool:
    """Return whether a class code or a target is known; for compiled loops only, as `aim`."""
    raise TypeError("for compiled loops only")


def aim(f: Any, y: float, max_score: bool, target: Any, margin: Any, wrong: Any) -> None:
    """Set targets, margins and mistakes of a row of class or target `y` (see `Space`)."""
    raise TypeError("for compiled loops only")


@overload(is_known, strict=False, jit_options=INLINED)
def _choose_known(y: types.Type) -> Any:
    if isinstance(y, types.Array):  # several targets
        return lambda y: not np.isnan(y[0])
    return (lambda y: not np.isnan(y)) if isinstance(y, types.Float) else (lambda y: y != UNKNOWN)


@overload(aim, strict=False, jit_options=INLINED)
def _choose_aim(f: Any, y: types.Type, max_score: Any, target: Any, margin: Any, wrong: Any) -> Any:
    if isinstance(y, types.Array):
        return _aim_at_targets
    return _aim_at_target if isinstance(y, types.Float) else _aim_at_class


def _aim_at_class(f: Any, y: int, max_score: bool, target: Any, margin: Any, wrong: Any) -> None:
    outputs = f.shape[0]
    if max_score:
        rival = 0 if y != 0 else 1
        for c in range(outputs):
            target[c] = 0.0
            wrong[c] = False
            margin[c] = 0.0
            if c != y and f[c] > f[rival]:
                rival = c
        between = f[y] - f[rival]
        mistaken = between < 0.0 or (between == 0.0 and rival < y)
        target[y] = 1.0
        target[rival] = -1.0
        margin[y] = margin[rival] = between
        wrong[y] = wrong[rival] = mistaken
    else:
        for c in range(outputs):
            own_class = c if outputs > 1 else 1
            target[c] = 1.0 if y == own_class else -1.0
            margin[c] = target[c] * f[c]
            wrong[c] = (f[c] >= 0.0) != (target[c] > 0.0)


def _aim_at_target(f: Any, y: float, max_score: bool, target: Any, margin: Any, wrong: Any) -> None:
    for c in range(f.shape[0]):
        target[c] = y
        margin[c] = y - f[c]


def _aim_at_targets(f: Any, y: Any, max_score: bool, target: Any, margin: Any, wrong: Any) -> None:
    for c in range(f.shape[0]):
        target[c] = y[c]
        margin[c] = y[c] - f[c]
