"""What a plan holds: the runs of an experiment, their data, and what they take."""

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
        Optional datasets and learners that could not be had, and why.
    searches : tuple of Search
        What its runs are to choose, where they are those of tuning.
    costs : dict of str to float
        What each run costs, by its id: the numbers it goes through (`EstimatesCost.stream_numbers`)
        as those of a learner that goes through 1e9 in a second.
    held_costs : dict of str to float
        What of it is spent on predicting held-out rows.
    datasets : tuple of PlannedDataset
        In the order of the experiment.
    learners : tuple of PlannedLearner
        Likewise.
    state_bytes : dict of str to int
        How large the model of each run is that may fill the memory, by its id; see
        `EstimatesCost.state_bytes`.
    kept : set of str
        Ids of the runs whose final models are kept.
    ahead : dict of str to tuple of Foresight
        What of a run sees rows before their turn, by its id; only runs of which something does.
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
    ahead: Mapping[str, tuple[Foresight, ...]] = field(default_factory=dict)
