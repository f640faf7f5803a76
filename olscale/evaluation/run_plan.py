"""The contents of a plan: the runs of an experiment, their data and their costs."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from olscale.evaluation.run import Run
from olscale.evaluation.run_group import StreamSource
from olscale.evaluation.search import Search
from olscale.learners.foresight import Foresight
from olscale.results.plans import LeftOut, PlannedDataset, PlannedLearner


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
    models : dict of str to str
        Paths of the saved models that runs begin with, by digest.
    ahead : dict of str to tuple of Foresight
        Parts of a run that see rows before their turn, by its id; only runs with such parts.
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
    models: Mapping[str, str] = field(default_factory=dict)
    ahead: Mapping[str, tuple[Foresight, ...]] = field(default_factory=dict)
