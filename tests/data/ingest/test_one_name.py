"""Features of two columns that have one name are refused, and never become one column."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from olscale.compiled.csr import to_dense
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
        path.write_text("\n".join([*head, *(",".join(map(str, row)) for row in rows)]) + "\n")
    else:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([tuple(columns), *rows])
    return path


def refused(first: str, second: str, feature: str) -> str:
    return re.escape(
        f"columns {first!r} and {second!r} both make a feature {feature!r}; rename one of them"
    )


@pytest.mark.parametrize("kind", ["csv", "arff", "parquet"])
def test_a_number_called_as_a_value_is(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"t.{kind}", COLORS)
    with pytest.raises(
        FormatError, match=f"t.{kind}: {refused('color=red', 'color', 'color=red')}"
    ):
        ingest(path, tmp_path / "d")
    assert not (tmp_path / "d").exists()
    kept = ingest(path, tmp_path / "kept", drop="color=red")
    assert kept.manifest.feature_names == ("color=red", "color=blue")


def test_values_of_two_text_columns(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.csv", {"a": ["b=c", "x"], "a=b": ["c", "c"], "size": [1, 2], "y": ["p", "n"]}
    )
    with pytest.raises(FormatError, match=refused("a", "a=b", "a=b=c")):
        ingest(path, tmp_path / "d")


@pytest.mark.parametrize("coding", ["hash:features=2", "one-hot:values=1"])
def test_features_of_a_coding(tmp_path: Path, coding: str) -> None:
    name = "a=#1" if "hash" in coding else "a=other"
    path = write(tmp_path / "t.csv", {"a": ["u", "v"], name: [1, 2], "y": ["p", "n"]})
    with pytest.raises(FormatError, match=refused(name, "a", name)):
        ingest(path, tmp_path / "d", encode=f"a={coding}")


def test_a_value_that_comes_late_or_in_the_test_split(tmp_path: Path) -> None:
    without = write(tmp_path / "train.csv", {**COLORS, "color": ["green", "blue"]})
    test = write(tmp_path / "test.csv", COLORS)
    assert ingest(without, tmp_path / "d").columns == 3
    with pytest.raises(
        FormatError, match=f"test.csv: {refused('color=red', 'color', 'color=red')}"
    ):
        ingest(without, tmp_path / "both", test=test)
    many = 30_000
    late = {
        "color": ["blue"] * many + ["red"],
        "color=red": [1.5] * (many + 1),
        "y": ["p"] * many + ["n"],
    }
    with pytest.raises(FormatError, match=refused("color=red", "color", "color=red")):
        ingest(write(tmp_path / "late.csv", late), tmp_path / "late")


def test_values_that_clash_over_two_sources(tmp_path: Path) -> None:
    train = write(tmp_path / "train.csv", {"a": ["b=c", "x"], "a=b": ["d", "e"], "y": ["p", "n"]})
    test = write(tmp_path / "test.csv", {"a": ["z", "x"], "a=b": ["c", "e"], "y": ["p", "n"]})
    with pytest.raises(FormatError, match=f"test.csv: {refused('a', 'a=b', 'a=b=c')}"):
        ingest(train, tmp_path / "d", test=test)


def test_names_that_could_clash_and_do_not(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.csv", {"a": ["x", "y"], "a=b": ["c", "d"], "a=9": [1, 2], "y": ["p", "n"]}
    )
    made = ingest(path, tmp_path / "d")
    assert made.manifest.feature_names == ("a=9", "a=x", "a=b=c", "a=y", "a=b=d")
    assert made.manifest.table is not None
    assert made.manifest.table.categorical == {"a": 2, "a=b": 2}
    (chunk,) = made.chunks()
    assert to_dense(chunk.X, 5).tolist() == [[1, 1, 1, 0, 0], [2, 0, 0, 1, 1]]
