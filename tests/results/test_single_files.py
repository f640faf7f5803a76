"""Many single files are read once, however often their runs are asked for, and again where files are other ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from olscale.bench.store import fill_loose, records, write_loose
from olscale.errors import StoreError
from olscale.results import Store, open_store
from olscale.results.compact import compact
from olscale.results.run_files import file_of
from olscale.storage.local import LocalStorage

RUNS = 230


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return fill_loose(tmp_path / "store", RUNS)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files of runs and timings that have been read, in order."""
    names: list[str] = []
    read = LocalStorage.read

    def recorded(self: LocalStorage, name: str) -> bytes:
        if name.startswith(("runs", "lost", "timings")):
            names.append(name)
        return read(self, name)

    monkeypatch.setattr(LocalStorage, "read", recorded)
    return names


def test_files_are_read_once_for_all_columns(store: Store, opened: list[str]) -> None:
    metrics = store.read(["id", "metrics"])
    curves = store.read(["id", "curve_rows", "series"])
    again = store.read(["outcome", "id"])
    assert len(opened) == len(set(opened)) == RUNS
    assert store.run_files["runs"].single_count == RUNS
    fresh = open_store(store.path)
    assert metrics.equals(fresh.read(["id", "metrics"]))
    assert curves.equals(open_store(store.path).read(["id", "curve_rows", "series"]))
    assert again.equals(open_store(store.path).read(["outcome", "id"]))


def test_one_that_is_exchanged_or_new_is_seen(store: Store, opened: list[str]) -> None:
    known = store.read()
    record = next(records(1))
    write_loose(
        store, [replace(record, outcome="diverged", reason="not finite", metrics={})]
    )
    first = store.read(["id", "outcome"]).to_pylist()
    assert {"id": record.id, "outcome": "diverged"} in first
    *_, added = records(RUNS + 1)
    write_loose(store, [added])
    opened.clear()
    assert store.read(["id"])["id"].to_pylist() == sorted(
        [*known["id"].to_pylist(), added.id]
    )
    assert opened == [file_of("runs", added.id)]


def test_one_that_is_damaged_is_named_each_time(store: Store) -> None:
    store.read()
    name = file_of("runs", next(records(1)).id)
    path = Path(store.path, name)
    path.write_bytes(path.read_bytes()[:-9])
    for _ in range(2):
        with pytest.raises(StoreError, match=name):
            store.read(["id", "metrics"])
        assert len(store.read(["id"], on_damage="skip")) == RUNS - 1
        assert store.damaged == (name,)


def test_rows_are_the_same_before_and_after_compaction(store: Store) -> None:
    before = store.read()
    compact(open_store(store.path))
    assert store.read().equals(before)
    assert store.run_files["runs"].single_count == 0
