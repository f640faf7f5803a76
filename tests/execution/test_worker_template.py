"""Local workers are forked from a process that has imported what they need; nobody else notices."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from olscale.execution import worker_template
from olscale.execution.cluster import connect
from olscale.execution.settings import ClusterOptions

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="forking is safe under Linux only"
)
_SERVER: Any = worker_template._server


@pytest.fixture(autouse=True)
def no_template() -> Iterator[None]:
    worker_template.end()
    yield
    worker_template.end()


def facts() -> dict[str, Any]:
    """Return what a worker is and has."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, set())
    return {
        "parent": os.getppid(),
        "drawn": float(np.random.random()),
        "path": list(sys.path),
        "blocked": signal.SIGINT in blocked,
        "environment": dict(os.environ),
    }


def template_and_workers() -> tuple[int, list[dict[str, Any]]]:
    async def ask() -> tuple[int, list[dict[str, Any]]]:
        async with connect(ClusterOptions(workers=2)) as client:
            return _SERVER._forkserver_pid, list((await client.run(facts)).values())

    return asyncio.run(ask())


def test_workers_are_forked_and_differ_from_spawned_ones_in_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("raise RuntimeError('a file of the user')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert worker_template.begin()
    began = _SERVER._forkserver_pid
    assert "PYTHONSAFEPATH" not in os.environ
    monkeypatch.setenv("SET_AFTER_IT_BEGAN", "yes")
    template, (one, other) = template_and_workers()
    assert one["parent"] == other["parent"] == template == began
    assert one["drawn"] != other["drawn"]
    for worker in (one, other):
        assert worker["blocked"]
        # Beside the driver's path, Dask puts a worker's own folder before it.
        assert [
            entry for entry in dict.fromkeys(worker["path"]) if entry in sys.path
        ] == list(dict.fromkeys(sys.path))
        environment = worker["environment"]
        assert environment["SET_AFTER_IT_BEGAN"] == "yes"
        assert environment["OMP_NUM_THREADS"] == "1"
        assert environment["PYTHONPATH"] == os.environ.get("PYTHONPATH", "")
        assert not environment["PYTHONSAFEPATH"]
    assert not psutil.pid_exists(template)


def test_a_worker_comes_again_when_it_and_the_template_were_killed() -> None:
    async def kill() -> set[int]:
        async with connect(ClusterOptions(workers=1)) as client:
            (worker,) = (await client.run(os.getpid)).values()
            template = _SERVER._forkserver_pid
            os.kill(template, signal.SIGKILL)
            os.kill(worker, signal.SIGKILL)
            async with asyncio.timeout(120):
                while (
                    found := set(
                        (await client.run(os.getpid, on_error="ignore")).values()
                    )
                    - {worker}
                ) == set():
                    await asyncio.sleep(0.1)
            return found

    assert len(asyncio.run(kill())) == 1


def test_the_template_stays_until_the_last_cluster_has_ended() -> None:
    with worker_template.kept() as first:
        pid = _SERVER._forkserver_pid
        with worker_template.kept() as second:
            assert first
            assert second
        assert _SERVER._forkserver_pid == pid
        assert psutil.pid_exists(pid)
    assert not psutil.pid_exists(pid)


def test_a_fork_server_of_the_user_is_left_alone() -> None:
    _SERVER.ensure_running()
    theirs = _SERVER._forkserver_pid
    try:
        assert not worker_template.begin()
        _, workers = template_and_workers()
        assert {worker["parent"] for worker in workers} == {os.getpid()}
        assert _SERVER._forkserver_pid == theirs
        assert psutil.pid_exists(theirs)
    finally:
        _SERVER._stop()


def test_a_template_that_cannot_import_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ends.py").write_text("import os\nos._exit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(worker_template, "_IMPORTS", "ends")
    _, workers = template_and_workers()
    # Spawned, or forked by a server that multiprocessing starts anew where the template ends while
    # one is asked for.
    assert len(workers) == 2


def test_the_template_has_no_threads_of_python() -> None:
    async def ask() -> int:
        async with connect(ClusterOptions(workers=1)):
            names = [
                Path(f"/proc/{_SERVER._forkserver_pid}/task/{task.id}/comm")
                .read_text()
                .strip()
                for task in psutil.Process(_SERVER._forkserver_pid).threads()
            ]
            # The allocator that pyarrow brings looks after its thread in a fork.
            return len([name for name in names if not name.startswith("jemalloc")])

    assert asyncio.run(ask()) == 1


def test_what_ended_workers_leave_is_cleaned_up_without_a_warning() -> None:
    code = (
        "from olscale.execution.worker_template import begin, end; begin(); from "
        "multiprocessing import resource_tracker;"
    )
    code += "print(open(f'/proc/{resource_tracker._resource_tracker._pid}/cmdline').read()); end()"
    said = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert "-Wignore:resource_tracker:UserWarning" in said.split("\0")


_BEGIN = """
from olscale.execution import worker_template
from multiprocessing import util
if {early}: util.get_temp_dir()
print(worker_template.begin(), len(util.get_temp_dir()))
worker_template.end()
"""


@pytest.mark.parametrize("early", [False, True])
def test_a_long_name_of_the_folder_for_temporary_files_is_no_fault(
    tmp_path: Path, early: bool
) -> None:
    """The name of a socket has 107 bytes at most; where the folder is made before, workers are spawned."""
    long = tmp_path / ("x" * 100)
    long.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _BEGIN.format(early=early)],
        env=os.environ | {"TMPDIR": str(long)},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    begun, length = done.stdout.split()
    assert begun == str(not early)
    assert early or int(length) < 30
    assert not list(long.iterdir())
