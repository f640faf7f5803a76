"""SVMlight rows spilled before it is known whether their indices count from 0 or 1.

The first rows of the first file decide that for all, and in an archive they may come last. So rows
are parsed with their indices as written, and are numbered when they are read back.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from io import BufferedReader
from pathlib import Path

import numpy as np

from olscale.compiled.csr import CSR
from olscale.data.formats.base import Batch, Format, ReadOptions
from olscale.data.formats.svmlight import read_svmlight
from olscale.data.ingest.spill import read_batches, write_batch
from olscale.data.rebatch import DEFAULT_CHUNK_ROWS
from olscale.errors import DatasetError


def spill_svmlight(format: Format, source: str, content: BufferedReader, file: Path) -> None:
    """Parse `content`, SVMlight text called `source` in errors, and write its rows to `file`."""
    options = ReadOptions(chunk_rows=DEFAULT_CHUNK_ROWS, zero_based=True, stream=content)
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
        smallest = X.indices[begins].min(initial=1)
        if zero_based is None:
            zero_based = bool(smallest == 0)
        if zero_based:
            yield replace(batch, zero_based=True)
            continue
        if smallest == 0:
            with again() as text:
                for _ in read_svmlight(
                    source, ReadOptions(DEFAULT_CHUNK_ROWS, zero_based=is_zero_based, stream=text)
                ):
                    pass
            raise DatasetError(f"{source} changed while it was read; ingest it again")
        np.subtract(X.indices, np.int32(1), out=X.indices)
        yield replace(batch, columns=max(batch.columns - 1, 0), zero_based=False)
