"""Text without a line break: what the limit says is read, then one line names file and line."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from pathlib import Path

import pytest

from olscale.data.formats import ReadOptions, find_format, lines
from olscale.data.formats import text as text_sources
from olscale.errors import FormatError

LIMIT = 1 << 20


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (lines, text_sources):
        monkeypatch.setattr(module, "MAX_LINE", LIMIT)


class Endless(io.RawIOBase):
    """`begin`, then `more` over and over, without an end."""

    def __init__(self, begin: bytes, more: bytes) -> None:
        self._rest = begin
        self._more = more

    def readable(self) -> bool:
        return True

    def readinto(self, buffer, /) -> int:
        self._rest = self._rest or self._more * (4096 // len(self._more))
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


ENDLESS = {
    "one line of cells": (
        "csv",
        b"1,2\n3,4\n",
        b"5,",
        3,
        "the line is longer than 1 MiB",
    ),
    "one cell": ("csv", b"1,2\n", b"5", 2, "the line is longer than 1 MiB"),
    "white space": ("csv", b"1 2\n", b"5 ", 2, "the line is longer than 1 MiB"),
    "a header": ("csv", b"", b"name,", 1, "the line is longer than 1 MiB"),
    "tabs": ("tsv", b"1\t2\n", b"5\t", 2, "the line is longer than 1 MiB"),
    "a quoted cell": (
        "csv",
        b'a,b\n1,"',
        b"word \n",
        None,
        "a cell is longer than 131,072 characters.*a quote not closed",
    ),
    "a row of many lines": (
        "csv",
        b"a,b\n",
        b'"\n",',
        None,
        "the line is longer than 1 MiB",
    ),
    "pairs": ("svmlight", b"1 1:1\n", b"7:1 ", 2, "the line is longer than 1 MiB"),
    "a comment": (
        "svmlight",
        b"1 1:1\n# ",
        b"7:1 ",
        2,
        "the line is longer than 1 MiB",
    ),
    "a declaration": (
        "arff",
        b"@relation r\n@attribute a {",
        b"v,",
        2,
        "the line is longer than 1 MiB",
    ),
    "a row": (
        "arff",
        b"@relation r\n@attribute a real\n@attribute b real\n@data\n1,2\n",
        b"5,",
        6,
        "the line is longer",
    ),
}


LONG = pytest.param("a row of many lines", marks=pytest.mark.long)


@pytest.mark.long
@pytest.mark.parametrize(
    "case", [*(case for case in ENDLESS if case != "a row of many lines"), LONG]
)
def test_a_line_without_an_end_is_named(case: str) -> None:
    name, begin, more, line, problem = ENDLESS[case]
    stream = io.BufferedReader(Endless(begin, more), 1 << 17)
    tracemalloc.start()
    with pytest.raises(FormatError, match=problem) as caught:
        for _ in find_format("endless", name).read(
            "endless", ReadOptions(stream=stream)
        ):
            pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(caught.value).startswith("endless, line ")
    assert line is None or caught.value.line == line
    assert peak < 60 * LIMIT


def test_a_small_file_that_decompresses_to_one_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" + b"1," * (2 * LIMIT)))
    with pytest.raises(
        FormatError, match=r"bomb\.csv\.gz, line 2: the line is longer than 1 MiB"
    ):
        list(find_format(str(path)).read(str(path), ReadOptions()))


@pytest.mark.parametrize("long", ["data", "labels"])
def test_labels_in_a_file_of_their_own_have_the_limit_too(
    tmp_path: Path, long: str
) -> None:
    for suffix in ("data", "labels"):
        more = b"1 " * LIMIT if suffix == long else b""
        (tmp_path / f"t.{suffix}").write_bytes(
            b"1 2\n1 3\n" + more if suffix == "data" else b"1\n2\n" + more
        )
    with pytest.raises(FormatError, match=rf"t\.{long}, line 3: the line is longer"):
        list(
            find_format(str(tmp_path / "t.data"), "csv").read(
                str(tmp_path / "t.data"), ReadOptions()
            )
        )


def test_rows_of_too_many_cells_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_CELLS", 1000)
    path = tmp_path / "t.csv"
    path.write_text("1,2\n" + "1," * 1000 + "1\n")
    with pytest.raises(
        FormatError, match=r"t\.csv, line 2: the row has more than 1,000 cells"
    ):
        list(find_format(str(path)).read(str(path), ReadOptions()))
