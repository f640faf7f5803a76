"""A learner of MOA or CapyMOA under the contract of learners.

Blocks of rows go to Java as one array: `RowLoop` makes MOA's instances of them, and predicts and
learns row by row as MOA's own evaluation does.
"""

import copy
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, rows_of, trim
from olscale.compiled.java_random import java_seed
from olscale.data.feature_names import FeatureNames
from olscale.errors import ParameterError
from olscale.learners.contract.capability import (
    GivesProbabilities,
    Label,
    RanksRows,
    TakesNames,
)
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.learner import FloatArray, Learner, State, score_columns
from olscale.learners.moa.java import java_errors, start_java

_TRIED = 200
_STATE = {"seen": (1, "<i8"), "model": (1, "|u1")}


class JavaLearner(Learner, EstimatesCost, GivesProbabilities, RanksRows, TakesNames):
    """A learner of MOA; a subclass for each name says how it is made.

    Features that are codes of the words of a column are nominal attributes, and a code less than 0
    is a missing value.

    MOA's prediction is the class of the highest vote, the first one of equal votes. The score of an
    anomaly detector is its threshold less MOA's anomaly score. What a learner has
    learned is saved in Java's serialisation, where that gives the same predictions; otherwise a run
    starts again from its first row after a loss.

    Parameters
    ----------
    **params : object
        Parameters of CapyMOA's class; a command line of MOA has none.
    """

    takes_weights = True

    _ranks = False
    _ranked = 0
    _values: Mapping[int, int] = MappingProxyType({})

    def __init__(self, **params: Any) -> None:
        self.params = params
        is_restorable = _is_restorable(type(self), json.dumps(params, default=str))
        self.restorable = is_restorable  # type: ignore[misc]

    @abstractmethod
    def make_model(self, header: Any, seed: int) -> Any:
        """Return a new learner, an object of Java, for streams with MOA's `header`.

        `seed` is the run's, for a learner without a seed of its own.
        """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters that were given."""
        del deep
        return dict(self.params)

    def __repr__(self) -> str:
        """Return the name with the parameters that were given."""
        return f"<{':'.join([self.name, *(f'{key}={self.params[key]}' for key in self.params)])}>"

    def resolved_params(self) -> dict[str, Any]:
        """Return the parameters as given: the version covers the defaults of the package."""
        return dict(sorted(self.params.items()))

    def begin(self, columns: int, classes: int, entropy: Sequence[int] = ()) -> None:
        """Make a new learner for a stream of `columns` features and `classes` classes."""
        self._columns = columns
        self._classes = 0 if self.task == "regression" else max(2, classes)
        self._outputs = score_columns(self._classes)
        self._answers = self._classes + 1
        self._ranked = int(self._ranks and self._classes == 2)
        self._shown = 0
        self._updates = 0
        row_loop = start_java().JClass("RowLoop")
        values = np.zeros(columns, dtype=np.int32)
        for column, count in self._values.items():
            values[column] = count
        header = row_loop.header(_to_java(values, np.int32), self._classes)
        seed = java_seed(entropy)
        try:
            with java_errors():
                model = self.make_model(header, seed)
        except RuntimeError as error:
            raise ParameterError(
                f"learner {self.name} cannot be made: {error}"
            ) from None
        predicted = self._classes
        if self.task == "novelty":
            # A header of two classes, as MOA's detectors are classifiers; one score.
            predicted = 1
            self._answers = 1
            self._threshold = _threshold_of(model)
        self._loop = row_loop(model, header, columns, predicted)

    def _allocate(self, columns: int, outputs: int) -> State:
        return {}

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers our learners go through in the time of one row here."""
        # MOA's naive Bayes and Hoeffding trees took 5 to 20 us a row, forests 20 times as long.
        return 1e4 + 100.0 * values * score_columns(classes)

    def norm_limits(self) -> tuple[float, float]:
        """Return no limits: lengths are for MOA to judge."""
        return 0.0, float("inf")

    def expect_names(self, features: FeatureNames, labels: Sequence[Label]) -> None:
        """Let features that are codes be nominal attributes."""
        del labels
        self._values = features.codes

    def expect_ranking(self) -> None:
        """Append the second class's share of the votes to the scores of two classes."""
        self._ranks = self.task == "classification"

    @property
    def ranking_columns(self) -> int:
        """Number of columns that only rank rows."""
        return self._ranked

    @property
    def ranks_by_class(self) -> bool:
        """Whether votes are not known: a classifier of MOA always has them."""
        return False

    def show_probabilities(self) -> bool:
        """Append the shares of votes, which are MOA's probabilities."""
        self._shown = self._classes
        return self.task == "classification"

    def with_plain_scores(self) -> Self:
        """Return the learner without columns that only the measures of a run need."""
        plain = copy.copy(self)
        plain._ranks = False
        plain._ranked = 0
        plain._shown = 0
        return plain

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> FloatArray:
        # Half-space trees split by the class, too: a detector never sees one.
        shown = np.zeros(len(y)) if self.task == "novelty" else y
        scores = self._run(X, shown, weights)
        self._updates += len(y)
        return scores

    def scores(self, X: Rows) -> FloatArray:
        return self._run(X, None, None)

    def _run(
        self, X: Rows, y: NDArray[Any] | None, weights: FloatArray | None
    ) -> FloatArray:
        """Return the scores of rows; learn each after its prediction if there are labels."""
        count = rows_of(X)
        starts = None
        indices = None
        if isinstance(X, CSR):
            rows = trim(X)
            starts = _to_java(rows.indptr, np.int32)
            indices = _to_java(rows.indices, np.int32)
            values = rows.data
        else:
            values = np.ascontiguousarray(X).reshape(-1)
        with java_errors():
            answers = self._loop.run(
                _to_java(values, np.float64),
                starts,
                indices,
                None if y is None else _to_java(y, np.float64),
                None if weights is None else _to_java(weights, np.float64),
                count,
            )
        return self._scores_of(np.array(answers).reshape(count, self._answers))

    def _scores_of(self, answers: FloatArray) -> FloatArray:
        """Return the scores for answers of `RowLoop`, a row each."""
        scores: FloatArray
        first = answers[:, 0]
        if self.task == "novelty":
            scores = (self._threshold - first).reshape(-1, 1)
            return scores
        if self.task == "regression":
            scores = np.where(np.isfinite(first), first, np.nan).reshape(-1, 1)
            return scores
        if self._classes == 2:
            scores = np.where(first > 0.0, 1.0, -1.0).reshape(-1, 1)
        else:
            scores = (first[:, np.newaxis] == np.arange(self._classes)).astype(
                np.float64
            )
        if not self._shown and not self._ranked:
            return scores
        shares = _shares(answers[:, 1:])
        return np.hstack(
            [scores, shares[:, 2 - self._ranked : 2], shares[:, : self._shown]]
        )

    def state(self) -> State:
        """Return the number of rows learned and, if Java can restore it, the model as bytes."""
        if not self.restorable:
            return {}
        with java_errors():
            model = np.frombuffer(bytes(self._loop.save()), dtype=np.uint8)
        return {"seen": np.array([self._updates], dtype=np.int64), "model": model}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`; call `begin` first.

        Raises
        ------
        ValueError
            If it is no state of this learner.
        """
        types = {name: (array.ndim, array.dtype.str) for name, array in state.items()}
        if types != _STATE or state["seen"].shape != (1,) or state["seen"][0] < 0:
            raise ValueError(
                f"state does not fit learner {self.name}: no rows lead to its arrays"
            )
        try:
            with java_errors():
                self._loop.load(_bytes_to_java(state["model"]))
        except RuntimeError as error:
            raise ValueError(
                f"state does not fit learner {self.name}: {error}"
            ) from None
        self._updates = int(state["seen"][0])

    def measures(self) -> dict[str, float]:
        """Return the rows learned and, if Java can write the model, its size in bytes."""
        measures = {"updates": float(self._updates)}
        if self.restorable:
            measures["model_bytes"] = float(
                sum(array.nbytes for array in self.state().values())
            )
        return measures


@cache
def _is_restorable(kind: type[JavaLearner], params: str) -> bool:
    """Return whether learners with `params`, as JSON, continue as before once Java has read them.

    Raises
    ------
    ParameterError
        If there is no learner with these parameters.
    """
    learner = kind.__new__(kind)
    learner.params = json.loads(params)
    learner.restorable = True  # type: ignore[misc]
    restored = copy.copy(learner)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * _TRIED, 4))
    codes = (X[:, 0] * X[:, 1] > 0.0).astype(np.int64)
    y = codes + X[:, 2] if learner.task == "regression" else codes
    for model in (learner, restored):
        model.begin(4, 2)
    try:
        learner.learn(X[:_TRIED], y[:_TRIED])
        restored.restore(learner.state())
        scores = [model.learn(X[_TRIED:], y[_TRIED:]) for model in (learner, restored)]
        models = [model.state()["model"] for model in (learner, restored)]
    except (RuntimeError, ValueError, MemoryError):
        # a part of it cannot be written, or read
        return False
    same_scores = np.array_equal(scores[0], scores[1], equal_nan=True)
    return same_scores and np.array_equal(models[0], models[1])


def _threshold_of(model: Any) -> float:
    """Return the anomaly score above which a detector calls a row an anomaly."""
    for option in model.getOptions().getOptionArray():
        if str(option.getName()).lower().endswith("threshold"):
            return float(option.getValue())
    return 0.5


def _to_java(values: NDArray[Any], dtype: type) -> Any:
    """Return an array of Java with the numbers of a NumPy array, copied in one piece."""
    return start_java().JArray.of(np.ascontiguousarray(values, dtype=dtype))


def _bytes_to_java(values: NDArray[np.uint8]) -> Any:
    return start_java().JArray.of(np.ascontiguousarray(values).view(np.int8))


def _shares(votes: FloatArray) -> FloatArray:
    """Return the shares of votes per row; equal shares where they have no finite, positive sum."""
    with np.errstate(all="ignore"):
        sums = votes.sum(axis=1, keepdims=True)
        sound = (
            (sums > 0.0) & np.isfinite(sums) & (votes >= 0.0).all(axis=1, keepdims=True)
        )
        shares: FloatArray = np.where(sound, votes / sums, 1.0 / votes.shape[1])
    return shares
