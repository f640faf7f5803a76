"""The process beside a worker: it ends one that does not let go of Python's lock, and all that a learner started there."""

from __future__ import annotations

import json
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olscale.execution import watchdog_process
from olscale.execution.watchdog import _WRITER
from olscale.execution.watchdog_process import BEATS, SLOT, WORDS_SIZE
from olscale.results.opening import open_store

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="reads /proc"
)

WORKER = """
import ctypes
import os
import subprocess
import sys

from olscale.evaluation.budget import Budget, Meter, Spent
from olscale.execution.watchdog import GroupWatch, Watchdog
from olscale.execution.watchdog import _WRITER
from olscale.results.opening import open_store

what, store, silence = sys.argv[1], sys.argv[2], float(sys.argv[3])
dog = Watchdog(silence)
limits = Budget(max_seconds=0.1 if what == "time" else None, max_memory=200_000_000 if what == "budget" else None)


class Run:
    def __init__(self, id):
        self.run, self.spent, self.id = self, Spent(), id

    def fail(self, outcome, reason):
        print(outcome, flush=True)


watch = GroupWatch(dog, open_store(store), "checkpoints/pack", limits, 0)
with Meter(limits, watch, grace_seconds=0.1).calling([Run("before")]):
    pass
own = subprocess.Popen(["sleep", "1000"])
escaped = subprocess.run("setsid sleep 1000 >&- 2>&- & echo $!", shell=True, capture_output=True, text=True).stdout.strip()
print(os.getpid(), dog._process.pid, own.pid, escaped, flush=True)
if what == "leaves":
    sys.exit()
with Meter(limits, watch, grace_seconds=0.1).calling([Run("one"), Run("two")] if what == "time" else [Run("one")]):
    if what == "budget":
        kept = bytearray(400_000_000)
        kept[::4096] = b"x" * len(kept[::4096])
    if what == "dies":
        os._exit(7)
    ctypes.PyDLL(None).sleep(1000)  # with Python's lock
"""


def alive(process: int) -> bool:
    state = watchdog_process.status(process)
    return state is not None and state[0] not in "ZX"


def until(true: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    open_store(tmp_path / "store", create=True)
    return tmp_path / "store"


@pytest.mark.parametrize(
    ("what", "outcome"),
    [("time", "timeout"), ("budget", "oom"), ("dies", None), ("leaves", None)],
)
def test_a_worker_takes_along_what_a_learner_started(
    store: Path, what: str, outcome: str | None
) -> None:
    """Whether it is ended for its budget, dies in a learner or just ends; the verdicts name the runs of the call."""
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, what, str(store), "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    processes = [int(word) for word in worker.stdout.readline().split()]
    assert len(processes) == 4
    assert worker.wait(60) == {"leaves": 0, "dies": 7}.get(what, -signal.SIGKILL)
    assert until(lambda: not any(map(alive, processes)))
    verdicts = {
        path.name: json.loads(path.read_text())
        for path in store.glob("checkpoints/*/*.json")
    }
    runs = {"time": {"one.json", "two.json"}, "budget": {"one.json"}}.get(what, set())
    assert verdicts.keys() == runs
    assert {verdict["outcome"] for verdict in verdicts.values()} == (
        {outcome} if outcome else set()
    )
    assert not list((store / "tmp").iterdir())


@pytest.mark.parametrize("silence", [0.0, 0.5])
def test_a_worker_that_is_left_alone_is_ended(
    store: Path, silence: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By a nanny that has died, or by a scheduler that would have had it ended; its learner has Python's lock."""
    nanny = (
        "import subprocess, sys, time\n"
        "worker = subprocess.Popen([sys.executable, '-c', *sys.argv[2:]], stdout=subprocess.PIPE, "
        "text=True)\n"
        "print(worker.stdout.readline(), flush=True)\n"
        "time.sleep(float(sys.argv[1]))\n"
    )
    stays = "0" if not silence else "1000"
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            nanny,
            stays,
            WORKER,
            "nothing",
            str(store),
            str(silence),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    processes = [int(word) for word in process.stdout.readline().split()]
    assert len(processes) == 4
    assert until(lambda: not any(map(alive, processes)))
    process.kill()
    process.wait()


@pytest.mark.parametrize("local", [True, False])
def test_a_call_that_returns_while_it_is_judged_goes_on(
    tmp_path: Path, local: bool
) -> None:
    """The worker is stopped before it is judged: the number of the call must still be the same then.

    For a store that is no local directory another process writes the verdict.
    """
    worker = subprocess.Popen(["sleep", "1000"])
    about: dict[str, Any] = {
        "folder": "checkpoints/pack",
        "budget": {},
        "local": local,
        "root": str(tmp_path),
        "ends": {"time": ["timeout", "late"]},
        "writer": [sys.executable, "-c", _WRITER, json.dumps(sys.path)],
    }
    description = json.dumps(about).encode() + b'\n["a"]'
    described = WORDS_SIZE, len(description)
    open_store(tmp_path, create=True)
    infinite = float("inf")
    with tempfile.TemporaryFile() as file:
        file.truncate(WORDS_SIZE)
        os.pwrite(file.fileno(), description, WORDS_SIZE)
        words = mmap.mmap(file.fileno(), WORDS_SIZE)
        watch = watchdog_process.CallWatch(
            words, file.fileno(), worker.pid, os.getpid(), 0.0, "X=1"
        )
        try:
            SLOT.pack_into(words, BEATS.size, 3, *described, 5.0, infinite, infinite)
            assert watch.excess(4.9) is None
            assert watch.excess(5.1) == (0, 3, "time")
            SLOT.pack_into(words, BEATS.size, 5, *described, 9.0, infinite, infinite)
            assert not watch.terminate(0, 3, "time")
            assert until(lambda: (watchdog_process.status(worker.pid) or " ")[0] == "S")
            assert not list(tmp_path.rglob("a.json"))
            assert watch.terminate(0, 5, "time")
            assert (
                json.loads((tmp_path / "checkpoints/pack/a.json").read_text())[
                    "outcome"
                ]
                == "timeout"
            )
            assert (watchdog_process.status(worker.pid) or " ")[0] == "T"
        finally:
            worker.kill()
            worker.wait()


def test_a_watchdog_process_that_was_killed_is_replaced(store: Path) -> None:
    """And reads the runs of calls that the worker had described before."""
    script = WORKER.partition("own =")[0] + (
        "import signal, time\n"
        "watch.enter([Run('one')], 1000.0, float('inf'))\n"
        "watch.leave()\n"
        "os.kill(dog._process.pid, signal.SIGKILL)\n"
        "time.sleep(0.2)\n"
        "dog.beat()\n"
        "with Meter(limits, watch, grace_seconds=0.1).calling([Run('one')]):\n"
        "    ctypes.PyDLL(None).sleep(1000)\n"
    )
    worker = subprocess.run(
        [sys.executable, "-c", script, "time", str(store), "0"], timeout=60
    )
    assert worker.returncode == -signal.SIGKILL
    assert [path.name for path in store.glob("checkpoints/*/*.json")] == ["one.json"]


def test_a_call_of_many_runs_is_described_after_one_of_few(store: Path) -> None:
    """In a part of the file of its own: calls of other groups keep theirs."""
    script = WORKER.partition("own =")[0] + (
        "other = GroupWatch(dog, open_store(store), 'checkpoints/other', limits, 0)\n"
        "with Meter(limits, other, grace_seconds=0.1).calling([Run('few')]):\n"
        "    pass\n"
        "many = [Run(f'run-{number}') for number in range(300)]\n"
        "with Meter(limits, watch, grace_seconds=0.1).calling(many):\n"
        "    pass\n"
        "with Meter(limits, other, grace_seconds=0.1).calling([Run('few')]):\n"
        "    pass\n"
        "watch.enter(many, 0.1, float('inf'))\n"
        "ctypes.PyDLL(None).sleep(1000)\n"
    )
    worker = subprocess.run(
        [sys.executable, "-c", script, "time", str(store), "0"], timeout=60
    )
    assert worker.returncode == -signal.SIGKILL
    names = {path.stem for path in store.glob("checkpoints/*/*.json")}
    assert names == {f"run-{number}" for number in range(300)}
