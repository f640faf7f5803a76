"""Hashed and dated columns: scikit-learn's own numbers, whatever the batch, and a line for what has no code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer

from olscale.compiled.csr import to_dense
from olscale.data.dataset import Dataset
from olscale.data.formats.coding import parse_codings
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError, ParameterError, UnknownNameError

ROWS = 5000
SHOPS = ["" if i % 50 == 0 else f"shop{i * i % 977}" for i in range(ROWS)]
NOTES = [" ".join(f"word{i * k % 37}" for k in range(i % 5)) for i in range(ROWS)]
ENCODE = ["shop=hash:features=2^6", "note=text:128", "placed=date"]


def rows_of(dataset: Dataset) -> np.ndarray:
    return np.concatenate(
        [to_dense(chunk.X, dataset.columns) for chunk in dataset.chunks("train")]
    )


def table(path: Path, first: int = 0, last: int = ROWS) -> str:
    lines = [
        f"{i % 7},{SHOPS[i]},2024-03-{i % 31 + 1:02} 10:0{i % 10},{NOTES[i]},k{i % 3},{i % 2}"
        for i in range(first, last)
    ]
    path.write_text("\n".join(["size,shop,placed,note,kind,label", *lines]) + "\n")
    return str(path)


def test_columns_have_the_numbers_of_scikit_learn(tmp_path: Path) -> None:
    dataset = ingest(table(tmp_path / "t.csv"), tmp_path / "t", encode=ENCODE)
    X = rows_of(dataset)
    names = list(dataset.manifest.feature_names or ())
    assert names[:2] == ["size", "shop=#0"]
    assert names[-3:] == ["kind=k0", "kind=k1", "kind=k2"]
    shop = FeatureHasher(64, input_type="string").transform(
        [[s] if s else [] for s in SHOPS]
    )
    note = HashingVectorizer(n_features=128, norm=None).transform(NOTES)
    np.testing.assert_array_equal(X[:, 1:65], shop.toarray())
    at = names.index("note=#0")
    np.testing.assert_array_equal(X[:, at : at + 128], note.toarray())
    at = names.index("placed=year")
    assert X[4, at : at + 7].tolist() == [2024, 3, 5, 1, 10, 4, 0]
    np.testing.assert_array_equal(X[:, -3:], np.eye(3)[np.arange(ROWS) % 3])
    assert dataset.manifest.splits["train"].missing == {"shop": 100, "note": 1000}


def test_several_sources_have_the_bytes_of_one(tmp_path: Path) -> None:
    """What a cell becomes depends on no other; a first file may be small, and a coded column hold numbers only."""
    whole = ingest(table(tmp_path / "t.csv"), tmp_path / "t", encode=ENCODE)
    parts = [
        table(tmp_path / "a.csv", 0, 3),
        table(tmp_path / "b.csv", 3, 4100),
        table(tmp_path / "c.csv", 4100),
    ]
    assert ingest(parts, tmp_path / "p", encode=ENCODE).fingerprint == whole.fingerprint
    (tmp_path / "n.csv").write_text("id,x,label\n007,1,a\n7,2,b\n007,3,a\n")
    X = rows_of(ingest(str(tmp_path / "n.csv"), tmp_path / "n", encode="id=hash:64"))
    assert (X[0, 1:] == X[2, 1:]).all()
    assert (X[0, 1:] != X[1, 1:]).any()


@pytest.mark.parametrize(
    "text",
    [
        "shop",
        "shop=hush",
        "shop=hash:0",
        "shop=hash:features=x",
        "shop=date:3",
        "shop=number:3",
        "=hash",
        "shop=one-hot",
        "shop=one-hot:values=0",
    ],
)
def test_a_text_that_is_no_coding_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="encode"):
        parse_codings([text])


def test_codings_may_be_a_table_of_columns(tmp_path: Path) -> None:
    """As a job file has them."""
    source = table(tmp_path / "t.csv", 0, 50)
    listed = ingest(source, tmp_path / "listed", encode=["shop=hash", "placed=date"])
    as_table = {"shop": "hash", "placed": "date"}
    mapped = ingest(source, tmp_path / "mapped", encode=as_table)
    assert mapped.manifest.fingerprint == listed.manifest.fingerprint


def test_columns_that_cannot_be_encoded_are_named(tmp_path: Path) -> None:
    source = table(tmp_path / "t.csv", 0, 50)
    with pytest.raises(UnknownNameError, match="did you mean 'shop'"):
        ingest(source, tmp_path / "t", encode="shopp=hash")
    with pytest.raises(ParameterError, match="each column an encode of its own"):
        ingest(source, tmp_path / "t", encode="placed=date,shop=hash")
    with pytest.raises(FormatError, match="'label' is the label"):
        ingest(source, tmp_path / "t", encode="label=hash")
    with pytest.raises(
        FormatError,
        match="column 'note' is 'word0', expected a date or time as 2024-01-31",
    ):
        ingest(source, tmp_path / "t", encode="note=date")
    with pytest.raises(
        FormatError,
        match=r"line 3: column 'note' is 'word0', expected a number, as --encode note=number",
    ):
        ingest(source, tmp_path / "t", encode="note=number")
    with pytest.raises(
        FormatError, match="column 'note' is dropped, expected a feature for --encode"
    ):
        ingest(source, tmp_path / "t", encode="note=number", drop="note")
    np.savez(tmp_path / "rows.npz", X=np.eye(2), y=np.arange(2))
    with pytest.raises(FormatError, match="leave --encode out"):
        ingest(str(tmp_path / "rows.npz"), tmp_path / "t", encode="note=date")


def test_a_column_of_numbers_in_csv_may_be_categories_and_stays_numbers_where_that_is_said(
    tmp_path: Path,
) -> None:
    (tmp_path / "t.csv").write_text("day,x,label\n3,1,a\n1,2,b\n,3,a\n3,4,b\n")
    plain = ingest(str(tmp_path / "t.csv"), tmp_path / "p")
    assert (
        ingest(str(tmp_path / "t.csv"), tmp_path / "n", encode="day=number").fingerprint
        == plain.fingerprint
    )
    coded = ingest(
        str(tmp_path / "t.csv"), tmp_path / "c", encode="day=one-hot:values=3"
    )
    assert coded.manifest.feature_names == ("x", "day=1", "day=3")
    assert rows_of(coded)[:, 1:].tolist() == [[0, 1], [1, 0], [0, 0], [0, 1]]


def test_text_that_comes_late_is_named_where_a_column_was_said_to_be_numbers(
    tmp_path: Path,
) -> None:
    (tmp_path / "t.csv").write_text("day,label\n" + "3,a\n1,b\n" * 2000 + "Monday,a\n")
    with pytest.raises(
        FormatError,
        match="line 4002: column 'day' is 'Monday', expected a number, as --encode",
    ):
        ingest(str(tmp_path / "t.csv"), tmp_path / "t", encode="day=number")


def first_values(cells: list[str], bound: int) -> tuple[list[str], np.ndarray]:
    """Return the features of cells and where each has its 1, by a plain loop."""
    known: list[str] = []
    places = []
    for cell in cells:
        if cell not in known and cell:
            kept = len(known) - ("other" in known)
            cell = cell if kept < bound else "other"
            if cell not in known:
                known.append(cell)
        places.append(known.index(cell) if cell else -1)
    ones = [[place == k for k in range(len(known))] for place in places]
    order = sorted(range(len(known)), key=lambda k: (known[k] == "other", known[k]))
    return [known[k] for k in order], np.array(ones, dtype=np.float64)[:, order]


@pytest.mark.parametrize("bound", [1, 7, 300, 5000])
def test_the_first_values_have_a_feature_each(bound: int, tmp_path: Path) -> None:
    """Those of all sources together, sorted; the value "other" is one of the others."""
    cells = ["other" if i % 70 == 3 else shop for i, shop in enumerate(SHOPS)]
    lines = [f"{i % 7},{cell},{i % 2}" for i, cell in enumerate(cells)]
    encode = f"shop=one-hot:values={bound}"
    for name, rows in (
        ("t", slice(0, ROWS)),
        ("a", slice(0, 5)),
        ("b", slice(5, 4000)),
        ("c", slice(4000, ROWS)),
    ):
        (tmp_path / f"{name}.csv").write_text(
            "\n".join(["size,shop,label", *lines[rows]]) + "\n"
        )
    whole = ingest(str(tmp_path / "t.csv"), tmp_path / "t", encode=encode)
    known, expected = first_values(cells, bound)
    assert list(whole.manifest.feature_names or ())[1:] == [
        f"shop={value}" for value in known
    ]
    np.testing.assert_array_equal(rows_of(whole)[:, 1:], expected)
    parts = ingest(
        [str(tmp_path / f"{name}.csv") for name in "abc"],
        tmp_path / "p",
        encode=encode,
        chunk_rows=333,
    )
    assert (rows_of(parts) == rows_of(whole)).all()
    assert parts.manifest.feature_names == whole.manifest.feature_names
    tested = ingest(
        str(tmp_path / "a.csv"),
        tmp_path / "s",
        test=str(tmp_path / "b.csv"),
        encode=encode,
    )
    assert set(tested.manifest.feature_names or ()) <= set(
        whole.manifest.feature_names or ()
    )


@pytest.mark.parametrize(
    "coding",
    [
        "hash:features=8",
        "text:features=8",
        "date",
        "date:hour,since-last",
        "one-hot:values=2",
    ],
)
@pytest.mark.parametrize("chunk_rows", [None, 2])
def test_a_column_that_is_encoded_makes_the_segments_too(
    tmp_path: Path, coding: str, chunk_rows: int | None
) -> None:
    """Its cells are forgotten after each batch, once the segments are cut."""
    days = ["2024-01-30", "2024-01-31", "2024-01-31", "2024-02-01"] * 2
    rows = "".join(f"{i},{day},{i % 2}\n" for i, day in enumerate(days))
    (tmp_path / "t.csv").write_text("x,day,y\n" + rows)
    parquet.write_table(
        pa.table({"x": range(8), "day": days, "y": [0, 1] * 4}), tmp_path / "t.parquet"
    )
    starts = [0, 1, 3, 4, 5, 7]
    for name in ("t.csv", "t.parquet"):
        dataset = ingest(
            tmp_path / name,
            tmp_path / f"d-{name}",
            segments="day",
            encode=f"day={coding}",
            chunk_rows=chunk_rows,
        )
        assert dataset.segments() == tuple((days[start], start) for start in starts)
