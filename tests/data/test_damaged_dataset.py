"""Datasets that are damaged, or that a manifest does not describe, are named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from olscale.data.dataset import open_dataset
from olscale.data.manifest import manifest_checksum
from olscale.errors import DatasetError
from tests.data.written import LAYOUTS, rows_and_labels, sample, write

VERSION_1 = Path(__file__).parent / "fixtures" / "version1"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_flipped_byte_is_named(tmp_path: Path, kind: str, layout: str):
    write(tmp_path / "d", sample(kind, rows=300), layout=layout, chunk_rows=100)
    file = {
        "parquet": "train/00001.parquet",
        "zarr": "train/X/c/1/0" if kind == "dense" else "train/data/c/0",
    }[layout]
    path = tmp_path / "d" / file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)
    dataset = open_dataset(tmp_path / "d")
    with pytest.raises(
        DatasetError,
        match=rf"{tmp_path}/d: chunk \d of train \(train/.*ingest the dataset again",
    ):
        dataset.verify()
    if layout == "parquet" or kind == "dense":
        assert len(dataset.chunk("train", 0)) == 100, "the other chunks stay readable"


@pytest.mark.parametrize(
    ("layout", "file"), [("parquet", "train/00000.parquet"), ("zarr", "train/X/c/0/0")]
)
def test_missing_chunk_is_named(tmp_path: Path, layout: str, file: str):
    dataset = write(tmp_path / "d", sample("dense"), layout=layout)
    (tmp_path / "d" / file).unlink()
    with pytest.raises(DatasetError, match=f"chunk 0 of train .{file}"):
        dataset.chunk("train", 0)


def test_absent_and_foreign_directories_do_not_open(tmp_path: Path):
    with pytest.raises(DatasetError, match="does not exist"):
        open_dataset(tmp_path / "nothing")
    with pytest.raises(DatasetError, match=r"is no dataset: it has no manifest\.json"):
        open_dataset(tmp_path)


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda m: m.update(columns="6"), "columns"),
        (lambda m: m.update(colour=1), "colour"),
        (lambda m: m.pop("fingerprint"), "fingerprint"),
        (lambda m: m.update(format_version=4), "format_version"),
        (lambda m: m["splits"]["train"].update(rows=51), r"splits\.train.*rows is 51"),
        (lambda m: m["splits"].pop("train"), "no 'train'"),
    ],
)
def test_broken_manifest_says_where(tmp_path: Path, damage, named: str):
    write(tmp_path / "d", sample("dense"))
    file = tmp_path / "d" / "manifest.json"
    content = json.loads(file.read_text())
    damage(content)
    file.write_text(json.dumps(content))
    with pytest.raises(DatasetError, match=rf"manifest\.json is broken at .*{named}"):
        open_dataset(tmp_path / "d")


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("columns", 3, "is not what manifest.json says|cannot be read"),
        (
            "columns",
            10**12,
            "is not what manifest.json says|cannot be read|fingerprint",
        ),
        ("classes", [0, 1, 2], "is not what manifest.json says"),
        ("classes", [1, 0, -1], "classes must be"),
        ("classes", ["a", "b", "c"], "label_names must be"),
        ("label_names", ["a", "b"], "label_names must be"),
        ("dtype", "object", "dtype is 'object', expected one of"),
    ],
)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_chunks_that_the_manifest_does_not_describe(
    tmp_path: Path, kind: str, layout: str, field: str, value, named: str
):
    """A learner would write past its weights where an index is past the columns."""
    write(tmp_path / "d", sample(kind), layout=layout)
    path = tmp_path / "d" / "manifest.json"
    content = json.loads(path.read_text())
    content[field] = value
    content["checksum"] = manifest_checksum(content)
    path.write_text(json.dumps(content))
    with pytest.raises(DatasetError, match=named):
        open_dataset(tmp_path / "d").verify()


@pytest.mark.parametrize("kept", [0, 10, 16, 22, -1])
def test_truncated_zarr_chunk_is_named(tmp_path: Path, kept: int):
    """Blosc reads as many bytes as the header promises, there or not: the process ended."""
    for copy, problem in (
        (tmp_path / "d", "the checksum of train/X/c/0/0 is"),
        (tmp_path / "1", "not a whole piece"),
    ):
        if copy.name == "d":
            write(copy, sample("dense"), layout="zarr")
        else:
            shutil.copytree(VERSION_1 / "dense-zarr", copy)
        path = copy / "train" / "X" / "c" / "0" / "0"
        path.write_bytes(path.read_bytes()[:kept])
        with pytest.raises(
            DatasetError,
            match=rf"chunk 0 of train .train/X/c/0/0. cannot be read: .*{problem}",
        ):
            open_dataset(copy).chunk("train", 0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["words", "dense"])
def test_datasets_of_format_version_1_are_read_and_verified(
    tmp_path: Path, name: str, layout: str
):
    """They have checksums of decoded chunks, and SHA-256 for a fingerprint."""
    copy = tmp_path / "d"
    shutil.copytree(VERSION_1 / f"{name}-{layout}", copy)
    dataset = open_dataset(copy)
    dataset.verify()
    X, y = rows_and_labels(dataset)
    if name == "dense":
        assert X.tolist() == [[1, 2], [3, 4.5]] * 8
        assert y.tolist() == [1, 0] * 8
    else:
        assert [X[0, 69], X[2, 3], X[4, 8]] == [-0.03, 2.25, 0.125]
        assert y.tolist() == [1, 0, 1, 0, 1] * 3
    path = copy / "manifest.json"
    content = json.loads(path.read_text())
    content["splits"]["train"]["chunks"][1]["crc32"] ^= 1
    path.write_text(json.dumps(content))
    with pytest.raises(
        DatasetError, match=r"chunk 1 of train .* is damaged: checksum \w+, expected"
    ):
        open_dataset(copy).verify()


@pytest.mark.parametrize("version", [1, 2])
def test_the_version_says_whether_files_have_checksums(tmp_path: Path, version: int):
    write(tmp_path / "d", sample("dense"))
    path = tmp_path / "d" / "manifest.json"
    content = json.loads(path.read_text())
    content["format_version"] = version
    del content["checksum"]
    if version == 2:
        del content["splits"]["train"]["files"]
    path.write_text(json.dumps(content))
    with pytest.raises(
        DatasetError, match="checksums of its files from format version 2 on"
    ):
        open_dataset(tmp_path / "d")


def test_bytes_read_as_another_type_are_refused(tmp_path: Path):
    """The checksum is that of the bytes: zarr's own description of them is not under it."""
    write(tmp_path / "d", sample("sparse"), layout="zarr")
    path = tmp_path / "d" / "train" / "data" / "zarr.json"
    path.write_text(path.read_text().replace("float64", "int64"))
    with pytest.raises(
        DatasetError,
        match=r"chunk 0 of train .* is whole but is not what manifest.json says",
    ):
        open_dataset(tmp_path / "d").chunk("train", 0)


@pytest.mark.parametrize(
    ("text", "damaged"), [('"shape"', '"shapf"'), ("[", "{"), ('"', "'")]
)
def test_a_damaged_description_of_an_array_is_named(
    tmp_path: Path, text: str, damaged: str
):
    write(tmp_path / "d", sample("dense"), layout="zarr")
    path = tmp_path / "d" / "train" / "label" / "zarr.json"
    path.write_text(path.read_text().replace(text, damaged, 1))
    with pytest.raises(DatasetError, match=r"cannot be read: train/label/zarr\.json: "):
        open_dataset(tmp_path / "d").chunk("train", 0)


def test_cut_off_manifest_says_so(tmp_path: Path):
    write(tmp_path / "d", sample("dense"))
    file = tmp_path / "d" / "manifest.json"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(DatasetError, match=r"manifest\.json is broken"):
        open_dataset(tmp_path / "d")
