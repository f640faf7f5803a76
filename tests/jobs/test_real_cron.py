"""The lines of `olscale jobs units --for cron`, given to the real cron."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic, sleep

import pytest

from olscale.jobs.home import JobHome, night_rows
from olscale.jobs.job_file import JobFile
from tests.cli.command import run

_PRIVATE = (
    "mount -t tmpfs none /etc/cron.d && mount -t tmpfs none /run && mount -t tmpfs none "
    "/var/spool/cron"
)


def _can_hide_mounts() -> bool:
    command = ["unshare", "--mount", "sh", "-c", _PRIVATE]
    return (
        shutil.which("unshare") is not None
        and subprocess.run(command, capture_output=True).returncode == 0
    )


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cron") is None, reason="cron is not there")
def test_cron_runs_a_night(make_job: Callable[..., JobFile], tmp_path: Path) -> None:
    """Cron sees a folder of tables of its own, in a mount namespace; what it gives a job is its own, too."""
    if not _can_hide_mounts():
        pytest.skip("unshare --mount is not allowed here")
    make_job()
    due = datetime.now(UTC) + timedelta(seconds=75)
    experiment = (
        '[[evaluate]]\nexperiment = "experiment.toml"\nwhere = { in_process = true }\n'
    )
    file = tmp_path / "by cron.toml"
    file.write_text(f'name = "cron"\nat = "{due:%H:%M}"\n{experiment}')
    lines = [
        line
        for line in run("jobs", "units", file, "--for", "cron").stdout.splitlines()
        if line[:1].isdigit()
    ]
    table = tmp_path / "table"
    # of an installation
    source = os.environ.get("PYTHONPATH", str(Path(__file__).parents[2]))
    users = [line.split(" ", 5) for line in lines]
    table.write_text(
        f"PYTHONPATH={source}\n"
        + "".join(f"{' '.join(u[:5])} root {u[5]}\n" for u in users)
    )
    cron = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        f"{_PRIVATE} && cp {shlex.quote(str(table))} /etc/cron.d/olscale && exec cron -f",
    ]
    process = subprocess.Popen(cron)
    end = monotonic() + 240
    home = JobHome(tmp_path / "cron-nights")
    try:
        while not night_rows(home) and monotonic() < end:
            sleep(0.5)
    finally:
        process.terminate()
        process.wait(timeout=30)
    log = tmp_path / "cron-nights.log"
    [night] = night_rows(home)
    assert (night["state"], night["failures"]) == ("good", []), log.read_text()
    assert (
        datetime.fromisoformat(str(night["began"])).strftime("%H:%M") == f"{due:%H:%M}"
    )
