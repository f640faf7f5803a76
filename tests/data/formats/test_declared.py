"""Parquet and MAT: formats that declare their columns."""

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


def read(path: Path, **options: object) -> list[Batch]:
    format = find_format(str(path))
    return list(format.read(str(path), ReadOptions(**options)))


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
        np.testing.assert_array_equal(
            dense, [[1, 1, 1, 0], [np.nan, 0, 0, 0], [3, np.nan, 0, 1]]
        )
        assert [label for batch in batches for label in batch.target] == ["a", "b", "a"]
    assert batches[0].feature_names == ("n", "flag", "word=p", "word=q")


def test_parquet_of_numbers_is_dense_and_nulls_in_labels_are_named(
    tmp_path: Path,
) -> None:
    parquet.write_table(pa.table({"a": [1.5, 2], "y": [0, 1]}), tmp_path / "t.parquet")
    (batch,) = read(tmp_path / "t.parquet")
    assert batch.X.tolist() == [[1.5], [2]]
    parquet.write_table(
        pa.table({"a": [1.5, 2], "y": [0, None]}), tmp_path / "t.parquet"
    )
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
    path = tmp_path / "m.mat"
    X = np.array([[0, 2, 0], [1, 0, 3], [0, 0, 0]], dtype=float)
    y = np.array([[1], [2], [1]])
    views = np.empty((2, 1), dtype=object)
    views[0, 0] = X[:, :1]
    views[1, 0] = X[:, 1:]
    for matrix in (X, scipy.sparse.csc_matrix(X), views):
        savemat(path, {"X": matrix, "Y": y})
        batches = read(path, chunk_rows=2)
        assert isinstance(batches[0].X, CSR) == scipy.sparse.issparse(matrix)
        np.testing.assert_array_equal(
            np.vstack([to_dense(batch.X, 3) for batch in batches]), X
        )
        assert np.concatenate([batch.target for batch in batches]).tolist() == [1, 2, 1]


@pytest.mark.long  # a process for each file
def test_a_mat_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "m.mat"
    savemat(path, {"Z": np.eye(3)})
    with pytest.raises(
        FormatError, match=r"holds the arrays Z \(3, 3\); expected X, Y or"
    ):
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


@pytest.mark.parametrize(
    ("name", "shape"),
    [("mfeat/mfeat.mat", (2000, 649)), ("face_small/ORL.mat", (400, 1024))],
)
def test_real_mat_files(shared_data, name: str, shape: tuple[int, int]) -> None:  # type: ignore[no-untyped-def]
    (batch,) = read(shared_data(name))
    assert batch.X.shape == shape
