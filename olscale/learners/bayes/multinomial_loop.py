"""Multinomial naive Bayes of more than two classes: logarithms of counts, kept up as these grow.

Arrays are feature-major. The logarithms of the counts of a row's features are computed anew once
it is learned, for its class alone: a prediction is then a product of the row and these, as that of
a linear learner. A feature without counts has the logarithm 0, so that only the features of a row
are ever touched.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled, inlined, nested
from olscale.compiled.elementary import logarithm, quotient
from olscale.compiled.intrinsics import borrowed, flat, prefetch
from olscale.compiled.row_layout import (
    PREFETCH_AHEAD,
    borrowed_rows,
    by_layout,
)
from olscale.compiled.rows import row_scores, weight_of
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.contract.usable_rows import unusable

LEAST = -700.0
"""What a class without rows is below the last of the others: e^-700 is about the least number."""


MOST = 1e250
"""What the counts of a class may add up to: ratios of counts are numbers then."""

BLOCK = 256
"""Features whose logarithms are computed together."""


class WordCounts(NamedTuple):
    """The state of the learner.

    Parameters
    ----------
    rows, totals : float64 arrays of shape (classes,)
        Sum of the weights of the rows of each class, and of all their counts.
    counts : float64 array of shape (columns, classes)
        Weighted counts of each feature in the rows of each class.
    logs : float64 array of shape (columns, classes)
        ``log(count / alpha + 1)`` of each class; of two classes nothing.
    """

    rows: FloatArray
    totals: FloatArray
    counts: FloatArray
    logs: FloatArray


@by_layout
def _score_counts(X: Rows, i: int, words: Any, f: FloatArray) -> Any:
    """Set the products `f` of row `i` and the logarithms.

    Return its squared norm, the sum of its counts, and whether one is below 0.
    """

    def dense(X, i, words, f):
        square = row_scores(X, i, words.logs, f)
        length = 0.0
        is_negative = False
        for value in X[i]:
            length += value
            is_negative |= value < 0.0
        return square, length, is_negative

    def csr(X, i, words, f):
        square = row_scores(X, i, words.logs, f)
        length = 0.0
        is_negative = False
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            length += X.data[p]
            is_negative |= X.data[p] < 0.0
        return square, length, is_negative

    return dense, csr


@inlined
def _set_logarithms(numbers: Any, under: float, count: Any) -> None:
    """Replace the first numbers by the logarithms of their ratios to the one `under`."""
    for q in range(count):
        numbers[q] = logarithm(quotient(numbers[q], under))


@by_layout
def _add_row(
    X: Rows,
    i: int,
    words: Any,
    c: int,
    weight: float,
    alpha: float,
    numbers: FloatArray,
) -> Any:
    """Add the counts of row `i` to class `c`.

    The logarithms of `BLOCK` features at a time are vector code, in the space `numbers`.
    """

    def dense(X, i, words, c, weight, alpha, numbers):
        x = X[i]
        counts = words.counts
        for start in range(0, x.shape[0], BLOCK):
            stop = min(start + BLOCK, x.shape[0])
            for j in range(start, stop):
                counts[j, c] += weight * x[j]
                numbers[j - start] = counts[j, c] + alpha
            _set_logarithms(numbers, alpha, stop - start)
            for j in range(start, stop):
                words.logs[j, c] = numbers[j - start]

    def csr(X, i, words, c, weight, alpha, numbers):
        counts = flat(words.counts)
        logs = flat(words.logs)
        classes = np.uint64(words.counts.shape[1])
        # Places without a sign: for others numba asks at each whether it counts from the end.
        own = np.uint64(c)
        end = np.uint64(X.indptr[i + 1])
        last = np.uint64(X.indices.shape[0])
        for p in range(
            min(np.uint64(X.indptr[i]) + PREFETCH_AHEAD, last),
            min(end + PREFETCH_AHEAD, last),
        ):
            prefetch(counts, np.uint64(np.uint32(X.indices[p])) * classes)
        for start in range(np.uint64(X.indptr[i]), end, np.uint64(BLOCK)):
            size = min(np.uint64(BLOCK), end - start)
            for q in range(size):
                place = np.uint64(np.uint32(X.indices[start + q])) * classes + own
                counts[place] += weight * X.data[start + q]
                numbers[q] = counts[place] + alpha
            _set_logarithms(numbers, alpha, size)
            for q in range(size):
                place = np.uint64(np.uint32(X.indices[start + q])) * classes + own
                logs[place] = numbers[q]

    return dense, csr


@nested
def _set_class(
    words: Any, c: int, alpha: float, log_rows: FloatArray, log_totals: FloatArray
) -> None:
    """Set what the scores need of class `c` as a whole."""
    columns = words.counts.shape[0]
    # Relative to alpha, as `logs` are: features without counts then add nothing to a score.
    log_totals[c] = logarithm(words.totals[c] + alpha * columns) - logarithm(alpha)
    if words.rows[c] > 0.0:
        log_rows[c] = logarithm(words.rows[c])


@nested
def _set_scores(
    words: Any,
    length: float,
    log_rows: FloatArray,
    log_totals: FloatArray,
    f: FloatArray,
) -> None:
    """Complete the scores `f`, which are products of a row and the logarithms of counts."""
    classes = words.rows.shape[0]
    log_all = 0.0
    if words.rows.sum() > 0.0:
        log_all = logarithm(words.rows.sum())
    lowest = 0.0
    for c in range(classes):
        if words.rows[c] > 0.0:
            f[c] += (log_rows[c] - log_all) - length * log_totals[c]
            lowest = min(lowest, f[c])
    for c in range(classes):
        if words.rows[c] == 0.0:
            # Less for each later one: the first of the classes without rows is the likeliest.
            f[c] = lowest + LEAST - c


@compiled
def learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    words: Any,
    alpha: float,
    limits: Any,
    learning: bool,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    scores: FloatArray,
    weights: Any,
) -> None:
    """Score rows by the counts of classes and, when `learning`, add each to its class."""
    X = borrowed_rows(X)
    words = borrowed(words)
    low, high = limits
    classes = words.rows.shape[0]
    log_rows = np.zeros(classes)
    log_totals = np.zeros(classes)
    numbers = np.empty(BLOCK)
    for c in range(classes):
        _set_class(words, c, alpha, log_rows, log_totals)
    for i in range(scores.shape[0]):
        f = scores[i]
        square, length, is_negative = _score_counts(X, i, words, f)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        if is_negative:
            scores[i:] = np.nan
            break
        _set_scores(words, length, log_rows, log_totals, f)
        if learning and y[i] != UNKNOWN:
            seen[0] += 1
            weight = weight_of(weights, i)
            if weight > 0.0:
                c = y[i]
                total = words.totals[c] + weight * length
                # Not a number is refused, too: hence `not <`.
                if not total < MOST:
                    scores[i:] = np.nan
                    break
                words.rows[c] += weight
                words.totals[c] = total
                _add_row(X, i, words, c, weight, alpha, numbers)
                _set_class(words, c, alpha, log_rows, log_totals)
                updates[0] += 1
