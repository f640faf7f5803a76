"""Forecasts before runs start: which take long, and which do not fit into a worker's memory."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from olscale.errors import ParameterError
from olscale.evaluation.run import Run
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_plan import RunLabels, RunPlan
from olscale.learners.contract.cost import cost_of
from olscale.learners.registry import ask, is_ours, make_learner

NUMBERS_A_SECOND = 1e9
"""Number of operations that a core performs per second; plans count costs in operations.

Accurate within a small factor: the state of a large model comes from memory.
"""

ROW_NUMBERS = 10
"""Cost of a row in addition to that of the learner: it is passed on, and its score counted."""

LONG_SECONDS = 600.0
"""Seconds above which a run is announced."""


RUN_SECONDS = 0.0005
"""Seconds of a run in addition to its learning, where it shares its file of records with others."""

BUNDLED_SECONDS = 0.00025
"""The same of a run that shares its rows as well; their group takes as much."""


def short_seconds(plan: RunPlan, missing: Sequence[Run]) -> float:
    """Return the approximate total seconds of the runs; infinite if a learner is external.

    An external learner may crash or never return, and is then ended with its worker.
    """
    if not all(is_ours(run.learner) for run in missing):
        return inf
    return seconds_of(plan, missing)


def seconds_of(plan: RunPlan, runs: Iterable[Run]) -> float:
    """Return approximately how long the runs take one after another."""
    return sum(
        plan.costs.get(run.id, inf) / NUMBERS_A_SECOND + RUN_SECONDS for run in runs
    )


def bundled_seconds(plan: RunPlan, group: RunGroup) -> float:
    """Return approximately how long a group takes in a bundle, which shares a file and a task."""
    learning = sum(plan.costs.get(run.id, inf) for run in group.runs) / NUMBERS_A_SECOND
    return learning + BUNDLED_SECONDS * (1 + len(group.runs))


def long_runs(plan: RunPlan, missing: Sequence[Run]) -> Iterator[str]:
    """Yield a line for each learner and dataset whose `missing` runs take long, with a way out."""
    labels = plan.labels
    groups: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for run in missing:
        if plan.costs.get(run.id, 0.0) > LONG_SECONDS * NUMBERS_A_SECOND:
            groups[run.learner, str(run.params), run.stream.fingerprint].append(run)
    for runs in groups.values():
        first = runs[0]
        rows = plan.sources[first.stream.fingerprint].length(first.stream)
        # Permutations of one learner take the same time, so one line stands for all.
        cost = max(plan.costs[run.id] for run in runs)
        numbers = (
            cost
            * make_learner(first.learner, first.params).numbers_per_second
            / NUMBERS_A_SECOND
        )
        yield (
            f"{labels.learner(first)} on {labels.dataset(first)} may take "
            f"{_duration(cost / NUMBERS_A_SECOND)} a run"
            f" ({len(runs)} {'run' if len(runs) == 1 else 'runs'}): it goes through "
            f"{numbers / max(1, rows):.2g} numbers"
            f" for each of {rows:,} rows{_cheaper(first)}"
        )


def check_workers(
    missing: Sequence[Run],
    bytes_of: Mapping[str, int],
    memory: float,
    labels: RunLabels,
) -> None:
    """Refuse runs whose model alone exceeds the `memory` of a worker, in bytes.

    Each attempt at such a run would end its worker.

    Raises
    ------
    ParameterError
        States both sizes and what to do instead.
    """
    for run in missing:
        size = bytes_of.get(run.id, 0)
        if size > memory:
            raise ParameterError(
                f"learner {labels.learner(run)} on {labels.dataset(run)}: its model takes "
                f"{size / 1e9:.3g} GB, a worker has {memory / 1e9:.3g} GB; use fewer "
                f"workers{_cheaper(run)}"
            )


def _cheaper(run: Run) -> str:
    cost = cost_of(make_learner(run.learner, run.params))
    cheaper = ask(run.learner, "cheaper", cost.cheaper)
    if not cheaper:
        return ""
    return f"; {cheaper}"


def _duration(seconds: float) -> str:
    if seconds < 5400.0:
        return f"{seconds / 60.0:.0f} min"
    hours = seconds / 3600.0
    if hours < 72.0:
        return f"{hours:.0f} h"
    return f"{hours / 24.0:,.0f} days"
