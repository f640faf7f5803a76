"""Sums that measures are made from, added up row by row: any cut of the rows into chunks gives the same bits."""

from typing import Any

from olscale.compiled.decorator import compiled

MAJORITY, SAME = 1, 2
"""Places in the sums of classes, after the number of rows; hits, true and predicted rows of each class follow."""

ABSOLUTE, SQUARED, MEAN, SPREAD, DULL_ABSOLUTE, DULL_SQUARED, BEYOND = range(1, 8)
"""Places in the sums of residuals, after the number of rows."""


@compiled
def follow_classes(y: Any, base: Any, frozen: bool, dull: Any) -> None:
    """Write what two dull learners predict of each row: the class met most often so far, and that of the row before.

    `base` has both, then how often each class was met; where `frozen` the first learns no more.
    """
    for i in range(y.shape[0]):
        dull[i, 0], dull[i, 1] = base[0], base[1]
        base[1] = y[i]
        if not frozen:
            base[2 + y[i]] += 1
            if base[2 + y[i]] > base[2 + base[0]]:
                base[0] = y[i]


@compiled
def add_classes(y: Any, predicted: Any, dull: Any, sums: Any, alpha: float, marks: Any, found: Any) -> None:
    """Add rows to `sums`, which fade by `alpha` with each; copy them to the rows of `found` after so many as `marks` has."""
    classes, mark = (sums.shape[0] - 3) // 3, 0
    for i in range(y.shape[0]):
        if alpha != 1.0:
            for k in range(sums.shape[0]):
                sums[k] *= alpha
        sums[0] += 1.0
        sums[1] += 1.0 if dull[i, 0] == y[i] else 0.0
        sums[2] += 1.0 if dull[i, 1] == y[i] else 0.0
        if y[i] == predicted[i]:
            sums[3 + y[i]] += 1.0
        sums[3 + classes + y[i]] += 1.0
        sums[3 + 2 * classes + predicted[i]] += 1.0
        if mark < marks.shape[0] and marks[mark] == i + 1:
            found[mark] = sums
            mark += 1


@compiled
def follow_targets(y: Any, base: Any, frozen: bool, dull: Any) -> None:
    """Write what a dull learner predicts of each row: the mean so far. `base` has that and the rows; as `follow_classes`."""
    for i in range(y.shape[0]):
        dull[i] = base[0]
        if not frozen:
            base[1] += 1.0
            base[0] += (y[i] - base[0]) / base[1]


@compiled
def add_residuals(
    y: Any, predicted: Any, dull: Any, sums: Any, alpha: float, epsilon: float, marks: Any, found: Any
) -> None:
    """Add rows to the sums of residuals; `alpha`, `marks` and `found` as in `add_classes`."""
    mark = 0
    for i in range(y.shape[0]):
        if alpha != 1.0:
            for k in range(sums.shape[0]):
                if k != MEAN:
                    sums[k] *= alpha
        error = y[i] - predicted[i]
        sums[0] += 1.0
        sums[ABSOLUTE] += abs(error)
        sums[SQUARED] += error * error
        # Welford's form: sum y^2 - n mean^2 would lose all digits where the mean is large.
        away = y[i] - sums[MEAN]
        sums[MEAN] += away / sums[0]
        sums[SPREAD] += away * (y[i] - sums[MEAN])
        dull_error = y[i] - dull[i]
        sums[DULL_ABSOLUTE] += abs(dull_error)
        sums[DULL_SQUARED] += dull_error * dull_error
        sums[BEYOND] += max(0.0, abs(error) - epsilon)
        if mark < marks.shape[0] and marks[mark] == i + 1:
            found[mark] = sums
            mark += 1
