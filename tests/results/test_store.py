"""The store: atomic, idempotent, many writers, clear faults."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from olscale.errors import StoreError, UnknownNameError
from olscale.results import Series, open_store
from olscale.results.rows import RUN_SCHEMA
from olscale.results.run_files import read_together
from olscale.results.store import Store
from olscale.results.version import is_store, open_files

WRITER = """
import sys
from olscale.results import Record, open_store, run_id

def record(i):
    run = {"dataset": {"name": "d"}, "learner": {"name": "pa"}, "protocol": {"order": "permuted", "permutation": i}}
    return Record(run=run, id=run_id(run), metrics={"mistakes": i})

store = open_store(sys.argv[1], create=True)
"""


def start(store: Path, code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER + textwrap.dedent(code), str(store)]
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


@pytest.fixture(params=["local", "memory"])
def store(request, tmp_path) -> Store:
    path = (
        str(tmp_path / "store")
        if request.param == "local"
        else f"memory://{tmp_path.name}/{request.node.name}"
    )
    return open_store(path, create=True)


def test_written_run_is_done_read_and_got(store, make_record):
    record = make_record(
        params={"C": 0.5},
        metrics={"mistakes": 7},
        timings={"fit_seconds": 1.5},
        environment={"host": "h"},
    )

    assert store.write(record)

    assert store.done() == {record.id}
    assert store.read()["params"].to_pylist() == ['{"C":0.5}']
    assert store.read(["learner", "metrics"]).to_pylist() == [
        {"learner": "pa1", "metrics": [("mistakes", 7.0)]}
    ]
    got = store.get(record.id)
    assert (got.run, got.metrics, got.timings, got.environment) == (
        record.run,
        {"mistakes": 7.0},
        {"fit_seconds": 1.5},
        {"host": "h"},
    )


def test_empty_store_reads_as_an_empty_table(store):
    assert store.done() == set()
    assert store.read().num_rows == 0
    assert store.timings().num_rows == 0


def test_run_already_there_is_left_as_it_is(store, make_record):
    store.write(make_record(metrics={"mistakes": 1}))

    assert not store.write(make_record(metrics={"mistakes": 2}))
    assert store.read()["metrics"].to_pylist() == [[("mistakes", 1.0)]]


def test_lost_run_is_shown_but_not_done_and_gives_way_to_a_result(store, make_record):
    lost = make_record(outcome="lost", reason="four workers died")
    store.write(lost)

    assert (store.done(), store.lost()) == (set(), {lost.id})
    assert store.read()["outcome"].to_pylist() == ["lost"]

    store.write(make_record(metrics={"mistakes": 1}))

    assert (store.done(), store.lost()) == ({lost.id}, set())
    assert store.read()["outcome"].to_pylist() == ["ok"]


def test_rows_come_sorted_by_id(store, make_record):
    for i in (5, 1, 4, 2, 3):
        store.write(make_record(permutation=i))

    ids = store.read(["id"])["id"].to_pylist()

    assert ids == sorted(store.done())
    assert store.timings()["id"].to_pylist() == ids


def test_store_pickles_as_its_path(store, make_record):
    store.write(make_record())

    assert pickle.loads(pickle.dumps(store)).done() == store.done()


def test_two_executions_give_the_same_bytes(tmp_path, make_record):
    for name, order in (("a", range(6)), ("b", reversed(range(6)))):
        written = open_store(tmp_path / name, create=True)
        for i in order:
            written.write(
                make_record(
                    permutation=i, metrics={"mistakes": i}, environment={"host": name}
                )
            )

    assert contents(tmp_path / "a" / "runs") == contents(tmp_path / "b" / "runs")
    assert len(contents(tmp_path / "a" / "runs")) == 6


@pytest.mark.long
def test_two_processes_may_write_the_same_and_different_runs(tmp_path):
    path = tmp_path / "store"
    writers = [
        start(path, f"for i in range({low}, {low} + 30): store.write(record(i))")
        for low in (0, 10)
    ]

    assert [writer.wait(60) for writer in writers] == [0, 0]

    mistakes = [
        dict(metrics)["mistakes"]
        for metrics in open_store(path).read(["metrics"])["metrics"].to_pylist()
    ]
    assert sorted(mistakes) == list(range(40))


def test_a_store_that_another_process_makes_between_two_looks(tmp_path):
    """It has no store.json at the first look, and a folder of runs at the second."""
    files = open_files(str(tmp_path / "store"))

    class Slow:
        is_file = files.is_file

        def is_vacant(self):
            open_store(tmp_path / "store", create=True)
            (tmp_path / "store" / "runs").mkdir()
            return files.is_vacant()

    assert is_store(Slow(), "store")


@pytest.mark.long
@pytest.mark.parametrize("stage", ["timings", "run"])
def test_writer_killed_in_mid_write_leaves_nothing_visible(tmp_path, stage):
    """The writer dies with half of a file on disk; readers see only what was finished, and runs/ holds no litter."""
    path = tmp_path / "store"
    code = f"""
        import os, signal, stat
        store.write(record(0))
        real, calls = os.fsync, []
        def die_half_way(fd):
            if stat.S_ISREG(os.fstat(fd).st_mode):
                calls.append(fd)
            if len(calls) == {1 if stage == "timings" else 2}:
                os.ftruncate(fd, os.fstat(fd).st_size // 2)
                os.kill(os.getpid(), signal.SIGKILL)
            real(fd)
        os.fsync = die_half_way
        store.write(record(1))
    """

    assert start(path, code).wait(60) == -signal.SIGKILL

    store = open_store(path)
    assert len(store.done()) == 1
    assert store.read().num_rows == store.timings().num_rows == 1
    assert len(contents(path / "runs")) == 1
    assert start(path, "store.write(record(1))").wait(60) == 0
    assert len(store.done()) == 2


@pytest.mark.long
def test_readers_never_see_half_a_file(tmp_path):
    path = tmp_path / "store"
    writer = start(path, "for i in range(100): store.write(record(i))")
    while writer.poll() is None:
        if (path / "store.json").exists():
            open_store(path).read(["id"])  # raises on a damaged file
        time.sleep(0.01)

    assert writer.returncode == 0
    assert len(open_store(path).done()) == 100


def test_many_files_read_at_once_as_they_do_one_by_one(
    tmp_path, make_record, monkeypatch
):
    store = open_store(tmp_path / "a store [1]" / "s", create=True)
    for i in range(6):
        metrics = {"x": float("nan"), "y": i}
        store.write(
            make_record(
                permutation=i, params={"C": 0.5}, transforms=("bias",), metrics=metrics
            )
        )
    plain = open_store(tmp_path / "plain", create=True)
    for id in store.done():
        plain.write(store.get(id))
    runs = plain.read()
    timings = plain.timings()
    files = [
        file.read_bytes()
        for file in sorted((tmp_path / "plain" / "runs").rglob("*.parquet"))
    ]
    assert (
        read_together(files, runs["id"].to_pylist(), RUN_SCHEMA, RUN_SCHEMA.names)
        is not None
    )

    monkeypatch.setattr("olscale.results.run_files.WORTHWHILE", 1)

    for many in (plain, store):
        assert many.read().schema == runs.schema
        assert repr(many.read().to_pylist()) == repr(runs.to_pylist())
        assert many.timings()["id"].to_pylist() == timings["id"].to_pylist()
    assert plain.timings().equals(timings)


def test_runs_with_and_without_series_are_one_table(tmp_path, make_record, monkeypatch):
    """The column is in the files that need it only, so that the bytes of all others are what they always were."""
    store = open_store(tmp_path, create=True)
    series = [Series("window_error", np.array([10, 20]), np.array([0.5, 0.25]))]
    for i in range(4):
        store.write(make_record(permutation=i, series=series if i % 2 else ()))
    one_by_one = store.read()
    kept = [len(row["series"]) for row in one_by_one.to_pylist()]
    assert sorted(kept) == [0, 0, 1, 1]
    for id, count in zip(one_by_one["id"].to_pylist(), kept, strict=True):
        [file] = tmp_path.rglob(f"runs/*/{id}.parquet")
        assert ("series" in pq.read_schema(file).names) == bool(count)
        assert [
            (s.name, s.rows.tolist(), s.values.tolist()) for s in store.get(id).series
        ] == [("window_error", [10, 20], [0.5, 0.25])] * count

    monkeypatch.setattr("olscale.results.run_files.WORTHWHILE", 1)

    files = [file.read_bytes() for file in sorted(tmp_path.rglob("runs/*/*.parquet"))]
    assert (
        read_together(files, one_by_one["id"].to_pylist(), RUN_SCHEMA, RUN_SCHEMA.names)
        is not None
    )
    assert store.read().to_pylist() == one_by_one.to_pylist()


def test_litter_beside_the_runs_is_not_read(tmp_path, make_record):
    store = open_store(tmp_path, create=True)
    store.write(make_record())
    folder = next((tmp_path / "runs").iterdir())
    (folder / ".x.parquet.tmp").write_bytes(b"half")
    (folder / "README").write_text("not a run")
    (tmp_path / "tmp" / "left").write_bytes(b"half")

    assert len(store.done()) == store.read().num_rows == 1


@pytest.mark.parametrize("at_once", [1, 1000])
@pytest.mark.parametrize("damage", ["truncated", "empty", "copied"])
def test_damaged_run_is_named_or_left_out(
    tmp_path, make_record, monkeypatch, damage, at_once
):
    monkeypatch.setattr("olscale.results.run_files.WORTHWHILE", at_once)
    store = open_store(tmp_path, create=True)
    for i in range(3):
        store.write(make_record(permutation=i))
    good, bad, _ = sorted((tmp_path / "runs").rglob("*.parquet"))
    content = {
        "truncated": bad.read_bytes()[:-20],
        "empty": b"",
        "copied": good.read_bytes(),
    }[damage]
    bad.write_bytes(content)

    with pytest.raises(
        StoreError,
        match=f"damaged file runs/{bad.parent.name}/{bad.name}.*olscale compact sets it aside",
    ):
        store.read()
    assert store.read(on_damage="skip").num_rows == 2
    assert store.damaged == (f"runs/{bad.parent.name}/{bad.name}",)


def test_unknown_column_and_unknown_run_are_named(store):
    with pytest.raises(UnknownNameError, match="'metrics'"):
        store.read(["metric"])
    with pytest.raises(StoreError, match="has no run 'abc'"):
        store.get("abc")


def test_missing_store_says_how_to_make_one(tmp_path):
    with pytest.raises(
        StoreError, match=r"there is no metrics store at .*olscale evaluate"
    ):
        open_store(tmp_path / "nowhere")


def test_other_directory_or_file_is_not_a_store(tmp_path):
    (tmp_path / "data.txt").write_text("x")

    for path in (tmp_path, tmp_path / "data.txt"):
        with pytest.raises(StoreError, match="is not a metrics store"):
            open_store(path, create=True)
    assert contents(tmp_path) == {"data.txt": b"x"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid"),
        ('{"format": "zarr", "version": 1}', "format 'zarr'"),
        ('{"format": "olscale metrics store", "version": 99}', "upgrade olscale"),
    ],
)
def test_foreign_store_json_is_refused(tmp_path, text, message):
    (tmp_path / "store.json").write_text(text)

    with pytest.raises(StoreError, match=message):
        open_store(tmp_path)


def test_unwritable_store_is_one_clear_error(tmp_path, make_record):
    store = open_store(tmp_path / "store", create=True)
    (tmp_path / "store" / "timings").write_text("in the way")

    with pytest.raises(
        StoreError, match=r"cannot write timings/.* to the metrics store"
    ):
        store.write(make_record())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_store_is_refused_before_any_work(tmp_path):
    open_store(tmp_path, create=True)
    tmp_path.chmod(0o500)

    with pytest.raises(StoreError, match="permission denied"):
        open_store(tmp_path, create=True)


def test_unknown_protocol_is_a_store_error():
    with pytest.raises(StoreError, match="cannot open the metrics store nope://x"):
        open_store("nope://x")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'{"dataset"', b'{"dataset?'),
        (b'"pa1"', b'"p\xff1"'),
        (b'{"dataset"', b'["dataset"'),
    ],
)
def test_run_whose_text_was_changed_is_named(
    tmp_path, make_record, old: bytes, new: bytes
):
    """Parquet finds no fault with a changed byte of a text, and files of version 1 have no checksum."""
    import pyarrow.parquet as pq

    store = open_store(tmp_path, create=True)
    record = make_record()
    store.write(record)
    (path,) = (tmp_path / "runs").rglob("*.parquet")
    pq.write_table(pq.read_table(path), path, compression="none", use_dictionary=False)
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    with pytest.raises(
        StoreError,
        match=f"damaged file runs/{path.parent.name}/{path.name} in the metrics store",
    ):
        store.get(record.id)


def test_date_beyond_the_calendar_is_damage(tmp_path, make_record):
    import pyarrow as pa
    import pyarrow.parquet as pq

    store = open_store(tmp_path, create=True)
    store.write(make_record())
    (path,) = (tmp_path / "timings").rglob("*.parquet")
    table = pq.read_table(path)
    late = pa.array([2**62], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    pq.write_table(
        table.set_column(table.column_names.index("finished_at"), "finished_at", late),
        path,
    )
    with pytest.raises(
        StoreError, match=f"damaged file timings/{path.parent.name}/{path.name}"
    ):
        store.timings()
