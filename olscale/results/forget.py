"""Runs leave a store, or give way to what they are now.

A compacted file never changes: one without some of its rows is written next to it, only then the
old one is removed. Killed at any instant, a store has lost nothing else. A compaction at the same
time may bring a run back.
"""

import hashlib
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from olscale.errors import ParameterError, UnknownNameError
from olscale.results.compacted import SCHEMAS, prefix_of, read_compacted, rows_of
from olscale.results.faults import is_damage, unreadable
from olscale.results.plans import PlannedNames, plan_file, read_plans
from olscale.results.record import Record
from olscale.results.rows import record_of, run_bytes, timing_bytes
from olscale.results.run_files import file_of, stem
from olscale.results.scratch import Scratch
from olscale.results.selections import read_selections, selection_file
from olscale.results.store import Store, model_file
from olscale.storage.checked_json import DAMAGE, json_content

_FOLDERS = ("runs", "lost", "timings")


def forget_matching(
    store: Store,
    learners: Collection[str] = (),
    datasets: Collection[str] = (),
    everything: bool = False,
) -> int:
    """Remove the runs of these learners on these datasets; see `Store.forget`.

    Both go by name or by what an experiment calls them.
    """
    if everything == bool(learners or datasets):
        raise ParameterError(
            "name learners or datasets whose runs are forgotten, or ask for everything, and not "
            "for both"
        )
    if everything:
        return _forget_everything(store)
    columns = [
        "id",
        "learner",
        "version",
        "params",
        "dataset",
        "fingerprint",
        "transforms",
    ]
    runs = store.read(columns, on_damage="skip").to_pylist()
    with store.adding_damage():
        selections = read_selections(store, "skip")
        plans = read_plans(store, "skip")
    names = PlannedNames(plans)
    learners_of = {run["id"]: names.learner(run) for run in runs}
    datasets_of = {run["id"]: names.dataset(run) for run in runs}
    tuned = {
        selection_file(selection): selection.learner_and_dataset
        for selection in selections
    }
    for kind, requested, existing in (
        (
            "learner",
            learners,
            [*learners_of.values(), {name for name, _ in tuned.values()}],
        ),
        (
            "dataset",
            datasets,
            [*datasets_of.values(), {name for _, name in tuned.values()}],
        ),
    ):
        known_names = set().union(*existing)
        for name in requested:
            if name not in known_names:
                raise UnknownNameError(
                    f"{kind} in the metrics store {store.path}",
                    name,
                    known_names,
                )

    def is_asked(of_learner: AbstractSet[str], of_dataset: AbstractSet[str]) -> bool:
        is_learner = not learners or not of_learner.isdisjoint(learners)
        return is_learner and (not datasets or not of_dataset.isdisjoint(datasets))

    ids = {id for id in learners_of if is_asked(learners_of[id], datasets_of[id])}
    forget(store, ids)
    # After the runs: without its selection, what tuning compared would be taken for results.
    store.discard(
        file
        for file, (learner, dataset) in tuned.items()
        if is_asked({learner}, {dataset})
    )
    remaining = learners_of.keys() - ids
    store.discard(
        plan_file(plan)
        for plan in plans
        if not ids.isdisjoint(plan.runs) and remaining.isdisjoint(plan.runs)
    )
    forget_checkpoints(store, ids, learners, datasets)
    return len(ids)


def _forget_everything(store: Store) -> int:
    ids = store.done() | store.lost()
    _forget_models(store, store.model_ids())
    for folder in _FOLDERS:
        store.discard(store.single_files(folder))
    for kind in SCHEMAS:
        store.discard(store.compacted_files(kind))
    store.discard([*store.names("selections"), *store.names("plans")])
    _forget_groups(store, lambda pack: True)
    return len(ids)


def forget(store: Store, ids: set[str]) -> None:
    """Remove runs from single files and compacted files, so that they are computed again.

    A compaction at the same time may bring one back; its new result then counts if its outcome is
    better.
    """
    _forget_models(store, ids)
    # Results go first: readers pass over timings without a run.
    for folder in _FOLDERS:
        store.discard(
            [name for name in store.single_files(folder) if stem(name) in ids]
        )
        if folder in SCHEMAS:
            _drop_rows(store, folder, ids)


def _forget_models(store: Store, ids: Collection[str]) -> None:
    store.discard(model_file(id) for id in store.model_ids() & set(ids))


def take_out_of_compacted(store: Store, ids: set[str]) -> None:
    """Put results of compacted files into single files, where they can be replaced in one step."""
    for name, ids_of_file in store.compacted_ids("runs").items():
        if ids.isdisjoint(ids_of_file.to_pylist()):
            continue
        for row in rows_of(_rows(store, "runs", name), ids).to_pylist():
            # One that is there may be newer than the compacted row.
            file = file_of("runs", row["id"])
            if not store.exists(file):
                store.put(file, run_bytes(record_of(row, None)))
    _drop_rows(store, "runs", ids)


def result_digests(store: Store, ids: Collection[str]) -> dict[str, bytes]:
    """Return a digest of the result of each run, whichever version of a library wrote it."""
    if not ids:
        return {}
    rows = store.read(on_damage="skip", ids=ids).to_pylist()
    digests = {}
    for row in rows:
        digests[row["id"]] = hashlib.sha256(repr(row).encode()).digest()
    return digests


def replace_record(store: Store, record: Record) -> None:
    """Write a finished run in the place of what the store has of it.

    An outcome of ``"lost"`` takes the place of a result too: what was computed before may be out of
    date.

    Raises
    ------
    StoreError
        If the store cannot be written to.
    """
    results = run_bytes(record)
    store.put(
        file_of("timings", record.id),
        timing_bytes(record, datetime.now(UTC)),
    )
    if record.outcome == "lost":
        store.put(file_of("lost", record.id), results)
        store.discard([file_of("runs", record.id)])
    else:
        store.put(file_of("runs", record.id), results)
    # A row in a compacted file would count where its outcome is the better one.
    _drop_rows(store, "runs", {record.id})


def replace_together(store: Store, records: Sequence[Record]) -> None:
    """Write finished runs, none ``lost``, to one compacted file, in place of their single files.

    What the store had is in single files, a run each, where `take_out_of_compacted` has put it.

    Raises
    ------
    StoreError
        If the store cannot be written to.
    """
    ids = {record.id for record in records}
    # Nothing is removed before what takes its place is there.
    written = store.write_together(records)
    store.discard(file_of("runs", id) for id in ids)
    _drop_rows(store, "runs", ids, written)


def _drop_rows(store: Store, kind: str, ids: set[str], kept_file: str = "") -> None:
    """Write compacted files without the rows of some runs, and remove those with them."""
    for name, ids_of_file in store.compacted_ids(kind).items():
        if name == kept_file or ids.isdisjoint(ids_of_file.to_pylist()):
            continue
        rows = _rows(store, kind, name)
        remaining = rows_of(rows, set(rows["id"].to_pylist()) - ids)
        if remaining.num_rows:
            store.put_compacted(kind, prefix_of(name), remaining)
        store.discard([name])


def _rows(store: Store, kind: str, name: str) -> pa.Table:
    try:
        return read_compacted(store.files, kind, name, SCHEMAS[kind].names)
    except (OSError, ValueError, pa.ArrowException) as fault:
        cure = "olscale compact sets it aside" if is_damage(fault) else "try again"
        raise unreadable(store.path, name, fault, cure) from fault


def forget_checkpoints(
    store: Store,
    ids: Collection[str],
    learners: Collection[str] = (),
    datasets: Collection[str] = (),
) -> None:
    """Remove the checkpoints of groups with one of the runs, or of learners on datasets."""
    # A group goes as a whole: its runs share their checkpoints.
    run_ids = set(ids)

    def is_forgotten(pack: dict[str, Any]) -> bool:
        if not run_ids.isdisjoint(map(str, pack.get("runs", ()))):
            return True
        if not learners and not datasets:
            return False
        names = map(str, pack.get("learners", ()))
        if learners and set(learners).isdisjoint(names):
            return False
        return not datasets or pack.get("dataset") in datasets

    _forget_groups(store, is_forgotten)
    store.discard(
        name
        for name in store.names("checkpoints")
        if name.rpartition("/")[2].removesuffix(".json") in run_ids
    )


def _forget_groups(
    store: Store, is_forgotten: Callable[[dict[str, Any]], bool]
) -> None:
    """Remove checkpoints of groups, by their pack.json, and what their class shards have left."""
    names = [name for name in store.names("checkpoints") if name.endswith("/pack.json")]
    for name, data in store.files.read_many(names):
        pack: dict[str, Any] = {}
        try:
            if isinstance(data, bytes):
                pack = json_content(data, store.checked)
            if not is_forgotten(pack):
                continue
        except DAMAGE:  # a damaged one is continued by no evaluation
            pack = {}
        with suppress(OSError):
            store.files.remove(name.rpartition("/")[0])
        for id in pack.get("runs", ()):
            Scratch(store, str(id)).clear()
