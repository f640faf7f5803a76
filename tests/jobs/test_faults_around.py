"""What goes wrong around a night, not in it: disks, clocks, names, a job file that is edited, a second command."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import olscale.jobs.home as homes
import olscale.jobs.steps as steps
from olscale.bench.base import Figure
from olscale.errors import ExecutionError, ExperimentError
from olscale.jobs.home import JobHome, history_nights, night_rows, read_history
from olscale.jobs.job_file import JobFile, parse_job
from olscale.jobs.night import run_night
from olscale.jobs.status import job_status
from olscale.jobs.upkeep import prune
from tests.cli.command import run

MakeJob = Callable[..., JobFile]

DAY = 86_400.0
NOON = 1_767_268_800.0
"""Of 2026-01-01."""


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Let benchmarks take no time; returns those that were asked for."""
    asked: list[tuple[str, ...]] = []

    def measured(names: tuple[str, ...], rows: int | None) -> dict[str, list[Figure]]:
        asked.append(names)
        return {name: [Figure(f"speed of {name}", 1.0, "rows/s")] for name in names}

    monkeypatch.setattr(steps, "run_benchmarks", measured)
    return asked


def full(file: Path, data: bytes) -> None:
    """Write as to a disk without room."""
    raise OSError(errno.ENOSPC, "No space left on device", str(file))


@pytest.mark.parametrize(
    "fails", ["begun.json", "2026-01-01.parquet", "told.json", "index.html"]
)
def test_a_full_disk_is_told_in_a_line_and_the_next_call_goes_on(
    make_job: MakeJob, home: JobHome, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    job = make_job()
    write = homes.write_file
    for module in ("home", "page"):
        there = __import__(f"olscale.jobs.{module}", fromlist=["write_file"])
        monkeypatch.setattr(
            there,
            "write_file",
            lambda file, data: (full if file.name == fails else write)(file, data),
        )
    with pytest.raises(
        ExecutionError,
        match=r"cannot write to .*home: No space left on device; .*make room",
    ) as fault:
        run_night(job, home, "2026-01-01")
    assert "\n" not in str(fault.value)
    monkeypatch.undo()
    assert run_night(job, home, "2026-01-01").state in ("good", "done")
    assert night_rows(home)[0]["state"] == "good"
    assert (home.path / "page" / "index.html").exists()


def test_a_lock_that_cannot_be_written_is_told_in_a_line(
    make_job: MakeJob, home: JobHome
) -> None:
    home.path.mkdir()
    (home.path / "lock").mkdir()
    with pytest.raises(
        ExecutionError, match=r"cannot write to .*: Is a directory; .*--home"
    ):
        run_night(make_job(), home, "1")


def test_a_name_that_is_too_long_for_a_file_is_refused(
    make_job: MakeJob, home: JobHome
) -> None:
    with pytest.raises(ExperimentError, match="100 at most"):
        run_night(make_job(), home, "n" * 101)
    assert run_night(make_job(), home, "n" * 100).state == "good"


def test_a_clock_that_was_set_back_is_late_and_said(
    figures: list[tuple[str, ...]], home: JobHome, tmp_path: Path
) -> None:
    """Else nothing would be due until it is there again."""
    job = parse_job({"name": "n", "bench": [{"names": ["linear"]}]}, folder=tmp_path)
    assert run_night(job, home, clock=lambda: NOON).state == "good"
    assert not job_status(job, home, NOON + 60).late
    assert not job_status(job, home, NOON - 60).late  # machines differ by so much
    found = job_status(job, home, NOON - 30 * DAY)
    assert found.late
    assert (
        "night 2026-01-01 began at 2026-01-01 12:00 UTC, and this clock says 2025-12-02 12:00: "
        "set it right" in found.lines[1]
    )
    noted = Noted()
    assert (
        run_night(job, home, clock=lambda: NOON - 30 * DAY, progress=noted).state
        == "good"
    )
    assert [line for line in noted.lines if "set it right" in line]
    assert history_nights(home) == ["2025-12-02", "2026-01-01"]


def test_the_last_night_is_the_one_that_began_last_whatever_its_name(
    figures: list[tuple[str, ...]], home: JobHome, tmp_path: Path
) -> None:
    """`zero` comes behind all dates, and would be the last one for ever."""
    job = parse_job({"name": "n", "bench": [{"names": ["linear"]}]}, folder=tmp_path)
    run_night(job, home, "zero", clock=lambda: NOON)
    run_night(job, home, clock=lambda: NOON + 9 * DAY)
    found = job_status(job, home, NOON + 9 * DAY + 60)
    assert not found.late
    assert found.lines[0] == "last night: 2026-01-10, good"
    file = tmp_path / "n.toml"
    file.write_text('name = "n"\n[[bench]]\nnames = ["linear"]\n')
    assert run("jobs", "check", str(file), "--home", str(home.path)).stdout.startswith(
        "night 2026-01-10: good"
    )


def test_a_job_file_that_is_edited_within_a_night_gets_what_it_asks_for(
    figures: list[tuple[str, ...]], home: JobHome, tmp_path: Path
) -> None:
    """Not what the section in that place asked for before; what has been done of what it asks for stays."""

    def job(*names: str) -> JobFile:
        wrong = [{"experiment": "missing.toml"}]
        benches = [{"names": [name]} for name in names]
        return parse_job(
            {"name": "n", "bench": benches, "evaluate": wrong}, folder=tmp_path
        )

    assert run_night(job("linear", "local"), home, "1").state == "failed"
    assert run_night(job("linear", "kernel"), home, "1").state == "failed"
    assert figures == [("linear",), ("local",), ("kernel",)]
    assert read_history(home, ["benchmark"], ["bench"])["benchmark"].to_pylist() == [
        "linear",
        "kernel",
    ]
    assert len({row["job"] for row in night_rows(home)}) == 1


def test_an_ingest_that_is_edited_within_a_night_is_done_again(
    home: JobHome, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("x,y\n" + "1,0\n2,1\n" * 20)
    (tmp_path / "b.csv").write_text("x,y\n" + "1,0\n2,1\n" * 30)

    def job(source: str) -> JobFile:
        one: dict[str, Any] = {
            "source": source,
            "dest": "data",
            "options": {"label": "y"},
        }
        return parse_job(
            {
                "name": "n",
                "ingest": [one],
                "evaluate": [{"experiment": "missing.toml"}],
            },
            folder=tmp_path,
        )

    for source, rows in (("a.csv", 40), ("b.csv", 60)):
        assert run_night(job(source), home, "1").state == "failed"
        assert read_history(home, ["rows"], ["ingest"])["rows"].to_pylist() == [rows]


def test_a_source_that_has_gone_fails_the_night_and_the_dataset_stays(
    home: JobHome, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("x,y\n" + "1,0\n2,1\n" * 20)
    one = {"source": "a.csv", "dest": "data", "options": {"label": "y"}}
    job = parse_job({"name": "n", "ingest": [one]}, folder=tmp_path)
    assert run_night(job, home, "1").state == "good"
    (tmp_path / "a.csv").unlink()
    end = run_night(job, home, "2")
    assert end.state == "failed"
    assert "a.csv" in end.lines[0]
    assert (tmp_path / "data" / "manifest.json").exists()


def test_prune_leaves_a_night_that_goes_on_alone(
    figures: list[tuple[str, ...]], home: JobHome, tmp_path: Path
) -> None:
    """One that failed and is tried again has a history, and would go."""
    text = (
        'name = "n"\nkeep = { stores = 1, failed = 0 }\n[[bench]]\nnames = ["linear"]\n'
    )
    (tmp_path / "n.toml").write_text(text)
    job = parse_job(
        {"name": "n", "bench": [{"names": ["linear"]}], "keep": {"stores": 9}},
        folder=tmp_path,
    )
    for night in "123":
        run_night(job, home, night)
    command = ("jobs", "prune", str(tmp_path / "n.toml"), "--home", str(home.path))
    with home.held(NOON) as mine:
        assert mine
        assert "a night is running" in run(*command).stdout
        assert home.nights() == ["1", "2", "3"]
    assert run(*command).stdout == "removed 1 nights: 2\n"
    assert prune(job, home) == []


def test_an_empty_home_is_refused(tmp_path: Path) -> None:
    """As of `--home "$UNSET"`: not taken for the one of the file."""
    (tmp_path / "n.toml").write_text('name = "n"\n[[bench]]\nnames = ["linear"]\n')
    done = run("jobs", "prune", str(tmp_path / "n.toml"), "--home", "")
    assert done.returncode == 2
    assert "the word after '--home' is empty" in done.stderr


def test_a_fault_of_an_experiment_names_its_file_once(
    home: JobHome, tmp_path: Path
) -> None:
    (tmp_path / "wrong.toml").write_text("[[learnes]]\n")
    job = parse_job(
        {"name": "n", "evaluate": [{"experiment": "wrong.toml"}]}, folder=tmp_path
    )
    [line] = run_night(job, home, "1").lines
    assert line.count("wrong.toml") == 1


class Noted:
    """Progress that keeps its notes."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)

    def __getattr__(self, name: str) -> Any:
        return lambda *some, **more: None
