"""Rebatching: chunks of an exact size, whatever the batches were."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from olscale.compiled.csr import CSR, to_csr, to_dense
from olscale.data.layouts import Block
from olscale.data.stored_rows import Rebatch, default_chunk_rows, join


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 12), st.booleans())
def test_rows_are_kept_in_order_in_chunks_of_equal_size(
    lengths: list[int], rows: int, sparse: bool
):
    X = np.arange(sum(lengths) * 3, dtype=float).reshape(-1, 3) % 5
    ends = np.cumsum([0, *lengths])
    parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
    blocks = [
        Block(to_csr(X[p]) if sparse else X[p], np.arange(p.start, p.stop, dtype=float))
        for p in parts
    ]
    chunks = Rebatch(rows)
    cut = [join(parts) for block in blocks for parts in chunks.add(block)]
    if chunks.rest:
        cut.append(join(chunks.rest))
    assert all(len(block) == rows for block in cut[:-1])
    assert all(0 < len(block) <= rows for block in cut)
    assert np.concatenate(
        [np.empty(0), *(block.label for block in cut)]
    ).tolist() == list(range(len(X)))
    assert (
        np.concatenate(
            [np.empty((0, 3)), *(to_dense(block.X, 3) for block in cut)]
        ).tolist()
        == X.tolist()
    )


def test_default_keeps_dense_chunks_under_32_mb():
    for columns in (1, 256, 257, 784, 10_000, 10_000_000):
        rows = default_chunk_rows(np.empty((0, columns)))
        assert rows == 1 or rows * columns * 8 <= 32 << 20
    empty = np.empty(0)
    assert (
        default_chunk_rows(CSR(np.zeros(1, np.int64), empty.astype(np.int32), empty))
        == 16_384
    )
