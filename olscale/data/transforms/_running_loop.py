"""The loop of `running-standardize`: Welford's recurrence in vector code, over wide rows too.

What a feature costs are its divisions. Mostly all features have been counted equally often, and
then both divisions by the count become multiplications by its inverse, which steps with a single
rounding correct to the bits of the quotient.

References
----------
P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, IBM Journal
of Research and Development 34, 1990.
"""

from math import sqrt
from typing import Any

from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.elementary import quotient
from olscale.compiled.row_layout import by_layout
from olscale.compiled.simd.mixture import multiply_add_numbers

# Numbers between these bounds, and 0, have differences, products and remainders in the range of
# numbers of full precision.
_LEAST_VALUE = 2.0**-300
_GREATEST_VALUE = 2.0**300
_LEAST_SQUARE = 2.0**-750
_GREATEST_SQUARE = 2.0**750


@by_layout
def _fill_row(X: Any, i: Any, row: Any) -> Any:
    """Write row `i` into `row`; of the entries of one feature the last counts."""

    def dense(X, i, row):  # type: ignore[no-untyped-def]
        for j in range(row.shape[0]):
            row[j] = X[i, j]

    def csr(X, i, row):  # type: ignore[no-untyped-def]
        for j in range(row.shape[0]):
            row[j] = 0.0
        for p in range(X.indptr[i], X.indptr[i + 1]):
            row[X.indices[p]] = X.data[p]

    return dense, csr


@inlined
def _quotient_by(over: Any, under: Any, inverse: Any) -> Any:
    """Return ``over / under`` to the bit, where `inverse` is that of `under`, rounded."""
    # The first step leaves less than a unit in the last place, from which the second is exact.
    near = over * inverse
    remainder = multiply_add_numbers(-near, under, over)
    near = multiply_add_numbers(remainder, inverse, near)
    remainder = multiply_add_numbers(-near, under, over)
    return multiply_add_numbers(remainder, inverse, near)


@inlined
def _is_plain(numbers: Any, least: Any, greatest: Any) -> Any:
    """Return whether all numbers are 0 or between bounds; NaN and infinities are not."""
    beyond = False
    for j in range(numbers.shape[0]):
        # No chained comparisons: these branch, and the loop would be no vector code.
        size = abs(numbers[j])
        beyond |= not size < greatest
        beyond |= (size > 0.0) & (size < least)
    return not beyond


@inlined
def _is_plain_state(count: Any, mean: Any, squares: Any) -> Any:
    """Return whether plain rows can be learned: of features that were counted equally often."""
    differs = False
    for j in range(count.shape[0]):
        differs |= count[j] != count[0]
    return (
        not differs
        and _is_plain(mean, _LEAST_VALUE, _GREATEST_VALUE)
        and _is_plain(squares, _LEAST_SQUARE, _GREATEST_SQUARE)
    )


@inlined
def _learn_plain_row(row: Any, rows: Any, count: Any, mean: Any, squares: Any) -> Any:
    """Learn a plain row, the `rows`-th of each feature, then scale it in place.

    Returns whether the state is plain after it.
    """
    inverse = 1.0 / rows
    beyond = False
    for j in range(row.shape[0]):
        value = row[j]
        before = mean[j]
        centre = before + _quotient_by(value - before, rows, inverse)
        square = squares[j] + (value - before) * (value - centre)
        count[j] = rows
        mean[j] = centre
        squares[j] = square
        # Tested here, where it costs nothing: the divisions take longer.
        size = abs(centre)
        beyond |= not size < _GREATEST_VALUE
        beyond |= (size > 0.0) & (size < _LEAST_VALUE)
        beyond |= not square < _GREATEST_SQUARE
        beyond |= (square > 0.0) & (square < _LEAST_SQUARE)
        variance = _quotient_by(square, rows, inverse)
        row[j] = quotient(value - centre, sqrt(variance)) if variance > 0.0 else 0.0
    return not beyond


@inlined
def _learn_row(row: Any, count: Any, mean: Any, squares: Any) -> None:
    """Learn a row of finite numbers, then scale it in place, with vector code: no branch."""
    for j in range(row.shape[0]):
        value = row[j]
        before = mean[j]
        rows = count[j] + 1.0
        centre = before + quotient(value - before, rows)
        square = squares[j] + (value - before) * (value - centre)
        count[j] = rows
        mean[j] = centre
        squares[j] = square
        variance = quotient(square, rows)
        # Squares of tiny differences may be above 0, and their mean not.
        scaled = quotient(value - centre, sqrt(variance)) if variance > 0.0 else 0.0
        row[j] = scaled if square < float("inf") else float("inf")


@inlined
def _scale_odd_row(row: Any, trains: Any, count: Any, mean: Any, squares: Any) -> None:
    """Scale a row that may have missing values and infinities in place; learn it if it trains."""
    infinity = float("inf")
    for j in range(row.shape[0]):
        value = row[j]
        if not abs(value) < infinity:
            # Missing values stay missing, and an infinity ends the run.
            continue
        if trains:
            before = mean[j]
            count[j] += 1.0
            mean[j] += (value - before) / count[j]
            squares[j] += (value - before) * (value - mean[j])
        if squares[j] == infinity:
            row[j] = infinity
            continue
        variance = squares[j] / count[j] if squares[j] > 0.0 else 0.0
        row[j] = (value - mean[j]) / sqrt(variance) if variance > 0.0 else 0.0


@compiled
def scale_rows(
    X: Any, trains: Any, count: Any, mean: Any, squares: Any, out: Any
) -> None:
    """Write the scaled rows of `X`, dense or CSR, into `out`; learn first from those that train."""
    is_plain = count.shape[0] > 0 and _is_plain_state(count, mean, squares)
    for i in range(out.shape[0]):
        row = out[i]
        _fill_row(X, i, row)
        if trains[i] and is_plain and _is_plain(row, _LEAST_VALUE, _GREATEST_VALUE):
            is_plain = _learn_plain_row(row, count[0] + 1.0, count, mean, squares)
            continue
        is_odd = False
        for j in range(row.shape[0]):
            is_odd |= not abs(row[j]) < float("inf")
        if is_odd or not trains[i]:
            _scale_odd_row(row, trains[i], count, mean, squares)
        else:
            _learn_row(row, count, mean, squares)
        # Looked at again with the next rows: a feature with gaps stays counted less often.
        is_plain = is_plain and not trains[i]
