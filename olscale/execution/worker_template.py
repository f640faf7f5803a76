"""The template of local workers: a process that imports what they need, once and beside the driver, and is forked into them.

This module imports little, so that the template can begin before the driver has imported anything.
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
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
"""What dask.yaml has as ``pre-spawn-environ``, and Dask itself: it counts when a process starts, or imports."""
BEFORE_IMPORTS["MALLOC_TRIM_THRESHOLD_"] = "65536"

_IMPORTS = "olscale.execution.worker_imports"
FOLDER = "OLSCALE_TEMPLATE_FOLDER"
"""Variable by which the template is told of the folder of its socket, which it removes if the driver is killed."""
_LONGEST_FOLDER = 107 - len("/listener-12345678")
"""The longest name of a folder in which a socket can be made: its own has 107 bytes at most."""
_server: Any = forkserver._forkserver  # one a process, by which multiprocessing starts all
_ours: int | None = None
_clusters = 0


def check_children() -> None:
    """Refuse to start workers where Python allows none: Dask would try again and again, without saying why.

    Raises
    ------
    ExecutionError
        If this is a daemon process, with what to do instead.
    """
    process = current_process()
    if process.daemon:
        raise ExecutionError(
            f"workers cannot be started in {process.name}, a daemon process (a Dask worker, or "
            "one of "
            "multiprocessing.Pool), which Python allows no children; evaluate there with "
            "in_process=True, or give the scheduler of a cluster that runs"
        )


def begin() -> bool:
    """Begin to import, unless it has begun; return whether workers can be forked from the template.

    They cannot where forking is unsafe, such as under macOS, where the process has a fork server
    of somebody else's, or where no folder has a name that is short enough for a socket.
    """
    global _ours
    if not sys.platform.startswith("linux") or _server._forkserver_pid not in (None, _ours):
        return False
    if not _socket_folder_is_short():
        return False
    if _ours is None:
        atexit.register(end)
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    with quiet_tracker():
        # Or it would be started first, and have Ctrl-C reach this thread again.
        resource_tracker.ensure_running()
    # Python 3.11 leaves the driver's path out, and puts the folder it is started in before
    # everything else.
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
    _ours = _server._forkserver_pid
    return True


def _socket_folder_is_short() -> bool:
    """Return whether the folder of multiprocessing's sockets has a short enough name.

    It is made in the folder for temporary files, or where that has a long name, in ``/tmp``.
    """
    if len(tempfile.gettempdir()) <= _LONGEST_FOLDER - len("/pymp-12345678"):
        return True
    before = tempfile.tempdir
    tempfile.tempdir = "/tmp"  # mkdtemp makes a private folder there
    try:
        return len(util.get_temp_dir()) <= _LONGEST_FOLDER  # it may have been made before
    except OSError:
        return False
    finally:
        tempfile.tempdir = before


def before_imports() -> dict[str, str]:
    """Return `BEFORE_IMPORTS` as the template has it: what the user has set wins."""
    return {name: os.environ.get(name, value) for name, value in BEFORE_IMPORTS.items()}


def worker_environment() -> dict[str, str]:
    """Return what the environment of forked workers is to be: the driver's as it is now."""
    return {"PYTHONPATH": "", "PYTHONSAFEPATH": "", **os.environ, **before_imports()}


@contextmanager
def kept() -> Iterator[bool]:
    """Keep the template for a cluster within the block, and yield whether there is one; the last cluster ends it."""
    global _clusters
    _clusters += 1
    try:
        yield begin()
    finally:
        _clusters -= 1
        if not _clusters:
            end()


def end() -> None:
    """End the template, if there is one; for the driver its workers have ended then."""
    global _ours
    if _ours is not None and _server._forkserver_pid == _ours:
        with suppress(ProcessLookupError):
            os.kill(_ours, signal.SIGKILL)  # asked to stop, it would finish its imports first
        with suppress(OSError):
            _server._stop()
    _ours = None


@contextmanager
def quiet_tracker() -> Iterator[None]:
    """Have multiprocessing's resource tracker, where it is started within the block, print no warnings.

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
    """Put variables of the environment back at the end of the block."""
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
    """Have Ctrl-C not reach what is started within the block: the driver ends its workers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
