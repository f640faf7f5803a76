"""Columns that folders say are columns of the table, as the libraries that write such folders read them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import dataset as arrow_dataset

from olscale.compiled.csr import to_dense
from olscale.data.dataset import Dataset
from olscale.data.formats.cells import is_number
from olscale.data.ingest.ingest import ingest
from olscale.errors import DatasetError, FormatError, UnknownNameError
from olscale.models.about import ColumnsEntry
from olscale.models.source import ModelSource

WORDS = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=5
)
NUMBERS = st.integers(-50, 2**40)


def written(
    folder: Path,
    names: list[str],
    content: str = "x,y\n1,0\n2,1\n",
    ending: str = ".csv",
) -> Path:
    """Write a part of the same rows in each of the folders `names`."""
    for name in names:
        part = folder / name / f"part-0{ending}"
        part.parent.mkdir(parents=True)
        part.write_text(content)
    return folder


def table_of(dataset: Dataset) -> pd.DataFrame:
    """Return the rows of a dataset as the table that they were, a text column made whole again."""
    names = dataset.manifest.feature_names
    assert names is not None
    dense = np.concatenate(
        [to_dense(chunk.X, dataset.columns) for chunk in dataset.chunks("train")]
    )
    table = dataset.manifest.table
    assert table is not None
    columns: dict[str, Any] = {
        name: dense[:, place] for place, name in enumerate(names[: table.numeric])
    }
    for column in table.categorical:
        values = {
            place: name
            for place, name in enumerate(names)
            if name.startswith(f"{column}=")
        }
        columns[column] = [
            next(
                (
                    name[len(column) + 1 :]
                    for place, name in values.items()
                    if row[place]
                ),
                None,
            )
            for row in dense
        ]
    return pd.DataFrame(columns)


@pytest.mark.parametrize("format", ["parquet", "csv"])
@given(
    words=st.lists(st.none() | WORDS, min_size=4, max_size=4),
    numbers=st.lists(st.none() | NUMBERS, min_size=4, max_size=4),
)
@example(words=["NA", "a b/c%", "=", "__x"], numbers=[7, None, 10, 2])
@example(words=["1", "2.5", None, "x"], numbers=[1, 1, 1, 1])
@settings(max_examples=12, deadline=None)
def test_columns_are_those_that_pyarrow_reads(
    tmp_path_factory: pytest.TempPathFactory,
    format: str,
    words: list[str | None],
    numbers: list[int | None],
) -> None:
    """Whatever the words: escaped ones, some that look like numbers, those of other formats for no value."""
    folder = tmp_path_factory.mktemp("parts")
    rows = pa.table(
        {
            "x": [0.5, 1.5, 2.5, 3.5],
            "y": [0, 1, 0, 1],
            "word": pa.array(words, pa.string()),
            "number": pa.array(numbers, pa.int64()),
        }
    )
    hive = arrow_dataset.partitioning(
        pa.schema([("word", pa.string()), ("number", pa.int64())]), flavor="hive"
    )
    arrow_dataset.write_dataset(rows, folder / "t", format=format, partitioning=hive)
    oracle = (
        arrow_dataset.dataset(folder / "t", format=format, partitioning=hive)
        .to_table()
        .to_pandas()
    )
    oracle = oracle.sort_values("x")
    ours = table_of(ingest(folder / "t", folder / "d")).sort_values("x")
    assert ours["x"].tolist() == oracle["x"].tolist()
    for column in ("word", "number"):
        cells = [
            None if pd.isna(cell) or cell == "" else cell for cell in oracle[column]
        ]
        if all(cell is None or is_number(str(cell)) for cell in cells):
            expected = [math.nan if cell is None else float(cell) for cell in cells]
            np.testing.assert_array_equal(ours[column], expected)
        else:
            assert [None if pd.isna(cell) else cell for cell in ours[column]] == cells


def test_a_frame_that_pandas_writes_comes_back(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "x": np.arange(8) / 2,
            "y": [0, 1] * 4,
            "day": list("abcabcab"),
            "hour": [1, 2] * 4,
        }
    )
    frame.to_parquet(tmp_path / "t", partition_cols=["day", "hour"])
    back = pd.read_parquet(tmp_path / "t").sort_values("x")
    ours = table_of(ingest(tmp_path / "t", tmp_path / "d")).sort_values("x")
    assert ours["day"].tolist() == back["day"].tolist()
    assert ours["hour"].tolist() == back["hour"].tolist()
    assert [*ours] == ["x", "hour", "day"], (
        "numbers first, then text; the label is the last column of the file"
    )


ARFF = "@relation r\n@attribute x real\n@attribute y {0,1}\n@data\n1,0\n2,1\n"


@pytest.mark.parametrize(
    ("content", "ending"),
    [("x,y\n1,0\n2,1\n", ".csv"), ("x\ty\n1\t0\n2\t1\n", ".tsv"), (ARFF, ".arff")],
)
def test_every_text_format_of_tables_has_them(
    tmp_path: Path, content: str, ending: str
) -> None:
    written(tmp_path / "t", ["hour=09", "hour=10"], content, ending)
    dataset = ingest(tmp_path / "t", tmp_path / "d")
    assert dataset.manifest.feature_names == ("x", "hour")
    assert dataset.chunk("train", 0).X.tolist() == [[1, 9], [2, 9], [1, 10], [2, 10]]


def test_long_parts_are_read_by_the_compiled_loop_with_them(tmp_path: Path) -> None:
    text = "x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(5_000))
    written(tmp_path / "t", ["day=mon", "day=tue"], text)
    dataset = ingest(tmp_path / "t", tmp_path / "d", chunk_rows=1_000)
    table = table_of(dataset)
    assert table["day"].tolist() == ["mon"] * 5_000 + ["tue"] * 5_000
    assert table["x"].tolist() == [*range(5_000)] * 2


def test_it_is_a_column_like_any_other(tmp_path: Path) -> None:
    written(tmp_path / "t", ["day=2024-01-30", "day=2024-01-31"])

    def made(name: str, **options: Any) -> Dataset:
        return ingest(tmp_path / "t", tmp_path / name, **options)

    assert made("feature").manifest.feature_names == (
        "x",
        "day=2024-01-30",
        "day=2024-01-31",
    )
    label = made("label", label="day")
    assert (label.classes, label.manifest.feature_names) == (
        ("2024-01-30", "2024-01-31"),
        ("x", "y"),
    )
    dropped = made("dropped", drop="day", segments="day")
    assert (dropped.manifest.feature_names, dropped.segments()) == (
        ("x",),
        (("2024-01-30", 0), ("2024-01-31", 2)),
    )
    dates = made("dates", encode="day=date", segments="day")
    assert dates.columns == 8
    assert dates.segments() == dropped.segments()
    assert made("last", label=-1).manifest.label_column == "y", (
        "negative positions count from the end of the file"
    )
    with pytest.raises(UnknownNameError, match="'dya'; did you mean 'day'"):
        made("unknown", label="dya")


def test_a_table_without_names_has_them_too(tmp_path: Path) -> None:
    written(tmp_path / "t", ["hour=1", "hour=2"], "0.5,3\n1.5,4\n" * 3)
    dataset = ingest(tmp_path / "t", tmp_path / "d")
    assert dataset.manifest.feature_names == ("x0", "hour")
    assert (
        ingest(tmp_path / "t", tmp_path / "e", label="hour").manifest.label_column
        == "hour"
    )


def test_the_files_own_column_stands(tmp_path: Path) -> None:
    """DuckDB may write it in both places."""
    written(tmp_path / "t", ["day=mon", "day=tue"], "day,x,y\n3,1,0\n4,2,1\n")
    notes: list[str] = []
    dataset = ingest(tmp_path / "t", tmp_path / "d", note=notes.append)
    assert dataset.manifest.feature_names == ("day", "x")
    assert notes == [
        "column 'day' is in the files and in the names of their folders; the files' is read"
    ]


def test_a_label_without_a_value_is_missing(tmp_path: Path) -> None:
    written(tmp_path / "t", ["day=mon", "day=__HIVE_DEFAULT_PARTITION__"])
    with pytest.raises(
        FormatError, match=r"the label is missing \(column 'day' of its folder\)"
    ):
        ingest(tmp_path / "t", tmp_path / "d", label="day")
    segments = ingest(tmp_path / "t", tmp_path / "e", segments="day").segments()
    assert sorted(name for name, _ in segments) == ["?", "mon"]


WAYS: dict[str, list[str]] = {
    "a folder": ["t"],
    "a pattern of folders": ["t/day=*"],
    "a pattern of files": ["t/*/*.csv"],
    "folders": ["t/day=mon", "t/day=tue"],
    "files, as a shell puts them in the place of a pattern": [
        "t/day=mon/part-0.csv",
        "t/day=tue/part-0.csv",
    ],
}


@pytest.mark.parametrize("named", WAYS.values(), ids=WAYS)
def test_however_the_parts_are_named(tmp_path: Path, named: list[str]) -> None:
    written(tmp_path / "t", ["day=mon", "day=tue"])
    sources = [str(tmp_path / name) for name in named]
    dataset = ingest(sources, tmp_path / "d", segments="files")
    assert dataset.manifest.feature_names == ("x", "day=mon", "day=tue")
    assert dataset.segments() == (("day=mon", 0), ("day=tue", 2))
    assert [source.name for source in dataset.manifest.sources] == [
        "day=mon/part-0.csv",
        "day=tue/part-0.csv",
    ]


def test_one_file_alone_has_no_more_columns_than_it_holds(tmp_path: Path) -> None:
    written(tmp_path / "t", ["day=mon"])
    assert ingest(
        tmp_path / "t/day=mon/part-0.csv", tmp_path / "d"
    ).manifest.feature_names == ("x",)


def test_the_train_split_decides_for_the_test_split(tmp_path: Path) -> None:
    written(tmp_path / "t", ["hour=1", "hour=2", "hour=x"])
    days = [tmp_path / "t/hour=1", tmp_path / "t/hour=2"]
    dataset = ingest(days, tmp_path / "d", test=tmp_path / "t/hour=x")
    assert dataset.manifest.feature_names == ("x", "hour=1", "hour=2", "hour=x"), (
        "text, for the test split has a word"
    )
    plain = tmp_path / "plain.csv"
    plain.write_text("x,y\n1,0\n2,1\n")
    notes: list[str] = []
    assert (
        ingest(plain, tmp_path / "e", test=tmp_path / "t", note=notes.append).columns
        == 1
    )
    assert notes == [
        "folders of the test split say 'hour', those of the train split do not: not read"
    ]
    with pytest.raises(DatasetError, match="it lacks 'hour'"):
        ingest(tmp_path / "t", tmp_path / "f", test=plain)


def test_several_files_of_a_folder_are_told_apart(tmp_path: Path) -> None:
    for name in ("day=mon/part-0", "day=mon/part-1", "day=tue/part-0"):
        path = tmp_path / "t" / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x,y\n1,0\n2,1\n")
    segments = ingest(tmp_path / "t", tmp_path / "d", segments="files").segments()
    assert [name for name, _ in segments] == [
        "day=mon/part-0",
        "day=mon/part-1",
        "day=tue",
    ]


def test_rows_that_are_no_table_have_them_for_segments(tmp_path: Path) -> None:
    written(tmp_path / "t", ["day=01", "day=02"], "1 1:1\n-1 2:1\n", ".svm")
    dataset = ingest(tmp_path / "t", tmp_path / "d", segments="day")
    assert dataset.segments() == (("01", 0), ("02", 2))
    notes: list[str] = []
    ingest(tmp_path / "t", tmp_path / "e", note=notes.append)
    assert notes == [
        "column 'day', which names of folders say, is no feature of rows in svmlight; "
        "--segments day makes segments of it"
    ]
    assert ingest(tmp_path / "t", tmp_path / "f", drop="day").columns == 2
    with pytest.raises(
        FormatError,
        match="is svmlight, whose labels are in the rows, not in a column 'day'",
    ):
        ingest(tmp_path / "t", tmp_path / "g", label="day")


def test_a_model_reads_the_day_that_comes_after(tmp_path: Path) -> None:
    """Also one file of it alone, which as a source of a dataset would have no such column."""
    written(tmp_path / "t", ["day=mon", "day=tue", "day=sun"])
    columns = ColumnsEntry(
        count=3,
        kind="sparse",
        names=("x", "day=mon", "day=tue"),
        text=("day",),
        label="y",
    )
    for named, expected in (
        ("t", [[1, 1, 0], [2, 1, 0], [1, 0, 0], [2, 0, 0], [1, 0, 1], [2, 0, 1]]),
        ("t/day=tue", [[1, 0, 1], [2, 0, 1]]),
        ("t/day=mon/part-0.csv", [[1, 1, 0], [2, 1, 0]]),
    ):
        source = ModelSource(columns, str(tmp_path / named))
        parts = [to_dense(part.X, 3) for part in source]
        assert np.concatenate(parts).tolist() == expected
    without = ColumnsEntry(count=1, kind="dense", names=("x",), label="y")
    assert [
        part.X.tolist() for part in ModelSource(without, str(tmp_path / "t/day=tue"))
    ] == [[[1.0], [2.0]]]


def test_an_empty_part_of_rows_to_predict_is_passed_over(tmp_path: Path) -> None:
    written(tmp_path / "t", ["day=mon", "day=tue"])
    (tmp_path / "t/day=tue/part-0.csv").write_text("")
    source = ModelSource(
        ColumnsEntry(count=1, kind="dense", names=("x",), label="y"),
        str(tmp_path / "t"),
    )
    assert sum(len(part.X) for part in source) == 2
    assert source.notes == [f"passed over as empty: {tmp_path}/t/day=tue/part-0.csv"]
