"""Stores of earlier versions keep loading; files of a store with any bit changed are known for damaged."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from olscale.analysis import store_status, summarise
from olscale.errors import StoreError
from olscale.results import Store, open_store
from olscale.results.compact import compact, set_damaged_aside
from olscale.results.compacted import salvage
from olscale.results.rows import RUN_SCHEMA, parse, run_bytes
from olscale.results.version import mend_version, version_bytes
from olscale.storage.checked_parquet import checksum_matches

V1 = Path(__file__).parent / "fixtures" / "v1"


@pytest.fixture
def old(tmp_path) -> Path:
    """Return a copy of a store as version 1 wrote it: two runs, one that diverged, one that was lost, a plan."""
    return Path(shutil.copytree(V1, tmp_path / "old"))


def test_store_of_version_1_loads(old):
    store = open_store(old)

    assert (len(store.done()), len(store.lost())) == (3, 1)
    assert sorted(store.read()["outcome"].to_pylist()) == [
        "diverged",
        "lost",
        "ok",
        "ok",
    ]
    [errors] = [s for s in summarise(store) if s.metric == "cumulative_error"]
    assert (round(errors.mean, 3), errors.n, errors.failures) == (
        0.305,
        2,
        {"diverged": 1, "lost": 1},
    )
    assert store_status(store).experiments[0].total == 4
    assert store.get("1f23c113f9724814fe05e7aab5028477").timings.keys() == {
        "fit_seconds"
    }


def test_compaction_makes_a_version_with_parts_of_it(old):
    store = open_store(old)
    before = store.read().to_pylist()

    compact(store)

    assert open_store(old).read().to_pylist() == before
    assert json.loads((old / "store.json").read_text())["version"] == 2


def test_store_of_a_newer_version_is_refused(old):
    (old / "store.json").write_text('{"format": "olscale metrics store", "version": 4}')

    with pytest.raises(
        StoreError,
        match="has format version 4, this olscale reads up to 3; upgrade olscale",
    ):
        open_store(old)


def test_any_changed_byte_of_a_loose_file_is_found(make_record):
    data = run_bytes(
        make_record(
            metrics={"test_error": 0.25}, curve_rows=[10, 20], curve_mistakes=[1, 2]
        )
    )
    intact = parse(data, RUN_SCHEMA, RUN_SCHEMA.names)

    for at in range(len(data)):
        bad = data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]
        assert not checksum_matches(bad, checked=True), at
        # the key of the checksum itself, without which a file of the earliest stores is whole
        if checksum_matches(bad):
            assert parse(bad, RUN_SCHEMA, RUN_SCHEMA.names).equals(intact), at


@pytest.mark.parametrize("at_once", [1, 1000])
@pytest.mark.parametrize("kind", ["runs", "timings"])
@pytest.mark.parametrize("damage", ["flipped", "truncated", "empty", "foreign"])
def test_damaged_file_is_named_then_set_aside_and_the_run_done_again(
    tmp_path, make_record, monkeypatch, damage, kind, at_once
):
    monkeypatch.setattr("olscale.results.run_files.WORTHWHILE", at_once)
    store = open_store(tmp_path, create=True)
    records = [make_record(permutation=i, metrics={"mistakes": i}) for i in range(3)]
    for record in records:
        store.write(record)
    bad = sorted((tmp_path / kind).rglob("*.parquet"))[1]
    data = bad.read_bytes()
    name = str(bad.relative_to(tmp_path))
    flipped = data[:60] + bytes([data[60] ^ 4]) + data[61:]
    content = {
        "flipped": flipped,
        "truncated": data[:-9],
        "empty": b"",
        "foreign": b"PNG\r\n" * 99,
    }
    bad.write_bytes(content[damage])

    with pytest.raises(StoreError, match=f"damaged file {name} in the metrics store"):
        summarise(store)
    summarise(store, on_damage="skip")
    assert store.damaged == (name,)
    assert set_damaged_aside(store, {record.id for record in records}) == [name]
    assert (tmp_path / "damaged" / name).exists()
    assert len(store.done()) == (2 if kind == "runs" else 3)
    for record in records:
        store.write(record)
    assert len(summarise(store)) > 0
    assert len(store.done()) == 3


def test_store_that_vanishes_is_one_line_and_does_not_come_back_empty(
    tmp_path, make_record
):
    store = open_store(tmp_path / "store", create=True)
    store.write(make_record())
    shutil.rmtree(tmp_path / "store")

    for use in (
        store.done,
        store.read,
        lambda: compact(store),
        lambda: store.write(make_record(permutation=5)),
    ):
        with pytest.raises(StoreError, match=r"^[^\n]*metrics store .*store: [^\n]+$"):
            use()
    assert not (tmp_path / "store").exists()


def test_a_damaged_part_is_named_to_who_asks_for_one_of_its_runs(tmp_path, make_record):
    """Its ids can be read, and what holds the run cannot."""
    store = open_store(tmp_path / "store", create=True)
    record = make_record(metrics={"mistakes": 7.0})
    store.write(record)
    compact(store)
    [name] = store.compacted_files("runs")
    data = bytearray(Path(store.path, name).read_bytes())
    columns = pq.ParquetFile(pa.BufferReader(bytes(data))).metadata.row_group(0)
    run = next(
        column
        for column in map(columns.column, range(columns.num_columns))
        if column.path_in_schema == "run"
    )
    data[run.data_page_offset - 2] ^= 1  # the end of the page of texts before it
    Path(store.path, name).write_bytes(data)

    assert store.done() == {record.id}
    with pytest.raises(
        StoreError,
        match=rf"damaged file {name} in the metrics store .*; olscale compact sets it aside",
    ):
        store.get(record.id)


@pytest.mark.parametrize("column", ["id", "dataset"])
def test_a_part_with_a_column_of_another_type_is_named(tmp_path, make_record, column):
    """With values as dictionaries or not: bytes that are no text are what a flipped bit of a footer leaves."""
    store = open_store(tmp_path / "store", create=True)
    store.write(make_record())
    compact(store)
    [name] = store.compacted_files("runs")
    table = pq.read_table(Path(store.path, name))
    at = table.column_names.index(column)
    table = table.set_column(at, column, pa.array([b"\xff"] * len(table), pa.binary()))
    pq.write_table(table, Path(store.path, name))
    store.write(make_record(permutation=1))
    for dictionaries in (False, True):
        with pytest.raises(
            StoreError, match=rf"damaged file {name} in the metrics store .*"
        ):
            store.read(["dataset", "metrics"], dictionaries=dictionaries)
        assert (
            len(store.read(["dataset"], on_damage="skip", dictionaries=dictionaries))
            == 1
        )


def test_store_json_of_nested_brackets_is_refused(tmp_path):
    open_store(tmp_path / "store", create=True)
    (tmp_path / "store" / "store.json").write_text("[" * 100_000)
    with pytest.raises(
        StoreError, match=r"is not a metrics store: its store\.json is not valid"
    ):
        open_store(tmp_path / "store")


def test_a_file_without_one_of_its_columns_is_damaged(tmp_path, make_record):
    store = open_store(tmp_path / "store", create=True)
    record = make_record(outcome="lost", reason="why")
    store.write(record)
    [name] = store.single_files("lost")
    table = pq.read_table(tmp_path / "store" / name).drop_columns(["learner"])
    pq.write_table(table, tmp_path / "store" / name)

    assert store.read(on_damage="skip").num_rows == 0
    assert store.damaged == (name,)


def test_some_columns_of_loose_files_are_read_as_dictionaries(tmp_path, make_record):
    store = open_store(tmp_path / "store", create=True)
    store.write(make_record())
    table = store.read(["id", "dataset"], dictionaries=True)
    assert table["dataset"].to_pylist() == ["digits"]


def unmarked(store: Store) -> str:
    """Change a bit of the key of the checksum of a run's file; return the file."""
    [name, *_] = store.single_files("runs")
    [(_, data)] = store.files.read_many([name])
    assert isinstance(data, bytes)
    store.put(name, data.replace(b"olscale.crc32", b"olscale.crc33"))
    return name


@pytest.mark.parametrize("at_once", [1, 1000])
def test_a_file_without_its_checksum_is_damaged_but_in_stores_of_earlier_versions(
    tmp_path, make_record, monkeypatch, at_once
):
    """Another changed byte of it would be seen by nobody."""
    monkeypatch.setattr("olscale.results.run_files.WORTHWHILE", at_once)
    store = open_store(tmp_path, create=True)
    records = [make_record(permutation=i, metrics={"mistakes": i}) for i in range(3)]
    for record in records:
        store.write(record)
    name = unmarked(store)

    with pytest.raises(
        StoreError, match=f"damaged file {name} .*its checksum is wrong or missing"
    ):
        summarise(store)
    store.put("store.json", version_bytes(2))
    assert len(open_store(tmp_path).read()) == 3
    compact(open_store(tmp_path))
    assert len(open_store(tmp_path).done()) == 3
    store.put("store.json", version_bytes(3))
    open_store(tmp_path).write(make_record(permutation=7))
    assert compact(open_store(tmp_path)).damaged == []
    assert open_store(tmp_path).version == 3


def test_compaction_sets_a_file_without_its_checksum_aside(tmp_path, make_record):
    store = open_store(tmp_path, create=True)
    store.write(make_record())
    name = unmarked(store)
    assert compact(store).damaged == [name]


def test_any_changed_bit_of_a_store_json_is_found(tmp_path, make_record):
    """One of a store is mended by what evaluates, and to nobody else's file anything is done."""
    store = open_store(tmp_path / "s", create=True)
    data = version_bytes(3)
    near = open_store(f"memory://{tmp_path.name}", create=True)
    for at in range(8 * len(data) - 8):  # but for the end of the line
        bad = (
            data[: at // 8] + bytes([data[at // 8] ^ 1 << at % 8]) + data[at // 8 + 1 :]
        )
        if bad[at // 8] in b" \t\r\n" and data[at // 8] in b" \t\r\n":
            continue
        near.put("store.json", bad)
        with pytest.raises(
            StoreError,
            match=r"is not a metrics store: its store\.json .*olscale evaluate",
        ):
            open_store(near.path)
    with pytest.raises(StoreError, match="is not a metrics store"):
        mend_version(near.files, near.path)
    (tmp_path / "s" / "store.json").write_bytes(data)
    store.write(make_record())
    assert not mend_version(store.files, store.path)
    (tmp_path / "s" / "store.json").write_bytes(data[:-9])
    assert mend_version(store.files, store.path)
    assert (tmp_path / "s" / "store.json").read_bytes() == data
    assert (tmp_path / "s" / "damaged" / "store.json").read_bytes() == data[:-9]
    (tmp_path / "s" / "store.json").write_text(
        '{"format": "olscale metrics store", "version": 9}'
    )
    with pytest.raises(StoreError, match="upgrade olscale"):
        mend_version(store.files, store.path)


@pytest.mark.long
def test_a_footer_that_contradicts_itself_is_damaged(tmp_path, make_record):
    """Footers have no checksum: fewer rows were fewer runs in every table, another name of a field its values gone."""
    store = open_store(tmp_path, create=True)
    for i in range(30):
        store.write(make_record(permutation=i, segments=[("Day0", 4, i)]))
    compact(store)
    [name] = store.compacted_files("runs")
    data = (tmp_path / name).read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    whole_rows = store.read(["id", "segments"]).to_pylist()
    seen = set()
    # 30 as Thrift writes it, and names of fields
    for piece in (
        bytes([0x16, 60]),
        b"mistakes",
        b"name",
        b"rows",
    ):
        for match in re.finditer(re.escape(piece), data[footer:]):
            for bit in range(8):
                at = footer + match.end() - 1
                (tmp_path / name).write_bytes(
                    data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
                )
                bad = (tmp_path / name).read_bytes()
                kept = salvage("runs", bad).select(["id", "segments"]).to_pylist()
                assert all(row in whole_rows for row in kept), (piece, at, bit)
                try:
                    found = Store(store.path).read(["id", "segments"]).to_pylist()
                except StoreError:
                    seen.add(piece)
                else:
                    assert found == whole_rows, (piece, at, bit)
    assert len(seen) == 4
