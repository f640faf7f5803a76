"""What a model of unknown make answers: class codes, and whether it still is sound for a row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, entries_of
from olscale.learners.contract.foreign.numbers import NumberWatch, models_within, numbers_of


def class_codes(predictions: Any, rows: int, classes: int) -> NDArray[np.int64]:
    """Return predictions as class codes, shape (rows,).

    Raises
    ------
    ValueError
        If there is not one for each row, or one is no code of a class.
    """
    try:
        codes = np.asarray(predictions)
    except ValueError:  # ragged
        codes = np.empty((), dtype=object)
    if codes.shape not in ((rows,), (rows, 1)):
        raise ValueError(f"predict gave an array of shape {codes.shape} for {rows} row(s), expected ({rows},)")
    codes = codes.reshape(rows)
    if codes.dtype.kind not in "biuf":
        raise ValueError(_no_code(codes[0], classes))
    good = (codes >= 0) & (codes < classes) & (codes == np.floor(codes))  # NaN is none of these
    if not good.all():
        raise ValueError(_no_code(codes[int(np.argmin(good))], classes))
    return codes.astype(np.int64)


def _no_code(value: Any, classes: int) -> str:
    shown = value.item() if isinstance(value, np.generic) else value
    return f"predicted {shown!r}, expected a class it was taught: they are the numbers 0 to {classes - 1}"


class Soundness:
    """Whether what a model says of a row can be believed: by its scores or, where it gives none, by its numbers."""

    def __init__(self, model: Any) -> None:
        self._watch = NumberWatch()
        words = ("predict_proba_one",) if hasattr(model, "learn_one") else ("decision_function", "predict_proba")
        self._scores = next((word for word in words if hasattr(model, word)), "")

    def of(self, model: Any, rows: Any, X: Rows) -> NDArray[np.bool_]:
        """Return for each row of `X`, given to the model as `rows`, whether row and model are sound."""
        whole = _finite_rows(X)
        if not whole.any():
            return whole
        finite = self._finite(model, rows, len(whole))
        if finite is None:
            return whole & (not self._watch.look(model))
        if not finite.all() and self._scores == "predict_proba" and _is_sound_naive_bayes(model):
            return whole
        return whole & finite

    def _finite(self, model: Any, rows: Any, count: int) -> NDArray[np.bool_] | None:
        """Return whether the scores of each row are finite; None from a model that gives none."""
        if not self._scores:
            return None
        try:
            answer = getattr(model, self._scores)(rows)
            if isinstance(answer, dict):
                answer = [list(answer.values())]
            scores = np.asarray(answer, dtype=np.float64).reshape(count, -1)
        except Exception:  # it has the method in name only; what it predicts is judged by its numbers
            self._scores = ""
            return None
        return np.asarray(np.isfinite(scores).all(axis=1))


def _finite_rows(X: Rows) -> NDArray[np.bool_]:
    if not isinstance(X, CSR):
        return np.asarray(np.isfinite(X).all(axis=1))
    return np.array([np.isfinite(values).all() for _, values in entries_of(X)])


def _is_sound_naive_bayes(model: Any) -> bool:
    """Tell whether probabilities may be 0 / 0: a feature that never varied within a class has that effect in scikit-learn's.

    Its predictions are then scikit-learn's all the same, as long as what it has learned is finite.
    """
    bases = (base for one in models_within(model) for base in type(one).__mro__)
    if not any(base.__module__ == "sklearn.naive_bayes" for base in bases):
        return False
    return all(np.isfinite(array).all() for _, array in numbers_of(model))
