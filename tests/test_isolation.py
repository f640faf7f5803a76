"""Tests leave nothing behind: what would be noticed."""

from __future__ import annotations

import logging
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import dask
import fsspec
import numpy as np
import pytest

from olscale.execution.cluster import configure_dask
from tests.isolation import LeftBehind, unchanged


def lower_limit(folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))


def reach_far(folder: Path) -> None:
    fsspec.filesystem("http", block_size=1)


LEAKS: dict[str, tuple[Callable[[Path], object], Callable[[], object]]] = {
    "environment: LEFT_BEHIND was None, is '1'": (
        lambda folder: os.environ.update(LEFT_BEHIND="1"),
        lambda: os.environ.pop("LEFT_BEHIND"),
    ),
    "working directory: was": (os.chdir, lambda: os.chdir(HERE)),
    "sys.path: ": (lambda folder: sys.path.append("/nowhere"), sys.path.pop),
    "signal handlers: SIGUSR1 was": (
        lambda folder: signal.signal(signal.SIGUSR1, signal.SIG_IGN),
        lambda: signal.signal(signal.SIGUSR1, signal.SIG_DFL),
    ),
    "limits: was": (
        lower_limit,
        lambda: resource.setrlimit(resource.RLIMIT_NOFILE, FILES),
    ),
    "numpy.seterr: ": (
        lambda folder: np.seterr(under="raise"),
        lambda: np.seterr(under="ignore"),
    ),
    "log levels: dask was": (
        lambda folder: logging.getLogger("dask").setLevel(3),
        lambda: logging.getLogger("dask").setLevel(DASK),
    ),
    "dask.config: left-behind was None, is 1": (
        lambda folder: dask.config.set({"left-behind": 1}),
        lambda: dask.config.config.pop("left-behind"),
    ),
    "file systems: HTTPFileSystem": (
        reach_far,
        lambda: fsspec.get_filesystem_class("http").clear_instance_cache(),
    ),
}
HERE = Path.cwd()
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)
DASK = logging.getLogger("dask").level


@pytest.mark.parametrize("change", LEAKS)
def test_what_a_test_leaves_behind_is_named(change: str, tmp_path: Path) -> None:
    fsspec.get_filesystem_class("http")
    configure_dask()
    leak, undo = LEAKS[change]
    try:
        with (
            pytest.raises(LeftBehind, match=r"^the test leaves behind ") as raised,
            unchanged("the test"),
        ):
            leak(tmp_path)
    finally:
        undo()
    assert str(raised.value).removeprefix("the test leaves behind ").startswith(change)
    assert "; " not in str(raised.value)


def test_what_is_excepted_is_not_named() -> None:
    with unchanged("the test", but=("environment",)):
        os.environ["LEFT_BEHIND"] = "1"
    del os.environ["LEFT_BEHIND"]


def test_modules_of_temporary_folders_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "left_behind.py").write_text(f"NUMBER = {number}")
        monkeypatch.syspath_prepend(str(tmp_path / str(number)))
        with unchanged("the test"):
            assert number == __import__("left_behind").NUMBER
        assert "left_behind" not in sys.modules
