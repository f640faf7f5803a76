"""Commands collect no garbage while they import, and do from where their work begins."""

import subprocess
import sys
from pathlib import Path

from olscale.bench.store import fill_loose
from olscale.results.run_files import WORTHWHILE

_CODE = """
import atexit, gc, io
usual, registered = gc.get_threshold(), []
atexit.register = registered.append
from olscale.cli.command import put_off
put_off()
put_off()
assert gc.get_threshold()[0] > 100 * usual[0], gc.get_threshold()
assert len(registered) == 1, registered
from olscale.cli.{module} import {name} as begin
with begin({argument}):
    assert gc.get_threshold() == usual, gc.get_threshold()
    assert gc.get_freeze_count() > 10_000
    before = gc.get_freeze_count()
    with begin({argument}):
        assert gc.get_freeze_count() == before
"""


def _run(module: str, name: str, argument: str) -> None:
    code = _CODE.format(module=module, name=name, argument=argument)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert not done.returncode, done.stderr


def test_what_shows_progress_collects_as_usual() -> None:
    _run("progress", "progress_for", "io.StringIO()")


def test_what_shows_a_meter_collects_as_usual() -> None:
    _run("meter", "meter", "'reading'")


def test_no_end_of_a_command_tells_of_leaks(tmp_path: Path) -> None:
    fill_loose(tmp_path / "store", WORTHWHILE)  # so many files are read together
    for word in ("results", "status"):
        command = [sys.executable, "-m", "olscale", word, str(tmp_path / "store")]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, check=False
        )
        assert not done.returncode, done.stderr
        assert not done.stderr
