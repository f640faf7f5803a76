"""Targets and weights of one output (1-D arrays) or of several (2-D): one loop serves both."""

from typing import Any

from numba import types
from numba.extending import overload

from olscale.compiled.decorator import INLINED


def target_of(y: Any, i: int, c: int) -> float:
    """Return target `c` of row `i`; for compiled loops only, like all of these."""
    raise TypeError("for compiled loops only")


def add_line(W: Any, k: int, a: float, j: int) -> None:
    """Add `a` times the weights of feature `j` to those of feature `k`."""
    raise TypeError("for compiled loops only")


def copy_line(V: Any, W: Any, k: int) -> None:
    """Set the weights of feature `k` to those in `V`."""
    raise TypeError("for compiled loops only")


def divide_line(W: Any, k: int, a: float) -> None:
    """Divide the weights of feature `k` by `a`."""
    raise TypeError("for compiled loops only")


def add_steps(W: Any, k: int, a: float, step: Any) -> None:
    """Add `a` times the steps, one per output, to the weights of feature `k`."""
    raise TypeError("for compiled loops only")


def _target_of_one(y: Any, i: int, c: int) -> float:
    return float(y[i])


def _target_of_many(y: Any, i: int, c: int) -> float:
    return float(y[i, c])


def _add_line_one(W: Any, k: int, a: float, j: int) -> None:
    W[k] += a * W[j]


def _add_line_many(W: Any, k: int, a: float, j: int) -> None:
    for c in range(W.shape[1]):
        W[k, c] += a * W[j, c]


def _copy_line_one(V: Any, W: Any, k: int) -> None:
    W[k] = V[k]


def _copy_line_many(V: Any, W: Any, k: int) -> None:
    for c in range(W.shape[1]):
        W[k, c] = V[k, c]


def _divide_line_one(W: Any, k: int, a: float) -> None:
    W[k] /= a


def _divide_line_many(W: Any, k: int, a: float) -> None:
    for c in range(W.shape[1]):
        W[k, c] /= a


def _add_steps_one(W: Any, k: int, a: float, step: Any) -> None:
    W[k] += step[0] * a


def _add_steps_many(W: Any, k: int, a: float, step: Any) -> None:
    for c in range(W.shape[1]):
        W[k, c] += step[c] * a


@overload(target_of, strict=False, jit_options=INLINED)
def _choose_target(y: types.Type, i: Any, c: Any) -> Any:
    if y.ndim == 1:
        return _target_of_one
    return _target_of_many


@overload(add_line, strict=False, jit_options=INLINED)
def _choose_line(W: types.Type, k: Any, a: Any, j: Any) -> Any:
    if W.ndim == 1:
        return _add_line_one
    return _add_line_many


@overload(copy_line, strict=False, jit_options=INLINED)
def _choose_copy(V: types.Type, W: types.Type, k: Any) -> Any:
    if W.ndim == 1:
        return _copy_line_one
    return _copy_line_many


@overload(divide_line, strict=False, jit_options=INLINED)
def _choose_division(W: types.Type, k: Any, a: Any) -> Any:
    if W.ndim == 1:
        return _divide_line_one
    return _divide_line_many


@overload(add_steps, strict=False, jit_options=INLINED)
def _choose_steps(W: types.Type, k: Any, a: Any, step: Any) -> Any:
    if W.ndim == 1:
        return _add_steps_one
    return _add_steps_many
