"""Batches set aside in a file: a line of JSON and plain arrays each, so that reading them back runs no code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from olscale.data.chunk import CSR
from olscale.data.formats.base import Batch

__all__ = ["read_batches", "write_batch"]


def write_batch(file: BinaryIO, batch: Batch) -> None:
    """Write `batch` behind what is in `file`.

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
    arrays = [*(batch.X if isinstance(batch.X, CSR) else [batch.X]), *([] if text else [batch.target])]
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
            X = CSR(*arrays) if len(arrays) > 1 else arrays[0]
            yield Batch(X, target, feature_names=None if names is None else tuple(names), **about)
    path.unlink()
