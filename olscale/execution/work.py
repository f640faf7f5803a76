"""The work of an evaluation: what its run groups cost, for progress reports; no result needs it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from olscale.evaluation.forecast import NUMBERS_A_SECOND, RUN_SECONDS
from olscale.evaluation.run import Run
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_plan import RunPlan
from olscale.evaluation.summed_rows import can_sum
from olscale.learners.foresight import Foresight
from olscale.measures import headline_of


class Work(NamedTuple):
    """The size of a run group, or of a class shard.

    Attributes
    ----------
    rows : int
        Row-passes: one row learned by one learner is one.
    cost : float
        Relative time of these rows, in any unit.
    runs : tuple of Run
        Its runs.
    metric : str
        The displayed measure.
    held : int
        Cost of predicting the held-out rows at the end, in row-passes of learning.
    costs : tuple of float
        Parts of `cost`, by run.
    begun : int
        Row-passes of the checkpoint that it continues from.
    ahead : mapping of str to tuple of Foresight
        Parts of its runs that see rows before their turn, by run id.
    labels : mapping of str to (str, str)
        What the experiment calls the dataset and the learner of its runs, by run id.
    """

    rows: int
    cost: float
    runs: tuple[Run, ...] = ()
    metric: str = "cumulative_error"
    held: int = 0
    costs: tuple[float, ...] = ()
    begun: int = 0
    ahead: Mapping[str, tuple[Foresight, ...]] = MappingProxyType({})
    labels: Mapping[str, tuple[str, str]] = MappingProxyType({})


def work_of(
    groups: Sequence[RunGroup], plan: RunPlan, begun: Mapping[str, int]
) -> dict[str, Work]:
    """Return the work to do by its name in progress reports; class shards share the rows.

    `begun` has the row-passes of the checkpoints that groups continue from, by their names.
    """
    work = {}
    labels = plan.labels
    for group in groups:
        source = plan.sources[group.runs[0].stream.fingerprint]
        rows = group.rows * len(group.runs)
        seconds = _seconds(group, plan)
        held = _held(group, plan)
        classes = group.shards[-1].stop if group.shards else 1
        # Bounds computed from totals make the shares add up to the rows exactly.
        for part, classes_of_part in zip(
            group.parts(), group.shards or (range(1),), strict=True
        ):
            share = (
                rows * classes_of_part.stop // classes
                - rows * classes_of_part.start // classes
            )
            costs = tuple(second * len(classes_of_part) / classes for second in seconds)
            work[part.name] = Work(
                share,
                sum(costs),
                group.runs,
                headline_of(source.task),
                held * len(classes_of_part) // classes,
                costs,
                begun.get(part.name, 0),
                {
                    run.id: plan.ahead[run.id]
                    for run in group.runs
                    if run.id in plan.ahead
                },
                {run.id: labels.of(run) for run in group.runs},
            )
    return work


def _seconds(group: RunGroup, plan: RunPlan) -> list[float]:
    """Return the estimated seconds of each run of a group."""
    costs = [plan.costs.get(run.id, 0.0) for run in group.runs]
    if can_sum(group.runs[0]):
        # Runs with the same sums learn once.
        costs = [costs[0] / len(costs)] * len(costs)
    return [cost / NUMBERS_A_SECOND + RUN_SECONDS for cost in costs]


def _held(group: RunGroup, plan: RunPlan) -> int:
    """Return the prediction of a group's held-out rows in row-passes of learning."""
    held = sum(plan.held_costs.get(run.id, 0.0) for run in group.runs)
    learned = sum(plan.costs.get(run.id, 0.0) for run in group.runs) - held
    return round(group.rows * len(group.runs) * held / learned) if learned else 0
