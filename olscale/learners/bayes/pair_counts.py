"""Scores of two classes from products of counts, with few logarithms.

A row's score has ``x log(p / q)`` of each feature, counts `p` and `q` in the two classes. For the
values 1, 2 and 3, which most counts of words are, this is the logarithm of a product of as many
factors, and that of the whole row is taken at the end. Other values take one each. Learning needs
no score, so the logarithms of some rows are taken together, in vector code.

Sums go over the features with a value other than 0: a dense row has the bits of a sparse one.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.elementary import bits_of, from_bits, logarithm, quotient
from olscale.compiled.intrinsics import borrowed, flat, prefetch
from olscale.compiled.row_layout import (
    PREFETCH_AHEAD,
    TWO,
    borrowed_rows,
    by_layout,
    prefetch_rows,
)
from olscale.compiled.rows import weight_of
from olscale.compiled.simd.count_products import move_counts, multiply_counts
from olscale.learners.bayes.multinomial_loop import BLOCK, LEAST, MOST
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.contract.usable_rows import unusable

ROWS = 32
"""Rows whose logarithms are taken together."""

_LN2 = 0.6931471805599453
# The parts of a float64: the bits of its fraction, those of 1.0, and the bias of its exponent.
_FRACTION = 0x000FFFFFFFFFFFFF
_ONE = 0x3FF0000000000000
_BIAS = 1023
_LEAST_VALUE = 1e-60
_MOST_VALUE = 1e60
"""Values whose squares and sums are far from all limits."""

_MOST_TOTAL = 1e200
_MOST_COUNT = 1e50
"""Six counts up to this one can be multiplied."""

_KEPT = 256
"""Eights of features with other values that are kept until their logarithms are taken."""

_FULL = _KEPT - BLOCK // 8

_NEAR = 1 << 15
"""Features whose counts stay in the processor's second cache."""


class PairSpace(NamedTuple):
    """Arrays of the loop, which are arguments: it would count references to those of its own.

    Parameters
    ----------
    products : float64 array of shape (24,)
        Mantissas, exponents and sums of a block of features.
    first_counts, second_counts, uncommon : float64 arrays
        Counts of both classes, plus alpha, and values that are not multiplied, by eights.
    owners : int64 array
        Their rows.
    terms : float64 array of shape (7, ROWS)
        Of each row the mantissa of its product of ratios, the ratio of all counts of the classes,
        the rows of both, the exponent of the product, the sum of the row's values, and its score
        where only one class has rows.
    features, values : arrays of shape (BLOCK,)
        A block of a row without zeros.
    """

    products: FloatArray
    first_counts: FloatArray
    second_counts: FloatArray
    uncommon: FloatArray
    owners: NDArray[np.int64]
    terms: FloatArray
    features: NDArray[np.int32]
    values: FloatArray


def new_space() -> PairSpace:
    """Return such arrays."""
    return PairSpace(
        np.empty(24),
        np.empty(8 * _KEPT),
        np.empty(8 * _KEPT),
        np.empty(8 * _KEPT),
        np.empty(_KEPT, np.int64),
        np.empty((7, ROWS)),
        np.empty(BLOCK, np.int32),
        np.empty(BLOCK),
    )


class Product(NamedTuple):
    """The product of a row's ratios so far."""

    mantissa: float
    exponent: float
    length: float
    kept: int


@inlined
def _mantissa(number: float) -> Any:
    """Return mantissa, in [1, 2), and exponent of a positive number."""
    bits = bits_of(number)
    exponent = float((bits >> 52) - _BIAS)
    return from_bits((bits & _FRACTION) | _ONE), exponent


@inlined
def _times_block(product: Any, kept: int, s: Any) -> Any:
    """Return a product times that of a block of features."""
    # Always in the same pairs: the bits depend on the order.
    first = (s[0] * s[2]) * (s[4] * s[6])
    second = (s[1] * s[3]) * (s[5] * s[7])
    ratio = product.mantissa * quotient(second, first)
    mantissa, exponent = _mantissa(ratio)
    exponent += ((s[9] - s[8]) + (s[11] - s[10])) + ((s[13] - s[12]) + (s[15] - s[14]))
    length = ((s[16] + s[17]) + (s[18] + s[19])) + ((s[20] + s[21]) + (s[22] + s[23]))
    return Product(mantissa, product.exponent + exponent, product.length + length, kept)


@inlined
def _add_uncommon(kept: int, space: Any, scores: FloatArray) -> None:
    """Add to the scores what the values that are not multiplied contribute."""
    over = space.second_counts
    under = space.first_counts
    for q in range(8 * kept):
        # In a loop of their own: logarithms alone become vector code.
        over[q] = logarithm(quotient(over[q], under[q]))
    for q in range(8 * kept):
        over[q] *= space.uncommon[q]
    for k in range(kept):
        p = over[8 * k : 8 * k + 8]
        total = ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]))
        scores[space.owners[k], 0] += total


@inlined
def _complete(first: int, count: int, space: Any, scores: FloatArray) -> None:
    """Add to the scores of `count` rows from `first` on the logarithms of their products."""
    terms = space.terms
    # The first four lines of terms at once; what is behind the last row is never read.
    numbers = flat(terms)
    for q in range(4 * ROWS):
        numbers[q] = logarithm(numbers[q])
    for n in range(count):
        product = terms[0, n] + terms[4, n] * _LN2
        of_classes = (terms[3, n] - terms[2, n]) - terms[5, n] * terms[1, n]
        score = scores[first + n, 0] + (product + of_classes)
        certain = terms[6, n]
        scores[first + n, 0] = score if certain == 0.0 else certain


@by_layout
def _is_plain(X: Rows, i: int) -> Any:
    """Return whether no value of row `i` is a stored zero, or could be refused."""

    def dense(X, i):
        return False

    def csr(X, i):
        is_plain = True
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            is_plain &= (X.data[p] >= _LEAST_VALUE) & (X.data[p] <= _MOST_VALUE)
        return is_plain

    return dense, csr


@by_layout
def _measure(X: Rows, i: int) -> Any:
    """Return the squared norm of row `i`, its sum and whether a value is below 0."""

    def dense(X, i):
        square = 0.0
        length = 0.0
        is_negative = False
        for value in X[i]:
            square += value * value
            length += value
            is_negative |= value < 0.0
        return square, length, is_negative

    def csr(X, i):
        square = 0.0
        length = 0.0
        is_negative = False
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            value = X.data[p]
            square += value * value
            length += value
            is_negative |= value < 0.0
        return square, length, is_negative

    return dense, csr


@by_layout
def _prefetch_counts(X: Rows, i: int, counts: FloatArray) -> Any:
    """Fetch the counts of rows to come."""

    def dense(X, i, counts):
        pass

    def csr(X, i, counts):
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        last = np.uint64(X.indices.shape[0])
        prefetch_rows(X, start, stop)
        if counts.shape[0] > 2 * _NEAR:
            for p in range(
                min(start + PREFETCH_AHEAD, last), min(stop + PREFETCH_AHEAD, last)
            ):
                prefetch(counts, np.uint64(np.uint32(X.indices[p])) * TWO)

    return dense, csr


@by_layout
def _fill(X: Rows, i: int, place: int, space: Any) -> Any:
    """Fill the space with the values of row `i` that are not 0, from `place` on.

    Return how many there are, and the place behind them: -1 at the end of the row.
    """

    def dense(X, i, place, space):
        x = X[i]
        filled = 0
        for j in range(place, x.shape[0]):
            if filled == BLOCK:
                return filled, j
            space.features[filled] = j
            space.values[filled] = x[j]
            # Written in any case, and overwritten by the next if it was 0: no branch to mispredict.
            filled += x[j] != 0.0
        return filled, -1

    def csr(X, i, place, space):
        filled = 0
        for p in range(X.indptr[i] + place, X.indptr[i + 1]):
            if filled == BLOCK:
                return filled, p - X.indptr[i]
            space.features[filled] = X.indices[p]
            space.values[filled] = X.data[p]
            filled += X.data[p] != 0.0
        return filled, -1

    return dense, csr


class PairStep(NamedTuple):
    """How a row is multiplied: which one, and what is added to the counts of each class."""

    row: int
    alpha: float
    unit: float
    first_weight: float
    second_weight: float


@inlined
def _multiply_block(
    features: Any,
    values: Any,
    start: Any,
    stop: Any,
    counts: Any,
    step: Any,
    kept: int,
    space: Any,
) -> Any:
    """Set the products of a block of features, and return how many eights are kept."""
    if step.first_weight > 0.0 or step.second_weight > 0.0:
        return move_counts(
            features,
            values,
            start,
            stop,
            counts,
            step.alpha,
            step.unit,
            space.products,
            space.first_counts,
            space.second_counts,
            space.uncommon,
            space.owners,
            step.row,
            kept,
            step.first_weight,
            step.second_weight,
        )
    return multiply_counts(
        features,
        values,
        start,
        stop,
        counts,
        step.alpha,
        step.unit,
        space.products,
        space.first_counts,
        space.second_counts,
        space.uncommon,
        space.owners,
        step.row,
        kept,
    )


@by_layout
def _multiply_plain(
    X: Rows, i: int, counts: FloatArray, step: Any, kept: int, space: Any, scores: Any
) -> Any:
    """Do `_multiply_row` for a plain row, which is read where it is."""

    def dense(X, i, counts, step, kept, space, scores):
        return Product(1.0, 0.0, 0.0, kept)

    def csr(X, i, counts, step, kept, space, scores):
        product = Product(1.0, 0.0, 0.0, kept)
        last = X.indptr[i + 1]
        for start in range(X.indptr[i], last, BLOCK):
            stop = min(start + BLOCK, last)
            kept = product.kept
            if kept > _FULL:
                _add_uncommon(kept, space, scores)
                kept = 0
            kept = _multiply_block(
                X.indices, X.data, start, stop, counts, step, kept, space
            )
            product = _times_block(product, kept, space.products)
        return product

    return dense, csr


@inlined
def _multiply_row(
    X: Any, i: int, counts: Any, step: Any, kept: int, space: Any, scores: Any
) -> Any:
    """Return the product of the ratios of row `i`, and count the row if it has a weight."""
    product = Product(1.0, 0.0, 0.0, kept)
    place = 0
    while place >= 0:
        filled, place = _fill(X, i, place, space)
        kept = product.kept
        if kept > _FULL:
            _add_uncommon(kept, space, scores)
            kept = 0
        kept = _multiply_block(
            space.features, space.values, 0, filled, counts, step, kept, space
        )
        product = _times_block(product, kept, space.products)
    return product


@compiled
def learn_and_score_pairs(
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
    space: Any,
) -> None:
    """Do `learn_and_score` for two classes."""
    X = borrowed_rows(X)
    words = borrowed(words)
    space = borrowed(space)
    low, high = limits
    rows = words.rows
    totals = words.totals
    counts = flat(words.counts)
    terms = space.terms
    added = alpha * words.counts.shape[0]
    count = scores.shape[0]
    for first in range(0, count, ROWS):
        last = min(first + ROWS, count)
        kept = 0
        end = first
        for i in range(first, last):
            weight = 0.0
            total = 0.0
            c = 0
            if learning and y[i] != UNKNOWN:
                c = y[i]
                weight = weight_of(weights, i)
                total = totals[c]
            # What such a row adds stays far from the limits: nothing need be known of it before.
            is_plain = (
                (weight <= _MOST_VALUE) and (total <= _MOST_TOTAL) and _is_plain(X, i)
            )
            if not is_plain:
                square, length, is_negative = _measure(X, i)
                if not (low <= square <= high) and unusable(X, i, square, low, high):
                    break
                if is_negative:
                    break
                # Not a number is refused, too: hence `not <`.
                if weight > 0.0 and not total + weight * length < MOST:
                    seen[0] += 1
                    break
            _prefetch_counts(X, i, counts)
            n = i - first
            scores[i, 0] = 0.0
            terms[2, n] = rows[0]
            terms[3, n] = rows[1]
            terms[1, n] = quotient(totals[1] + added, totals[0] + added)
            terms[6, n] = 0.0
            if rows[1] == 0.0:
                terms[6, n] = LEAST
            elif rows[0] == 0.0:
                terms[6, n] = -LEAST
            unit = 1.0
            if not totals[0] + totals[1] + alpha <= _MOST_COUNT:
                # No value equals NaN: of counts too large to be multiplied each takes a logarithm.
                unit = np.nan
            first_weight = weight if c == 0 else 0.0
            second_weight = weight if c == 1 else 0.0
            step = PairStep(i, alpha, unit, first_weight, second_weight)
            if is_plain:
                product = _multiply_plain(X, i, counts, step, kept, space, scores)
            else:
                product = _multiply_row(X, i, counts, step, kept, space, scores)
            kept = product.kept
            terms[0, n] = product.mantissa
            terms[4, n] = product.exponent
            terms[5, n] = product.length
            if learning and y[i] != UNKNOWN:
                seen[0] += 1
                if weight > 0.0:
                    rows[c] += weight
                    totals[c] += weight * product.length
                    updates[0] += 1
            end = i + 1
        _add_uncommon(kept, space, scores)
        _complete(first, end - first, space, scores)
        if end < last:
            scores[end:] = np.nan
            break
