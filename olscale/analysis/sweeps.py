"""A metric as a function of one or two parameters of a learner, everything else fixed."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from olscale.analysis.summary import Summary
from olscale.arrays import FloatArray
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
    mean: FloatArray
    std: FloatArray


def sweep(summaries: Iterable[Summary], *names: str) -> Sweep | None:
    """Return the sweep over `names` that has most points; of equals, the one with the best mean.

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
    >>> setting = ("d", "f", (), "pa1", "1")
    >>> errors = {1.0: 0.2, 0.25: 0.3, 4.0: 0.4}
    >>> of_C = []
    >>> for C, error in errors.items():
    ...     of_C.append(Summary(*setting, {"C": C}, {}, "test_error", error, 0.0, 1))
    >>> best = sweep(of_C, "C")
    >>> best.values, best.mean.tolist(), best.summary.params
    (((0.25, 1.0, 4.0),), [0.3, 0.2, 0.4], {'C': 1.0})
    """
    by_fixed: dict[str, list[Summary]] = defaultdict(list)
    for summary in summaries:
        varied = [summary.params.get(name) for name in names]
        if summary.n and all(map(_is_number, varied)):
            fixed = {
                name: value
                for name, value in summary.params.items()
                if name not in names
            }
            by_fixed[canonical_json(fixed)].append(summary)
    sweeps = []
    for _, group in sorted(by_fixed.items()):
        grid = _grid(group, names)
        if grid is not None:
            sweeps.append(grid)
    return min(sweeps, key=_points_and_best, default=None)


def _points_and_best(grid: Sweep) -> tuple[int, float]:
    """Return a sort key: the sweep with most points comes first, then that with the best mean."""
    points = int(np.isfinite(grid.mean).sum())
    return -points, _distance(grid.summary)


def _grid(group: list[Summary], names: tuple[str, ...]) -> Sweep | None:
    values = []
    for name in names:
        numbers = {float(summary.params[name]) for summary in group}
        values.append(tuple(sorted(numbers)))
    # A grid with a quarter of its points missing is still drawn.
    mean = np.full([len(axis) for axis in values], np.nan)
    if min(mean.shape) < LEAST:
        return None
    if 4 * len(group) < 3 * mean.size:
        return None
    std = mean.copy()
    for summary in group:
        place = tuple(
            axis.index(float(summary.params[name]))
            for name, axis in zip(names, values, strict=True)
        )
        mean[place] = summary.mean
        std[place] = summary.std
    return Sweep(
        summary=min(group, key=_distance),
        names=names,
        values=tuple(values),
        mean=mean,
        std=std,
    )


def _distance(summary: Summary) -> float:
    return distance_from_best(summary.metric, summary.mean)


def find_sweeps(summaries: Iterable[Summary]) -> list[Sweep]:
    """Return every sweep over one or two parameters that summaries of one metric hold."""
    groups: dict[SettingKey, list[Summary]] = defaultdict(list)
    for summary in summaries:
        groups[summary.key._replace(params="")].append(summary)
    sweeps = []
    for group in groups.values():
        varied = _varied(group)
        for names in [
            *((name,) for name in varied),
            *combinations(varied, 2),
        ]:
            best = sweep(group, *names)
            if best is not None:
                sweeps.append(best)
    return sweeps


def _varied(group: list[Summary]) -> list[str]:
    """Return the parameters with enough values."""
    params = [summary.params for summary in group]
    varied = []
    for name in sorted(params[0]):
        values = {
            values_of[name] for values_of in params if _is_number(values_of.get(name))
        }
        if len(values) >= LEAST:
            varied.append(name)
    return varied


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
