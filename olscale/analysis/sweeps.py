"""A metric as a function of one or two parameters of a learner, everything else fixed."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.analysis.summary import Summary
from olscale.measures import distance_from_best
from olscale.results import canonical_json
from olscale.results.settings import SettingKey

LEAST = 3
"""Values of a parameter that make a sweep."""


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """A metric over a grid of one or two parameters.

    Parameters
    ----------
    summary : Summary
        The best setting on the grid, by its mean.
    names : tuple of str
        Parameters.
    values : tuple of tuple of float
        Their values, ascending.
    mean, std : float64 array of shape (n_values,) or (n_first, n_second)
        Mean and sample standard deviation over replicates; NaN where the store has none.
    """

    summary: Summary
    names: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]


def sweep(summaries: Iterable[Summary], *names: str) -> Sweep | None:
    """Return the sweep over `names` that has most points, and of several the one that holds the least mean.

    Parameters
    ----------
    summaries : iterable of Summary
        One metric of one learner on one dataset under one protocol.
    *names : str
        One or two parameters with numbers as values.

    Returns
    -------
    Sweep or None
        None unless there are three values of each parameter and runs on three quarters of the grid.

    Examples
    --------
    >>> made = lambda C, mean: Summary("d", "f", (), "pa1", "1", {"C": C}, {}, "test_error", mean, 0.0, 1)
    >>> found = sweep([made(1.0, 0.2), made(0.25, 0.3), made(4.0, 0.4)], "C")
    >>> found.values, found.mean.tolist(), found.summary.params
    (((0.25, 1.0, 4.0),), [0.3, 0.2, 0.4], {'C': 1.0})
    """
    by_rest: dict[str, list[Summary]] = defaultdict(list)
    for summary in summaries:
        if summary.n and all(_is_number(summary.params.get(name)) for name in names):
            rest = {name: value for name, value in summary.params.items() if name not in names}
            by_rest[canonical_json(rest)].append(summary)
    found = [
        made for _, group in sorted(by_rest.items()) if (made := _grid(group, names)) is not None
    ]
    return min(
        found, key=lambda made: (-np.isfinite(made.mean).sum(), _rank(made.summary)), default=None
    )


def _grid(group: list[Summary], names: tuple[str, ...]) -> Sweep | None:
    values = tuple(
        tuple(sorted({float(summary.params[name]) for summary in group})) for name in names
    )
    mean = np.full([len(of) for of in values], np.nan)
    if min(mean.shape) < LEAST or 4 * len(group) < 3 * mean.size:
        return None
    std = mean.copy()
    for summary in group:
        place = tuple(
            of.index(float(summary.params[name])) for name, of in zip(names, values, strict=True)
        )
        mean[place], std[place] = summary.mean, summary.std
    return Sweep(min(group, key=_rank), names, values, mean, std)


def _rank(summary: Summary) -> float:
    return distance_from_best(summary.metric, summary.mean)


def find_sweeps(summaries: Iterable[Summary]) -> list[Sweep]:
    """Return every sweep over one parameter, and over each two, that a list of summaries of one metric holds."""
    groups: dict[SettingKey, list[Summary]] = defaultdict(list)
    for s in summaries:
        kind = s.key._replace(params="")
        groups[kind].append(s)
    found = []
    for group in groups.values():
        params = [summary.params for summary in group]
        values = {
            name: {of[name] for of in params if _is_number(of.get(name))}
            for name in sorted(params[0])
        }
        varied = [name for name, numbers in values.items() if len(numbers) >= LEAST]
        choices = [(name,) for name in varied] + list(combinations(varied, 2))
        found += [made for names in choices if (made := sweep(group, *names)) is not None]
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
