"""How much each parameter of a search explains of what its candidates reached."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from olscale.arrays import IntArray
from olscale.results import canonical_json

LEAST = 8
"""Least candidates by which anything is said."""

_BINS = 5
"""Most groups of the values of a number."""


def importance(
    params: Sequence[Mapping[str, Any]], errors: Sequence[float], names: Sequence[str]
) -> dict[str, float]:
    """Return the share of the spread of the errors' ranks that each parameter explains by itself.

    It is epsilon squared of an analysis of variance by ranks: what is between the values of the
    parameter, less what chance puts there. Ranks, since one candidate that diverged would be all of
    the spread. What two parameters do together is in no share, so these need not add up to one.

    Parameters
    ----------
    params : sequence of mapping
        Parameters of each candidate.
    errors : sequence of float
        What each candidate reached.
    names : sequence of str
        Parameters to look at.

    Returns
    -------
    dict of str to float
        By name, from 0 to 1; empty with fewer than eight candidates, or if all are the same.

    References
    ----------
    T. L. Kelley, An unbiased correlation ratio measure, Proceedings of the National Academy of
    Sciences 21, 1935.

    Examples
    --------
    >>> grid = [{"C": C, "eta": eta} for C in (0.1, 1.0, 10.0) for eta in (1, 2, 3)]
    >>> errors = [abs(one["C"] - 1.0) for one in grid]
    >>> importance(grid, errors, ["C", "eta"])
    {'C': 1.0, 'eta': 0.0}
    """
    from scipy.stats import rankdata

    if len(errors) < LEAST:
        return {}
    ranks = rankdata(errors)
    deviations = ranks - ranks.mean()
    total = float((deviations**2).sum())
    if total == 0.0:
        return {}
    shares = {}
    for name in names:
        groups = _groups([of_point.get(name) for of_point in params])
        count = int(groups.max()) + 1
        within = 0.0
        for i in range(count):
            of_group = ranks[groups == i]
            distances = of_group - of_group.mean()
            within += float((distances**2).sum())
        by_chance = (count - 1) * within / max(1, len(ranks) - count)
        shares[name] = max(0.0, (total - within - by_chance) / total)
    return shares


def _groups(values: Sequence[Any]) -> IntArray:
    """Return the group number of each value: its own, or of many numbers one of five bins."""
    texts = [canonical_json(value) for value in values]
    distinct = dict.fromkeys(texts)
    are_numbers = all(
        isinstance(value, int | float) and not isinstance(value, bool)
        for value in values
    )
    if are_numbers and len(distinct) > _BINS:
        shares = np.linspace(0, 1, _BINS + 1)
        numbers = np.array(values, float)
        edges = np.quantile(numbers, shares[1:-1])
        bins = np.searchsorted(edges, numbers)
        _, groups = np.unique(bins, return_inverse=True)
    else:
        places = {text: i for i, text in enumerate(distinct)}
        groups = np.array([places[text] for text in texts])
    return groups.astype(np.int64)
