"""Columns: sources that name them agree by name."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.compiled.csr import CSR, to_dense
from olscale.data.formats.base import Batch
from olscale.data.ingest.columns import Columns
from olscale.errors import DatasetError


def sparse(dense, names=None) -> Batch:
    X = np.asarray(dense, float)
    row, column = np.nonzero(X)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(X)))))
    return Batch(
        CSR(indptr, column.astype(np.int32), X[row, column]),
        np.zeros(len(X)),
        X.shape[1],
        names,
    )


def test_categories_met_in_another_order_get_the_same_column():
    columns = Columns()
    columns.align(sparse([[1, 2, 0]], ("age", "job=cook", "job=smith")), "a")
    rows = columns.align(
        sparse([[5, 1, 0], [6, 0, 3]], ("age", "job=smith", "job=tailor")), "b"
    )
    assert columns.names == ("age", "job=cook", "job=smith", "job=tailor")
    assert columns.width == 4
    assert to_dense(rows, 4).tolist() == [[5, 0, 1, 0], [6, 0, 0, 3]]


def test_row_indices_stay_increasing_when_columns_move():
    columns = Columns()
    columns.align(sparse([[1, 1, 1]], ("a", "b", "c")), "a")
    rows = columns.align(sparse([[3, 2, 1]], ("c", "b", "a")), "b")
    assert rows.indices.tolist() == [0, 1, 2]
    assert rows.data.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            Batch(np.zeros((1, 3)), np.zeros(1), 3),
            "has 3 columns but the sources before it had 2",
        ),
        (sparse([[1, 2]]), "has sparse rows but the sources before it had dense ones"),
    ],
)
def test_sources_that_do_not_go_together(second: Batch, message: str):
    columns = Columns()
    columns.align(Batch(np.zeros((1, 2), np.uint8), np.zeros(1), 2), "a")
    with pytest.raises(DatasetError, match=f"^b {message}"):
        columns.align(second, "b")


def test_types_that_float64_cannot_hold_become_float64():
    columns = Columns()
    assert (
        columns.align(Batch(np.ones((1, 2), np.int64), np.zeros(1), 2), "a").dtype
        == np.float64
    )


def test_two_features_of_a_source_with_one_name_are_refused():
    with pytest.raises(DatasetError, match=r"^a has two features 'x'; rename"):
        Columns().align(sparse([[1, 2, 3]], ("x", "y", "x")), "a")
    columns = Columns()
    columns.align(sparse([[1, 2]], ("x", "y")), "a")
    with pytest.raises(DatasetError, match=r"^a has two features 'y'; rename"):
        columns.align(sparse([[1, 2, 3]], ("x", "y", "y")), "a")
