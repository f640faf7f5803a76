"""ARFF, Parquet and MAT: formats that declare their columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from pyarrow import parquet
from scipy.io import savemat

from olscale.compiled.csr import CSR, to_dense
from olscale.data.formats import ReadOptions, find_format
from olscale.data.formats.base import Batch
from olscale.errors import FormatError

HEAD = """% a comment
@RELATION 'two words'

@attribute size real
@attribute 'the color' {red, 'dark blue', "green"}
@attribute day {1,2,3}
@attribute class {no,yes}
@data
"""


def read(path: Path, **options: object) -> list[Batch]:
    format = find_format(str(path))
    return list(format.read(str(path), ReadOptions(**options)))


def read_arff(tmp_path: Path, text: str, **options: object) -> list[Batch]:
    path = tmp_path / "rows"
    path.write_text(text)
    return read(path, **options)


def test_declared_values_are_columns_before_any_row_is_seen(tmp_path: Path) -> None:
    text = HEAD + "1.5,'dark blue',2,yes\n% between\n?, red ,3,no\n0,?,1,no\n"
    batches = read_arff(tmp_path, text, chunk_rows=1)
    assert [batch.columns for batch in batches] == [5, 5, 5]
    assert batches[0].feature_names == ("size", "day", "the color=red", "the color=dark blue", "the color=green")
    dense = np.vstack([to_dense(batch.X, 5) for batch in batches])
    np.testing.assert_array_equal(dense, [[1.5, 2, 0, 1, 0], [np.nan, 3, 1, 0, 0], [0, 1, 0, 0, 0]])
    assert [label for batch in batches for label in batch.target] == ["yes", "no", "no"]


def test_sparse_arff_rows_leave_out_zeros_and_first_values(tmp_path: Path) -> None:
    (batch,) = read_arff(tmp_path, HEAD + "{0 2, 3 yes}\n{ }\n{1 green}\n")
    np.testing.assert_array_equal(to_dense(batch.X, 5)[:, [0, 2, 4]], [[2, 1, 0], [0, 1, 0], [0, 0, 1]])
    assert batch.target == ["yes", "no", "no"]


def test_an_arff_label_can_be_a_number(tmp_path: Path) -> None:
    (batch,) = read_arff(tmp_path, "@relation r\n@attribute a numeric\n@attribute b integer\n@data\n1,2\n", label="a")
    assert batch.target.tolist() == [1]
    assert batch.X.tolist() == [[2]]


@pytest.mark.parametrize(
    ("row", "line", "problem"),
    [
        ("1,red,2\n", 9, "has 3 cells, expected 4 as declared"),
        ("1,pink,2,yes\n", 9, "'the color' is 'pink', which is not among its declared values"),
        ("1,red,2,maybe\n", 9, "'class' is 'maybe'"),
        ("1,red,3.0,yes\n1,red,7,yes\n", 10, "'day' is '7', which is not among its declared values"),
        ("1,red,inf,yes\n", 9, "'day' is 'inf', which is not among its declared values"),
        ("{2 4, 3 yes}\n", 9, "'day' is '4', which is not among its declared values"),
        ("1,red,2,yes\nx,red,2,yes\n", 10, "column 'size' is 'x'"),
        ("1,red,2,?\n", 9, "label is missing"),
        ("{9 1}\n", 9, "expected POSITION VALUE"),
        ("", None, "no rows"),
    ],
)
def test_faults_in_arff_rows_are_named(tmp_path: Path, row: str, line: int | None, problem: str) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        read_arff(tmp_path, HEAD + row)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("@relation r\n@attribute a\n", 2),
        ("@relation r\n@attribute a matrix\n", 2),
        ("@relation r\n1,2\n", 2),
        ("@relation r\n@data\n", 2),
        ("@relation r\n@attribute a real\n", 2),
        ("@relation r\n@attribute a {01,1,2}\n@attribute y {0,1}\n@data\n1,1\n", 2),
        ("@relation r\n@attribute a {u,v}\n@attribute y {0,0.0}\n@data\nu,0\n", 3),
        ("@relation r\n@attribute a {u,' u'}\n@attribute y {0,1}\n@data\nu,0\n", 2),
    ],
)
def test_faults_in_arff_declarations_are_named(tmp_path: Path, head: str, line: int) -> None:
    with pytest.raises(FormatError) as caught:
        read_arff(tmp_path, head)
    assert caught.value.line == line


@pytest.mark.parametrize("rows", [40, 500_000])
@pytest.mark.parametrize(("row", "column"), [("7,0,u", "k"), ("1,5,u", "class"), ("1,-0.5,u", "class")])
def test_numbers_that_are_not_declared_are_named(tmp_path: Path, rows: int, row: str, column: str) -> None:
    """500,000 rows are more than the first block, so that the compiled loop reads them."""
    head = "@relation r\n@attribute k {3,1,2}\n@attribute class {0,1}\n@attribute text {u,v}\n@data\n"
    good = "".join(f"{i % 3 + 1},{i % 2},u\n" for i in range(rows))
    text = head + good + "?,1.0,v\n"
    assert sum(len(batch) for batch in read_arff(tmp_path, text, label="class")) == rows + 1
    problem = f"attribute '{column}' is '{row.split(',')[column == 'class']}', which is not among its declared values"
    with pytest.raises(FormatError, match=problem) as caught:
        read_arff(tmp_path, f"{text}{row}\n{good}", label="class")
    assert caught.value.line == 5 + rows + 2


def test_declared_numbers_with_gaps_and_fractions(tmp_path: Path) -> None:
    head = "@relation r\n@attribute k {5,0.5,-1,1e3}\n@attribute j {0,2}\n@attribute y {u,v}\n@data\n"
    good = "5,2,u\n.5,0,v\n-1.0,2,u\n1000,?,u\n?,0,v\n" * 100_000
    assert sum(map(len, read_arff(tmp_path, head + good))) == 500_000
    for row, cell in (("1,0,u", "1"), ("1001,0,u", "1001"), ("-2,0,u", "-2"), ("5,1,u", "1")):
        with pytest.raises(FormatError, match=f"line 500006: attribute '[kj]' is '{cell}', which is not among"):
            read_arff(tmp_path, f"{head}{good}{row}\n")


def test_a_dropped_attribute_may_declare_and_hold_anything(tmp_path: Path) -> None:
    text = "@relation r\n@attribute a {01,1}\n@attribute b real\n@attribute y {0,1}\n@data\n7,2,0\n"
    (batch,) = read_arff(tmp_path, text, drop=("a",))
    assert batch.X.tolist() == [[2]]


def test_electricity_has_eight_columns(shared_data) -> None:  # type: ignore[no-untyped-def]
    (batch,) = read(shared_data("electricity/electricity.arff"), chunk_rows=100_000)
    assert batch.X.shape == (45312, 8)
    assert batch.X[0, :3].tolist() == [0, 2, 0]
    assert set(batch.target) == {"UP", "DOWN"}


def test_parquet_columns_are_numbers_or_text(tmp_path: Path) -> None:
    table = pa.table(
        {
            "y": pa.array(["a", "b", "a"]).dictionary_encode(),
            "n": pa.array([1, None, 3], pa.int32()),
            "flag": [True, False, None],
            "word": ["p", None, "q"],
        }
    )
    parquet.write_table(table, tmp_path / "t")
    for chunk_rows in (1, 2, 8):
        batches = read(tmp_path / "t", label="y", chunk_rows=chunk_rows)
        dense = np.vstack([to_dense(batch.X, 4) for batch in batches])
        np.testing.assert_array_equal(dense, [[1, 1, 1, 0], [np.nan, 0, 0, 0], [3, np.nan, 0, 1]])
        assert [label for batch in batches for label in batch.target] == ["a", "b", "a"]
    assert batches[0].feature_names == ("n", "flag", "word=p", "word=q")


def test_parquet_of_numbers_is_dense_and_nulls_in_labels_are_named(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": [1.5, 2], "y": [0, 1]}), tmp_path / "t.parquet")
    (batch,) = read(tmp_path / "t.parquet")
    assert batch.X.tolist() == [[1.5], [2]]
    parquet.write_table(pa.table({"a": [1.5, 2], "y": [0, None]}), tmp_path / "t.parquet")
    with pytest.raises(FormatError, match="line 2: the label is missing"):
        read(tmp_path / "t.parquet")


def test_parquet_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": [[1]], "y": [0]}), path)
    with pytest.raises(FormatError, match="column 'a' is list"):
        read(path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FormatError, match="damaged"):
        read(path)


@pytest.mark.long  # a process for each file
def test_mat_matrices_are_read_dense_sparse_and_side_by_side(tmp_path: Path) -> None:
    path, X = tmp_path / "m.mat", np.array([[0, 2, 0], [1, 0, 3], [0, 0, 0]], dtype=float)
    y = np.array([[1], [2], [1]])
    views = np.empty((2, 1), dtype=object)
    views[0, 0], views[1, 0] = X[:, :1], X[:, 1:]
    for matrix in (X, scipy.sparse.csc_matrix(X), views):
        savemat(path, {"X": matrix, "Y": y})
        batches = read(path, chunk_rows=2)
        assert isinstance(batches[0].X, CSR) == scipy.sparse.issparse(matrix)
        np.testing.assert_array_equal(np.vstack([to_dense(batch.X, 3) for batch in batches]), X)
        assert np.concatenate([batch.target for batch in batches]).tolist() == [1, 2, 1]


@pytest.mark.long  # a process for each file
def test_a_mat_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "m.mat"
    savemat(path, {"Z": np.eye(3)})
    with pytest.raises(FormatError, match=r"holds the arrays Z \(3, 3\); expected X, Y or"):
        read(path)
    savemat(path, {"X": np.eye(50), "Y": np.ones(50)}, do_compression=True)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FormatError, match="damaged"):
        read(path)


@pytest.mark.long  # a process for each file
def test_a_sparse_matrix_whose_columns_overlap_is_an_error(tmp_path: Path) -> None:
    """Where the last column pointer is zero SciPy checks none of them, and converting the matrix would end the process."""
    path = tmp_path / "m.mat"
    matrix = scipy.sparse.csc_matrix(np.ones((4, 3)))
    pointers = matrix.indptr.astype("<i4").tobytes()
    savemat(path, {"fea": matrix, "gnd": np.arange(4)})
    whole = path.read_bytes()
    assert whole.count(pointers) == 1
    path.write_bytes(whole.replace(pointers, pointers[:-4] + bytes(4)))
    with pytest.raises(FormatError, match=r"damaged \(the columns of 'fea' overlap\)"):
        read(path)


@pytest.mark.parametrize(("name", "shape"), [("mfeat/mfeat.mat", (2000, 649)), ("face_small/ORL.mat", (400, 1024))])
def test_real_mat_files(shared_data, name: str, shape: tuple[int, int]) -> None:  # type: ignore[no-untyped-def]
    (batch,) = read(shared_data(name))
    assert batch.X.shape == shape
