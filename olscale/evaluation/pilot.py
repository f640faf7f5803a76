"""Pilots: learners whose cost depends on the rows learn a few of them before it is forecast."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from olscale.compiled.csr import values_of
from olscale.data.chunk import Chunk, join_chunks
from olscale.data.stream import Stream, open_streams
from olscale.evaluation.forecast import seconds_of
from olscale.evaluation.run import Run
from olscale.evaluation.run_group import StreamSource
from olscale.evaluation.run_plan import RunPlan
from olscale.evaluation.stream_transforms import StreamTransforms
from olscale.learners.contract.capability import expect_targets, looks_ahead
from olscale.learners.contract.cost import cost_of
from olscale.learners.registry import is_ours, make_learner
from olscale.system.interrupts import let_interrupt_out

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
            setting = str(run.params), key.transforms, key.shuffle is None, source.length(key)
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
            source.path, key.transforms, projection=key.projection or 0, delay_column=dropped
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
        learner.learn(rows.X, np.zeros_like(rows.y) if dataset.task == "novelty" else rows.y)
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
    for number in np.unique(np.linspace(0, len(stream) - 1, BLOCKS).astype(int)):
        chunk = stream.chunk(int(number))
        size = min(
            len(chunk), -(-count // BLOCKS) if len(stream) >= BLOCKS else -(-count // len(stream))
        )
        index = (
            np.arange(size)
            if run.stream.shuffle is None
            else generator.permutation(len(chunk))[:size]
        )
        parts.append(transforms.learn(chunk.take(index), sum(map(len, parts)))[run.fold])
    joined = join_chunks(parts)
    if run.stream.shuffle is None:
        return joined
    # Rows of one block may be similar, so they are mixed as a permuted stream would mix them.
    order = generator.permutation(len(joined))
    return joined.take(order)
