"""Columns of a table, as somebody who knows only the file expects them to be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from olscale.cli.columns import encoding_line, identifiers_line
from olscale.compiled.csr import to_dense
from olscale.data.dataset import Dataset
from olscale.data.formats.table_columns import label_positions
from olscale.data.ingest.ingest import ingest
from olscale.errors import DatasetError, FormatError, UnknownNameError

ROWS = [(f"k{i:03}", i, "red" if i % 3 else "blue", i % 5, i % 2) for i in range(120)]
NAMES = ("id", "row", "color", "size", "class")


def write(folder: Path, kind: str) -> Path:
    """Write the table of `ROWS`."""
    path = folder / f"t.{kind}"
    if kind == "parquet":
        pq.write_table(
            pa.table(
                {
                    name: list(cells)
                    for name, cells in zip(NAMES, zip(*ROWS, strict=True), strict=True)
                }
            ),
            path,
        )
        return path
    mark = "\t" if kind == "tsv" else ","
    head = [mark.join(NAMES)]
    if kind == "arff":
        types = ("string", "numeric", "{blue,red}", "numeric", "{0,1}")
        head = [
            "@relation r",
            *(f"@attribute {name} {of}" for name, of in zip(NAMES, types, strict=True)),
            "@data",
        ]
    path.write_text(
        "\n".join([*head, *(mark.join(map(str, row)) for row in ROWS)]) + "\n"
    )
    return path


def table(
    folder: Path, text: str, name: str = "t.csv", dest: str = "d", **options: object
) -> Dataset:
    (folder / name).write_bytes(text.encode())
    return ingest(folder / name, folder / dest, **options)


def dense(dataset: Dataset) -> list[list[float]]:
    return np.vstack(
        [to_dense(chunk.X, dataset.columns) for chunk in dataset.chunks()]
    ).tolist()


@pytest.mark.parametrize("kind", ["csv", "tsv", "arff", "parquet"])
def test_columns_are_dropped_before_anything_is_encoded(
    tmp_path: Path, kind: str
) -> None:
    made = ingest(write(tmp_path, kind), tmp_path / "d", drop=["id,row"])
    assert made.manifest.feature_names is not None
    assert sorted(made.manifest.feature_names) == ["color=blue", "color=red", "size"]
    entry = made.manifest.table
    assert entry is not None
    assert (entry.numeric, entry.categorical, entry.dropped) == (
        1,
        {"color": 2},
        ("id", "row"),
    )
    assert made.manifest.splits["train"].class_rows == (60, 60)
    numbers = ingest(
        tmp_path / f"t.{kind}", tmp_path / "numbers", drop=["id", "-3", "row"]
    )
    assert (numbers.kind, numbers.manifest.feature_names) == ("dense", ("size",))


@pytest.mark.parametrize("kind", ["csv", "arff", "parquet"])
def test_values_of_text_are_shown_and_growing_numbers_listed(
    tmp_path: Path, kind: str
) -> None:
    manifest = ingest(write(tmp_path, kind), tmp_path / "d").manifest
    line = encoding_line(manifest)
    assert line is not None
    assert "one per value (id 120 as '" in line
    assert (
        identifiers_line(manifest)
        == "row (never falls); leave out what is no feature (--drop)"
    )


def test_words_among_numbers_are_shown(tmp_path: Path) -> None:
    lines = [
        f"2024-01-{1 + i // 60:02},{'lots' if i == 7 else i * 37 % 101},{i * 7919 % 120},{i % 2}"
        for i in range(120)
    ]
    manifest = table(
        tmp_path, "day,price,key,class\n" + "\n".join(lines) + "\n"
    ).manifest
    line = encoding_line(manifest)
    assert line is not None
    assert line.endswith("one per value (price 102 as 'lots', day 2 as '2024-01-01')")
    assert (identifiers_line(manifest) or "").startswith(
        "key (all different in the first rows);"
    )
    assert (
        identifiers_line(table(tmp_path, "a,b,y\n1,x,0\n2,z,1\n", dest="few").manifest)
        is None
    )


def test_missing_values_are_counted_by_column_and_split(tmp_path: Path) -> None:
    made = table(
        tmp_path, "a,b,c,y\n1,x,,0\nNA,?,2,1\n3,null,,0\n,z,5,1\n", train_rows=3
    )
    assert made.manifest.splits["train"].missing == {"a": 1, "b": 2, "c": 2}
    assert made.manifest.splits["test"].missing == {"a": 1}


def test_missing_values_of_arrays_are_counted(tmp_path: Path) -> None:
    X = np.array([[1, np.nan], [np.inf, np.nan], [2, 3.0]])
    np.savez(tmp_path / "t.npz", X=X, y=[0, 1, 0])
    assert ingest(tmp_path / "t.npz", tmp_path / "d").manifest.splits[
        "train"
    ].missing == {"x1": 2}


@pytest.mark.parametrize(
    ("rows", "missing"), [("1 1:nan 2:1\n0 2:1\n", {"x0": 1}), ("1 1:2\n0 2:1\n", None)]
)
def test_missing_values_of_sparse_text_are_not_said_to_be_none(
    tmp_path: Path, rows: str, missing: dict[str, int] | None
) -> None:
    (tmp_path / "t.svm").write_text(rows)
    train = ingest(tmp_path / "t.svm", tmp_path / "d").manifest.splits["train"]
    assert train.missing == missing


def test_segments_by_a_column_of_dates_that_is_no_feature(tmp_path: Path) -> None:
    made = table(
        tmp_path,
        "day,a,y\n2024-01-01,5,0\n2024-01-01,6,1\n2024-01-02,7,0\n",
        segments="day",
        drop="day",
    )
    assert made.segments() == (("2024-01-01", 0), ("2024-01-02", 2))
    assert made.manifest.feature_names == ("a",)


WALK = {
    "a byte-order mark, CRLF, spaces, quotes": (
        '\ufeff"a b", c ,y\r\n1,2,0\r\n3,4,1\r\n',
        ("a b", "c"),
        [[1, 2], [3, 4]],
    ),
    "semicolons": ("a;b;y\n1;2;0\n3;4;1\n", ("a", "b"), [[1, 2], [3, 4]]),
    "an index without a name": (
        ",a,y\n0,5,0\n1,6,1\n",
        ("Unnamed: 0", "a"),
        [[0, 5], [1, 6]],
    ),
    "an index without a name before text": (
        ",a,y\n0,p,u\n1,q,v\n",
        ("Unnamed: 0", "a=p", "a=q"),
        [[0, 1, 0], [1, 0, 1]],
    ),
    "two columns of one name": (
        "a,a,y\n1,2,0\n3,4,1\n",
        ("a", "a.1"),
        [[1, 2], [3, 4]],
    ),
    "a delimiter at every end": (
        "a,b,y,\n1,2,0,\n3,4,1,\n",
        ("a", "b"),
        [[1, 2], [3, 4]],
    ),
    "the same without a header": ("1,2,0,\n3,4,1,\n", ("x0", "x1"), [[1, 2], [3, 4]]),
    "truth values": (
        "a,b,y\ntrue,1,0\nfalse,2,1\n",
        ("b", "a=false", "a=true"),
        [[1, 0, 1], [2, 1, 0]],
    ),
    "one value": ("a,b,y\nu,1,0\nu,2,1\n", ("b", "a=u"), [[1, 1], [2, 1]]),
}


@pytest.mark.parametrize("case", WALK)
def test_tables_as_they_are_found(tmp_path: Path, case: str) -> None:
    text, names, rows = WALK[case]
    made = table(tmp_path, text)
    assert made.manifest.feature_names == names
    assert dense(made) == rows
    assert len(made.classes or ()) == 2


@pytest.mark.parametrize(
    "text", ["a;b;y\n1,5;2;0\n2;2,5;1\n", "1,5;2,5;0\n2,5;3,5;1\n"]
)
def test_a_decimal_comma_is_asked_about_and_then_read(
    tmp_path: Path, text: str
) -> None:
    with pytest.raises(
        FormatError,
        match=r"line \d: column '\w+' is '1,5': a number with a decimal comma",
    ):
        table(tmp_path, text)
    made = table(tmp_path, text, decimal=",")
    assert dense(made)[0][0] == 1.5
    assert dense(made)[1][1] in (2.5, 3.5)
    assert table(tmp_path, text, dest="text", decimal=".").kind == "sparse"


@pytest.mark.parametrize("mark", [";", "\t", ","])
@pytest.mark.parametrize(
    ("odd", "said"),
    [("31.310", "thousands: write the number without"), ("1.5", "write a comma")],
)
def test_a_point_is_no_number_beside_a_decimal_comma(
    tmp_path: Path, mark: str, odd: str, said: str
) -> None:
    def text(first: str, last: str, rows: int = 40) -> str:
        cells = [first, *(f"{i},5" for i in range(rows)), last]
        lines = [
            mark.join((f'"{cell}"', f'"{i % 5},25"', "uv"[i % 2]))
            for i, cell in enumerate(cells)
        ]
        return "\n".join([mark.join(("a", "b", "y")), *lines]) + "\n"

    made = table(tmp_path, text(odd, "7"), decimal=",")
    assert made.manifest.feature_names is not None
    assert made.manifest.feature_names[0] == "b"
    assert f"a={odd}" in made.manifest.feature_names
    assert f"a 42 as '{odd}'" in (encoding_line(made.manifest) or "")
    # beyond the first block of the compiled loop, too, which takes a second or two
    sizes = (5_000, 400_000) if (odd, mark) == ("1.5", ";") else (5_000,)
    for rows in sizes:
        with pytest.raises(
            FormatError,
            match=f"line {rows + 3}: column 'a' is '{odd}', expected a number.*{said}",
        ):
            table(tmp_path, text("7", odd, rows), dest="late", decimal=",")
    assert (
        table(tmp_path, text("7", "8"), dest="plain", decimal=",").manifest.table
        is not None
    )


def test_numbers_with_a_decimal_comma_have_the_bits_of_float(tmp_path: Path) -> None:
    cells = [
        "1,5",
        "-0,1",
        "+17,89e52",
        "12345678901234567890,5",
        "1e400",
        "  3,25 ",
        "inf",
        "7",
    ] * 300
    made = table(
        tmp_path,
        "a;y\n" + "".join(f"{cell};{i % 2}\n" for i, cell in enumerate(cells)),
        decimal=",",
    )
    assert [row[0] for row in dense(made)] == [
        float(cell.replace(",", ".")) for cell in cells
    ]


def test_only_a_decimal_comma_is_kept_in_the_manifest(tmp_path: Path) -> None:
    assert (
        '"decimal"'
        not in table(tmp_path, "a;y\n1.5;0\n2.5;1\n").manifest.to_json().decode()
    )
    made = table(tmp_path, "a;y\n1,5;0\n2,5;1\n", dest="comma", decimal=",")
    assert made.manifest.table is not None
    assert made.manifest.table.decimal == ","


@pytest.mark.parametrize("kind", ["csv", "arff", "parquet"])
def test_whole_numbers_that_are_rounded_are_told(tmp_path: Path, kind: str) -> None:
    """Only whole ones, also where some are missing or infinite, negative, or come late; 2^53 - 1 is exact."""
    rows = 30_000
    path = tmp_path / f"t.{kind}"
    columns: dict[str, list[float | int | str | None]] = {
        "id": [2**60 + 7 * (i % 1000) for i in range(rows)],
        "late": [i % 9 if i < rows - 2 else -(2**53) - 1 for i in range(rows)],
        "gaps": [None if i % 2 else 2**54 for i in range(rows)],
        "exact": [(2**53 - 1) * (-1) ** i for i in range(rows)],
        "wave": [1e20 if i % 3 else 0.5 for i in range(rows)],
        "far": [float("inf") if i % 3 else 1.0 for i in range(rows)],
        "y": ["uv"[i % 2] for i in range(rows)],
    }
    if kind == "parquet":
        pq.write_table(pa.table(columns), path)
    else:
        lines = [
            ",".join("?" if cell is None else str(cell) for cell in row)
            for row in zip(*columns.values(), strict=True)
        ]
        head = [",".join(columns)]
        if kind == "arff":
            kinds = [
                f"@attribute {name} {'{u,v}' if name == 'y' else 'numeric'}"
                for name in columns
            ]
            head = ["@relation r", *kinds, "@data"]
        path.write_text("\n".join([*head, *lines]) + "\n")
    made = ingest(path, tmp_path / "d").manifest
    assert made.table is not None
    assert made.table.rounded == ("id", "late", "gaps")
    line = identifiers_line(made)
    assert line is not None
    assert all(name in line for name in made.table.rounded)


def test_numbers_that_are_rounded_in_the_test_split_alone_are_told(
    tmp_path: Path,
) -> None:
    (tmp_path / "test.csv").write_text("a,y\n1,0\n12345678901234567891,1\n")
    made = table(tmp_path, "a,y\n2,0\n1,1\n", test=tmp_path / "test.csv").manifest
    assert made.table is not None
    assert made.table.rounded == ("a",)
    assert (
        b'"rounded"'
        not in table(tmp_path, "a,y\n2,0\n1,1\n", dest="plain").manifest.to_json()
    )


FAULTS = {
    "wrong": ({"drop": "wrong"}, UnknownNameError, "unknown column of .*'wrong'"),
    "position": (
        {"drop": "7"},
        FormatError,
        "there is no column 7 to drop, there are 3 cells",
    ),
    "label": (
        {"drop": "y", "label": "y"},
        FormatError,
        "column 'y' is the label and is to be dropped",
    ),
    "all": ({"drop": "a,b"}, FormatError, "no column is left as a feature"),
    "everything": ({"drop": "a,b,y"}, FormatError, "none is left for the label"),
    "segments": ({"segments": "c"}, UnknownNameError, "unknown segment column 'c'"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_what_cannot_be_dropped(tmp_path: Path, case: str) -> None:
    options, error, problem = FAULTS[case]
    with pytest.raises(error, match=problem):
        table(tmp_path, "a,b,y\n1,x,0\n2,z,1\n", **options)


def test_a_name_with_a_comma_and_the_column_after_the_label(tmp_path: Path) -> None:
    made = table(tmp_path, '"a,b",c,y,when\n1,5,0,x\n2,6,1,z\n', drop=["a,b", "when"])
    assert (made.manifest.feature_names, made.manifest.label_column) == (("c",), "y")


def test_a_later_value_in_the_empty_last_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="line 3002: the last cell is 'odd'"):
        table(tmp_path, "a,y,\n" + "1,0,\n" * 3000 + "1,0,odd\n")


def test_columns_are_text_in_all_sources_or_in_none(tmp_path: Path) -> None:
    """What the first source is read as holds for the others: their first rows may look otherwise."""
    (tmp_path / "text.csv").write_text("a,b,y\nx,p,0\n1,q,1\n")
    (tmp_path / "numbers.csv").write_text("a,b,y\n1,p,0\n2,q,1\n")
    made = ingest(tmp_path / "text.csv", tmp_path / "d", test=tmp_path / "numbers.csv")
    assert made.manifest.feature_names == ("a=1", "a=2", "a=x", "b=p", "b=q")
    with pytest.raises(
        FormatError, match=r"text\.csv, line 2: column 'a' is 'x', expected a number"
    ):
        ingest(tmp_path / "numbers.csv", tmp_path / "e", test=tmp_path / "text.csv")
    (tmp_path / "other.csv").write_text("a,c,y\n1,p,0\n2,q,1\n")
    with pytest.raises(
        DatasetError,
        match="other column names than the sources before it: it lacks 'b'",
    ):
        ingest(tmp_path / "text.csv", tmp_path / "e", test=tmp_path / "other.csv")


def test_large_whole_numbers_are_read_from_parquet_as_from_text(tmp_path: Path) -> None:
    values = [2**53 + 1, 2**63 - 1, -(2**62) - 3]
    pq.write_table(pa.table({"id": values, "y": [0, 1, 0]}), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text(
        "id,y\n" + "".join(f"{value},{row % 2}\n" for row, value in enumerate(values))
    )
    read = [
        ingest(tmp_path / f"t.{kind}", tmp_path / kind) for kind in ("parquet", "csv")
    ]
    assert read[0].fingerprint == read[1].fingerprint


def test_parquet_columns_of_other_types_can_be_dropped(tmp_path: Path) -> None:
    times = pa.array([0, 1], pa.timestamp("s"))
    pq.write_table(
        pa.table({"when": times, "a": [1.0, 2.0], "y": [0, 1]}), tmp_path / "t.parquet"
    )
    with pytest.raises(
        FormatError, match=r"'when' is timestamp.*leave it out with --drop"
    ):
        ingest(tmp_path / "t.parquet", tmp_path / "d")
    assert ingest(
        tmp_path / "t.parquet", tmp_path / "d", drop="when"
    ).manifest.feature_names == ("a",)


def test_several_targets_are_named_with_commas_and_a_name_with_a_comma_is_one() -> None:
    assert label_positions("t.csv", ["x", "a", "b"], "b, a") == (2, 1)
    assert label_positions("t.csv", ["a", "b", "a,b"], "a,b") == (2,)
    with pytest.raises(UnknownNameError):
        label_positions("t.csv", ["x", "a"], "a,c")
    with pytest.raises(FormatError, match="'a' is named twice"):
        label_positions("t.csv", ["x", "a"], "a,a")
    with pytest.raises(FormatError, match="is to be dropped"):
        label_positions("t.csv", ["x", "a", "b"], "a,b", frozenset({2}))
