"""The step before planning: data sets of the catalogue get a path, optional parts that cannot be had are left out.

Planning itself opens what is there and fetches nothing.
"""

from collections.abc import Callable

from olscale.data.dataset import open_dataset
from olscale.errors import ExperimentError, OlscaleError
from olscale.evaluation.experiment import DatasetSpec, Experiment, LearnerSpec
from olscale.learners.registry import learner_class
from olscale.results.plans import LeftOut


def resolve(experiment: Experiment, say: Callable[[str], None]) -> tuple[Experiment, tuple[LeftOut, ...]]:
    """Return `experiment` with a path for every dataset, without the optional parts that cannot be had, and those.

    Parameters
    ----------
    experiment : Experiment
    say : callable
        Told, a line each, of what is fetched and of what is left out.

    Raises
    ------
    UnknownNameError, DatasetError
        If a data set that is not optional cannot be had.
    ExperimentError
        If nothing is left to evaluate.
    """
    left_out: list[LeftOut] = []

    def leave(kind: str, name: str, reason: OlscaleError) -> None:
        left_out.append(LeftOut(kind, name, " ".join(str(reason).split())))
        say(str(left_out[-1]))

    datasets: list[DatasetSpec] = []
    for spec in experiment.datasets:
        try:
            datasets.append(_with_path(spec, say))
        except OlscaleError as error:
            if not spec.optional:
                raise
            leave("dataset", str(spec.name or spec.path), error)
    learners: list[LearnerSpec] = []
    for learner in experiment.learners:
        try:
            if learner.optional:
                learner_class(learner.name)
            learners.append(learner)
        except OlscaleError as error:
            leave("learner", learner.name, error)
    for kind, left in (("dataset", datasets), ("learner", learners)):
        if not left:
            gone = "; ".join(str(part) for part in left_out if part.kind == kind)
            raise ExperimentError(f"experiment {experiment.name} has no {kind} left: {gone}")
    return experiment.model_copy(update={"datasets": tuple(datasets), "learners": tuple(learners)}), tuple(left_out)


def _with_path(spec: DatasetSpec, say: Callable[[str], None]) -> DatasetSpec:
    if spec.name is not None:
        from olscale.data.catalogue.fetch import locate

        return spec.model_copy(update={"path": locate(spec.name, say=say), "name": None})
    if spec.optional:
        open_dataset(str(spec.path))
    return spec
