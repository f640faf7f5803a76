"""Batches set aside in a file: a line of JSON and plain arrays each, so that reading them back runs no code.

Sparse rows are packed, to half of their text or less: most values are 1, and most indices near those before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from olscale.data.chunk import CSR
from olscale.data.formats.base import Batch

__all__ = ["read_batches", "write_batch"]


def write_batch(file: BinaryIO, batch: Batch) -> None:
    """Write `batch` behind what is in `file`; the indices of sparse rows ascend.

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
    }
    arrays = [*(_packed(batch.X) if isinstance(batch.X, CSR) else [batch.X]), *([] if text else [batch.target])]
    file.write(json.dumps({"arrays": len(arrays), **about}, default=lambda value: value.item()).encode() + b"\n")
    for array in arrays:
        np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)


def read_batches(path: Path) -> Iterator[Batch]:
    """Yield the batches in a file, then remove it."""
    with path.open("rb") as file:
        while line := file.readline():
            about = json.loads(line)
            arrays = [np.lib.format.read_array(file, allow_pickle=False) for _ in range(about.pop("arrays"))]
            text, names = about.pop("text"), about.pop("feature_names")
            target = arrays.pop() if text is None else text
            X = _unpacked(*arrays) if len(arrays) > 1 else arrays[0]
            yield Batch(X, target, feature_names=None if names is None else tuple(names), **about)
    path.unlink()


def _packed(X: CSR) -> list[NDArray[Any]]:
    from olscale.data._spooled_kernel import pack

    entries = int(X.indptr[-1] - X.indptr[0])
    steps, far, values = np.empty(entries, np.uint16), np.empty(entries + 1, np.int32), np.empty(entries + 1)
    jumps, others = pack(*X, steps, far, values)
    return [X.indptr, steps, far[: jumps + 1], values[: others + 1]]


def _unpacked(
    indptr: NDArray[np.int64], steps: NDArray[np.uint16], far: NDArray[np.int32], values: NDArray[np.float64]
) -> CSR:
    from olscale.data._spooled_kernel import unpack

    indptr = indptr - indptr[0]
    indices, data = np.empty(len(steps), np.int32), np.empty(len(steps))
    unpack(indptr, steps, far, values, indices, data)
    return CSR(indptr, indices, data)
