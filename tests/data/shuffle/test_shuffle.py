"""Permutations out of core: the rows, order and bytes of those in memory, within a limit, and nothing left behind."""

from __future__ import annotations

import errno
import math
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.bench.workloads import generate
from olscale.compiled.csr import CSR, take_rows
from olscale.data.chunk import Chunk
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.data.layouts import Block
from olscale.data.layouts.base import StoredRows
from olscale.data.row_codec import ENTRY_BYTES, ROW_BYTES, PackedRows, unpack
from olscale.data.shuffle import external, spill_file
from olscale.data.shuffle.external import ExternalShuffle
from olscale.data.shuffle.in_memory import RowsInMemory, release
from olscale.data.shuffle.spill_file import SpillFile
from olscale.data.shuffle.subset import InMemory, Subset
from olscale.data.splits import PARTS, Part
from olscale.data.stream import Shuffle, Stream, open_streams
from olscale.errors import DatasetError, ParameterError

ROWS = 160


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, int], str]:
    """Return datasets of the same rows: dense bytes, dense floats and sparse, in both layouts, chunks of two sizes."""
    folder = tmp_path_factory.mktemp("permute")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (ROWS, 40)) * (rng.random((ROWS, 40)) < 0.3)
    y = rng.integers(0, 3, ROWS)
    np.savez(folder / "bytes.npz", X=X.astype(np.uint8), y=y)
    np.savez(folder / "floats.npz", X=X * rng.normal(size=X.shape), y=y)
    lines = [
        f"{c} " + " ".join(f"{j + 1}:{row[j]}" for j in np.flatnonzero(row))
        for c, row in zip(y, X, strict=True)
    ]
    (folder / "sparse.svm").write_text("\n".join(lines) + "\n")
    made = {}
    for source in ("bytes.npz", "floats.npz", "sparse.svm"):
        kind = source.partition(".")[0]
        for layout in ("parquet", "zarr"):
            for chunk_rows in (5, 8):
                path = folder / f"{kind}-{layout}-{chunk_rows}"
                ingest(
                    [str(folder / source)],
                    str(path),
                    layout=layout,
                    chunk_rows=chunk_rows,
                )
                made[kind, layout, chunk_rows] = str(path)
    return made


def least(dataset: Dataset) -> int:
    """Return the smallest limit that will do."""
    return 12 * dataset.rows("train") + 5 * external.chunk_bytes(dataset, "train")


def bytes_of(chunk: Chunk) -> list[bytes]:
    X = (
        chunk.X._replace(indptr=chunk.X.indptr - chunk.X.indptr[0])
        if isinstance(chunk.X, CSR)
        else chunk.X
    )
    arrays = X if isinstance(X, CSR) else (X,)
    return [array.tobytes() for array in (*arrays, chunk.y)]


def read(put: SpillFile, number: int) -> tuple[RowsInMemory, np.ndarray]:
    return put.rows(number, put.read(number, put.memory(number)))


def way(stream: Stream) -> type:
    return type(stream._ordered)


@pytest.mark.long
@settings(max_examples=25)
@given(
    kind=st.sampled_from(["bytes", "floats", "sparse"]),
    layout=st.sampled_from(["parquet", "zarr"]),
    chunk_rows=st.sampled_from([5, 8]),
    room=st.floats(1.0, 1.1),
    shuffle=st.none() | st.builds(Shuffle, st.integers(0, 3), st.integers(0, 9)),
    part=st.none()
    | st.builds(
        Part,
        st.sampled_from(sorted(PARTS)),
        st.integers(0, 2),
        st.integers(0, 2),
        st.just(3),
    ),
    shortest_piece=st.sampled_from([1, 1 << 30]),
    piece=st.sampled_from([1, 1 << 20]),
    transforms=st.sampled_from([(), ("unit-norm", "bias"), ("standardize",)]),
)
def test_any_limit_gives_the_same_bytes(
    shapes: dict[tuple[str, str, int], str],
    kind: str,
    layout: str,
    chunk_rows: int,
    room: float,
    shuffle: Shuffle | None,
    part: Part | None,
    shortest_piece: int,
    piece: int,
    transforms: tuple[str, ...],
) -> None:
    """Whatever the layout, chunks, part and transforms, in one level of buckets or two, from runs of any size."""
    path = shapes[kind, layout, chunk_rows]
    limit = int(room * least(open_dataset(path)))
    sizes = {"_SHORTEST_PIECE": shortest_piece, "_PIECE": piece}
    with mock.patch.multiple(external, **sizes):
        inside, outside = (
            open_streams(path, transforms, shuffle, part, limit=size)
            for size in (1 << 30, limit)
        )
        for one, other in ((inside.train, outside.train), (inside.test, outside.test)):
            if one is None or other is None:
                assert one is other
                continue
            expected = [bytes_of(chunk) for chunk in one.chunks()]
            assert [bytes_of(chunk) for chunk in other.chunks()] == expected
            assert [
                bytes_of(other.chunk(i)) for i in reversed(range(len(other)))
            ] == expected[::-1]
    if shuffle is not None:
        assert (way(inside.train), way(outside.train)) == (InMemory, ExternalShuffle)
    elif part is not None:
        assert (way(inside.train), way(outside.train)) == (InMemory, Subset)


@pytest.mark.parametrize(("shortest_piece", "levels"), [(1, 1), (1 << 30, 2)])
def test_too_many_buckets_are_cut_in_two_steps(
    shapes: dict[tuple[str, str, int], str],
    monkeypatch: pytest.MonkeyPatch,
    shortest_piece: int,
    levels: int,
) -> None:
    monkeypatch.setattr(external, "_SHORTEST_PIECE", shortest_piece)
    dataset = open_dataset(shapes["sparse", "parquet", 5])
    order = Shuffle(1, 1).order(ROWS)
    rows = ExternalShuffle(dataset, "train", order, least(dataset))
    assert len(rows._sizes) == levels
    y = [rows.chunk(i).y for i in range(ROWS // 5)]
    assert np.array_equal(
        np.concatenate(y),
        np.concatenate([chunk.y for chunk in dataset.chunks()])[order],
    )


def test_the_next_bucket_is_read_ahead_where_both_have_room(
    shapes: dict[tuple[str, str, int], str],
) -> None:
    """Packed rows take less than the most they could; what goes wrong meanwhile is said when its turn has come."""
    fill = SpillFile.read
    for kind, ahead in (("sparse", True), ("floats", False)):
        dataset = open_dataset(shapes[kind, "parquet", 5])
        rows = ExternalShuffle(
            dataset, "train", Shuffle(1, 1).order(ROWS), least(dataset)
        )
        threads = []

        def read_bucket(
            buckets: SpillFile,
            number: int,
            words: np.ndarray,
            threads: list[str] = threads,
        ) -> np.ndarray:
            threads.append(threading.current_thread().name)
            if number == 1 and threads.count(threads[-1]) == 1:
                raise DatasetError("the disk is gone")
            return fill(buckets, number, words)

        of = rows._sizes[-1] // 5
        with mock.patch.object(SpillFile, "read", read_bucket):
            first = rows.chunk(0)
            assert (rows._ahead is not None) == ahead
            if ahead:
                with pytest.raises(DatasetError, match="the disk is gone"):
                    rows.chunk(of)
            assert len(rows.chunk(of)) == 5
            assert bytes_of(rows.chunk(0)) == bytes_of(first)
        assert (len(set(threads)) == 2) == ahead


@pytest.mark.long
def test_out_of_core_permutations_are_uniform(tmp_path: Path) -> None:
    """Chi squared over the 24 orders of four rows, 600 draws: 23 degrees of freedom, five deviations at most."""
    np.savez(tmp_path / "a.npz", X=np.arange(4.0)[:, None], y=np.arange(4))
    dataset = ingest([str(tmp_path / "a.npz")], str(tmp_path / "d"), chunk_rows=1)
    counts: dict[tuple[int, ...], int] = {}
    for index in range(600):
        rows = ExternalShuffle(
            dataset, "train", Shuffle(0, index).order(4), least(dataset)
        )
        order = tuple(int(rows.chunk(i).y[0]) for i in range(4))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == math.factorial(4)
    assert sum(
        (count - 25) ** 2 / 25 for count in counts.values()
    ) < 23 + 5 * math.sqrt(2 * 23)


LENGTHS = st.sampled_from([0, 1, 2, 15, 16, 17, 48, 63, 64, 65, 130])
WIDTHS = st.sampled_from([1, 40, 1 << 16, 1 << 18, (1 << 31) - 1])
VALUES = np.array([-1.0, np.nan, -0.0, 5e-324, 1.0 + 2**-52, 7.5])


@st.composite
def sparse_rows(draw: st.DrawFn) -> CSR:
    """Return rows of any length whose indices are near and far, in ascending order or none, with values of any bits."""
    rng = np.random.default_rng(draw(st.integers(0, 1_000)))
    rows = [
        rng.integers(0, draw(WIDTHS), draw(LENGTHS), np.int32)
        for _ in range(draw(st.integers(1, 9)))
    ]
    indices = np.concatenate(
        [np.sort(row) if draw(st.booleans()) else row for row in rows]
    )
    data = np.where(
        rng.random(len(indices)) < draw(st.sampled_from([0.0, 0.8, 1.0])),
        1.0,
        rng.choice(VALUES, len(indices)),
    )
    return CSR(np.cumsum([0, *map(len, rows)]), indices, data)


@given(X=sparse_rows(), seed=st.integers(0, 9))
def test_packed_rows_come_back_with_the_same_bits(X: CSR, seed: int) -> None:
    """However far their indices are apart, in no more room than is said."""
    n = len(X.indptr) - 1
    whole = PackedRows(n, len(X.data))
    for start in range(0, n, 4):
        whole.add(
            CSR(X.indptr[start : start + 5], X.indices, X.data),
            np.arange(n, dtype=np.float64)[start : start + 4],
        )
    rows, label = whole.rows()
    order = np.random.default_rng(seed).permutation(n)
    assert bits(unpack(rows, order)) == bits(take_rows(X, order))
    assert label.tolist() == list(range(n))
    assert (
        sum(array.nbytes for array in (*rows, label))
        <= ENTRY_BYTES * len(X.data) + ROW_BYTES * n
    )


@given(
    X=sparse_rows(),
    seed=st.integers(0, 9),
    size=st.integers(1, 9),
    room=st.sampled_from([0, 100, 1_000]),
)
def test_buckets_take_rows_of_any_length(
    X: CSR, seed: int, size: int, room: int
) -> None:
    """Also where a row is longer than what was thought enough for many."""
    n = len(X.indptr) - 1
    order = np.random.default_rng(seed).permutation(n)
    put = SpillFile(n, size, room, "d")
    put.add(np.argsort(order), Block(X, np.arange(n, dtype=np.float64)))
    for number in range(len(put)):
        mine = order[number * size : (number + 1) * size]
        rows, where = read(put, number)
        block = rows.take(where)
        assert block.label.tolist() == mine.tolist()
        assert bits(block.X) == bits(take_rows(X, mine))


def test_a_row_of_very_many_entries_is_packed() -> None:
    """Runs are counted in two bytes."""
    indices = np.concatenate(
        [np.zeros(200_000, np.int32), np.arange(150_000, dtype=np.int32)]
    )
    X = CSR(np.array([0, 200_000, 350_000]), indices, np.ones(350_000))
    whole = PackedRows(2, len(indices))
    whole.add(X, np.zeros(2))
    assert bits(unpack(whole.rows()[0], np.arange(2))) == bits(X)


def bits(X: StoredRows) -> list[bytes]:
    return [array.tobytes() for array in (X if isinstance(X, CSR) else (X,))]


def test_time_ordered_folds_read_each_chunk_once(
    shapes: dict[tuple[str, str, int], str],
) -> None:
    dataset = open_dataset(shapes["sparse", "parquet", 5])
    order, _ = Part("half", 0, 0, 2).rows(np.zeros(ROWS))
    rows = Subset(dataset, "train", order)
    with mock.patch.object(
        Dataset, "block", autospec=True, side_effect=Dataset.block
    ) as block:
        y = np.concatenate([rows.chunk(i).y for i in range(-(-len(order) // 5))])
    assert (
        y.tolist()
        == np.concatenate([chunk.y for chunk in dataset.chunks()])[order].tolist()
    )
    assert block.call_count == len(np.unique(order // 5))


def test_a_limit_too_small_says_what_is_needed(
    shapes: dict[tuple[str, str, int], str],
) -> None:
    with pytest.raises(
        ParameterError,
        match=r"its order and five chunks of 8 rows need \d+\.\d kB; raise the limit",
    ):
        open_streams(shapes["floats", "zarr", 8], shuffle=Shuffle(0, 0), limit=5_000)


def test_a_full_disk_is_one_line(
    shapes: dict[tuple[str, str, int], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OLSCALE_SCRATCH", str(tmp_path / "scratch"))
    dataset = open_dataset(shapes["sparse", "parquet", 5])
    rows = ExternalShuffle(dataset, "train", Shuffle(0, 0).order(ROWS), least(dataset))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(
            DatasetError,
            match=r"in scratch folder .*scratch: File too large; .* OLSCALE_SCRATCH",
        ) as first:
            rows.chunk(0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with (
        mock.patch.object(spill_file, "_all", side_effect=full),
        pytest.raises(DatasetError, match="No space left") as last,
    ):
        rows.chunk(0)
    assert "\n" not in f"{first.value}{last.value}"
    rows.chunk(0)  # with room again


def test_a_scratch_folder_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OLSCALE_SCRATCH", str(tmp_path / "file" / "scratch"))
    with pytest.raises(
        DatasetError,
        match=r"cannot permute d in scratch folder .*scratch: Not a directory",
    ):
        SpillFile(1, 1, 1, "d")


def test_a_damaged_scratch_file_is_noticed() -> None:
    put = SpillFile(4, 2, 1, "d")
    put.add(np.array([1, 3, 0, 2]), Block(np.arange(4.0)[:, None], np.zeros(4)))
    assert read(put, 0)[0].X.tolist() == [[0.0], [2.0]]
    os.pwrite(put._file.fileno(), b"\xff", put._end - 1)
    assert len(read(put, 0)[0].X) == 2
    with pytest.raises(DatasetError, match="what is read is not what was written"):
        read(put, 1)
    os.ftruncate(put._file.fileno(), put._end - 1)
    with pytest.raises(DatasetError, match="shorter than what was written"):
        read(put, 1)


_PROCESS = """
import sys
from olscale.data.stream import Shuffle, open_streams
path, limit = sys.argv[1], int(sys.argv[2])
stream = open_streams(path, (), Shuffle(0, 0), limit=limit).train
stream.chunk(0)
print("started", flush=True)
sys.stdin.read()
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_killed_process_leaves_nothing(
    shapes: dict[tuple[str, str, int], str], tmp_path: Path
) -> None:
    """The scratch file has no name from the start, so there is nothing to recognise or remove later."""
    path = shapes["sparse", "parquet", 5]
    command = [sys.executable, "-c", _PROCESS, path, str(least(open_dataset(path)))]
    environment = {**os.environ, "OLSCALE_SCRATCH": str(tmp_path)}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        opened = [
            str(file.readlink()) for file in Path(f"/proc/{process.pid}/fd").iterdir()
        ]
        assert any(
            file.startswith(f"{tmp_path}/") and file.endswith("(deleted)")
            for file in opened
        )
        assert list(tmp_path.iterdir()) == []
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


_MEASURED = """
import sys
from olscale.data.stream import Shuffle, open_streams

def pass_over(path, limit):
    stream = open_streams(path, (), Shuffle(0, 0), limit=limit).train
    for i in range(len(stream)):
        stream.chunk(i)
    return type(stream._ordered).__name__

def resident(what):
    (line,) = [line for line in open("/proc/self/status") if line.startswith(what)]
    return int(line.split()[1]) * 1024

warm, path, least, limit = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
pass_over(warm, least)
open("/proc/self/clear_refs", "w").write("5")  # the peak so far is forgotten
before = resident("VmRSS")
print(pass_over(path, limit), resident("VmHWM") - before)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_memory_stays_under_the_limit(
    shapes: dict[tuple[str, str, int], str], tmp_path: Path
) -> None:
    """Peak of the resident memory over a pass, beyond that after a pass over a few rows; where all are held it is more."""
    dataset = generate(
        "url-like",
        str(tmp_path / "url"),
        rows=120_000,
        columns=100_000,
        chunk_rows=1_024,
    )
    warm = shapes["sparse", "parquet", 5]
    limit = dataset.nonzeros("train") * 12 // 5
    found = {}
    for size in (limit, 1 << 40):
        sizes = [str(least(open_dataset(warm))), str(size)]
        ran = subprocess.run(
            [sys.executable, "-c", _MEASURED, warm, dataset.path, *sizes],
            capture_output=True,
            text=True,
            check=True,
        )
        name, grown = ran.stdout.split()
        found[name] = int(grown)
    assert found["ExternalShuffle"] <= limit < found["InMemory"]


def test_what_is_held_gives_way(
    shapes: dict[tuple[str, str, int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from olscale.data.shuffle import in_memory as held

    release(0)
    one, other = (open_dataset(shapes["floats", "zarr", size]) for size in (5, 8))
    room = held.most_bytes(one, "train")
    held.split_in_memory(one, "train", 2 * room)
    held.split_in_memory(other, "train", 2 * room)
    assert len(held._SPLITS) == 2
    held.split_in_memory(one, "train", 2 * room)
    third = open_dataset(shapes["bytes", "zarr", 8])
    held.split_in_memory(third, "train", 2 * room)
    assert [path for path, *_ in held._SPLITS] == [one.path, third.path]
    release(0)
    assert not held._SPLITS
