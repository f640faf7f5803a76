"""Tables whose rows are in another order than the experiment has them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from scipy.stats import rankdata

from olscale.report.run_list import natural_text
from olscale.report.tables import Entry, Table

Order = Literal["error", "rank", "name"]


def sorted_tables(tables: Iterable[Table], by: Order) -> list[Table]:
    """Return tables sorted by the mean of a row's figures, by its mean rank, or by its name.

    The best comes first. A row that lacks a figure of a column comes after those that have all, and
    has the last rank there.

    Examples
    --------
    >>> lines = ((Entry("3.0"),), (Entry("1.0"),), (Entry(note="failed"),))
    >>> one = Table("Error", ("digits",), ("pa", "arow", "cw"), lines, (), better="lower")
    >>> [table.rows for table in sorted_tables([one], "error")]
    [('arow', 'pa', 'cw')]
    """
    return [_sorted(table, by) for table in tables]


def _sorted(table: Table, by: Order) -> Table:
    places: Sequence[object] = [natural_text(name) for name in table.rows]
    if by != "name":
        places = _figures(table, by)
    order = sorted(range(len(table.rows)), key=lambda i: (places[i], i))
    return replace(
        table,
        rows=tuple(table.rows[i] for i in order),
        entries=tuple(table.entries[i] for i in order),
    )


def _figures(table: Table, by: Order) -> list[tuple[int, float]]:
    """Return a sort key for each row: how many figures it lacks, and its mean or mean rank."""
    values = np.array([[_number(entry) for entry in line] for line in table.entries])
    if table.better == "higher":
        values = -values
    lacks = np.isnan(values).sum(axis=1)
    if by == "rank":
        values = rankdata(np.where(np.isnan(values), np.inf, values), axis=0)
        return [(0, mean) for mean in values.mean(axis=1).tolist()]
    means = [
        float(np.nanmean(line)) if not all(np.isnan(line)) else math.inf
        for line in values
    ]
    return list(zip(lacks.tolist(), means, strict=True))


def _number(entry: Entry) -> float:
    try:
        return float(entry.mean.replace(",", ""))
    except ValueError:  # there is no figure
        return math.nan
