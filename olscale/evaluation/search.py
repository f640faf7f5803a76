"""A search: the parameters to be tuned for one learner on one dataset, and the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from statistics import fmean
from typing import Any

from olscale.evaluation.run import Run
from olscale.measures import distance_from_best
from olscale.results.record import run_id
from olscale.results.selections import Point, Selection


@dataclass(frozen=True, slots=True)
class Search:
    """The candidates for the parameters of a learner on a dataset.

    Attributes
    ----------
    dataset : dict
        Name and fingerprint.
    transforms : tuple of str
    learner : dict
        Name, version and fixed parameters.
    grid : dict of str to list
        Values of the tuned parameters.
    protocol : dict
        How candidates are compared: split, folds, seed and metric.
    points : tuple of dict
        The candidates: all parameters, in canonical form.
    runs : tuple of tuple of Run
        The runs of each candidate.
    """

    dataset: Mapping[str, str]
    transforms: tuple[str, ...]
    learner: Mapping[str, Any]
    grid: Mapping[str, list[Any]]
    protocol: Mapping[str, Any]
    points: tuple[Mapping[str, Any], ...]
    runs: tuple[tuple[Run, ...], ...] = field(default=(), hash=False)

    def definition(self) -> dict[str, Any]:
        """Return everything that the choice depends on as plain JSON values."""
        return {
            "dataset": dict(self.dataset),
            "transforms": list(self.transforms),
            "learner": dict(self.learner),
            "grid": dict(self.grid),
            "protocol": dict(self.protocol),
        }

    @property
    def id(self) -> str:
        """Content hash of the definition, in 32 hexadecimal digits."""
        return run_id(self.definition())

    def over(self, runs: Sequence[Sequence[Run]]) -> Search:
        """Return this search with the runs of its candidates."""
        return replace(self, runs=tuple(map(tuple, runs)))

    def untried(self) -> Selection:
        """Return the first candidate as if it were chosen, to check that a plan can be made."""
        return Selection(self.definition(), self.id, (), self.points[0])

    def choose(self, errors: Mapping[str, float | None]) -> Selection:
        """Return the candidate with the best mean; the first of equal ones.

        Parameters
        ----------
        errors : mapping of str to float or None
            The metric of each run by id, None if it failed or has none. The best mean is the least
            where less is better. A candidate with a failed part is out. If all candidates failed,
            the first is chosen, so that the results show its failure.
        """
        points = []
        for params, runs in zip(self.points, self.runs, strict=True):
            results = [errors[run.id] for run in runs]
            good = [error for error in results if error is not None]
            mean = fmean(good) if len(good) == len(results) else None
            points.append(Point(dict(params), mean, len(results) - len(good)))
        metric = self.protocol["metric"]
        best = min(
            points,
            key=lambda point: (
                inf if point.error is None else distance_from_best(metric, point.error)
            ),
        )
        return Selection(self.definition(), self.id, tuple(points), best.params)
