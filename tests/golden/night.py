"""Nights of a job: their history and their page, without what a clock or a machine says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from olscale.data.generators import generate
from olscale.jobs.home import TIMES, JobHome, history_nights, read_history, write_night
from olscale.jobs.job_file import parse_job
from olscale.jobs.night import run_night
from olscale.jobs.page import write_page
from tests.golden.evaluated import Digests, digest_of

EXPERIMENT = """
name = "small"
[protocol]
permutations = 2
[[datasets]]
path = "xor"
[[datasets]]
path = "made/rows"
[[learners]]
name = "pa1"
params = { C = [0.5, 1.0] }
[[learners]]
name = "perceptron"
"""
OF_THE_DAY = {
    **dict.fromkeys(TIMES),
    "began": datetime(2026, 1, 1, tzinfo=UTC),
    "code": "code",
    "job": "job",
    "load": 0.0,
    "machine": "machine",
    "made_by": {},
}
"""What replaces the columns that differ from one day, folder or machine to the next."""


def night(folder: Path) -> Digests:
    """A night with an ingest, and the page of it and of copies with other errors."""
    generate("rotating-xor", str(folder / "xor"), rows=400)
    (folder / "rows.csv").write_text("x,y\n" + "1,0\n2,1\n" * 20)
    (folder / "experiment.toml").write_text(EXPERIMENT)
    source = {"source": "rows.csv", "dest": "made/rows", "options": {"label": "y"}}
    step = {"experiment": "experiment.toml", "where": {"in_process": True}, "repeat": 2}
    job = parse_job(
        {"name": "small", "ingest": [source], "evaluate": [step]}, folder=folder
    )
    home = JobHome(folder / "home")
    end = run_night(job, home, "2026-01-01")
    rows = [row | OF_THE_DAY for row in read_history(home).to_pylist()]
    digests = {
        "state": end.state,
        "history": digest_of(json.dumps(rows, sort_keys=True, default=str).encode()),
    }
    for day in range(1, 15):
        _write_copy(home, rows, f"2026-01-{day:02d}", error=0.3 if day < 8 else 0.2)
    assert len(history_nights(home)) == 14
    page = write_page(job, home, folder / "page").read_text()
    return digests | {"page": digest_of(page.replace(str(folder), "").encode())}


def _write_copy(
    home: JobHome, rows: list[dict[str, Any]], name: str, error: float
) -> None:
    """Write the history of another night with the same rows, but for the error of the settings."""
    copies = [row | {"night": name} for row in rows]
    for row in copies:
        if row["kind"] == "night":
            row |= {"seconds": 60.0, "calls": 1}
        if row["error"] is not None:
            row["error"] = error
    write_night(home, name, copies)
