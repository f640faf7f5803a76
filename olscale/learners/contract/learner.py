"""The learner contract.

A learner sees a stream in chunks. For every row it predicts, then updates, then forgets the row; so
`learn` returns the scores each row got *before* it was learned. All that a learner knows is in
`state_`, a dictionary of plain arrays: saving those in mid-stream and restoring them elsewhere
continues to the same bits.

The contract holds for any split of a stream into chunks: scores and state are the same bits.
`olscale.testing` checks it for every registered learner.

A learner has one task. It learns classes: the number of score columns is the number of classes, or
one for two classes (positive score: the second class). Or it learns targets (regression): the only
score is the prediction; with several targets there is a score of each. Or it detects novelties
without labels: the only score is negative for a novelty.

A learner declares what it can do beyond this contract as capabilities: see
`olscale.learners.contract.capability`.
"""

import inspect
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, read_only
from olscale.compiled.pages import copy_of, put
from olscale.errors import ParameterError
from olscale.learners.contract.capability import (
    LearnsBatches,
    expect_memory,
    targets_of,
)
from olscale.learners.contract.parameters import InitParameters
from olscale.task import Task

FloatArray = NDArray[np.float64]
State = dict[str, NDArray[Any]]

NO_LABELS = read_only(np.empty(0, dtype=np.int64))
"""Class codes of no rows.

They are read-only like those of chunks: another kind of array would make numba compile the loops
again.
"""

NO_TARGETS = read_only(np.empty(0, dtype=np.float64))
"""Targets of no rows, as `NO_LABELS`."""

NO_WEIGHTS = read_only(np.empty(0, dtype=np.float64))
"""Weights of no rows, as `NO_LABELS`."""


def array_of(weights: FloatArray | None) -> FloatArray:
    """Return the weights of rows, or an empty array.

    With one type of argument a loop that takes seconds to compile is compiled once.
    """
    if weights is None:
        return NO_WEIGHTS
    return weights


UNKNOWN = -2
"""Class code of a row whose label is unknown.

Learners that `takes_unknown` score such a row and learn nothing from it. The code -1 is a class
that a class shard does not have. An unknown target is NaN.
"""


def _norm_limits(dtype: str, power: int) -> tuple[float, float]:
    """Return limits of squared norms whose square root to the `power` fits `dtype`."""
    number = np.finfo(dtype)
    # Limits are of squared norms, which loops compute anyway.
    squares = 2.0 / power
    return (float(number.tiny) / float(number.eps)) ** squares, (
        float(number.max) * 2.0 ** (-40 * power)
    ) ** squares


_NORM_LIMITS = {
    "float64": _norm_limits("float64", 2),
    "float32": _norm_limits("float32", 1),
}


def score_columns(classes: int) -> int:
    """Return the number of score columns: one for up to two classes, otherwise one each."""
    if classes <= 2:
        return 1
    return classes


def frobenius_norm(W: NDArray[Any]) -> float:
    """Return the Frobenius norm, summed without BLAS, whose sums depend on threads."""
    # A model that has diverged still gets its row in the store.
    with np.errstate(over="ignore"):  # the norm is then infinite
        return float(np.sqrt(np.sum(np.square(W, dtype=np.float64))))


def codes_of(scores: FloatArray) -> NDArray[np.int64]:
    """Return the predicted class codes of `scores`, shape (rows, columns).

    The sign of 0 is +1; among equal best scores the first class wins.
    """
    if scores.shape[1] == 1:
        return (scores[:, 0] >= 0.0).astype(np.int64)
    codes: NDArray[np.int64] = np.argmax(scores, axis=1)
    return codes


def predictions_of(scores: FloatArray, task: Task) -> NDArray[Any]:
    """Return the predictions for `scores`, shape (rows,): targets, or codes; 1 normal, 0 novelty.

    Several targets per row have shape (rows, targets).

    Examples
    --------
    >>> scores = np.array([[0.5], [-2.0]])
    >>> predictions_of(scores, "regression"), predictions_of(scores, "novelty")
    (array([ 0.5, -2. ]), array([1, 0]))
    """
    if task == "regression":
        if scores.shape[1] == 1:
            return scores[:, 0]
        return scores
    return codes_of(scores)


def no_labels(task: Task, targets: int = 1) -> NDArray[Any]:
    """Return the labels of no rows, with `targets` targets each."""
    if targets > 1:
        return read_only(np.empty((0, targets)))
    if task == "regression":
        return NO_TARGETS
    return NO_LABELS


def hide_labels(y: NDArray[Any], hidden: NDArray[np.bool_]) -> NDArray[Any]:
    """Return class codes or targets in which the `hidden` ones are unknown."""
    if y.ndim == 1:
        rows = hidden
    else:
        rows = hidden[:, np.newaxis]
    return read_only(np.where(rows, np.nan if y.dtype.kind == "f" else UNKNOWN, y))


@dataclass_transform(kw_only_default=True, eq_default=False)
class Learner(InitParameters):
    """Base of every learner: names, domains of parameters and a state of plain arrays.

    A subclass sets the class attributes, declares its parameters as fields by `param` and gives
    `_allocate`, `learn` and `scores`. `begin`, `state`, `restore`, `measures` and `resolved_params`
    follow from these. Instead of the fields it may write ``__init__``, which stores the parameters
    unchanged, and `domains`.

    Attributes
    ----------
    name : str
        Registry name.
    version : int
        Part of every run's id; raise it whenever the numbers that the learner produces change.
    declared : mapping of str to Param
        Parameters that are declared as fields.
    domains : mapping of str to Domain
        Values that each parameter may have.
    task : {"classification", "regression", "novelty"}
        What it predicts.
    layout_exact : bool
        Whether dense and CSR rows give the same bits (and not only the same predictions);
        `olscale.testing` checks it.
    takes_unknown : bool
        Whether `learn` takes rows of the class `UNKNOWN`, or of the target NaN, as if `scores` was
        called for them; `olscale.testing` checks it.
    checks_rows : bool
        Whether `learn` and `scores` themselves give NaN for a row that is not finite or whose
        squared norm is beyond `norm_limits`, `learn` for all rows after it too; `olscale.testing`
        checks it. Other learners never see such rows.
    takes_negative : bool
        Whether values of rows may be below 0. If not, `checks_rows` holds for these too, and
        `olscale.testing` gives it absolute values.
    baseline : bool
        Whether it looks at labels only, so that others can be compared to it; it need not learn
        anything from rows.
    takes_weights : bool
        Whether `learn` has a third argument, the weights of the rows; others are never called with
        it.
    numbers_per_second : float
        How many of the numbers that `EstimatesCost` counts a core processes per second;
        ``olscale bench costs`` measures it. Plans and forecasts use it.
    row_seconds : float
        Seconds of a row in addition to its numbers, which rows of few features mostly take.
    update_params : tuple of str
        Parameters that affect only later updates, neither what `begin` allocates nor a score: they
        may be set between two calls of `learn`; `olscale.testing` checks it.
    restorable : bool
        Whether `state` is all that was learned, so that a run can be continued from it after a
        loss.
    state_ : dict of str to ndarray
        All that was learned, after `begin`.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    task: ClassVar[Task] = "classification"
    layout_exact: ClassVar[bool] = False
    takes_unknown: ClassVar[bool] = False
    checks_rows: ClassVar[bool] = False
    takes_negative: ClassVar[bool] = True
    baseline: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = False
    numbers_per_second: ClassVar[float] = 1e9
    row_seconds: ClassVar[float] = 0.0
    update_params: ClassVar[tuple[str, ...]] = ()
    restorable: ClassVar[bool] = True
    state_: State
    n_features_in_: int
    classes_: NDArray[Any]
    _begun_params: Mapping[str, Any] = MappingProxyType({})

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not cls.takes_weights or "takes_weights" in vars(cls):
            return
        own_methods = [
            vars(cls)[name] for name in ("learn", "_pass") if name in vars(cls)
        ]
        # A class that overrides these without the argument inherits no promise about it.
        cls.takes_weights = all(
            "weights" in inspect.signature(method).parameters for method in own_methods
        )

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form.

        Raises
        ------
        ParameterError
            If a value is outside its domain; the message names the learner and the parameter.
        """
        params = {}
        for name, value in sorted(self.get_params(deep=False).items()):
            try:
                params[name] = self.domains[name].accept(name, value)
            except ParameterError as error:
                raise ParameterError(f"learner {self.name}: {error}") from None
        return params

    def begin(self, columns: int, classes: int, entropy: Sequence[int] = ()) -> None:
        """Check the parameters and the memory, then allocate the state.

        Parameters
        ----------
        columns, classes : int
            Features and classes of the stream; no classes in a regression, two in novelty
            detection.
        entropy : sequence of int
            What distinguishes this run from its repetitions (seed and number of the permutation): a
            learner with a random start begins differently in each.
        """
        self.resolved_params()
        expect_memory(self, columns, classes)
        params = self.get_params(deep=False)
        # A parameter of the state cannot change later; those of the update may, between rows.
        self._begun_params = {
            name: value
            for name, value in params.items()
            if name not in self.update_params
        }
        self._columns = columns
        self._classes = classes
        self._entropy = tuple(entropy)
        # Regression has no classes: its columns are the targets.
        self._start(columns, max(score_columns(classes), targets_of(self)))

    def _start(self, columns: int, outputs: int) -> None:
        self._outputs = outputs
        self.state_ = {
            "seen": np.zeros(1, dtype=np.int64),
            "updates": np.zeros(1, dtype=np.int64),
            **self._allocate(columns, outputs),
        }

    def norm_limits(self) -> tuple[float, float]:
        """Return the least and greatest squared norm of a non-empty row that a run accepts.

        Within these limits squares keep their digits, and 2^40 rows add up. Weights in float32 must
        hold lengths, not squares.
        """
        return _NORM_LIMITS.get(
            getattr(self, "dtype", "float64"), _NORM_LIMITS["float64"]
        )

    def _random(self) -> np.random.Generator:
        """Return the generator of this run, from its entropy and the parameter `seed`."""
        seed = int(self.get_params(deep=False).get("seed", 0))
        # The entropy belongs to permutation and fold: each run draws its own numbers.
        sequence = np.random.SeedSequence([seed, *self._entropy])
        return np.random.Generator(np.random.PCG64(sequence))

    @abstractmethod
    def _allocate(self, columns: int, outputs: int) -> State:
        """Return the arrays of an untrained model of `outputs` score columns."""

    @abstractmethod
    def learn(self, X: Rows, y: NDArray[Any]) -> FloatArray:
        """Predict, then update, row by row; return the scores, shape (rows, outputs).

        The scores of a row are those before its update.

        `y` are int64 class codes or float64 targets, of shape (rows, targets) if there are several;
        novelty detectors get zeros instead of labels.

        A learner that `takes_weights` has the additional argument ``weights=None``: None, or a
        read-only float64 array of shape (rows,), finite and not negative. A weight says how much
        the loss of its row counts and does not change the row's score. Weights of 1 and no weights
        give the same bits. Call `learn_rows` for any learner.
        """

    def _weights_of(
        self, y: NDArray[Any], weights: FloatArray | None
    ) -> FloatArray | None:
        """Return the weights of the next rows to learn, with labels `y`: here `weights`."""
        del y
        if weights is not None and not self.takes_weights:
            raise ParameterError(no_weights(self.name))
        return weights

    @abstractmethod
    def scores(self, X: Rows) -> FloatArray:
        """Return the scores of rows without learning from them, shape (rows, outputs)."""

    def state(self) -> State:
        """Return a copy of the state."""
        return {name: copy_of(array) for name, array in self.state_.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`; call `begin` first.

        Raises
        ------
        ValueError
            If the arrays are not those of this learner (names, shapes or types differ), or no rows
            lead to them.
        """
        expected = {
            name: (array.shape, array.dtype.str) for name, array in self.state_.items()
        }
        got = {name: (array.shape, array.dtype.str) for name, array in state.items()}
        if got != expected:
            raise ValueError(
                f"state does not fit learner {self.name}: got {got}, expected {expected}"
            )
        for name, array in self.state_.items():
            # in place: compiled loops rely on where `begin` allocated it
            put(array, state[name])
        if not self._can_continue():
            raise ValueError(
                f"state does not fit learner {self.name}: no rows lead to its arrays"
            )

    def _can_continue(self) -> bool:
        """Return whether rows can have led to the counts and positions of the state.

        Loops rely on them: those of a crafted file could lead out of the arrays.
        """
        return bool(self.state_["seen"][0] >= 0 and self.state_["updates"][0] >= 0)

    def measures(self) -> dict[str, float]:
        """Return measures of the model: updates, size in bytes, and more in subclasses."""
        return {
            "updates": float(self.state_["updates"][0]),
            "model_bytes": float(sum(array.nbytes for array in self.state_.values())),
        }


def learn_rows(
    learner: Learner,
    X: Rows,
    y: NDArray[Any],
    weights: FloatArray | None = None,
    *,
    batch: int | None = None,
) -> FloatArray:
    """Let `learner` learn rows, with their weights if any; return the scores before updates.

    With a `batch`, a learner that `LearnsBatches` predicts and then learns so many rows at a time.

    Raises
    ------
    ParameterError
        If there are weights and the learner takes none.
    """
    if weights is not None and not learner.takes_weights:
        raise ParameterError(no_weights(learner.name))
    if batch is not None and isinstance(learner, LearnsBatches):
        return learner.learn_batches(X, y, batch, weights)
    if weights is None:
        return learner.learn(X, y)
    weighted: Any = learner
    scores: FloatArray = weighted.learn(X, y, weights)
    return scores


def no_weights(name: str) -> str:
    """Return the message for rows with weights that come to a learner that takes none."""
    return (
        f"learner {name} takes no weights of rows: its rule has no loss that could count more for "
        "one of them; "
        "leave the weights out, or take pa1, arow, ogd, lol or bpas, or rls, ridge or pa1-r for "
        "targets"
    )


def make_writable(learner: Learner) -> None:
    """Let `learner` continue from a copy of its state if it cannot write to one of the arrays."""
    state = getattr(learner, "state_", {})  # a model of another library has none
    if all(array.flags.writeable for array in state.values()):
        return
    learner.begin(learner._columns, learner._classes, learner._entropy)
    learner.restore(state)
