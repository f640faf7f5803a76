"""Rows reach a model by the names of their columns, or by their places, and never by chance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from olscale.compiled.csr import to_dense
from olscale.data.dataset import Dataset
from olscale.data.formats.base import ReadOptions
from olscale.data.ingest.ingest import ingest
from olscale.data.manifest import TableEntry
from olscale.errors import FormatError, ModelError, UnknownNameError
from olscale.models.about import ColumnsEntry
from olscale.models.source import ModelSource
from olscale.storage.strict_json import read_strictly

NAMED = ColumnsEntry(
    count=4, kind="sparse", names=("a", "b", "t=x", "t=y"), text=("t",), label="kind"
)
PLACED = ColumnsEntry(count=2, kind="dense", names=("x1", "x2"), label=0)
ROWS = [[1.0, 2.0, 1.0, 0.0], [3.0, 4.0, 0.0, 1.0]]


def rows(
    columns: ColumnsEntry, path: Path, **options: object
) -> tuple[list[list[float]], ModelSource, list[object]]:
    source = ModelSource(columns, str(path), options=ReadOptions(**options))  # type: ignore[arg-type]
    parts = list(source)
    found = np.concatenate([to_dense(part.X, columns.count) for part in parts])
    return found.tolist(), source, [part.labels for part in parts]


@pytest.mark.parametrize(
    "text",
    [
        "a,b,t,kind\n1,2,x,k\n3,4,y,k\n",
        "t,kind,b,a\nx,k,2,1\ny,k,4,3\n",
        "t,b,a\nx,2,1\ny,4,3\n",
        "b,a,t\n2,1,x\n4,3,y\n",
    ],
)
def test_columns_go_by_name_with_and_without_a_label(text: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(text)
    found, source, labels = rows(NAMED, tmp_path / "rows.csv")
    assert found == ROWS
    assert (source.rows, source.unknown) == (2, 0)
    assert labels == ([["k", "k"]] if "kind" in text else [None])


def test_other_formats_of_tables(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(
        pa.table({"t": ["y", "x"], "b": [4, 2], "a": [3, 1]}), tmp_path / "rows.parquet"
    )
    assert rows(NAMED, tmp_path / "rows.parquet")[0] == ROWS[::-1]
    arff = (
        "@relation r\n@attribute t {x,y}\n@attribute a real\n@attribute b "
        "real\n@data\nx,1,2\ny,3,4\n"
    )
    (tmp_path / "rows.arff").write_text(arff)
    assert rows(NAMED, tmp_path / "rows.arff")[0] == ROWS


def test_json_lines_with_and_without_a_label(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"t": "x", "b": 2, "kind": "k", "a": 1}\n{"b": 4, "a": 3, "t": "y", "kind": "l"}\n'
    )
    found, _, labels = rows(NAMED, path)
    assert (found, labels) == (ROWS, [["k", "l"]])
    path.write_text('{"b": 2, "a": 1, "t": "x"}\n{"b": 4, "t": "z", "a": 3}\n')
    found, source, labels = rows(NAMED, path)
    assert (found, labels, source.unknown) == (
        [ROWS[0], [3.0, 4.0, 0.0, 0.0]],
        [None],
        1,
    )
    path.write_text('{"bb": 2, "a": 1, "t": "x"}\n')
    with pytest.raises(ModelError, match="does not know: 'bb'"):
        rows(NAMED, path)


def test_features_of_vowpal_wabbit_text_come_and_go(tmp_path: Path) -> None:
    columns = ColumnsEntry(count=3, kind="sparse", names=("f^a", "f^b", "c"))
    (tmp_path / "rows.vw").write_text("1 |f b:2 new:5\n-1 | c |f a b\n")
    found, source, labels = rows(columns, tmp_path / "rows.vw")
    assert found == [[0.0, 2.0, 0.0], [1.0, 1.0, 1.0]]
    assert source.unknown == 1
    assert np.concatenate(labels).tolist() == [1.0, -1.0]  # type: ignore[arg-type]


def test_features_are_hashed_as_the_model_learned_them(tmp_path: Path) -> None:
    names = tuple(f"*=#{number}" for number in range(16))
    coded = {"*": "hash:features=16"}
    columns = ColumnsEntry(
        count=16, kind="sparse", names=names, text=("*",), coded=coded
    )
    (tmp_path / "rows.vw").write_text("1 | 3:2 21\n-1 | 0:1\n")
    found, _, _ = rows(columns, tmp_path / "rows.vw")
    assert [[i for i, value in enumerate(row) if value] for row in found] == [
        [3, 5],
        [0],
    ]


def test_numbers_in_a_column_of_text_stay_text(tmp_path: Path) -> None:
    columns = ColumnsEntry(
        count=3, kind="sparse", names=("a", "t=1", "t=2"), text=("t",), label="kind"
    )
    (tmp_path / "rows.csv").write_text("a,t\n5,2\n6,2\n")
    assert rows(columns, tmp_path / "rows.csv")[0] == [[5.0, 0.0, 1.0], [6.0, 0.0, 1.0]]


def test_what_the_model_does_not_know(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,t,more\n1,2,z,0\n3,4,y,0\n")
    with pytest.raises(
        ModelError, match="does not know: 'more'; leave them out with --drop"
    ):
        rows(NAMED, tmp_path / "rows.csv")
    found, source, _ = rows(NAMED, tmp_path / "rows.csv", drop=("more",))
    assert (found, source.unknown) == ([[1.0, 2.0, 0.0, 0.0], ROWS[1]], 1)
    with pytest.raises(
        ModelError, match="lacks columns that the model learned from: 'b'"
    ):
        rows(NAMED, tmp_path / "rows.csv", drop=("more,b",))
    with pytest.raises(
        ModelError, match="lacks columns that the model learned from: 't'"
    ):
        rows(NAMED, tmp_path / "rows.csv", drop=("more,t",))
    with pytest.raises(UnknownNameError, match="label column"):
        rows(NAMED, tmp_path / "rows.csv", label="labl")


def test_without_names_places_and_their_number_count(tmp_path: Path) -> None:
    (tmp_path / "bare.csv").write_text("1.5,2.5\n3.5,4.5\n5.5,1.5\n")
    (tmp_path / "labelled.csv").write_text("7,1.5,2.5\n8,3.5,4.5\n7,5.5,1.5\n")
    for name, labels in (("bare.csv", None), ("labelled.csv", ["7", "8", "7"])):
        found, _, got = rows(PLACED, tmp_path / name)
        assert found == [[1.5, 2.5], [3.5, 4.5], [5.5, 1.5]]
        assert (None if got[0] is None else list(got[0])) == labels  # type: ignore[call-overload]
    (tmp_path / "wide.csv").write_text("1.5,2.5,3.5,4.5\n" * 3)
    with pytest.raises(ModelError, match="has 4 features, the model learned from 2"):
        rows(PLACED, tmp_path / "wide.csv")
    (tmp_path / "rows.svm").write_text("0 2:1\n0\n")
    assert rows(PLACED, tmp_path / "rows.svm")[0] == [[0.0, 1.0], [0.0, 0.0]]
    assert rows(PLACED, tmp_path / "rows.svm", zero_based=False)[0] == [
        [0.0, 1.0],
        [0.0, 0.0],
    ]
    (tmp_path / "rows.svm").write_text("0 3:1\n")
    found, source, _ = rows(PLACED, tmp_path / "rows.svm")
    assert (found, source.unknown_indices) == ([[0.0, 0.0]], 1)


ENCODE = ["t=hash:16", "note=text:32", "day=date"]
CELLS = [
    (
        f"t{i}",
        "good day" if i % 2 else "bad day",
        f"2024-03-0{i + 1}",
        f"{i}",
        f"{i % 2}",
    )
    for i in range(6)
]


def table(path: Path, columns: str = "t,note,day,a,label") -> Path:
    places = [
        ["t", "note", "day", "a", "label"].index(name) for name in columns.split(",")
    ]
    path.write_text(
        "\n".join([columns, *(",".join(row[i] for i in places) for row in CELLS)])
        + "\n"
    )
    return path


def rows_of(dataset: Dataset) -> list[list[float]]:
    return np.concatenate(
        [to_dense(chunk.X, dataset.columns) for chunk in dataset.chunks("train")]
    ).tolist()


@pytest.mark.parametrize(
    "columns", ["t,note,day,a,label", "label,a,day,note,t", "a,day,t,note"]
)
def test_text_is_encoded_as_the_model_learned_it(columns: str, tmp_path: Path) -> None:
    dataset = ingest(str(table(tmp_path / "t.csv")), tmp_path / "data", encode=ENCODE)
    model = ColumnsEntry.of(dataset.manifest)
    assert model.coded == {
        "t": "hash:features=16",
        "note": "text:features=32",
        "day": "date",
    }
    assert ColumnsEntry.model_validate_json(model.model_dump_json()) == model
    found, source, _ = rows(model, table(tmp_path / "new.csv", columns))
    assert (found, source.unknown) == (rows_of(dataset), 0)
    assert rows(model, tmp_path / "data")[0] == found
    with pytest.raises(
        ModelError, match=r"lacks columns that the model learned from: 'note'"
    ):
        rows(model, table(tmp_path / "new.csv", "t,day,a,label"))


@pytest.mark.parametrize(
    ("encode", "fault"),
    [
        (
            ["t=hash:8", *ENCODE[1:]],
            "of column 't' .* is hash:features=8, .*anew with --encode t=hash:features=16$",
        ),
        (
            ["t=text:16", *ENCODE[1:]],
            "of column 't' .* is text:features=16, expected hash:features=16",
        ),
        (ENCODE[:2], "of column 'day' .* is one feature a value, expected date"),
    ],
)
def test_a_dataset_that_is_encoded_otherwise_is_refused(
    encode: list[str], fault: str, tmp_path: Path
) -> None:
    model = ColumnsEntry.of(
        ingest(
            str(table(tmp_path / "t.csv")), tmp_path / "data", encode=ENCODE
        ).manifest
    )
    other = ingest(str(tmp_path / "t.csv"), tmp_path / "other", encode=encode)
    with pytest.raises(ModelError, match=fault):
        rows(model, tmp_path / "other")
    if len(encode) < len(ENCODE):
        with pytest.raises(
            ModelError,
            match=r"is date, expected one feature a value.*without --encode day=\.\.\.",
        ):
            rows(ColumnsEntry.of(other.manifest), tmp_path / "data")


def test_codings_of_earlier_manifests_are_not_known(tmp_path: Path) -> None:
    old = read_strictly(
        TableEntry, {"numeric": 1, "categorical": {"t": 16}, "coded": ["t"]}
    )
    assert old.coded == {"t": ""}
    manifest = ingest(
        str(table(tmp_path / "t.csv", "t,a,label")), tmp_path / "data", encode=ENCODE[0]
    ).manifest
    model = ColumnsEntry.of(replace(manifest, table=old))
    with pytest.raises(
        ModelError, match="by a coding of --encode that its dataset did not keep"
    ):
        rows(model, tmp_path / "t.csv")


def test_values_of_a_bounded_column_are_those_of_the_model(tmp_path: Path) -> None:
    def csv(name: str, cells: str) -> str:
        (tmp_path / name).write_text(
            "a,t,label\n"
            + "".join(f"{i},{cell},{i % 2}\n" for i, cell in enumerate(cells))
        )
        return str(tmp_path / name)

    encode = "t=one-hot:values=2"
    model = ColumnsEntry.of(
        ingest(csv("t.csv", "xyzx"), tmp_path / "data", encode=encode).manifest
    )
    assert model.names == ("a", "t=x", "t=y", "t=other")
    assert [row[1:] for row in rows(model, tmp_path / "data")[0]] == [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [1, 0, 0],
    ]
    found, source, _ = rows(model, Path(csv("new.csv", "qyx")))
    assert ([row[1:] for row in found], source.unknown) == (
        [[0, 0, 1], [0, 1, 0], [1, 0, 0]],
        0,
    )
    ingest(str(tmp_path / "new.csv"), tmp_path / "new", encode=encode)
    with pytest.raises(
        ModelError, match=r"column 't' .* has 'x' among its other values"
    ):
        rows(model, tmp_path / "new")
    ingest(csv("few.csv", "qx"), tmp_path / "few", encode=encode)
    assert [row[1:] for row in rows(model, tmp_path / "few")[0]] == [
        [0, 0, 1],
        [1, 0, 0],
    ]
    ingest(csv("plain.csv", "xy"), tmp_path / "plain")
    with pytest.raises(
        ModelError, match="is one feature a value, expected one-hot:values=2"
    ):
        rows(model, tmp_path / "plain")


def test_a_quote_over_lines_is_kept_as_a_note(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('b,"un\nknown"\n0.5,2.5\n1.5,2.5\n')
    found, source, _ = rows(PLACED, tmp_path / "rows.csv")
    assert len(found) == 2
    (note,) = source.notes
    assert "the quote that opens a cell in line 1 closes in line 2" in note
    (tmp_path / "rows.svm").write_text("1 1:1\n")
    with pytest.raises(FormatError, match="has no delimiter to choose"):
        rows(PLACED, tmp_path / "rows.svm", delimiter=";")


def test_cells_are_written_as_the_model_learned_them(tmp_path: Path) -> None:
    """Where the user says nothing; what is said comes first, and files of other formats are read all the same."""
    lines = ['ham\t"open\t-\t1', "spam\ta\\\tb\t2\t0"]
    (tmp_path / "t.tsv").write_text("\n".join(["kind\tword\ta\tlabel", *lines]) + "\n")
    form = {"quoting": "none", "escape": "backslash", "missing": "-"}
    dataset = ingest(tmp_path / "t.tsv", tmp_path / "data", **form)
    model = ColumnsEntry.of(dataset.manifest)
    assert (model.quoting, model.escape, model.missing) == ("none", "backslash", ("-",))
    assert ColumnsEntry.model_validate_json(model.model_dump_json()) == model
    new = tmp_path / "new.tsv"
    new.write_text(
        "kind\tword\ta\n"
        + "\n".join(line[: line.rindex("\t")] for line in lines)
        + "\n"
    )
    np.testing.assert_array_equal(rows(model, new)[0], rows_of(dataset))
    new.write_text(new.read_text().replace("-", "x"))
    np.testing.assert_array_equal(rows(model, new, missing=("x",))[0], rows_of(dataset))
    with pytest.raises(FormatError, match="column 'a' is 'x', expected a number"):
        rows(model, new)
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"kind": ["ham", "spam"], "word": ['"open', "a\tb"], "a": [None, 2.0]}
    parquet.write_table(pa.table(columns), tmp_path / "rows.parquet")
    np.testing.assert_array_equal(
        rows(model, tmp_path / "rows.parquet")[0], rows_of(dataset)
    )


def test_a_column_that_the_model_knows_as_a_number_is_one_in_any_format(
    tmp_path: Path,
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    days = pa.array([3, 1, 3])
    for name, column in (
        ("t", days.dictionary_encode()),
        ("plain", days),
        ("text", days.cast("string")),
    ):
        table = pa.table({"day": column, "x": [1, 2, 3], "label": ["a", "b", "a"]})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    (tmp_path / "t.csv").write_text("day,x\n3,1\n1,2\n3,3\n")
    dataset = ingest(tmp_path / "t.parquet", tmp_path / "data", encode="day=number")
    model = ColumnsEntry.of(dataset.manifest)
    for name in ("t.parquet", "plain.parquet", "text.parquet", "t.csv", "data"):
        assert rows(model, tmp_path / name)[0] == [[3.0, 1.0], [1.0, 2.0], [3.0, 3.0]]
    categories = ColumnsEntry.of(
        ingest(tmp_path / "t.parquet", tmp_path / "one-hot").manifest
    )
    for name in ("t.parquet", "plain.parquet", "text.parquet", "t.csv"):
        assert rows(categories, tmp_path / name)[0] == [
            [1.0, 0.0, 1.0],
            [2.0, 1.0, 0.0],
            [3.0, 0.0, 1.0],
        ]
