"""Trivial baselines: they look at labels only. Figures that do not beat theirs mean nothing."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.many_targets import target_of
from olscale.learners.contract.capability import LearnsTargets
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.learner import UNKNOWN, FloatArray, State
from olscale.learners.contract.regressor import OnePassRegressor


@compiled
def _targets(
    y: NDArray[np.float64], last: bool, total: Any, seen: Any, scores: FloatArray
) -> None:
    for i in range(scores.shape[0]):
        # Without labels, as when scoring, `y` is empty.
        is_known = i < y.shape[0] and not np.isnan(target_of(y, i, 0))
        for c in range(scores.shape[1]):
            if last:
                scores[i, c] = total[c]
            else:
                scores[i, c] = total[c] / max(1, seen[0])
            if is_known:
                if last:
                    total[c] = target_of(y, i, c)
                else:
                    total[c] = total[c] + target_of(y, i, c)
        seen[0] += is_known


@compiled
def _classes(
    y: NDArray[np.int64], last: bool, counts: Any, seen: Any, scores: FloatArray
) -> None:
    columns = scores.shape[1]
    for i in range(scores.shape[0]):
        best = np.argmax(counts)  # of equal counts the first class
        for c in range(columns):
            # One column is the score of class 1.
            if columns > 1:
                own_class = c
            else:
                own_class = 1
            if best == own_class:
                scores[i, c] = 1.0
            else:
                scores[i, c] = -1.0
        if i < y.shape[0] and y[i] != UNKNOWN:
            if last:
                counts[:] = 0
            counts[y[i]] += 1
            seen[0] += 1


class TargetBaseline(OnePassRegressor, LearnsTargets):
    """Base of the baselines of targets: a subclass holds the `last` target or their sum."""

    baseline = True
    layout_exact = True
    takes_unknown = True
    last: ClassVar[bool]

    def _allocate(self, columns: int, outputs: int) -> State:
        return {"target": np.zeros(outputs)}

    def _pass(
        self, X: Rows, y: NDArray[Any], state: State, learning: bool, scores: FloatArray
    ) -> None:
        _targets(y, self.last, state["target"], state["seen"], scores)
        state["updates"][:] = state["seen"]


class Mean(TargetBaseline):
    """Baseline of regression: predicts the mean of the targets so far.

    Notes
    -----
    It ignores the features. Before the first target it predicts 0. State: their sum and number.

    Examples
    --------
    >>> Mean().fit(np.zeros((3, 1)), np.array([1.0, 2.0, 6.0])).predict(np.zeros((1, 1)))
    array([3.])
    """

    name = "mean"
    last = False


class LastValue(TargetBaseline):
    """Baseline of regression: predicts the last target (persistence).

    Figures of a time series mean little without it.

    Notes
    -----
    It ignores the features. Before the first target it predicts 0; with late targets it predicts
    the last one that arrived.

    Examples
    --------
    >>> LastValue().fit(np.zeros((3, 1)), np.array([1.0, 2.0, 6.0])).predict(np.zeros((1, 1)))
    array([6.])
    """

    name = "last-value"
    last = True


class ClassBaseline(OnePassLearner):
    """Base of the baselines of classes: a subclass holds the `last` class or their counts."""

    baseline = True
    layout_exact = True
    takes_unknown = True
    last: ClassVar[bool]

    def _allocate(self, columns: int, outputs: int) -> State:
        return {"counts": np.zeros(max(2, outputs), dtype=np.int64)}

    def _pass(
        self, X: Rows, y: NDArray[Any], state: State, learning: bool, scores: FloatArray
    ) -> None:
        _classes(y, self.last, state["counts"], state["seen"], scores)
        state["updates"][:] = state["seen"]


class Majority(ClassBaseline):
    """Baseline of classification: predicts the most frequent class so far, the first among equals.

    Notes
    -----
    It ignores the features. State: one count per class.

    Examples
    --------
    >>> Majority().fit(np.zeros((3, 1)), np.array([1, 1, 0])).predict(np.zeros((1, 1)))
    array([1])
    """

    name = "majority"
    last = False


class NoChange(ClassBaseline):
    """Baseline of classification: predicts the class of the previous row (persistence).

    Notes
    -----
    It ignores the features. Before the first label it predicts the first class; with late labels it
    predicts the last one that arrived. On streams whose classes come in runs, such as electricity,
    few learners beat it.

    Examples
    --------
    >>> NoChange().fit(np.zeros((3, 1)), np.array([1, 1, 0])).predict(np.zeros((1, 1)))
    array([0])
    """

    name = "no-change"
    last = True
