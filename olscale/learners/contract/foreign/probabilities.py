"""Probabilities of classes, labels and scores that rank rows, from an external model."""

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.learners.contract.foreign.plain_answers import plain_answer


class ClassLabels:
    """The labels of the class codes 0, 1, ...; without labels, these numbers.

    Examples
    --------
    >>> labels = ClassLabels(["ham", "spam"])
    >>> labels.of(1), labels.code("ham"), labels.code("eggs")
    ('spam', 0, 'eggs')
    """

    def __init__(self, labels: Sequence[Any] = ()) -> None:
        self._labels = tuple(labels)
        self._codes = {label: code for code, label in enumerate(self._labels)}

    @property
    def are_codes(self) -> bool:
        """Whether each label is its code."""
        return self._labels == tuple(range(len(self._labels)))

    def of(self, code: int) -> Any:
        """Return the label of a class code."""
        if self._labels:
            return self._labels[code]
        return code

    def code(self, prediction: Any) -> Any:
        """Return the class code of a prediction; one that is not a label is returned unchanged."""
        if not self._labels:
            return prediction
        try:
            return self._codes.get(prediction, prediction)
        except TypeError:  # a list or array is not a label
            return prediction

    def text(self, classes: int) -> str:
        """Return the labels as text for a message."""
        if self.are_codes:
            return f"the numbers 0 to {classes - 1}"
        return ", ".join(map(repr, self._labels))


CODES = ClassLabels()
"""Labels that are the class codes."""


_ROUNDING = 1e-9
_METHOD = {True: "predict_proba_one", False: "predict_proba"}


def gives_probabilities(model: Any) -> bool:
    """Return whether a classifier claims to give probabilities."""
    if not hasattr(model, "learn_one"):
        return hasattr(model, "predict_proba")
    method = getattr(type(model), "predict_proba_one", None)
    # The method of River's base class raises: some of its classifiers only predict labels.
    return method is not None and not method.__module__.startswith("river.base")


def probabilities_of(
    model: Any, rows: Any, count: int, classes: int, labels: ClassLabels = CODES
) -> NDArray[np.float64]:
    """Return the probabilities of `count` rows, shape (rows, classes); each row sums to 1.

    Where the model has none (a class it never met, 0 / 0 in naive Bayes) all classes are equal.

    Raises
    ------
    ValueError
        As `given_probabilities`.
    """
    answered = given_probabilities(model, rows, count, classes, labels)
    total = answered.sum(axis=1, keepdims=True)
    # A model that knows no class yet says so by zeros: the uniform answer is honest.
    is_known = are_known(answered)[:, np.newaxis]
    return np.where(is_known, answered / np.where(is_known, total, 1.0), 1.0 / classes)


def given_probabilities(
    model: Any, rows: Any, count: int, classes: int, labels: ClassLabels
) -> NDArray[np.float64]:
    """Return the probabilities of `count` rows as the model gives them, shape (rows, classes).

    Columns follow the model's ``classes_``, as in scikit-learn; a class that is missing there has
    0. `labels` are a River model's names of the classes.

    Raises
    ------
    ValueError
        If there is not one per class, or they are not probabilities.
    """
    if hasattr(model, "learn_one"):
        answered = _by_key(model.predict_proba_one(rows), classes, labels)
    else:
        answered = _by_class(
            plain_answer(model.predict_proba(rows), "predict_proba"),
            model,
            count,
            classes,
        )
    low = answered[np.isfinite(answered).all(axis=1)].min(initial=0.0)
    # Rounding may leave -1e-17; log-probabilities are far below that.
    if low < -_ROUNDING:
        raise ValueError(
            f"{_METHOD[hasattr(model, 'learn_one')]} gave {low:g}, expected probabilities: no "
            "scores or logarithms"
        )
    return np.maximum(answered, 0.0)


def are_known(probabilities: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each row whether a model knows the probability of any class."""
    total = probabilities.sum(axis=1)
    is_positive = (probabilities >= 0.0).all(axis=1)
    return np.asarray(is_positive & (total > 0.0) & np.isfinite(total))


def _by_key(answer: Any, classes: int, labels: ClassLabels) -> NDArray[np.float64]:
    by_code = {labels.code(key): value for key, value in answer.items()}
    odd = [key for key in by_code if key not in range(classes)]
    if odd:
        raise ValueError(
            f"predict_proba_one gave the class {odd[0]!r}, expected one it was taught: "
            f"{labels.text(classes)}"
        )
    values = plain_answer(
        [by_code.get(code, 0.0) for code in range(classes)], "predict_proba_one"
    )
    return _floats(values, "predict_proba_one").reshape(1, classes)


def _by_class(
    answer: NDArray[Any], model: Any, count: int, classes: int
) -> NDArray[np.float64]:
    codes = codes_of_columns(model)
    if (
        codes is not None
        and answer.shape == (count, len(codes))
        and all(code in range(classes) for code in codes.tolist())
    ):
        # A model fitted to rows of some classes has columns for those only.
        placed = np.zeros((count, classes))
        placed[:, codes.astype(np.int64)] = _floats(answer, "predict_proba")
        return placed
    if answer.shape != (count, classes):
        raise ValueError(
            f"predict_proba gave an array of shape {answer.shape}, expected ({count}, {classes})"
        )
    return _floats(answer, "predict_proba")


def codes_of_columns(model: Any) -> NDArray[Any] | None:
    """Return the codes that a model lists in ``classes_``, each once; None if it lists no codes."""
    with contextlib.suppress(Exception):  # the attribute may be anything
        codes = np.asarray(model.classes_)
        if (
            codes.ndim == 1
            and codes.dtype.kind in "biuf"
            and len(np.unique(codes)) == len(codes)
        ):
            return codes
    return None


def _floats(answer: NDArray[Any], method: str) -> NDArray[np.float64]:
    if answer.dtype.kind not in "biuf":
        raise ValueError(
            f"{method} gave values of type {answer.dtype}, expected numbers"
        )
    return answer.astype(np.float64)


class RowScores:
    """How a model scores rows, if it does.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
    >>> model = GaussianNB().fit(X, y)
    >>> scores = RowScores(model)
    >>> scores.method
    'predict_proba'
    >>> predicted = np.array([[-1.0], [1.0]])
    >>> scores.of(model, X[1:3], np.ones(2, bool), predicted).round(3).tolist()
    [[0.0], [1.0]]
    """

    def __init__(self, model: Any) -> None:
        if hasattr(model, "learn_one"):
            words = ["predict_proba_one"]
        else:
            words = ["decision_function", "predict_proba"]
        self._methods = [word for word in words if hasattr(model, word)]
        if not gives_probabilities(model):
            self._methods = [
                word for word in self._methods if word == "decision_function"
            ]
        self._has_scored = False

    @property
    def method(self) -> str:
        """The method that gives scores; empty if the model has none, or only one that fails."""
        if self._methods:
            return self._methods[0]
        return ""

    def of(
        self,
        model: Any,
        rows: Any,
        sound: NDArray[np.bool_],
        scores: NDArray[np.float64],
        labels: ClassLabels = CODES,
    ) -> NDArray[np.float64]:
        """Return a score per row, shape (rows, 1): higher for the second class.

        Rows that are not `sound`, as all are before the first row is learned, rank between the
        classes; where the model's method fails, they rank by `scores`.
        """
        if self.method.startswith("predict_proba"):
            between = 0.5
        else:
            between = 0.0
        ranked: NDArray[np.float64] = np.full((len(scores), 1), between)
        if not sound.any():
            return ranked
        while self._methods:
            try:
                own = self._asked(model, rows, len(scores), labels)
            except Exception:
                # A method that worked before has a real fault now, which must not be hidden.
                if self._has_scored:
                    raise
                del self._methods[0]  # the method exists but fails
                continue
            self._has_scored = True
            ranked[sound] = own[sound]
            return ranked
        ranked[sound] = scores[sound]
        return ranked

    def _asked(
        self, model: Any, rows: Any, count: int, labels: ClassLabels
    ) -> NDArray[np.float64]:
        if self.method != "decision_function":
            probabilities = given_probabilities(model, rows, count, 2, labels)
            return np.where(
                are_known(probabilities)[:, np.newaxis], probabilities[:, 1:], 0.5
            )
        answer = plain_answer(
            model.decision_function(rows), "decision_function"
        ).astype(np.float64)
        # Some libraries give a score a class even for two classes.
        if answer.shape == (count, 2):
            answer = answer[:, 1] - answer[:, 0]
        if answer.size != count:
            raise ValueError(
                f"decision_function gave an array of shape {answer.shape} for {count} row(s) of "
                "two classes"
            )
        codes = codes_of_columns(model)
        # Scores point to the second of its classes, which here is code 0.
        is_reversed = codes is not None and codes.tolist() == [1, 0]
        own = answer.reshape(count, 1)
        if is_reversed:
            return -own
        return own
