"""A threshold of probabilities that follows the F1 of its own decisions."""

from typing import Any

from olscale.arrays import FloatArray, IntArray
from olscale.compiled.decorator import compiled

# Half the F1 so far: the best cut of a histogram of scores was worse on eight of nine
# streams.

MEMORY = 0.9995
"""Fading of what the threshold knows, of about 2,000 rows."""

BOTH, EITHER = range(2)
"""Places in the sums: rows found rightly, and rows found plus rows to be found."""


@compiled
def follow_f1(
    probabilities: FloatArray,
    y: IntArray,
    weights: FloatArray,
    positive: int,
    sums: FloatArray,
    codes: IntArray,
) -> None:
    """Set `codes` to decisions for two classes, and learn each row with a label after that.

    Rows from ``len(y)`` on have no label, nor have rows of a negative code. `weights` is empty if
    all rows count alike.
    """
    for i in range(probabilities.shape[0]):
        chosen: Any = probabilities[i, positive] > sums[BOTH] / sums[EITHER]
        codes[i] = positive
        if not chosen:
            codes[i] = 1 - positive
        if i >= y.shape[0] or y[i] < 0:
            continue
        weight = 1.0
        if weights.shape[0]:
            weight = weights[i]
        true = y[i] == positive
        sums[BOTH] *= MEMORY
        sums[EITHER] *= MEMORY
        if chosen and true:
            sums[BOTH] += weight
        # Their F1 is twice the quotient: a row that is both counts twice below.
        if chosen:
            sums[EITHER] += weight
        if true:
            sums[EITHER] += weight
