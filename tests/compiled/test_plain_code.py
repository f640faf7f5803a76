"""A loop gives the same by its bare machine code as by numba, and runs by numba where there is none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from olscale.compiled import plain_code, plain_code_file
from olscale.compiled.decorator import compiled
from olscale.compiled.plain_code import PlainLoop, kinds_of
from olscale.compiled.plain_code_file import (
    PlainCode,
    made_from,
    plain_path,
    read_plain_code,
    write_plain_code,
)
from olscale.compiled.plain_code_making import NotPlainError, plain_code_of
from olscale.data.formats._cell_code_loop import code_cells

LOOP = "olscale.data.formats._cell_code_loop"
KINDS = "B1-i2-i1-i1-i1"

pytestmark = pytest.mark.skipif(
    plain_path(LOOP, "code_cells", KINDS) is None, reason="only on Linux, x86-64"
)


@compiled
def scaled(values: np.ndarray, factor: int, flag: bool) -> tuple[float, int, bool]:
    total = 0.0
    for i in range(len(values)):
        values[i] *= factor
        total += values[i]
    return total, len(values) + factor, not flag


@compiled
def raising(values: np.ndarray) -> None:
    if values[0] < 0:
        raise ValueError("is below 0")


@compiled
def making(count: int) -> int:
    return len(np.zeros(count))


def words() -> tuple[np.ndarray, ...]:
    text = np.frombuffer(b"tcp,udp,,tcp,a longer word,udp".ljust(64), np.uint8).copy()
    ends = [(0, 3), (4, 7), (8, 8), (9, 12), (13, 26), (27, 30)]
    table = np.full(32, -1, np.int32)
    return (
        text,
        np.array(ends, np.int32),
        table,
        np.empty(6, np.int32),
        np.empty(16, np.int32),
    )


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a loop in a folder of its own, as numba's loop has just made it."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    loop = PlainLoop(LOOP, "code_cells", KINDS)
    assert loop(*words()) == 4
    path = plain_path(LOOP, "code_cells", KINDS)
    assert path is not None
    return path


def without_numba(monkeypatch: pytest.MonkeyPatch) -> PlainLoop:
    monkeypatch.delitem(sys.modules, LOOP)
    monkeypatch.setattr(plain_code, "import_module", None)
    return PlainLoop(LOOP, "code_cells", KINDS)


def test_bare_code_gives_what_numba_gives(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = words()
    theirs = words()
    loop = without_numba(monkeypatch)
    assert loop.is_at_hand()
    assert loop(*ours) == code_cells(*theirs) == 4
    for a, b in zip(ours[:4], theirs[:4], strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(ours[4][:4], theirs[4][:4])


def test_several_results_of_each_kind_come_back() -> None:
    ours = np.arange(4.0)
    theirs = ours.copy()
    expected = scaled(theirs, 3, True)
    native = plain_code._Native(plain_code_of(scaled, (ours, 3, True)))
    assert native(ours, 3, True) == expected == (18.0, 7, False)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("loop", "argument"), [(raising, np.ones(2)), (making, 3)], ids=["raises", "makes"]
)
def test_a_loop_that_needs_more_than_its_code_is_left_to_numba(
    loop: object, argument: object
) -> None:
    loop(argument)  # type: ignore[operator]
    with pytest.raises(NotPlainError):
        plain_code_of(loop, (argument,))  # type: ignore[arg-type]


@pytest.mark.parametrize("place", [10, -20, -2])
def test_a_damaged_file_is_not_run(file: Path, place: int) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    assert read_plain_code(file) is None
    file.write_bytes(data[:3])
    assert read_plain_code(file) is None


@pytest.mark.parametrize("part", ["olscale.compiled.byte_words", "numba", "processor"])
def test_code_of_other_sources_is_made_anew(
    file: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    before = file.read_bytes()
    changed = {**made_from(LOOP), part: "another"}
    monkeypatch.setattr(plain_code_file, "made_from", lambda module: changed)
    assert read_plain_code(file) is None
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, LOOP)
        assert not PlainLoop(LOOP, "code_cells", KINDS).is_at_hand()
    assert PlainLoop(LOOP, "code_cells", KINDS)(*words()) == 4
    assert read_plain_code(file) is not None
    assert file.read_bytes() != before


def test_all_that_a_loop_is_made_of_is_in_its_file(file: Path) -> None:
    about = json.loads(file.read_bytes().partition(b"\n")[0])
    assert {
        LOOP,
        "olscale.compiled.byte_words",
        "olscale.compiled.decorator",
        "olscale.compiled.intrinsics",
        "numba",
        "llvmlite",
        "processor",
    } <= about["made_from"].keys()


def test_arguments_of_other_kinds_go_to_numba(file: Path) -> None:
    text, cells, table, codes, firsts = words()
    loop = PlainLoop(LOOP, "code_cells", KINDS)
    assert loop(text, cells.astype(np.int64), table, codes, firsts) == 4
    assert kinds_of((text, cells[:, ::-1])) is None
    assert kinds_of((2**63,)) is None


def test_settings_of_numba_and_a_system_that_forbids_it_leave_it_to_numba(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = without_numba(monkeypatch)

    def forbid(code: bytes) -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(plain_code, "_runnable", forbid)
        assert not loop.is_at_hand()
    monkeypatch.setenv("NUMBA_OPT", "0")
    assert not loop.is_at_hand()


def test_nothing_is_made_where_it_cannot_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_code_file.os, "access", lambda path, mode: False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "none"))
    assert PlainLoop(LOOP, "code_cells", KINDS)(*words()) == 4
    assert not (tmp_path / "none").exists()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "code.plain"
    write_plain_code(path, LOOP, PlainCode(b"\xc3", 0, "@"))
    assert read_plain_code(path) == PlainCode(b"\xc3", 0, "@")
    assert [*tmp_path.iterdir()] == [path]


def test_a_table_is_ingested_without_numba_the_second_time(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(
        "a,b,y\n" + "".join(f"{i / 7},{'xyz'[i % 3]},{i % 2}\n" for i in range(250_000))
    )
    script = (
        "import sys; from olscale import ingest; ingest(*sys.argv[1:]); "
        "print('numba' in sys.modules)"
    )
    said = []
    for dest in ("first", "second"):
        said.append(
            subprocess.run(
                [
                    sys.executable,
                    "-c",
                    script,
                    str(tmp_path / "rows.csv"),
                    str(tmp_path / dest),
                ],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
        )
    assert said[1] == "False"
    first = (tmp_path / "first" / "manifest.json").read_bytes()
    assert (tmp_path / "second" / "manifest.json").read_bytes() == first
