"""Columns of Parquet files as pandas, polars and pyarrow write them: taken as they are meant, or refused by name."""

from __future__ import annotations

import datetime
import json
import shlex
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from olscale.compiled.csr import to_dense
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError

ROWS = 6
TAKEN: dict[str, tuple[pa.Array, list[float]]] = {
    "booleans with nulls": (pa.array([True, None, False] * 2), [1, np.nan, 0]),
    "whole numbers with nulls": (pa.array([1, None, 3] * 2), [1, np.nan, 3]),
    "half floats": (pa.array(np.array([1, 2, 3] * 2, dtype=np.float16)), [1, 2, 3]),
    "decimals": (
        pa.array([Decimal("1.5"), None, Decimal("-2.25")] * 2),
        [1.5, np.nan, -2.25],
    ),
    "no values at all": (pa.nulls(ROWS), [np.nan] * 3),
}
REFUSED: dict[str, pa.Array] = {
    "timestamp": pa.array([datetime.datetime(2024, 1, 1)] * ROWS),
    "date32": pa.array([datetime.date(2024, 1, 1)] * ROWS),
    "duration": pa.array([datetime.timedelta(1)] * ROWS),
    "list": pa.array([[1, 2]] * ROWS),
    "struct": pa.array([{"x": 1}] * ROWS),
    "binary": pa.array([b"x"] * ROWS),
}


def write(
    folder: Path, columns: dict[str, Any], index: list[Any] | None = None
) -> Path:
    table = pa.table(columns)
    if index is not None:
        table = table.replace_schema_metadata(
            {"pandas": json.dumps({"index_columns": index})}
        )
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


@pytest.mark.parametrize("name", TAKEN)
def test_columns_of_numbers_are_read_as_their_values(tmp_path: Path, name: str) -> None:
    column, values = TAKEN[name]
    made = ingest(write(tmp_path, {"x": column, "y": [0, 1] * 3}), tmp_path / "d")
    X = np.vstack([to_dense(chunk.X, made.columns) for chunk in made.chunks("train")])
    np.testing.assert_array_equal(X[:3, 0], values)


CATEGORIES: dict[str, tuple[pa.Array, list[str]]] = {
    "whole numbers": (pa.array([7, None, 1, 7, 1, 1]), ["1", "7"]),
    "fractions": (pa.array([7.0, 0.5, None, 7.0, 0.5, 1e300]), ["0.5", "1e+300", "7"]),
    "booleans": (pa.array([True, False, True, None, True, False]), ["False", "True"]),
    "decimals": (
        pa.array([Decimal("1.50"), Decimal("2.00"), None] * 2),
        ["1.50", "2.00"],
    ),
    "words": (pa.array(["1", "1", "x", None, "x", "x"]), ["1", "x"]),
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_a_dictionary_of_anything_is_categories(tmp_path: Path, name: str) -> None:
    """As a categorical of pandas is written; a plain column is them where it is asked for."""
    column, words = CATEGORIES[name]
    for encode, given in (
        ((), column.dictionary_encode()),
        (("x=one-hot:values=9",), column),
    ):
        path = write(tmp_path, {"x": given, "a": range(ROWS), "y": [0, 1] * 3})
        made = ingest(path, tmp_path / f"d{len(encode)}", encode=encode)
        assert made.manifest.feature_names == ("a", *(f"x={word}" for word in words))
        (chunk,) = made.chunks("train")
        ones = to_dense(chunk.X, made.columns)[:, 1:].sum(axis=1)
        assert ones.tolist() == [float(value.is_valid) for value in column]


def test_words_that_are_numbers_are_numbers_where_it_is_asked_for(
    tmp_path: Path,
) -> None:
    numbers = pa.array([7, None, 1, 7, 1, 1])
    expected = ingest(
        write(tmp_path, {"x": numbers, "a": range(ROWS), "y": [0, 1] * 3}),
        tmp_path / "n",
    )
    for i, column in enumerate((numbers.dictionary_encode(), numbers.cast("string"))):
        path = write(tmp_path, {"x": column, "a": range(ROWS), "y": [0, 1] * 3})
        made = ingest(path, tmp_path / f"d{i}", encode="x=number")
        assert made.fingerprint == expected.fingerprint
        assert made.manifest.table is not None
        assert made.manifest.table.coded == {"x": "number"}
    path = write(tmp_path, {"x": ["1", "2", "two", "x"], "y": [0, 1, 0, 1]})
    with pytest.raises(
        FormatError,
        match="line 3: column 'x' is 'two', expected a number, as --encode x=number says",
    ):
        ingest(path, tmp_path / "e", encode="x=number")


def test_a_categorical_that_pandas_alone_tells_of_is_categories(tmp_path: Path) -> None:
    """As fastparquet writes it, which does not keep a type of Arrow."""
    metadata = {
        "pandas": json.dumps(
            {"columns": [{"field_name": "x", "pandas_type": "categorical"}]}
        )
    }
    table = pa.table({"x": [7, 7, 1], "y": [0, 1, 0]}).replace_schema_metadata(metadata)
    pq.write_table(table, tmp_path / "t.parquet")
    assert ingest(tmp_path / "t.parquet", tmp_path / "d").manifest.feature_names == (
        "x=1",
        "x=7",
    )


def test_a_label_that_is_a_dictionary_of_numbers_is_these_numbers(
    tmp_path: Path,
) -> None:
    path = write(
        tmp_path, {"a": range(ROWS), "y": pa.array([3, 1, 2] * 2).dictionary_encode()}
    )
    assert ingest(path, tmp_path / "d").classes == (1, 2, 3)
    assert ingest(path, tmp_path / "r", target="real").classes is None


def test_the_first_source_says_which_columns_are_categories(tmp_path: Path) -> None:
    columns = {"a": range(ROWS), "x": pa.array([7, 7, 1] * 2), "y": [0, 1] * 3}
    plain = write(tmp_path, columns).rename(tmp_path / "plain.parquet")
    first = write(tmp_path, columns | {"x": columns["x"].dictionary_encode()})
    made = ingest([first, plain], tmp_path / "d")
    assert made.manifest.feature_names == ("a", "x=1", "x=7")
    assert made.rows("train") == 2 * ROWS


@pytest.mark.parametrize("as_label", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_other_columns_are_refused_in_one_line_unless_they_are_dropped(
    tmp_path: Path, name: str, as_label: bool
) -> None:
    columns = {"a": range(ROWS), "x": REFUSED[name], "y": [0, 1] * 3}
    path = write(tmp_path, columns)
    with pytest.raises(
        FormatError,
        match=rf"column 'x' is {name}.*, expected numbers or text; leave it out",
    ) as caught:
        ingest(path, tmp_path / "d", label="x" if as_label else None)
    assert "\n" not in str(caught.value)
    assert ingest(path, tmp_path / "d", drop="x").manifest.feature_names == ("a",)


def test_all_refused_columns_are_named_at_once_with_one_cure_that_works(
    tmp_path: Path,
) -> None:
    columns = {"a": range(ROWS), **{f"{name}, x's": REFUSED[name] for name in REFUSED}}
    path = write(tmp_path, {**columns, "y": [0, 1] * 3})
    with pytest.raises(FormatError, match="hold neither numbers nor text") as caught:
        ingest(path, tmp_path / "d")
    message = str(caught.value)
    for column, kind in zip(list(columns)[1:], REFUSED, strict=True):
        assert f"{column!r} ({kind}" in message
    options = shlex.split(message.partition("out with ")[2].partition(", or cast")[0])
    assert options[0] == "--drop"
    assert ingest(path, tmp_path / "d", drop=options[1]).manifest.feature_names == (
        "a",
    )


def test_words_that_mean_missing_elsewhere_are_words(tmp_path: Path) -> None:
    words = ["NA", "none", "null", "", " ?"]
    labels = ["NA", "", "?", "none", "NA", "x"]
    made = ingest(
        write(tmp_path, {"word": [*words, None], "y": labels}), tmp_path / "d"
    ).manifest
    assert made.feature_names == tuple(f"word={word}" for word in sorted(words))
    assert made.splits["train"].missing == {"word": 1}
    assert made.classes == ("", "?", "NA", "none", "x")


def test_a_part_without_values_takes_the_type_of_the_parts_before(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for part, words in enumerate((["u", "v"], pa.nulls(2))):
        table = pa.table({"a": [0.5, 0.25], "word": words, "y": [0, 1]})
        pq.write_table(table, folder / f"{part}.parquet")
    made = ingest(folder, tmp_path / "d").manifest
    assert made.feature_names == ("a", "word=u", "word=v")
    assert made.splits["train"].missing == {"word": 2}


def test_a_table_of_one_column_or_of_no_rows_says_so(tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match="one column, 'x'; a table needs features and a label"
    ):
        ingest(write(tmp_path, {"x": [1.0, 2.0]}), tmp_path / "d")
    with pytest.raises(FormatError, match="no rows"):
        ingest(
            write(tmp_path, {"x": pa.array([], "f8"), "y": pa.array([], "f8")}),
            tmp_path / "d",
        )


def test_whole_numbers_that_may_be_rounded_are_warned_of(tmp_path: Path) -> None:
    columns = {
        "id": pa.array([2**63 + 1, 7] * 3, "u8"),
        "code": [-(2**53), 5, None] * 2,
    }
    made = ingest(
        write(tmp_path, {**columns, "y": [0, 1] * 3}), tmp_path / "d"
    ).manifest
    assert made.table is not None
    assert made.table.rounded == ("id", "code")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.filterwarnings("ignore:Feather V1:DeprecationWarning")
def test_an_arrow_file_that_is_called_parquet_is_refused_by_name(
    tmp_path: Path,
    version: int,
) -> None:
    path = tmp_path / "t.parquet"
    feather.write_feather(pa.table({"a": [1], "y": [0]}), path, version=version)
    with pytest.raises(FormatError, match=r"is an Arrow \(Feather\) file"):
        ingest(path, tmp_path / "d")


def test_the_index_of_a_data_frame_is_neither_label_nor_feature(tmp_path: Path) -> None:
    """A frame of which rows were taken out has one, and pandas writes it last: it would be the label."""
    columns = {
        "a": range(ROWS),
        "y": [0, 1] * 3,
        "__index_level_0__": range(7, 7 + ROWS),
        "when": ["u", "v"] * 3,
    }
    path = write(tmp_path, columns, ["__index_level_0__", "when"])
    made = ingest(path, tmp_path / "d").manifest
    assert (made.label_column, made.classes, made.feature_names) == (
        "y",
        (0, 1),
        ("a",),
    )
    assert made.table is not None
    assert made.table.dropped == ("__index_level_0__", "when")
    named = ingest(path, tmp_path / "named", label="when").manifest
    assert (named.classes, named.feature_names) == (("u", "v"), ("a", "y"))
    whole = write(
        tmp_path, {"a": range(ROWS), "y": [0, 1] * 3}, [{"kind": "range", "start": 0}]
    )
    assert ingest(whole, tmp_path / "whole").manifest.feature_names == ("a",)


def test_text_after_files_without_a_value_says_which_file_to_name_first(
    tmp_path: Path,
) -> None:
    files = []
    for name, cells in (
        ("none", pa.nulls(ROWS)),
        ("words", pa.array(list("rgb") * 2)),
    ):
        pq.write_table(
            pa.table({"a": range(ROWS), "c": cells, "y": [0, 1] * 3}), tmp_path / name
        )
        files.append(tmp_path / name)
    with pytest.raises(FormatError, match=r"'c' is 'r'.* name this one first"):
        ingest(files, tmp_path / "d", format="parquet")
    made = ingest(files[::-1], tmp_path / "e", format="parquet")
    assert made.manifest.feature_names == ("a", "c=b", "c=g", "c=r")
