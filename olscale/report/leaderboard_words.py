"""Words of leaderboards: heads of columns, and why differences are not tested."""

from __future__ import annotations

import math
from collections.abc import Mapping

from olscale.analysis.rank_tests import ALPHA
from olscale.measures import measure_of, metric_words

ALIKE = "~ does not differ significantly from the best of the column (corrected p above 0.05)."
"""What the sign next to a figure means."""


def column_words(metric: str) -> str:
    """Return the words at the head of a column."""
    words = metric_words(metric)
    return f"{words} %" if measure_of(metric).unit == "percent" else words


def untested_notes(reasons: Mapping[str, None]) -> list[str]:
    """Return why differences of some columns are not tested, in one sentence."""
    if not reasons:
        return []
    return [f"Not tested: {'; '.join(reasons)}."]


def least_blocks(pairs: int) -> int:
    """Return how many blocks Wilcoxon's test needs to find a difference in one of several pairs.

    Of n blocks the least p is 2 / 2 ** n, and Holm's correction multiplies it by the pairs.

    Examples
    --------
    >>> least_blocks(1), least_blocks(3)
    (6, 7)
    """
    return 1 + math.ceil(math.log2(pairs / ALPHA))


def too_few(blocks: int, of_what: str, pairs: int) -> str:
    """Say that so few blocks find no difference, however clear it is."""
    return (
        f"with {blocks} {of_what} no difference between {pairs + 1} learners reaches a corrected p "
        f"of {ALPHA}; at least {least_blocks(pairs)} are needed"
    )
