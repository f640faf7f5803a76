"""What of the sources is taken: some of their rows, and columns without those that are no features."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from olscale.compiled.csr import CSR, slice_rows
from olscale.data.formats.base import Batch
from olscale.data.formats.table_columns import columns_named
from olscale.errors import FormatError


def rows_between(batch: Batch, first: int, last: int) -> Batch:
    """Return rows `first` to `last` of `batch`."""
    if (first, last) == (0, len(batch)):
        return batch
    table = None if batch.table is None else batch.table.slice(first, last)
    return replace(batch, X=slice_rows(batch.X, first, last), target=batch.target[first:last], table=table)


def drop_columns(batch: Batch, words: Iterable[str], source: str) -> Batch:
    """Return dense `batch` of a source that is no table without the columns that `words` name.

    Raises
    ------
    FormatError
        If the columns have no names.
    UnknownNameError
        If there is no such column.
    """
    if isinstance(batch.X, CSR) or batch.feature_names is None:
        raise FormatError(source, "does not name its columns, so none can be dropped; take it out of the file")
    known = batch.feature_names
    dropped = columns_named(source, known, words)
    kept = [position for position in range(len(known)) if position not in dropped]
    if not kept:
        raise FormatError(source, "no column is left as a feature; drop fewer")
    X = np.ascontiguousarray(batch.X[:, kept])
    return replace(batch, X=X, columns=len(kept), feature_names=tuple(known[position] for position in kept))
