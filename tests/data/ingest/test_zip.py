"""Zip archives are read as tar archives are; what is damaged, encrypted or no archive of data is one line."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from olscale.data.ingest.ingest import ingest
from olscale.errors import DatasetError, FormatError, OlscaleError

CSV = b"x,y\n1,0\n2,1\n"


def zip_of(
    path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED
) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "method",
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA],
)
def test_members_are_read_in_natural_order(tmp_path: Path, method: int) -> None:
    days = {f"url/Day{day}.svm": b"1 1:1 3:%d\n-1 2:1\n" % day for day in (10, 2, 1)}
    dataset = ingest(
        zip_of(tmp_path / "url.zip", days, method), tmp_path / "d", segments="files"
    )
    assert dataset.segments() == (("Day1", 0), ("Day2", 2), ("Day10", 4))
    (source,) = dataset.manifest.sources
    assert (source.name, source.bytes) == (
        "url.zip",
        (tmp_path / "url.zip").stat().st_size,
    )


@pytest.mark.parametrize(
    "ending",
    ["#a.csv", "/a.csv", "#*.csv", "/*.csv", "/in/*.csv", "#in/a.csv", "/in/*"],
)
@pytest.mark.parametrize("archive", ["t.zip", "t.tar"])
def test_a_pattern_says_what_is_read(tmp_path: Path, archive: str, ending: str) -> None:
    files = {"in/a.csv": CSV, "b.svm": b"1 1:1\n"}
    zip_of(tmp_path / "t.zip", files)
    with tarfile.open(tmp_path / "t.tar", "w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    dataset = ingest(f"{tmp_path}/{archive}{ending}", tmp_path / "d")
    assert dataset.rows("train") == 2
    assert dataset.manifest.sources[0].name == archive


def test_a_pattern_that_fits_nothing_says_what_there_is(tmp_path: Path) -> None:
    zip_of(tmp_path / "t.zip", {"in/a.csv": CSV})
    for pattern in ("*.svm", "."):
        with pytest.raises(
            FormatError, match=r"holds no file '.*' \(it has in/a\.csv\)"
        ):
            ingest(f"{tmp_path}/t.zip#{pattern}", tmp_path / "d")
    with pytest.raises(DatasetError, match="does not exist"):
        ingest(f"{tmp_path}/absent.zip#*.csv", tmp_path / "d")


def test_formats_that_need_a_file_are_spilled(tmp_path: Path) -> None:
    table = io.BytesIO()
    parquet.write_table(pa.table({"x": [1.0, 2.0], "y": [0, 1]}), table)
    arrays = io.BytesIO()
    np.savez(arrays, X=np.eye(3), y=np.array([0, 1, 0]))
    zip_of(tmp_path / "p.zip", {"t.parquet": table.getvalue()})
    zip_of(tmp_path / "n.zip", {"t.npz": arrays.getvalue()})
    assert ingest(tmp_path / "p.zip", tmp_path / "p").rows("train") == 2
    assert ingest(tmp_path / "n.zip", tmp_path / "n").rows("train") == 3
    zip_of(tmp_path / "bad.zip", {"t.parquet": table.getvalue()[:-20]})
    with pytest.raises(
        FormatError, match=r"bad\.zip: t\.parquet: is no Parquet file or is damaged"
    ):
        ingest(tmp_path / "bad.zip", tmp_path / "b")
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == [
        "manifest.json",
        "train",
    ]


def test_arrays_of_numpy_called_zip_are_those(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "a.npz",
        X_train=np.eye(3),
        y_train=[0, 1, 0],
        X_test=np.eye(3),
        y_test=[0, 1, 1],
    )
    (tmp_path / "a.npz").rename(tmp_path / "a.zip")
    assert ingest(tmp_path / "a.zip", tmp_path / "d").splits == ("train", "test")


def test_what_is_no_archive_of_data_is_refused_by_name(tmp_path: Path) -> None:
    sheet = zip_of(
        tmp_path / "sheet.zip",
        {"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"},
    )
    nested = zip_of(tmp_path / "nested.zip", {"sheet.xlsx": sheet.read_bytes()})
    sheet.rename(tmp_path / "sheet.xlsx")
    zip_of(tmp_path / "sheet.zip", {"[Content_Types].xml": b"<x/>"})
    for name, said in (
        (
            "sheet.xlsx",
            "is a spreadsheet or document of an office program; save it as CSV",
        ),
        ("sheet.zip", "is a spreadsheet, which is not read; save it as CSV"),
        (nested.name, r"holds no data files, as \.svm or \.csv \(it has sheet\.xlsx\)"),
    ):
        with pytest.raises(FormatError, match=said):
            ingest(tmp_path / name, tmp_path / "d")


def test_encrypted_and_unknown_compressions_are_one_line(tmp_path: Path) -> None:
    file = zip_of(tmp_path / "t.zip", {"a.csv": CSV}, zipfile.ZIP_STORED)
    content = bytearray(file.read_bytes())
    plain = bytes(content)
    entry = content.index(b"PK\x01\x02")
    for place in (6, entry + 8):
        content[place] |= 1
    file.write_bytes(content)
    with pytest.raises(FormatError, match=r"t\.zip: is encrypted; unpack it"):
        ingest(file, tmp_path / "d")
    content = bytearray(plain)
    for place in (8, entry + 10):
        content[place : place + 2] = struct.pack("<H", 9)
    file.write_bytes(content)
    with pytest.raises(
        FormatError, match=r"t\.zip: is compressed in a way that is not read"
    ):
        ingest(file, tmp_path / "d")


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_damaged_archives_are_one_line_or_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Also members that are cut, sizes that lie and bytes that no decompressor takes."""
    folder = tmp_path_factory.mktemp("zip")
    file = zip_of(folder / "t.zip", {"a.csv": CSV * 20, "b.csv": CSV * 20})
    content = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(
            st.integers(0, 255)
        )
    file.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with suppress(OlscaleError):
        dataset = ingest(file, folder / "d", note=lambda line: None)
        assert dataset.rows("train") in (20, 40, 80), "of one member or both"
        return
    assert not (folder / "d").exists()


def test_links_and_odd_names_stay_inside(tmp_path: Path) -> None:
    inside = tmp_path / "a"
    inside.mkdir()
    with zipfile.ZipFile(inside / "t.zip", "w") as archive:
        link = zipfile.ZipInfo("link.csv")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("../../escaped.csv", CSV)
        archive.writestr("new\nline.csv", CSV)
    notes: list[str] = []
    dataset = ingest(
        inside / "t.zip", inside / "d", segments="files", note=notes.append
    )
    assert dataset.rows("train") == 4
    assert notes == [f"{inside}/t.zip: passed over as no data: link.csv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a"]


def test_an_archive_in_object_storage_is_read(tmp_path: Path) -> None:
    import fsspec

    zip_of(tmp_path / "t.zip", {"a.csv": CSV, "b.csv": CSV})
    with fsspec.open("memory://zips/t.zip", "wb") as file:
        file.write((tmp_path / "t.zip").read_bytes())
    assert ingest("memory://zips/t.zip", tmp_path / "d").rows("train") == 4
    assert ingest("memory://zips/t.zip#b.csv", tmp_path / "e").rows("train") == 2
