"""Leaving out a column of dense and of sparse rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from olscale.compiled.csr import CSR, slice_rows, to_csr, to_dense
from olscale.data.transforms.drop import Drop, column_of


@given(st.integers(0, 50), st.integers(0, 3), st.integers(0, 5))
def test_sparse_rows_lose_the_column_that_dense_ones_lose(
    seed: int, column: int, start: int
) -> None:
    """Also where the rows are a slice of more."""
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 9, (9, 4)) * (rng.random((9, 4)) < 0.5) * 1.0
    rows = slice_rows(to_csr(X), start, 8)
    assert isinstance(rows, CSR)
    step = Drop(column)
    assert step.width(4) == 3
    expected = np.delete(X[start:8], column, axis=1)
    np.testing.assert_array_equal(to_dense(step.apply(rows, 4), 3), expected)
    np.testing.assert_array_equal(step.apply(X[start:8], 4), expected)
    np.testing.assert_array_equal(column_of(rows, column), X[start:8, column])
    np.testing.assert_array_equal(column_of(X[start:8], column), X[start:8, column])
