"""Disks that are full, read-only or damaged, and clocks that jump: one clear line, and nothing half-made left behind."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from olscale.data.dataset import open_dataset
from olscale.data.export import export
from olscale.data.ingest.ingest import ingest
from olscale.errors import DatasetError
from tests.cli.command import run


def source(folder: Path, kind: str, rows: int = 4_000) -> Path:
    rng = np.random.default_rng(0)
    path = folder / ("rows.csv" if kind == "dense" else "rows.svm")
    with path.open("w") as file:
        for row in rng.random((rows, 12)):
            cells = row.tolist()
            label = int(cells[0] > 0.5)
            pairs = " ".join(f"{i * 9 + 1}:{value}" for i, value in enumerate(cells))
            file.write(
                f"{label} {pairs}\n"
                if kind == "sparse"
                else f"{','.join(map(str, cells))},{label}\n"
            )
    return path


def command(*words: object, largest_file: int | None = None) -> tuple[int, list[str]]:
    """Run ``olscale`` and return its exit code and what it said on standard error, progress left out.

    A process of its own has the limit of a file's size.
    """
    if largest_file is None:
        done = run(*words)
    else:
        limit = partial(
            resource.setrlimit, resource.RLIMIT_FSIZE, (largest_file, largest_file)
        )
        there = [sys.executable, "-m", "olscale", *map(str, words)]
        done = subprocess.run(
            there, capture_output=True, text=True, check=False, preexec_fn=limit
        )
    return done.returncode, [
        line for line in done.stderr.splitlines() if line.startswith("olscale:")
    ]


@pytest.mark.long
@pytest.mark.parametrize(("kind", "layout"), [("dense", "parquet"), ("sparse", "zarr")])
def test_ingest_that_cannot_write_on(tmp_path: Path, kind: str, layout: str):
    """A limit of the system stands for the full disk: the same error comes from the same call."""
    path = source(tmp_path, kind)
    code, said = command(
        "ingest", path, tmp_path / "d", "--layout", layout, largest_file=50_000
    )
    expected = (
        f"olscale: error: {tmp_path}/d cannot be written (File too large); make room, or "
        "choose another directory"
    )
    assert (code, said) == (1, [expected])
    assert not (tmp_path / "d").exists()


def test_ingest_that_cannot_write_its_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = source(tmp_path, "sparse", rows=10)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(
        DatasetError, match=r"d cannot be written \(No space left on device\)"
    ):
        ingest(path, tmp_path / "new" / "d")
    monkeypatch.undo()
    assert not (tmp_path / "new").exists()
    ingest(path, tmp_path / "new" / "d")


@pytest.mark.long
def test_ingest_to_a_full_disk(tmp_path: Path):
    """A real one, where it may be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=100k", "none", disk],
        capture_output=True,
        check=False,
    )
    if mount.returncode:
        pytest.skip(f"cannot mount a small disk: {mount.stderr.decode().strip()}")
    try:
        code, said = command("ingest", source(tmp_path, "dense"), disk / "d")
        assert (code, len(said)) == (1, 1)
        assert "disk/d cannot be written (No space left on device)" in said[0]
        assert list(disk.iterdir()) == []
        ingest(source(tmp_path, "dense", rows=50), tmp_path / "small")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        code, said = command("ingest", source(tmp_path, "dense"), disk / "d")
        assert (code, len(said)) == (1, 1)
        assert (
            "disk/d cannot be made (Read-only file system); choose another directory"
            in said[0]
        )
        code, said = command("datasets", "export", tmp_path / "small", disk / "d.csv")
        assert (code, len(said)) == (1, 1)
        assert "disk/d.csv cannot be written (Read-only file system)" in said[0]
    finally:
        subprocess.run(["umount", disk], check=True)


def test_destination_that_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The directory refuses new files, as it does to all but the superuser where it has no w bit."""
    path = source(tmp_path, "sparse", rows=10)

    def refuse(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    with pytest.raises(
        DatasetError,
        match=r"d cannot be made \(Permission denied\); choose another directory",
    ):
        ingest(path, tmp_path / "mine" / "d")


@pytest.mark.long
def test_export_that_cannot_be_written(tmp_path: Path):
    ingest(source(tmp_path, "dense"), tmp_path / "d")
    before = sorted(tmp_path.iterdir())
    code, said = command(
        "datasets", "export", tmp_path / "d", tmp_path / "out.csv", largest_file=50_000
    )
    expected = (
        f"olscale: error: {tmp_path}/out.csv cannot be written (File too large); choose "
        "another place"
    )
    assert (code, said) == (1, [expected])
    with pytest.raises(DatasetError, match="cannot be written"):
        export(open_dataset(tmp_path / "d"), tmp_path / "rows.csv" / "under-a-file.csv")
    with pytest.raises(DatasetError, match="cannot be written"):
        export(open_dataset(tmp_path / "d"), tmp_path / "d", format="csv")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "layout", "file"),
    [
        ("dense", "parquet", "train/00001.parquet"),
        ("sparse", "parquet", "train/00001.parquet"),
        ("dense", "zarr", "train/X/c/1/0"),
        ("sparse", "zarr", "train/indices/c/1"),
    ],
)
def test_flipped_bit_ends_commands_in_one_line(
    tmp_path: Path, kind: str, layout: str, file: str
):
    """Dataset, chunk and file are named, by what verifies and by what evaluates."""
    # As many columns as keep sparse text sparse: pairs stand 9 apart.
    ingest(source(tmp_path, kind), tmp_path / "d", layout=layout, chunk_rows=1_000)
    path = tmp_path / "d" / file
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    named = "train/{data,indices}/c/1" if file == "train/indices/c/1" else file
    evaluate = (
        "evaluate",
        "--dataset",
        tmp_path / "d",
        "--learner",
        "pa1",
        "--order",
        "time",
        "--in-process",
    )
    for words in (
        ("datasets", "verify", tmp_path / "d"),
        (*evaluate, "--store", tmp_path / "store"),
    ):
        code, said = command(*words)
        assert (code, len(said)) == (1, 1)
        assert said[0].startswith(
            f"olscale: error: {tmp_path}/d: chunk 1 of train ({named}"
        )
        assert said[0].endswith("ingest the dataset again")


def test_clock_that_jumps_back_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = source(tmp_path, "sparse", rows=500)
    ingest(path, tmp_path / "a" / "d", chunk_rows=100)
    now = time.time()
    jumps = iter(range(10**6))
    for name in ("time", "time_ns"):
        monkeypatch.setattr(time, name, lambda: now - 3600 * next(jumps))
    ingest(path, tmp_path / "b" / "d", chunk_rows=100).verify()
    files = [
        sorted(file for file in (tmp_path / name).rglob("*") if file.is_file())
        for name in ("a", "b")
    ]
    assert [file.name for file in files[0]] == [file.name for file in files[1]]
    assert [file.read_bytes() for file in files[0]] == [
        file.read_bytes() for file in files[1]
    ]
