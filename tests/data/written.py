"""Datasets that tests write: rows in batches, with a writer."""

from __future__ import annotations

import numpy as np

from olscale.compiled.csr import CSR, to_csr, to_dense
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.formats.base import Batch
from olscale.data.ingest.claim import claim
from olscale.data.ingest.members import Member
from olscale.data.ingest.writer import DatasetWriter

LAYOUTS = ("parquet", "zarr")


def write(
    dest,
    train,
    test=None,
    *,
    layout=None,
    chunk_rows=None,
    batch_rows=7,
    densify=False,
    dtype=None,
) -> Dataset:
    """Write (X, y) pairs as a dataset, fed in batches of `batch_rows`."""

    def batches(X, y):
        if dtype and not isinstance(X, CSR):
            X = X.astype(dtype)
        for start in range(0, len(y), batch_rows):
            stop = min(start + batch_rows, len(y))
            if isinstance(X, CSR):
                low = X.indptr[start]
                high = X.indptr[stop]
                rows = CSR(
                    X.indptr[start : stop + 1] - low,
                    X.indices[low:high],
                    X.data[low:high],
                )
                columns = int(rows.indices.max(initial=-1)) + 1
            else:
                rows = X[start:stop]
                columns = X.shape[1]
            yield Batch(rows, y[start:stop], columns)

    with (
        claim(str(dest), {}) as directory,
        DatasetWriter(directory, layout, chunk_rows) as writer,
    ):
        for split, rows in (("train", train), ("test", test)):
            for batch in batches(*rows) if rows is not None else ():
                writer.write(split, Member(split, split), batch)
        writer.finish([], densify=densify)
    return open_dataset(dest)


def sample(kind: str, rows: int = 50, columns: int = 6, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.4)
    X[0, columns - 1] = 1.5
    y = rng.integers(0, 3, rows).astype(float) - 1
    return (X if kind == "dense" else to_csr(X)), y


def rows_and_labels(dataset: Dataset, split: str = "train"):
    chunks = list(dataset.chunks(split))
    X = np.concatenate([to_dense(chunk.X, dataset.columns) for chunk in chunks])
    return X, np.concatenate([chunk.y for chunk in chunks])
