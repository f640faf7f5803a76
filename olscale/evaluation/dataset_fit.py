"""Whether a dataset fits a learner, which is asked before anything runs."""

from olscale.data.dataset import Dataset
from olscale.errors import ExperimentError
from olscale.learners.contract.learner import Learner
from olscale.learners.contract.many_targets import expect_targets, learns_targets
from olscale.learners.registry import ask
from olscale.task import Task

_LEARNS = {"classification": "learns classes", "regression": "predicts numbers", "novelty": "tells novelties"}
_HAS = {
    "classification": "has classes; ingest it with --target real to keep numbers, or with --novel LABEL",
    "regression": "has real-valued targets; ingest it with --target classes to make a class of each value",
    "novelty": "is for novelty detection; ingest it without --novel for classes",
}


def check_learner(name: str, task: Task, dataset: Dataset) -> None:
    """Refuse the learner `name`, of `task`, for a dataset of another.

    Raises
    ------
    ExperimentError
    """
    if task != dataset.task:
        raise ExperimentError(
            f"learner {name} {_LEARNS[task]} ({task}), but dataset {dataset.path} {_HAS[dataset.task]}; learners for it: "
            f"olscale learners list --task {dataset.task}"
        )


def check_targets(name: str, learner: Learner, dataset: Dataset) -> None:
    """Have `learner`, called `name`, expect the targets of the dataset.

    Raises
    ------
    ExperimentError
        If there are several and it learns one.
    """
    count = len(dataset.targets)
    if not count:
        return
    if not learns_targets(learner):
        raise ExperimentError(
            f"learner {name} learns one target, but dataset {dataset.path} has {count}: {', '.join(dataset.targets)}; "
            "ingest a dataset for each with --label TARGET and the others in --drop, or take a learner of several, as rls"
        )
    ask(name, "expect_targets", lambda: expect_targets(learner, count))


def check_classes(dataset: Dataset) -> None:
    """Refuse a dataset with a single class.

    Raises
    ------
    ExperimentError
    """
    classes = dataset.classes or ()
    if dataset.task == "classification" and len(classes) < 2:
        raise ExperimentError(f"dataset {dataset.path} has only the class {classes[0]!r}; two are needed")
