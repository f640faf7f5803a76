"""The records of a run group: written at its end, merged from class shards, or recorded as lost."""

from collections.abc import Sequence

import numpy as np

from olscale.data.dataset import open_dataset
from olscale.data.stream import open_streams
from olscale.data.transforms.pipeline import Pipeline
from olscale.errors import ModelError, StoreError
from olscale.evaluation.class_shards import Learned, merge_shards
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_state import RunState
from olscale.evaluation.stream_transforms import StreamTransforms
from olscale.execution.checkpoints import Checkpoints
from olscale.execution.task_report import TaskReport, answering
from olscale.results.faults import why
from olscale.results.forget import replace_record, replace_together
from olscale.results.opening import open_store
from olscale.results.record import Record
from olscale.results.scratch import Scratch
from olscale.results.store import Store, model_file

# Two Parquet files a run took 60 % of the processor time of small runs, and waits for the disk
# many times as long. So of several runs a group or bundle writes one compacted file and one of
# timings, both flushed before it is reported.


def write_lost(group: RunGroup, store: str, reason: str) -> list[str]:
    """Write each run of `group` as ``lost``, to be replaced by later results; return the ids."""
    target = open_store(store)
    for run in group.runs:
        no_mistakes = np.empty(0, dtype=np.int64)
        _write(
            target,
            group,
            Record(
                run.definition(), run.id, "lost", reason, {}, no_mistakes, no_mistakes
            ),
        )
    return [run.id for run in group.runs]


def finished_outcomes(group: RunGroup, store: str) -> dict[str, str]:
    """Return the outcomes of the runs of `group` if the store has them all; else nothing.

    A worker may die between writing them and its answer. Where results are replaced, the new ones
    cannot be distinguished from the old, so nothing is returned.
    """
    [outcomes] = outcomes_of_each([group], store)
    return outcomes


def outcomes_of_each(groups: Sequence[RunGroup], store: str) -> list[dict[str, str]]:
    """Return the `finished_outcomes` of several groups, reading the store once."""
    ids_of_groups = [
        [run.id for run in group.runs] if not group.replaces else [] for group in groups
    ]
    target = open_store(store)
    stored = target.done().intersection(id for ids in ids_of_groups for id in ids)
    table = target.read(["id", "outcome"], "skip", ids=stored)
    outcomes = dict(
        zip(table["id"].to_pylist(), table["outcome"].to_pylist(), strict=True)
    )
    return [
        {id: outcomes[id] for id in ids} if outcomes.keys() >= set(ids) else {}
        for ids in ids_of_groups
    ]


def write_records(store: Store, group: RunGroup, records: Sequence[Record]) -> None:
    """Write the records of runs of `group`; replace older ones if requested."""
    if group.together:
        write_together(store, records, group.replaces)
        return
    for record in records:
        _write(store, group, record)


def write_together(store: Store, records: Sequence[Record], replaces: bool) -> None:
    """Write records of many groups to one file; replace older ones if requested."""
    if replaces:
        replace_together(store, records)
    else:
        store.write_together(records)


def _write(store: Store, group: RunGroup, record: Record) -> None:
    if group.replaces:
        replace_record(store, record)
    else:
        store.write(record)


def keep_models(
    store: Store, group: RunGroup, ends: Sequence[tuple[RunState, Pipeline]]
) -> list[str]:
    """Write the final models that can be saved, before their records, which are the commit.

    `ends` has the states of the runs that ended, and their final transforms. Return a line for each
    model that turned out not to be savable.

    Raises
    ------
    StoreError
        If the store cannot be written to.
    """
    # Most evaluations keep none.
    from olscale.evaluation.final_models import final_model, keep_probabilities

    dataset = open_dataset(group.path)
    notes: list[str] = []
    for state, pipeline in ends:
        if state.outcome == "ok" and state.run.id not in group.unsaved:
            name = model_file(state.run.id)
            model = final_model(
                state.run, state.learner, dataset, pipeline, group.model
            )
            keep_probabilities(model, state.probabilities)
            try:
                with store.files.writing(name) as file:
                    model.write(file, allow_pickle=group.pickles)
            except ModelError as fault:  # the results count all the same
                notes.append(
                    f"the model of run {state.run.id[:12]} is not kept: {fault}"
                )
            except OSError as fault:
                raise StoreError(
                    f"cannot write {name} to the metrics store {store.path}: {why(fault)}; check "
                    "its permissions and free "
                    "space, or leave keep_model out"
                ) from fault
    return notes


def merge_group(group: RunGroup, store: str) -> TaskReport:
    """Write the record of a run whose class shards have all been run.

    Another process that runs the same experiment may have written it and cleared the scratch arrays
    before.
    """
    with answering() as answer:
        target = open_store(store)
        [run] = group.runs
        key = run.stream

        def keep(state: RunState, learned: Learned) -> None:
            if group.keeps_models:
                streams = open_streams(
                    group.path,
                    key.transforms,
                    key.shuffle,
                    key.part,
                    key.projection or 0,
                )
                transforms = StreamTransforms(streams.train.pipeline, group.runs, 0)
                transforms.restore(learned)
                keep_models(target, group, [(state, transforms.pipeline(None))])

        try:
            record = merge_shards(group, Scratch(target, run.id), keep)
        except StoreError:
            # Another process may have merged the run already, and cleared the arrays.
            if group.replaces or run.id not in target.done():
                raise
            record = target.get(run.id)
        else:
            write_records(target, group, [record])
        answer.report = TaskReport(outcomes={record.id: record.outcome})
    return answer.report


def clear_scratch(group: RunGroup, store: str) -> None:
    """Remove what shards left for the merge, and their checkpoints."""
    if group.shards:
        target = open_store(store)
        for part in group.parts():
            Checkpoints(target, part).clear()
        Scratch(target, group.runs[0].id).clear()
