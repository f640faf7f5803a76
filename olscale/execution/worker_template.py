"""The template of local workers: a process that imports what they need, and is forked into them.

It imports in parallel with the driver. This module imports little, so that the template can start
before the driver has imported anything.
"""

import atexit
import os
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import current_process, forkserver, resource_tracker, util
from pathlib import Path
from typing import Any

from olscale.errors import ExecutionError

BEFORE_IMPORTS = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"),
    "1",
)
"""As ``pre-spawn-environ`` in dask.yaml and by Dask: read when a process starts, or imports."""
BEFORE_IMPORTS["MALLOC_TRIM_THRESHOLD_"] = "65536"

_IMPORTS = "olscale.execution.worker_imports"
FOLDER = "OLSCALE_TEMPLATE_FOLDER"
"""Variable with the folder of the template's socket, for removal if the driver is killed."""
_LONGEST_FOLDER = 107 - len("/listener-12345678")
"""Longest name of a folder for a socket, whose own name has 107 bytes at most."""
# one per process; multiprocessing starts all through it
_server: Any = forkserver._forkserver
_template_pid: int | None = None
_clusters = 0


def check_children() -> None:
    """Refuse to start workers where Python forbids it: Dask would retry without saying why.

    Raises
    ------
    ExecutionError
        If this is a daemon process; says what to do instead.
    """
    process = current_process()
    if process.daemon:
        raise ExecutionError(
            f"workers cannot be started in {process.name}, a daemon process (a Dask worker, or "
            "one of "
            "multiprocessing.Pool), which Python allows no children; evaluate there with "
            "in_process=True, or give the scheduler of a cluster that runs"
        )


# Without it each local worker imports for itself what all of them need, after the driver has done
# so.
def begin() -> bool:
    """Start to import, unless started; return whether workers can be forked from the template.

    They cannot where forking is unsafe, such as under macOS, where the process has another fork
    server, or where no folder has a name that is short enough for a socket.
    """
    global _template_pid
    if not sys.platform.startswith("linux") or _server._forkserver_pid not in (
        None,
        _template_pid,
    ):
        return False
    if not _socket_folder_is_short():
        return False
    if _template_pid is None:
        atexit.register(end)
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    with quiet_tracker():
        # Otherwise it would be started first, and let Ctrl-C reach this thread again.
        resource_tracker.ensure_running()
    # Python 3.11 leaves out the driver's path, and puts the working directory before everything
    # else.
    changes = {
        **before_imports(),
        "PYTHONPATH": path,
        "PYTHONSAFEPATH": "1",
        FOLDER: util.get_temp_dir(),
    }
    with environment_kept(changes), _deaf():
        os.environ.update(changes)
        forkserver.set_forkserver_preload([_IMPORTS])
        forkserver.ensure_running()
    _template_pid = _server._forkserver_pid
    return True


def _socket_folder_is_short() -> bool:
    """Return whether the folder of multiprocessing's sockets has a short enough name.

    It is created in the folder for temporary files, or in ``/tmp`` if that has a long name.
    """
    if len(tempfile.gettempdir()) <= _LONGEST_FOLDER - len("/pymp-12345678"):
        return True
    before = tempfile.tempdir
    tempfile.tempdir = "/tmp"  # mkdtemp makes a private folder there
    try:
        return len(util.get_temp_dir()) <= _LONGEST_FOLDER  # it may exist already
    except OSError:
        return False
    finally:
        tempfile.tempdir = before


def before_imports() -> dict[str, str]:
    """Return `BEFORE_IMPORTS` as in the template: the user's settings take precedence."""
    return {name: os.environ.get(name, value) for name, value in BEFORE_IMPORTS.items()}


def worker_environment() -> dict[str, str]:
    """Return the environment for forked workers: the driver's current one."""
    return {"PYTHONPATH": "", "PYTHONSAFEPATH": "", **os.environ, **before_imports()}


@contextmanager
def kept() -> Iterator[bool]:
    """Keep the template for a cluster in the block; yield whether there is one.

    The last cluster ends it.
    """
    global _clusters
    _clusters += 1
    try:
        yield begin()
    finally:
        _clusters -= 1
        if not _clusters:
            end()


def end() -> None:
    """End the template, if there is one; the driver's workers have ended by then."""
    global _template_pid
    if _template_pid is not None and _server._forkserver_pid == _template_pid:
        with suppress(ProcessLookupError):
            # otherwise it would finish its imports
            os.kill(_template_pid, signal.SIGKILL)
        with suppress(OSError):
            _server._stop()
    _template_pid = None


@contextmanager
def quiet_tracker() -> Iterator[None]:
    """Silence multiprocessing's resource tracker if it is started within the block.

    A worker that is ended in the middle of a run leaves semaphores to it. It cleans them up, as it
    should, and would say so after the last line of every interrupted evaluation.
    """
    quiet = "ignore:resource_tracker:UserWarning"
    sys.warnoptions.append(quiet)
    try:
        yield
    finally:
        sys.warnoptions.remove(quiet)


@contextmanager
def environment_kept(names: Iterable[str]) -> Iterator[None]:
    """Restore variables of the environment at the end of the block."""
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _deaf() -> Iterator[None]:
    """Shield processes started within the block from Ctrl-C: the driver ends its workers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
