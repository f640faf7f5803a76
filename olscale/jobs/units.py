"""Files for an outside scheduler, as text to be installed by hand."""

from __future__ import annotations

import re
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
        loader=loader,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
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
    # cron knows only local time; what it is now east of UTC holds until the clocks change.
    zone = (time.localtime().tm_gmtoff or 0) // 60
    local_minute = (60 * hour + minute + zone) % 1440
    facts: dict[str, Any] = {
        "name": job.name,
        "command": shlex.join(words),
        "systemd_command": " ".join(f'"{_systemd(word)}"' for word in words),
        "words": words,
        "pod_words": _pod_words(job, file, home),
        "pod_folder": _POD_FOLDER,
        # cron hands a line to /bin/sh, once it has made new lines of bare percent signs.
        "cron_command": shlex.join(words).replace("%", "\\%"),
        "log": shlex.quote(f"{home.resolve()}.log").replace("%", "\\%"),
        "folder": str(file.resolve().parent),
        "home": str(home.resolve()),
        "hour": hour,
        "minute": minute,
        "cron_hour": local_minute // 60,
        "cron_minute": local_minute % 60,
        "retry_hour": (local_minute // 60 + 1) % 24,
        "zone": time.strftime("%Z"),
        # a night first ends itself, and says so
        "seconds": round(job.max_hours * 3600) + 600,
        "at": job.at,
        # Kubernetes takes letters, digits and inner dashes.
        "kubernetes_name": re.sub(r"[\W_]", "-", f"olscale-{job.name}".lower()).strip(
            "-"
        ),
    }
    return _templates().get_template(SCHEDULERS[scheduler]).render(facts)


_POD_FOLDER = "/job"
"""Where a pod has the folder of the job file."""


def _pod_words(job: JobFile, file: Path, home: Path) -> list[str]:
    """Return the command of a pod, which has neither Python nor the folders of this machine."""
    words = ["olscale", "jobs", "run", f"{_POD_FOLDER}/{file.name}"]
    # A home of the job file is in its folder or an address that is the same everywhere.
    if str(home) != job.home:
        words += ["--home", f"{_POD_FOLDER}/{home.name}"]
    return words


def _systemd(word: str) -> str:
    return (
        word.replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("%", "%%")
        .replace("$", "$$")
    )
