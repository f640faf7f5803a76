"""What run groups are expected to take beside each other, by which the time left is told; no result depends on it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, inf, log
from statistics import fmean

import pyarrow as pa

from olscale.errors import StoreError
from olscale.evaluation.forecast import NUMBERS_A_SECOND, RUN_SECONDS, seconds_of
from olscale.evaluation.run import Run
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_plan import RunPlan
from olscale.evaluation.summed_rows import can_sum
from olscale.execution.progress import Work
from olscale.measures import headline_of
from olscale.results.store import Store

FORECAST_POWER = 0.7
"""The time left is told from forecasts to this power: what was forecast the longest, and comes first, was mostly forecast
too long (``python -m docs.time_left``)."""

MEASURED_POWER = 0.9
"""Likewise where tuning has shown how fast learners are."""


@dataclass(frozen=True)
class Measured:
    """How long runs took beside their forecasts.

    Attributes
    ----------
    ratios : dict
        Seconds over seconds forecast, by learner and fingerprint of the dataset.
    """

    ratios: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def seconds(self, plan: RunPlan, runs: Iterable[Run]) -> float:
        """Return about how long runs take one after another, as far as is known."""
        if not self.ratios:
            return seconds_of(plan, runs)
        usual = exp(fmean(map(log, self.ratios.values())))
        kinds = ((run, (run.learner, run.stream.fingerprint)) for run in runs)
        forecasts = (
            plan.costs.get(run.id, inf) / NUMBERS_A_SECOND * self.ratios.get(kind, usual)
            for run, kind in kinds
        )
        return sum(forecast + RUN_SECONDS for forecast in forecasts)


def measured(store: Store, plan: RunPlan) -> Measured:
    """Return how long the runs of `plan` took to learn that the store has, beside forecasts; nothing if it cannot tell."""
    try:
        ids = pa.chunked_array([sorted(run.id for run in plan.runs)], pa.string())
        table = store.timings("skip", ["id", "timings"], ids)
    except StoreError:
        return Measured()
    speeds = {
        row["id"]: dict(row["timings"] or ()).get("rows_per_second", 0.0)
        for row in table.to_pylist()
    }
    took: dict[tuple[str, str], float] = {}
    forecast: dict[tuple[str, str], float] = {}
    for run in plan.runs:
        if (speed := speeds.get(run.id, 0.0)) > 0.0 and (cost := plan.costs.get(run.id, 0.0)) > 0.0:
            source = plan.sources[run.stream.fingerprint]
            kind = (run.learner, run.stream.fingerprint)
            learned = cost - plan.held_costs.get(run.id, 0.0)
            took[kind] = took.get(kind, 0.0) + source.length(run.stream) / speed
            forecast[kind] = forecast.get(kind, 0.0) + learned / NUMBERS_A_SECOND
    return Measured(
        {kind: seconds / forecast[kind] for kind, seconds in took.items() if seconds > 0.0}
    )


def work_of(
    groups: Sequence[RunGroup], plan: RunPlan, known: Measured, parts: int = 0
) -> dict[str, Work]:
    """Return what there is to do, by the name under which progress is reported; a class shard has a share of the rows.

    So many `parts` run at once; 0 where nobody knows.
    """
    work = {}
    power = MEASURED_POWER if known.ratios else FORECAST_POWER
    for group in groups:
        source = plan.sources[group.runs[0].stream.fingerprint]
        rows = group.rows * len(group.runs)
        # Runs of the same sums learn once.
        learning = group.runs[:1] if can_sum(group.runs[0]) else group.runs
        cost = known.seconds(plan, learning)
        held = _held(group, plan)
        classes = group.shards[-1].stop if group.shards else 1
        for part, own in zip(group.parts(), group.shards or (range(1),), strict=True):
            share = rows * own.stop // classes - rows * own.start // classes
            seconds = cost * len(own) / classes
            work[part.name] = Work(
                share,
                seconds**power,
                group.runs,
                headline_of(source.task),
                held * len(own) // classes,
                seconds / parts if parts and known.ratios else 0.0,
                {run.id: plan.ahead[run.id] for run in group.runs if run.id in plan.ahead},
            )
    return work


def _held(group: RunGroup, plan: RunPlan) -> int:
    """Return in how many row-passes of learning the held-out rows of a group are predicted."""
    held = sum(plan.held_costs.get(run.id, 0.0) for run in group.runs)
    learned = sum(plan.costs.get(run.id, 0.0) for run in group.runs) - held
    return round(group.rows * len(group.runs) * held / learned) if learned else 0
