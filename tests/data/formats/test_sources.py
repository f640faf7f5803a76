"""Opening sources whatever their compression, and guessing their format."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pyarrow
import pytest

from olscale.data.formats import ReadOptions, find_format, format_names
from olscale.data.formats.compression import open_source
from olscale.data.ingest.archive import open_members
from olscale.errors import FormatError, UnknownNameError


def zstd(content: bytes) -> bytes:
    return bytes(pyarrow.Codec("zstd").compress(content, asbytes=True))


CODECS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
    "none": bytes,
}
CONTENT = np.random.default_rng(0).bytes(300_000)


@pytest.mark.parametrize("codec", CODECS)
def test_compression_is_known_by_the_first_bytes(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "no_suffix"
    path.write_bytes(CODECS[codec](CONTENT))
    with open_source(str(path)) as stream:
        assert stream.read() == CONTENT


@pytest.mark.parametrize("codec", ["gzip", "bzip2", "xz", "zstd"])
def test_streams_one_after_the_other_are_one_source(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "two"
    path.write_bytes(CODECS[codec](b"first ") + CODECS[codec](b"second"))
    with open_source(str(path)) as stream:
        assert stream.read() == b"first second"


@pytest.mark.parametrize("codec", ["gzip", "bzip2", "xz", "zstd"])
@pytest.mark.parametrize("kept", [0.001, 0.5, 0.9999])
def test_truncated_sources_are_named(tmp_path: Path, codec: str, kept: float) -> None:
    path = tmp_path / "short"
    whole = CODECS[codec](CONTENT)
    path.write_bytes(whole[: int(len(whole) * kept)])
    with (
        pytest.raises(FormatError, match=r"short: (truncated|corrupt)"),
        open_source(str(path)) as stream,
    ):
        stream.read()


# pyarrow writes zstd without a checksum
@pytest.mark.parametrize("codec", ["gzip", "bzip2", "xz"])
def test_corrupt_sources_are_named(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "bad"
    whole = bytearray(CODECS[codec](b"some rows of text that repeat " * 1000))
    middle = len(whole) // 2
    whole[middle : middle + 8] = bytes(
        byte ^ 255 for byte in whole[middle : middle + 8]
    )
    path.write_bytes(whole)
    with pytest.raises(FormatError, match=r"bad: "), open_source(str(path)) as stream:
        stream.read()


def test_addresses_of_fsspec_are_sources() -> None:
    import fsspec

    with fsspec.open("memory://sets/rows.gz", "wb") as file:
        file.write(gzip.compress(b"1 1:2\n"))
    format = find_format("memory://sets/rows.gz")
    assert format.name == "svmlight"
    (batch,) = format.read("memory://sets/rows.gz", ReadOptions())
    assert batch.X.data.tolist() == [2]
    with pytest.raises(FormatError, match="no such file"):
        open_source("memory://sets/absent")


def test_a_missing_file_and_a_directory_are_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="absent: no such file"):
        find_format(str(tmp_path / "absent"))
    with pytest.raises(FormatError, match="is a directory"):
        find_format(str(tmp_path))
    with pytest.raises(FormatError, match="cannot be opened"):
        find_format("nosuch://rows")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.svm.xz", b"", "svmlight"),
        ("a.csv.gz", b"", "csv"),
        ("a.TSV", b"", "tsv"),
        ("a.npz", b"", "npz"),
        ("a.t", b"1 3:1 4:1\n", "svmlight"),
        ("a", b"# c\n\n-1\n+1 3:1e-5 # c\n", "svmlight"),
        ("a", b"1 3:1 4:", "svmlight"),
        ("a.data", b"1,2,spam\n2,3,ham\n", "csv"),
        ("a", b"1\t2\n2\t3\n", "tsv"),
        ("a", b"6.0 1.0 -1.0 \n5.0 0 1 \n", "csv"),
        ("a", b"time:a,b\n1,2\n", "csv"),
    ],
)
def test_formats_are_guessed_by_name_then_by_content(
    tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert find_format(str(path)).name == expected


def test_what_cannot_be_guessed_says_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "noise"
    path.write_bytes(b"\x7fELF\0\0\0 no rows here")
    with pytest.raises(FormatError, match=r"looks like none of the formats .*svmlight"):
        find_format(str(path))
    with pytest.raises(UnknownNameError, match="did you mean 'svmlight'"):
        find_format(str(path), "svmlite")


def test_a_zip_archive_or_one_column_says_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "rows.zip").write_bytes(b"PK\x03\x04\x14\0\0\0\x08\0 rows.csv")
    with pytest.raises(
        FormatError,
        match="is a zip archive or a spreadsheet, which is not read; unpack it",
    ):
        find_format(str(tmp_path / "rows.zip"))
    (tmp_path / "y.csv").write_text("y\n0\n1\n")
    with pytest.raises(
        FormatError, match="equally many cells, at least a feature and a label"
    ):
        list(
            find_format(str(tmp_path / "y.csv")).read(
                str(tmp_path / "y.csv"), ReadOptions()
            )
        )


def test_every_format_can_be_named() -> None:
    assert format_names() == tuple(sorted(format_names()))
    for name in format_names():
        assert find_format("anything", name).name == name


def test_guessing_a_format_does_not_import_heavy_libraries() -> None:
    code = (
        "import sys; from olscale.data.formats import find_format; find_format('a.csv'); "
        "print({'numba', 'sklearn', 'pyarrow', 'scipy'} & set(sys.modules))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True
        ).stdout
        == "set()\n"
    )


def write_tar(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def test_data_files_of_an_archive_are_opened_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "url.tar.gz"
    days = {f"url/Day{day}.svm": f"1 {day}:1\n".encode() for day in (10, 2, 1)}
    packed = {"url/Day3.svm.gz": gzip.compress(b"1 3:1\n")}
    notes = {
        "url/FeatureTypes": b"4\n",
        "url/README.txt": b"1 1:1\n",
        "url/.hidden.svm": b"no",
        "../../etc/passwd": b"x",
    }
    write_tar(path, {**notes, **days, **packed})
    assert {name: stream.read() for name, stream in open_members(str(path))} == {
        **days,
        "url/Day3.svm.gz": b"1 3:1\n",
    }


def test_archives_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "url.tar.gz"
    write_tar(path, {"Day1.svm": CONTENT})
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(FormatError, match=r"url\.tar\.gz.*truncated"):
        [stream.read() for _, stream in open_members(str(path))]
    path.write_bytes(b"no archive at all")
    with pytest.raises(FormatError, match="no tar archive"):
        list(open_members(str(path)))
