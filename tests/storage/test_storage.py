"""Every storage keeps the promises of the interface, whatever is behind it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from olscale.errors import DatasetError
from olscale.storage.base import Storage
from olscale.storage.local import LocalStorage
from olscale.storage.open import open_output, open_storage
from olscale.testing import storage_checks

CHECKS = pytest.mark.parametrize(
    "check", [pytest.param(check, id=name) for name, check in storage_checks()]
)


@CHECKS
@pytest.mark.parametrize(
    "place",
    [
        "{tmp}/place",
        "file://{tmp}/place",
        "{tmp}/pl[a]ce/tmp",
        "memory://{tmp}/pl[a]ce",
    ],
)
def test_storage_keeps_its_promises(
    check: Callable[[Storage], None], place: str, tmp_path: Path
) -> None:
    check(
        open_storage(
            place.format(tmp=tmp_path),
            temporaries="tmp" if place.endswith("tmp") else "",
        )
    )


@CHECKS
def test_object_storage_keeps_its_promises(
    check: Callable[[Storage], None], bucket: str, request: Any
) -> None:
    check(open_storage(f"{bucket}/storage/{abs(hash(request.node.name))}"))


class Careless(LocalStorage):
    """Writes in place, keeps what it is told to discard, and lists in any order."""

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        (self.local / name).parent.mkdir(parents=True, exist_ok=True)
        with (self.local / name).open("wb") as file:
            yield file

    def remove(self, name: str = "") -> None:
        """Forget to."""

    def names(self, folder: str) -> list[str]:
        return super().names(folder)[::-1]


def test_checks_can_fail(tmp_path: Path) -> None:
    broken = []
    for number, (name, check) in enumerate(storage_checks()):
        try:
            check(Careless(str(tmp_path / str(number))))
        except AssertionError:
            broken.append(name)
    assert broken == [
        "a file is replaced whole",
        "a writer that fails leaves nothing",
        "files are listed sorted",
        "names are taken as they are",
        "files and folders are removed and moved",
    ]


@pytest.mark.parametrize("temporaries", ["", "tmp"])
def test_a_writer_that_is_killed_leaves_the_old_file(
    tmp_path: Path, temporaries: str
) -> None:
    code = (
        "import os, signal, sys; from olscale.storage.open import open_storage\n"
        "with open_storage(sys.argv[1], sys.argv[2]).writing('a') as file:\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    storage = open_storage(tmp_path, temporaries)
    storage.put("a", b"old")
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), temporaries], timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    assert storage.read("a") == b"old"
    [left] = [
        path for path in tmp_path.rglob("*") if path.is_file() and path.name != "a"
    ]
    assert left.read_bytes() == b"half"
    assert storage.stale_temporaries() == []
    os.utime(left, (time.time() - 90_000,) * 2)
    assert storage.stale_temporaries() == ([f"tmp/{left.name}"] if temporaries else [])


def test_a_place_that_has_vanished_does_not_come_back_empty(tmp_path: Path) -> None:
    for put in (LocalStorage.put, LocalStorage.replace, LocalStorage.write):
        with pytest.raises(FileNotFoundError):
            put(LocalStorage(str(tmp_path / "gone"), "tmp"), "runs/a", b"x")
    assert not (tmp_path / "gone").exists()


def test_a_relative_path_is_made_absolute_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    storage = open_storage("place")
    monkeypatch.chdir("/")
    assert storage.local == tmp_path / "place"


def fail(path: str) -> None:
    with open_output(path) as out:
        out.write(b"half")
        raise ZeroDivisionError


def test_output_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "new" / "out.csv"
    with open_output(str(file)) as out:
        out.write(b"old")
    with pytest.raises(ZeroDivisionError):
        fail(str(file))
    assert [path.read_bytes() for path in file.parent.iterdir()] == [b"old"]


def test_output_that_fails_is_not_uploaded(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        fail(f"memory://{tmp_path}/out.csv")
    assert not open_storage(f"memory://{tmp_path}").exists("out.csv")


def test_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        DatasetError,
        match=r"file/below cannot be written \(File exists\); choose another place",
    ):
        open_output(f"{tmp_path}/file/below").__enter__()
    folder = open_output(str(tmp_path))
    folder.__enter__()
    with pytest.raises(
        DatasetError,
        match=r"cannot be written \(Is a directory\); choose another place",
    ):
        folder.__exit__(None, None, None)
