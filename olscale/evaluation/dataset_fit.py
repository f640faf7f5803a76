"""Whether a dataset fits a learner, which is asked before anything runs."""

from olscale.data.dataset import Dataset
from olscale.errors import ExperimentError
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


def check_classes(dataset: Dataset) -> None:
    """Refuse a dataset with a single class.

    Raises
    ------
    ExperimentError
    """
    classes = dataset.classes or ()
    if dataset.task == "classification" and len(classes) < 2:
        raise ExperimentError(f"dataset {dataset.path} has only the class {classes[0]!r}; two are needed")
