"""Rows of an array in pieces that are not those of the dataset's chunks, read in any order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import CSR
from olscale.data.layouts import zarr
from olscale.data.layouts.base import Block, SplitShape
from olscale.storage.open import open_storage

ENTRIES = 1_000
PIECE = 64


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, np.ndarray]:
    folder = str(tmp_path_factory.mktemp("pieces"))
    data = np.random.default_rng(0).random(ENTRIES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zarr, "_PIECE", PIECE)
        writer = zarr.Writer(open_storage(folder), "train", ENTRIES)
        rows = CSR(np.arange(ENTRIES + 1), np.zeros(ENTRIES, np.int32), data)
        writer.append([Block(rows, np.zeros(ENTRIES))])
        writer.finish(1)
    return folder, data


@settings(max_examples=200)
@given(
    bounds=st.lists(
        st.tuples(st.integers(0, ENTRIES), st.integers(0, 5 * PIECE)),
        min_size=1,
        max_size=8,
    )
)
def test_any_span_after_any_other(
    values: tuple[str, np.ndarray], bounds: list[tuple[int, int]]
) -> None:
    folder, data = values
    reader = zarr.Reader(
        open_storage(folder), SplitShape("train", "sparse", 1, ENTRIES, ENTRIES, None)
    )
    pieces = zarr._Pieces(reader, "data")
    got = []
    for first, length in bounds:
        last = min(first + length, ENTRIES)
        got.append((pieces.read(first, last), data[first:last]))
    for mine, expected in got:  # afterwards: what was handed out must not change
        np.testing.assert_array_equal(mine, expected)


def test_each_piece_is_decoded_once_from_front_to_back(
    values: tuple[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, data = values
    reader = zarr.Reader(
        open_storage(folder), SplitShape("train", "sparse", 1, ENTRIES, ENTRIES, None)
    )
    pieces = zarr._Pieces(reader, "data")
    decoded = []
    decode = zarr._Pieces._decode
    monkeypatch.setattr(
        zarr._Pieces,
        "_decode",
        lambda self, i, out: (decoded.append(i), decode(self, i, out)),
    )
    parts = [
        pieces.read(first, min(first + 150, ENTRIES))
        for first in range(0, ENTRIES, 150)
    ]
    np.testing.assert_array_equal(np.concatenate(parts), data)
    assert decoded == list(range(-(-ENTRIES // PIECE)))
