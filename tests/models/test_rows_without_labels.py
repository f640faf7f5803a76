"""Rows to predict need no labels: whatever stands in their place, the model gets the same rows from every format."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from scipy.io import savemat

from olscale.compiled.csr import to_dense
from olscale.data.formats.base import ReadOptions
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError, ModelError, UnknownNameError
from olscale.models.about import ColumnsEntry
from olscale.models.source import ModelSource

Table = dict[str, list[Any]]

LABELS: dict[str, Callable[[int], list[Any] | None]] = {
    "classes": lambda rows: ["pq"[i % 2] for i in range(rows)],
    "numbers": lambda rows: [i % 2 for i in range(rows)],
    "question marks": lambda rows: ["?"] * rows,
    "empty": lambda rows: [""] * rows,
    "a word": lambda rows: ["unknown"] * rows,
    "some": lambda rows: ["p", "", "later", "?"] * rows,
    "none": lambda rows: None,
}


def write_csv(path: Path, table: Table, mark: str = ",", header: bool = True) -> None:
    lines = [[str(cell) for cell in row] for row in zip(*table.values(), strict=True)]
    path.write_text(
        "\n".join(mark.join(row) for row in [[*table]] * header + lines) + "\n"
    )


def write_arff(path: Path, table: Table) -> None:
    kinds = {"t": "{u,v}", "y": "{p,q,0,1}", "id": "string"}
    declared = [f"@attribute {name} {kinds.get(name, 'numeric')}" for name in table]
    rows = [
        ",".join(str(cell) or "?" for cell in row)
        for row in zip(*table.values(), strict=True)
    ]
    path.write_text("\n".join(["@relation r", *declared, "@data", *rows]) + "\n")


def write_parquet(path: Path, table: Table) -> None:
    columns = {
        name: [None if cell == "" else cell for cell in cells]
        for name, cells in table.items()
    }
    parquet.write_table(pa.table(columns), path)


TABLES: dict[str, Callable[[Path, Table], None]] = {
    "csv": write_csv,
    "tsv": lambda path, table: write_csv(path, table, "\t"),
    "arff": write_arff,
    "parquet": write_parquet,
}


def read(
    columns: ColumnsEntry, path: Path, **options: Any
) -> tuple[list[list[float]], ModelSource, list[Any]]:
    keep = options.pop("keep", ())
    refuse_unknown = options.pop("refuse_unknown", False)
    source = ModelSource(
        columns,
        str(path),
        options=ReadOptions(**options),
        keep=keep,
        refuse_unknown=refuse_unknown,
    )
    parts = list(source)
    return (
        np.concatenate([to_dense(part.X, columns.count) for part in parts]).tolist(),
        source,
        parts,
    )


@dataclass
class Drawn:
    """A table without label, and the model of it."""

    columns: ColumnsEntry
    features: Table
    rows: list[list[float]]
    place: int


@st.composite
def drawn_tables(draw: st.DrawFn) -> Drawn:
    count = draw(st.integers(1, 3))
    rows = draw(st.integers(2, 5))
    numbers = draw(
        st.lists(
            st.lists(st.integers(-50, 50), min_size=rows, max_size=rows),
            min_size=count,
            max_size=count,
        )
    )
    features: Table = {
        f"a{i}": [cell / 4 + 0.125 for cell in cells] for i, cells in enumerate(numbers)
    }
    expected = [list(row) for row in zip(*features.values(), strict=True)]
    text = draw(st.booleans())
    if text:
        words = draw(st.lists(st.sampled_from("uv"), min_size=rows, max_size=rows))
        features["t"] = words
        expected = [
            [*row, float(word == "u"), float(word == "v")]
            for row, word in zip(expected, words, strict=True)
        ]
    columns = ColumnsEntry(
        count=len(expected[0]),
        kind="sparse" if text else "dense",
        names=(*(f"a{i}" for i in range(count)), *(("t=u", "t=v") if text else ())),
        text=("t",) if text else (),
        label="y",
        dropped=("id",),
    )
    if draw(st.booleans()):
        features["id"] = [f"id-{i}" for i in range(rows)]
    return Drawn(columns, features, expected, draw(st.integers(0, len(features))))


def with_labels(
    features: Mapping[str, Sequence[Any]],
    place: int,
    name: str,
    labels: list[Any] | None,
) -> Table:
    items = [(key, list(cells)) for key, cells in features.items()]
    if labels is not None:
        items.insert(place, (name, labels))
    return dict(items)


@pytest.mark.parametrize("format", TABLES)
@given(table=drawn_tables())
@settings(max_examples=25, deadline=None)
def test_a_table_gives_the_same_rows_whatever_its_labels(
    tmp_path_factory: pytest.TempPathFactory, format: str, table: Drawn
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    rows = len(table.rows)
    for number, labels in enumerate(LABELS.values()):
        cells = labels(rows)
        column = None if cells is None else cells[:rows]
        path = folder / f"{number}.{format}"
        if format == "arff" and column is not None and "unknown" in column:
            continue  # its declaration would have the word
        TABLES[format](path, with_labels(table.features, table.place, "y", column))
        found, _, parts = read(table.columns, path)
        assert found == table.rows
        if column is None:
            assert all(part.labels is None for part in parts)
        else:
            known = [str(label) if label not in ("", "?") else None for label in column]
            got = [
                None if label in ("", "?") else label
                for part in parts
                for label in part.labels
            ]
            assert got == known


def test_an_arff_label_may_be_no_declared_value(tmp_path: Path) -> None:
    columns = ColumnsEntry(count=1, kind="dense", names=("a",), label="y")
    (tmp_path / "t.arff").write_text(
        "@relation r\n@attribute y {p,q}\n@attribute a real\n@data\nnew,1\n?,2\nq,3\n"
    )
    found, _, parts = read(columns, tmp_path / "t.arff")
    assert found == [[1.0], [2.0], [3.0]]
    assert parts[0].labels == ["new", None, "q"]


@pytest.mark.parametrize("kind", ["null", "timestamp", "float", "bool"])
def test_labels_of_any_type_in_parquet(tmp_path: Path, kind: str) -> None:
    columns = ColumnsEntry(count=1, kind="dense", names=("a",), label="y")
    types = {
        "null": pa.null(),
        "timestamp": pa.timestamp("s"),
        "float": pa.float64(),
        "bool": pa.bool_(),
    }
    cells = {
        "null": [None, None],
        "timestamp": [0, None],
        "float": [1.0, None],
        "bool": [True, None],
    }
    expected = {
        "null": None,
        "timestamp": "1970-01-01 00:00:00",
        "float": "1.0",
        "bool": "1",
    }
    parquet.write_table(
        pa.table({"y": pa.array(cells[kind], types[kind]), "a": [1, 2]}),
        tmp_path / "t.parquet",
    )
    found, _, parts = read(columns, tmp_path / "t.parquet")
    assert found == [[1.0], [2.0]]
    assert parts[0].labels == [expected[kind], None]


@given(
    cells=st.lists(
        st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=3, max_size=6
    ),
    place=st.sampled_from([0, 2]),
    dropped=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_a_table_without_names_goes_by_its_places(
    tmp_path_factory: pytest.TempPathFactory,
    cells: list[tuple[int, int]],
    place: int,
    dropped: bool,
) -> None:
    """The first row is data too: the model has no names that it could hold."""
    folder = tmp_path_factory.mktemp("rows")
    rows = [[a + 0.5, b + 0.25] for a, b in cells]
    names = [f"x{i}" for i in range(4) if i not in (place, 3)]
    columns = ColumnsEntry(
        count=2,
        kind="dense",
        names=tuple(names),
        label=place,
        dropped=("x3",) if dropped else (),
    )
    features: Table = {"a": [row[0] for row in rows], "b": [row[1] for row in rows]}
    if dropped:
        features["id"] = [f"id{i}" for i in range(len(rows))]
    for number, labels in enumerate(LABELS.values()):
        column = labels(len(rows))
        column = None if column is None else column[: len(rows)]
        if column is None and dropped and place == 0:
            continue
        path = folder / f"{number}.csv"
        write_csv(path, with_labels(features, place, "y", column), header=False)
        assert read(columns, path)[0] == rows


def test_an_unnamed_table_without_label_or_dropped_column_is_said_to_be_so(
    tmp_path: Path,
) -> None:
    columns = ColumnsEntry(
        count=2, kind="dense", names=("x1", "x2"), label=0, dropped=("x3",)
    )
    (tmp_path / "t.csv").write_text("1.5,2.5,a\n3.5,4.5,b\n")
    found, source, _ = read(columns, tmp_path / "t.csv")
    assert found == [[1.5, 2.5], [3.5, 4.5]]
    assert len(source.notes) == 1
    assert (
        "taken to have no label, and 'x2' for the column that is left out"
        in source.notes[0]
    )
    (tmp_path / "u.csv").write_text("1,1.5,2.5\n0,3.5,4.5\n")
    assert read(columns, tmp_path / "u.csv", label=0)[0] == found
    assert read(columns, tmp_path / "t.csv", drop=("2",))[0] == found


def test_a_row_of_numbers_that_count_is_data_for_a_model_without_names(
    tmp_path: Path,
) -> None:
    columns = ColumnsEntry(count=2, kind="dense", names=("x0", "x1"), label=2)
    (tmp_path / "t.csv").write_text("0,1,2\n12,5,6\n")
    assert read(columns, tmp_path / "t.csv")[0] == [[0.0, 1.0], [12.0, 5.0]]
    assert read(columns, tmp_path / "t.csv", header=True)[0] == [[12.0, 5.0]]
    (tmp_path / "t.csv").write_text("a,b,y\n12,5,6\n")
    assert read(columns, tmp_path / "t.csv")[0] == [[12.0, 5.0]]
    (tmp_path / "t.csv").write_text("3,4\n")
    assert read(columns, tmp_path / "t.csv")[0] == [[3.0, 4.0]]


def test_the_last_column_is_the_label_of_a_model_that_knows_none(
    tmp_path: Path,
) -> None:
    for columns in (
        ColumnsEntry(count=2, kind="dense", names=("a", "b")),
        ColumnsEntry(count=2, kind="dense"),
    ):
        for labels in (["p", "?", ""], ["?", "?", "?"], ["", "", ""], None):
            table = with_labels(
                {"a": [1.5, 2.5, 0.0], "b": [0, 3, 4]}, 2, "kind", labels
            )
            write_csv(tmp_path / "t.csv", table)
            found, _, [part] = read(columns, tmp_path / "t.csv")
            assert found == X.tolist()
            known = (
                None
                if labels is None
                else ["p" if label == "p" else None for label in labels]
            )
            assert part.labels == known


def test_one_feature_of_text_may_hold_what_separates_cells_elsewhere(
    tmp_path: Path,
) -> None:
    columns = ColumnsEntry(
        count=2, kind="sparse", names=("t=a, b", "t=c"), text=("t",), label="y"
    )
    (tmp_path / "t.csv").write_text('t\n"a, b"\nc\n')
    assert read(columns, tmp_path / "t.csv")[0] == [[1.0, 0.0], [0.0, 1.0]]


X = np.array([[1.5, 0.0], [2.5, 3.0], [0.0, 4.0]])
ARRAYS: dict[str, Any] = {
    "numbers": np.array([0, 1, 0]),
    "text": np.array(["p", "?", ""]),
    "empty": np.zeros(0),
    "no numbers": np.full(3, np.nan),
    "none": None,
}


@pytest.mark.parametrize("labels", ARRAYS)
@pytest.mark.parametrize("format", ["npz", "mat"])
def test_arrays_give_the_same_rows_whatever_their_labels(
    tmp_path: Path, format: str, labels: str
) -> None:
    columns = ColumnsEntry(count=2, kind="dense")
    arrays = {"X": X} if ARRAYS[labels] is None else {"X": X, "y": ARRAYS[labels]}
    path = tmp_path / f"rows.{format}"
    if format == "npz":
        np.savez(path, **arrays)
    else:
        savemat(path, arrays)
    found, _, parts = read(columns, path)
    assert found == X.tolist()
    assert (parts[0].labels is None) == (labels in ("none", "empty"))
    if labels == "none":
        with pytest.raises(FormatError, match="expected X"):
            ingest(path, tmp_path / "d")


def test_labels_that_are_objects_are_none(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", X=X, y=np.array([None, "p", None], dtype=object))
    found, _, parts = read(ColumnsEntry(count=2, kind="dense"), tmp_path / "rows.npz")
    assert (found, parts[0].labels) == (X.tolist(), None)


@pytest.mark.parametrize("name", ["new-images-idx3-ubyte", "new.idx"])
def test_images_need_no_file_of_labels(tmp_path: Path, name: str) -> None:
    images = bytes(range(8))
    (tmp_path / name).write_bytes(struct.pack(">HBB3I", 0, 8, 3, 2, 2, 2) + images)
    found, _, parts = read(ColumnsEntry(count=4, kind="dense"), tmp_path / name)
    assert found == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert parts[0].labels is None


LINES = ["1:1.5", "1:2.5 2:3", "2:4"]


@pytest.mark.parametrize(
    "labels",
    [
        ["1", "0", "1"],
        ["?"] * 3,
        ["", "", ""],
        ["spam", "x-1", "nan"],
        ["1,0", "3,7", "?"],
        ["1", "", "?"],
    ],
)
@pytest.mark.parametrize("name", ["rows.svm", "rows.txt"])
def test_svmlight_text_gives_the_same_rows_whatever_its_labels(
    tmp_path: Path, labels: list[str], name: str
) -> None:
    lines = [f"{label} {line}" for label, line in zip(labels, LINES, strict=True)]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    columns = ColumnsEntry(count=2, kind="sparse", index_base=1)
    found, _, [part] = read(columns, tmp_path / name)
    assert found == X.tolist()
    got = [None if np.isnan(label) else f"{label:g}" for label in part.labels]
    assert got == [label if label in ("0", "1") else None for label in labels]
    (tmp_path / name).write_text("\n".join(line for line in LINES) + "\n")
    assert read(columns, tmp_path / name)[0] == X.tolist()


def test_columns_that_were_dropped_are_dropped_again_and_may_be_kept(
    tmp_path: Path,
) -> None:
    train = {
        "id": ["a", "b", "007", "d"],
        "n": [1, 2, 3, 4],
        "day": [1, 1, 2, 2],
        "y": ["p", "q", "p", "q"],
    }
    write_csv(tmp_path / "train.csv", train)
    columns = ColumnsEntry.of(
        ingest(tmp_path / "train.csv", tmp_path / "d", drop="id,day").manifest
    )
    assert columns.dropped == ("id", "day")
    assert ColumnsEntry.model_validate_json(columns.model_dump_json()) == columns
    for lacking in ((), ("id",), ("day", "y"), ("id", "day", "y")):
        write_csv(
            tmp_path / "new.csv",
            {name: cells for name, cells in train.items() if name not in lacking},
        )
        assert read(columns, tmp_path / "new.csv")[0] == [[1.0], [2.0], [3.0], [4.0]]
    write_csv(tmp_path / "new.csv", train)
    _, _, [part] = read(columns, tmp_path / "new.csv", keep=("y,id", "n"))
    assert list(part.kept) == ["y", "id", "n"]
    assert part.kept["id"] == ["a", "b", "007", "d"]
    assert part.kept["y"] == part.labels == ["p", "q", "p", "q"]
    assert list(part.kept["n"]) == [1.0, 2.0, 3.0, 4.0]
    _, _, [part] = read(columns, tmp_path / "new.csv", keep=("0",), drop=("id",))
    assert part.kept == {"id": ["a", "b", "007", "d"]}
    with pytest.raises(
        UnknownNameError,
        match=r"unknown column of .*new.csv 'name'; there are: day, id, n, y",
    ):
        read(columns, tmp_path / "new.csv", keep=("name",))
    with pytest.raises(FormatError, match="there is no column 9 to keep"):
        read(columns, tmp_path / "new.csv", keep=("9",))
    with pytest.raises(
        ModelError, match="is a dataset, which has features and labels alone"
    ):
        read(columns, tmp_path / "d", keep=("id",))
    (tmp_path / "rows.svm").write_text("0 1:1\n")
    with pytest.raises(FormatError, match="is svmlight and has no columns to keep"):
        read(columns, tmp_path / "rows.svm", keep=("id",))


def test_identifiers_are_kept_as_they_are_written_in_every_format(
    tmp_path: Path,
) -> None:
    columns = ColumnsEntry(
        count=1, kind="dense", names=("a0",), label="y", dropped=("id",)
    )
    ids = ["9007199254740993", "0x7", "1.50"]
    for format, write in TABLES.items():
        write(tmp_path / f"t.{format}", {"id": ids, "a0": [1, 2, 3]})
        assert (
            read(columns, tmp_path / f"t.{format}", keep=("id",))[2][0].kept["id"]
            == ids
        )
    whole = [9007199254740993, 2, 3]
    write_parquet(tmp_path / "t.parquet", {"id": whole, "a0": [1, 2, 3]})
    assert read(columns, tmp_path / "t.parquet", keep=("id",))[2][0].kept["id"] == [
        str(cell) for cell in whole
    ]


def test_values_that_the_model_never_met_are_counted_or_refused(tmp_path: Path) -> None:
    named = ColumnsEntry(
        count=3, kind="sparse", names=("a", "t=u", "t=v=w"), text=("t",), label="y"
    )
    (tmp_path / "t.csv").write_text("a,t\n1,u\n2,new\n3,v=w\n4,x=y\n")
    found, source, _ = read(named, tmp_path / "t.csv")
    assert (found[1], source.unknown) == ([2.0, 0.0, 0.0], 2)
    with pytest.raises(
        ModelError,
        match=r"row 1 of .* has 'new' in column 't', which the model never met",
    ):
        read(named, tmp_path / "t.csv", refuse_unknown=True)
    placed = ColumnsEntry(count=2, kind="dense", index_base=1)
    (tmp_path / "t.svm").write_text("0 1:1\n1 2:1 3:5 9:5\n0 4:1\n")
    found, source, _ = read(placed, tmp_path / "t.svm")
    assert (found, source.unknown_indices) == ([[1, 0], [0, 1], [0, 0]], 3)
    with pytest.raises(
        ModelError,
        match=r"row 1 of .* has a value at index 3, which the model never met",
    ):
        read(placed, tmp_path / "t.svm", refuse_unknown=True)
