"""Layouts: how chunks are stored in files. See `olscale.data.layouts.base` for the contract."""

from typing import Any

from olscale.data.layouts.base import Block, SplitReader, SplitShape, SplitWriter
from olscale.registry import Registry
from olscale.storage.base import Storage

__all__ = ["LAYOUTS", "Block", "SplitShape", "open_reader", "open_writer"]

LAYOUTS: Registry[Any] = Registry(
    "layout",
    {"parquet": "olscale.data.layouts.parquet", "zarr": "olscale.data.layouts.zarr"},
)
"""Name -> a module (or class) with a `SplitWriter` ``Writer`` and a `SplitReader` ``Reader``."""


def open_writer(
    layout: str,
    directory: Storage,
    split: str,
    chunk_rows: int,
) -> SplitWriter:
    """Return a writer of `split` in `layout`."""
    writer: SplitWriter = LAYOUTS.load(layout).Writer(directory, split, chunk_rows)
    return writer


def open_reader(layout: str, directory: Storage, shape: SplitShape) -> SplitReader:
    """Return a reader of the split described by `shape`."""
    reader: SplitReader = LAYOUTS.load(layout).Reader(directory, shape)
    return reader
