"""The published form of the URL set: a compressed tar archive of one SVMlight file per day.

The files lie in the archive in the order of their names as text, ``Day10.svm`` before ``Day2.svm``,
which is not the order of time: a reader must sort them.
"""

import io
import tarfile
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from gzip import GzipFile

import numpy as np

from olscale.compiled.csr import CSR
from olscale.data.formats.base import Batch
from olscale.storage.open import open_output

_LEVEL = 6
"""What ``tar czf`` takes, as the publishers did."""
_BLOCK_BYTES = 1 << 18
"""Enough for packing to run in parallel with generating."""


def svmlight_text(batch: Batch) -> memoryview:
    r"""Return sparse rows as SVMlight text.

    Their values are multiples of a millionth in (0, 1], their targets -1 and +1.

    Examples
    --------
    >>> indices = np.array([0, 9, 4], dtype=np.int32)
    >>> X = CSR(np.array([0, 2, 3]), indices, np.array([0.25, 1.0, 1.0]))
    >>> bytes(svmlight_text(Batch(X, np.array([1.0, -1.0]), 10)))
    b'+1 1:0.25 10:1\n-1 5:1\n'
    """
    from olscale.bench.workloads._text_loop import PAIR_BYTES, ROW_BYTES, write_rows

    X = batch.X
    assert isinstance(X, CSR)
    # Enough for the longest numbers; the loop says how much of it is text.
    most_bytes = PAIR_BYTES * len(X.data) + ROW_BYTES * len(batch)
    text = np.empty(most_bytes, dtype=np.uint8)
    size = write_rows(X.indptr, X.indices, X.data, np.asarray(batch.target), text)
    return memoryview(text)[:size]  # type: ignore[arg-type]


def write_archive(
    file: str, members: Iterable[tuple[str, Batch | bytes]]
) -> tuple[int, int]:
    """Write `members`, rows or bytes by name, to the ``.tar.gz`` archive `file`, atomically.

    Neither name nor time go into the file: the same members give the same bytes, as long as zlib is
    the same.

    Returns
    -------
    tuple of int
        Rows, and bytes of text before compression.
    """
    rows = size = 0
    with (
        open_output(file) as raw,
        GzipFile(
            filename="", fileobj=raw, mode="wb", compresslevel=_LEVEL, mtime=0
        ) as out,
        tarfile.open(
            fileobj=out,
            mode="w|",
            format=tarfile.USTAR_FORMAT,
            bufsize=_BLOCK_BYTES,
        ) as tar,
        ThreadPoolExecutor(1) as packing,
    ):
        # A member is packed while the rows of the next are made.
        packed: Future[None] | None = None
        for name, content in members:
            text = (
                svmlight_text(content)
                if isinstance(content, Batch)
                else memoryview(content)
            )
            rows += len(content) if isinstance(content, Batch) else 0
            size += len(text)
            info = tarfile.TarInfo(name)
            info.size = len(text)
            if packed is not None:
                packed.result()
            packed = packing.submit(tar.addfile, info, io.BytesIO(text))
        if packed is not None:
            packed.result()
    return rows, size
