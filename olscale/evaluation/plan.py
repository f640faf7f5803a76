"""A plan: an experiment expanded into its runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import compress
from typing import Any

from olscale.data.shuffle.in_memory import most_bytes
from olscale.data.stream import delay_position
from olscale.data.transforms.pipeline import size_after
from olscale.errors import ExperimentError, ParameterError
from olscale.evaluation.class_requests import check_class_requests, check_probabilities
from olscale.evaluation.dataset_fit import (
    check_enough_rows,
    check_takes_weights,
    check_weights,
)
from olscale.evaluation.experiment import Experiment
from olscale.evaluation.forecast import NUMBERS_A_SECOND, ROW_NUMBERS
from olscale.evaluation.from_model import check_begins
from olscale.evaluation.plan_inputs import PlanInput, plan_inputs
from olscale.evaluation.protocol import ProtocolSpec, weighing_of
from olscale.evaluation.protocol_fit import check_stream, check_task, check_waits
from olscale.evaluation.resolve import ResolvedExperiment, open_experiment
from olscale.evaluation.run import Run, stream_keys
from olscale.evaluation.run_group import StreamSource, stored_values
from olscale.evaluation.run_plan import Roster, RunPlan, Search
from olscale.learners.contract.capability import expect_batches, looks_ahead
from olscale.learners.contract.cost import cost_of, learning_seconds
from olscale.learners.contract.learner import Learner
from olscale.learners.foresight import (
    REFERENCES,
    TUNED,
    Foresight,
    learner_ahead,
    passes_ahead,
    transforms_ahead,
)
from olscale.learners.registry import ask
from olscale.models.saved_model import saved_model
from olscale.models.write import why_not_saved
from olscale.results.plans import TUNING, LeftOut
from olscale.results.selections import Selection
from olscale.storage.open import absolute_path


def make_plan(
    experiment: Experiment,
    left_out: tuple[LeftOut, ...] = (),
    selections: Iterable[Selection] = (),
) -> RunPlan:
    """Expand `experiment` with the choices of tuning; see `PlannedExperiment`."""
    return PlannedExperiment(open_experiment(experiment, left_out)).chosen(selections)


class PlannedExperiment:
    """An experiment that is planned once: learners and transforms are checked, nothing is run.

    Parameters
    ----------
    resolved : ResolvedExperiment
        The experiment and its opened datasets.

    Attributes
    ----------
    tuning : RunPlan
        The runs that tuning needs, and the searches they belong to; both are empty if nothing is
        tuned.
    datasets : dict of str to Dataset
        The opened datasets, by path.

    Raises
    ------
    UnknownNameError, ParameterError
        If a learner, a parameter or a transform does not exist, or a value is outside its domain.
    ExperimentError
        If the parts do not fit together.
    """

    def __init__(self, resolved: ResolvedExperiment) -> None:
        self._experiment = resolved.experiment
        self._left_out = resolved.left_out
        self.datasets = {
            absolute_path(str(spec.path)): dataset
            for spec, dataset in zip(
                resolved.experiment.datasets, resolved.datasets, strict=True
            )
        }
        self._inputs = tuple(plan_inputs(resolved))
        self.tuning = self._tuning()
        # The first candidates stand for the choices, so that faults show at once; without tuning
        # this is the plan itself.
        self._first = self._plan(search.untried() for search in self.tuning.searches)

    @property
    def learners(self) -> set[str]:
        """Names of the learners that run."""
        return {run.learner for run in self._first.runs}

    def check_strictly_online(self) -> None:
        """Refuse batch references and everything that sees rows before their turn.

        Raises
        ------
        ExperimentError
            Names each kind, and says what to do instead.
        """
        kinds = dict.fromkeys(
            foresight
            for foresights in self._first.ahead.values()
            for foresight in foresights
        )
        lines = [
            f"{foresight.name} sees rows before they are predicted: {foresight.cure}"
            for foresight in kinds
        ]
        for name, rivals in REFERENCES.items():
            if name in self.learners:
                lines.append(
                    f"{name} is a batch reference, which keeps all rows: take {rivals}"
                )
        if lines:
            raise ExperimentError(f"not strictly online: {'; '.join(lines)}")

    def chosen(self, selections: Iterable[Selection]) -> RunPlan:
        """Return the runs of the experiment with the choice of tuning filled in for each search."""
        if self.tuning.searches:
            return self._plan(selections)
        return self._first

    def _plan(self, selections: Iterable[Selection]) -> RunPlan:
        experiment = self._experiment
        chosen = {selection.id: selection.chosen for selection in selections}
        plan = _Builder()
        roster = Roster(experiment)
        # Learners of one dataset are added together: they share its streams.
        for source in self._inputs:
            protocol = source.spec.protocol or experiment.protocol
            planned = defaultdict(list)
            for spec, settings in source.learners(experiment):
                params: Mapping[str, Any] = settings
                if spec.tune:
                    params = chosen[source.search(experiment, spec, settings).id]
                learner = source.learner(spec, params, experiment)
                planned[protocol.first(spec.permutations)].append((spec, learner))
                # Displayed names and parameters come from the checked learner, not from the file.
                roster.enter(source.planned, spec, learner)
            # Learners of one dataset are added together: they share its streams.
            for of_learners, learners in planned.items():
                runs = plan.add(
                    source,
                    of_learners,
                    experiment.seed,
                    [(spec.name, learner) for spec, learner in learners],
                )
                is_tuned = [bool(spec.tune) for spec, _ in learners]
                plan.note_tuned(
                    run.id
                    for of_learner in compress(runs, is_tuned)
                    for run in of_learner
                )
        return replace(plan.plan(experiment.name, roster), left_out=self._left_out)

    def next_rung(self, searches: Iterable[Search]) -> RunPlan:
        """Return the runs of searches that proceed to another rung; none if no search does."""
        return self._tuning({search.id: search for search in searches})

    def _tuning(self, rung: Mapping[str, Search] | None = None) -> RunPlan:
        """Return the runs of all searches, or of those on a further rung, by id."""
        experiment = self._experiment
        plan = _Builder()
        roster = Roster(experiment)
        searches: dict[str, Search] = {}
        for source in self._inputs:
            for spec, settings in source.learners(experiment):
                if spec.tune:
                    source.check_tunable(source.spec.protocol or experiment.protocol)
                    search = source.search(experiment, spec, settings)
                    if rung is not None and search.id not in rung:
                        continue
                    search = (rung or {}).get(search.id, search)
                    points = [
                        (spec.name, source.learner(spec, search.points[i], experiment))
                        for i in search.left
                    ]
                    # Candidates appear in the list of plans like any other learner.
                    for _, point in points:
                        roster.enter(source.planned, spec, point)
                    protocol = source.spec.protocol or experiment.protocol
                    tuning = experiment.tuning.protocol(
                        source.dataset.task, weighing_of(protocol)
                    )
                    share = search.shares[search.rung]
                    runs = plan.add(source, tuning, experiment.seed, points, share)
                    searches[search.id] = search.over(runs)
        name = experiment.name
        if number := max((search.rung for search in searches.values()), default=0):
            name = f"{name}, rung {number + 1}"
        return replace(
            plan.plan(f"{name}{TUNING}", roster), searches=tuple(searches.values())
        )


@dataclass(slots=True)
class _Builder:
    """A plan under construction that holds every run once."""

    runs: dict[str, Run] = field(default_factory=dict)
    sources: dict[str, StreamSource] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    held_costs: dict[str, float] = field(default_factory=dict)
    state_bytes: dict[str, int] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    pickles: bool = False
    unsaved: dict[str, str] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    ahead: dict[str, tuple[Foresight, ...]] = field(default_factory=dict)
    restarting: set[str] = field(default_factory=set)

    def plan(self, name: str, roster: Roster) -> RunPlan:
        """Return the plan of all runs added."""
        return RunPlan(
            name,
            tuple(self.runs.values()),
            self.sources,
            datasets=tuple(roster.datasets),
            learners=roster.learners(),
            costs=self.costs,
            held_costs=self.held_costs,
            state_bytes=self.state_bytes,
            kept=self.kept,
            ahead=self.ahead,
            restarting=self.restarting,
            pickles=self.pickles,
            unsaved=self.unsaved,
            models=self.models,
        )

    def note_tuned(self, runs: Iterable[str]) -> None:
        """Note that the parameters of runs are chosen by tuning."""
        for run in runs:
            # A run may be both tuned and look ahead: keep the other kinds, and name tuning once,
            # last.
            self.ahead[run] = (
                *(
                    foresight
                    for foresight in self.ahead.get(run, ())
                    if foresight != TUNED
                ),
                TUNED,
            )

    def add(
        self,
        source: PlanInput,
        protocol: ProtocolSpec,
        seed: int,
        learners: list[tuple[str, Learner]],
        share: float = 1.0,
    ) -> list[list[Run]]:
        """Add a run per learner and stream of `source`; return the runs of each learner.

        Streams of a part end after `share` of its rows.
        """
        dataset = source.dataset
        check_task(protocol, dataset.path, dataset.task, len(dataset.classes or ()))
        check_weights(protocol, dataset)
        check_class_requests(protocol, dataset)
        for name, learner in learners:
            check_waits(name, protocol)
            check_takes_weights(name, learner, protocol.weights)
            check_probabilities(name, learner, protocol, dataset)
            if not learner.restorable:
                self.restarting.add(name)
        if protocol.from_model is not None:
            before = saved_model(protocol.from_model)
            check_begins(before, dataset, source.transforms, protocol, learners)
            self.models[before.digest] = absolute_path(before.path)
        self.pickles = self.pickles or protocol.allow_pickle
        reasons = [""] * len(learners)
        if protocol.keep_model:
            reasons = [
                why_not_saved(learner, protocol.allow_pickle) for _, learner in learners
            ]
        rows = dataset.rows("train")
        numbers = stored_values(dataset)
        self.sources[dataset.fingerprint] = StreamSource(
            absolute_path(str(source.spec.path)),
            rows,
            numbers,
            most_bytes(dataset, "train"),
            dataset.manifest.chunk_rows,
            dataset.task,
            dataset.rows("test") if "test" in dataset.splits else 0,
        )
        added: list[list[Run]] = [[] for _ in learners]
        columns, values = size_after(
            source.transforms, dataset.columns, numbers / max(1, rows), dataset.manifest
        )
        classes = len(dataset.classes or ())
        params = [
            ask(name, "resolved_params", learner.resolved_params)
            for name, learner in learners
        ]
        state_bytes = [
            ask(
                name,
                "state_bytes",
                partial(cost_of(learner).state_bytes, columns, classes),
            )
            for name, learner in learners
        ]

        of_rows = [] if protocol.from_model else transforms_ahead(source.transforms)
        of_learners = [
            []
            if protocol.from_model
            else learner_ahead(name, resolved_params, _is_shown_rows(name, learner))
            for (name, learner), resolved_params in zip(learners, params, strict=True)
        ]

        for _, learner in learners:
            expect_batches(learner, protocol.batch)
        # Many streams have the same length, and a user's learner may be slow to estimate its cost.
        cost = cache(
            lambda i, rows, held: _cost(
                *learners[i], (columns, classes, values), rows, held
            )
        )
        for key in stream_keys(
            dataset.name,
            dataset.fingerprint,
            source.transforms,
            protocol,
            seed,
            source.transforms_version,
            source.chosen_columns,
        ):
            if key.part is not None and share < 1.0:
                key = replace(key, part=replace(key.part, share=share))
            length = self.sources[dataset.fingerprint].length(key)
            tested = key.part is not None or "test" in dataset.splits
            check_stream(key.scoring, dataset.path, length, tested)
            if (column := key.scoring.delay_column) is not None:
                key = replace(
                    key,
                    scoring=replace(
                        key.scoring, delay_position=delay_position(dataset, column)
                    ),
                )
            held_out = self.sources[dataset.fingerprint].held_out(key)
            folds: Iterable[int | None] = (None,)
            # Online folds are models of their own on one stream.
            if key.scoring.folds is not None:
                folds = range(key.scoring.folds.folds)
            for i, (name, learner) in enumerate(learners):
                for fold in folds:
                    stream = (
                        learner,
                        source.transforms,
                        key.scoring,
                        fold,
                        length,
                        tested,
                    )
                    ask(name, "start_rows", partial(check_enough_rows, *stream))
                    run = Run(key, name, learner.version, params[i], fold)
                    # Equal settings of two learners in the file are one run.
                    added[i].append(self.runs.setdefault(run.id, run))
                    learned, self.held_costs[run.id] = cost(i, length, held_out)
                    self.costs[run.id] = learned + self.held_costs[run.id]
                    self.state_bytes[run.id] = state_bytes[i]
                    if foresights := (
                        *of_rows,
                        *of_learners[i],
                        *passes_ahead(key.passes),
                    ):
                        self.ahead.setdefault(run.id, foresights)
                    if reasons[i]:
                        self.unsaved[run.id] = reasons[i]
                    elif protocol.keep_model:
                        self.kept.add(run.id)
        return added


def _is_shown_rows(name: str, learner: Learner) -> bool:
    """Return whether a learner asks for rows ahead; one that fails to answer counts as doing so."""
    try:
        return bool(ask(name, "looks_ahead", partial(looks_ahead, learner)))
    except ParameterError:
        return True


def _cost(
    name: str,
    learner: Learner,
    size: tuple[int, int, float],
    rows: int,
    held_out: int,
) -> tuple[float, float]:
    """Return the cost of `rows` rows of such columns, classes and values, and of the held-out rows.

    Both are in numbers of a learner that processes `NUMBERS_A_SECOND`. A held-out row costs as much
    as one of the last half, unless the learner says that predicting costs less.
    """

    def numbers() -> tuple[float, float]:
        estimates = cost_of(learner)
        before = rows // 2
        learned = learning_seconds(learner, *size, rows)
        first_half = learning_seconds(learner, *size, before)
        last = (learned - first_half) / max(1, rows - before)
        scored = float(estimates.score_numbers(*size)) / learner.numbers_per_second
        held = held_out * min(last, scored + learner.row_seconds)
        return NUMBERS_A_SECOND * learned, NUMBERS_A_SECOND * held

    learned, held = ask(name, "row_numbers", numbers)
    return learned + ROW_NUMBERS * rows, held + ROW_NUMBERS * held_out
