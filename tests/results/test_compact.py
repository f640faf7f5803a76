"""Compaction: nothing lost, nothing doubled, whoever reads, writes, compacts or dies meanwhile."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from olscale.analysis import summarise
from olscale.errors import StoreError
from olscale.results import compact as compaction
from olscale.results import open_store
from olscale.results.compact import compact, compact_many, set_damaged_aside
from olscale.results.forget import forget
from olscale.results.store import Store


def compacted(store: Store) -> dict[str, bytes | Exception]:
    """Return the compacted files of runs."""
    return dict(store.files.read_many(store.compacted_files("runs")))


class Died(BaseException):
    """The process is gone."""


class Mortal:
    """Files that die before or after the n-th of the operations that change anything."""

    def __init__(self, files: Any, steps: int, after: bool) -> None:
        self._files = files
        self._steps = steps
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def _step(self, operation: Any, *args: Any) -> None:
        self._steps -= 1
        if self._steps == 0 and not self._after:
            raise Died
        operation(*args)
        if self._steps == 0:
            raise Died

    def put(self, name: str, data: bytes) -> None:
        self._step(self._files.put, name, data)

    def discard(self, name: str) -> None:
        self._step(self._files.discard, name)

    def discard_all(self, names: list[str]) -> None:
        for name in names:
            self.discard(name)


class Interrupted(Mortal):
    """Files that, before the n-th operation, wait for another process to compact, write a run and compact again."""

    path: str
    runs: list[Any]

    def _step(self, operation: Any, *args: Any) -> None:
        self._steps -= 1
        if self._steps == 0:
            other = open_store(self.path)
            compact(other)
            other.write(self.runs.pop())
            compact(other)
        operation(*args)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def rows(store: Store) -> list[dict[str, Any]]:
    return store.read().to_pylist()


@pytest.fixture(params=["local", "memory"])
def store(request, tmp_path) -> Store:
    path = (
        str(tmp_path / "store")
        if request.param == "local"
        else f"memory://{tmp_path.name}/{request.node.name}"
    )
    return open_store(path, create=True)


@pytest.fixture
def small_parts(monkeypatch) -> None:
    """Let a few runs make several parts."""
    monkeypatch.setattr(compaction, "ROWS", 2)


def record(make_record, i: int):
    return make_record(
        permutation=i,
        params={"C": 0.5},
        metrics={"test_error": i / 100, "mistakes": i},
        curve_rows=[10, 20],
        curve_mistakes=[1, i],
        segments=[("Day0", 20, i)],
        timings={"fit_seconds": i},
        environment={"host": "h"},
    )


def fill(store: Store, make_record, numbers) -> None:
    for i in numbers:
        store.write(record(make_record, i))


def fill_together(store: Store, make_record, numbers) -> None:
    store.write_together([record(make_record, i) for i in numbers])


def halfway(folder: str, make_record) -> Store:
    """Return a store of four compacted runs, three of run groups that have one in common, and one loose run."""
    store = open_store(f"{folder}/halfway", create=True)
    fill(store, make_record, range(4))
    compact(store)
    fill_together(store, make_record, [4, 5])
    fill_together(store, make_record, [5, 6])
    fill(store, make_record, [7])
    return store


def copied(store: Store, path: str) -> Store:
    """Return a copy of a store."""
    new = open_store(path, create=True)
    for folder in ("runs", "timings", "compacted/runs", "compacted/timings"):
        for name, data in store.files.read_many(store.files.names(folder)):
            new.put(name, data)
    return new


def test_compacted_store_gives_what_the_loose_files_gave(store, make_record):
    fill(store, make_record, range(20))
    store.write(make_record(learner="cw", outcome="diverged", reason="norm is inf"))
    before = rows(store)
    timings = store.timings()
    done = store.done()
    summaries = summarise(store)

    result = compact(store)

    assert (result.runs, result.files, result.merged, result.damaged) == (21, 1, 21, [])
    assert store.single_files("runs") == store.single_files("timings") == []
    assert (rows(store), store.done(), summarise(store)) == (before, done, summaries)
    assert store.timings().equals(timings)
    got = store.get(min(done))
    assert (got.id, set(got.timings)) == (
        min(done),
        {"fit_seconds"},
    ) or got.outcome == "diverged"


def test_runs_read_together_are_those_read_one_by_one(store, make_record):
    fill(store, make_record, range(6))
    compact(store)
    loose = make_record(learner="cw", outcome="diverged", reason="norm is inf")
    store.write(loose)
    ids = sorted(store.done() | {loose.id})
    together = store.get_many(ids)
    assert list(together) == ids
    for id, record in together.items():
        alone = store.get(id)
        assert (record.run, record.outcome) == (alone.run, alone.outcome)
        assert (record.metrics, record.timings) == (alone.metrics, alone.timings)
    with pytest.raises(StoreError, match="has no run 'nothing'"):
        store.get_many([*ids, "nothing"])


def test_runs_written_together_are_those_written_one_by_one(store, make_record):
    fill_together(store, make_record, range(20))
    together = (
        rows(store),
        store.timings(columns=["id", "timings"]),
        store.done(),
        summarise(store),
    )
    other = open_store(f"memory://together/{store.path}", create=True)
    fill(other, make_record, range(20))

    assert (
        rows(other),
        other.timings(columns=["id", "timings"]),
        other.done(),
        summarise(other),
    ) == together
    assert store.single_files("runs") == store.single_files("timings") == []
    assert store.get(min(store.done())).run == other.get(min(store.done())).run
    assert not store.write(record(make_record, 3))


def test_a_damaged_file_of_a_run_group_is_set_aside_and_its_runs_are_to_be_done_again(
    store, make_record
):
    fill_together(store, make_record, range(3))
    before = store.compacted_files("runs")
    fill_together(store, make_record, range(3, 6))
    [bad] = set(store.compacted_files("runs")) - set(before)
    [(_, data)] = store.files.read_many([bad])
    store.put(bad, data[:-40] + b"x" + data[-39:])

    assert set_damaged_aside(Store(store.path), store.done()) == [bad]
    assert len(Store(store.path).done()) == 3


def test_rows_of_some_runs_are_read_from_row_groups_that_have_them(
    store, make_record, monkeypatch
):
    records = sorted(
        (make_record(permutation=i) for i in range(6)), key=lambda record: record.id
    )
    monkeypatch.setattr("olscale.results.compacted._GROUP", 2)
    store.write_together(records)
    fetched = []
    read = pq.ParquetFile.read_row_groups

    def noted(file, groups, columns, **options):
        fetched.extend(groups if "curve_rows" in columns else [])
        return read(file, groups, columns=columns, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", noted)
    asked = [records[2].id, records[5].id]
    table = store.read(["id", "curve_rows"], ids=asked)
    assert table["id"].to_pylist() == asked
    assert [rows.values.to_pylist() for rows in table["curve_rows"]] == [
        records[i].curve_rows.tolist() for i in (2, 5)
    ]
    assert fetched == [1, 2]


def test_only_what_compaction_would_change_asks_for_it(store, make_record):
    fill_together(store, make_record, range(6))
    # one file of all runs is what compaction would make
    assert compact_many(store, 1).merged == 0
    before = compacted(store)
    fill_together(store, make_record, range(6, 9))
    fill(store, make_record, [9])
    # the larger of two files of all runs is what the smaller one is merged into
    assert compact_many(store, 5).runs == 0
    assert before.items() < compacted(store).items()
    assert compact_many(store, 4).runs == 10
    assert len(compacted(store)) == 1
    assert compact_many(store, 1).runs == 0


def test_run_in_a_part_is_not_written_again_and_counts_once_beside_a_loose_copy(
    store, make_record
):
    fill(store, make_record, range(5))
    [name, *_] = store.single_files("runs")
    [(_, data)] = store.files.read_many([name])
    compact(store)
    before = rows(store)

    assert not store.write(make_record(permutation=0, params={"C": 0.5}))
    store.put(name, data)

    assert rows(store) == before
    assert compact(store).merged == 1
    assert rows(store) == before


def test_lost_run_stays_loose_until_it_has_a_result(store, make_record):
    store.write(make_record(outcome="lost", reason="four workers died"))
    compact(store)
    assert (len(store.lost()), store.done()) == (1, set())

    store.write(make_record(metrics={"mistakes": 1}))
    compact(store)

    assert (store.lost(), len(store.done()), store.single_files("lost")) == (
        set(),
        1,
        [],
    )
    assert store.read()["outcome"].to_pylist() == ["ok"]


@pytest.mark.long
def test_same_runs_give_the_same_parts_however_they_were_compacted(
    tmp_path, make_record, small_parts
):
    """Two runs make one part, more of them 16 and then 256."""
    for name, steps in (
        ("at once", [range(40)]),
        ("step by step", [range(2), range(30, 40), range(2, 30)]),
    ):
        store = open_store(tmp_path / name, create=True)
        for numbers in steps:
            fill(store, make_record, numbers)
            compact(store)
    store = open_store(tmp_path / "in groups", create=True)
    for first in range(0, 40, 3):
        fill_together(store, make_record, range(first, min(first + 5, 40)))
    compact(store)

    names = ("at once", "step by step", "in groups")
    one, other, third = (
        contents(tmp_path / name / "compacted" / "runs") for name in names
    )
    assert one == other == third
    assert len({name[:2] for name in one}) > 16
    assert compact(open_store(tmp_path / "at once")).merged == 0
    assert contents(tmp_path / "at once" / "compacted" / "runs") == one


@pytest.mark.long
@pytest.mark.parametrize("after", [False, True])
def test_death_at_any_step_loses_and_doubles_nothing(
    tmp_path, make_record, small_parts, after
):
    folder = (
        # a disk would be waited for at each of some thousand files
        f"memory://{tmp_path.name}"
    )
    whole = open_store(f"{folder}/whole", create=True)
    fill(whole, make_record, range(8))
    expected = rows(whole)
    timings = whole.timings()["id"]
    before = halfway(folder, make_record)
    compact(whole)
    for step in range(1, 1000):
        store = copied(before, f"{folder}/{step}")
        files = store.files
        store.files = Mortal(files, step, after)
        try:
            compact(store)
        except Died:
            died = True
        else:
            died = False
        seen = open_store(store.path)
        assert rows(seen) == expected, step
        assert seen.timings()["id"].equals(timings)
        assert len(seen.done()) == 8
        compact(seen)
        assert dict(seen.files.read_many(seen.compacted_files("runs"))) == dict(
            whole.files.read_many(whole.compacted_files("runs"))
        )
        assert seen.single_files("runs") == seen.single_files("timings") == []
        if not died:
            break
    # the version, and a part and a loose file for each run and its timings
    assert step > 15


@pytest.mark.long
def test_two_compactions_interleaved_at_any_step_lose_nothing(
    tmp_path, make_record, small_parts
):
    """One compaction stops at a step, others run from start to end, a run comes in, and the first goes on."""
    folder = f"memory://{tmp_path.name}"
    before = halfway(folder, make_record)
    for step in range(1, 1000):
        store = copied(before, f"{folder}/{step}")
        expected = set(store.done())
        slow = Interrupted(store.files, step, after=False)
        slow.path = store.path
        slow.runs = [make_record(permutation=9)]
        store.files = slow
        compact(store)
        seen = open_store(store.path)
        if slow.runs:
            break
        assert len(rows(seen)) == len(seen.done()) == 9, step
        assert expected < seen.done()
    assert step > 15


def test_half_written_files_of_the_dead_are_removed_after_a_day(tmp_path, make_record):
    store = open_store(tmp_path, create=True)
    fill(store, make_record, [0])
    (old, new) = (tmp_path / "tmp" / name for name in ("old", "new"))
    for file in (old, new):
        file.write_bytes(b"half")
    os.utime(old, (time.time() - 90_000,) * 2)

    compact(store)

    assert (old.exists(), new.exists()) == (False, True)


def test_damaged_loose_file_is_set_aside_and_its_run_is_to_be_done_again(
    store, make_record
):
    fill(store, make_record, range(3))
    [bad, *_] = store.single_files("runs")
    store.put(bad, b"not parquet")

    result = compact(store)

    assert result.damaged == [bad]
    assert len(store.done()) == 2
    assert [data for _, data in store.files.read_many([f"damaged/{bad}"])] == [
        b"not parquet"
    ]
    fill(store, make_record, range(3))
    assert len(store.done()) == 3


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


def test_damaged_part_is_named_and_its_whole_row_groups_are_kept(
    store, make_record, monkeypatch
):
    monkeypatch.setattr("olscale.results.compacted._GROUP", 4)
    fill(store, make_record, range(10))
    compact(store)
    [part] = store.compacted_files("runs")
    [(_, data)] = store.files.read_many([part])
    store.put(part, flipped(data, 10))  # in the first row group

    with pytest.raises(
        StoreError, match=f"damaged file {part} .*olscale compact sets it aside"
    ):
        store.read()
    assert store.read(on_damage="skip").num_rows == 0
    assert store.damaged == (part,)
    fresh = Store(store.path)
    assert set_damaged_aside(fresh, set()) == [part]
    assert len(fresh.done()) == fresh.read().num_rows == 6


def test_full_disk_is_one_line_and_loses_nothing(tmp_path, make_record, monkeypatch):
    store = open_store(tmp_path, create=True)
    fill(store, make_record, range(5))
    before = rows(store)

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(
            StoreError,
            match=r"cannot write .* No space left on device; check its permissions and free",
        ):
            compact(store)
    assert rows(store) == before
    assert list((tmp_path / "tmp").iterdir()) == []


def test_forgotten_runs_are_gone_from_parts_and_loose_files(store, make_record):
    fill(store, make_record, range(4))
    compact(store)
    compacted = sorted(store.done())
    fill(store, make_record, range(4, 6))
    [loose] = sorted(store.done() - set(compacted))[:1]

    forget(store, {compacted[0], loose})

    assert len(store.done()) == store.read().num_rows == store.timings().num_rows == 4
    assert not {compacted[0], loose} & store.done()
    fill(store, make_record, range(6))
    assert len(store.done()) == 6
