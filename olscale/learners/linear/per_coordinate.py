"""The loops of learners of the log loss that have a step for each weight.

A feature has the weights of all columns, and behind them what the steps depend on, as many numbers
each. A learner adds how one coordinate moves along its gradient.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, rows_of
from olscale.compiled.decorator import compiled
from olscale.compiled.intrinsics import borrowed, prefetch
from olscale.compiled.row_layout import (
    PREFETCH_AHEAD,
    borrowed_rows,
    by_layout,
    is_tuple_of,
    prefetch_rows,
)
from olscale.compiled.rows import weight_of
from olscale.learners.contract.class_axes import ClassAxes, class_axis
from olscale.learners.contract.class_shards import count_update
from olscale.learners.contract.learner import (
    NO_LABELS,
    UNKNOWN,
    FloatArray,
    State,
    array_of,
    frobenius_norm,
)
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.linear.log_loss import LogLossLearner, set_residuals


def move_coordinate(
    rule: Any, A: FloatArray, at: Any, stride: Any, gradient: float
) -> None:
    """Move the weight ``A[at]`` along `gradient`; what belongs to it is `stride` apart.

    Compiled loops resolve the call to the rule's own function at compile time.
    """
    raise TypeError("for compiled loops only")


def moves_by(rule_type: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register the move of a coordinate by the rule `rule_type`, a named tuple of floats."""

    def register(move: Callable[..., None]) -> Callable[..., None]:
        @overload(move_coordinate, inline="always")
        def choose(rule, A, at, stride, gradient):
            # Numba tries all registered rules: None passes the call on to the next.
            return move if is_tuple_of(rule, rule_type) else None

        return move

    return register


@by_layout
def coordinate_scores(X: Rows, i: int, A: FloatArray, width: Any, f: FloatArray) -> Any:
    """Set `f` to the scores of row `i` and return ``|x_i|^2``; a feature has `width` numbers."""

    def dense(X, i, A, width, f):
        x = X[i]
        outputs = np.uint64(f.shape[0])
        square = 0.0
        f[:] = 0.0
        for j in range(np.uint64(x.shape[0])):
            value = x[j]
            square += value * value
            start = j * width
            for c in range(outputs):
                f[c] += value * A[start + c]
        return square

    def csr(X, i, A, width, f):
        outputs = np.uint64(f.shape[0])
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        last = np.uint64(X.indices.shape[0])
        # Weights lie at random places: each is requested some values before its turn.
        prefetch_rows(X, start, stop)
        for p in range(
            min(start + PREFETCH_AHEAD, last), min(stop + PREFETCH_AHEAD, last)
        ):
            prefetch(A, np.uint64(np.uint32(X.indices[p])) * width)
        square = 0.0
        # One running sum stays in a register; an array element would be stored for each value.
        if outputs == np.uint64(1):
            score = 0.0
            for p in range(start, stop):
                value = X.data[p]
                square += value * value
                score += value * A[np.uint64(np.uint32(X.indices[p])) * width]
            f[0] = score
            return square
        f[:] = 0.0
        for p in range(start, stop):
            value = X.data[p]
            square += value * value
            first = np.uint64(np.uint32(X.indices[p])) * width
            for c in range(outputs):
                f[c] += value * A[first + c]
        return square

    return dense, csr


@by_layout
def move_coordinates(
    X: Rows, i: int, A: FloatArray, width: Any, r: FloatArray, rule: NamedTuple
) -> Any:
    """Move the weights of the features of row `i` along the gradients ``-r x_i``."""

    def dense(X, i, A, width, r, rule):
        x = X[i]
        outputs = np.uint64(r.shape[0])
        for j in range(np.uint64(x.shape[0])):
            # The kinds of numbers of a weight are `outputs` apart, next to those of other
            # outputs.
            first = j * width
            for c in range(outputs):
                move_coordinate(rule, A, first + c, outputs, -r[c] * x[j])

    def csr(X, i, A, width, r, rule):
        outputs = np.uint64(r.shape[0])
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            first = np.uint64(np.uint32(X.indices[p])) * width
            for c in range(outputs):
                move_coordinate(rule, A, first + c, outputs, -r[c] * X.data[p])

    return dense, csr


@compiled
def _learn(
    X: Any,
    y: NDArray[np.int64],
    A: FloatArray,
    kinds: Any,
    rule: Any,
    softmax: bool,
    learning: bool,
    limits: Any,
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> None:
    X, (low, high) = borrowed_rows(X), limits
    A = borrowed(A)
    outputs = scores.shape[1]
    width = kinds * np.uint64(outputs)
    r = np.empty(outputs)
    for i in range(scores.shape[0]):
        f = scores[i]
        square = coordinate_scores(X, i, A, width, f)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            # Learning ends at such a row; prediction continues with the next.
            if learning:
                scores[i:] = np.nan
                break
            f[:] = np.nan
        if not learning or y[i] == UNKNOWN:
            continue
        seen[0] += 1
        weight = weight_of(weights, i)
        # Neither changes a weight, but some rules would count the row in their own numbers.
        if square == 0.0 or weight == 0.0:
            continue
        set_residuals(f, 0, outputs, y[i], softmax, r)
        for c in range(outputs):
            r[c] *= weight
        move_coordinates(X, i, A, width, r, rule)
        count_update(updates, i)


class PerCoordinateLearner(LogLossLearner):
    """Base of the learners of the log loss with a step a weight; a subclass gives `_rule`."""

    _kinds: int
    """Numbers for each weight, the weight included."""

    @abstractmethod
    def _rule(self) -> NamedTuple:
        """Return the rule of the moves, registered by `moves_by`."""

    def _allocate(self, columns: int, outputs: int) -> State:
        # All that belongs to a feature is adjacent: mostly one cache line holds it.
        return {"A": np.zeros((columns, self._kinds, outputs))}

    def class_axes(self, outputs: int) -> ClassAxes | None:
        """Return the axis of the weights, in the one-vs-all form."""
        if self.multiclass == "ova":
            return {"A": class_axis(2, outputs)}
        return None

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> FloatArray:
        return self._pass(X, y, True, self._weights_of(y, weights))

    def scores(self, X: Rows) -> FloatArray:
        """Return ``X w``, shape (rows, outputs)."""
        return self._pass(X, NO_LABELS, False, None)

    def _pass(
        self, X: Rows, y: NDArray[Any], learning: bool, weights: FloatArray | None
    ) -> FloatArray:
        state = self.state_
        A = state["A"]
        outputs = A.shape[2]
        scores = np.empty((rows_of(X), outputs))
        kinds = np.uint64(self._kinds)
        form = (self._rule(), self.is_softmax(outputs), learning, self.norm_limits())
        counts = (state["seen"], state["updates"])
        _learn(X, y, A.reshape(-1), kinds, *form, *counts, scores, array_of(weights))
        return self.with_probabilities(scores)

    @property
    def coef_(self) -> FloatArray:
        """Weights, shape (1 or n_classes, n_features)."""
        return self.state_["A"][:, 0].T

    def measures(self) -> dict[str, float]:
        """Return the shared measures and `norm_w`, the Frobenius norm of the weights."""
        return {**super().measures(), "norm_w": frobenius_norm(self.coef_)}
