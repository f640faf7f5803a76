"""What a dataset says to zarr has the bytes that zarr would write, and needs no zarr to be written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import zarr
from zarr.codecs import BloscCodec

from olscale.compiled.csr import CSR
from olscale.data.layouts.base import Block
from olscale.data.layouts.zarr import Writer
from olscale.storage.open import open_storage

ROWS = 5
PIECE = 4
TYPES = (
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "int64",
    "float32",
    "float64",
)


def write(folder: Path, X: np.ndarray | CSR) -> None:
    storage = open_storage(str(folder))
    storage.make()
    writer = Writer(storage, "train", PIECE)
    writer.append([Block(X, np.zeros(ROWS))])
    writer.finish(2)


def described(
    group: zarr.Group,
    name: str,
    width: tuple[int, ...],
    dtype: str,
    piece: int,
    shuffle: str,
) -> None:
    """Describe an array by zarr itself."""
    array = group.create_array(
        name,
        shape=(0, *width),
        chunks=(piece, *width),
        dtype=dtype,
        compressors=BloscCodec(cname="lz4", clevel=5, shuffle=shuffle),  # type: ignore[arg-type]
        fill_value=0,
    )
    array.resize((ROWS, *width))


@pytest.mark.parametrize("dtype", TYPES)
def test_dense_rows_are_described_as_zarr_does(tmp_path: Path, dtype: str):
    write(tmp_path / "ours", np.ones((ROWS, 2), dtype))
    group = zarr.create_group(tmp_path / "zarr")
    described(group, "X", (2,), dtype, PIECE, "shuffle")
    described(group, "label", (), "float64", PIECE, "shuffle")
    for name in ("zarr.json", "X/zarr.json", "label/zarr.json"):
        assert (tmp_path / "ours" / "train" / name).read_bytes() == (
            tmp_path / "zarr" / name
        ).read_bytes()


def test_sparse_rows_are_described_as_zarr_does(tmp_path: Path):
    rows = CSR(np.arange(ROWS + 1), np.zeros(ROWS, np.int32), np.ones(ROWS))
    write(tmp_path / "ours", rows)
    group = zarr.create_group(tmp_path / "zarr")
    described(group, "data", (), "float64", 1024, "noshuffle")
    described(group, "indices", (), "int32", 1024, "shuffle")
    group.attrs.update(
        {"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": [ROWS, 2]}
    )
    for name in ("zarr.json", "data/zarr.json", "indices/zarr.json"):
        assert (tmp_path / "ours" / "train" / name).read_bytes() == (
            tmp_path / "zarr" / name
        ).read_bytes()
