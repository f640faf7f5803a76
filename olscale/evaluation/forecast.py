"""Forecasts before runs start: which take long, and which do not fit into a worker's memory.

Learners whose cost depends on the rows learn a few of them first: a pilot corrects the estimate.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from olscale.compiled.csr import values_of
from olscale.data.chunk import Chunk, join_chunks
from olscale.data.stream import Stream, open_streams
from olscale.errors import ParameterError
from olscale.evaluation.run import Run
from olscale.evaluation.run_group import RunGroup, StreamSource
from olscale.evaluation.run_plan import RunPlan
from olscale.evaluation.stream_transforms import StreamTransforms
from olscale.learners.contract.capability import expect_targets, looks_ahead
from olscale.learners.contract.cost import cost_of
from olscale.learners.registry import ask, is_ours, make_learner
from olscale.system.interrupts import let_interrupt_out

NUMBERS_A_SECOND = 1e9
"""Number of operations that a core performs per second; plans count costs in operations.

Accurate within a small factor: the state of a large model comes from memory.
"""

ROW_NUMBERS = 100
"""Cost of a row in addition to that of the learner: it is passed on, and its score counted."""

LONG_SECONDS = 600.0
"""Seconds above which a run is announced."""


RUN_SECONDS = 0.01
"""Seconds of a run in addition to its learning: reading rows, writing a record."""

BUNDLED_SECONDS = 0.0005
"""Seconds of a run in a bundle in addition to its learning; its group takes as much."""


def short_seconds(plan: RunPlan, missing: Sequence[Run]) -> float:
    """Return the approximate total seconds of the runs; infinite if a learner is external.

    An external learner may crash or never return, and is then ended with its worker.
    """
    if not all(is_ours(run.learner) for run in missing):
        return inf
    return seconds_of(plan, missing)


def seconds_of(plan: RunPlan, runs: Iterable[Run]) -> float:
    """Return approximately how long the runs take one after another."""
    return sum(plan.costs.get(run.id, inf) / NUMBERS_A_SECOND + RUN_SECONDS for run in runs)


def bundled_seconds(plan: RunPlan, group: RunGroup) -> float:
    """Return approximately how long a group takes in a bundle, which shares a file and a task."""
    learning = sum(plan.costs.get(run.id, inf) for run in group.runs) / NUMBERS_A_SECOND
    return learning + BUNDLED_SECONDS * (1 + len(group.runs))


def long_runs(plan: RunPlan, missing: Sequence[Run]) -> Iterator[str]:
    """Yield a line for each learner and dataset whose `missing` runs take long, with a way out."""
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
            cost * make_learner(first.learner, first.params).numbers_per_second / NUMBERS_A_SECOND
        )
        yield (
            f"{first.learner} on {first.stream.dataset} may take "
            f"{_duration(cost / NUMBERS_A_SECOND)} a run"
            f" ({len(runs)} {'run' if len(runs) == 1 else 'runs'}): it goes through "
            f"{numbers / max(1, rows):.2g} numbers"
            f" for each of {rows:,} rows{_cheaper(first)}"
        )


def check_workers(missing: Sequence[Run], bytes_of: Mapping[str, int], memory: float) -> None:
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
                f"learner {run.learner} on {run.stream.dataset}: its model takes {size / 1e9:.3g} "
                "GB, a worker has "
                f"{memory / 1e9:.3g} GB; use fewer workers{_cheaper(run)}"
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


PILOT_SECONDS = 60.0
"""Forecast seconds of a learner's runs on a dataset above which a pilot of about a second pays."""

BLOCKS = 4
"""Number of places of a dataset from which pilots take rows: the first rows may be of one class."""

_SEED = 0x50494C4F54


def with_pilots(plan: RunPlan, runs: Iterable[Run]) -> RunPlan:
    """Return `plan` with the costs of `runs` corrected by pilots, for long runs that ask for one.

    No clock is involved: the same plan costs the same everywhere. A pilot that fails changes
    nothing; the run itself reports the failure.
    """
    alike: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        if is_ours(run.learner) and run.id in plan.costs:
            alike[run.learner, run.stream.fingerprint].append(run)
    costs = dict(plan.costs)
    held_costs = dict(plan.held_costs)
    for similar_runs in alike.values():
        if seconds_of(plan, similar_runs) < PILOT_SECONDS:
            continue
        factors: dict[tuple[object, ...], float] = {}
        for run in similar_runs:
            key = run.stream
            source = plan.sources[run.stream.fingerprint]
            # Permutations share a factor, so that a pilot runs once per setting.
            in_order = key.shuffle is None
            setting = (str(run.params), key.transforms, in_order, source.length(key))
            if setting not in factors:
                factors[setting] = _factor(run, source)
            costs[run.id] *= factors[setting]
            held_costs[run.id] *= factors[setting]
    return replace(plan, costs=costs, held_costs=held_costs)


def _factor(run: Run, source: StreamSource) -> float:
    """Return the factor by which a pilot corrects the assumed cost of a run; 1 if it fails."""
    key = run.stream
    try:
        learner = make_learner(run.learner, run.params)
        cost = cost_of(learner)
        dropped = key.scoring.delay_position
        if not cost.pilot_rows():
            return 1.0
        stream = open_streams(
            source.path,
            key.transforms,
            projection=key.projection or 0,
            delay_column=dropped,
        ).train
        rows = _rows(stream, run, cost.pilot_rows())
        dataset = stream.dataset
        size = (
            stream.columns,
            len(dataset.classes or ()),
            values_of(rows.X) / max(1, len(rows)),
            source.length(key),
        )
        assumed = cost.stream_numbers(*size)
        if dataset.targets:
            expect_targets(learner, len(dataset.targets))
        learner.begin(*size[:2])
        if looks_ahead(learner):
            learner.prepare(rows.X)
        labels = rows.y
        # A novelty detector gets no labels, as in the run itself.
        if dataset.task == "novelty":
            labels = np.zeros_like(labels)
        learner.learn(rows.X, labels)
        return cost.stream_numbers(*size) / assumed
    except Exception as fault:
        # Any fault of a user's data or learner shows in the run itself, with its own message.
        let_interrupt_out(fault)
        return 1.0


def _rows(stream: Stream, run: Run, count: int) -> Chunk:
    """Return rows from `BLOCKS` places of a stream: consecutive, or drawn if the run permutes."""
    transforms = StreamTransforms(stream.pipeline, (run,))
    generator = np.random.Generator(np.random.PCG64(_SEED))
    parts: list[Chunk] = []
    places = np.linspace(0, len(stream) - 1, BLOCKS).astype(int)
    share = -(-count // min(BLOCKS, len(stream)))
    for number in np.unique(places).tolist():
        chunk = stream.chunk(number)
        size = min(len(chunk), share)
        index = (
            np.arange(size)
            if run.stream.shuffle is None
            else generator.permutation(len(chunk))[:size]
        )
        rows_before = sum(map(len, parts))
        learned = transforms.learn(chunk.take(index), rows_before)
        parts.append(learned[run.fold])
    joined = join_chunks(parts)
    if run.stream.shuffle is None:
        return joined
    # Rows of one block may be similar, so they are mixed as a permuted stream would mix them.
    order = generator.permutation(len(joined))
    return joined.take(order)
