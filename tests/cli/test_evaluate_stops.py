"""How ``olscale evaluate`` stops: on a signal or at its time, saved, in one line, and goes on later."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from olscale.results.opening import open_store
from tests.cli.command import run


def alive(session: int) -> list[str]:
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                state, _, _, sid = (
                    (path / "stat").read_text().rpartition(")")[2].split()[:4]
                )
            except OSError:
                continue
            if int(sid) == session and state != "Z":
                found.append(path.name)
    return found


def test_sigterm_saves_and_says_so_in_one_line(shelf: Path, tmp_path: Path) -> None:
    """Exit 143; the same command, and not from the first row, goes on."""
    args = [
        "evaluate",
        "--dataset",
        shelf / "digits",
        "--learner",
        "lol",
        "--learner",
        "pa",
        "--order",
        "time",
    ]
    args += ["--store", tmp_path / "s", "--in-process"]
    # Every chunk says when it is learned from, and takes a while the first time.
    script = (
        "import os, sys, time\n"
        "from olscale.evaluation.group_pass import GroupPass\n"
        "from olscale.__main__ import main\n"
        "advance = GroupPass.advance\n"
        "def slow(self):\n"
        "    advance(self)\n"
        "    print('chunk', self.position - 1, flush=True)\n"
        "    time.sleep(float(os.environ.get('PAUSE', 0.0)))\n"
        "GroupPass.advance = slow\n"
        "main(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", script, *map(str, args)]
    environment = os.environ | {"PAUSE": "0.5"}
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [
            "chunk 0\n",
            "chunk 1\n",
        ]
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 143
    assert said.splitlines()[-1].startswith(
        "olscale: SIGTERM: digits, time order, lol, pa"
    )
    assert "was saved at chunk 2 of 8; run the same command again to continue" in said
    again = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=120
    )
    assert again.stdout.splitlines()[0] == "chunk 2"
    assert "2 of 2 runs computed" in again.stdout


@pytest.mark.parametrize("how", ["--stop-after", "--stop-at", "OLSCALE_STOP_AT"])
def test_an_evaluation_stops_by_itself_at_its_time(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Exit 75 and one line, as from a night of jobs; the same command without the option goes on."""
    args = [
        "evaluate",
        "--dataset",
        shelf / "dense",
        "--learner",
        "pa",
        "--order",
        "time",
        "--in-process",
    ]
    args += ["--store", tmp_path / "s"]
    with monkeypatch.context() as patch:
        if how == "OLSCALE_STOP_AT":
            patch.setenv(how, "2026-01-01T00:00")
        given = {
            "--stop-after": ["--stop-after", "0s"],
            "--stop-at": ["--stop-at", "1.5"],
        }
        stopped = run(*args, *given.get(how, []))
    assert stopped.returncode == 75
    assert stopped.stderr.splitlines()[-1].startswith(
        "olscale: the time to stop has come: dense, time order, pa"
    )
    assert "1 of 1 runs computed" in run(*args).stdout


@pytest.mark.parametrize(
    ("option", "value"),
    [("--stop-after", "6"), ("--stop-at", "tomorrow"), ("--stop-at", "nan")],
)
def test_a_stop_time_that_is_none_is_bad_usage(
    tmp_path: Path, option: str, value: str
) -> None:
    done = run(
        "evaluate",
        "--dataset",
        "d",
        "--learner",
        "pa",
        "--store",
        tmp_path,
        option,
        value,
    )
    assert done.returncode == 2
    assert "expected a" in done.stderr
    assert value in done.stderr


PACED = """
import os
import time

from olscale.learners.linear.passive_aggressive import PA

FOLDER = os.path.dirname(__file__)


class Paced(PA):
    "Goes through its rows at once where it is the first to come, or may; all others take a second a chunk."
    name = "paced"

    def learn(self, X, y):
        if len(y) and not os.path.exists(f"{FOLDER}/free"):
            if self.state_["seen"][0] == 0:
                try:
                    open(f"{FOLDER}/first", "x").close()
                    self.first_ = True
                except FileExistsError:
                    self.first_ = False
            if not self.first_:
                time.sleep(1.0)
        return super().learn(X, y)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
def test_ctrl_c_ends_everything_and_a_second_run_finishes_the_rest(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 130 and one line; no worker is left, the store is whole."""
    (tmp_path / "paced.py").write_text(PACED)
    monkeypatch.syspath_prepend(str(tmp_path))
    args = [
        "evaluate",
        "--dataset",
        shelf / "dense",
        "--learner",
        "paced:Paced",
        "--permutations",
        "4",
    ]
    args += ["--workers", "2", "--store", tmp_path / "s"]
    command = [sys.executable, "-m", "olscale", *map(str, args)]
    process = subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 90
    while (
        not list((tmp_path / "s").glob("compacted/runs/*.parquet"))
        and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith(
        "olscale: interrupted: SIGINT: work in progress is saved; run the same command"
    )
    assert "Traceback" not in said
    assert "Warning" not in said
    deadline = time.monotonic() + 10
    while alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert alive(process.pid) == []
    kept = len(open_store(tmp_path / "s").read())
    assert 1 <= kept < 4
    (tmp_path / "free").touch()
    done = run(*(arg for arg in args if arg not in ("--workers", "2")), "--in-process")
    assert done.returncode == 0, done.stderr
    assert len(open_store(tmp_path / "s").read()) == 4
