"""Compile a function once on a machine: of processes that need it at once, the others wait.

A process locks a file next to the function's machine code, looks once more for that code, and only
then compiles. Processes that find the file locked look every moment until the code is there, and
load it. The system unlocks the files of a process that ends, however it ends.

A process locks one file at a time: what a function calls is compiled under the lock of the caller.
So a waiting process has locked nothing that another waits for. Where files cannot be locked, each
process compiles for itself.
"""

import fcntl
import os
from collections.abc import Callable
from time import monotonic, sleep
from typing import IO, Any

from numba.core.compiler_lock import global_compiler_lock

from olscale.compiled.machine_code import tell_it_is_made
from olscale.system.regular_file import open_regular

PATIENCE = 180.0
"""Seconds that a process waits in vain at most, for one that is stopped or cannot keep its code."""

_MOMENT = 0.05

_depth = 0
_file: IO[bytes] | None = None
_seconds_in_vain = 0.0


def compile_once(compile_now: Callable[[Any], Any], signature: Any) -> Any:
    """Compile a function by numba's `compile_now`; unlock what `code_or_lock` locks meanwhile."""
    global _depth
    # numba, which takes this lock as well, lets one thread at a time compile or load
    with global_compiler_lock:
        _depth += 1
        try:
            return compile_now(signature)
        finally:
            _depth -= 1
            if not _depth:
                _unlock()


def code_or_lock(path: str, load: Callable[[], Any]) -> Any:
    """Return code that another process has just made; None if this one is to compile it.

    Parameters
    ----------
    path : str
        The file to lock.
    load : callable
        Returns what the cache has of the code, or None.
    """
    global _file
    if _depth != 1:
        return None
    try:
        _file = open_regular(path, "ab")
        code = _wait(_file, load)
    except OSError:  # a folder that is only read, or a file system without locks
        return None
    if code is not None:
        _unlock()
    return code


def _wait(file: IO[bytes], load: Callable[[], Any]) -> Any:
    """Lock a file and return None, or return the code as soon as it is there."""
    global _seconds_in_vain
    start = monotonic()
    code = None
    is_told = False
    while code is None and not _lock(file):
        waited = monotonic() - start
        if _seconds_in_vain + waited > PATIENCE:
            break
        if not is_told:
            tell_it_is_made()
            is_told = True
        sleep(_MOMENT)
        code = load()
    if code is None:
        code = load()
    if code is None:
        _seconds_in_vain += monotonic() - start
    return code


def _lock(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unlock() -> None:
    global _file
    if _file is not None:
        _file.close()
        _file = None


# a forked process would keep the file locked when this one has unlocked it
os.register_at_fork(after_in_child=_unlock)
