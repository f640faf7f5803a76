"""The label of the first table is that of all: by its name, wherever it stands."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from olscale.data.dataset import Dataset
from olscale.data.ingest.ingest import ingest
from olscale.errors import DatasetError

TRAIN = "a,b,y\n1,2,p\n3,4,q\n"
FIRST = "y,a,b\np,1,2\nq,3,4\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def content(dataset: Dataset, split: str) -> list[object]:
    classes = dataset.classes
    assert classes is not None
    return [
        (row.tolist(), classes[code])
        for chunk in dataset.chunks(split)
        for row, code in zip(chunk.X, chunk.y, strict=True)
    ]


def other_file(kind: str, folder: Path) -> Path:
    if kind == "parquet":
        parquet.write_table(
            pa.table({"y": ["p", "q"], "a": [1, 3], "b": [2, 4]}), folder / "t.parquet"
        )
        return folder / "t.parquet"
    if kind == "arff":
        declared = "@relation r\n@attribute y {p,q}\n@attribute a real\n@attribute b real\n@data\n"
        return write(folder / "t.arff", declared + FIRST.split("\n", 1)[1])
    if kind == "tsv":
        return write(folder / "t.tsv", FIRST.replace(",", "\t"))
    return write(folder / "t.csv", FIRST)


@pytest.mark.parametrize("kind", ["csv", "tsv", "arff", "parquet"])
def test_a_label_that_stands_elsewhere_in_a_later_source(
    tmp_path: Path, kind: str
) -> None:
    train = write(tmp_path / "train.csv", TRAIN)
    test = other_file(kind, tmp_path)
    dataset = ingest(train, tmp_path / "d", test=test)
    assert (
        content(dataset, "train")
        == content(dataset, "test")
        == [([1.0, 2.0], "p"), ([3.0, 4.0], "q")]
    )
    both = ingest([train, test], tmp_path / "both")
    assert content(both, "train") == 2 * content(dataset, "train")


def test_a_label_of_another_name_needs_the_same_features(tmp_path: Path) -> None:
    train = write(tmp_path / "train.csv", TRAIN)
    last = write(tmp_path / "last.csv", TRAIN.replace("y", "Y"))
    dataset = ingest(train, tmp_path / "d", test=last)
    assert content(dataset, "test") == content(dataset, "train")
    said = r"has no column 'y', which is the label of the sources before it, and with 'b' as its label it has no feature 'b'"
    for name, text in (("first", FIRST.replace("y", "Y")), ("none", "a,b\n1,2\n")):
        odd = write(tmp_path / f"{name}.csv", text)
        with pytest.raises(
            DatasetError, match=f"{name}.csv {said}; name its columns as theirs"
        ):
            ingest(train, tmp_path / "e", test=odd)
    assert not (tmp_path / "e").exists()


def test_a_label_that_was_asked_for_is_that_of_all(tmp_path: Path) -> None:
    train = write(tmp_path / "train.csv", FIRST)
    test = write(tmp_path / "test.csv", TRAIN)
    dataset = ingest(train, tmp_path / "d", test=test, label="a", target="classes")
    assert dataset.classes == (1, 3)
    assert dataset.manifest.label_column == "a"
