"""The commands of a job, beside those of a night."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np
import pytest
import yaml

from olscale.errors import ExperimentError
from olscale.jobs.home import JobHome, read_history, write_json, write_night
from olscale.jobs.job_file import AlarmRules, parse_job
from olscale.jobs.page import series_drawing
from olscale.jobs.series import NightSeries, judge
from olscale.jobs.status import job_status
from olscale.results.opening import open_store
from olscale.results.plans import PlannedDataset, PlannedLearner, write_plan
from tests.cli.command import run

BEGAN = datetime(2026, 1, 1, 2, tzinfo=UTC)


def make_history(home: JobHome, nights: int, settings: int = 1, seed: int = 0) -> None:
    """Write a history of nights of speeds with noise, ten runs a setting."""
    rng = np.random.default_rng(seed)
    for i in range(nights):
        name = (BEGAN + timedelta(days=i)).strftime("%Y-%m-%d")
        same = {
            "night": name,
            "state": "good",
            "job": "j",
            "code": "c",
            "machine": "m",
            "load": 0.1,
        }
        same |= {
            "began": BEGAN + timedelta(days=i),
            "made_by": [("numpy", "2"), ("machine", "m")],
        }
        rows = [
            same
            | {
                "kind": "night",
                "seconds": 3600.0,
                "calls": 1,
                "failures": [],
                "alarms": [],
                "changed": [],
            }
        ]
        for s in range(settings):
            ids = [f"{s:016x}{n:016x}" for n in range(10)]
            digests = [f"{s * 1000 + n:016x}" for n in range(10)]
            setting = {
                "kind": "results",
                "dataset": f"d{s}",
                "fingerprint": "f",
                "transforms": "",
                "learner": "pa1",
            }
            setting |= {
                "version": "1",
                "params": "{}",
                "protocol": "{}",
                "ids": ids,
                "digests": digests,
            }
            setting |= {
                "digest": f"{s:016x}",
                "n": 10,
                "outcomes": [("ok", 10)],
                "error": 0.1,
            }
            rows.append(
                same | setting | {"rows_per_second": float(rng.normal(1e6, 2e4))}
            )
        write_night(home, name, rows)
        write_json(home.night(name) / "begun.json", {"at": 0.0})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "nightly.toml"
    path.write_text(
        'home = "home"\nkeep = { stores = 2, failed = 1 }\n[[bench]]\nnames = ["linear"]\n'
    )
    return path


def test_the_history_is_printed_and_queried(file: Path, home: JobHome) -> None:
    make_history(home, 3)
    table = run("jobs", "history", file, "--metric", "rows_per_second")
    assert len(table.stdout.splitlines()) == 2
    line = table.stdout.splitlines()[1]
    assert (table.returncode, line.split()[:3]) == (0, ["pa1", "on", "d0"])
    assert "not enough" in line
    every = run("jobs", "history", file, "--metric", "rows_per_second", "--all")
    assert (every.returncode, len(every.stdout.splitlines())) == (0, 4)
    lines = list(
        csv.DictReader(
            io.StringIO(run("jobs", "history", file, "--format", "csv").stdout)
        )
    )
    assert {line["metric"] for line in lines} == {"rows_per_second", "error"}
    query = (
        "select night, made_by['numpy'] as numpy from history where kind = 'night' order by "
        "night desc limit 1"
    )
    done = run("jobs", "history", file, "--sql", query, "--format", "json")
    assert json.loads(done.stdout) == [{"night": "2026-01-03", "numpy": "2"}]
    wrong = run("jobs", "history", file, "--sql", "select * from nothing")
    assert (wrong.returncode, "cannot be answered" in wrong.stderr) == (1, True)
    elsewhere = run(
        "jobs", "history", file, "--sql", f"select * from read_csv('{file}')"
    )
    assert elsewhere.returncode == 1


def test_series_have_the_labels_of_the_last_night_and_errors_are_percentages(
    file: Path, home: JobHome
) -> None:
    make_history(home, 2)
    [row] = read_history(home, kinds=["results"], nights=["2026-01-02"]).to_pylist()
    write_night(
        home, "2026-01-02", [row | {"error": 0.125, "error_metric": "cumulative_error"}]
    )
    store = open_store(home.night("2026-01-02") / "store", create=True)
    dataset = PlannedDataset("d0", "f", (), "Malicious URLs")
    learner = PlannedLearner("pa1", "1", {}, (0,), "<b>bold</b>")
    write_plan(store, "one", ["0" * 32], (), [dataset], [learner])

    [_, line] = run("jobs", "history", file, "--metric", "error").stdout.splitlines()
    assert line.startswith("<b>bold</b> on Malicious URLs  error   2       12.50 %")
    assert run("jobs", "report", file, "--out", home.path / "page").returncode == 0
    page = (home.path / "page" / "index.html").read_text()
    assert "&lt;b&gt;bold&lt;/b&gt; on Malicious URLs" in page
    assert ">12.50 %</text>" in page


def test_check_says_how_the_last_night_ended(file: Path, home: JobHome) -> None:
    none = run("jobs", "check", file)
    assert (none.returncode, "run a night first" in none.stderr) == (1, True)
    make_history(home, 3)
    good = run("jobs", "check", file)
    assert (good.returncode, good.stdout.splitlines()) == (
        0,
        [
            "night 2026-01-03: good",
            "2 of 2 series have not enough nights that count yet (8)",
        ],
    )


def test_check_says_before_the_first_night_what_would_fail(tmp_path: Path) -> None:
    """A line each, at once: it took a night to learn of each."""
    (tmp_path / "e.toml").write_text(
        '[[datasets]]\npath = "made"\n[[datasets]]\npath = "gone"\n[[datasets]]\nname = "lettr"\n'
        '[[learners]]\nname = "pa7"\n[[learners]]\nname = "pa1"\nparams = { C = -1 }\n'
    )
    (tmp_path / "j.toml").write_text(
        '[[ingest]]\nsource = "absent.csv"\ndest = "made"\n'
        'options = { encode = { when = "dat" } }\n[[evaluate]]\nexperiment = "e.toml"\n'
        '[[evaluate]]\nexperiment = "none.toml"\n'
    )
    found = run("jobs", "check", tmp_path / "j.toml")
    assert (found.returncode, found.stdout.count("\n"), found.stderr.count("\n")) == (
        1,
        7,
        1,
    )
    for said in (
        "absent.csv does not exist",
        "encode was 'when=dat'",
        "/gone does not exist",
        "'lettr'; did you mean 'letter'?",
        "unknown learner 'pa7'",
        "parameter C was -1",
        "none.toml: cannot be read",
    ):
        assert said in found.stdout
    assert "/made does not exist" not in found.stdout  # the job makes it


def test_options_of_an_ingest_are_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "j.toml").write_text(
        '[[ingest]]\nsource = "a.csv"\ndest = "b"\noptions = { lable = "y" }\n'
    )
    found = run("jobs", "check", tmp_path / "j.toml")
    assert (
        found.returncode,
        "unknown option of ingest 'lable'; did you mean 'label'?" in found.stderr,
    ) == (1, True)


@pytest.mark.parametrize(("hours", "late"), [(1, False), (25.9, False), (26.1, True)])
def test_status_is_late_when_the_last_good_night_is_too_old(
    file: Path, home: JobHome, hours: float, late: bool
) -> None:
    make_history(home, 2)
    ended = (BEGAN + timedelta(days=1, hours=1)).timestamp()
    job = parse_job({"name": "n", "bench": [{"names": ["linear"]}]})
    assert job_status(job, home, ended + 3600 * hours).late is late


def test_status_of_a_job_that_never_ran_is_late(file: Path) -> None:
    done = run("jobs", "status", file)
    assert (done.returncode, done.stdout) == (
        1,
        "no night has ended without failures yet\n",
    )


def test_the_page_has_every_part(file: Path, home: JobHome, tmp_path: Path) -> None:
    make_history(home, 12)
    assert run("jobs", "report", file, "--out", tmp_path / "page").returncode == 0
    page = (tmp_path / "page" / "index.html").read_text()
    for part in (
        "Nights of nightly",
        "Rows a second",
        "Failures",
        "Code and machines",
        "<svg",
        "pa1",
        "2026-01-12",
    ):
        assert part in page


@pytest.mark.slow
def test_four_hundred_nights_of_two_hundred_series_stay_in_bounds(
    file: Path, home: JobHome, tmp_path: Path
) -> None:
    make_history(home, 400, 200)
    size = sum(path.stat().st_size for path in home.history.iterdir())
    seconds = []
    for words in (("report", file, "--out", tmp_path / "page"), ("check", file)):
        begin = perf_counter()
        work = process_time()
        assert run("jobs", *words).returncode == 0
        seconds.append((perf_counter() - begin, process_time() - work))
    assert size < 100e6
    assert seconds[0][1] < 10
    assert seconds[1][1] < 3


def units(file: Path, scheduler: str) -> str:
    done = run("jobs", "units", file, "--for", scheduler)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not there"
)
def test_systemd_accepts_its_units_and_refuses_a_mistake(
    file: Path, tmp_path: Path
) -> None:
    def verify(text: str) -> str:
        parts = text.split("# ~/.config/systemd/user/")[1:]
        files = []
        for part in parts:
            name, _, body = part.partition("\n")
            (tmp_path / name).write_text(body)
            files.append(str(tmp_path / name))
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", *files],
            capture_output=True,
            text=True,
        )
        return "".join(
            line for line in done.stderr.splitlines() if "olscale-nightly" in line
        )

    text = units(file, "systemd")
    assert verify(text) == ""
    assert "RestartForceExitStatus" in verify(
        text.replace("RestartSec=600", "RestartForceExitStatus=75")
    ) or "isn't allowed" in (
        verify(text.replace("RestartSec=600", "RestartForceExitStatus=75"))
    )
    [when] = [
        line.partition("=")[2]
        for line in text.splitlines()
        if line.startswith("OnCalendar")
    ]
    assert (
        subprocess.run(
            ["systemd-analyze", "calendar", when], capture_output=True
        ).returncode
        == 0
    )


def test_lines_of_cron_run_in_the_environment_of_cron(
    file: Path, tmp_path: Path
) -> None:
    """By /bin/sh, with no more than cron gives; a percent sign reaches the command as one."""
    odd = tmp_path / "50 % off"
    odd.mkdir()
    job = odd / "nightly.toml"
    job.write_text('home = "home"\n[[ingest]]\nsource = "none.csv"\ndest = "none"\n')
    lines = [
        line for line in units(job, "cron").splitlines() if not line.startswith("#")
    ]
    assert len(lines) == 2
    command = lines[0].split(" ", 5)[5].replace("\\%", "%")
    environment = {
        "PATH": "/usr/bin:/bin",
        "SHELL": "/bin/sh",
        "HOME": str(tmp_path),
        "LOGNAME": "nobody",
    }
    # of an installation
    environment |= {
        "PYTHONPATH": os.environ.get("PYTHONPATH", str(Path(__file__).parents[2]))
    }
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert "none.csv" in (odd / "home.log").read_text()


def test_a_cron_job_of_kubernetes_and_a_script_of_slurm_are_well_formed(
    file: Path, tmp_path: Path
) -> None:
    job = yaml.safe_load(units(file, "kubernetes"))
    assert (job["spec"]["schedule"], job["spec"]["timeZone"]) == (
        "0 2 * * *",
        "Etc/UTC",
    )
    [container] = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["olscale", "jobs", "run", f"/job/{file.name}"]
    # A pod has no folder of the machine that printed its unit.
    for folder in (str(tmp_path), sys.prefix):
        assert folder not in units(file, "kubernetes")
    (tmp_path / "slurm.sh").write_text(units(file, "slurm"))
    assert subprocess.run(["bash", "-n", str(tmp_path / "slurm.sh")]).returncode == 0


@pytest.mark.parametrize("state", ["RUNNING", "COMPLETING"])
def test_the_script_of_slurm_passes_the_end_of_its_time_on_and_asks_to_be_called_again(
    file: Path, tmp_path: Path, state: str
) -> None:
    """Unless the job was cancelled."""
    text = units(file, "slurm")
    [line] = [line for line in text.splitlines() if line.endswith("&")]
    night = f"sh -c 'trap \"exit 75\" TERM; touch {tmp_path}/began; while :; do sleep 0.05; done' &"
    (tmp_path / "slurm.sh").write_text(text.replace(line, night))
    (tmp_path / "scontrol").write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/asked\n')
    (tmp_path / "squeue").write_text(f"#!/bin/sh\necho {state}\n")
    for name in ("scontrol", "squeue"):
        (tmp_path / name).chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "7",
    }
    job = subprocess.Popen(["bash", str(tmp_path / "slurm.sh")], env=environment)
    while not (tmp_path / "began").exists():
        sleep(0.01)
    job.terminate()
    assert job.wait(timeout=30) == 75
    asked = tmp_path / "asked"
    assert (asked.read_text() if asked.exists() else "") == (
        "requeue 7\n" if state == "RUNNING" else ""
    )


def test_prune_removes_folders_and_keeps_the_history(file: Path, home: JobHome) -> None:
    make_history(home, 5)
    (home.night("2026-01-02") / "tag").touch()
    (home.night("2026-01-03") / "store" / "checkpoints" / "group").mkdir(parents=True)
    would = run("jobs", "prune", file, "--dry-run")
    assert would.stdout == "would remove 0 nights\n"
    (home.night("2026-01-03") / "store" / "checkpoints" / "group").rmdir()
    assert run("jobs", "prune", file).stdout == "removed 1 nights: 2026-01-03\n"
    assert home.nights() == ["2026-01-01", "2026-01-02", "2026-01-04", "2026-01-05"]
    assert len(list(home.history.iterdir())) == 5


@pytest.mark.parametrize(
    "odd",
    [
        {"max_hours": True},
        {"keep": {"stores": True}},
        {"alarm": {"speed": {"load": True}}},
    ],
)
def test_true_is_no_number_of_hours_or_nights(odd: dict[str, Any]) -> None:
    with pytest.raises(
        ExperimentError, match="was True: expected no true or false here"
    ):
        parse_job({"name": "n", "bench": [{"names": ["linear"]}], **odd})


@pytest.mark.parametrize(("error", "lowest"), [(0.0, "0"), (0.5, "0.45")])
def test_the_drawing_of_an_error_that_stays_has_no_edge_below_zero(
    error: float, lowest: str
) -> None:
    series = NightSeries(
        "error", "pa1", "", ["1", "2"], [error] * 2, [""] * 2, [""] * 2, [False] * 2
    )
    drawing = series_drawing(judge(series, AlarmRules()))
    assert f">{lowest}<" in drawing


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        ({"bench": [{"names": ["liner"]}]}, "did you mean 'linear'"),
        (
            {"at": "25:00"},
            'at was .25:00.: expected a time of day from "00:00" to "23:59", in UTC',
        ),
        ({"name": "my job"}, "name was .my job.: expected letters, digits"),
    ],
)
def test_what_does_not_fit_is_told_in_words_before_the_night(
    odd: dict[str, Any], told: str
) -> None:
    with pytest.raises(ExperimentError, match=told):
        parse_job({"name": "nightly", "bench": [{"names": ["linear"]}]} | odd)
