"""A function is compiled once by processes that need it at the same time, and none waits for ever."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from olscale.compiled import compile_once as module
from olscale.compiled.compile_once import code_or_lock, compile_once
from olscale.compiled.machine_code import heard_when_made

LOOPS = """
from olscale.compiled.decorator import compiled

@compiled
def inner(x):
    return 2.0 * x

@compiled
def outer(x):
    return inner(x) + inner(1.0)
"""

CALL = """
import sys
import loops
print("ready", flush=True)
sys.stdin.readline()
for name in sys.argv[1:]:
    print(getattr(loops, name)(20.0))
print(sum(loops.outer.stats.cache_misses.values()))
"""


@pytest.fixture(autouse=True)
def is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_seconds_in_vain", 0.0)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "loop.lock")


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Lock a file as another process would: by a description of its own."""
    with Path(path).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def is_free(path: str) -> bool:
    try:
        with locked(path):
            return True
    except BlockingIOError:
        return False


def compile_with(path: str, load: Callable[[], Any]) -> Any:
    return compile_once(lambda signature: code_or_lock(path, load), "signature")


def nothing() -> None:
    return None


@pytest.mark.long
def test_processes_that_start_together_compile_once(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(LOOPS)
    orders = [("outer", "inner"), ("inner", "outer"), ("outer", "inner")]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CALL, *names],
            cwd=tmp_path,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for names in orders
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    results = {"outer": "42.0", "inner": "40.0"}
    compiled = 0
    for process, names in zip(processes, orders, strict=True):
        *values, misses = process.communicate(timeout=60)[0].split()
        assert values == [results[name] for name in names]
        compiled += int(misses)
    assert compiled == 1


def test_who_waits_says_so_once_and_takes_the_code_as_soon_as_it_is_there(
    path: str,
) -> None:
    cache = iter([None, None, "code"])
    heard = []
    with locked(path), heard_when_made(lambda: heard.append("made")):
        assert compile_with(path, lambda: next(cache)) == "code"
    assert heard == ["made"]


def test_who_compiles_has_locked_the_file_until_it_has_ended(path: str) -> None:
    def compile_now(signature: Any) -> None:
        assert code_or_lock(path, nothing) is None
        assert not is_free(path)
        raise TypeError("cannot be compiled")

    with pytest.raises(TypeError, match="cannot be compiled"):
        compile_once(compile_now, "signature")
    assert is_free(path)


def test_code_made_just_before_the_lock_is_taken_and_unlocked_at_once(
    path: str,
) -> None:
    def compile_now(signature: Any) -> Any:
        code = code_or_lock(path, lambda: "code")
        assert is_free(path)
        return code

    assert compile_once(compile_now, "signature") == "code"


def test_what_a_function_calls_waits_for_nobody(path: str) -> None:
    def compile_inner(signature: Any) -> None:
        start = monotonic()
        with locked(f"{path}.inner"):
            assert code_or_lock(f"{path}.inner", nothing) is None
        assert monotonic() - start < module._MOMENT

    def compile_outer(signature: Any) -> None:
        assert code_or_lock(path, nothing) is None
        compile_once(compile_inner, "signature")
        assert not is_free(path)

    compile_once(compile_outer, "signature")
    assert is_free(path)


def test_a_stopped_process_is_waited_for_once(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.12)
    looks = []
    with locked(path):
        for _ in range(3):
            assert compile_with(path, lambda: looks.append("look")) is None
    assert 0.12 < module._seconds_in_vain < 60.0
    before = len(looks)
    with locked(path):
        assert compile_with(path, lambda: looks.append("look")) is None
    assert len(looks) == before + 1


def test_the_lock_of_a_killed_process_is_free(path: str) -> None:
    code = (
        "import fcntl, sys, time\n"
        "file = open(sys.argv[1], 'ab')\n"
        "fcntl.flock(file, fcntl.LOCK_EX)\n"
        "print('locked', flush=True)\n"
        "time.sleep(60)\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, path], stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"locked\n"

    def load() -> None:
        holder.kill()

    assert compile_with(path, load) is None
    assert module._seconds_in_vain < 60.0
    holder.communicate()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_keeps_nothing_locked(path: str) -> None:
    waiting, going = os.pipe()
    hearing, telling = os.pipe()

    def compile_now(signature: Any) -> int:
        code_or_lock(path, nothing)
        child = os.fork()
        if not child:
            os.close(going)
            os.write(telling, b"!")
            os.read(waiting, 1)
            os._exit(0)
        assert os.read(hearing, 1) == b"!"
        assert not is_free(path)
        return child

    child = compile_once(compile_now, "signature")
    try:
        assert is_free(path)
    finally:
        for descriptor in (going, waiting, hearing, telling):
            os.close(descriptor)
        os.waitpid(child, 0)


def test_without_locks_each_compiles_for_itself(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compile_with(str(tmp_path / "absent" / "loop.lock"), nothing) is None
    os.mkfifo(tmp_path / "pipe")
    assert compile_with(str(tmp_path / "pipe"), nothing) is None

    def refuse(file: Any, operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert compile_with(path, nothing) is None
