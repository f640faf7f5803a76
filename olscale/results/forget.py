"""Runs leave a store, or give way to what they are now.

A compacted file never changes: one without some of its rows is written beside it, and only then the
old one is removed. Killed at any instant, a store has lost nothing else. A compaction at the same
time may bring a run back.
"""

import hashlib
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from olscale.errors import ParameterError, StoreError, UnknownNameError
from olscale.results.compacted import (
    SCHEMAS,
    compacted_bytes,
    compacted_name,
    prefix_of,
    read_compacted,
    rows_of,
)
from olscale.results.kept_models import forget_models, kept_ids
from olscale.results.plans import plan_file, read_plans
from olscale.results.record import Record
from olscale.results.rows import record_of, run_bytes, timing_bytes
from olscale.results.scratch import Scratch
from olscale.results.selections import read_selections, selection_file
from olscale.results.single import file_of, is_damage, stem, why
from olscale.results.store_runs import StoreRuns
from olscale.storage.checked_json import DAMAGE, json_content


def forget_matching(
    store: StoreRuns,
    learners: Collection[str] = (),
    datasets: Collection[str] = (),
    everything: bool = False,
) -> int:
    """Remove the runs of these learners on these datasets with all that belongs to them; see `Store.forget`."""
    if everything == bool(learners or datasets):
        raise ParameterError(
            "name learners or datasets whose runs are forgotten, or ask for everything, and not "
            "for both"
        )
    if everything:
        return _forget_everything(store)
    table = store.read(["id", "learner", "dataset"], on_damage="skip")
    damaged, store.damaged = store.damaged, ()
    selections, plans = read_selections(store, "skip"), read_plans(store, "skip")
    store.damaged = (*damaged, *store.damaged)
    rows = table.to_pylist()
    kinds = [(row["learner"], row["dataset"]) for row in rows]
    kinds += [
        (str(one.definition["learner"]["name"]), str(one.definition["dataset"]["name"]))
        for one in selections
    ]
    for what, asked, known in (
        ("learner", learners, {learner for learner, _ in kinds}),
        ("dataset", datasets, {dataset for _, dataset in kinds}),
    ):
        for name in asked:
            if name not in known:
                raise UnknownNameError(f"{what} in the metrics store {store.path}", name, known)
    is_asked = [
        (not learners or learner in learners) and (not datasets or dataset in datasets)
        for learner, dataset in kinds
    ]
    ids = {row["id"] for row, asked in zip(rows, is_asked, strict=False) if asked}
    left = {row["id"] for row in rows} - ids
    forget(store, ids)
    # After the runs: without its selection, what tuning compared would be taken for results.
    store.discard(
        selection_file(one)
        for one, asked in zip(selections, is_asked[len(rows) :], strict=True)
        if asked
    )
    store.discard(
        plan_file(plan)
        for plan in plans
        if ids.intersection(plan.runs) and left.isdisjoint(plan.runs)
    )
    forget_checkpoints(store, ids, learners, datasets)
    return len(ids)


def _forget_everything(store: StoreRuns) -> int:
    ids = store.done() | store.lost()
    forget_models(store, kept_ids(store))
    for kind in ("runs", "lost", "timings"):
        store.discard(
            [*store.single_files(kind), *(store.compacted_files(kind) if kind in SCHEMAS else ())]
        )
    store.discard([*store.names("selections"), *store.names("plans")])
    _forget_groups(store, lambda about: True)
    return len(ids)


def forget(store: StoreRuns, ids: set[str]) -> None:
    """Remove runs from single files and compacted files, so that they are computed again.

    A compaction at the same time may bring one back; its new result then counts if its outcome is
    better.
    """
    forget_models(store, ids)
    for kind in ("runs", "lost", "timings"):
        store.discard([name for name in store.single_files(kind) if stem(name) in ids])
        if kind in SCHEMAS:
            _drop_rows(store, kind, ids)


def take_out_of_compacted(store: StoreRuns, ids: set[str]) -> None:
    """Put the results of runs that are in compacted files into single files, where they can be replaced in one step."""
    for name, of in store.compacted_ids("runs").items():
        rows = rows_of(_rows(store, "runs", name), ids) if _has_any(of, ids) else None
        for row in rows.to_pylist() if rows is not None else ():
            if not store.exists(file_of("runs", row["id"])):
                store.put(file_of("runs", row["id"]), run_bytes(record_of(row, None)))
    _drop_rows(store, "runs", ids)


def result_digests(store: StoreRuns, ids: Collection[str]) -> dict[str, bytes]:
    """Return a digest of what the store has of each of these runs, whichever version of a library wrote it."""
    rows = store.read(on_damage="skip", ids=ids).to_pylist() if ids else []
    return {row["id"]: hashlib.sha256(repr(row).encode()).digest() for row in rows}


def replace_record(store: StoreRuns, record: Record) -> None:
    """Write a finished run in the place of what the store has of it.

    An outcome of ``"lost"`` takes the place of a result too: what was computed before may be out of
    date.

    Raises
    ------
    StoreError
        If the store cannot be written to.
    """
    results = run_bytes(record)
    store.put(file_of("timings", record.id), timing_bytes(record, datetime.now(UTC)))
    if record.outcome == "lost":
        store.put(file_of("lost", record.id), results)
        store.discard([file_of("runs", record.id)])
    else:
        store.put(file_of("runs", record.id), results)
    _drop_rows(store, "runs", {record.id})


def replace_together(store: StoreRuns, records: Sequence[Record]) -> None:
    """Write finished runs, none of them ``lost``, to one compacted file, and then remove what the store had of them.

    That is in single files, a run each, where `take_out_of_compacted` has put it: nobody else needs
    to be waited for.

    Raises
    ------
    StoreError
        If the store cannot be written to.
    """
    ids = {record.id for record in records}
    written = store.write_together(records)
    store.discard(file_of("runs", id) for id in ids)
    _drop_rows(store, "runs", ids, written)


def _drop_rows(store: StoreRuns, kind: str, ids: set[str], kept_file: str = "") -> None:
    for name, of in store.compacted_ids(kind).items():
        if name == kept_file or not _has_any(of, ids):
            continue
        rows = _rows(store, kind, name)
        kept = rows_of(rows, set(rows["id"].to_pylist()) - ids)
        if kept.num_rows:
            data = compacted_bytes(kept)
            store.put(compacted_name(kind, prefix_of(name), data), data)
        store.discard([name])


def _has_any(found: pa.ChunkedArray, ids: set[str]) -> bool:
    return not ids.isdisjoint(found.to_pylist())


def _rows(store: StoreRuns, kind: str, name: str) -> pa.Table:
    try:
        return read_compacted(store.files, kind, name, SCHEMAS[kind].names)
    except (OSError, ValueError, pa.ArrowException) as fault:
        cure = "olscale compact sets it aside" if is_damage(fault) else "try again"
        raise StoreError(
            f"cannot read {name} of the metrics store {store.path}: {why(fault)}; {cure}"
        ) from fault


def forget_checkpoints(
    store: StoreRuns,
    ids: Collection[str],
    learners: Collection[str] = (),
    datasets: Collection[str] = (),
) -> None:
    """Remove the checkpoints of run groups that have one of these runs, or one of the learners on one of the datasets."""

    def is_asked(about: dict[str, Any]) -> bool:
        if not set(ids).isdisjoint(map(str, about.get("runs", ()))):
            return True
        mine = not learners or not set(learners).isdisjoint(map(str, about.get("learners", ())))
        return (
            bool(learners or datasets)
            and mine
            and (not datasets or about.get("dataset") in datasets)
        )

    _forget_groups(store, is_asked)
    store.discard(
        name
        for name in store.names("checkpoints")
        if name.rpartition("/")[2].removesuffix(".json") in ids
    )


def _forget_groups(store: StoreRuns, is_asked: Callable[[dict[str, Any]], bool]) -> None:
    """Remove the checkpoints of the run groups that are asked for, and what their class shards have left."""
    names = [name for name in store.names("checkpoints") if name.endswith("/pack.json")]
    for name, data in store.files.read_many(names):
        try:
            about = json_content(data, store.checked) if isinstance(data, bytes) else {}
            asked = is_asked(about)
        except DAMAGE:  # nobody continues it
            about, asked = {}, True
        if asked:
            with suppress(OSError):
                store.files.remove(name.rpartition("/")[0])
            for id in about.get("runs", ()):
                Scratch(store, str(id)).clear()
