"""The final models of runs: taken from a completed pass, or recomputed from a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from olscale.data.dataset import Dataset, Progress, open_dataset
from olscale.data.stream import Part, Shuffle
from olscale.data.transforms.pipeline import Pipeline
from olscale.errors import DatasetError, ModelError
from olscale.evaluation.from_model import learned_model
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.online_folds import OnlineFolds
from olscale.evaluation.protocol import Scoring
from olscale.evaluation.run import Run, StreamKey
from olscale.evaluation.run_group import RunGroup, StreamSource
from olscale.evaluation.summed_rows import SumsPass, can_sum
from olscale.evaluation.versions import check_learners
from olscale.learners.class_probabilities import ClassProbabilities
from olscale.learners.contract.capability import show_margins
from olscale.learners.contract.foreign.learner import ForeignLearner
from olscale.learners.contract.learner import Learner
from olscale.learners.contract.score_probabilities import LogProbabilityScores
from olscale.learners.contract.version import learner_version
from olscale.learners.moa.learner import JavaLearner
from olscale.learners.registry import learner_class, learner_path, make_learner
from olscale.learners.vw.learner import WabbitLearner
from olscale.models.about import (
    About,
    ColumnsEntry,
    DatasetEntry,
    LearnerEntry,
    TransformsEntry,
)
from olscale.models.final_model import FinalModel
from olscale.models.saved_model import saved_model
from olscale.models.write import why_not_saved
from olscale.results.record import Record


def final_model(
    run: Run, learner: Learner, dataset: Dataset, pipeline: Pipeline, before: str = ""
) -> FinalModel:
    """Return the final model of `run`: `learner`, with the transforms applied to `dataset`.

    `before` is the path of the saved model that the run began with, if it did.
    """
    if isinstance(
        learner, ForeignLearner | JavaLearner | LogProbabilityScores | WabbitLearner
    ):
        learner = learner.with_plain_scores()
    if before:
        return learned_model(saved_model(before), run, learner, dataset, pipeline)
    key = run.stream
    return FinalModel(
        About(
            learner=LearnerEntry(
                name=run.learner,
                version=run.version,
                params=run.params,
                entropy=key.entropy,
            ),
            transforms=TransformsEntry(
                names=key.transforms,
                dropped=key.scoring.delay_position,
                projection=key.projection or 0,
            ),
            columns=ColumnsEntry.of(dataset.manifest),
            classes=dataset.classes,
            dataset=DatasetEntry.of(dataset.name, dataset.manifest),
            run=run.id,
        ),
        learner,
        pipeline,
    )


def run_of(record: Record) -> Run:
    """Return the run that a record describes.

    Raises
    ------
    ModelError
        If this version of olscale would run something different.
    """
    definition = record.run
    protocol = definition["protocol"]
    learner = definition["learner"]
    try:
        split = protocol.get("split", "")
        fold = protocol.get("fold")
        online = str(split).startswith("prequential-")
        dealt = (protocol["split_seed"], protocol["folds"]) if split else (0, 0)
        option_names = {option.name for option in fields(Scoring)} - {"folds"}
        scoring = Scoring(
            **{
                name: _hashable(value)
                for name, value in protocol.items()
                if name in option_names
            },
            folds=OnlineFolds(split, *dealt) if online else None,
        )
        permuted = protocol["order"] == "permuted"
        stream = StreamKey(
            definition["dataset"]["name"],
            definition["dataset"]["fingerprint"],
            tuple(definition["transforms"]),
            Shuffle(protocol["seed"], protocol["permutation"]) if permuted else None,
            Part(split, dealt[0], fold, dealt[1], protocol.get("share", 1.0))
            if split and not online
            else None,
            protocol.get("passes", 1),
            protocol.get("projection"),
            scoring,
            protocol.get("transforms_version", 1),
            definition["dataset"].get("chosen_columns", ""),
        )
        run = Run(
            stream,
            learner["name"],
            learner["version"],
            learner["params"],
            fold if online else None,
        )
    except (KeyError, TypeError, ValueError):
        run = None
    # A definition that does not give the same id means something else in this version.
    if run is None or run.id != record.id:
        raise ModelError(
            f"run {record.id} asks for what this version of olscale does not know; install a "
            "later one"
        )
    # The id has the version as well, but a model of another version is a clearer error.
    current_version = learner_version(
        learner_path(run.learner), learner_class(run.learner)
    )
    if str(current_version) != str(run.version):
        raise ModelError(
            f"run {record.id} is of version {run.version} of learner {run.learner}, here is "
            f"version {current_version}, which gives "
            "other numbers; evaluate it anew, or install the olscale that ran it"
        )
    return run


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return value


def compute_model(
    record: Record,
    path: str,
    progress: Progress | None = None,
    *,
    allow_pickle: bool = False,
) -> FinalModel:
    """Run the definition in `record` again and return the final model.

    Parameters
    ----------
    record : Record
        A run that ended with a result.
    path : str
        Its dataset.
    progress : callable, optional
        Called with the learner's name, the rows of each chunk and 0.
    allow_pickle : bool
        Whether the model may be one that only a pickle can save.

    Raises
    ------
    ModelError
        If the run has no model to save, or its result differs from the record.
    DatasetError
        If the dataset is a different one.
    """
    if record.outcome != "ok":
        raise ModelError(
            f"run {record.id} ended as {record.outcome} ({record.reason}): it has no final model"
        )
    run = run_of(record)
    if run.stream.scoring.from_model:
        raise ModelError(
            f"run {record.id} began with the saved model {run.stream.scoring.from_model[:12]}, "
            "which the store does not have; evaluate it with --from-model and --keep-model"
        )
    if reason := why_not_saved(make_learner(run.learner, run.params), allow_pickle):
        raise ModelError(reason)
    check_learners([run])
    dataset = open_dataset(path)
    if dataset.fingerprint != run.stream.fingerprint:
        raise DatasetError(
            f"{path} is another dataset than that of run {record.id}: its fingerprint is "
            f"{dataset.fingerprint[:12]}, "
            f"expected {run.stream.fingerprint[:12]}"
        )
    length = StreamSource(dataset.path, dataset.rows("train"), 0).length(run.stream)
    group = RunGroup(
        dataset.path, length, (run,), chunk_rows=dataset.manifest.chunk_rows
    )
    group = replace(group, keeps_models=True)
    group_pass = SumsPass(group) if can_sum(run) else GroupPass(group)
    while not group_pass.ended:
        before = group_pass.rows
        group_pass.advance()
        if progress is not None:
            progress(run.learner, group_pass.rows - before, 0)
    [recomputed] = group_pass.finish()
    if odd := differences(record, recomputed):
        raise ModelError(
            f"recomputed run {record.id} differs from the recorded one: {odd}; it was recorded by "
            "another version or "
            "on another kind of machine, and no model was written"
        )
    [state] = group_pass.states
    model = final_model(run, state.learner, dataset, group_pass.pipeline(state))
    keep_probabilities(model, state.probabilities)
    return model


def keep_probabilities(model: FinalModel, known: ClassProbabilities | None) -> None:
    """Let the final model of a run carry the calibrator and the threshold of the run, if any.

    Raises
    ------
    ModelError
        If a threshold decides by probabilities of the learner's own, which a file does not have.
    """
    if known is None or (known.calibrator is None and known.decision is None):
        return
    if known.calibrator is None:
        raise ModelError(
            f"learner {model.about.learner.name} decides by a threshold of its own probabilities, "
            "which model files do not have; leave threshold out, or do not keep the model"
        )
    margins = show_margins(model.learner)
    model.probabilities = ClassProbabilities(known.calibrator, known.decision, margins)


def differences(old: Record, new: Record) -> str:
    """Return which results differ between two records; empty if none do."""
    if new.outcome != old.outcome:
        return f"it ended as {new.outcome} ({new.reason})"
    odd = [
        name
        for name in old.metrics.keys() & new.metrics.keys()
        if not _same(old.metrics[name], new.metrics[name])
    ]
    if odd:
        name = min(odd)
        return f"{name} is {new.metrics[name]!r}, was {old.metrics[name]!r}"
    curves = (old.curve_rows, new.curve_rows), (old.curve_mistakes, new.curve_mistakes)
    if all(np.array_equal(*pair) for pair in curves):
        return ""
    return "mistakes along the stream"


def _same(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


def find_dataset(definition: Mapping[str, Any], places: list[str]) -> str:
    """Return the first of `places` that is the dataset of a run.

    Raises
    ------
    DatasetError
        If none of them is.
    """
    dataset = definition["dataset"]
    for place in places:
        try:
            if open_dataset(place).fingerprint == dataset["fingerprint"]:
                return place
        except DatasetError:
            continue
    raise DatasetError(
        f"the dataset {dataset['name']} of fingerprint {str(dataset['fingerprint'])[:12]} is not "
        f"at {', '.join(places)}; name it by --dataset"
    )
