"""Rows that a learner can use: finite, and empty or of a length whose square fits its numbers.

The score of a row with missing values is NaN. Where the squared length of a row overflows or
underflows, steps become 0 or infinite and distances are lost, and predictions would silently be
constant. Such a row ends its run. The loops of a learner compute ``|x|^2`` anyway, so a check costs
one comparison per row; only a row that fails it is examined closely. The functions here check the
rows for learners whose loops do not (`Learner.checks_rows`).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import (
    CSR,
    Rows,
    read_only_rows,
    rows_of,
    slice_rows,
    take_rows,
    to_csr,
)
from olscale.compiled.decorator import compiled
from olscale.compiled.row_layout import by_layout
from olscale.errors import DivergedError
from olscale.learners.contract.capability import ExplainsNoScore
from olscale.learners.contract.fused_settings import FusedSettings, learn_together
from olscale.learners.contract.learner import FloatArray, Learner, learn_rows


@compiled
def is_unusable(values: Any, square: float, low: float, high: float) -> bool:
    """Return whether a row of these values, of squared norm `square`, cannot be used."""
    finite = True
    empty = True
    for value in values:
        finite &= np.isfinite(value)
        empty &= value == 0.0
    # Only a row without any value may have a square below `low`: it is empty, not lost.
    return not finite or square > high or (square < low and not empty)


@by_layout
def unusable(X: Rows, i: int, square: float, low: float, high: float) -> Any:
    """Return whether row `i`, of squared norm `square`, cannot be used.

    Call it where ``low <= square <= high`` is false.
    """

    def dense(X, i, square, low, high):
        return is_unusable(X[i], square, low, high)

    def csr(X, i, square, low, high):
        values = X.data[X.indptr[i] : X.indptr[i + 1]]
        return is_unusable(values, square, low, high)

    return dense, csr


@by_layout
def _square(X: Rows, i: int) -> Any:
    def dense(X, i):
        square = 0.0
        for value in X[i]:
            square += value * value
        return square

    def csr(X, i):
        square = 0.0
        for p in range(X.indptr[i], X.indptr[i + 1]):
            square += X.data[p] * X.data[p]
        return square

    return dense, csr


@compiled
def _usable(X: Any, low: float, high: float, usable: Any) -> None:
    for i in range(usable.shape[0]):
        square = _square(X, i)
        # Infinite limits would let an overflow pass.
        usable[i] = low <= square <= high and square < np.inf
        if not usable[i]:
            usable[i] = not unusable(X, i, square, low, high)


def usable_rows(X: Rows, limits: tuple[float, float]) -> NDArray[np.bool_]:
    """Return which rows can be used, shape (rows,).

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.0, 0.0], [np.nan, 1.0], [1e200, 0.0]])
    >>> usable_rows(X, (1e-292, 1e284)).tolist()
    [True, True, False, False]
    """
    usable = np.empty(rows_of(X), dtype=np.bool_)
    _usable(read_only_rows(X), float(limits[0]), float(limits[1]), usable)
    return usable


def learn_usable(
    learner: Learner,
    X: Rows,
    y: NDArray[Any],
    weights: FloatArray | None = None,
    *,
    batch: int | None = None,
) -> FloatArray:
    """Let `learner` learn the rows before the first unusable one; return NaN from there on.

    With a `batch`, a learner that `LearnsBatches` predicts and then learns so many rows at a time.
    """
    end = _first_unusable(learner, X)
    if end == len(y):
        return learn_rows(learner, X, y, weights, batch=batch)
    if end == 0:
        return _followed_by_nan(_no_scores(learner, X), len(y))
    first_weights = None if weights is None else weights[:end]
    scores = learn_rows(
        learner, slice_rows(X, 0, end), y[:end], first_weights, batch=batch
    )
    return _followed_by_nan(scores, len(y))


def learn_usable_together(
    fused: FusedSettings,
    learner: Learner,
    X: Rows,
    y: NDArray[Any],
    weights: FloatArray | None = None,
) -> Sequence[FloatArray | Exception]:
    """Do the same with settings of `learner`; one that ended gives its reason instead of scores."""
    end = _first_unusable(learner, X)
    if end == len(y):
        return learn_together(fused, X, y, weights)
    first_weights = None if weights is None else weights[:end]
    outcomes = learn_together(fused, slice_rows(X, 0, end), y[:end], first_weights)
    return [
        outcome if isinstance(outcome, Exception) else _followed_by_nan(outcome, len(y))
        for outcome in outcomes
    ]


def _first_unusable(learner: Learner, X: Rows) -> int:
    """Return the first row that the learner must not see, or the number of rows."""
    if learner.checks_rows:
        return rows_of(X)
    usable = usable_rows(X, learner.norm_limits())
    if np.all(usable):
        return rows_of(X)
    return int(np.argmin(usable))


def _followed_by_nan(scores: FloatArray, rows: int) -> FloatArray:
    after = np.full((rows - len(scores), scores.shape[1]), np.nan)
    return np.concatenate([scores, after])


def score_usable(learner: Learner, X: Rows) -> FloatArray:
    """Let `learner` score the usable rows; scores of the others are NaN."""
    if learner.checks_rows:
        usable = None
    else:
        usable = usable_rows(X, learner.norm_limits())
    if usable is None or usable.all():
        return learner.scores(X)
    if usable.any():
        own_scores = learner.scores(
            read_only_rows(take_rows(X, np.flatnonzero(usable)))
        )
    else:
        own_scores = _no_scores(learner, X)
    scores: FloatArray = np.full((len(usable), own_scores.shape[1]), np.nan)
    scores[usable] = own_scores
    return scores


def _no_scores(learner: Learner, X: Rows) -> FloatArray:
    """Return the scores of no rows, as wide as those of a row of zeros.

    Not every library accepts an empty array.
    """
    empty: Rows
    if isinstance(X, CSR):
        # One row without values: the width of scores is known from a real call only.
        empty = CSR(np.zeros(2, np.int64), X.indices[:0], X.data[:0])
    else:
        empty = np.zeros((1, X.shape[1]))
    return learner.scores(read_only_rows(empty))[:0]


def why_unusable(
    X: Rows, i: int, limits: tuple[float, float], names: Sequence[str] = ()
) -> str:
    """Return why row `i` cannot be used, or an empty text.

    `names` are those of its first features.
    """
    row = slice_rows(X, i, i + 1)
    if usable_rows(row, limits)[0]:
        return ""
    values = to_csr(row)
    x = values.data[values.indptr[0] : values.indptr[-1]]
    if not np.isfinite(x).all():
        # The first one: a message with all columns would be as long as the row.
        odd = int(np.argmin(np.isfinite(x)))
        column = int(values.indices[odd])
        name = repr(names[column]) if column < len(names) else str(column)
        if np.isnan(x[odd]):
            cure = 'NaN in column {}; add transforms = ["impute:mean"]'
        else:
            cure = "infinity in column {}"
        return f"score is not finite, and neither is the row: {cure.format(name)}"
    # The length is computed relative to this: the squares themselves overflow or underflow.
    greatest = np.abs(x).max()
    least, most = np.sqrt(limits)
    if greatest > 1e-300:
        length = float(greatest * np.sqrt(np.sum((x / greatest) ** 2)))
    else:
        length = float(greatest)
    if greatest > 1.0:
        how = "overflows"
    else:
        how = "underflows"
    return (
        f"the squared norm of the row {how}: its length is {length:.3g}, expected {least:.1g} to "
        f"{most:.1g}; scale the "
        "features, for example with the transform standardize"
    )


def diverged_at(
    learner: Learner,
    X: Rows,
    i: int,
    row: int,
    where: str = "row",
    names: Sequence[str] = (),
) -> DivergedError:
    """Return the error of row `i` of `X`, whose score is not finite; `row` is its number.

    `where` says what the number counts.

    `names` are the names of the first features.
    """
    why = why_no_score(learner, X, i, names)
    return DivergedError(why or "score is not finite", row, where)


def why_no_score(learner: Learner, X: Rows, i: int, names: Sequence[str] = ()) -> str:
    """Return why `learner` has no score for row `i`, or an empty text if that is unknown."""
    why = why_unusable(X, i, learner.norm_limits(), names)
    if why == "" and isinstance(learner, ExplainsNoScore):
        why = learner.why_no_score(slice_rows(X, i, i + 1))
    return why
