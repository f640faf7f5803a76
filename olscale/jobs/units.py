"""Files for an outside scheduler, as text to be installed by hand."""

from __future__ import annotations

import shlex
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from olscale.jobs.job_file import JobFile

SCHEDULERS = {
    "systemd": "systemd.txt",
    "cron": "cron.txt",
    "slurm": "slurm.sh",
    "kubernetes": "kubernetes.yaml",
}


@cache
def _templates() -> Environment:
    loader = FileSystemLoader(Path(__file__).parent / "templates")
    return Environment(
        loader=loader, undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True
    )


def unit_text(job: JobFile, file: Path, home: Path, scheduler: str) -> str:
    """Return the text for one of `SCHEDULERS`.

    Parameters
    ----------
    job : JobFile
    file : Path
        Of the job.
    home : Path
    scheduler : str
        A key of `SCHEDULERS`.
    """
    words = [sys.executable, "-m", "olscale", "jobs", "run", str(file.resolve())]
    if str(home) != job.home:
        words += ["--home", str(home.resolve())]
    hour, minute = map(int, job.at.split(":"))
    zone = (
        -(time.altzone if time.localtime().tm_isdst else time.timezone) // 60
    )  # minutes east of UTC, now
    here = (60 * hour + minute + zone) % 1440
    facts: dict[str, Any] = {
        "name": job.name,
        "command": shlex.join(words),
        "systemd_command": " ".join(f'"{_systemd(word)}"' for word in words),
        "words": words,
        # cron hands a line to /bin/sh, once it has made new lines of bare percent signs.
        "cron_command": shlex.join(words).replace("%", "\\%"),
        "log": shlex.quote(f"{home.resolve()}.log").replace("%", "\\%"),
        "folder": str(file.resolve().parent),
        "home": str(home.resolve()),
        "hour": hour,
        "minute": minute,
        "cron_hour": here // 60,
        "cron_minute": here % 60,
        "retry_hour": (here // 60 + 1) % 24,
        "zone": time.strftime("%Z"),
        "seconds": round(job.max_hours * 3600) + 600,
        "at": job.at,
        "kubernetes_name": "".join(
            char if char.isalnum() else "-" for char in f"olscale-{job.name}".lower()
        ).strip("-"),
    }
    return _templates().get_template(SCHEDULERS[scheduler]).render(facts)


def _systemd(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
