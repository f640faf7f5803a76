"""A damaged file of a job is told in a line, set aside and made anew; the nights go on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import olscale.jobs.steps as steps
from olscale.bench.base import Figure
from olscale.errors import StoreError
from olscale.execution.progress import Silent
from olscale.jobs.home import (
    TIMES,
    JobHome,
    damage_of,
    history_nights,
    night_rows,
    read_history,
    read_json,
    write_json,
)
from olscale.jobs.job_file import JobFile, parse_job
from olscale.jobs.night import run_night
from olscale.jobs.steps import ingest_step
from tests.cli.command import run

MakeJob = Callable[..., JobFile]


class Noted(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobFile:
    """Return a job of a benchmark that takes no time."""
    made = {"linear": [Figure("speed", 1.0, "rows/s", 2.0, "peer")]}
    monkeypatch.setattr(steps, "run_benchmarks", lambda names, rows: made)
    (tmp_path / "job.toml").write_text('name = "n"\n[[bench]]\nnames = ["linear"]\n')
    return parse_job({"name": "n", "bench": [{"names": ["linear"]}]}, folder=tmp_path)


def flip(file: Path, bit: int) -> None:
    data = bytearray(file.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    file.write_bytes(data)


def test_any_bit_of_a_night_that_flips_is_found_or_harmless(
    job: JobFile, home: JobHome
) -> None:
    run_night(job, home, "1")
    file = home.history / "1.parquet"
    right = read_history(home)
    data = file.read_bytes()
    random = Random(0)
    for bit in random.sample(range(8 * len(data)), 200):
        flip(file, bit)
        if not damage_of(home, "1"):
            assert read_history(home).equals(right)
        else:
            with pytest.raises(
                StoreError,
                match=r"1\.parquet: is damaged: its checksum is wrong; olscale jobs run sets",
            ):
                read_history(home)
        file.write_bytes(data)


def test_a_damaged_night_is_made_anew_from_its_store_and_the_next_one_goes_on(
    make_job: MakeJob, home: JobHome
) -> None:
    job = make_job()
    run_night(job, home, "1")
    same = [
        name
        for name in read_history(home).column_names
        if name not in (*TIMES, "changed")
    ]
    right = read_history(home, same)
    flip(home.history / "1.parquet", 8000)
    noted = Noted()
    assert run_night(job, home, "2", progress=noted).state == "good"
    assert history_nights(home) == ["1", "2"]
    assert read_history(home, same, nights=["1"]).equals(right)
    assert night_rows(home)[0]["changed"] == [
        "its history was damaged and is made from its store"
    ]
    [line] = [line for line in noted.lines if "damaged" in line]
    assert line.startswith(
        "the history of night 1 was damaged (its checksum is wrong) and is set aside in "
    )
    assert line.endswith("/damaged/history: it is made anew from its store")
    assert (home.path / "damaged" / "history" / "1.parquet").exists()


def test_a_damaged_night_without_a_folder_is_left_out_once(
    job: JobFile, home: JobHome
) -> None:
    run_night(job, home, "1")
    (home.history / "1.parquet").write_bytes(b"PAR1")
    for file in sorted(home.night("1").iterdir()):
        file.unlink()
    home.night("1").rmdir()
    noted = Noted()
    assert run_night(job, home, "2", progress=noted).state == "good"
    assert (
        "its folder is no longer kept, and the history is without it" in noted.lines[0]
    )
    assert history_nights(home) == ["2"]
    assert run_night(job, home, "3", progress=(again := Noted())).state == "good"
    assert again.lines == []


def test_a_night_that_was_set_aside_by_one_that_was_killed_is_made_anew(
    job: JobFile, home: JobHome
) -> None:
    run_night(job, home, "1")
    aside = home.path / "damaged" / "history"
    aside.mkdir(parents=True)
    (home.history / "1.parquet").rename(aside / "1.parquet")
    run_night(job, home, "2")
    assert history_nights(home) == ["1", "2"]


def test_a_night_of_an_earlier_version_is_read_and_stays_as_it_is(
    job: JobFile, home: JobHome
) -> None:
    """It has no checksum: what is known for damaged is what cannot be read."""
    run_night(job, home, "1")
    file = home.history / "1.parquet"
    right = read_history(home)
    sink = pa.BufferOutputStream()
    pq.write_table(right, sink, compression="zstd")
    old = sink.getvalue().to_pybytes()
    file.write_bytes(old)
    assert run_night(job, home, "2").state == "good"
    assert read_history(home, nights=["1"]).equals(right)
    assert file.read_bytes() == old
    file.write_bytes(old[:-100])
    noted = Noted()
    assert run_night(job, home, "3", progress=noted).state == "good"
    assert ["night 1 was damaged" in line for line in noted.lines] == [True]


def test_commands_that_only_read_say_it_in_a_line(
    job: JobFile, home: JobHome, tmp_path: Path
) -> None:
    run_night(job, home, "1")
    flip(home.history / "1.parquet", 8000)
    for command in ("history", "status"):
        done = run(
            "jobs", command, str(tmp_path / "job.toml"), "--home", str(home.path)
        )
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "1.parquet: is damaged" in done.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("begun.json", '"calls": 1'),
        ("bench-0.json", '"value": 1'),
        ("told.json", '"night": "1'),
    ],
)
def test_a_changed_digit_of_a_small_file_is_found(
    job: JobFile, home: JobHome, name: str, text: str
) -> None:
    run_night(job, home, "1")
    file = home.path / name if name == "told.json" else home.night("1") / name
    content = read_json(file)
    assert text in file.read_text()
    file.write_text(file.read_text().replace(text, f"{text[:-1]}2"))
    assert read_json(file) == {}
    assert run_night(job, home, "2").state == "good"
    write_json(file, content)
    assert read_json(file) == content


def test_a_night_whose_begin_is_damaged_begins_anew(
    job: JobFile, home: JobHome
) -> None:
    """Nobody knows by which code its results are."""
    run_night(job, home, "1")
    os.unlink(home.history / "1.parquet")  # noqa: PTH108
    (home.night("1") / "begun.json").write_text("{")
    (home.night("1") / "mine").write_text("of another code")
    noted = Noted()
    assert run_night(job, home, "1", progress=noted).state == "good"
    assert noted.lines == ["its begun.json is damaged: it begins anew"]
    assert not (home.night("1") / "mine").exists()


def test_what_was_ingested_is_still_ours_where_the_file_that_says_so_is_damaged(
    home: JobHome, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n3,a\n")
    asked: dict[str, Any] = {
        "source": str(tmp_path / "a.csv"),
        "dest": str(tmp_path / "rows"),
        "options": {"label": "y"},
    }
    [step] = parse_job({"name": "n", "ingest": [asked]}, folder=tmp_path).ingest
    home.night("1").mkdir(parents=True)
    row = ingest_step(step, home, home.night("1") / "ingest-0.json")
    (home.path / "ingested.json").write_text("{")
    assert (
        ingest_step(step, home, home.night("1") / "ingest-1.json")["fingerprint"]
        == row["fingerprint"]
    )


def test_what_killed_writers_have_left_in_the_store_of_a_night_goes_with_its_end(
    make_job: MakeJob, home: JobHome
) -> None:
    left = [
        home.night("1") / "store" / "tmp" / "half.4711.ab12cd34",
        home.history / "1.parquet.4194305.part",
    ]
    for file in left:
        file.parent.mkdir(parents=True)
        file.touch()
    assert run_night(make_job(), home, "1").state == "good"
    assert not any(file.exists() for file in left)
