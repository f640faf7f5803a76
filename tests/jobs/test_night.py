"""A night is run once, whatever interrupts it, and its history says what came of it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from olscale.errors import ExperimentError
from olscale.jobs.home import (
    TIMES,
    JobHome,
    history_nights,
    night_rows,
    read_history,
    read_json,
)
from olscale.jobs.job_file import JobFile
from olscale.jobs.night import run_night
from tests.cli.command import run

MakeJob = Callable[..., JobFile]


def test_a_night_is_run_once(make_job: MakeJob, home: JobHome) -> None:
    job = make_job(repeat=2)
    end = run_night(job, home, "2026-01-01")
    assert end.state == "good", end.lines
    written = (home.history / "2026-01-01.parquet").read_bytes()
    assert run_night(job, home, "2026-01-01").state == "done"
    assert (home.history / "2026-01-01.parquet").read_bytes() == written
    rows = read_history(home, kinds=["results"]).to_pylist()
    assert [(row["learner"], row["n"], dict(row["outcomes"])) for row in rows] == [
        ("pa1", 2, {"ok": 2}),
        ("pa1", 2, {"ok": 2}),
        ("perceptron", 2, {"ok": 2}),
    ]
    assert all(
        len(row["ids"]) == len(row["digests"]) == 2 and row["rows_per_second"] > 0
        for row in rows
    )
    assert all(row["rows_per_cpu_second"] > 0 for row in rows)
    assert not (home.night("2026-01-01") / "repeat-1").exists()
    assert (
        "Rows a second" in (home.path / "page" / "index.html").read_text()
        or "Too few" in (home.path / "page" / "index.html").read_text()
    )
    made = night_rows(home)[0]["made_by"]
    assert {
        "code",
        "machine",
        "numpy",
        "numba",
        "python",
        "pyarrow",
        "blas",
        "container",
        "host",
        "memory",
    } <= set(made)


def test_two_nights_of_the_same_code_have_the_same_digests(
    make_job: MakeJob, home: JobHome
) -> None:
    for night in ("1", "2"):
        assert run_night(make_job(), home, night).state == "good"
    digests = [
        read_history(home, ["digest"], ["results"], [night])["digest"].to_pylist()
        for night in ("1", "2")
    ]
    assert digests[0] == digests[1]


def test_a_step_that_fails_fails_the_night_and_keeps_no_other_from_it(
    make_job: MakeJob, home: JobHome
) -> None:
    """Called again once the fault is gone, the night ends well."""
    job = make_job(
        ingest=[{"source": "later.csv", "dest": "later", "options": {"label": "y"}}]
    )
    end = run_night(job, home, "1")
    assert end.state == "failed"
    assert "later.csv" in end.lines[0]
    assert read_history(home, kinds=["results"]).num_rows == 3
    Path(job.home).parent.joinpath("later.csv").write_text("x,y\n" + "1,0\n2,1\n" * 20)
    assert run_night(job, home, "1").state == "good"
    assert [row["state"] for row in night_rows(home)] == ["good"]
    assert night_rows(home)[0]["calls"] == 2


def test_a_night_called_again_has_the_figures_of_the_rows_that_it_ingested_then(
    make_job: MakeJob, home: JobHome, tmp_path: Path
) -> None:
    """Not those of the night before, which it evaluated while the source could not be read."""
    (tmp_path / "rows.toml").write_text(
        "[protocol]\npermutations = 1\n[[datasets]]\npath = 'made/rows'\n"
        "[[learners]]\nname = 'majority'\n"
    )
    source = tmp_path / "rows.csv"
    job = make_job(
        ingest=[{"source": "rows.csv", "dest": "made/rows", "options": {"label": "y"}}],
        evaluate=[{"experiment": "rows.toml", "where": {"in_process": True}}],
    )
    errors = []
    # Whatever the order of their fingerprints is, one of these two comes after the other.
    for night, ones in (("1", 2), ("2", 9), ("3", 2)):
        source.write_text("x,y\n1,0,7\n")
        if night != "1":
            assert run_night(job, home, night).state == "failed"
        source.write_text("x,y\n" + "1,0\n" * 20 + "2,1\n" * ones)
        assert run_night(job, home, night).state == "good"
        history = read_history(home, ["error"], ["results"], [night])
        errors.append(history["error"].to_pylist())
    assert [len(of_night) for of_night in errors] == [1, 1, 1]
    assert errors[0] == errors[2] != errors[1]


def test_sources_are_ingested_anew_only_when_their_bytes_change(
    make_job: MakeJob, home: JobHome, tmp_path: Path
) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("x,y\n" + "1,0\n2,1\n" * 20)
    job = make_job(
        ingest=[{"source": "rows.csv", "dest": "made/rows", "options": {"label": "y"}}]
    )
    seen = []
    for night, more in (("1", ""), ("2", ""), ("3", "3,1\n")):
        source.write_text(source.read_text() + more)
        assert run_night(job, home, night).state == "good"
        seen += read_history(
            home, ["rows", "seconds", "dataset"], ["ingest"], [night]
        ).to_pylist()
    assert [(row["dataset"], row["rows"], row["seconds"] is None) for row in seen] == [
        ("rows", 40, False),
        ("rows", 40, True),
        ("rows", 41, False),
    ]
    assert [entry.name for entry in (tmp_path / "made").iterdir()] == ["rows"]


def test_a_folder_that_the_job_has_not_made_is_not_replaced(
    make_job: MakeJob, home: JobHome, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("x,y\n" + "1,0\n2,1\n" * 20)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    job = make_job(
        ingest=[{"source": "rows.csv", "dest": "mine", "options": {"label": "y"}}]
    )
    end = run_night(job, home, "1")
    assert (end.state, "was not made by this job" in end.lines[0]) == ("failed", True)
    assert (tmp_path / "mine" / "letter").read_text() == "dear"


@pytest.mark.parametrize("night", ["..", ".hidden", "a/b", ""])
def test_a_night_is_named_by_a_name(
    make_job: MakeJob, home: JobHome, night: str
) -> None:
    with pytest.raises(ExperimentError, match="expected a letter or digit"):
        run_night(make_job(), home, night)


def test_a_second_caller_leaves_at_once(make_job: MakeJob, home: JobHome) -> None:
    with home.held(0.0) as mine:
        assert mine
        assert run_night(make_job(), home, "1").state == "busy"
        assert home.holder() == {
            "host": os.uname().nodename,
            "pid": os.getpid(),
            "since": 0.0,
        }
    assert home.holder() is None
    assert run_night(make_job(), home, "1").state == "good"


def test_an_unfinished_night_goes_on_and_one_that_is_too_old_does_not(
    make_job: MakeJob, home: JobHome
) -> None:
    missing = {"ingest": [{"source": "never.csv", "dest": "never"}]}
    job = make_job(max_hours=2, **missing)
    noon = 1_767_268_800.0  # 2026-01-01 12:00 UTC
    assert run_night(job, home, clock=lambda: noon + 11.5 * 3600).night == "2026-01-01"
    assert run_night(job, home, clock=lambda: noon + 12.5 * 3600).night == "2026-01-01"
    left = home.night("2026-01-01") / "store" / "checkpoints"
    left.mkdir(exist_ok=True)
    end = run_night(job, home, "2026-01-01", clock=lambda: noon + 13.6 * 3600)
    assert (end.state, "took more than its 2 hours" in end.lines[0]) == ("done", True)
    assert read_history(home, ["kind"], ["results"]).num_rows == 3
    assert run_night(job, home, clock=lambda: noon + 13.6 * 3600).night == "2026-01-02"
    assert not left.exists()


def test_a_night_that_takes_too_long_stops_by_itself_and_has_failed(
    make_job: MakeJob, home: JobHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(*_: object) -> None:
        time.sleep(30)

    monkeypatch.setattr("olscale.jobs.night.evaluate_step", sleep)
    end = run_night(make_job(max_hours=0.5 / 3600), home, "1")
    assert (end.state, "took more than its" in end.lines[0]) == ("failed", True)
    assert [row["state"] for row in night_rows(home)] == ["failed"]


def test_a_night_that_is_told_when_to_stop_is_to_be_called_again(
    make_job: MakeJob, home: JobHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(*_: object) -> None:
        time.sleep(30)

    with monkeypatch.context() as patch:
        patch.setattr("olscale.jobs.night.evaluate_step", sleep)
        end = run_night(make_job(), home, "1", stop_at=time.time() + 0.3)
    assert end.state == "stopped"
    assert night_rows(home) == []
    assert run_night(make_job(), home, "1").state == "good"


def test_what_a_kill_behind_the_history_left_undone_is_done_by_the_next_call(
    make_job: MakeJob, home: JobHome
) -> None:
    assert run_night(make_job(), home, "1").state == "good"
    page = home.path / "page" / "index.html"
    told = home.path / "told.json"
    for gone in ([page], [page, told]):
        for file in gone:
            file.unlink()
        assert run_night(make_job(), home, "1").state == "done"
        assert page.exists()
        assert told.exists()


def command(tmp_path: Path, home: JobHome, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "olscale",
        "jobs",
        "run",
        str(tmp_path / "job.toml"),
        "--home",
        str(home.path),
        *more,
    ]


def write_job(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(
        '[[evaluate]]\nexperiment = "experiment.toml"\nrepeat = 2\nwhere = { in_process = true }\n'
        '[[ingest]]\nsource = "rows.csv"\ndest = "rows"\noptions = { label = "y" }\n'
    )
    (tmp_path / "rows.csv").write_text("x,y\n" + "1,0\n2,1\n" * 200)


@pytest.mark.long
def test_sigterm_stops_a_night_and_the_next_call_goes_on(
    make_job: MakeJob, home: JobHome, tmp_path: Path
) -> None:
    make_job()
    write_job(tmp_path)
    night = subprocess.Popen(
        command(tmp_path, home, "--night", "1"),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    while not (home.night("1") / "begun.json").exists():
        time.sleep(0.001)
    time.sleep(0.05)
    night.send_signal(signal.SIGTERM)
    out, err = night.communicate(timeout=60)
    assert (night.returncode, "resumes it" in out) == (75, True), out + err
    assert history_nights(home) == []
    assert (
        run(
            "jobs", "run", tmp_path / "job.toml", "--home", home.path, "--night", "1"
        ).returncode
        == 0
    )


def outcome(home: JobHome) -> list[dict[str, object]]:
    return read_history(home).drop_columns(list(TIMES)).to_pylist()


@pytest.mark.chaos
@pytest.mark.timeout(1800)
def test_a_night_that_is_killed_again_and_again_has_the_history_of_one_that_is_not(
    make_job: MakeJob, home: JobHome, tmp_path: Path
) -> None:
    """Twenty SIGKILLs at random places."""
    make_job()
    write_job(tmp_path)
    assert (
        subprocess.run(command(tmp_path, home, "--night", "1"), check=False).returncode
        == 0
    )
    undisturbed = outcome(home)
    rng = random.Random(0)
    kills = 0
    state = 75
    shutil.rmtree(home.path)
    shutil.rmtree(tmp_path / "rows")
    while kills < 20:
        night = subprocess.Popen(
            command(tmp_path, home, "--night", "1"), stderr=subprocess.DEVNULL
        )
        begin = read_json(home.night("1") / "begun.json").get("calls", 0)
        while (
            night.poll() is None
            and read_json(home.night("1") / "begun.json").get("calls", 0) == begin
        ):
            time.sleep(0.001)  # of no use before it has begun
        time.sleep(rng.random() * 1.0)
        if night.poll() is None:
            night.kill()
            kills += 1
        night.wait()
        if night.returncode == 0:
            assert outcome(home) == undisturbed
            shutil.rmtree(home.path)
            shutil.rmtree(tmp_path / "rows")
    state = subprocess.run(
        command(tmp_path, home, "--night", "1"), check=False
    ).returncode
    assert state == 0
    assert outcome(home) == undisturbed
