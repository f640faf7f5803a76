"""Rows: dense and CSR say the same, slices share, copies are exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.compiled.csr import (
    CSR,
    nbytes,
    rows_of,
    slice_rows,
    take_rows,
    to_csr,
    to_dense,
)
from olscale.data.chunk import Chunk


@st.composite
def matrices(draw: st.DrawFn, least_rows: int = 0) -> np.ndarray:
    """Draw dense rows with many zeros."""
    rows = draw(st.integers(least_rows, 12))
    columns = draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    return rng.standard_normal((rows, columns)) * (
        rng.random((rows, columns)) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    )


@st.composite
def spans(draw: st.DrawFn) -> tuple[np.ndarray, int, int]:
    X = draw(matrices())
    start = draw(st.integers(0, len(X)))
    return X, start, draw(st.integers(start, len(X)))


@given(X=matrices())
def test_csr_and_back(X: np.ndarray) -> None:
    sparse = to_csr(X)
    assert (sparse.indptr.dtype, sparse.indices.dtype) == (np.int64, np.int32)
    assert (rows_of(sparse), rows_of(X)) == (len(X), len(X))
    assert int(sparse.indptr[-1]) == np.count_nonzero(X)
    np.testing.assert_array_equal(to_dense(sparse, X.shape[1]), X)
    assert to_csr(sparse) is sparse
    assert to_dense(X, X.shape[1]) is X


@given(span=spans())
def test_slices_agree_and_share_memory(span: tuple[np.ndarray, int, int]) -> None:
    X, start, stop = span
    sparse = to_csr(X)
    part = slice_rows(sparse, start, stop)
    assert isinstance(part, CSR)
    assert part.indices is sparse.indices
    assert rows_of(part) == stop - start
    np.testing.assert_array_equal(to_dense(part, X.shape[1]), X[start:stop])
    np.testing.assert_array_equal(slice_rows(X, start, stop), X[start:stop])
    assert nbytes(part) == 12 * np.count_nonzero(X[start:stop])
    assert nbytes(X) == X.nbytes


@given(span=spans(), seed=st.integers(0, 100))
def test_taking_rows_is_indexing_even_in_a_slice(
    span: tuple[np.ndarray, int, int], seed: int
) -> None:
    X, start, stop = span
    rng = np.random.default_rng(seed)
    index = rng.integers(
        0, max(1, stop - start), size=rng.integers(0, 20) if stop > start else 0
    )
    taken = take_rows(slice_rows(to_csr(X), start, stop), index)
    np.testing.assert_array_equal(to_dense(taken, X.shape[1]), X[start:stop][index])
    np.testing.assert_array_equal(take_rows(X[start:stop], index), X[start:stop][index])
    assert taken.indptr[0] == 0


@given(span=spans())
def test_chunk_slices(span: tuple[np.ndarray, int, int]) -> None:
    X, start, stop = span
    for rows in (X, to_csr(X)):
        part = Chunk(rows, np.arange(len(X)), X.shape[1])[start:stop]
        assert (len(part), part.columns) == (stop - start, X.shape[1])
        np.testing.assert_array_equal(to_dense(part.X, X.shape[1]), X[start:stop])
        np.testing.assert_array_equal(part.y, np.arange(start, stop))


def test_chunk_is_read_only_and_leaves_its_source_writable() -> None:
    X = np.eye(3)
    y = np.arange(3)
    chunk = Chunk(X, y, 3)
    for array in (chunk.X, chunk.y, *Chunk(to_csr(X), y, 3).X):
        assert not array.flags.writeable
    X[0, 0] = 2.0
    assert chunk.X[0, 0] == 2.0
    assert Chunk(
        np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.zeros(2), 3
    ).X.flags.c_contiguous


def test_chunk_is_cut_into_consecutive_rows_only() -> None:
    with pytest.raises(ValueError, match="step was 2"):
        Chunk(np.eye(3), np.arange(3), 3)[::2]
