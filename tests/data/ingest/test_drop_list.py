"""A column that only some of several sources have can be left out, and a misspelt one is named."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from olscale.data.ingest.ingest import ingest
from olscale.errors import DatasetError, FormatError, UnknownNameError

Columns = dict[str, list[object]]
DAYS: list[Columns] = [
    {"a": [1.0, 2.0], "b": [0.5, 0.25], "y": ["u", "v"]},
    {"a": [3.0, 4.0], "sky": ["red", "blue"], "b": [0.125, 0.0], "y": ["u", "v"]},
]


def as_csv(path: Path, columns: Columns) -> None:
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))


def as_jsonl(path: Path, columns: Columns) -> None:
    rows = [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def as_late_jsonl(path: Path, columns: Columns) -> None:
    """Write records of which only the last, far behind the first, has the column of few."""
    as_jsonl(path, {name: column for name, column in columns.items() if name != "sky"})
    lines = path.read_text() * 1_500
    if "sky" in columns:
        lines += json.dumps({"a": 0.0, "b": 0.0, "sky": "red", "y": "u"}) + "\n"
    path.write_text(lines)


def as_parquet(path: Path, columns: Columns) -> None:
    pq.write_table(pa.table(columns), path)


def as_arff(path: Path, columns: Columns) -> None:
    kinds = {"y": "{u,v}", "sky": "{red,blue}"}
    lines = ["@relation day"]
    lines += [f"@attribute {name} {kinds.get(name, 'numeric')}" for name in columns]
    rows = zip(*columns.values(), strict=True)
    lines += ["@data", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


WRITERS = {
    "csv": as_csv,
    "jsonl": as_jsonl,
    "late.jsonl": as_late_jsonl,
    "parquet": as_parquet,
    "arff": as_arff,
}


def days(
    folder: Path, suffix: str, write: Callable[[Path, Columns], None]
) -> list[Path]:
    paths = [folder / f"day{i}.{suffix}" for i in range(len(DAYS))]
    for path, columns in zip(paths, DAYS, strict=True):
        write(path, columns)
    return paths


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("in_reverse", [False, True])
def test_a_column_that_some_sources_lack_is_left_out(
    tmp_path: Path, suffix: str, in_reverse: bool
) -> None:
    paths = days(tmp_path, suffix, WRITERS[suffix])[:: -1 if in_reverse else 1]
    if not (in_reverse and suffix.endswith("jsonl")):  # whose keys may be missing
        with pytest.raises((DatasetError, FormatError), match="--drop sky"):
            ingest(paths, tmp_path / "kept")
    dataset = ingest(paths, tmp_path / "rows", drop="sky")
    first = dataset.chunk("train", 0)
    rows = np.asarray(first.X)
    if suffix == "late.jsonl":
        assert dataset.rows("train") == 6_001
        return
    expected = [[1.0, 0.5], [2.0, 0.25], [3.0, 0.125], [4.0, 0.0]]
    assert rows.tolist() == (expected[2:] + expected[:2] if in_reverse else expected)
    assert dataset.manifest.table is not None
    assert dataset.manifest.table.dropped == ("sky",)


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_column_that_no_source_has_is_named(tmp_path: Path, suffix: str) -> None:
    paths = days(tmp_path, suffix, WRITERS[suffix])
    with pytest.raises(UnknownNameError, match=r"column of the sources 'skies'"):
        ingest(paths, tmp_path / "rows", drop=["sky,skies"])
    assert not (tmp_path / "rows").exists()
    with pytest.raises(UnknownNameError, match=r"day0"):
        ingest(paths[0], tmp_path / "rows", drop="sky")


def test_members_of_an_archive_are_several_sources(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "days.tar", "w") as archive:
        for path in days(tmp_path, "csv", as_csv):
            archive.add(path, path.name)
    dataset = ingest(tmp_path / "days.tar", tmp_path / "rows", drop=("sky", "b"))
    assert np.asarray(dataset.chunk("train", 0).X).tolist() == [
        [1.0],
        [2.0],
        [3.0],
        [4.0],
    ]


def test_a_name_with_a_comma_and_a_position_are_as_of_one_source(
    tmp_path: Path,
) -> None:
    paths = [tmp_path / "0.csv", tmp_path / "1.csv"]
    paths[0].write_text('"a,b",c,y\n1,2,u\n3,4,v\n')
    paths[1].write_text("a,b,c,y\n1,2,5,u\n3,4,6,v\n")
    dataset = ingest(paths, tmp_path / "rows", drop="a,b")
    assert np.asarray(dataset.chunk("train", 0).X).tolist() == [
        [2.0],
        [4.0],
        [5.0],
        [6.0],
    ]
    dataset = ingest([paths[1]] * 2, tmp_path / "twice", drop="0,-2")
    assert np.asarray(dataset.chunk("train", 0).X).tolist() == [
        [2.0],
        [4.0],
        [2.0],
        [4.0],
    ]
