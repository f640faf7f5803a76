"""Damaged and hostile sources: one line naming the file, nothing allocated for what a header only promises.

The inputs are those to which findings of the fuzzing (`tests.fuzz`) were reduced.
"""

from __future__ import annotations

import io
import signal
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from olscale.data.formats import ReadOptions, find_format
from olscale.data.ingest.archive import open_members
from olscale.data.ingest.sources import natural_key
from olscale.errors import FormatError, OlscaleError


def read(path: Path, format: str) -> None:
    for _ in find_format(str(path), format).read(str(path), ReadOptions()):
        pass


def idx(shape: list[int], body: bytes = b"") -> bytes:
    return struct.pack(f">2xBB{len(shape)}I", 8, len(shape), *shape) + body


@pytest.mark.parametrize(
    ("images", "labels", "problem"),
    [
        (idx([2**32 - 1, 2**32 - 1, 2**32 - 1]), idx([2**32 - 1]), "truncated"),
        (idx([2, 2**32 - 1, 2**32 - 1]), idx([2], b"01"), "truncated"),
        # the product overflows 64 bits
        (idx([2, *[2**31] * 7]), idx([2], b"01"), "truncated"),
        (idx([2, 0, 5]), idx([2], b"01"), "no rows of features"),
    ],
)
def test_idx_promises_are_not_allocated(
    tmp_path: Path, images: bytes, labels: bytes, problem: str
):
    (tmp_path / "t-images-idx3-ubyte").write_bytes(images)
    (tmp_path / "t-labels-idx1-ubyte").write_bytes(labels)
    with pytest.raises(FormatError, match=problem):
        read(tmp_path / "t-images-idx3-ubyte", "idx")


def npy(header: str) -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def npz(path: Path, X: bytes, y: bytes | None = None, suffix: str = ".npy") -> Path:
    labels = io.BytesIO()
    np.save(labels, np.zeros(2))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"X{suffix}", X)
        archive.writestr("y.npy", labels.getvalue() if y is None else y)
    return path


WIDE = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 4), }"


def test_npz_promises_are_not_allocated(tmp_path: Path):
    with pytest.raises(
        FormatError, match=r"its header promises 32000000000000 bytes, there are \d+"
    ):
        read(npz(tmp_path / "a.npz", npy(WIDE)), "npz")


@pytest.mark.parametrize(
    "header",
    ["{'descr': '<f8', 'shape': (2, 2", "[" * 3000, "{'descr': '|O'}", "\u0660"],
)
def test_npz_headers_that_are_none(tmp_path: Path, header: str):
    with pytest.raises(FormatError, match="its array X cannot be read"):
        read(npz(tmp_path / "a.npz", npy(header)), "npz")


def test_npz_member_that_is_no_array(tmp_path: Path):
    with pytest.raises(FormatError, match="its array X cannot be read"):
        read(npz(tmp_path / "a.npz", b"no magic number", suffix=""), "npz")


@pytest.mark.parametrize("code", [0x110000, 0xD800])
def test_text_labels_are_text(tmp_path: Path, code: int):
    """Beyond Unicode Python fails; half a pair cannot be written to the manifest."""
    y = npy("{'descr': '<U1', 'fortran_order': False, 'shape': (2,), }") + struct.pack(
        "<2I", 65, code
    )
    X = io.BytesIO()
    np.save(X, np.zeros((2, 3)))
    with pytest.raises(FormatError, match="a label is no valid text"):
        read(npz(tmp_path / "a.npz", X.getvalue(), y), "npz")


@pytest.mark.parametrize(
    ("at", "value"), [(6, 115), (8, 1), (8, 32), (10, 99), (42, 255)]
)
def test_npz_of_a_zip_that_python_cannot_read(tmp_path: Path, at: int, value: int):
    """Version, flags (encrypted, patched), compression and position in the zip's directory."""
    path = npz(tmp_path / "a.npz", npy(WIDE))
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + at] = value
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"a\.npz"):
        read(path, "npz")


def element(kind: int, content: bytes, order: str = "<") -> bytes:
    return (
        struct.pack(f"{order}II", kind, len(content))
        + content
        + bytes(-len(content) % 8)
    )


def matrix(
    name: bytes, kind: int, shape: tuple[int, ...], *parts: bytes, order: str = "<"
) -> bytes:
    head = (
        element(6, struct.pack(f"{order}II", kind, 0), order)
        + element(5, struct.pack(f"{order}{len(shape)}i", *shape), order)
        + element(1, name, order)
    )
    return element(14, head + b"".join(parts), order)


def doubles(*values: float) -> bytes:
    return element(9, np.array(values).tobytes())


def ints(*values: int) -> bytes:
    return element(5, np.array(values, "<i4").tobytes())


MAT = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
LABELS = matrix(b"y", 6, (2, 1), doubles(1, 2))


@pytest.mark.long
@pytest.mark.long  # a process for each file
@pytest.mark.parametrize(
    ("X", "problem"),
    [
        (matrix(b"X", 6, (2, 2), doubles(1, 2, 3)), "is damaged"),
        (matrix(b"X", 6, (2**31 - 1, 2**31 - 1), doubles(1)), "is damaged"),
        (matrix(b"X", 6, (-2, -2), doubles(1, 2, 3, 4)), "is damaged"),
        (matrix(b"X", 1, (2**31 - 1, 1)), "is damaged"),
        (
            matrix(b"X", 5, (2, 2), ints(7, 0), ints(0, 1, 2), doubles(1, 2)),
            "is damaged",
        ),
        (
            matrix(b"X", 5, (2, 2), ints(0, 1), ints(0, 9, 2), doubles(1, 2)),
            "is damaged",
        ),
        (
            matrix(b"X", 5, (2, 2), ints(0, 1), ints(0, 1, 200), doubles(1, 2)),
            "is damaged",
        ),
        (
            matrix(b"X", 5, (2**31 - 1, 1), ints(0), ints(0, 1), doubles(1)),
            "rows of features but 2 targets",
        ),
        (matrix(b"X", 0x806, (2, 1), doubles(1, 2), doubles(1, 2)), "complex"),
        (struct.pack("<II", 14, 2**31) + bytes(100), "is damaged"),
        (element(99, b""), "is damaged"),
        (element(15, b"no zlib stream"), "incorrect header check"),
    ],
)
def test_damaged_mat_files_are_refused_and_take_no_memory(
    tmp_path: Path, X: bytes, problem: str
):
    """Any of these, or one like it, ends SciPy's reader or lets it allocate what is promised."""
    (tmp_path / "a.mat").write_bytes(MAT + X + LABELS)
    with pytest.raises(FormatError, match=problem):
        read(tmp_path / "a.mat", "mat")


@pytest.mark.parametrize("signal", [signal.SIGSEGV, signal.SIGKILL])
def test_a_mat_file_that_ends_its_reader_is_one_line(
    tmp_path: Path, signal: int, monkeypatch: pytest.MonkeyPatch
):
    program = tmp_path / "reader.py"
    program.write_text(
        f"import os, sys; sys.stdin.buffer.read(); os.kill(os.getpid(), {int(signal)})"
    )
    monkeypatch.setattr("olscale.data.formats._loadmat.__file__", str(program))
    (tmp_path / "a.mat").write_bytes(MAT + LABELS)
    with pytest.raises(
        FormatError,
        match=rf"is damaged \(SciPy's reader ended with code -{int(signal)}\)",
    ):
        read(tmp_path / "a.mat", "mat")


@pytest.mark.long  # a process for each file
def test_mat_files_of_the_other_byte_order(tmp_path: Path):
    numbers = [
        element(9, np.array(values, ">f8").tobytes(), ">")
        for values in ([1, 2, 3, 4], [7, 8])
    ]
    X = matrix(b"X", 6, (2, 2), numbers[0], order=">")
    y = matrix(b"y", 6, (2, 1), numbers[1], order=">")
    (tmp_path / "a.mat").write_bytes(MAT[:124] + b"\x01\x00MI" + X + y)
    (batch,) = find_format("a.mat", "mat").read(str(tmp_path / "a.mat"), ReadOptions())
    np.testing.assert_array_equal(batch.X, [[1, 3], [2, 4]])
    np.testing.assert_array_equal(batch.target, [7, 8])


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-8] + b"\xff" * 8,
        lambda data: data[: len(data) // 2],
        lambda data: b"PAR1",
    ],
)
def test_damaged_parquet_is_named(tmp_path: Path, damage: Callable[[bytes], bytes]):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": [1.0, 2.0], "y": [0, 1]}), path)
    data = path.read_bytes()
    path.write_bytes(damage(data))
    with pytest.raises(FormatError, match="is no Parquet file or is damaged"):
        read(path, "parquet")


HEAD = "@relation r\n@attribute a numeric\n@attribute y {p,n}\n@data\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEAD + "{" + "1" * 5000 + " 2}\n", "in a sparse row"),
        (HEAD.replace("{p,n}", "{}"), "declares no values"),
        (
            HEAD.replace("{p,n}", "{" + "x" * 200_000 + "}"),
            "is longer than 131,072 characters",
        ),
    ],
)
def test_arff_is_named(tmp_path: Path, text: str, problem: str):
    (tmp_path / "a.arff").write_text(text)
    with pytest.raises(FormatError, match=problem):
        read(tmp_path / "a.arff", "arff")


@pytest.mark.parametrize(
    "line",
    [
        "1 \x0b\n",
        "1 1:1 \x0c\n",
        "1 2147483647:1\n",
        "1 1000000000000000000:1\n",
        f"1 {'9' * 400}:1\n",
    ],
)
def test_svmlight_is_named(tmp_path: Path, line: str):
    (tmp_path / "a.svm").write_text("1 1:1\n" + line)
    with pytest.raises(FormatError, match="line 2"):
        read(tmp_path / "a.svm", "svmlight")


def archive_of(path: Path, *infos: tarfile.TarInfo) -> Path:
    path.write_bytes(b"".join(info.tobuf(tarfile.GNU_FORMAT) for info in infos))
    return path


def member(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    return info


@pytest.mark.parametrize("name", ["Day0.svm", "notes"])
def test_archive_of_a_file_longer_than_itself(tmp_path: Path, name: str):
    """Skipping it block by block took tarfile for ever."""
    archive = archive_of(tmp_path / "a.tar", member(name, 2**60))
    with pytest.raises(FormatError, match=r"a\.tar"):
        list(open_members(str(archive)))


def test_archive_of_a_file_with_holes(tmp_path: Path):
    """Its 512 bytes stand for a terabyte of zeros."""
    info = member("Day0.svm", 0)
    info.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"77777777777\0"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    (tmp_path / "a.tar").write_bytes(header)
    with pytest.raises(FormatError, match=r"Day0\.svm has holes"):
        list(open_members(str(tmp_path / "a.tar")))


def test_numbers_of_thousands_of_digits_are_ordered():
    names = ["Day" + "1" * 5000, "Day007", "Day12", "Day7b", "Day0"]
    assert sorted(names, key=natural_key) == [
        "Day0",
        "Day007",
        "Day7b",
        "Day12",
        "Day" + "1" * 5000,
    ]


def test_messages_are_one_line_of_readable_length():
    error = OlscaleError("what\r\n" + "x" * 10_000 + "\u2028; do this")
    assert len(str(error).splitlines()) == 1
    assert len(str(error)) <= 1500
    assert str(error).startswith("what x")
    assert str(error).endswith("; do this")


def test_batches_of_a_wide_table_are_cut_by_their_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """And of its first rows fewer are looked at, so that neither takes memory by the number of columns."""
    monkeypatch.setattr("olscale.data.formats.table_parser._MOST_CELLS", 505)
    monkeypatch.setattr("olscale.data.formats.csv._SAMPLE_CELLS", 400)
    rows = [",".join(["1"] * 100) + ",7\n"] * 12
    (tmp_path / "wide.csv").write_text("".join(rows))
    batches = find_format("wide.csv").read(
        str(tmp_path / "wide.csv"), ReadOptions(chunk_rows=2048)
    )
    assert [batch.X.shape for batch in batches] == [(5, 100), (5, 100), (2, 100)]
    (tmp_path / "late.csv").write_text("".join([*rows[:4], "text" + rows[0][1:]]))
    with pytest.raises(
        FormatError,
        match=r"line 5: column 'x0' is 'text', expected a number as in the first rows",
    ):
        read(tmp_path / "late.csv", "csv")
