"""Columns missing from a file since all its rows have one value: its folder is ``day=mon``.

Hive, Spark, pandas, Dask and DuckDB write tables in such parts. For the table such a column is like
any other, after those of the file: a feature, a label or the source of the segments, encoded or
dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from olscale.data.formats.table_columns import TableColumns


@dataclass(frozen=True, slots=True)
class Constant:
    """A column of one value.

    Parameters
    ----------
    name : str
    value : str or None
        The cell of every row; None where it holds no value.
    text : bool
        Whether the column holds text, here or in another part of the table.
    """

    name: str
    value: str | None
    text: bool


def constants_lacking(
    constants: Iterable[Constant],
    names: Collection[str],
    encoded: Collection[str],
    before: TableColumns | None,
) -> tuple[Constant, ...]:
    """Return those of `constants` that a file with the columns `names` lacks.

    Each is text if the previous source `before` decided so or, if there is none, if it is or is
    `encoded` as text.

    Examples
    --------
    >>> day, hour = Constant("day", "mon", True), Constant("hour", "7", False)
    >>> constants_lacking([day, hour], ["x", "day"], ["hour"], None)
    (Constant(name='hour', value='7', text=True),)
    """
    was_text = {} if before is None else dict(zip(before.names, before.text, strict=True))
    return tuple(
        replace(
            constant, text=was_text.get(constant.name, constant.text or constant.name in encoded)
        )
        for constant in constants
        if constant.name not in names
    )
