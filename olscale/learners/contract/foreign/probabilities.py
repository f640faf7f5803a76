"""Probabilities of the classes from an external model."""

import contextlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.learners.contract.foreign.labels import CODES, ClassLabels
from olscale.learners.contract.foreign.plain_answers import plain_answer

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
    given = given_probabilities(model, rows, count, classes, labels)
    total = given.sum(axis=1, keepdims=True)
    known = are_known(given)[:, np.newaxis]
    return np.where(known, given / np.where(known, total, 1.0), 1.0 / classes)


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
        given = _by_key(model.predict_proba_one(rows), classes, labels)
    else:
        given = _by_class(
            plain_answer(model.predict_proba(rows), "predict_proba"), model, count, classes
        )
    low = given[np.isfinite(given).all(axis=1)].min(initial=0.0)
    if low < -_ROUNDING:
        raise ValueError(
            f"{_METHOD[hasattr(model, 'learn_one')]} gave {low:g}, expected probabilities: no "
            "scores or logarithms"
        )
    return np.maximum(given, 0.0)


def are_known(given: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each row whether a model knows the probability of any class."""
    total = given.sum(axis=1)
    return np.asarray((given >= 0.0).all(axis=1) & (total > 0.0) & np.isfinite(total))


def _by_key(answer: Any, classes: int, labels: ClassLabels) -> NDArray[np.float64]:
    known = {labels.code(key): value for key, value in answer.items()}
    odd = [key for key in known if key not in range(classes)]
    if odd:
        raise ValueError(
            f"predict_proba_one gave the class {odd[0]!r}, expected one it was taught: "
            f"{labels.text(classes)}"
        )
    values = plain_answer([known.get(code, 0.0) for code in range(classes)], "predict_proba_one")
    return _floats(values, "predict_proba_one").reshape(1, classes)


def _by_class(found: NDArray[Any], model: Any, count: int, classes: int) -> NDArray[np.float64]:
    known = codes_of_columns(model)
    if (
        known is not None
        and found.shape == (count, len(known))
        and all(code in range(classes) for code in known.tolist())
    ):
        placed = np.zeros((count, classes))
        placed[:, known.astype(np.int64)] = _floats(found, "predict_proba")
        return placed
    if found.shape != (count, classes):
        raise ValueError(
            f"predict_proba gave an array of shape {found.shape}, expected ({count}, {classes})"
        )
    return _floats(found, "predict_proba")


def codes_of_columns(model: Any) -> NDArray[Any] | None:
    """Return the codes that a model lists in ``classes_``, each once; None if it lists no codes."""
    with contextlib.suppress(Exception):  # the attribute may be anything
        known = np.asarray(model.classes_)
        if known.ndim == 1 and known.dtype.kind in "biuf" and len(np.unique(known)) == len(known):
            return known
    return None


def _floats(found: NDArray[Any], method: str) -> NDArray[np.float64]:
    if found.dtype.kind not in "biuf":
        raise ValueError(f"{method} gave values of type {found.dtype}, expected numbers")
    return found.astype(np.float64)
