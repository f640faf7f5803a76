"""First-order linear learners: one loop, to which each learner adds only its update rule.

A rule is a named tuple of parameters together with a function that turns one row's score into a
step: the weights of the column move by ``step * y * x``. Two loops drive the rules, one for binary
and one-vs-all problems (each column is a binary problem), one for the max-score form (the true
class against the best wrong class); that of targets is in `regression`.

Several settings of a rule's parameters can share one pass: the weights then have a block of columns
per setting.
"""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, rows_of
from olscale.compiled.decorator import compiled, inlined, is_ours, uncached
from olscale.compiled.pages import aligned_copy
from olscale.compiled.row_layout import is_tuple_of
from olscale.compiled.rows import (
    add_column,
    add_row,
    borrowed_rows,
    row_scores,
    weight_of,
)
from olscale.errors import ParameterError
from olscale.learners.contract.class_axes import ClassAxes, ShardsClasses, class_axis
from olscale.learners.contract.class_shards import count_update
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.estimator import Classifier, Estimator
from olscale.learners.contract.fused_settings import FusedSettings, FusesSettings
from olscale.learners.contract.learner import (
    UNKNOWN,
    FloatArray,
    Learner,
    State,
    array_of,
    frobenius_norm,
    no_weights,
)
from olscale.learners.contract.parameters import Choice, Real, param
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.contract.usable_rows import unusable

_MOST_OUTPUTS = 120
"""Score columns of settings that learn at once. Their weights of a feature take 15 lines of a
cache, an odd number, so that those of all features spread over the whole cache: with 640 columns
each setting takes five times as long.
"""

_FEWEST_OUTPUTS = 4
"""Score columns below which settings learn dense rows one after another: a product of a row with
the weights of one column is faster than with two or three at once.
"""


_BLOCK_ROWS = 1024
"""Rows whose scores are transposed at once: those of all settings stay in a cache."""


class FusedLinear(FusedSettings):
    """Settings of a first-order linear learner in one pass.

    Examples
    --------
    >>> from olscale.learners.linear.passive_aggressive import PA1
    >>> learners = [PA1(C=0.1), PA1(C=1.0)]
    >>> for learner in learners:
    ...     learner.begin(columns=2, classes=2)
    >>> fused = FusedLinear(learners)
    >>> _ = fused.learn(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([0, 1]))
    >>> fused.release()
    >>> [learner.coef_.tolist() for learner in learners]
    [[[-0.2, 0.1]], [[-0.5, 1.0]]]
    """

    def __init__(self, learners: Sequence[Learner]) -> None:
        # Linear models with one rule: `grid_key` guarantees it.
        self._learners: list[Any] = list(learners)
        self.task = self._learners[0].task
        self._blocks: list[_SettingsBlock] = []

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> list[FloatArray]:
        if not self._blocks:
            size = self._settings_at_once(X)
            self._blocks = [
                _SettingsBlock(self._learners[start : start + size])
                for start in range(0, len(self._learners), size)
            ]
        scores: list[FloatArray] = []
        first = self._learners[0]
        for block in self._blocks:
            settings = len(block.learners)
            columns = first._learn(X, y, block.state, block.rule, settings, weights)
            scores += _scores_by_setting(columns, settings)
        return scores

    def _settings_at_once(self, X: Rows) -> int:
        outputs: int = self._learners[0].state_["W"].shape[1]
        if not isinstance(X, CSR) and outputs * len(self._learners) < _FEWEST_OUTPUTS:
            return 1
        return max(1, _MOST_OUTPUTS // outputs)

    def release(self) -> None:
        for block in self._blocks:
            block.release()


class _SettingsBlock:
    """Settings whose weights lie in one array, the weights of a feature side by side."""

    def __init__(self, learners: Sequence[Any]) -> None:
        self.learners = learners
        states = [learner.state_ for learner in learners]
        weights_of_settings = [state["W"] for state in states]
        updates = [state["updates"] for state in states]
        self.state: State = {
            "W": aligned_copy(np.concatenate(weights_of_settings, axis=1)),
            "seen": states[0]["seen"].copy(),
            "updates": np.concatenate(updates),
        }
        rules = [learner._rule() for learner in learners]
        rule: Any = type(rules[0])
        self.rule = rule(
            *(np.concatenate(values) for values in zip(*rules, strict=True))
        )

    def release(self) -> None:
        """Give the learners their weights."""
        weights_of_settings = np.split(self.state["W"], len(self.learners), axis=1)
        for s, learner in enumerate(self.learners):
            learner.state_ = {
                "seen": self.state["seen"].copy(),
                "updates": self.state["updates"][s : s + 1].copy(),
                "W": np.ascontiguousarray(weights_of_settings[s]),
            }


def _scores_by_setting(scores: FloatArray, settings: int) -> list[FloatArray]:
    """Return the columns of each setting; a single one as an array without a stride."""
    if settings == 1 or scores.shape[1] > settings:
        return np.split(scores, settings, axis=1)
    # Measures read the scores of a setting several times: a column at a stride is slow.
    columns = np.empty((settings, len(scores), 1))
    for start in range(0, len(scores), _BLOCK_ROWS):
        block = scores[start : start + _BLOCK_ROWS]
        columns[:, start : start + _BLOCK_ROWS, 0] = block.T
    return list(columns)


_WEIGHTED: set[type] = set()
"""Rules whose functions take the weight of a row."""


def step_size(
    rule: Any,
    s: int,
    y: float,
    f: float,
    square: float,
    t: int,
    wrong: bool,
    weight: float,
) -> float:
    """Return the step of `rule` for setting `s`.

    Compiled loops resolve the call to the rule's own function at compile time.
    """
    raise TypeError("for compiled loops only")


def implements(
    rule_type: type,
) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Register the step of the rule `rule_type`; classifiers call it for rows with hinge loss only.

    The function takes ``(rule, s, y, f, square, t, wrong)``: the parameters (arrays, one value a
    setting `s`), the target (in {-1, +1}, or any in a regression), the score (or the margin, with
    ``y = 1``, in the max-score form), the squared norm of the row (twice of it in the max-score
    form, where two columns move), the number of the row from 1 and whether the prediction was wrong
    (never in a regression). Weights move by ``y`` times the step, in a regression by the step.

    The function of a learner that `takes_weights` has an eighth argument, `weight`: how much the
    loss of the row counts, 1 where rows have no weights.
    """

    def register(step: Callable[..., float]) -> Callable[..., float]:
        # The eighth argument is the weight of a row: rules without one keep their simpler form.
        takes_weight = len(inspect.signature(step).parameters) == 8
        if takes_weight:
            _WEIGHTED.add(rule_type)
        without_weight: Any = inlined(step)

        def step_alone(rule, s, y, f, square, t, wrong, weight):  # type: ignore[no-untyped-def]
            return without_weight(rule, s, y, f, square, t, wrong)

        @overload(step_size, inline="always")
        def choose(rule, s, y, f, square, t, wrong, weight):  # type: ignore[no-untyped-def]
            # Numba tries all registered rules: None passes the call on to the next.
            if not is_tuple_of(rule, rule_type):
                return None
            if takes_weight:
                return step
            return step_alone

        return step

    return register


@compiled
def _learn_one_vs_all(
    X: Any,
    y: NDArray[np.int64],
    W: Any,
    rule: Any,
    settings: int,
    limits: Any,
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> None:
    X, (low, high) = borrowed_rows(X), limits
    columns = scores.shape[1]
    outputs = columns // settings
    f = np.empty(columns)
    a = np.zeros(columns)
    t = seen[0]
    for i in range(y.shape[0]):
        square = row_scores(X, i, W, f)
        # Written so that NaN fails it, too: only such a row is examined value by value.
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        # It is scored, but neither counted nor learned: its label is hidden, or comes later.
        if y[i] == UNKNOWN:
            for c in range(columns):
                scores[i, c] = f[c]
            continue
        t += 1
        active = 0
        for s in range(settings):
            moved = 0
            for k in range(outputs):
                c = s * outputs + k
                scores[i, c] = f[c]
                # A single column is the score of class 1; class 0 is its negative side.
                if outputs > 1:
                    own_class = k
                else:
                    own_class = 1
                if y[i] == own_class:
                    target = 1.0
                else:
                    target = -1.0
                a[c] = 0.0
                # A row without values scores 0 and has a loss, but there is no direction to
                # move in.
                if target * f[c] < 1.0 and square > 0.0:
                    wrong = (f[c] >= 0.0) != (target > 0.0)
                    a[c] = target * step_size(
                        rule, s, target, f[c], square, t, wrong, weight_of(weights, i)
                    )
                if a[c] != 0.0:
                    moved = 1
                    active += 1
            if settings == 1 and moved:
                count_update(updates, i)
            else:
                updates[s] += moved
        # Moving all columns reads the row once. Where few move, columns one by one touch less.
        if active * 8 > columns:
            add_row(X, i, W, a)
        elif active > 0:
            for c in range(columns):
                if a[c] != 0.0:
                    add_column(X, i, W, c, a[c])
    seen[0] = t


@compiled
def _learn_max_score(
    X: Any,
    y: NDArray[np.int64],
    W: Any,
    rule: Any,
    settings: int,
    limits: Any,
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> None:
    X, (low, high) = borrowed_rows(X), limits
    classes = W.shape[1] // settings
    for i in range(y.shape[0]):
        f = scores[i]
        square = row_scores(X, i, W, f)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        if y[i] == UNKNOWN:
            continue
        seen[0] += 1
        for s in range(settings):
            first = s * classes
            true = first + y[i]
            # The first of equal scores is the rival, as argmax predicts the first.
            if true != first:
                rival = first
            else:
                rival = first + 1
            for c in range(first, first + classes):
                if c != true and f[c] > f[rival]:
                    rival = c
            margin = f[true] - f[rival]
            # Of equal scores the first class is predicted: a tie is a mistake if that is the
            # rival.
            wrong = margin < 0.0 or (margin == 0.0 and rival < true)
            if margin < 1.0 and square > 0.0:
                weight = weight_of(weights, i)
                # Two columns move in opposite directions: the square of the stacked row (x,
                # -x).
                step = step_size(
                    rule, s, 1.0, margin, 2.0 * square, seen[0], wrong, weight
                )
                if step != 0.0:
                    updates[s] += 1
                    add_column(X, i, W, true, step)
                    add_column(X, i, W, rival, -step)


@compiled
def _scores(X: Any, W: Any, limits: Any, scores: FloatArray) -> None:
    X, (low, high) = borrowed_rows(X), limits
    for i in range(scores.shape[0]):
        square = row_scores(X, i, W, scores[i])
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i] = np.nan


def linear_scores(X: Rows, W: NDArray[Any], limits: tuple[float, float]) -> FloatArray:
    """Return ``X W`` for `W` of shape (features, columns); NaN for norms beyond `limits`."""
    scores = np.empty((rows_of(X), W.shape[1]))
    _scores(X, one_or_many(W), limits, scores)
    return scores


def one_or_many(W: NDArray[Any]) -> NDArray[Any]:
    """Return weights of one column as a 1-D view, others unchanged."""
    # Loops compile a form without an inner loop over columns for it.
    if W.shape[1] == 1:
        return W[:, 0]
    return W


class LinearModel(Estimator, FusesSettings, EstimatesCost):
    """Base of first-order linear learners of any task; a subclass adds parameters and `_rule`."""

    layout_exact = True
    takes_unknown = True
    checks_rows = True
    rule_type: ClassVar[type[NamedTuple]]
    """The named tuple of the update, registered by `implements`."""

    dtype: str = param(
        "float64",
        Choice(("float64", "float32")),
        "Precision of the weights; sums are float64 in both, each weight is rounded when it is "
        "stored.",
    )

    def _rule(self) -> NamedTuple:
        """Return the update rule: a named tuple of float64 arrays, one value per setting."""
        return rule_of(self.rule_type, self)

    @abstractmethod
    def _loop(self, outputs: int) -> Any:
        """Return the compiled loop for a problem with `outputs` score columns."""

    def _allocate(self, columns: int, outputs: int) -> State:
        return {"W": np.zeros((columns, outputs), dtype=self.dtype)}

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> FloatArray:
        weights = self._weights_of(y, weights)
        return self._learn(X, y, self.state_, self._rule(), 1, weights)

    def _learn(
        self,
        X: Rows,
        y: NDArray[Any],
        state: State,
        rule: NamedTuple,
        settings: int,
        weights: FloatArray | None,
    ) -> FloatArray:
        if weights is not None and type(rule) not in _WEIGHTED:
            raise ParameterError(no_weights(self.name))
        W = state["W"]
        scores = np.empty((rows_of(X), W.shape[1]))
        loop = self._loop(W.shape[1] // settings)
        # Machine code for a user's rule must not enter our cache: it would outlive an edit.
        if not is_ours(type(rule).__module__):
            loop = uncached(loop)
        counts = (state["seen"], state["updates"])
        loop(
            X,
            y,
            one_or_many(W),
            rule,
            settings,
            self.norm_limits(),
            *counts,
            scores,
            array_of(weights),
        )
        return scores

    def scores(self, X: Rows) -> FloatArray:
        """Return ``X W``, shape (rows, outputs)."""
        return linear_scores(X, self.state_["W"], self.norm_limits())

    def fuse(self, learners: Sequence[Learner]) -> FusedSettings:
        return FusedLinear(learners)

    @property
    def coef_(self) -> FloatArray:
        """Weights, shape (outputs, n_features); 1-D for one target, as in scikit-learn."""
        W = self.state_["W"]
        # scikit-learn's regressors have 1-D weights, its classifiers 2-D ones.
        if self.task == "regression" and W.shape[1] == 1:
            return W[:, 0]
        return W.T

    def measures(self) -> dict[str, float]:
        """Return the shared measures and `norm_w`, the Frobenius norm of the weights."""
        return {**super().measures(), "norm_w": frobenius_norm(self.state_["W"])}


class LinearLearner(LinearModel, Classifier, ShardsClasses):
    """Base of the first-order linear classifiers."""

    multiclass: str = param(
        "max-score",
        Choice(("max-score", "ova")),
        "True class against the best wrong class, or one binary learner a class.",
    )

    def _loop(self, outputs: int) -> Any:
        if outputs > 1 and self.multiclass == "max-score":
            return _learn_max_score
        return _learn_one_vs_all

    def class_axes(self, outputs: int) -> ClassAxes | None:
        """Return the axis of the weights, in the one-vs-all form."""
        if self.multiclass == "ova":
            return {"W": class_axis(1, outputs)}
        return None

    def grid_key(self) -> object:
        """Return class, form and precision: in a pass only the rule may differ."""
        return type(self), self.multiclass, self.dtype


class AggressiveLearner(LinearLearner):
    """Base of the first-order linear learners whose only parameter is `C`."""

    update_params = ("C",)

    C: float = param(1.0, Real(0.0, open_="low"), "Aggressiveness, the largest step.")
