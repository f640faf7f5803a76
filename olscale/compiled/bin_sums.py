"""Sums over rows in bins of their probability, added up row by row."""

from typing import Any

from olscale.compiled.copies import copy_numbers
from olscale.compiled.decorator import compiled


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
