"""A value is one feature however sources and frames write it: truth values, and whole numbers as ids."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from olscale.compiled.csr import to_dense
from olscale.data.dataset import Dataset
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError, ParameterError
from olscale.models.about import ColumnsEntry
from olscale.models.raw_rows import RowEncoder
from olscale.models.source import ModelSource

TRUTHS = [True, False, True, True]
SIZES = [1.5, 2.5, -3.5, 0.5]
WORDS = {
    "words": ("false", "true"),
    "pandas": ("False", "True"),
    "R": ("FALSE", "TRUE"),
}


def write(folder: Path, kind: str, cells: list[Any]) -> Path:
    """Return a table of `cells` in a column `c`, beside sizes and labels."""
    columns: dict[str, Any] = {"s": SIZES, "c": cells, "y": ["a", "b", "a", "b"]}
    records = [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    path = folder / f"rows.{kind}"
    if kind == "parquet":
        parquet.write_table(pa.table(columns), path)
    elif kind == "jsonl":
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    else:
        lines = [",".join(map(str, record.values())) for record in records]
        path.write_text("\n".join(["s,c,y", *lines, ""]))
    return path


def spelled(kind: str) -> list[str]:
    return [WORDS[kind][truth] for truth in TRUTHS]


def made(folder: Path, source: Path, *encode: str) -> Dataset:
    return ingest(str(source), str(folder / "set"), label="y", encode=encode)


def own_rows(dataset: Dataset) -> np.ndarray:
    [chunk] = dataset.chunks("train")
    return to_dense(chunk.X, dataset.columns)


def read_rows(dataset: Dataset, path: Path) -> tuple[np.ndarray, int]:
    """Return the rows of a source as those of a model of `dataset`, and the unknown values."""
    columns = ColumnsEntry.of(dataset.manifest)
    source = ModelSource(columns, str(path))
    [rows] = source
    return to_dense(rows.X, columns.count), source.unknown


def frames(cells: list[Any]) -> list[Any]:
    rows = [{"s": s, "c": c} for s, c in zip(SIZES, cells, strict=True)]
    table = pd.DataFrame(rows)
    return [rows, table, table.astype({"c": object}), pa.Table.from_pandas(table)]


CODINGS = [(), ("c=one-hot:values=2",), ("c=hash:features=8",)]


@pytest.mark.parametrize("encode", CODINGS, ids=["plain", "first", "hash"])
@pytest.mark.parametrize("learned", WORDS)
def test_truth_values_are_the_words_that_a_model_learned(
    tmp_path: Path, learned: str, encode: tuple[str, ...]
) -> None:
    dataset = made(tmp_path, write(tmp_path, "csv", spelled(learned)), *encode)
    expected = own_rows(dataset)
    for kind in ("parquet", "jsonl"):
        rows, unknown = read_rows(dataset, write(tmp_path, kind, TRUTHS))
        np.testing.assert_array_equal(rows, expected)
        assert unknown == 0
    encoder = RowEncoder(ColumnsEntry.of(dataset.manifest))
    for other in WORDS:
        rows, unknown = read_rows(dataset, write(tmp_path, "csv", spelled(other)))
        np.testing.assert_array_equal(rows, expected)
        assert unknown == 0
    for cells in (TRUTHS, *map(spelled, WORDS)):
        for frame in frames(cells):
            rows = to_dense(encoder.rows(frame), dataset.columns)
            np.testing.assert_array_equal(rows, expected)


def test_words_where_a_model_learned_truth_values_are_refused(tmp_path: Path) -> None:
    dataset = made(tmp_path, write(tmp_path, "parquet", TRUTHS))
    with pytest.raises(
        FormatError, match=r"'c' is 'true'.* true and false are 1 and 0"
    ):
        read_rows(dataset, write(tmp_path, "csv", spelled("words")))
    encoder = RowEncoder(ColumnsEntry.of(dataset.manifest))
    with pytest.raises(
        ParameterError, match=r"'c' of X was 'true'.* 1 and 0, not words"
    ):
        encoder.rows([{"s": 1.0, "c": "true"}])


def test_a_source_of_truth_values_behind_one_of_words_is_refused(
    tmp_path: Path,
) -> None:
    words = write(tmp_path, "csv", spelled("words"))
    for kind in ("parquet", "jsonl"):
        truths = write(tmp_path, kind, TRUTHS)
        with pytest.raises(FormatError, match="'c' is true or false, expected text as"):
            ingest(str(words), str(tmp_path / "two"), test=str(truths), label="y")


IDS = {
    "csv": (["7", "12", "7", "-3"], ["7.0", "12.0", "7.0", "-3.0"]),
    "parquet": ([7, 12, 7, -3], [7.0, 12.0, 7.0, -3.0]),
    "jsonl": ([7, 12, 7, -3], [7.0, 12.0, 7.0, -3.0]),
}


@pytest.mark.parametrize("encode", ["c=hash:features=16", "c=one-hot:values=3"])
def test_ids_with_a_point_are_those_without(tmp_path: Path, encode: str) -> None:
    plain = made(tmp_path, write(tmp_path, "csv", IDS["csv"][0]), encode)
    expected = own_rows(plain)
    encoder = RowEncoder(ColumnsEntry.of(plain.manifest))
    for kind, forms in IDS.items():
        for number, cells in enumerate(forms):
            path = write(tmp_path, kind, cells)
            rows, unknown = read_rows(plain, path)
            np.testing.assert_array_equal(rows, expected)
            assert unknown == 0
            folder = tmp_path / f"{kind}{number}"
            folder.mkdir()
            np.testing.assert_array_equal(
                own_rows(made(folder, path, encode)), expected
            )
            for frame in frames(cells):
                rows = to_dense(encoder.rows(frame), plain.columns)
                np.testing.assert_array_equal(rows, expected)


def test_models_of_earlier_datasets_hash_cells_as_they_are_written(
    tmp_path: Path,
) -> None:
    cells = ["7", "7.0", "True", "true"]
    encode = "c=hash:features=1024"
    source = write(tmp_path, "csv", cells)
    dataset = made(tmp_path, source, encode)
    assert len(np.unique(own_rows(dataset)[:, 1:], axis=0)) == 2
    entry = dataset.manifest.table
    assert entry is not None
    before = replace(dataset.manifest, table=replace(entry, hashed=None))
    columns = ColumnsEntry.of(before)
    [of_file] = ModelSource(columns, str(source))
    for X in (of_file.X, *map(RowEncoder(columns).rows, frames(cells)[:2])):
        assert len(np.unique(to_dense(X, columns.count)[:, 1:], axis=0)) == 4


def test_names_that_begin_with_a_zero_are_no_numbers(tmp_path: Path) -> None:
    source = write(tmp_path, "csv", ["007", "7", "7.5", "07.0"])
    rows = own_rows(made(tmp_path, source, "c=hash:features=1024"))
    assert len(np.unique(rows[:, 1:], axis=0)) == 4


def test_numbers_of_json_lines_are_words_where_they_are_coded(tmp_path: Path) -> None:
    """In a text long enough for Arrow, and with missing values, as line by line."""
    lines = [{"c": i % 5 if i % 7 else None, "s": 0.5, "y": i % 2} for i in range(5000)]
    many = tmp_path / "many.jsonl"
    many.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    dataset = made(tmp_path, many, "c=one-hot:values=9")
    assert dataset.manifest.feature_names == ("s", *(f"c={i}" for i in range(5)))
    [chunk] = dataset.chunks("train")
    rows = to_dense(chunk.X, dataset.columns)
    expected = [line["c"] is not None for line in lines]
    np.testing.assert_array_equal(rows[:, 1:].sum(axis=1), expected)
