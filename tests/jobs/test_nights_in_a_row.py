"""Nights in a row: what is said of them, and when, is what happened."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from olscale.bench.base import Figure
from olscale.data.dataset import open_dataset
from olscale.data.generators import generate
from olscale.jobs.home import JobHome, night_rows
from olscale.jobs.job_file import JobFile
from olscale.jobs.night import run_night
from olscale.jobs.series import judge, read_series
from tests.jobs.one_ulp import OneUlp


def test_a_wrong_bit_other_rows_and_a_slow_kernel_are_each_told_of_once(
    make_job: Callable[..., JobFile],
    home: JobHome,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Night 5 has a wrong bit, night 7 other rows, nights 10 to 12 a kernel that is 15 % slower."""
    said = tmp_path / "said"
    code = f"import sys; open({str(said)!r}, 'a').write(sys.stdin.read() + chr(10))"
    job = make_job(
        "tests.jobs.one_ulp:OneUlp",
        bench=[{"names": ["linear"]}],
        notify=[{"command": [sys.executable, "-S", "-c", code]}],
    )
    first = next(iter(open_dataset(tmp_path / "xor").chunks("train"))).X[:, 0]
    edge = float(np.sort(first)[len(first) // 2])
    rng = np.random.default_rng(0)
    monkeypatch.setattr("olscale.jobs.night.load_of_a_core", lambda: 0.0)
    for number in range(1, 16):
        speed = rng.normal(0.95, 0.01) * (0.85 if 10 <= number <= 12 else 1.0)
        figure = Figure("pa1", 3.9, "M rows/s", speed, "bare loop")
        monkeypatch.setattr(
            "olscale.jobs.steps.run_benchmarks",
            lambda *_, figure=figure: {"linear": [figure]},
        )
        monkeypatch.setattr(
            OneUlp, "edge", float(np.nextafter(edge, -np.inf)) if number == 5 else edge
        )
        if number == 7:
            shutil.rmtree(tmp_path / "xor")
            generate("rotating-xor", tmp_path / "xor", rows=400, seed=1)
        run_night(job, home, f"{number:02}")
    states = [row["state"] for row in night_rows(home)]
    assert [f"{i + 1:02}" for i, state in enumerate(states) if state == "alarm"] == [
        "05",
        "12",
        "13",
        "14",
    ]
    assert states.count("good") == 11
    messages = [json.loads(line) for line in said.read_text().splitlines()]
    assert [(message["night"], message["event"]) for message in messages] == [
        ("05", "alarm"),
        ("06", "recovered"),
        ("12", "alarm"),
        ("15", "recovered"),
    ]
    assert "OneUlp" in messages[0]["text"]
    assert "linear: pa1 to bare loop" in messages[2]["text"]
    assert "slower since 10" in messages[2]["text"]
    [ratio] = read_series(home, job.alarm.speed, "ratio")
    assert judge(ratio, job.alarm).begins == ("10", "13")
    errors = read_series(home, job.alarm.speed, "error")
    assert all(("07", "data") in series.marks() for series in errors)
