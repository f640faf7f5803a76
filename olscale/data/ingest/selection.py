"""What of the sources is taken (some rows, columns without those that are no features), and in which form they are."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from olscale.compiled.csr import CSR, slice_rows
from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.table_columns import columns_named
from olscale.errors import FormatError


def rows_between(batch: Batch, first: int, last: int) -> Batch:
    """Return rows `first` to `last` of `batch`."""
    if (first, last) == (0, len(batch)):
        return batch
    table = None if batch.table is None else batch.table.slice(first, last)
    return replace(batch, X=slice_rows(batch.X, first, last), target=batch.target[first:last], table=table)


def check_form(source: str, format: str, options: ReadOptions) -> None:
    """Refuse what says how CSV and TSV are written for a source of another format.

    Raises
    ------
    FormatError
        When `format` is neither CSV nor TSV and `options` say how its first row, its cells, its numbers or its missing
        values are to be read.
    """
    if format in ("csv", "tsv"):
        return
    if options.header is not None:
        option = "--header" if options.header else "--no-header"
        raise FormatError(source, f"is {format} and has no row of names to choose; leave {option} out")
    if options.delimiter is not None:
        raise FormatError(
            source,
            f"is {format} and has no delimiter to choose; leave --delimiter out, or read it with --format csv",
        )
    if options.decimal is not None:
        raise FormatError(source, f"is {format} and has no decimal mark to choose; leave --decimal out")
    for option, value in (
        ("--quoting", options.quoting),
        ("--escape", options.escape),
        ("--missing", options.missing),
    ):
        if value:
            raise FormatError(source, f"is {format}, and {option} is for CSV and TSV; leave it out")


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
