"""The answers of an external model as class codes or numbers, and whether they are sound.

Where a model gives no scores, its own numbers show whether it has broken down.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, entries_of, rows_of
from olscale.learners.contract.foreign.plain_answers import plain_answer
from olscale.learners.contract.foreign.probabilities import CODES, ClassLabels

WEIGHTS = frozenset({"coef_", "intercept_", "coefs_", "intercepts_", "dual_coef_"})
"""scikit-learn's names for the arrays behind predictions, which must never be NaN or infinite."""

_NUMBERS_A_ROW = 1024
# after as many rows in batches: a look costs as much as a prediction
_ROWS_BETWEEN_LOOKS = 1_000
_DEEPEST = 6


def class_codes(
    predictions: Any, rows: int, classes: int, labels: ClassLabels = CODES
) -> NDArray[np.int64]:
    """Return predictions as class codes, shape (rows,); `labels` are those the model was taught.

    Raises
    ------
    ValueError
        If there is not one per row, or one is not the code of a class.
    """
    codes = _one_a_row(predictions, rows)
    if codes.dtype.kind not in "biuf":
        raise ValueError(_no_code(_first_odd(codes), classes, labels))
    # NaN fails these
    good = (codes >= 0) & (codes < classes) & (codes == np.floor(codes))
    if not good.all():
        raise ValueError(_no_code(codes[int(np.argmin(good))], classes, labels))
    return codes.astype(np.int64)


def numbers(
    predictions: Any, rows: int, targets: int = 1, method: str = "predict"
) -> NDArray[np.float64]:
    """Return predictions that are numbers, finite or not, shape (rows, targets).

    `method` is the method of the model that gave them.

    Raises
    ------
    ValueError
        If there is not one per row, or one is not a number.
    """
    answers = _so_many_a_row(predictions, rows, targets, method)
    if answers.dtype.kind not in "biuf":
        raise ValueError(
            f"predicted {_shown(_first_odd(answers))!r}, expected a number"
        )
    return answers.astype(np.float64)


def class_scores(
    predictions: Any, sound: NDArray[np.bool_], classes: int, labels: ClassLabels
) -> NDArray[np.float64]:
    """Return predicted classes as scores: 1 and -1 for two classes, else 1 for the predicted one.

    Rows that are not `sound` score NaN.

    Raises
    ------
    ValueError
        As `class_codes` does.
    """
    codes = class_codes(predictions, len(sound), max(2, classes), labels)
    if classes <= 2:
        scores: NDArray[np.float64] = np.where(codes > 0, 1.0, -1.0).reshape(-1, 1)
    else:
        scores = np.eye(classes)[codes]
    scores[~sound] = np.nan
    return scores


def number_scores(
    predictions: Any,
    finite: NDArray[np.bool_],
    targets: int,
    method: str = "predict",
) -> NDArray[np.float64]:
    """Return the predictions of the `finite` rows as scores of all rows, NaN for the others.

    Raises
    ------
    ValueError
        As `numbers` does.
    """
    scores: NDArray[np.float64] = np.full((len(finite), targets), np.nan)
    if finite.any():
        finite_numbers = numbers(predictions, int(finite.sum()), targets, method)
        scores[finite] = np.where(np.isfinite(finite_numbers), finite_numbers, np.nan)
    return scores


def normality(score: float, model: Any) -> float:
    """Return the negated score of River's detector `model`: higher for normal rows.

    The decision of a filter sets the sign, and within its decisions a row with a higher `score`
    ranks lower; without a filter there is no threshold, and the score is only negated: put a filter
    around the detector for decisions.
    """
    if not hasattr(model, "classify"):
        return 0.0 - score
    rank = (1.0 - score / (1.0 + abs(score))) / 2.0  # from 1 down to 0
    if model.classify(score):
        return min(rank - 1.0, -1e-300)
    return rank


def _one_a_row(predictions: Any, rows: int) -> NDArray[Any]:
    return _so_many_a_row(predictions, rows, 1, "predict")[:, 0]


def _so_many_a_row(
    predictions: Any, rows: int, count: int, method: str
) -> NDArray[Any]:
    answers = plain_answer(predictions, method)
    expected = ((rows,), (rows, 1)) if count == 1 else ((rows, count),)
    if answers.shape not in expected:
        raise ValueError(
            f"{method} gave an array of shape {answers.shape} for {rows} row(s), expected "
            f"{expected[0]}"
        )
    return answers.reshape(rows, count)


def _first_odd(answers: NDArray[Any]) -> Any:
    """Return the first answer that is not a number; the first of all if each alone is one."""
    return next(
        (
            value
            for value in answers.flat
            if not isinstance(value, int | float | np.number)
        ),
        answers.flat[0],
    )


def _shown(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return value


def _no_code(value: Any, classes: int, labels: ClassLabels) -> str:
    return (
        f"predicted {_shown(value)!r}, expected a class it was taught: they are "
        f"{labels.text(classes)}"
    )


class Soundness:
    """Whether a model's answer for a row is sound, judged by its scores or else by its numbers."""

    def __init__(self, model: Any) -> None:
        self._watch = NumberWatch()
        if hasattr(model, "learn_one"):
            words = ["predict_proba_one"]
        else:
            words = ["decision_function", "predict_proba"]
        self._scores = next((word for word in words if hasattr(model, word)), "")

    def of(self, model: Any, rows: Any, usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for each row whether row and model are sound.

        `rows` are in the model's format; `usable` says which of them can be used.
        """
        if not usable.any():
            return usable
        finite = self._finite(model, rows, len(usable))
        if finite is None:
            return usable & (not self._watch.look(model))
        if (
            not finite.all()
            and self._scores == "predict_proba"
            and _is_sound_naive_bayes(model)
        ):
            return usable
        return usable & finite

    def of_shares(self, model: Any, shares: Mapping[Any, Any]) -> bool:
        """Do as `of` for one row, whose probabilities the model has already given."""
        if self._scores:
            try:
                return all(map(math.isfinite, shares.values()))
            except Exception:
                # no numbers; the model's own numbers judge its predictions
                self._scores = ""
        return not self._watch.look(model)

    def of_batch(self, model: Any, usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Do as `of` for a batch, by the model's numbers alone: they cost no further call."""
        return usable & (not self._watch.look(model, len(usable)))

    def _finite(self, model: Any, rows: Any, count: int) -> NDArray[np.bool_] | None:
        """Return whether the scores of each row are finite; None from a model without scores."""
        if not self._scores:
            return None
        try:
            answer = getattr(model, self._scores)(rows)
            if isinstance(answer, dict):
                answer = [list(answer.values())]
            scores = np.asarray(answer, dtype=np.float64).reshape(count, -1)
        except Exception:
            # the method exists but fails; the model's numbers judge its predictions
            self._scores = ""
            return None
        return np.asarray(np.isfinite(scores).all(axis=1))


def finite_rows(X: Rows) -> NDArray[np.bool_]:
    """Return which rows are finite, shape (rows,)."""
    if not isinstance(X, CSR):
        return np.asarray(np.isfinite(X).all(axis=1))
    if np.isfinite(X.data[X.indptr[0] : X.indptr[-1]]).all():
        return np.ones(rows_of(X), dtype=np.bool_)
    return np.array([np.isfinite(values).all() for _, values in entries_of(X)])


def without_infinity(X: Rows) -> NDArray[np.bool_]:
    """Return which rows hold no infinity, shape (rows,); values may be missing."""
    if not isinstance(X, CSR):
        return np.asarray(~np.isinf(X).any(axis=1))
    return np.array([not np.isinf(values).any() for _, values in entries_of(X)])


def _is_sound_naive_bayes(model: Any) -> bool:
    """Return whether scikit-learn's naive Bayes may give 0 / 0, after a constant feature.

    Its predictions are still scikit-learn's, as long as what it has learned is finite.
    """
    bases = (base for _, part in _models(model) for base in type(part).__mro__)
    if not any(base.__module__ == "sklearn.naive_bayes" for base in bases):
        return False
    return all(np.isfinite(array).all() for _, array in numbers_of(model))


class NumberWatch:
    """Checks the numbers of a model after each row or, in a large model, rarely enough.

    An array may be NaN or infinite for good reasons: places not filled yet, the logarithm of a
    class not yet seen. So only weights must always be finite; other arrays must stay finite once
    they were.
    """

    _rows_in_batches = 0

    def __init__(self) -> None:
        self._finite: set[str] = set()
        self._rows_left = 0

    def look(self, model: Any, rows: int | None = None) -> str:
        """Return the name of what has broken down, or an empty text; call it once per row.

        Or once per batch of `rows`.
        """
        if self._rows_left > 0:
            self._rows_left -= rows or 1
            return ""
        name = self.broken(model)
        self._rows_in_batches += rows or 0
        if self._rows_in_batches > _ROWS_BETWEEN_LOOKS:
            self._rows_left = max(self._rows_left, _ROWS_BETWEEN_LOOKS)
        return name

    def broken(self, model: Any) -> str:
        """Do as `look`, for a model of any size."""
        total = 0
        broken_name = ""
        for name, values in numbers_of(model):
            total += values.size
            if np.isfinite(values).all():
                self._finite.add(name)
            elif not broken_name and (
                name in self._finite or not WEIGHTS.isdisjoint(name.split("."))
            ):
                broken_name = name
        self._rows_left = total // _NUMBERS_A_ROW
        return broken_name


def numbers_of(model: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the float arrays that a model has learned, with names; also of inner models.

    Its parameters are left out.
    """
    for path, part in _models(model):
        params = _parameters(part)
        for name, value in list(vars(part).items()):
            if name not in params:
                yield from _arrays(f"{path}{name}", value)


def _models(model: Any) -> Iterator[tuple[str, Any]]:
    ids: set[int] = set()
    waiting = [("", model, 0)]
    while waiting:
        path, part, depth = waiting.pop()
        if id(part) in ids or depth > _DEEPEST or not hasattr(part, "__dict__"):
            continue
        ids.add(id(part))
        yield path, part
        for name, value in vars(part).items():
            waiting += [
                (
                    f"{path}{name}." if inner is value else f"{path}{name}.{i}.",
                    inner,
                    depth + 1,
                )
                for i, inner in enumerate(_inner(value))
            ]


def _inner(value: Any, depth: int = 0) -> Iterator[Any]:
    if isinstance(value, type) or depth > 3:
        return
    if any(
        hasattr(value, word)
        for word in ("partial_fit", "learn_one", "transform", "transform_one", "fit")
    ):
        yield value
    elif isinstance(value, list | tuple):
        for part in itertools.islice(value, 1000):
            yield from _inner(part, depth + 1)
    elif isinstance(value, Mapping):
        for part in itertools.islice(value.values(), 1000):
            yield from _inner(part, depth + 1)


def _parameters(model: Any) -> frozenset[str]:
    try:
        return frozenset(model.get_params(deep=False))
    except Exception:  # not from scikit-learn: all its attributes may be learned
        return frozenset()


def _arrays(name: str, value: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    from scipy.sparse import issparse

    if issparse(value):
        value = getattr(value, "data", None)
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "fc":
            yield name, value
    elif isinstance(value, float | np.floating):
        # A single number is often a loss or a best value, infinite at first or after one row: only
        # weights are checked.
        if not WEIGHTS.isdisjoint(name.split(".")):
            yield name, np.array([value])
    elif isinstance(value, list | tuple):
        if value and all(isinstance(part, int | float) for part in value):
            yield name, np.array(value, dtype=np.float64)
        elif len(value) <= 1000:
            for i, part in enumerate(value):
                yield from _arrays(f"{name}.{i}", part)
    elif isinstance(value, dict) and value:
        numbers = [
            part for part in value.values() if isinstance(part, float | np.floating)
        ]
        if numbers:
            yield name, np.array(numbers)
        elif len(value) <= 1000:
            for key, part in value.items():
                yield from _arrays(f"{name}.{key}", part)
