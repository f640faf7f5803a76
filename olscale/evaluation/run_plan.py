"""What a plan holds: the runs of an experiment, their searches, data, names and costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from math import inf
from statistics import fmean
from typing import Any

from olscale.evaluation.experiment import Experiment
from olscale.evaluation.experiment_sections import LearnerSpec
from olscale.evaluation.run import Run
from olscale.evaluation.run_group import StreamSource
from olscale.learners.contract.learner import Learner
from olscale.learners.foresight import Foresight
from olscale.learners.registry import ask
from olscale.measures import distance_from_best
from olscale.results.plans import LeftOut, PlannedDataset, PlannedLearner
from olscale.results.record import run_id
from olscale.results.selections import Point, Selection
from olscale.storage.canonical_json import canonical_json


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
    grid : dict of str to list or dict
        Values or ranges of the tuned parameters.
    protocol : dict
        How candidates are compared: split, folds, seed and metric.
    points : tuple of dict
        The candidates: all parameters, in canonical form.
    runs : tuple of tuple of Run
        The runs of each candidate that is left, on its rung.
    shares : tuple of float
        Share of the stream that candidates learn on each rung; one rung unless by halving.
    rung : int
        Number of the rung, from 0.
    dropped : dict of int to Point
        Candidates that earlier rungs left behind, by position, with their results there.
    """

    dataset: Mapping[str, str]
    transforms: tuple[str, ...]
    learner: Mapping[str, Any]
    grid: Mapping[str, Any]
    protocol: Mapping[str, Any]
    points: tuple[Mapping[str, Any], ...]
    runs: tuple[tuple[Run, ...], ...] = field(default=(), hash=False)
    shares: tuple[float, ...] = (1.0,)
    rung: int = 0
    dropped: Mapping[int, Point] = field(default_factory=dict, hash=False)

    @property
    def left(self) -> list[int]:
        """Positions of the candidates on this rung."""
        return [i for i in range(len(self.points)) if i not in self.dropped]

    @property
    def is_last_rung(self) -> bool:
        """Whether this rung decides."""
        return self.rung + 1 == len(self.shares)

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
        compared = self._compared(errors)
        best = min(compared, key=lambda i: (self._distance(compared[i]), i))
        points = {**self.dropped, **compared}
        in_order = tuple(points[i] for i in range(len(self.points)))
        return Selection(self.definition(), self.id, in_order, compared[best].params)

    def halved(self, errors: Mapping[str, float | None]) -> Search:
        """Return the search on its next rung: the better half of the candidates, rounded up.

        Parameters
        ----------
        errors : mapping of str to float or None
            As for `choose`.
        """
        compared = self._compared(errors)
        ranked = sorted(compared, key=lambda i: (self._distance(compared[i]), i))
        behind = {i: compared[i] for i in ranked[-(-len(ranked) // 2) :]}
        return replace(
            self, runs=(), rung=self.rung + 1, dropped={**self.dropped, **behind}
        )

    def _distance(self, point: Point) -> float:
        if point.error is None:
            return inf
        return distance_from_best(self.protocol["metric"], point.error)

    def _compared(self, errors: Mapping[str, float | None]) -> dict[int, Point]:
        """Return the results of the candidates on this rung, by position."""
        compared = {}
        for i, runs in zip(self.left, self.runs, strict=True):
            results = [errors[run.id] for run in runs]
            good = [error for error in results if error is not None]
            mean = None
            if len(good) == len(results):
                mean = fmean(good)
            failed = len(results) - len(good)
            compared[i] = Point(
                dict(self.points[i]), mean, failed, self.shares[self.rung]
            )
        return compared


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The runs of an experiment.

    Attributes
    ----------
    name : str
        The experiment's name.
    runs : tuple of Run
        Every run once.
    sources : dict of str to StreamSource
        The datasets, by fingerprint.
    left_out : tuple of LeftOut
        Optional datasets and learners that were unavailable, and why.
    searches : tuple of Search
        The searches that the runs decide, if they are runs of tuning.
    costs : dict of str to float
        Cost of each run, by its id: the numbers it processes (`EstimatesCost.stream_numbers`),
        scaled to a learner that processes 1e9 per second.
    held_costs : dict of str to float
        The part of the cost spent on predicting held-out rows.
    datasets : tuple of PlannedDataset
        In the order of the experiment.
    learners : tuple of PlannedLearner
        In the order of the experiment.
    state_bytes : dict of str to int
        Model size of each run that may fill the memory, by its id; see
        `EstimatesCost.state_bytes`.
    kept : set of str
        Ids of the runs whose final models are kept.
    pickles : bool
        Whether kept models may be pickles.
    unsaved : dict of str to str
        Why no model is kept of a run whose learner cannot be saved, by its id.
    models : dict of str to str
        Paths of the saved models that runs begin with, by digest.
    ahead : dict of str to tuple of Foresight
        Parts of a run that see rows before their turn, by its id; only runs with such parts.
    restarting : set of str
        Learners whose runs start again after an interruption: no checkpoint can hold them.
    """

    name: str
    runs: tuple[Run, ...]
    sources: dict[str, StreamSource]
    left_out: tuple[LeftOut, ...] = ()
    searches: tuple[Search, ...] = ()
    costs: Mapping[str, float] = field(default_factory=dict)
    held_costs: Mapping[str, float] = field(default_factory=dict)
    datasets: tuple[PlannedDataset, ...] = ()
    learners: tuple[PlannedLearner, ...] = ()
    state_bytes: Mapping[str, int] = field(default_factory=dict)
    kept: AbstractSet[str] = frozenset()
    pickles: bool = False
    unsaved: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    ahead: Mapping[str, tuple[Foresight, ...]] = field(default_factory=dict)
    restarting: AbstractSet[str] = frozenset()

    @property
    def labels(self) -> RunLabels:
        """What the experiment calls the datasets and learners of its runs."""
        return RunLabels(self.datasets, self.learners)


class RunLabels:
    """What an experiment calls the datasets and learners of its runs.

    Parameters
    ----------
    datasets : iterable of PlannedDataset
    learners : iterable of PlannedLearner
    """

    def __init__(
        self, datasets: Iterable[PlannedDataset], learners: Iterable[PlannedLearner]
    ) -> None:
        self._datasets = {
            (dataset.name, dataset.fingerprint, dataset.transforms): dataset.label
            for dataset in datasets
        }
        self._learners: dict[tuple[str, str, str], str] = {}
        for learner in learners:
            key = (learner.name, learner.version, canonical_json(dict(learner.params)))
            self._learners.setdefault(key, learner.label)
        self._has_labels = any(self._learners.values())

    def dataset(self, run: Run) -> str:
        """Return the label of a run's dataset, or its name."""
        stream = run.stream
        label = self._datasets.get(
            (stream.dataset, stream.fingerprint, stream.transforms)
        )
        return label or stream.dataset

    def learner(self, run: Run) -> str:
        """Return the label of a run's learner, or its name."""
        # Most experiments have no labels, and parameters of ten thousand runs take time to write.
        if not self._has_labels:
            return run.learner
        key = (run.learner, str(run.version), canonical_json(run.params))
        return self._learners.get(key) or run.learner

    def of(self, run: Run) -> tuple[str, str]:
        """Return both."""
        return self.dataset(run), self.learner(run)


class Roster:
    """Datasets and learners of an experiment in its order, under their displayed names."""

    def __init__(self, experiment: Experiment) -> None:
        self._specs = experiment.learners
        self.datasets: list[PlannedDataset] = []
        self._learners: dict[tuple[int, str, str], PlannedLearner] = {}

    def enter(
        self, dataset: PlannedDataset, spec: LearnerSpec, learner: Learner
    ) -> None:
        """Note that a learner runs on a dataset."""
        if dataset not in self.datasets:
            self.datasets.append(dataset)
        params = ask(spec.name, "resolved_params", learner.resolved_params)
        key = (self._specs.index(spec), str(learner.version), canonical_json(params))
        planned = self._learners.get(key) or PlannedLearner(
            spec.name,
            key[1],
            params,
            (),
            spec.label or "",
        )
        met = dict.fromkeys((*planned.datasets, self.datasets.index(dataset)))
        self._learners[key] = replace(planned, datasets=tuple(met))

    def learners(self) -> tuple[PlannedLearner, ...]:
        """Return the learners in the order of the experiment, with all their settings."""
        in_order = sorted(self._learners.items(), key=lambda item: item[0][0])
        return tuple(learner for _, learner in in_order)
