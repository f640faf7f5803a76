"""The work of an experiment, phase by phase: runs that the store lacks or that are repeated."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

from olscale.data.dataset import Dataset
from olscale.errors import ExecutionError, StoreError
from olscale.evaluation.budget import Budget
from olscale.evaluation.cut_groups import GROUPS_A_THREAD, cut_bundles, cut_groups
from olscale.evaluation.forecast import (
    bundled_seconds,
    check_workers,
    long_runs,
    short_seconds,
)
from olscale.evaluation.plan import PlannedExperiment
from olscale.evaluation.run import Run
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_plan import RunPlan, Search
from olscale.evaluation.shard_cuts import cut_shards
from olscale.evaluation.summed_rows import cut_sums
from olscale.execution.checkpoints import Checkpoints, resumable_groups
from olscale.execution.progress import Progress
from olscale.execution.work import work_of
from olscale.results.compact import compact_many, set_damaged_aside
from olscale.results.forget import (
    forget,
    forget_checkpoints,
    result_digests,
    take_out_of_compacted,
)
from olscale.results.opening import require_writable
from olscale.results.plans import write_plan
from olscale.results.selections import Selection, selection_file, write_selection
from olscale.results.store import Store
from olscale.results.version import WITH_COMPACTED

RETRIES = ("lost", "failed", "all")
"""Runs that are computed again although the store has them."""

# Compacting takes as long as the store is large: a small part of its runs may wait for more.
_LOOSE_RUNS = 500
_SHARE = 0.05


@dataclass
class Job:
    """The work of an experiment, phase by phase, and the amount of it.

    A phase that takes less than `start_seconds`, the start of a cluster, is `short`: it is cut for
    this process.
    """

    store: Store
    progress: Progress
    parts: int
    class_shards: int | None
    memory_limit: int | None
    budget: Budget
    retry: str
    shared_runs: int
    worker_bytes: float | None = None
    own_workers: bool = True
    start_seconds: float = 0.0
    runs: int = 0
    computed: int = 0
    changed: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)
    short: bool = False
    ids: tuple[str, ...] = ()
    _renewed: set[str] = field(default_factory=set)
    _timings_lost: bool = False
    _begun: Mapping[str, int] = field(default_factory=dict)
    _datasets: Mapping[str, Dataset] = field(default_factory=dict)

    def phases(self, planned: PlannedExperiment) -> Iterator[list[RunGroup]]:
        """Yield the groups of tuning, then those of the experiment; run each before the next."""
        self._datasets = planned.datasets
        selections: list[Selection] = []
        tuning = planned.tuning
        while tuning.searches:
            yield from self._groups(tuning)
            selections += choose(self.store, tuning, self._note_damage)
            tuning = planned.next_rung(halve(self.store, tuning))
        plan = planned.chosen(selections)
        self.ids = tuple(run.id for run in plan.runs)
        yield from self._groups(plan)
        table = self.store.read(["outcome"], "skip", ids=self.ids)
        self.outcomes = Counter(table["outcome"].to_pylist())

    def _groups(self, plan: RunPlan) -> Iterator[list[RunGroup]]:
        again = self._again(plan)
        stored = self.store.done()
        missing = [run for run in plan.runs if run.id not in stored or run.id in again]
        if missing:
            require_writable(self.store)
        try:
            ids = [run.id for run in plan.runs]
            write_plan(
                self.store,
                plan.name,
                ids,
                plan.left_out,
                plan.datasets,
                plan.learners,
                self._note_damage,
            )
        except StoreError as fault:
            # A complete store may be read-only: reading its results must work.
            if missing:
                raise
            self.progress.note(f"{fault}; nothing is to be computed")
        self.runs = self.runs + len(plan.runs)
        self.computed = self.computed + len(missing)
        seconds = short_seconds(plan, missing)
        # A local cluster takes seconds to start, and most first plans take less.
        self.short = bool(missing) and seconds < self.start_seconds
        if self.short:
            self.progress.note(
                f"{plan.name}: about {seconds:.1f} s of work, run in process: workers take longer "
                "to start (--workers N)"
            )
        elif self.worker_bytes is not None:
            check_workers(missing, plan.state_bytes, self.worker_bytes, plan.labels)
        groups = self.cut(plan, missing, again) if missing else []
        self._note_models(plan, missing)
        for line in long_runs(plan, missing):
            self.progress.note(line)
        work = work_of(groups, plan, self._begun)
        self.progress.start(
            plan.name, len(plan.runs), len(plan.runs) - len(missing), work
        )
        if missing:
            before = result_digests(self.store, again)
            yield groups
            lacking = (
                {run.id for run in missing} - self.store.done() - self.store.lost()
            )
            if lacking:
                raise ExecutionError(
                    f"{len(lacking)} runs have no record though all their groups ended; run the "
                    "command again"
                )
            after = result_digests(self.store, again)
            # Runs that were computed again may differ from what the store had.
            self.changed += sum(
                digest != after.get(id) for id, digest in before.items()
            )
            self._renewed |= {run.id for run in missing}
            self._compact(_SHARE if self._together(plan) else inf, len(missing))

    def _note_models(self, plan: RunPlan, missing: list[Run]) -> None:
        """Report which of the requested models cannot be saved."""
        reasons = {plan.unsaved[run.id] for run in missing if run.id in plan.unsaved}
        for reason in sorted(reasons):
            self.progress.note(f"models are not kept: {reason}")
        earlier = plan.kept - {run.id for run in missing}
        lacking = len(earlier - self.store.model_ids()) if earlier else 0
        if lacking:
            self.progress.note(
                f"{lacking} runs were done before and have no model in {self.store.path}; olscale "
                "models save makes one"
            )

    def _again(self, plan: RunPlan) -> set[str]:
        """Return the runs to compute again, whose records stay until then; set damage aside."""
        ids = {run.id for run in plan.runs}
        self._compact()
        aside = set_damaged_aside(self.store, ids)
        self._note_damage(*aside)
        again: set[str] = set()
        if self.retry == "all":
            # Tuning may share runs with the experiment: those of an earlier phase are new already.
            again = ids & self.store.done() - self._renewed
        elif self.retry == "failed":
            table = self.store.read(["id", "outcome"], "skip", ids=ids)
            forget(
                self.store,
                {row["id"] for row in table.to_pylist() if row["outcome"] != "ok"}
                - self._renewed,
            )
        if self._timings_lost:  # possibly a part with the times of all phases
            timed = self.store.timings("skip", ["id"])["id"].to_pylist()
            again |= ids & self.store.done() - set(timed)
        if again:
            require_writable(self.store)
            # A checkpoint of an earlier attempt must not continue a run that is to start again.
            forget_checkpoints(self.store, again)
            take_out_of_compacted(self.store, again)
        return again

    def _note_damage(self, *names: str) -> None:
        for name in names:
            self.progress.note(
                f"set aside damaged file {name} of {self.store.path}; what it held is computed "
                "again"
            )
        self._timings_lost |= any("timings/" in name for name in names)

    def _together(self, plan: RunPlan) -> bool:
        """Return whether groups share files of records, which are compacted when all have ended."""
        is_shared = len(plan.runs) >= self.shared_runs
        return is_shared and self.store.version >= WITH_COMPACTED

    def _compact(self, share: float = inf, added: int = 0) -> None:
        """Compact the store if many runs, or a `share` of all, are in small files or were `added`.

        Every reader opens each of these.
        """
        try:
            compaction = compact_many(self.store, _LOOSE_RUNS, share, added)
            self._note_damage(*compaction.damaged)
        except StoreError as fault:  # writing the results would meet it again
            self.progress.note(f"not compacted: {fault}")

    def cut(self, plan: RunPlan, missing: list[Run], again: set[str]) -> list[RunGroup]:
        """Return the groups of the `missing` runs; records of those in `again` are replaced."""
        # Groups with checkpoints stay as they were cut, since their checkpoints depend on it.
        begun = resumable_groups(self.store, missing, plan.sources)
        rows_of = {group.key: Checkpoints(self.store, group).rows() for group in begun}
        begun_ids = {run.id for group in begun for run in group.runs}
        left_over = [run for run in missing if run.id not in begun_ids]
        parts = 1 if self.short else self.parts
        a_part = 1 if self.own_workers else GROUPS_A_THREAD
        groups = cut_groups(
            left_over,
            plan.sources,
            parts,
            self.memory_limit,
            plan.costs,
            a_part,
            plan.restarting,
        )
        groups = _keeping_models(plan, groups)
        shards = list(
            cut_shards(
                groups, parts, self.class_shards, self.progress.note, self._datasets
            )
        )
        groups = _keeping_models(plan, begun) + list(cut_sums(shards))
        share_files = self._together(plan)
        labels = plan.labels
        names = {run.id: labels.learner(run) for run in missing}
        groups = [
            replace(
                group,
                budget=self.budget,
                memory_limit=self.memory_limit,
                replaces=any(run.id in again for run in group.runs),
                together=share_files,
                pickles=plan.pickles,
                model=plan.models.get(group.runs[0].stream.scoring.from_model, ""),
                labels={
                    run.id: names[run.id]
                    for run in group.runs
                    if names[run.id] != run.learner
                },
            )
            for group in groups
        ]
        self._begun = {
            group.name: rows_of[group.key] for group in groups if group.key in rows_of
        }
        return cut_bundles(groups, partial(bundled_seconds, plan), parts)


def _keeping_models(plan: RunPlan, groups: Iterable[RunGroup]) -> list[RunGroup]:
    """Return groups that know whether the store keeps their final models."""
    if not (plan.kept or plan.unsaved):
        return list(groups)
    return [
        replace(
            group,
            keeps_models=any(run.id in plan.kept for run in group.runs),
            unsaved=frozenset(run.id for run in group.runs if run.id in plan.unsaved),
        )
        for group in groups
    ]


def choose(
    store: Store,
    tuning: RunPlan,
    note_damage: Callable[[str], None] = lambda name: None,
) -> list[Selection]:
    """Return the best candidate of each search on its last rung, and write it to the store.

    Raises
    ------
    ExecutionError
        If the store lacks runs of a search, which were lost with their workers.
    """
    selections = []
    for search, errors in _compared(store, tuning):
        if search.is_last_rung:
            selections.append(search.choose(errors))
            # A damaged selection was replaced, which is reported like other damage.
            if write_selection(store, selections[-1]):
                note_damage(selection_file(selections[-1]))
    return selections


def halve(store: Store, tuning: RunPlan) -> list[Search]:
    """Return the searches of `tuning` that proceed to another rung, with the better candidates.

    Raises
    ------
    ExecutionError
        As by `choose`.
    """
    searches = [search for search in tuning.searches if not search.is_last_rung]
    if not searches:
        return []
    going_on = replace(tuning, searches=tuple(searches))
    return [search.halved(errors) for search, errors in _compared(store, going_on)]


def _compared(
    store: Store, tuning: RunPlan
) -> Iterator[tuple[Search, Mapping[str, float | None]]]:
    """Yield each search with the metric of its runs, None of those that failed."""
    table = store.read(
        ["id", "outcome", "metrics"], "skip", ids=[run.id for run in tuning.runs]
    )
    outcomes = {
        row["id"]: (row["outcome"], dict(row["metrics"])) for row in table.to_pylist()
    }
    labels = tuning.labels
    for search in tuning.searches:
        errors: dict[str, float | None] = {}
        for run in (run for runs in search.runs for run in runs):
            outcome, metrics = outcomes.get(run.id, ("lost", {}))
            if outcome == "lost":
                raise ExecutionError(
                    f"tuning of {labels.learner(run)} on {labels.dataset(run)} lacks runs that "
                    "were lost "
                    "with their workers; "
                    "run the command again"
                )
            errors[run.id] = (
                metrics.get(search.protocol["metric"]) if outcome == "ok" else None
            )
        yield search, errors
