"""Expected times of run groups, for the time left in progress reports; no result needs them."""

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
"""Power of forecasts in the time left: the longest forecasts, which come first, are mostly too
long (``python -m docs.time_left``).
"""

MEASURED_POWER = 0.9
"""The power once tuning has shown how fast the learners are."""


@dataclass(frozen=True)
class Measured:
    """How long runs took relative to their forecasts.

    Attributes
    ----------
    ratios : dict
        Seconds divided by forecast seconds, by learner and fingerprint of the dataset.
    """

    ratios: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def seconds(self, plan: RunPlan, runs: Iterable[Run]) -> float:
        """Return approximately how long runs take one after another, as far as is known."""
        if not self.ratios:
            return seconds_of(plan, runs)
        # Kinds without measurements take the geometric mean: ratios of speeds multiply.
        usual = exp(fmean(map(log, self.ratios.values())))
        kinds = ((run, (run.learner, run.stream.fingerprint)) for run in runs)
        forecasts = (
            plan.costs.get(run.id, inf) / NUMBERS_A_SECOND * self.ratios.get(kind, usual)
            for run, kind in kinds
        )
        return sum(forecast + RUN_SECONDS for forecast in forecasts)


def measured(store: Store, plan: RunPlan) -> Measured:
    """Return the times of stored runs of `plan` relative to forecasts; empty if unknown."""
    try:
        ids = pa.chunked_array([sorted(run.id for run in plan.runs)], pa.string())
        # Times are only a help: without them the forecasts serve.
        table = store.timings("skip", ["id", "timings"], ids)
    except StoreError:
        return Measured()
    speeds = {
        row["id"]: dict(row["timings"] or ()).get("rows_per_second", 0.0)
        for row in table.to_pylist()
    }
    seconds_of_kind: dict[tuple[str, str], float] = {}
    forecast: dict[tuple[str, str], float] = {}
    for run in plan.runs:
        if (speed := speeds.get(run.id, 0.0)) > 0.0 and (cost := plan.costs.get(run.id, 0.0)) > 0.0:
            source = plan.sources[run.stream.fingerprint]
            kind = (run.learner, run.stream.fingerprint)
            learned = cost - plan.held_costs.get(run.id, 0.0)
            seconds_of_kind[kind] = (
                seconds_of_kind.get(kind, 0.0) + source.length(run.stream) / speed
            )
            forecast[kind] = forecast.get(kind, 0.0) + learned / NUMBERS_A_SECOND
    return Measured(
        {
            kind: seconds / forecast[kind]
            for kind, seconds in seconds_of_kind.items()
            if seconds > 0.0
        }
    )


def work_of(
    groups: Sequence[RunGroup], plan: RunPlan, known: Measured, parts: int = 0
) -> dict[str, Work]:
    """Return the work to do by its name in progress reports; class shards share the rows.

    `parts` of it run at once; 0 if unknown.
    """
    work = {}
    power = MEASURED_POWER if known.ratios else FORECAST_POWER
    for group in groups:
        source = plan.sources[group.runs[0].stream.fingerprint]
        rows = group.rows * len(group.runs)
        # Runs with the same sums learn once.
        learning = group.runs[:1] if can_sum(group.runs[0]) else group.runs
        cost = known.seconds(plan, learning)
        held = _held(group, plan)
        classes = group.shards[-1].stop if group.shards else 1
        # Bounds computed from totals make the shares add up to the rows exactly.
        for part, classes_of_part in zip(group.parts(), group.shards or (range(1),), strict=True):
            share = rows * classes_of_part.stop // classes - rows * classes_of_part.start // classes
            seconds = cost * len(classes_of_part) / classes
            work[part.name] = Work(
                share,
                seconds**power,
                group.runs,
                headline_of(source.task),
                held * len(classes_of_part) // classes,
                seconds / parts if parts and known.ratios else 0.0,
                {run.id: plan.ahead[run.id] for run in group.runs if run.id in plan.ahead},
            )
    return work


def _held(group: RunGroup, plan: RunPlan) -> int:
    """Return the prediction of a group's held-out rows in row-passes of learning."""
    held = sum(plan.held_costs.get(run.id, 0.0) for run in group.runs)
    learned = sum(plan.costs.get(run.id, 0.0) for run in group.runs) - held
    return round(group.rows * len(group.runs) * held / learned) if learned else 0
