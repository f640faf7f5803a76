"""The part of the sources to read (some rows, some columns), and the options of their form."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from olscale.compiled.csr import CSR, slice_rows
from olscale.data.formats.arrays import ARRAY_FORMATS
from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.table_columns import columns_named
from olscale.errors import FormatError

SVMLIGHT = "svmlight"


def rows_between(batch: Batch, first: int, last: int) -> Batch:
    """Return rows `first` to `last` of `batch`."""
    # Most batches lie on one side of the cut, and stay as they are.
    if (first, last) == (0, len(batch)):
        return batch
    return replace(
        batch,
        X=slice_rows(batch.X, first, last),
        target=batch.target[first:last],
        table=None if batch.table is None else batch.table.slice(first, last),
        weights=None if batch.weights is None else batch.weights[first:last],
    )


def check_form(source: str, format: str, options: ReadOptions) -> None:
    """Refuse options about how a source is written if its format has no such choice.

    Raises
    ------
    FormatError
        When `format` is neither CSV nor TSV and `options` set how to read its first row, its cells,
        its numbers or its missing values; when it is not SVMlight text and they set where its
        indices begin; or when it has no arrays and they name them.
    """
    if options.zero_based is not None and format != SVMLIGHT:
        raise FormatError(
            source,
            f"is {format} and has no indices to count; leave --index-base out",
        )
    if options.arrays is not None and format not in ARRAY_FORMATS:
        raise FormatError(
            source, f"is {format} and has no arrays to name; leave --arrays out"
        )
    if format in ("csv", "tsv"):
        return
    if options.header is not None:
        option = "--no-header"
        if options.header:
            option = "--header"
        raise FormatError(
            source,
            f"is {format} and has no row of names to choose; leave {option} out",
        )
    if options.delimiter is not None:
        raise FormatError(
            source,
            f"is {format} and has no delimiter to choose; leave --delimiter out, or read it with "
            "--format csv",
        )
    if options.decimal is not None:
        raise FormatError(
            source,
            f"is {format} and has no decimal mark to choose; leave --decimal out",
        )
    for option, value in (
        ("--quoting", options.quoting),
        ("--escape", options.escape),
        ("--missing", options.missing),
    ):
        if value:
            raise FormatError(
                source, f"is {format}, and {option} is for CSV and TSV; leave it out"
            )


def refuse_label(source: str, format: str, options: ReadOptions) -> None:
    """Refuse the name or position of a label in a source without columns of a table.

    Raises
    ------
    FormatError
        When `options` have one.
    """
    if options.label is None:
        return
    cure = "leave --label out"
    if format in ARRAY_FORMATS:
        cure = "name its array with --arrays X=NAME,y=NAME"
    raise FormatError(
        source,
        f"is {format}, whose labels are not in a column {options.label!r} of a table; {cure}",
    )


def drop_columns(batch: Batch, words: Iterable[str], source: str) -> Batch:
    """Return dense `batch`, not from a table, without the columns that `words` name.

    Raises
    ------
    FormatError
        If the columns have no names.
    UnknownNameError
        If there is no such column.
    """
    if isinstance(batch.X, CSR) or batch.feature_names is None:
        raise FormatError(
            source,
            "does not name its columns, so none can be dropped; take it out of the file",
        )
    names = batch.feature_names
    dropped = columns_named(source, names, words)
    remaining = [position for position in range(len(names)) if position not in dropped]
    if not remaining:
        raise FormatError(source, "no column is left as a feature; drop fewer")
    X = np.ascontiguousarray(batch.X[:, remaining])
    return replace(
        batch,
        X=X,
        columns=len(remaining),
        feature_names=tuple(names[position] for position in remaining),
    )
