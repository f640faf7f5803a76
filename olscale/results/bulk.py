"""Reading thousands of small local Parquet files at once, several times faster than one by one."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

__all__ = ["WORTHWHILE", "read_bulk"]

WORTHWHILE = 200
"""Files from which DuckDB's start-up is paid back."""


def read_bulk(paths: Sequence[str], ids: Sequence[str], schema: pa.Schema, columns: Sequence[str]) -> pa.Table | None:
    """Read one-row files with DuckDB.

    Parameters
    ----------
    paths : sequence of str
        Local files.
    ids : sequence of str
        The run id that each of them must hold.
    schema : pyarrow.Schema
        Schema of the files.
    columns : sequence of str
        Columns to read, ``id`` among them.

    Returns
    -------
    pyarrow.Table or None
        The rows in the order of `paths`; None if anything about any file is not as it should be. Whoever reads the
        files one by one then finds out which.
    """
    import duckdb

    wanted = pa.schema([schema.field(name) for name in columns])
    listed = ", ".join(f'"{name}"' for name in columns)
    with duckdb.connect() as connection:
        try:
            rows = connection.sql(f"SELECT {listed} FROM read_parquet($1)", params=[list(paths)]).to_arrow_table()
            table = rows.cast(wanted)
        except (duckdb.Error, pa.ArrowException):
            return None
    return table if table["id"].to_pylist() == list(ids) else None
