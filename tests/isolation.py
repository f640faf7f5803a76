"""What a test may not leave behind: the next one, whichever it is, runs in the same process."""

from __future__ import annotations

import logging
import os
import pickle
import resource
import signal
import sys
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Any

# Not SIGALRM, with which pytest-timeout ends tests.
_SIGNALS = {
    name: getattr(signal, name)
    for name in (
        "SIGINT",
        "SIGTERM",
        "SIGHUP",
        "SIGQUIT",
        "SIGPROF",
        "SIGUSR1",
        "SIGCHLD",
        "SIGPIPE",
    )
}
_LIMITS = resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE
_LOGGERS = "", "olscale", "dask"

# Set by pytest, scikit-learn and Dask, when it is imported.
_OTHERS = {
    "PYTEST_CURRENT_TEST",
    "KMP_DUPLICATE_LIB_OK",
    "KMP_INIT_AT_FORK",
    "__DASK_PARENT_PID",
}

# A checkout and its environment may lie in a temporary folder themselves.
_OURS = str(Path(__file__).parents[1]), sys.prefix, sys.base_prefix

# Their instances may stay: they have no address and no credentials.
_NEAR = {"LocalFileSystem", "MemoryFileSystem"}


class LeftBehind(AssertionError):  # noqa: N818 - no error of olscale
    """A test changed what others find."""


@contextmanager
def unchanged(whose: str, but: Container[str] = ()) -> Iterator[None]:
    """Raise `LeftBehind`, which says `whose` fault it is and what, where the process is not as it was before.

    Modules of temporary folders go, and these folders from `sys.path`, where commands put the one
    they run in: others import theirs under the same names.
    """
    before = _state()
    modules = dict(sys.modules)
    paths = set(sys.path)
    yield
    # of thousands, most tests import none
    others = [] if sys.modules == modules else [*sys.modules.items()]
    for name in [name for name, module in others if modules.get(name) is not module]:
        if _is_temporary(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]
    sys.path[:] = [
        path for path in sys.path if path in paths or not _is_temporary(path)
    ]
    after = _state()
    changes = [
        f"{what}: {_change(before[what], after[what])}"
        for what in before
        if what not in but and _differ(before[what], after.get(what, before[what]))
    ]
    if changes:
        raise LeftBehind(f"{whose} leaves behind {'; '.join(changes)}")


def _state() -> dict[str, Any]:
    """Return what the next test would find; of a library only if it is imported."""
    state: dict[str, Any] = {
        "environment": {
            name: value for name, value in os.environ.items() if name not in _OTHERS
        },
        "working directory": _working_directory(),
        "sys.path": tuple(sys.path),
        "signal handlers": {
            name: signal.getsignal(number) for name, number in _SIGNALS.items()
        },
        "limits": tuple(map(resource.getrlimit, _LIMITS)),
        "log levels": {
            name: (log.level, log.disabled)
            for name in _LOGGERS
            for log in [logging.getLogger(name)]
        },
    }
    loaded = sys.modules
    if numpy := loaded.get("numpy"):
        state["numpy.seterr"] = numpy.geterr()
    if (
        cluster := loaded.get("olscale.execution.cluster")
    ) and cluster.configure_dask.cache_info().currsize:
        state["dask.config"] = pickle.dumps(loaded["dask.config"].config)
    if fsspec := loaded.get("fsspec.registry"):
        far = {kind for kind in fsspec.registry.values() if kind.__name__ not in _NEAR}
        state["file systems"] = {
            f"{kind.__name__} {key}": "kept" for kind in far for key in kind._cache
        }
    if pyplot := loaded.get("matplotlib.pyplot"):
        state["figures"] = tuple(pyplot.get_fignums())
    return state


def _working_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - a thousandth of a test
    except FileNotFoundError:
        return "removed"


def _is_temporary(path: object) -> bool:
    return (
        isinstance(path, str)
        and path.startswith(gettempdir())
        and not path.startswith(_OURS)
    )


def _differ(before: Any, after: Any) -> bool:
    if before == after or not isinstance(before, bytes):
        return bool(before != after)
    return pickle.dumps(_dask_settings(before)) != pickle.dumps(_dask_settings(after))


def _dask_settings(pickled: bytes) -> dict[str, Any]:
    """Return settings by full name; most tests change none, and none is taken apart for them."""
    settings = dict(_settings("", pickle.loads(pickled)))
    # Dask's own scheduler edits this list in its place
    settings.pop("distributed.scheduler.http.routes", None)
    return settings


def _change(before: Any, after: Any) -> str:
    if isinstance(before, Mapping):
        names = sorted(
            name for name in {*before, *after} if before.get(name) != after.get(name)
        )
        return ", ".join(
            f"{name} was {before.get(name)!r}, is {after.get(name)!r}" for name in names
        )
    if isinstance(before, bytes):
        return _change(_dask_settings(before), _dask_settings(after))
    if len(repr(before)) > 300:
        return "changed"
    return f"was {before!r}, is {after!r}"


def _settings(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    # what Dask reads from its files; asking for a Mapping takes ten times as long
    if not isinstance(value, dict):
        yield name, value
        return
    for key, inner in value.items():
        yield from _settings(f"{name}.{key}".lstrip("."), inner)
