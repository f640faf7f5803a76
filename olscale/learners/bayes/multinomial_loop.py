"""The loop of multinomial naive Bayes: logarithms of counts, kept up as these grow.

Arrays are feature-major. The logarithms of the counts of a row's features are computed anew once
it is learned, for its class alone: a prediction is then a product of the row and these, as that of
a linear learner. A feature without counts has the logarithm 0, so that only the features of a row
are ever touched.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.elementary import logarithm, quotient
from olscale.compiled.intrinsics import borrowed, flat, prefetch
from olscale.compiled.row_layout import (
    ONE,
    PREFETCH_AHEAD,
    borrowed_rows,
    by_layout,
    prefetch_rows,
    prefetch_weights,
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
    logs : float64 array of shape (columns, outputs)
        ``log(count / alpha + 1)`` of each class; of two classes that of the second less that of
        the first.
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
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        square = 0.0
        length = 0.0
        is_negative = False
        if words.logs.shape[1] == 1:
            logs = flat(words.logs)
            prefetch_rows(X, start, stop)
            prefetch_weights(X, start, stop, logs)
            score = 0.0
            for p in range(start, stop):
                value = X.data[p]
                score += value * logs[np.uint32(X.indices[p])]
                square += value * value
                length += value
                is_negative |= value < 0.0
            f[0] = score
        else:
            square = row_scores(X, i, words.logs, f)
            for p in range(start, stop):
                length += X.data[p]
                is_negative |= X.data[p] < 0.0
        return square, length, is_negative

    return dense, csr


@inlined
def _set_logarithms(over: Any, under: Any, count: Any) -> None:
    """Replace the first numbers `over` by the logarithms of their ratios to those `under`."""
    for q in range(count):
        over[q] = logarithm(quotient(over[q], under[q]))


@by_layout
def _add_row(
    X: Rows, i: int, words: Any, c: int, weight: float, alpha: float, pairs: FloatArray
) -> Any:
    """Add the counts of row `i` to class `c`.

    The logarithms of `BLOCK` features at a time are vector code, in the space `pairs`.
    """

    def dense(X, i, words, c, weight, alpha, pairs):
        x = X[i]
        counts = words.counts
        is_pair = words.logs.shape[1] == 1
        column = 0 if is_pair else c
        over = pairs[0]
        under = pairs[1]
        for start in range(0, x.shape[0], BLOCK):
            stop = min(start + BLOCK, x.shape[0])
            for j in range(start, stop):
                counts[j, c] += weight * x[j]
                over[j - start] = counts[j, 1 if is_pair else c] + alpha
                under[j - start] = (counts[j, 0] if is_pair else 0.0) + alpha
            _set_logarithms(over, under, stop - start)
            for j in range(start, stop):
                words.logs[j, column] = over[j - start]

    def csr(X, i, words, c, weight, alpha, pairs):
        counts = flat(words.counts)
        logs = flat(words.logs)
        is_pair = words.logs.shape[1] == 1
        classes = np.uint64(words.counts.shape[1])
        columns = np.uint64(words.logs.shape[1])
        own = np.uint64(c)
        upper = ONE if is_pair else own
        column = np.uint64(0) if is_pair else own
        over = pairs[0]
        under = pairs[1]
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
                first = np.uint64(np.uint32(X.indices[start + q])) * classes
                counts[first + own] += weight * X.data[start + q]
                over[q] = counts[first + upper] + alpha
                under[q] = (counts[first] if is_pair else 0.0) + alpha
            _set_logarithms(over, under, size)
            for q in range(size):
                first = np.uint64(np.uint32(X.indices[start + q])) * columns
                logs[first + column] = over[q]

    return dense, csr


@compiled
def _set_class(
    words: Any, c: int, alpha: float, log_rows: FloatArray, log_totals: FloatArray
) -> None:
    """Set what the scores need of class `c` as a whole."""
    columns = words.counts.shape[0]
    log_totals[c] = logarithm(words.totals[c] + alpha * columns) - logarithm(alpha)
    if words.rows[c] > 0.0:
        log_rows[c] = logarithm(words.rows[c])


@compiled
def _set_scores(
    words: Any,
    length: float,
    log_rows: FloatArray,
    log_totals: FloatArray,
    f: FloatArray,
) -> None:
    """Complete the scores `f`, which are products of a row and the logarithms of counts."""
    classes = words.rows.shape[0]
    if f.shape[0] == 1:
        if words.rows[0] > 0.0 and words.rows[1] > 0.0:
            f[0] += (log_rows[1] - log_rows[0]) - length * (
                log_totals[1] - log_totals[0]
            )
        elif words.rows[1] > 0.0:
            f[0] = -LEAST
        else:
            f[0] = LEAST
        return
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
    pairs = np.empty((2, BLOCK))
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
                if not total < MOST:
                    scores[i:] = np.nan
                    break
                words.rows[c] += weight
                words.totals[c] = total
                _add_row(X, i, words, c, weight, alpha, pairs)
                _set_class(words, c, alpha, log_rows, log_totals)
                updates[0] += 1
