"""The two ways of reading tables: the compiled loops over cells, and row by row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from olscale.compiled.csr import CSR
from olscale.data.formats import (
    ReadOptions,
    csv_rows,
    find_format,
    one_hot,
    table_parser,
)
from olscale.data.formats import csv as csv_format
from olscale.errors import OlscaleError
from tests.fuzz.batches import ROWS
from tests.fuzz.target import Broken


def both_ways(path: Path, format: str) -> None:
    """Compare what the two ways make of a file, its blocks far shorter than the file."""
    options = ReadOptions(chunk_rows=ROWS)
    fast = outcome(path, format, options, 64)
    slow = outcome(path, format, options)
    if fast != slow:
        raise Broken(f"the loop reads {fast!r:.300}, row by row it is {slow!r:.300}")


def outcome(
    path: Path, format: str, options: ReadOptions, block_bytes: int | None = None
) -> list[Any]:
    """Return all that is read of a table, by the loop where `block_bytes` are given, or what is said to be wrong."""
    with (
        patch.object(table_parser, "pays", lambda text: bool(block_bytes)),
        patch.object(csv_rows, "pays", lambda text: bool(block_bytes)),
        patch.object(one_hot, "loop_is_quick", lambda: bool(block_bytes)),
        patch.object(table_parser, "BLOCK_BYTES", block_bytes or 1 << 20),
        patch.object(csv_format, "SAMPLE_ROWS", 2),
    ):
        return list(_plain(path, format, options))


def _plain(path: Path, format: str, options: ReadOptions) -> Iterator[Any]:
    try:
        for batch in find_format(str(path), format).read(str(path), options):
            arrays = [batch.X] if isinstance(batch.X, np.ndarray) else batch.X
            yield [(array.dtype, array.shape, array.tobytes()) for array in arrays]
            table = batch.table
            assert table is not None
            for target in (batch.target, table.segments):
                yield target.tobytes() if isinstance(target, np.ndarray) else target
            yield batch.feature_names, batch.label, batch.columns
            missing = table.missing
            if isinstance(missing, CSR):
                yield [array.tolist() for array in missing]
            else:
                yield None if missing is None else missing.tolist()
        yield table.columns
    except OlscaleError as error:
        yield type(error), str(error)
