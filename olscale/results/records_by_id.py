"""Runs by their ids, from single files and compacted ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from olscale.errors import StoreError
from olscale.results.arrow_arrays import arrow_array
from olscale.results.compacted import SCHEMAS
from olscale.results.faults import refuse_damage, why
from olscale.results.record import Record, is_run_id
from olscale.results.rows import record_of
from olscale.results.run_files import file_of
from olscale.results.store import Store


def read_records(store: Store, ids: Collection[str]) -> dict[str, Record]:
    """Return runs of a store by id; see `Store.get_many`."""
    valid = [id for id in ids if is_run_id(id)]
    runs = _rows(store, "runs", valid)
    runs |= _rows(store, "lost", [id for id in valid if id not in runs])
    for id in ids:
        if id not in runs:
            raise StoreError(
                f"the metrics store {store.path} has no run {id!r}; expected one of the ids of "
                "Store.done()"
            )
    timings = _rows(store, "timings", list(runs))
    return {id: _record(store, id, runs[id], timings.get(id)) for id in ids}


def _record(
    store: Store, id: str, run: dict[str, Any], timing: dict[str, Any] | None
) -> Record:
    try:
        return record_of(run, timing)
    except (ValueError, TypeError, AttributeError, RecursionError) as fault:
        raise StoreError(
            f"damaged run {id} in the metrics store {store.path}: {why(fault)}; delete its "
            "file and evaluate again"
        ) from fault


def _rows(store: Store, folder: str, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the rows of those runs that have one, from a single file or a compacted one."""
    if not ids:
        return {}
    files = store.files_in(folder)
    # pyarrow imports pandas for a timestamp, and no record has one.
    columns = [name for name in SCHEMAS[files.kind].names if name != "finished_at"]
    result = files.read_single(
        [file_of(folder, id) for id in ids], columns, store.checked
    )
    rows = _by_id(result.tables)
    missing = sorted(set(ids) - rows.keys())
    if missing and folder != "lost":
        with store.reading(f"compacted/{folder}"):
            compacted = files.read_compacted(
                columns, ids=arrow_array(missing, pa.string())
            )
        rows = _by_id(compacted.tables) | rows
        result.add(compacted)
    if set(ids) - rows.keys():
        refuse_damage(store.path, result.damaged)
    return rows


def _by_id(tables: Sequence[pa.Table]) -> dict[str, dict[str, Any]]:
    """Return the rows of tables by id, the first of those of one run."""
    rows: dict[str, dict[str, Any]] = {}
    for table in tables:
        for row in table.to_pylist():
            rows.setdefault(row["id"], row)
    return rows
