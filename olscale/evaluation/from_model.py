"""Streams that begin with a saved model: its learner, and its transforms as they ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from olscale.data.dataset import Dataset
from olscale.data.transforms.pipeline import Pipeline
from olscale.data.transforms.streaming import StreamingTransform
from olscale.errors import ExperimentError, ModelError
from olscale.models.about import ColumnsEntry
from olscale.models.file import load_model, read_about
from olscale.models.final_model import FinalModel
from olscale.models.learned import learned_now, model_digest
from olscale.models.saved_model import SavedModel

if TYPE_CHECKING:
    from olscale.evaluation.protocol import ProtocolSpec
    from olscale.evaluation.run import Run
    from olscale.learners.contract.learner import Learner

_SHOWN = 12


def check_begins(
    model: SavedModel,
    dataset: Dataset,
    transforms: Sequence[str],
    protocol: ProtocolSpec,
    learners: Sequence[tuple[str, Learner]],
) -> None:
    """Refuse a stream that the model cannot continue.

    Raises
    ------
    ExperimentError
        If dataset, transforms or a learner are not those of the model.
    """
    about = model.about
    columns = ColumnsEntry.of(dataset.manifest)
    cure = (
        "ingest its sources with --like the model's dataset, or let olscale models learn read "
        "them"
    )
    was = about.columns
    if (columns.count, columns.kind, columns.names) != (was.count, was.kind, was.names):
        raise ExperimentError(
            f"from_model: dataset {dataset.path} has other columns than the model {model.path} "
            f"learned from: {columns.count:,} {columns.kind}, expected {was.count:,} {was.kind}, "
            f"each under its name; {cure}"
        )
    if dataset.classes != about.classes or (dataset.targets != was.targets):
        raise ExperimentError(
            f"from_model: dataset {dataset.path} has other classes or targets than the model "
            f"{model.path}; {cure}"
        )
    if tuple(transforms) != about.transforms.names:
        raise ExperimentError(
            f"from_model: transforms were {', '.join(transforms) or 'none'}, expected those of "
            f"the model: {', '.join(about.transforms.names) or 'none'}"
        )
    delayed = protocol.delay if isinstance(protocol.delay, str) else None
    dropped = (
        None
        if delayed is None or columns.names is None
        else columns.names.index(delayed)
    )
    if dropped != about.transforms.dropped:
        raise ExperimentError(
            "from_model: the column of delays is another one than in the run of the model"
        )
    for name, learner in learners:
        entry = about.learner
        params = learner.resolved_params()
        if (name, learner.version, params) != (entry.name, entry.version, entry.params):
            raise ExperimentError(
                f"from_model: learner {name} with {params} is not that of the model {model.path}: "
                f"{entry.name} with {entry.params}; leave --learner out"
            )


def load_beginning(path: str, digest: str) -> FinalModel:
    """Return the model of a run, whose definition has its digest.

    Raises
    ------
    ModelError
        If the file was changed since the plan was made.
    """
    got = model_digest(path)
    if got != digest:
        raise ModelError(
            f"{path} was changed: its digest is {got[:_SHOWN]}, the run's is {digest[:_SHOWN]}; "
            "evaluate again"
        )
    name = read_about(path).learner.name
    return load_model(path, name)


def _split(model: FinalModel) -> int:
    """Return the number of steps before the first that streams."""
    steps = model.pipeline.steps
    return next((i for i, step in enumerate(steps) if step.streams), len(steps))


def streaming_pipeline(model: FinalModel) -> Pipeline:
    """Return the transforms of a model, from the first that streams on as those of a stream."""
    first = _split(model)
    steps = model.pipeline.steps
    return replace(model.pipeline, steps=steps[:first], streaming=steps[first:])


def streaming_state(model: FinalModel) -> dict[str, NDArray[Any]]:
    """Return what the transforms of a stream have learned, as a checkpoint names it."""
    return {
        f"transform.{number}.{name}": array
        for number, step in enumerate(model.pipeline.steps[_split(model) :])
        if isinstance(step, StreamingTransform)
        for name, array in step.state().items()
    }


def learned_model(
    before: SavedModel, run: Run, learner: Learner, dataset: Dataset, pipeline: Pipeline
) -> FinalModel:
    """Return the model that `run` ended with, which began with `before`."""
    digests = (dataset.fingerprint,)
    rows = dataset.rows("train")
    entry = learned_now(dataset.name, digests, rows, before.digest, {})
    about = before.about.changed(history=(*before.about.history, entry), run=run.id)
    return FinalModel(about, learner, pipeline)
