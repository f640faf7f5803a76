"""The loop of all kernel learners: each learner adds a rule for what a row changes.

A rule is a named tuple of parameters together with a function that learns one row; the loop
provides the row's kernel values, scores and targets. What a row aims at depends on its label: a
class sets margins, a target residuals.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from olscale.compiled.decorator import INLINED, compiled
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.row_layout import borrowed_rows, is_tuple_of
from olscale.compiled.rows import weight_of
from olscale.compiled.rows_together import (
    may_go_together,
    multiply_together,
    renew,
    take_products,
)
from olscale.compiled.simd.row_tiles import ROWS
from olscale.compiled.support_vectors import find_places, has_room
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.kernel.kernel_model import (
    KernelRow,
    Model,
    combine,
)
from olscale.learners.kernel.kernels import (
    LAPLACIAN,
    finish_row,
    own_value,
    raw_row,
    size_of,
)
from olscale.learners.kernel.shared_values import (
    borrowed_values,
    note_vectors,
    row_square,
    take_values,
)


def is_known(y: float) -> bool:
    """Return whether a class code or a target is known; for compiled loops only, as `aim`."""
    raise TypeError("for compiled loops only")


def aim(
    f: Any, y: float, max_score: bool, target: Any, margin: Any, wrong: Any
) -> None:
    """Set targets, margins and mistakes of a row of class or target `y` (see `Space`)."""
    raise TypeError("for compiled loops only")


@overload(is_known, strict=False, jit_options=INLINED)
def _choose_known(y: types.Type) -> Any:
    if isinstance(y, types.Array):  # several targets
        return lambda y: not np.isnan(y[0])
    if isinstance(y, types.Float):
        return lambda y: not np.isnan(y)
    return lambda y: y != UNKNOWN


@overload(aim, strict=False, jit_options=INLINED)
def _choose_aim(
    f: Any, y: types.Type, max_score: Any, target: Any, margin: Any, wrong: Any
) -> Any:
    if isinstance(y, types.Array):
        return _aim_at_targets
    if isinstance(y, types.Float):
        return _aim_at_target
    return _aim_at_class


def _aim_at_class(
    f: Any, y: int, max_score: bool, target: Any, margin: Any, wrong: Any
) -> None:
    outputs = f.shape[0]
    if max_score:
        if y != 0:
            rival = 0
        else:
            rival = 1
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
            if outputs > 1:
                own_class = c
            else:
                own_class = 1
            if y == own_class:
                target[c] = 1.0
            else:
                target[c] = -1.0
            margin[c] = target[c] * f[c]
            wrong[c] = (f[c] >= 0.0) != (target[c] > 0.0)


def _aim_at_target(
    f: Any, y: float, max_score: bool, target: Any, margin: Any, wrong: Any
) -> None:
    for c in range(f.shape[0]):
        target[c] = y
        margin[c] = y - f[c]


def _aim_at_targets(
    f: Any, y: Any, max_score: bool, target: Any, margin: Any, wrong: Any
) -> None:
    for c in range(f.shape[0]):
        target[c] = y[c]
        margin[c] = y[c] - f[c]


def learn_row(rule: Any, model: Model, row: KernelRow) -> bool:
    """Learn a row by `rule` and return whether the model changed.

    Compiled loops resolve the call to the rule's own function.
    """
    raise TypeError("for compiled loops only")


_WEIGHTED: set[type] = set()
"""Rules that accept weights of rows."""


def takes_weight(rule: Any) -> bool:
    """Return whether `rule` accepts weights of rows."""
    return type(rule) in _WEIGHTED


def learns(
    rule_type: type, weighted: bool = False
) -> Callable[[Callable[..., bool]], Callable[..., bool]]:
    """Register ``(rule, model, row) -> bool`` as the function that learns a row by `rule_type`.

    `weighted` says whether it uses ``row.weight``, as the rule of a learner that `takes_weights`
    does.
    """

    def register(function: Callable[..., bool]) -> Callable[..., bool]:
        if weighted:
            _WEIGHTED.add(rule_type)

        @overload(learn_row, strict=False, jit_options=INLINED)
        def choose(rule, model, row):  # type: ignore[no-untyped-def]
            if is_tuple_of(rule, rule_type):
                return function
            return None

        return function

    return register


@compiled
def learn_and_score(
    X: Any,
    y: NDArray[Any],
    first: int,
    model: Any,
    rule: Any,
    space: Any,
    shared: Any,
    max_score: bool,
    limits: Any,
    learning: bool,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    scores: FloatArray,
    weights: FloatArray,
) -> int:
    """Score rows from `first` on and learn them; return the row that has no room, or the row count.

    `weights` is empty where rows have none (`array_of`).
    """
    X, (low, high) = borrowed_rows(X), limits
    model = borrowed(model)
    space = borrowed(space)
    support = model.support
    kernel = model.kernel
    f, target, margin, wrong, step, at, value, k, other, block = space
    # bounds of the rows whose products were computed last
    begun = first
    end_of_block = first
    rows, outputs = scores.shape
    shared, is_alone = borrowed_values(shared), shared.values.shape[0] == 0
    for i in range(first, rows):
        learns = learning and is_known(y[i])
        # The caller enlarges the arrays, and this row comes again.
        if learns and not has_room(support, X.indptr[i + 1] - X.indptr[i]):
            return i
        # Not for the Laplacian kernel, whose values come from differences and not from products.
        begins = (
            is_alone
            and i >= end_of_block
            and may_go_together(support, X, i, rows)
            and kernel.kind != LAPLACIAN
        )
        if begins and multiply_together(support, X, i, at, block):
            begun = i
            end_of_block = i + ROWS
        places = 0
        ready = i < end_of_block
        if ready:
            square = take_products(block, i - begun, support.counts[0], k)
        elif is_alone:
            places, square = find_places(support, X, i, at, value)
        else:
            square = row_square(X, i)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        size = size_of(kernel, X, i, square)
        if not is_alone:
            take_values(shared, support, i, k)
        elif not ready:
            raw_row(kernel, support, at, value, places, size, k)
        # Settings of one kernel share values, those of several kernels share products.
        if is_alone or not shared.finished:
            finish_row(kernel, support, X, i, at, value, size, k)
        combine(model.alpha, model.scale, k, support.counts[0], f)
        for c in range(outputs):
            f[c] += model.offset[c]
            scores[i, c] = f[c]
        if learns:
            seen[0] += 1
            aim(f, y[i], max_score, target, margin, wrong)
            row = KernelRow(
                X,
                i,
                seen[0],
                size,
                own_value(kernel, size),
                max_score,
                f,
                target,
                margin,
                wrong,
                step,
                at,
                value,
                k,
                other,
                weight_of(weights, i),
            )
            if learn_row(rule, model, row):
                updates[0] += 1
            if i + 1 < end_of_block:
                renew(support, X, begun, at, block)
            if not is_alone:
                note_vectors(shared, support, i)
    return int(rows)
