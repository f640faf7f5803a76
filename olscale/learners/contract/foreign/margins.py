"""The scores of an external model without probabilities, to be made probabilities."""

from typing import Any

import numpy as np

from olscale.arrays import FloatArray
from olscale.learners.contract.foreign.plain_answers import plain_answer
from olscale.learners.contract.foreign.probabilities import codes_of_columns


def gives_margins(model: Any) -> bool:
    """Return whether a classifier claims to give scores: River's give probabilities or nothing."""
    return not hasattr(model, "learn_one") and hasattr(model, "decision_function")


def margins_of(model: Any, rows: Any, count: int, classes: int) -> FloatArray:
    """Return the scores of `count` rows, shape (rows, classes), or (rows, 1) for two classes.

    One column is higher for the second class. Columns follow the model's ``classes_``, as in
    scikit-learn; a class that is missing there scores as low as the lowest of its row.

    Raises
    ------
    ValueError
        If there is not one per class, or they are not numbers.

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> model = SGDClassifier(random_state=0).fit(X, [0, 1, 2])
    >>> margins_of(model, X, 3, 3).shape
    (3, 3)
    """
    answer = plain_answer(model.decision_function(rows), "decision_function")
    if answer.dtype.kind not in "biuf":
        raise ValueError(
            f"decision_function gave values of type {answer.dtype}, expected numbers"
        )
    scores: FloatArray = answer.astype(np.float64)
    codes = codes_of_columns(model)
    if classes == 2:
        if scores.shape == (count, 2):
            scores = scores[:, 1] - scores[:, 0]
        if scores.size != count:
            raise ValueError(_odd_shape(scores, count, classes))
        if codes is not None and codes.tolist() == [1, 0]:
            scores = -scores
        return scores.reshape(count, 1)
    if codes is not None and scores.shape == (count, len(codes)):
        placed: FloatArray = np.repeat(
            scores.min(axis=1, keepdims=True), classes, axis=1
        )
        placed[:, codes.astype(np.int64)] = scores
        return placed
    if scores.shape != (count, classes):
        raise ValueError(_odd_shape(scores, count, classes))
    return scores


def _odd_shape(scores: FloatArray, count: int, classes: int) -> str:
    return (
        f"decision_function gave an array of shape {scores.shape} for {count} row(s) of "
        f"{classes} classes"
    )
