"""Ingest as another dataset was: the same columns, in the same order, and the same classes.

What learned from one dataset then takes the other: a value that the first does not know has no
feature, as a cell without a value.
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from olscale.data.formats.base import ReadOptions
from olscale.data.formats.coding import FirstValues
from olscale.data.formats.table_columns import UNLABELLED, TableColumns
from olscale.data.manifest import Manifest
from olscale.errors import ParameterError


def check_alone(**options: object) -> None:
    """Refuse options that the other dataset decides.

    Raises
    ------
    ParameterError
        Names those that are given.
    """
    conflicting = [
        name for name, value in options.items() if value not in (None, (), "")
    ]
    if conflicting:
        raise ParameterError(
            f"like was given with {', '.join(conflicting)}, which the other dataset decides; leave "
            "one of them out"
        )


def options_like(like: Manifest, options: ReadOptions) -> ReadOptions:
    """Return how a source is read as those of the dataset `like` were; what is given stays."""
    base = like.index_base
    if options.zero_based is None and base is not None:
        options = replace(options, zero_based=base == 0)
    if like.weights is not None and options.weights is None:
        options = replace(options, weights=like.weights.column)
    table = like.table
    if table is None:
        return options
    label = options.label
    if label is None:
        label = _listed(like.targets) if like.targets else like.label_column
    coded = table.coded or {}
    return replace(
        options,
        label=label,
        drop_if_there=table.dropped,
        encode=tuple(f"{column}={coding}" for column, coding in coded.items()),
        decimal=options.decimal or table.decimal,
        quoting=options.quoting or table.quoting,
        escape=options.escape or table.escape,
        missing=options.missing or table.missing or (),
        table=_columns_of(like),
    )


def _listed(names: tuple[str, ...]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def table_columns(like: Manifest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of numbers and those of text that a dataset of a table has."""
    assert like.table is not None
    names = like.feature_names or ()
    return names[: like.table.numeric], tuple(like.table.categorical)


def _columns_of(like: Manifest) -> TableColumns:
    assert like.table is not None
    numbers, words = table_columns(like)
    first_values = {}
    for column, coding in (like.table.coded or {}).items():
        if coding.startswith(FirstValues.name):
            start = f"{column}="
            names = like.feature_names or ()
            first_values[column] = [
                name.removeprefix(start) for name in names if name.startswith(start)
            ]
    return TableColumns(
        (*numbers, *words),
        UNLABELLED,
        (*(False for _ in numbers), *(True for _ in words)),
        kept=first_values,
        sparse=None,
    )
