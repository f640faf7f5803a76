"""The wrapper: a model gets rows one at a time, so that each is predicted before it is learned.

In a protocol with batches it gets a batch at a time: one call to predict it and one to learn it.

A model that cannot predict yet scores 0 for every class, or predicts 0. One that has broken down,
as scores, numbers or weights show, scores NaN: the run then ends as ``diverged``. Such learners
have no state of plain arrays and restart from the first row after a loss.
"""

import copy
import pickle
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, rows_of, slice_rows, take_rows
from olscale.data.feature_names import NAMELESS, FeatureNames
from olscale.errors import ParameterError
from olscale.learners.adapter_version import adapted
from olscale.learners.contract.capability import (
    GivesProbabilities,
    Label,
    LearnsBatches,
    LearnsTargets,
    RanksRows,
    ShowsMargins,
    TakesNames,
    targets_of,
)
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.foreign.answers import (
    Soundness,
    class_scores,
    finite_rows,
    normality,
    number_scores,
    numbers,
)
from olscale.learners.contract.foreign.kind import (
    fills_in_missing,
    last_step,
    takes_classes,
    takes_many,
    takes_targets,
    takes_weights,
    task_of,
)
from olscale.learners.contract.foreign.margins import gives_margins, margins_of
from olscale.learners.contract.foreign.model_input import (
    matrix_of,
    single_rows,
    unchecked,
    weight_argument,
)
from olscale.learners.contract.foreign.probabilities import (
    ClassLabels,
    RowScores,
    gives_probabilities,
    probabilities_of,
)
from olscale.learners.contract.foreign.recipe import make_model
from olscale.learners.contract.foreign.river_model import RiverModel, SharedRows
from olscale.learners.contract.learner import FloatArray, Learner, State, score_columns


class ForeignLearner(
    Learner,
    EstimatesCost,
    GivesProbabilities,
    LearnsBatches,
    LearnsTargets,
    RanksRows,
    ShowsMargins,
    TakesNames,
):
    """A scikit-learn or River estimator as a learner.

    Parameters
    ----------
    name : str
        ``module:name`` as written in the experiment.
    target : class, function or estimator
        The object behind the name: a class, a function that returns an estimator, or an estimator
        to copy.
    params : dict
        Arguments of the class or function, or parameters of the copy.
    version : str
        Version of its package, or digest of its source.
    """

    restorable = False

    def __init__(
        self, name: str, target: Any, params: dict[str, Any], version: str
    ) -> None:
        self.name = name  # type: ignore[misc]
        self.version = version  # type: ignore[misc,assignment]
        self.target = target
        self._estimator, self.params, seeds = make_model(name, target, dict(params))
        self.task = task_of(name, self._estimator)  # type: ignore[misc]
        self._river = hasattr(self._estimator, "learn_one")
        self.checks_rows = self._river and fills_in_missing(self._estimator)  # type: ignore[misc]
        is_weighted = self.task != "novelty" and takes_weights(self._estimator)
        self.takes_weights = is_weighted  # type: ignore[misc]
        self._features = NAMELESS
        self.river_model: RiverModel | None = None
        self._labels = ClassLabels()
        self._ranks = False
        self._row_scores = RowScores(self._estimator)
        self._updates = 0
        if seeds:
            self._mark_changed()

    @property
    def estimator(self) -> Any:
        """The model."""
        return self._estimator

    @property
    def updates(self) -> int:
        """Number of rows learned."""
        return self._updates

    def resume(self, estimator: Any, updates: int) -> None:
        """Take the place of a learner after `begin` whose model has learned `updates` rows."""
        self._set_model(estimator)
        self._updates = updates
        self._fitted = updates > 0

    def _set_model(self, estimator: Any) -> None:
        """Take a new model, or one that has learned."""
        self._estimator = estimator
        self._row_scores = RowScores(estimator)
        self._soundness = Soundness(estimator)
        self.river_model = self._of_river() if self._river else None

    def _of_river(self) -> RiverModel:
        parts = self._classes, self._features, self._labels, self._soundness
        return RiverModel(self._estimator, self.task, *parts)

    def __getstate__(self) -> dict[str, Any]:
        # A pickled model has neither rows nor what follows from the rest.
        return {
            name: value for name, value in vars(self).items() if name != "river_model"
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.river_model = (
            self._of_river() if self._river and "_soundness" in state else None
        )

    def resolved_params(self) -> dict[str, Any]:
        """Return the parameters as given: the version covers the defaults of source or package."""
        return dict(sorted(self.params.items()))

    def expect_targets(self, targets: int) -> None:
        """Expect `targets` targets per row, if the model says that it takes several."""
        if targets > 1 and not takes_targets(self._estimator):
            raise ParameterError(
                f"learner {self.name}: learns one target, got {targets}; scikit-learn's "
                "MultiOutputRegressor around it is a "
                "function of your own to name, or ingest a dataset for each target"
            )
        super().expect_targets(targets)

    def expect_names(self, features: FeatureNames, labels: Sequence[Label]) -> None:
        """Give a River model rows and labels under their names in the dataset."""
        if not self._river:
            return
        self._features = features
        # Models of two classes get False and True, as River's own loops give them.
        is_binary = (
            not getattr(self._estimator, "_multiclass", True) and len(labels) == 2
        )
        if self.task == "classification":
            self._labels = ClassLabels((False, True) if is_binary else labels)
        if features.names or not self._labels.are_codes:
            self._mark_changed()

    def expect_ranking(self) -> None:
        """Append the model's own scores to those that say which class, if it has any."""
        self._ranks = self.task == "classification"
        if self._ranks and self._row_scores.method:
            self._mark_changed()

    @property
    def ranking_columns(self) -> int:
        """Number of ranking columns: 1 if a model of two classes has scores, otherwise 0."""
        return self._ranked

    @property
    def ranks_by_class(self) -> bool:
        """Whether the model has no scores, or only a method that fails."""
        if self.task == "novelty":
            return not (self._river or hasattr(self._estimator, "decision_function"))
        return self.task == "classification" and not self._row_scores.method

    def _mark_changed(self) -> None:
        """Distinguish runs from those before `ADAPTER` was raised, which had other figures."""
        self.version = adapted(str(self.version))  # type: ignore[misc,assignment]

    def begin(self, columns: int, classes: int, entropy: Sequence[int] = ()) -> None:
        """Start a new model for a stream of `columns` features and `classes` classes."""
        self._classes = classes
        self._columns = columns
        self._set_model(make_model(self.name, self.target, self.params, entropy).model)
        has_scores = bool(self._row_scores.method)
        self._ranked = int(self._ranks and classes == 2 and has_scores)
        self._outputs = max(score_columns(classes), targets_of(self))
        is_binary = self._river and not getattr(self._estimator, "_multiclass", True)
        if is_binary and classes > 2:
            raise ParameterError(
                f"learner {self.name}: tells two classes apart, the dataset has {classes}; River's "
                "river.multiclass.OneVsRestClassifier around it is a class or function of your "
                "own to name"
            )
        self._arguments = {}
        if (
            not self._river
            and self.task == "classification"
            and takes_classes(self._estimator)
        ):
            self._arguments = {"classes": np.arange(classes)}
        self._fitted = False
        self._updates = 0
        self._shown = 0  # columns of probabilities
        self._margins = 0  # columns of scores in their place

    def with_plain_scores(self) -> Self:
        """Return the learner without columns that only the measures of a run need."""
        plain = copy.copy(self)
        plain._ranks = False
        plain._ranked = 0
        plain._shown = 0
        plain._margins = 0
        return plain

    def show_probabilities(self) -> bool:
        """Append probabilities to the scores, if the model has any."""
        if self.task == "classification" and gives_probabilities(self._estimator):
            self._shown = self._classes
        return bool(self._shown)

    def show_margins(self) -> int:
        """Append the scores of the model, if it has any."""
        if self.task == "classification" and gives_margins(self._estimator):
            self._margins = score_columns(self._classes)
        return self._margins

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers our learners go through in the time of one row here."""
        del columns, classes
        # SGDClassifier of scikit-learn took 0.85 ms per row, LogisticRegression of River 10 us and
        # 0.2 us per value.
        if not self._river:
            return 3e6 / self.batch + 20.0 * values
        if self.batch > 1 and takes_many(self._estimator):
            return 1e7 / self.batch + 100.0 * values
        return 4e4 + 1e3 * values

    def norm_limits(self) -> tuple[float, float]:
        """Return no limits: lengths are for the other library to judge."""
        return 0.0, float("inf")

    def _allocate(self, columns: int, outputs: int) -> State:
        return {}

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> FloatArray:
        with unchecked(of_river=self._river):
            return self._learn(X, y, weights)

    def _learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None
    ) -> FloatArray:
        novelty = self.task == "novelty"
        if self.river_model is not None and self._answers_alone:
            scores, learned = self.river_model.learn(X, y, weights)
            self._updates += learned
            self._fitted = self._updates > 0
            return scores
        scores = np.full((rows_of(X), self._columns_of_scores), np.nan)
        for i, row in enumerate(self._each(X)):
            scores[i] = self._score(row, slice_rows(X, i, i + 1))
            if np.isnan(scores[i, 0]):
                break  # the run ends at this row
            if weights is not None and weights[i] == 0.0 and not self._river:
                continue  # scikit-learn's models fail if all rows have weight 0
            labels = () if novelty else (self._label(y, i),)
            if self._river:
                learn = self._estimator.learn_one
            else:
                learn = self._estimator.partial_fit
            weight = weight_argument(weights, i, of_river=self._river)
            learn(row, *labels, **self._arguments, **weight)
            self._fitted = True
            self._updates += 1
        return scores

    @property
    def _answers_alone(self) -> bool:
        """Whether the answers of a River model are all that its scores are made of."""
        return self.task != "novelty" and self._columns_of_scores == self._outputs

    def learn_batches(
        self, X: Rows, y: NDArray[Any], batch: int, weights: FloatArray | None = None
    ) -> FloatArray:
        """Predict `batch` rows in one call, then learn them in one call, and so on."""
        scores = np.full((rows_of(X), self._columns_of_scores), np.nan)
        if self.river_model is not None and self.river_model.shared is None:
            # both calls of a batch need its dictionaries
            self.river_model.shared = SharedRows()
        with unchecked(of_river=self._river):
            for start in range(0, rows_of(X), batch):
                span = slice(start, min(start + batch, rows_of(X)))
                rows = slice_rows(X, span.start, span.stop)
                scores[span] = self._batch_scores(rows)
                if np.isnan(scores[span, 0]).any():
                    break  # the run ends at one of these rows
                counts = None if weights is None else weights[span]
                self._learn_batch(rows, y[span], counts)
        return scores

    def _batch_scores(self, X: Rows) -> FloatArray:
        """Return the scores of a batch, from one prediction of all its rows where there is one."""
        if self.river_model is None:
            matrix = matrix_of(X, self._columns)
            # for a model that cannot predict yet
            scores = np.zeros((rows_of(X), self._outputs))
            if self._fitted:
                scores = self._answer(matrix, X, is_batch=True)
            return self._with_more_columns(scores, matrix)
        # Other columns come from methods for single rows.
        if self._fitted and self._answers_alone:
            batch_scores = self.river_model.predict_batch(X)
            if batch_scores is not None:
                return batch_scores
        return self._row_scores_of(X)

    def _learn_batch(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None
    ) -> None:
        """Learn the rows of a batch, in one call where the model has one."""
        if self.river_model is not None:
            self.river_model.learn_batch(X, y, weights)
        else:
            # as in single rows: see `_learn`
            if weights is not None and not weights.all():
                index = np.flatnonzero(weights)
                X, y, weights = take_rows(X, index), y[index], weights[index]
            if len(y):
                labels = () if self.task == "novelty" else (y,)
                counts = {} if weights is None else {"sample_weight": weights}
                self._estimator.partial_fit(
                    matrix_of(X, self._columns), *labels, **self._arguments, **counts
                )
        self._fitted = self._fitted or len(y) > 0
        self._updates += len(y)

    def scores(self, X: Rows) -> FloatArray:
        with unchecked(of_river=self._river):
            if not self._river and self._fitted and rows_of(X):
                matrix = matrix_of(X, self._columns)
                answers = self._answer(matrix, X)
                return self._with_more_columns(answers, matrix)
            return self._row_scores_of(X)

    def _row_scores_of(self, X: Rows) -> FloatArray:
        """Return the scores of rows, each from a prediction of its own."""
        if self.river_model is not None and self._answers_alone:
            return self.river_model.predict(X)
        rows = [
            self._score(row, slice_rows(X, i, i + 1))
            for i, row in enumerate(self._each(X))
        ]
        scores: FloatArray = np.array(rows, dtype=np.float64)
        # No rows make an array without columns.
        return scores.reshape(rows_of(X), self._columns_of_scores)

    def state(self) -> State:
        """Return nothing: the model cannot be saved as plain arrays."""
        return {}

    def measures(self) -> dict[str, float]:
        """Return the number of rows learned and, for scikit-learn, the pickled size in bytes.

        The pickled size of River's objects differs between passes, as does which of them are
        shared.
        """
        measures = {"updates": float(self._updates)}
        if not self._river:
            try:
                measures["model_bytes"] = float(len(pickle.dumps(self._estimator)))
            except Exception:
                # it holds what cannot be pickled, which matters nowhere else
                return measures
        return measures

    def _each(self, X: Rows) -> Any:
        if self.river_model is None:
            return single_rows(X, self._columns)
        return self.river_model.rows(X)

    def _label(self, y: NDArray[Any], i: int) -> Any:
        """Return the label of row `i` in the model's format."""
        if not self._river:
            return y[i : i + 1]
        if self.task == "regression":
            return y[i].item()
        return self._labels.of(int(y[i]))

    def _score(self, row: Any, X: Rows) -> FloatArray:
        """Return the scores of one row, given in the model's format and as in the stream."""
        # for a model that cannot predict yet
        scores: FloatArray = np.zeros((1, self._outputs))
        if self.river_model is not None:
            scores = self._river_scores(self.river_model, row, X, scores)
        elif self._fitted:
            scores = self._answer(row, X)
        return np.asarray(self._with_more_columns(scores, row)[0])

    def _river_scores(
        self, model: RiverModel, row: Any, X: Rows, scores: FloatArray
    ) -> FloatArray:
        """Return the scores of a River model for a row; `scores` if it predicts nothing yet."""
        usable = model.usable(X)
        if not usable.all():
            return np.full_like(scores, np.nan)
        if self.task == "novelty":
            answers = numbers([self._estimator.score_one(row)], 1, method="score_one")
            score = float(answers[0, 0])
            normalities = [normality(score, last_step(self._estimator))]
            return number_scores(normalities, usable, self._outputs)
        prediction = self._estimator.predict_one(row)
        if prediction is None:
            return scores
        if self.task == "regression":
            return number_scores([prediction], usable, self._outputs)
        codes = [self._labels.code(prediction)]
        sound = self._soundness.of(self._estimator, row, usable)
        return class_scores(codes, sound, self._classes, self._labels)

    @property
    def _columns_of_scores(self) -> int:
        return self._outputs + self.ranking_columns + self._shown + self._margins

    def _with_more_columns(self, scores: FloatArray, rows: Any) -> FloatArray:
        """Return scores, those that rank rows, probabilities or margins, as far as requested."""
        if self._columns_of_scores == self._outputs:
            return scores
        parts = [scores]
        is_finite = np.isfinite(scores).all(axis=1)
        sound: NDArray[np.bool_] = np.logical_and(is_finite, self._fitted)
        if self.ranking_columns:
            parts.append(
                self._row_scores.of(self._estimator, rows, sound, scores, self._labels)
            )
        if self._shown:
            # for a model that cannot predict yet
            shown = np.full((len(scores), self._shown), 1.0 / self._shown)
            if sound.any():
                probabilities = probabilities_of(
                    self._estimator, rows, len(scores), self._shown, self._labels
                )
                shown[sound] = probabilities[sound]
            parts.append(shown)
        if self._margins:
            # for a model that cannot predict yet
            margins = np.zeros((len(scores), self._margins))
            if sound.any():
                own = margins_of(self._estimator, rows, len(scores), self._classes)
                margins[sound] = own[sound]
            parts.append(margins)
        return np.hstack(parts)

    def _answer(self, rows: Any, X: Rows, is_batch: bool = False) -> FloatArray:
        if self.task != "classification":
            graded = self.task == "novelty" and hasattr(
                self._estimator, "decision_function"
            )
            method = "decision_function" if graded else "predict"
            answer = getattr(self._estimator, method)
            finite = finite_rows(X)
            predictions = answer(rows[finite]) if finite.any() else []
            return number_scores(predictions, finite, self._outputs, method)
        if is_batch:
            sound = self._soundness.of_batch(self._estimator, finite_rows(X))
        else:
            sound = self._soundness.of(self._estimator, rows, finite_rows(X))
        # A broken model need not predict a class: its prediction is not read.
        if not sound.any():
            return np.full((len(sound), score_columns(self._classes)), np.nan)
        predictions = self._estimator.predict(rows)
        return class_scores(predictions, sound, self._classes, self._labels)
