"""The step before planning: datasets get paths, and unavailable optional parts are left out.

Planning itself opens existing datasets and fetches nothing.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass

from olscale.data.dataset import Dataset, open_dataset
from olscale.errors import ExperimentError, OlscaleError, UnknownNameError
from olscale.evaluation.dataset_fit import takes_or_ignores_weights
from olscale.evaluation.experiment import Experiment
from olscale.evaluation.experiment_sections import EVERY, DatasetSpec, LearnerSpec
from olscale.learners.contract.capability import LearnsTargets
from olscale.learners.registry import learner_class, learner_names
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
    """

    experiment: Experiment
    datasets: tuple[Dataset, ...]
    left_out: tuple[LeftOut, ...] = ()


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
    left_out_names: set[str] = set()
    for spec in experiment.datasets:
        try:
            datasets.append(_with_path(spec, say))
        except OlscaleError as error:
            if not spec.optional:
                raise
            leave("dataset", str(spec.name or spec.path), error)
            # A learner may name a dataset that was left out: that is no typing error.
            left_out_names |= _names(spec)
    opened = [open_dataset(str(spec.path)) for spec in datasets]
    tasks = {dataset.name: dataset.task for dataset in opened}
    _check_names(experiment, left_out_names.union(tasks))
    multi_target = {dataset.name for dataset in opened if dataset.targets}
    weighted = {
        dataset.name
        for spec, dataset in zip(datasets, opened, strict=True)
        if (spec.protocol or experiment.protocol).weights is not None
    }
    learners: list[LearnerSpec] = []
    for learner in experiment.learners:
        try:
            learners += _named(learner, tasks, multi_target, weighted)
        except OlscaleError as error:
            if not learner.optional:
                raise
            leave("learner", learner.name, error)
    for kind, remaining in (("dataset", datasets), ("learner", learners)):
        # Planning an empty experiment would succeed and report nothing.
        if not remaining:
            gone = "; ".join(str(part) for part in left_out if part.kind == kind)
            gone = gone or "no dataset that they name is there"
            raise ExperimentError(f"experiment {experiment.name} has no {kind} left: {gone}")
    resolved = experiment.model_copy(
        update={"datasets": tuple(datasets), "learners": tuple(learners)}
    )
    return ResolvedExperiment(resolved, tuple(opened), tuple(left_out))


def _named(
    spec: LearnerSpec, tasks: dict[str, Task], multi_target: Set[str], weighted: Set[str]
) -> list[LearnerSpec]:
    """Return the learners that `spec` stands for, each for datasets of its task.

    With ``*`` they are all registered learners. Datasets with `several` targets are for learners
    that support them, `weighted` datasets for learners that take weights.
    """
    among = {
        task: tuple(name for name in tasks if tasks[name] == task and spec.meets(name))
        for task in TASKS
    }
    if spec.name == EVERY:
        target_learners = {
            name
            for name in learner_names("regression")
            if issubclass(learner_class(name), LearnsTargets)
        }
        meetings = [
            (
                name,
                tuple(
                    dataset
                    for dataset in among[task]
                    if dataset not in _beyond(name, target_learners, multi_target, weighted)
                ),
            )
            for task in TASKS
            for name in learner_names(task)
        ]
        return [
            spec.model_copy(update={"name": name, "datasets": datasets})
            for name, datasets in meetings
            if datasets
        ]
    task = getattr(learner_class(spec.name), "task", None)
    # A learner of one task skips datasets of others without naming its own in the file.
    if spec.datasets is None and task in TASKS and among[task] and len(among[task]) < len(tasks):
        return [spec.model_copy(update={"datasets": among[task]})]
    return [spec]


def _beyond(
    name: str, of_targets: Set[str], multi_target: Set[str], weighted: Set[str]
) -> set[str]:
    """Return the datasets that the learner `name` cannot use; `of_targets` have several targets."""
    beyond = set[str]()
    if name not in of_targets:
        beyond |= multi_target
    if weighted and not takes_or_ignores_weights(learner_class(name)):
        beyond |= weighted
    return beyond


def _names(spec: DatasetSpec) -> set[str]:
    """Return possible names of a missing dataset, including the one with its limit of rows."""
    name = str(spec.name or spec.path).rstrip("/").rpartition("/")[2]
    return {name} if spec.rows is None else {name, f"{name}-{spec.rows}"}


def _check_names(experiment: Experiment, names: set[str]) -> None:
    for i, spec in enumerate(experiment.learners):
        for name in spec.datasets or ():
            if name not in names:
                raise UnknownNameError(f"dataset in learners.{i}.datasets", name, names)


def _with_path(spec: DatasetSpec, say: Callable[[str], None]) -> DatasetSpec:
    path = spec.path
    if spec.name is not None:
        from olscale.data.catalogue.fetch import locate

        path = locate(spec.name, say=say)
    elif spec.optional:
        open_dataset(str(path))
    if spec.rows is not None:
        from olscale.data.catalogue.fetch import locate_sample

        path = locate_sample(str(path), spec.rows, say=say)
    return spec.model_copy(update={"path": path, "name": None})
