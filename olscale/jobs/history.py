"""The history of a job: a Parquet file a night, never changed once the night has ended well.

A row is of one kind: the ``night`` itself, the runs of a setting (``results``), a figure of a benchmark (``bench``) or an
ingest (``ingest``); each has what the night was made by, so that any row can be told from any other by code and machine.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from olscale.errors import StoreError
from olscale.jobs.home import JobHome, write_file

SPEEDS = ("rows_per_cpu_second", "rows_per_second")
"""Of learning, the first by the processor's time, which nights of earlier versions do not have."""

_TEXT, _FLOAT = pa.string(), pa.float64()
_WHICH = ("night", "state", "job", "code", "machine")
HISTORY_SCHEMA = pa.schema(
    [
        *[(name, _TEXT) for name in (*_WHICH, "kind")],
        ("began", pa.timestamp("ms", tz="UTC")),
        ("load", _FLOAT),
        ("made_by", pa.map_(_TEXT, _TEXT)),
        *[
            (name, _TEXT)
            for name in ("dataset", "fingerprint", "transforms", "learner", "version", "params", "protocol")
        ],
        ("ids", pa.list_(_TEXT)),
        ("digests", pa.list_(_TEXT)),
        ("digest", _TEXT),
        ("n", pa.int64()),
        ("outcomes", pa.map_(_TEXT, pa.int64())),
        ("error_metric", _TEXT),
        *[(name, _FLOAT) for name in ("error", "error_std", *SPEEDS, "fit_seconds", "read_seconds", "model_bytes")],
        *[(name, _TEXT) for name in ("benchmark", "figure", "unit", "peer")],
        *[(name, _FLOAT) for name in ("value", "ratio", "rows", "megabytes_per_second", "seconds")],
        ("calls", pa.int64()),
        ("failures", pa.list_(_TEXT)),
        ("alarms", pa.list_(_TEXT)),
        ("alarm_keys", pa.list_(_TEXT)),
        ("changed", pa.list_(_TEXT)),
    ]
)
"""Columns of the history; `load` is that of a core in the minute before the night, `calls` counts those of `jobs run`."""

TIMES = (
    *("began", "load", "made_by", *SPEEDS, "fit_seconds", "read_seconds"),
    *("value", "ratio", "megabytes_per_second", "seconds", "calls"),
)
"""Columns that differ from one execution of the same night to the next."""


def write_night(home: JobHome, night: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write what came of a night, by a rename."""
    table = pa.Table.from_pylist(list(rows), schema=HISTORY_SCHEMA)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    write_file(home.history / f"{night}.parquet", sink.getvalue().to_pybytes())


def history_nights(home: JobHome) -> list[str]:
    """Return the nights that the history has, in order."""
    return sorted(path.stem for path in home.history.glob("*.parquet"))


def read_history(
    home: JobHome,
    columns: Collection[str] | None = None,
    kinds: Collection[str] | None = None,
    nights: Sequence[str] | None = None,
) -> pa.Table:
    """Read the history in the order of nights; columns that came later are null in files of before.

    Raises
    ------
    StoreError
        If a file cannot be read; it is named.
    """
    wanted = None if columns is None else [name for name in HISTORY_SCHEMA.names if name in columns]
    files = [str(home.history / f"{night}.parquet") for night in (history_nights(home) if nights is None else nights)]
    if not files:
        fields = HISTORY_SCHEMA if wanted is None else [HISTORY_SCHEMA.field(name) for name in wanted]
        return pa.schema(fields).empty_table()
    condition = None if kinds is None else pads.field("kind").isin(list(kinds))
    try:
        found = pads.dataset(files, schema=HISTORY_SCHEMA, format="parquet")
        return found.to_table(columns=wanted, filter=condition)
    except (OSError, pa.ArrowException) as fault:
        file = _first_damaged(files)
        why = str(fault).partition(f"'{file}': ")[2].removesuffix(".") or fault
        raise StoreError(f"{file}: cannot be read: {why}; move it out of the history") from None


def night_rows(home: JobHome, nights: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return the row of each night, or of some, in order."""
    columns = ("night", "state", "job", "code", "machine", "began", "load", "made_by", "seconds", "calls")
    rows: list[dict[str, Any]] = read_history(
        home, [*columns, "failures", "alarms", "changed"], ["night"], nights
    ).to_pylist()
    return [row | {"made_by": dict(row["made_by"] or ())} for row in rows]


def _first_damaged(files: Sequence[str]) -> str:
    for file in files:
        try:
            pq.ParquetFile(file).close()
        except (OSError, pa.ArrowException):
            return file
    return str(Path(files[0]).parent)
