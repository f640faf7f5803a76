"""Sums for measures, added up row by row: any split of rows into chunks gives the same bits.

Each row comes with the predictions of trivial baselines, `baseline`. Unless `has_baseline` they
follow from `base`, what those baselines know, and are written if there is room; if `frozen` the
baselines learn no more. Rows count by their `weights`, or 1 each without weights; to the baselines
all rows are equal. Sums fade by `alpha` with each row, and are copied to the rows of
`sums_at_marks` after as many rows as `marks` says.
"""

from math import inf, nan, sqrt
from typing import Any

from olscale.compiled.copies import copy_numbers
from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import exponential, logarithm

ABSOLUTE, SQUARED, MEAN, SPREAD, DULL_ABSOLUTE, DULL_SQUARED, BEYOND = range(1, 8)
"""Places in the sums of residuals, after the number of rows."""

FADED = 1e-290
"""Denominators up to this have faded away: the least floats cannot fade further."""

ROUNDED = 1e-10
"""Shares of mistakes of a baseline up to this are mostly the rounding of sums that fade."""


@compiled
def _most_after(code: int, most: int, base: Any) -> Any:
    """Count the class `code` in `base`; return the most frequent class, the first among equals."""
    base[2 + code] += 1
    lead = base[2 + code] - base[2 + most]
    # Only the class that was just counted can have overtaken the most frequent one.
    if lead > 0 or (lead == 0 and code < most):
        return code
    return most


@compiled
def follow_classes(labels: Any, asked: Any, base: Any, baseline: Any) -> None:
    """Learn class codes of 0 or more; set `baseline` to the classes predicted before `asked`.

    `asked` are events.
    """
    row = 0
    for event in range(labels.shape[0]):
        # Several rows may be predicted before one label arrives.
        while row < asked.shape[0] and asked[row] == event:
            baseline[row, 0] = base[0]
            baseline[row, 1] = base[1]
            row += 1
        if labels[event] >= 0:
            base[0] = _most_after(labels[event], base[0], base)
            base[1] = labels[event]


@compiled
def follow_targets(labels: Any, asked: Any, base: Any, baseline: Any) -> None:
    """Learn targets except NaN; set `baseline` to the mean before the events `asked`."""
    row = 0
    for event in range(labels.shape[0]):
        while row < asked.shape[0] and asked[row] == event:
            baseline[row] = base[0]
            row += 1
        # NaN is not equal to itself: the target is unknown.
        if labels[event] == labels[event]:
            base[1] += 1.0
            base[0] += (labels[event] - base[0]) / base[1]


@compiled
def count_classes(
    y: Any,
    predicted: Any,
    baseline: Any,
    weights: Any,
    has_baseline: bool,
    base: Any,
    frozen: bool,
    sums: Any,
    alpha: float,
    marks: Any,
    sums_at_marks: Any,
) -> None:
    """Count class codes; the baselines are the most frequent class and the last known label.

    `base` has both, then the count of each class. `sums` has the rows, the hits of both, then hits,
    true and predicted rows of each class.
    """
    classes = (sums.shape[0] - 3) // 3
    mark = 0
    # Local variables stay in registers; array elements are stored for every row.
    rows = sums[0]
    hits_of_most = sums[1]
    hits_of_before = sums[2]
    most = base[0]
    before = base[1]
    for i in range(y.shape[0]):
        code = y[i]
        guess = predicted[i]
        # With late labels the baselines saw what the learner saw, not all rows before.
        if has_baseline:
            most = baseline[i, 0]
            before = baseline[i, 1]
        elif baseline.shape[0]:
            baseline[i, 0] = most
            baseline[i, 1] = before
        # Multiplying by 1 would change no bit, but takes time.
        if alpha != 1.0:
            rows = rows * alpha
            hits_of_most = hits_of_most * alpha
            hits_of_before = hits_of_before * alpha
            for k in range(3, sums.shape[0]):
                sums[k] *= alpha
        weight = 1.0
        if weights.shape[0]:
            weight = weights[i]
        rows += weight
        hits_of_most += weight if most == code else 0.0
        hits_of_before += weight if before == code else 0.0
        sums[3 + code] += weight if guess == code else 0.0
        sums[3 + classes + code] += weight
        sums[3 + 2 * classes + guess] += weight
        # Frozen baselines are those at the end of training, for test rows.
        if not (has_baseline or frozen):
            most = _most_after(code, most, base)
            before = code
        # A point of the curve: the sums as they are now.
        if mark < marks.shape[0] and marks[mark] == i + 1:
            sums[0] = rows
            sums[1] = hits_of_most
            sums[2] = hits_of_before
            copy_numbers(sums, sums_at_marks[mark], sums.shape[0])
            mark += 1
    sums[0] = rows
    sums[1] = hits_of_most
    sums[2] = hits_of_before
    if not has_baseline:
        base[0] = most
        base[1] = before


@compiled
def add_residuals(
    y: Any,
    predicted: Any,
    baseline: Any,
    weights: Any,
    has_baseline: bool,
    base: Any,
    frozen: bool,
    sums: Any,
    alpha: float,
    epsilon: float,
    marks: Any,
    sums_at_marks: Any,
) -> None:
    """Add targets and predictions; the baseline is the mean of the targets so far, in `base`."""
    mark = 0
    for i in range(y.shape[0]):
        if has_baseline:
            mean = baseline[i]
        else:
            mean = base[0]
            if not frozen:
                base[1] += 1.0
                base[0] += (y[i] - mean) / base[1]
            if baseline.shape[0]:
                baseline[i] = mean
        if alpha != 1.0:
            # The mean is no sum: a faded mean would be wrong.
            for k in range(sums.shape[0]):
                if k != MEAN:
                    sums[k] *= alpha
        error = y[i] - predicted[i]
        dull_error = y[i] - mean
        weight = 1.0
        if weights.shape[0]:
            weight = weights[i]
        sums[0] += weight
        sums[ABSOLUTE] += weight * abs(error)
        sums[SQUARED] += weight * (error * error)
        # Welford's form: sum y^2 - n mean^2 would lose all digits where the mean is large.
        away = y[i] - sums[MEAN]
        if weight > 0.0:
            sums[MEAN] += (
                away * (weight / sums[0]) if weights.shape[0] else away / sums[0]
            )
        sums[SPREAD] += weight * (away * (y[i] - sums[MEAN]))
        sums[DULL_ABSOLUTE] += weight * abs(dull_error)
        sums[DULL_SQUARED] += weight * (dull_error * dull_error)
        sums[BEYOND] += weight * max(0.0, abs(error) - epsilon)
        if mark < marks.shape[0] and marks[mark] == i + 1:
            copy_numbers(sums, sums_at_marks[mark], sums.shape[0])
            mark += 1


CLASS_MEASURES = (
    *(
        "accuracy",
        "balanced_accuracy",
        "macro_f1",
        "weighted_f1",
        "macro_precision",
        "macro_recall",
    ),
    *(
        "kappa",
        "kappa_m",
        "kappa_t",
        "true_positive_rate",
        "false_positive_rate",
        "cost",
    ),
    "g_mean",
)
"""In the order of the columns that `measure_classes` fills."""


@compiled
def measure_classes(sums: Any, costs: Any, measures: Any) -> None:
    """Set `measures` to `CLASS_MEASURES`, a row for each of `sums`; NaN for a quotient by 0."""
    classes = (sums.shape[1] - 3) // 3
    for i in range(sums.shape[0]):
        row = sums[i]
        hits = 0.0
        chance = 0.0
        cost = 0.0
        recalls = 0.0
        logs_of_recalls = 0.0
        precisions = 0.0
        f1s = 0.0
        weighted = 0.0
        met = 0.0
        named_classes = 0.0
        for k in range(classes):
            hit = row[3 + k]
            true = row[3 + classes + k]
            guessed = row[3 + 2 * classes + k]
            hits += hit
            chance += true * guessed
            if costs.shape[0]:
                cost += costs[k] * (true - hit)
            if true + guessed > FADED:
                named_classes += 1.0
                f1s += 2.0 * hit / (true + guessed)
                weighted += true * (2.0 * hit / (true + guessed))
                # A class that is never predicted has a precision of 0, as in scikit-learn.
                precisions += hit / guessed if guessed > FADED else 0.0
            if true > FADED:
                met += 1.0
                recalls += hit / true
                # The product of many recalls would fall below the smallest number.
                logs_of_recalls += logarithm(hit / true) if hit > 0.0 else -inf
        measures[i] = nan
        rows = row[0]
        # No row counted, as in a window of rows of weight 0: all measures stay NaN.
        if rows <= 0.0:
            continue
        accuracy = hits / rows
        measures[i, 0] = accuracy
        measures[i, 1] = recalls / met
        measures[i, 2] = f1s / named_classes
        measures[i, 3] = weighted / rows
        measures[i, 4] = precisions / named_classes
        measures[i, 5] = recalls / named_classes
        for place, baseline in (
            (6, chance / (rows * rows)),
            (7, row[1] / rows),
            (8, row[2] / rows),
        ):
            # Otherwise the baseline is never wrong, or its mistakes have faded away.
            if 1.0 - baseline > ROUNDED:
                measures[i, place] = (accuracy - baseline) / (1.0 - baseline)
        if classes == 2:  # in novelty detection class 0 is the novelty
            if row[5] > FADED:
                measures[i, 9] = row[3] / row[5]
            if row[6] > FADED:
                measures[i, 10] = (row[6] - row[4]) / row[6]
        if costs.shape[0]:
            measures[i, 11] = cost / rows
        measures[i, 12] = exponential(logs_of_recalls / met)


RESIDUAL_MEASURES = ("mae", "rmse", "r2", "rmae", "rrmse", "epsilon_loss")
"""In the order of the columns that `measure_residuals` fills."""


@compiled
def measure_residuals(sums: Any, measures: Any) -> None:
    """Set a row of `measures` to `RESIDUAL_MEASURES` per row of `sums`; NaN for a quotient by 0."""
    for i in range(sums.shape[0]):
        row = sums[i]
        rows = row[0]
        squared = row[SQUARED]
        measures[i] = nan
        if rows > 0.0:
            measures[i, 0] = row[ABSOLUTE] / rows
            measures[i, 1] = sqrt(squared / rows)
            measures[i, 5] = row[BEYOND] / rows
        if row[SPREAD] > FADED:
            measures[i, 2] = 1.0 - squared / row[SPREAD]
        if row[DULL_SQUARED] > FADED:
            measures[i, 3] = row[ABSOLUTE] / row[DULL_ABSOLUTE]
            measures[i, 4] = sqrt(squared / row[DULL_SQUARED])


@compiled
def add_to_bins(
    hits: Any,
    probabilities: Any,
    weights: Any,
    sums: Any,
    alpha: float,
    marks: Any,
    sums_at_marks: Any,
) -> None:
    """Add rows to the bins of their probability, from 0 to 1, while sums fade by `alpha`.

    `sums` has the weight of all rows, then for each bin the sum of probabilities less hits.
    """
    bins = sums.shape[0] - 1
    mark = 0
    for i in range(hits.shape[0]):
        if alpha != 1.0:
            for k in range(sums.shape[0]):
                sums[k] *= alpha
        weight = 1.0
        if weights.shape[0]:
            weight = weights[i]
        place = min(bins - 1, int(probabilities[i] * bins))
        sums[0] += weight
        sums[1 + place] += weight * (probabilities[i] - hits[i])
        if mark < marks.shape[0] and marks[mark] == i + 1:
            copy_numbers(sums, sums_at_marks[mark], sums.shape[0])
            mark += 1
