"""A named pipe in the place of any file is passed over or refused in a line; nobody waits for it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import olscale.jobs.steps as steps
from olscale.analysis import store_status, summarise
from olscale.bench.base import Figure
from olscale.compiled.code_files import CheckedCodeFile
from olscale.data.dataset import open_dataset
from olscale.data.generators import generate
from olscale.data.ingest.ingest import ingest
from olscale.errors import DatasetError, FormatError, OlscaleError
from olscale.execution.evaluate import evaluate
from olscale.jobs.home import JobHome, history_nights
from olscale.jobs.job_file import parse_job
from olscale.jobs.night import run_night
from olscale.jobs.status import job_status
from olscale.results.compact import compact
from olscale.results.live_reader import LiveReader
from olscale.results.opening import open_store
from olscale.storage.open import open_storage
from tests.execution.test_journal import two_learners

ID = "ab" * 16


@pytest.fixture(autouse=True)
def nobody_waits() -> Iterator[None]:
    """Fail in place of waiting for somebody who writes to a pipe."""

    def fail(number: int, frame: Any) -> None:
        raise AssertionError("a named pipe was waited for")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pipe(place: Path) -> None:
    """Put a named pipe in the place of a file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)


@pytest.mark.parametrize("way", ["open", "read", "ranges", "map", "read_many"])
def test_storage_lists_and_reads_no_pipe(way: str, tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    pipe(tmp_path / "runs" / "pipe")
    pipe(tmp_path / "runs" / "ab" / "pipe")
    assert storage.names("runs") == []
    assert storage.stamps("runs") == {}
    if way == "read_many":
        [(_, fault)] = storage.read_many(["runs/pipe"])
        assert isinstance(fault, OSError)
        return
    with pytest.raises(OSError, match="is a named pipe, expected a file"):
        getattr(storage, way)("runs/pipe")


def test_a_lock_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    pipe(tmp_path / "lock")
    with pytest.raises(OSError), open_storage(tmp_path).lock("lock"):
        pass


def test_a_store_with_pipes_is_read_filled_and_compacted(
    shelf: Path, tmp_path: Path
) -> None:
    store = open_store(tmp_path / "store", create=True)
    folders = (
        "runs/ab",
        "timings/ab",
        "lost/ab",
        "compacted/runs",
        "compacted/timings",
        "damaged",
        "tmp",
        "models",
    )
    for folder in folders:
        pipe(tmp_path / "store" / folder / f"{ID}.parquet")
    for name in (
        "plans/one-ab.json",
        f"selections/{ID}.json",
        "checkpoints/ab/pack.json",
        "live/one.0001.jsonl",
    ):
        pipe(tmp_path / "store" / name)
    done = evaluate(two_learners(shelf), store.path, in_process=True)
    assert done.outcomes == {"ok": 2}
    assert len(store.done()) == 2
    assert len(LiveReader(store).read()) == 1
    assert store_status(store).outcomes == {"ok": 2}
    shown = summarise(store)
    compact(store)
    assert summarise(store) == shown != []


@pytest.mark.parametrize(
    "name", ["manifest.json", "train/00000.parquet", "train/label/c/0"]
)
@pytest.mark.parametrize("layout", ["parquet", "zarr"])
def test_a_dataset_with_a_pipe_is_refused_in_a_line(
    layout: str, name: str, tmp_path: Path
) -> None:
    dataset = generate("rotating-xor", tmp_path / "xor", rows=400, layout=layout)
    if not (tmp_path / "xor" / name).exists():
        pytest.skip("of the other layout")
    pipe(tmp_path / "xor" / name)
    with pytest.raises(OlscaleError, match="named pipe") as fault:
        open_dataset(dataset.path).verify()
    assert "\n" not in str(fault.value)


def test_pipes_among_sources_are_passed_over_and_one_that_is_named_is_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "a.svm").write_text("+1 1:1\n-1 1:2\n")
    pipe(tmp_path / "rows" / "b.svm")
    assert ingest(str(tmp_path / "rows"), tmp_path / "d").rows("train") == 2
    with pytest.raises((FormatError, DatasetError), match="named pipe"):
        ingest(str(tmp_path / "rows" / "b.svm"), tmp_path / "e")


@pytest.mark.parametrize(
    "name",
    [
        "history/0.parquet",
        "told.json",
        "nights/1/begun.json",
        "nights/1/bench-0.json",
        "ingested.json",
    ],
)
def test_nights_go_on_beside_pipes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        steps,
        "run_benchmarks",
        lambda names, rows: {"linear": [Figure("speed", 1.0, "rows/s")]},
    )
    job = parse_job({"name": "n", "bench": [{"names": ["linear"]}]}, folder=tmp_path)
    home = JobHome(tmp_path / "home")
    pipe(home.path / name)
    assert run_night(job, home, "1", clock=lambda: 1e9).state == "good"
    assert history_nights(home) == ["1"]
    assert not job_status(job, home, 1e9 + 60).late


def test_a_lock_of_a_job_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe(tmp_path / "lock")
    assert JobHome(tmp_path).holder() is None


def test_machine_code_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    code = CheckedCodeFile(str(tmp_path), "loop", "stamp")
    code.save("signature", b"code")
    for suffix in (".nbc", ".nbi"):
        [file] = tmp_path.glob(f"*{suffix}")
        pipe(file)
        content: Callable[[], Any] = lambda: code.load("signature")  # noqa: E731
        if suffix == ".nbc":
            assert content() is None
        else:
            with pytest.raises(OSError, match="named pipe"):
                content()
