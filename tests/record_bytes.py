"""The records of a store as bytes, whichever files they are in."""

from __future__ import annotations

from pathlib import Path

from olscale.results import Store
from olscale.results.rows import run_bytes


def record_bytes(path: Path | str) -> dict[str, bytes]:
    """Return the bytes of the file that each finished run has or would have by itself, by id."""
    store = Store(str(path))
    records = store.get_many(store.done())
    return {id: run_bytes(record) for id, record in records.items()}
