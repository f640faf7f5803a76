"""Batches spilled to a file: each is a line of JSON and plain arrays, so reading runs no code.

Sparse rows are packed (`olscale.data.row_codec`), which halves the size of their text or better.
SVMlight rows are spilled before it is known whether their indices count from 0 or 1: the first rows
of the first file decide that for all, and in an archive they may come last. So rows are parsed with
their indices as written, and are numbered when they are read back.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, slice_rows
from olscale.data.formats.base import Batch, Format, ReadOptions
from olscale.data.formats.svmlight import read_svmlight
from olscale.data.row_codec import SPARE_WORDS, PackedRows, Pieces, find, unpack
from olscale.data.stored_rows import DEFAULT_CHUNK_ROWS
from olscale.errors import DatasetError
from olscale.storage.local import write_in_steps

# Few enough to be packed in the cache.
_PIECE_ROWS = 1_024


# Packed rows take 0.44 of the text. Compressing them with lz4 as well cost more time than it
# saved.
def write_batch(file: BinaryIO, batch: Batch) -> None:
    """Append `batch` to `file`.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> write_batch(file, Batch(np.eye(2), np.array([0.0, 1.0]), columns=2))
    >>> file.getvalue()[:30]
    b'{"arrays": 2, "columns": 2, "f'
    """
    text = isinstance(batch.target, list)
    about = {
        "columns": int(batch.columns),
        "feature_names": batch.feature_names,
        "zero_based": batch.zero_based,
        "label": batch.label,
        "regression": batch.regression,
        "text": batch.target if text else None,
        "targets": batch.targets,
    }
    arrays = [*_packed(batch.X)] if isinstance(batch.X, CSR) else [batch.X]
    if not isinstance(batch.target, list):
        arrays.append(batch.target)
    file.write(
        # Labels may be NumPy's numbers, which JSON does not know.
        json.dumps(
            {"arrays": len(arrays), **about}, default=lambda value: value.item()
        ).encode()
        + b"\n"
    )
    for array in arrays:
        values = np.ascontiguousarray(array)
        np.lib.format.write_array_header_1_0(
            file, np.lib.format.header_data_from_array_1_0(values)
        )
        write_in_steps(file, values.reshape(-1).view(np.uint8))


def read_batches(path: Path) -> Iterator[Batch]:
    """Yield the batches in a file, then remove it."""
    with path.open("rb") as file:
        while line := file.readline():
            about = json.loads(line)
            arrays = [
                np.lib.format.read_array(file, allow_pickle=False)
                for _ in range(about.pop("arrays"))
            ]
            text = about.pop("text")
            names = about.pop("feature_names")
            targets = tuple(about.pop("targets", ()))
            target = arrays.pop() if text is None else text
            X = _unpacked(*arrays) if len(arrays) > 1 else arrays[0]
            names = None if names is None else tuple(names)
            yield Batch(X, target, feature_names=names, targets=targets, **about)
    path.unlink()


def _packed(X: CSR) -> list[NDArray[Any]]:
    rows = len(X.indptr) - 1
    packed = PackedRows(rows, int(X.indptr[-1] - X.indptr[0]))
    for start in range(0, rows, _PIECE_ROWS):
        part = slice_rows(X, start, min(start + _PIECE_ROWS, rows))
        # Without labels, which may be text and are written apart.
        packed.add(CSR(*part), np.zeros(len(part[0]) - 1))
    words, *bounds, _ = packed.pieces()
    return [
        np.concatenate([words, np.zeros(SPARE_WORDS)]),
        np.array(bounds),
        np.array([rows]),
    ]


def _unpacked(
    words: NDArray[np.float64],
    bounds: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> CSR:
    begin, middle, end = bounds
    pieces = Pieces(words[:-SPARE_WORDS], begin, middle, end, int(rows[0]))
    return unpack(find(pieces)[0], np.arange(pieces.rows))


def spill_svmlight(
    format: Format,
    source: str,
    content: BufferedReader,
    file: Path,
) -> None:
    """Parse `content`, SVMlight text called `source` in errors, and write its rows to `file`."""
    options = ReadOptions(
        chunk_rows=DEFAULT_CHUNK_ROWS, zero_based=True, stream=content
    )
    with file.open("wb") as out:
        for batch in format.read(source, options):
            write_batch(out, batch)


def read_spill(
    source: str,
    file: Path,
    zero_based: bool | None,
    again: Callable[[], AbstractContextManager[BufferedReader]],
) -> Iterator[Batch]:
    """Yield the rows in `file` as `read_svmlight` does, then remove it.

    Parameters
    ----------
    source : str
        Its name in errors.
    file : Path
        Made by `spill_svmlight`.
    zero_based : bool, optional
        As in `ReadOptions`.
    again : callable
        Opens the text again, to find the line of an invalid index 0.

    Raises
    ------
    FormatError
        When an index is 0 although indices count from 1.
    """
    is_zero_based = zero_based
    for batch in read_batches(file):
        X = batch.X
        assert isinstance(X, CSR)
        begins = X.indptr[:-1][np.diff(X.indptr) > 0]
        # Indices of a row ascend, so that its first one is its smallest.
        smallest = X.indices[begins].min(initial=1)
        if zero_based is None:
            zero_based = bool(smallest == 0)
        if zero_based:
            yield replace(batch, zero_based=True)
            continue
        if smallest == 0:
            # Parses the text once more for the line of the index 0.
            with again() as text:
                for _ in read_svmlight(
                    source,
                    ReadOptions(
                        DEFAULT_CHUNK_ROWS, zero_based=is_zero_based, stream=text
                    ),
                ):
                    pass
            raise DatasetError(f"{source} changed while it was read; ingest it again")
        np.subtract(X.indices, np.int32(1), out=X.indices)
        yield replace(batch, columns=max(batch.columns - 1, 0), zero_based=False)
