"""Sparse rows of ARFF: what is left out, what they become, and that dense rows of the same cells are alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from olscale.compiled.csr import CSR, to_dense
from olscale.data.dataset import Dataset
from olscale.data.formats import ReadOptions, find_format
from olscale.data.formats.base import Batch
from olscale.data.ingest.ingest import ingest

HEAD = """@relation r
@attribute size real
@attribute color {red, 'dark blue', green}
@attribute name string
@attribute day {1,2,3}
@attribute class {no,yes}
@data
"""
SPARSE = "{0 2, 1 'dark blue', 2 x, 4 yes}\n{}\n{ 3 3 ,1 green }\n{0 ?,1 ?,3 ?}\n{4 yes 0 -1 2 ' y'}\n"
DENSE = "2,'dark blue',x,1,yes\n0,red,?,1,no\n0,green,?,3,no\n?,?,?,?,no\n-1,red,' y',1,yes\n"


def read(tmp_path: Path, text: str, **options: object) -> Batch:
    path = tmp_path / "t.arff"
    path.write_text(text)
    (batch,) = find_format(str(path)).read(str(path), ReadOptions(**options))
    return batch


def made(folder: Path, name: str, text: str, **options: object) -> Dataset:
    (folder / f"{name}.arff").write_text(text)
    return ingest(folder / f"{name}.arff", folder / name, **options)


def test_dense_rows_of_the_same_cells_are_the_same(tmp_path: Path) -> None:
    for options in (
        {},
        {"encode": ("name=hash:features=8", "color=one-hot:values=1")},
        {"label": "day", "drop": ("name",)},
    ):
        sparse = read(
            tmp_path,
            HEAD + (SPARSE if "label" not in options else SPARSE.replace("3 ?", "3 1")),
            **options,
        )
        dense = read(
            tmp_path,
            HEAD + (DENSE if "label" not in options else DENSE.replace("?,no", "1,no")),
            **options,
        )
        assert sparse.feature_names == dense.feature_names
        assert isinstance(sparse.X, CSR)
        assert repr(sparse.X) == repr(dense.X)
        assert repr(sparse.target) == repr(dense.target)
        assert sparse.table is not None
        assert dense.table is not None
        missing = sparse.table.missing
        assert isinstance(missing, CSR)
        assert (
            to_dense(missing, 5).tolist()
            == np.asarray(dense.table.missing, dtype=float).tolist()
        )


def test_datasets_of_dense_and_sparse_rows_have_one_fingerprint(tmp_path: Path) -> None:
    sparse = made(tmp_path, "a", HEAD + SPARSE)
    dense = made(tmp_path, "b", HEAD + DENSE)
    assert sparse.fingerprint == dense.fingerprint
    assert (
        sparse.manifest.splits["train"].missing
        == dense.manifest.splits["train"].missing
    )
    mixed = "".join(
        [*SPARSE.splitlines(keepends=True)[:2], *DENSE.splitlines(keepends=True)[2:]]
    )
    assert made(tmp_path, "c", HEAD + mixed).fingerprint == dense.fingerprint


def test_what_is_left_out_of_numbers_that_declare_values_is_the_first(
    tmp_path: Path,
) -> None:
    head = "@relation r\n@attribute k {5,7}\n@attribute n real\n@attribute c {2,1}\n@data\n"
    batch = read(tmp_path, head + "{}\n{0 7, 2 1}\n{0 ?, 1 3}\n", encode=("k=number",))
    np.testing.assert_array_equal(to_dense(batch.X, 2), [[5, 0], [7, 0], [np.nan, 3]])
    assert batch.target.tolist() == [2, 1, 2]  # type: ignore[union-attr]


def test_flags_are_numbers_in_sparse_rows_and_categories_in_dense_ones(
    tmp_path: Path,
) -> None:
    head = "@relation r\n@attribute f {0,1}\n@attribute g {0,1}\n@attribute c {u,v}\n@data\n"
    sparse = read(tmp_path, head + "{0 1, 2 v}\n{}\n{0 0, 1 1}\n")
    assert sparse.feature_names == ("f", "g")
    assert to_dense(sparse.X, 2).tolist() == [[1, 0], [0, 0], [0, 1]]
    dense = read(tmp_path, head + "1,0,v\n0,0,u\n0,1,u\n")
    assert dense.feature_names == ("f=0", "f=1", "g=0", "g=1")
    numbers = read(
        tmp_path, head + "1,0,v\n0,0,u\n0,1,u\n", encode=("f=number", "g=number")
    )
    assert numbers.X.tolist() == to_dense(sparse.X, 2).tolist()  # type: ignore[union-attr]
    asked = read(tmp_path, head + "{0 1, 2 v}\n", encode=("g=one-hot:values=2",))
    assert asked.feature_names == ("f", "g=0")


def test_numbers_are_stored_sparse_where_few_are_not_0(tmp_path: Path) -> None:
    head = (
        "@relation r\n"
        + "".join(f"@attribute a{i} numeric\n" for i in range(9))
        + "@attribute c {u,v}\n@data\n"
    )
    few = made(tmp_path, "few", head + "{0 1}\n{8 2, 9 v}\n")
    assert (few.kind, few.columns, few.manifest.nonzeros) == ("sparse", 9, 2)
    many = made(
        tmp_path, "many", head + "{0 1, 1 1, 2 1}\n{8 2, 9 v}\n{0 1, 3 2, 4 ?}\n"
    )
    dense = made(
        tmp_path,
        "dense",
        head + "1,1,1,0,0,0,0,0,0,u\n0,0,0,0,0,0,0,0,2,v\n1,0,0,2,?,0,0,0,0,u\n",
    )
    assert (many.kind, many.fingerprint) == ("dense", dense.fingerprint)
    assert many.manifest.splits["train"].missing == {"a4": 1}


def test_a_test_file_is_read_as_the_train_file_was(tmp_path: Path) -> None:
    head = "@relation r\n@attribute a {0,1}\n@attribute b numeric\n@attribute c {u,v}\n@data\n"
    (tmp_path / "sparse.arff").write_text(head + "{0 1, 2 v}\n")
    (tmp_path / "dense.arff").write_text(head + "0,2,u\n1,0,v\n")
    for train, test in (("sparse", "dense"), ("dense", "sparse")):
        both = ingest(
            tmp_path / f"{train}.arff",
            tmp_path / f"{train} first",
            test=tmp_path / f"{test}.arff",
        )
        assert both.rows("train") + both.rows("test") == 3
        assert both.columns == {"sparse": 2, "dense": 3}[train]


@pytest.mark.parametrize("label", [None, "n"])
def test_segments_by_a_column_of_sparse_rows(tmp_path: Path, label: str | None) -> None:
    head = (
        "@relation r\n@attribute n real\n@attribute b real\n@attribute day {1,2}\n@attribute c "
        "{1,2}\n@data\n"
    )
    rows = "{0 5}\n{1 1}\n{1 1,2 2}\n"
    by_word = made(tmp_path, "word", head + rows, segments="day", label=label)
    assert by_word.segments() == (("1", 0), ("2", 2))
    by_number = made(tmp_path, "number", head + rows, segments="b")
    assert by_number.segments() == (("0", 0), ("1", 1))
    assert by_number.manifest.feature_names == ("n", "b", "day=1", "day=2")


def test_large_whole_numbers_of_sparse_rows_are_noted(tmp_path: Path) -> None:
    head = "@relation r\n@attribute id numeric\n@attribute x numeric\n@attribute c {u,v}\n@data\n"
    table = made(
        tmp_path, "t", head + f"{{0 {2**60}, 1 1e20}}\n{{0 7, 1 0.5}}\n"
    ).manifest.table
    assert table is not None
    assert table.rounded == ("id",)
