"""The step before planning: datasets get paths, and unavailable optional parts are left out.

Planning itself opens existing datasets and fetches nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from olscale.data.dataset import Dataset, open_dataset
from olscale.errors import ExperimentError, OlscaleError, UnknownNameError
from olscale.evaluation.dataset_fit import takes_or_ignores_weights
from olscale.evaluation.experiment import Experiment
from olscale.evaluation.experiment_sections import EVERY, DatasetSpec, LearnerSpec
from olscale.evaluation.protocol import ProtocolSpec
from olscale.learners.contract.capability import LearnsTargets, ranks_by_class
from olscale.learners.foresight import REFERENCES
from olscale.learners.registry import LearnersByName, NamedLearner, learner_names
from olscale.measures import ranking_measures
from olscale.results.plans import LeftOut
from olscale.task import TASKS, Task


@dataclass(frozen=True, slots=True)
class ResolvedExperiment:
    """An experiment with its datasets, each opened once.

    Attributes
    ----------
    experiment : Experiment
        With a path for every dataset and without the unavailable optional parts.
    datasets : tuple of Dataset
        In the order of the experiment.
    left_out : tuple of LeftOut
        The optional parts that are unavailable.
    learners : LearnersByName
        What is behind the names of learners.
    """

    experiment: Experiment
    datasets: tuple[Dataset, ...]
    left_out: tuple[LeftOut, ...] = ()
    learners: LearnersByName = field(default_factory=LearnersByName)


def open_experiment(
    experiment: Experiment, left_out: tuple[LeftOut, ...] = ()
) -> ResolvedExperiment:
    """Open the datasets of an experiment that has a path for each.

    Raises
    ------
    ExperimentError
        If a dataset has no path.
    DatasetError
        If a dataset cannot be opened.
    """
    datasets = []
    for spec in experiment.datasets:
        if spec.path is None:
            raise ExperimentError(
                f"data set {spec.name} has no path yet; resolve the experiment before planning it"
            )
        datasets.append(open_dataset(spec.path))
    return ResolvedExperiment(experiment, tuple(datasets), left_out)


def resolve(experiment: Experiment, say: Callable[[str], None]) -> ResolvedExperiment:
    """Return `experiment` with a path for each dataset, without missing optional parts.

    Parameters
    ----------
    experiment : Experiment
    say : callable
        Receives a line for each part that is fetched or left out.

    Raises
    ------
    UnknownNameError, DatasetError
        If a required dataset is unavailable, or no learner, or dataset of a learner, has such a
        name.
    ExperimentError
        If nothing is left to evaluate, or `experiment` is not an Experiment but, say, a path.
    """
    if not isinstance(experiment, Experiment):
        raise ExperimentError(
            f"experiment is a {type(experiment).__name__}, expected an Experiment; "
            "olscale.load_experiment(PATH) reads one "
            "from a file, and olscale.Experiment.model_validate(DICT) makes one"
        )
    left_out: list[LeftOut] = []

    def leave(kind: str, name: str, reason: OlscaleError) -> None:
        left_out.append(LeftOut(kind, name, " ".join(str(reason).split())))
        say(str(left_out[-1]))

    datasets: list[DatasetSpec] = []
    # As the file has them: those in `datasets` have a path in place of their names.
    entries: list[DatasetSpec] = []
    absent: list[DatasetSpec] = []
    for spec in experiment.datasets:
        try:
            datasets.append(_with_path(spec, say))
            entries.append(spec)
        except OlscaleError as error:
            if not spec.optional:
                raise
            leave("dataset", str(spec.catalogue_name or spec.path), error)
            absent.append(spec)
    opened = [open_dataset(str(spec.path)) for spec in datasets]
    tasks = {dataset.name: dataset.task for dataset in opened}
    stored = _stored_names(
        [
            *zip(entries, ([dataset.name] for dataset in opened), strict=True),
            # A learner may name a dataset that was left out: that is no typing error.
            *((spec, sorted(spec.names())) for spec in absent),
        ]
    )
    experiment = _with_stored_names(experiment, stored)
    multi_target = {dataset.name for dataset in opened if dataset.targets}
    weighted = {
        dataset.name
        for spec, dataset in zip(datasets, opened, strict=True)
        if (spec.protocol or experiment.protocol).weights is not None
    }
    retraining = {
        dataset.name
        for spec, dataset in zip(datasets, opened, strict=True)
        if _retrains(spec.protocol or experiment.protocol, dataset)
    }
    learners: list[LearnerSpec] = []
    by_name = LearnersByName()
    for learner in experiment.learners:
        try:
            learners += _named(
                learner, by_name, tasks, multi_target, weighted, retraining
            )
        except OlscaleError as error:
            if not learner.optional:
                raise
            leave("learner", learner.name, error)
    for kind, remaining in (("dataset", datasets), ("learner", learners)):
        # Planning an empty experiment would succeed and report nothing.
        if not remaining:
            gone = "; ".join(str(part) for part in left_out if part.kind == kind)
            gone = gone or "no dataset that they name is there"
            raise ExperimentError(
                f"experiment {experiment.name} has no {kind} left: {gone}"
            )
    resolved = experiment.model_copy(
        update={"datasets": tuple(datasets), "learners": tuple(learners)}
    )
    return ResolvedExperiment(resolved, tuple(opened), tuple(left_out), by_name)


def _retrains(protocol: ProtocolSpec, dataset: Dataset) -> bool:
    """Return whether a batch reference would only be trained again and again along the stream."""
    is_untested = protocol.order == "time" and "test" not in dataset.splits
    return is_untested or bool(protocol.delay)


def _named(
    spec: LearnerSpec,
    by_name: LearnersByName,
    tasks: dict[str, Task],
    multi_target: Set[str],
    weighted: Set[str],
    retraining: Set[str],
) -> list[LearnerSpec]:
    """Return the learners that `spec` stands for, each for datasets of its task.

    With ``*`` they are all registered learners but those of counts. The datasets `multi_target`
    are for learners of several targets, `weighted` datasets for learners that take weights, and
    those that would be `retraining` batch references again and again are for all others.
    """
    among = {
        task: tuple(name for name in tasks if tasks[name] == task and spec.meets(name))
        for task in TASKS
    }
    if spec.name == EVERY:
        target_learners = {
            name
            for name in learner_names("regression")
            if issubclass(by_name[name].target, LearnsTargets)
        }
        meetings = [
            (
                name,
                tuple(
                    dataset
                    for dataset in among[task]
                    if dataset
                    not in _beyond(
                        by_name[name],
                        target_learners,
                        multi_target,
                        weighted,
                        retraining,
                    )
                ),
            )
            for task in TASKS
            for name in spec.stands_for(learner_names(task))
            # Rows of most sets have values below 0, or get them by transforms.
            if by_name[name].target.takes_negative
        ]
        return [
            spec.model_copy(update={"name": name, "datasets": datasets, "without": ()})
            for name, datasets in meetings
            if datasets
        ]
    task = getattr(by_name[spec.name].target, "task", None)
    # A learner of one task skips datasets of others without naming its own in the file.
    if (
        spec.datasets is None
        and task in TASKS
        and among[task]
        and len(among[task]) < len(tasks)
    ):
        return [spec.model_copy(update={"datasets": among[task]})]
    return [spec]


def _beyond(
    learner: NamedLearner,
    of_targets: Set[str],
    multi_target: Set[str],
    weighted: Set[str],
    retraining: Set[str],
) -> set[str]:
    """Return the datasets that a learner cannot use; the learners `of_targets` learn several."""
    beyond = set[str]()
    if learner.name not in of_targets:
        beyond |= multi_target
    if weighted and not takes_or_ignores_weights(learner.target):
        beyond |= weighted
    # Training it again and again along a stream would cost hours for a figure that no table shows.
    if learner.name in REFERENCES:
        beyond |= retraining
    return beyond


def _stored_names(
    specs: Iterable[tuple[DatasetSpec, Sequence[str]]],
) -> dict[str, set[str]]:
    """Return what a learner may call datasets: their names in stores, labels, catalogue names.

    The label of one of several entries on the same rows would stand for all of them, and is left
    out.
    """
    stored: dict[str, set[str]] = {}
    labels: dict[str, set[str | None]] = defaultdict(set)
    by_word: dict[str, set[str]] = defaultdict(set)
    for spec, names in specs:
        for name in names:
            stored[name] = {name}
            labels[name].add(spec.label)
        for word in (spec.label, spec.name):
            if word is not None:
                by_word[word].update(names)
    for word, names_of_word in by_word.items():
        is_shared = any(len(labels[name]) > 1 for name in names_of_word)
        # The name in stores comes first: it is what earlier versions took alone.
        if word not in stored and not is_shared:
            stored[word] = names_of_word
    return stored


def _with_stored_names(
    experiment: Experiment, stored: Mapping[str, set[str]]
) -> Experiment:
    """Return the experiment with learners that name datasets as stores do."""
    learners = []
    for i, spec in enumerate(experiment.learners):
        for name in spec.without:
            if name not in learner_names():
                raise UnknownNameError(
                    f"learner in learners.{i}.without", name, learner_names()
                )
        for word in spec.datasets or ():
            if word not in stored:
                raise UnknownNameError(
                    f"dataset in learners.{i}.datasets", word, stored
                )
        if spec.datasets is not None:
            names = [name for word in spec.datasets for name in sorted(stored[word])]
            spec = spec.model_copy(update={"datasets": tuple(dict.fromkeys(names))})
        learners.append(spec)
    return experiment.model_copy(update={"learners": tuple(learners)})


def _with_path(spec: DatasetSpec, say: Callable[[str], None]) -> DatasetSpec:
    path = spec.path
    if spec.name is not None:
        from olscale.data.catalogue.fetch import locate

        path = locate(spec.name, seed=spec.seed, say=say)
    elif spec.optional:
        open_dataset(str(path))
    if spec.rows is not None:
        from olscale.data.catalogue.fetch import locate_sample

        path = locate_sample(str(path), spec.rows, say=say)
    if spec.test_share is not None:
        from olscale.data.catalogue.fetch import locate_held_out

        path = locate_held_out(str(path), spec.test_share, say=say)
    located = {"path": path, "name": None, "seed": None, "test_share": None}
    return spec.model_copy(update=located)


def unweighted_notes(resolved: ResolvedExperiment) -> list[str]:
    """Return a line that names the learners that ignore the weights of a protocol.

    These are baselines, which look at labels only; other learners without weights are refused.
    """
    experiment = resolved.experiment
    protocols = [
        dataset.protocol or experiment.protocol for dataset in experiment.datasets
    ]
    if all(protocol.weights is None for protocol in protocols):
        return []
    names = dict.fromkeys(spec.name for spec in experiment.learners)
    baselines = [
        name
        for name in names
        if ":" not in name
        and getattr(resolved.learners[name].target, "baseline", False)
    ]
    if not baselines:
        return []
    return [
        f"{', '.join(baselines)}: all rows count alike, whatever they weigh, as to every baseline"
    ]


def permutation_notes(resolved: ResolvedExperiment) -> list[str]:
    """Return a line for each learner that asks for more permutations than there are."""
    experiment = resolved.experiment
    lines = []
    for spec in experiment.learners:
        counts = {
            (section.protocol or experiment.protocol).repeats()
            for section, dataset in zip(
                experiment.datasets, resolved.datasets, strict=True
            )
            if spec.meets(dataset.name)
        }
        fewest = min(counts, default=0)
        if spec.permutations is not None and spec.permutations > fewest:
            lines.append(
                f"{spec.label or spec.name}: its permutations were {spec.permutations}, and the "
                f"protocol has {fewest}, which it gets; for more, raise protocol.permutations"
            )
    return lines


def coarse_score_notes(resolved: ResolvedExperiment) -> list[str]:
    """Return a line for each learner without scores whose protocol asks for ranking measures.

    Its `auc` is the mean recall of both classes, which is not comparable with that of a learner
    with scores.
    """
    experiment = resolved.experiment
    measures_of: dict[str, set[str]] = {}
    for section, dataset in zip(experiment.datasets, resolved.datasets, strict=True):
        words = set(
            ranking_measures((section.protocol or experiment.protocol).measures)
        )
        if (
            words
            and dataset.task == "classification"
            and len(dataset.classes or ()) == 2
        ):
            for spec in experiment.learners:
                if spec.meets(dataset.name) and _is_coarse(spec, resolved.learners):
                    measures_of.setdefault(spec.name, set()).update(words)
    return [
        f"{' and '.join(sorted(words))} of {name}: of the classes that it predicts, -1 or 1, and "
        "not of scores, not to be "
        "set beside those of learners with scores"
        for name, words in measures_of.items()
    ]


def _is_coarse(spec: LearnerSpec, by_name: LearnersByName) -> bool:
    if ":" not in spec.name:
        return False
    params = spec.settings()[0] | spec.first_point()
    return ranks_by_class(by_name[spec.name].make(params))
