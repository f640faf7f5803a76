"""Results that are other bytes than before are named, with what differs; results that may differ are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from olscale.data.dataset import open_dataset
from olscale.data.generators import generate
from olscale.jobs import night as night_module
from olscale.jobs.home import JobHome, night_rows, read_history
from olscale.jobs.job_file import AlarmRules, JobFile
from olscale.jobs.made_by import made_by
from olscale.jobs.night import run_night
from olscale.learners.contract import version as versions
from tests.jobs.one_ulp import OneUlp

MakeJob = Callable[..., JobFile]


@pytest.fixture
def job(make_job: MakeJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobFile:
    """A job with the learner of one ulp, whose edge is a value of the first feature."""
    made = make_job("tests.jobs.one_ulp:OneUlp")
    first = next(iter(open_dataset(tmp_path / "xor").chunks("train"))).X[:, 0]
    monkeypatch.setattr(OneUlp, "edge", float(np.sort(first)[len(first) // 2]))
    return made


def move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OneUlp, "edge", float(np.nextafter(OneUlp.edge, -np.inf)))


def test_one_ulp_raises_an_alarm_that_names_those_runs_and_no_other(
    job: JobFile, home: JobHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the first night, both environments and the first difference; the bytes of before end it."""
    for night in ("1", "2"):
        assert run_night(job, home, night).state == "good"
    edge = OneUlp.edge
    move(monkeypatch)
    monkeypatch.setattr(
        night_module, "made_by", lambda: made_by() | {"numpy": "9.9", "code": "other"}
    )
    end = run_night(job, home, "3")
    assert end.state == "alarm"
    [line] = end.lines
    ids = read_history(home, ["learner", "ids"], ["results"], ["3"]).to_pylist()
    mine = {id for row in ids if row["learner"].endswith("OneUlp") for id in row["ids"]}
    others = {id for row in ids for id in row["ids"]} - mine
    assert len(mine) == 2
    assert all(id in line for id in mine)
    assert not any(id in line for id in others)
    assert "2 of 2 runs" in line
    assert "other bytes than on 1" in line
    assert "numpy " in line
    assert "-> 9.9" in line
    assert "-> other" in line
    assert "first difference" in line
    monkeypatch.setattr(OneUlp, "edge", edge)
    assert run_night(job, home, "4").state == "good"
    move(monkeypatch)
    since = job.model_copy(update={"alarm": AlarmRules(since="5")})
    assert run_night(since, home, "5").state == "good"
    assert [row["state"] for row in night_rows(home)] == [
        "good",
        "good",
        "alarm",
        "good",
        "good",
    ]


def test_a_raised_version_raises_no_alarm(
    job: JobFile, home: JobHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_night(job, home, "1").state == "good"
    move(monkeypatch)
    known = versions._package_version
    monkeypatch.setattr(
        versions,
        "_package_version",
        lambda home: "2" if home == OneUlp.__module__ else known(home),
    )
    assert run_night(job, home, "2").state == "good"


def test_other_rows_raise_no_alarm(job: JobFile, home: JobHome, tmp_path: Path) -> None:
    """They are a mark in the series."""
    import shutil

    assert run_night(job, home, "1").state == "good"
    shutil.rmtree(tmp_path / "xor")
    generate("rotating-xor", tmp_path / "xor", rows=500)
    assert run_night(job, home, "2").state == "good"
    prints = [
        set(
            read_history(home, ["fingerprint"], ["results"], [n])[
                "fingerprint"
            ].to_pylist()
        )
        for n in ("1", "2")
    ]
    assert prints[0] != prints[1]
