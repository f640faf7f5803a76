"""A River model: its rows as dictionaries or data frames, and its answers as scores.

A model of River takes a few microseconds per row, so that a NumPy call per row would show: answers
are plain numbers until a chunk ends.
"""

from collections.abc import Iterable, Sequence
from inspect import signature
from itertools import repeat
from math import isfinite, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, rows_of, values_of
from olscale.data.feature_names import FeatureNames, NamedRow
from olscale.learners.contract.foreign.answers import (
    Soundness,
    class_codes,
    finite_rows,
    numbers,
    without_infinity,
)
from olscale.learners.contract.foreign.kind import (
    fills_in_missing,
    last_step,
    takes_many,
)
from olscale.learners.contract.foreign.probabilities import (
    ClassLabels,
    gives_probabilities,
)
from olscale.task import Task

FloatArray = NDArray[np.float64]

NO_ANSWER = -1
"""In place of a class code: a model that has learned nothing predicts None."""

_ONE_ROW = np.ones(1, dtype=np.bool_)


def predicts_by_probability(model: Any) -> bool:
    """Return whether a classifier predicts as River's base class, the likeliest of its classes.

    Its probabilities then say both what it predicts and whether it is sound, in one call.

    Examples
    --------
    >>> from river.dummy import NoChangeClassifier
    >>> from river.naive_bayes import GaussianNB
    >>> from river.preprocessing import StandardScaler
    >>> predicts_by_probability(GaussianNB()), predicts_by_probability(NoChangeClassifier())
    (True, False)
    >>> predicts_by_probability(StandardScaler() | GaussianNB())
    True
    """
    last = last_step(model)
    method = getattr(type(last), "predict_one", None)
    is_plain = last is model or type(model).__module__ == "river.compose.pipeline"
    return is_plain and _is_of_base(method) and gives_probabilities(last)


def _is_of_base(method: Any) -> bool:
    module = getattr(method, "__module__", "")
    return bool(
        module == "river.base.classifier"
        and method.__qualname__ == "Classifier.predict_one"
    )


class RiverModel:
    """A model of River that learns from rows of a stream.

    Parameters
    ----------
    model : object
    task : {"classification", "regression", "novelty"}
    classes : int
        Number of classes; 0 in a regression.
    features : FeatureNames
        Names of the features.
    labels : ClassLabels
        Labels that the model is taught.
    soundness : Soundness
        Of the model.

    Attributes
    ----------
    shared : SharedRows, optional
        Dictionaries of rows that other learners use, too.
    """

    def __init__(
        self,
        model: Any,
        task: Task,
        classes: int,
        features: FeatureNames,
        labels: ClassLabels,
        soundness: Soundness,
    ) -> None:
        self._model = model
        self._task = task
        self._classes = classes
        self._features = features
        self._labels = labels
        self._codes = {labels.of(code): code for code in range(classes)}
        self._soundness = soundness
        self._fills_in_missing = fills_in_missing(model)
        self._takes_many = takes_many(model)
        self._answer = self._predicted
        if task == "classification" and predicts_by_probability(model):
            self._answer = self._likeliest
        self.shared: SharedRows | None = None

    def rows(self, X: Rows) -> Iterable[NamedRow]:
        """Return rows as dictionaries."""
        if self.shared is not None:
            return self.shared.of(self._features, X)
        return self._features.rows(X)

    def usable(self, X: Rows) -> NDArray[np.bool_]:
        """Return the rows that the model may see: finite, or with values that it imputes."""
        if self._fills_in_missing:
            return without_infinity(X)
        return finite_rows(X)

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None
    ) -> tuple[FloatArray, int]:
        """Predict, then learn, row by row; return the scores, and the number of rows learned.

        Nothing is learned from the first row on that is not usable, or has no sound answer.
        """
        usable = self.usable(X)
        end = len(y) if usable.all() else int(np.argmin(usable))
        answer = self._answer
        learn = self._model.learn_one
        answers: list[float] = []
        learned = 0
        labels = self._known(y[:end])
        for row, label, weight in zip(
            self.rows(X), labels, _each(weights), strict=False
        ):
            code = answer(row)
            answers.append(code)
            if code != code:  # NaN
                break
            if weight is None:
                learn(row, label)
            else:
                learn(row, label, w=weight)
            learned += 1
        return self._scores(answers + [nan] * (len(y) - len(answers))), learned

    def predict(self, X: Rows) -> FloatArray:
        """Return the scores of rows, each from a call of its own."""
        usable = self.usable(X).tolist()
        return self._scores(
            [
                self._answer(row) if is_usable else nan
                for row, is_usable in zip(self.rows(X), usable, strict=True)
            ]
        )

    def predict_batch(self, X: Rows) -> FloatArray | None:
        """Return the scores of rows from one call; None if the model, or the rows, have no such."""
        usable = self.usable(X)
        frame = self._frame(X)
        if frame is None or not usable.all():
            return None
        answers = self._model.predict_many(frame).tolist()
        if self._task == "regression":
            values = numbers(answers, rows_of(X), 1, "predict_many")[:, 0]
            return self._scores(np.where(np.isfinite(values), values, nan).tolist())
        class_numbers = [self._labels.code(answer) for answer in answers]
        codes = class_codes(
            class_numbers, rows_of(X), max(2, self._classes), self._labels
        )
        sound = self._soundness.of_batch(self._model, usable)
        return self._scores(np.where(sound, codes, nan).tolist())

    def learn_batch(self, X: Rows, y: NDArray[Any], weights: FloatArray | None) -> None:
        """Learn rows in one call if the model has one for them, otherwise in order."""
        frame = self._frame(X)
        if frame is None or (weights is not None and not weighs_many(self._model)):
            for row, label, weight in zip(
                self.rows(X), self._known(y), _each(weights), strict=False
            ):
                labels = () if self._task == "novelty" else (label,)
                self._model.learn_one(
                    row, *labels, **({} if weight is None else {"w": weight})
                )
            return
        counts = {} if weights is None else {"w": series_of(weights)}
        self._model.learn_many(frame, series_of(self._known(y)), **counts)

    def _known(self, y: NDArray[Any]) -> list[Any]:
        """Return labels as the model is taught them."""
        if self._task != "classification":
            return list(y.tolist())
        return [self._labels.of(code) for code in y.tolist()]

    def _frame(self, X: Rows) -> Any:
        """Return rows as a data frame with the columns that their dictionaries have.

        None if the model takes none; sparse rows and words of text columns have no such columns.
        """
        if not self._takes_many or isinstance(X, CSR) or self._features.words:
            return None
        import pandas as pd

        columns: Sequence[Any] = self._features.names or range(X.shape[1])
        return pd.DataFrame(X, columns=columns)

    def _likeliest(self, row: NamedRow) -> float:
        """Return the code of the class of the highest probability, as `_predicted`."""
        shares = self._model.predict_proba_one(row)
        if not shares:
            return NO_ANSWER
        prediction = max(shares, key=shares.get)
        try:
            code = self._codes[prediction]
            # All are finite where their sum is: most rows need no look at each.
            if isfinite(sum(shares.values())):
                return code
        except (KeyError, TypeError, ValueError):
            # no label or number, or one of another type
            code = self._code(prediction)
        return code if self._soundness.of_shares(self._model, shares) else nan

    def _predicted(self, row: NamedRow) -> float:
        """Return the code of the predicted class, or the predicted number; NaN if it is unsound.

        `NO_ANSWER`, or the number 0, from a model that predicts nothing yet.
        """
        prediction = self._model.predict_one(row)
        if self._task == "regression":
            return 0.0 if prediction is None else self._number(prediction)
        if prediction is None:
            return NO_ANSWER
        code = self._code(prediction)
        return code if self._soundness.of(self._model, row, _ONE_ROW)[0] else nan

    def _code(self, prediction: Any) -> int:
        try:
            return self._codes[prediction]
        except (KeyError, TypeError):  # no label, or one of another type
            class_numbers = [self._labels.code(prediction)]
            return int(
                class_codes(class_numbers, 1, max(2, self._classes), self._labels)[0]
            )

    def _number(self, prediction: Any) -> float:
        number = prediction
        if type(prediction) is not float:
            number = float(numbers([prediction], 1)[0, 0])
        return number if isfinite(number) else nan

    def _scores(self, answers: Sequence[float]) -> FloatArray:
        """Return the scores of `answers`, shape (answers, outputs)."""
        values = np.array(answers, dtype=np.float64)
        if self._task == "regression":
            return values.reshape(-1, 1)
        scores: FloatArray
        if self._classes <= 2:
            scores = np.where(values > 0.0, 1.0, -1.0).reshape(-1, 1)
        else:
            scores = (values[:, np.newaxis] == np.arange(self._classes)).astype(
                np.float64
            )
        scores[values == NO_ANSWER] = 0.0
        scores[np.isnan(values)] = nan
        return scores


def _each(weights: FloatArray | None) -> Iterable[float | None]:
    """Return the weight of each row; None without end if there are no weights."""
    if weights is None:
        return repeat(None)
    return list(weights.tolist())


def weighs_many(model: Any) -> bool:
    """Return whether ``learn_many`` of a River model takes the weights of rows."""
    try:
        return "w" in signature(last_step(model).learn_many).parameters
    except (TypeError, ValueError):  # compiled, without a signature
        return False


def series_of(values: Sequence[Any] | FloatArray) -> Any:
    """Return labels or weights as a series."""
    import pandas as pd

    return pd.Series(values, name="y")


class SharedRows:
    """The rows of a chunk as dictionaries, made once for the learners that get the same chunk.

    Each learner gets copies, since a model of a user may change what it is given.
    """

    MOST_VALUES = 1_000_000  # about 70 MB of dictionaries
    """Larger chunks are not kept: each learner makes their dictionaries as it needs them."""

    def __init__(self) -> None:
        self._names: FeatureNames | None = None
        self._X: Rows | None = None
        self._rows: list[NamedRow] = []

    def of(self, names: FeatureNames, X: Rows) -> Iterable[NamedRow]:
        """Return the rows `X` under the names of their features."""
        if self._X is not X or self._names is not names:
            self._names, self._X, self._rows = None, None, []
            if values_of(X) > self.MOST_VALUES:
                return names.rows(X)
            self._rows = list(names.rows(X))
            self._names, self._X = names, X
        return map(dict.copy, self._rows)


def share_rows(learners: Iterable[object]) -> None:
    """Let the River models of `learners`, which get the same chunks, share their dictionaries."""
    attributes = (getattr(learner, "river_model", None) for learner in learners)
    models = [model for model in attributes if model is not None]
    shared = SharedRows()
    if len(models) > 1:
        for model in models:
            model.shared = shared
