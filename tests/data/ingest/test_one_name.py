"""Features of two columns that have one name are refused, and never become one column."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError

COLORS = {"color": ["red", "blue"], "color=red": [0.5, 1.5], "y": ["p", "n"]}


def write(path: Path, columns: dict[str, list]) -> Path:
    rows = list(zip(*columns.values(), strict=True))
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix == ".arff":
        kinds = {
            name: "string" if isinstance(cells[0], str) else "real"
            for name, cells in columns.items()
        }
        head = [
            "@relation r",
            *(f"@attribute {name} {kind}" for name, kind in kinds.items()),
            "@data",
        ]
        path.write_text(
            "\n".join([*head, *(",".join(map(str, row)) for row in rows)]) + "\n"
        )
    else:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([tuple(columns), *rows])
    return path


@pytest.mark.parametrize("kind", ["csv", "arff", "parquet"])
def test_a_number_called_as_a_value_is(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"t.{kind}", COLORS)
    with pytest.raises(
        FormatError,
        match=f"t.{kind}: column 'color=red' is called as a value of column 'color' is",
    ):
        ingest(path, tmp_path / "d")
    assert not (tmp_path / "d").exists()
    kept = ingest(path, tmp_path / "kept", drop="color=red")
    assert kept.manifest.feature_names == ("color=blue", "color=red")


def test_a_column_of_text_called_as_a_value_is(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.csv",
        {"a": ["b=c", "x"], "a=b": ["c", "c"], "size": [1, 2], "y": ["p", "n"]},
    )
    with pytest.raises(
        FormatError, match="column 'a=b' is called as a value of column 'a' is"
    ):
        ingest(path, tmp_path / "d")


def test_names_with_signs_that_are_no_values(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.csv", {"a": [1, 2], "a=b": ["c=d", "e"], "y": ["p", "n"]}
    )
    made = ingest(path, tmp_path / "d")
    assert made.manifest.feature_names == ("a", "a=b=c=d", "a=b=e")
    assert made.manifest.table is not None
    assert made.manifest.table.categorical == {"a=b": 2}
