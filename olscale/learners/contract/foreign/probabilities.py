"""How likely a model of unknown make holds each class to be."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def gives_probabilities(model: Any) -> bool:
    """Return whether a classifier gives probabilities, as far as it says."""
    if not hasattr(model, "learn_one"):
        return hasattr(model, "predict_proba")
    method = getattr(type(model), "predict_proba_one", None)
    # That of River's base class raises: some of its classifiers can only predict labels.
    return method is not None and not method.__module__.startswith("river.base")


def probabilities_of(model: Any, rows: Any, count: int, classes: int) -> NDArray[np.float64]:
    """Return the probabilities of `count` rows, shape (rows, classes), each row of sum 1.

    Where the model has none (a class it never met, 0 / 0 in naive Bayes) all classes are alike.

    Raises
    ------
    ValueError
        If there is not one for each class.
    """
    if hasattr(model, "learn_one"):
        answer = model.predict_proba_one(rows)
        found = np.array([[answer.get(code, 0.0) for code in range(classes)]], dtype=np.float64)
    else:
        found = np.asarray(model.predict_proba(rows), dtype=np.float64)
    if found.shape != (count, classes):
        raise ValueError(f"predict_proba gave an array of shape {found.shape}, expected ({count}, {classes})")
    total = found.sum(axis=1, keepdims=True)
    known = (found >= 0.0).all(axis=1, keepdims=True) & (total > 0.0) & np.isfinite(total)
    return np.where(known, found / np.where(known, total, 1.0), 1.0 / classes)
