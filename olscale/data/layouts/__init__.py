"""Layouts: how chunks lie in files. See `olscale.data.layouts.base` for the contract."""

from __future__ import annotations

import importlib
from typing import Any

from olscale.data.layouts.base import Block, SplitReader, SplitShape, SplitWriter
from olscale.errors import UnknownNameError
from olscale.storage.directory import Directory

__all__ = ["Block", "SplitShape", "check_layout", "open_reader", "open_writer"]

_MODULES = {"parquet": "olscale.data.layouts.parquet", "zarr": "olscale.data.layouts.zarr"}


def check_layout(name: str) -> None:
    """Raise `UnknownNameError` where `name` is no layout."""
    if name not in _MODULES:
        raise UnknownNameError("layout", name, _MODULES)


def _module(name: str) -> Any:
    check_layout(name)
    return importlib.import_module(_MODULES[name])


def open_writer(layout: str, directory: Directory, split: str, chunk_rows: int) -> SplitWriter:
    """Return a writer of `split` in `layout`."""
    writer: SplitWriter = _module(layout).Writer(directory, split, chunk_rows)
    return writer


def open_reader(layout: str, directory: Directory, shape: SplitShape) -> SplitReader:
    """Return a reader of the split described by `shape`."""
    reader: SplitReader = _module(layout).Reader(directory, shape)
    return reader
