"""The history of a job: one Parquet file per night with a checksum, final once it ended well.

A row is of one kind: the ``night`` itself, the runs of a setting (``results``), a figure of a
benchmark (``bench``) or an ingest (``ingest``); each has what the night was made by, so that any
row can be told from any other by code and machine.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from olscale.errors import StoreError
from olscale.jobs.home import JobHome, write_file
from olscale.results.faults import why
from olscale.storage.checked_parquet import checksum_matches, parquet_bytes
from olscale.system.regular_file import read_regular

SPEEDS = ("rows_per_cpu_second", "rows_per_second")
"""Of learning, the first by the processor's time, which nights of earlier versions do not have."""

_TEXT = pa.string()
_FLOAT = pa.float64()
_WHICH = ("night", "state", "job", "code", "machine")
HISTORY_SCHEMA = pa.schema(
    [
        *[(name, _TEXT) for name in (*_WHICH, "kind")],
        ("began", pa.timestamp("ms", tz="UTC")),
        ("load", _FLOAT),
        ("made_by", pa.map_(_TEXT, _TEXT)),
        *[
            (name, _TEXT)
            for name in (
                "dataset",
                "fingerprint",
                "transforms",
                "learner",
                "version",
                "params",
                "protocol",
            )
        ],
        ("ids", pa.list_(_TEXT)),
        ("digests", pa.list_(_TEXT)),
        ("digest", _TEXT),
        ("n", pa.int64()),
        ("outcomes", pa.map_(_TEXT, pa.int64())),
        ("error_metric", _TEXT),
        *[
            (name, _FLOAT)
            for name in (
                "error",
                "error_std",
                *SPEEDS,
                "fit_seconds",
                "read_seconds",
                "model_bytes",
            )
        ],
        *[(name, _TEXT) for name in ("benchmark", "figure", "unit", "peer")],
        *[(name, _FLOAT) for name in ("value", "ratio", "rows", "megabytes_per_second", "seconds")],
        ("calls", pa.int64()),
        ("failures", pa.list_(_TEXT)),
        ("alarms", pa.list_(_TEXT)),
        ("alarm_keys", pa.list_(_TEXT)),
        ("changed", pa.list_(_TEXT)),
    ]
)
"""Columns of the history.

`load` is the load per core in the minute before the night, `calls` counts those of `jobs run`.
"""

TIMES = (
    *("began", "load", "made_by", *SPEEDS, "fit_seconds", "read_seconds"),
    *("value", "ratio", "megabytes_per_second", "seconds", "calls"),
)
"""Columns that differ from one execution of the same night to the next."""


def write_night(home: JobHome, night: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write what came of a night, by a rename."""
    table = pa.Table.from_pylist(list(rows), schema=HISTORY_SCHEMA)
    write_file(home.history / f"{night}.parquet", parquet_bytes(table, compression="zstd"))


def history_nights(home: JobHome) -> list[str]:
    """Return the nights that the history has, in order."""
    return sorted(path.stem for path in home.history.glob("*.parquet") if path.is_file())


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
        If a file is damaged or cannot be read; it is named.
    """
    wanted = [name for name in HISTORY_SCHEMA.names if columns is None or name in columns]
    names = history_nights(home) if nights is None else nights
    if not names:
        return pa.schema([HISTORY_SCHEMA.field(name) for name in wanted]).empty_table()
    contents = [_content(home, night) for night in names]
    try:
        return _table(contents, wanted, kinds)
    except _DAMAGE as fault:
        damaged = [(night, reason) for night in names if (reason := damage_of(home, night))]
        night, reason = damaged[0] if damaged else (names[0], why(fault))
        raise _damaged(home, night, reason) from None


_DAMAGE = (ValueError, OSError, KeyError, OverflowError, pa.ArrowException)
"""What reading a damaged file raises."""


def damage_of(home: JobHome, night: str) -> str:
    """Return what is wrong with the file of a night; empty if it is whole.

    Raises
    ------
    StoreError
        If it cannot be read, whole or not.
    """
    try:
        data = _content(home, night, checked=False)
        if checksum_matches(data, checked=True):
            return ""
        rows = _table([data], HISTORY_SCHEMA.names, None).to_pylist()
    except _DAMAGE as fault:
        return why(fault)
    kinds = [row["kind"] for row in rows]
    if kinds.count("night") != 1 or {row["night"] for row in rows} != {night}:
        return "it does not hold the one night that its name says"
    return ""


def _content(home: JobHome, night: str, checked: bool = True) -> bytes:
    """Return the file of a night; a wrong checksum is a `StoreError`, or a `ValueError`."""
    file = home.history / f"{night}.parquet"
    try:
        data = read_regular(file)
    except OSError as fault:
        raise StoreError(
            f"{file}: cannot be read: {why(fault)}; check its permissions and its disk"
        ) from None
    if not checksum_matches(data):
        if checked:
            raise _damaged(home, night, _WRONG)
        raise ValueError(_WRONG)
    return data


_WRONG = "its checksum is wrong"


def _damaged(home: JobHome, night: str, reason: str) -> StoreError:
    return StoreError(
        f"{home.history / f'{night}.parquet'}: is damaged: {reason}; olscale jobs run sets it "
        "aside and makes it anew from "
        "the night's store"
    )


def _table(
    contents: Sequence[bytes], columns: Sequence[str], kinds: Collection[str] | None
) -> pa.Table:
    form = pads.ParquetFileFormat()
    parts = [form.make_fragment(pa.BufferReader(data)) for data in contents]
    condition = None if kinds is None else pads.field("kind").isin(list(kinds))
    table = pads.FileSystemDataset(parts, HISTORY_SCHEMA, form).to_table(
        columns=list(columns), filter=condition
    )
    table.validate(
        full=True
    )  # of damaged files without a checksum: text that is none, dates past the year 9999
    if "began" in columns:
        table["began"].to_pylist()
    return table


def night_rows(home: JobHome, nights: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return the row of each night, or of some, in order."""
    columns = (
        "night",
        "state",
        "job",
        "code",
        "machine",
        "began",
        "load",
        "made_by",
        "seconds",
        "calls",
    )
    rows: list[dict[str, Any]] = read_history(
        home, [*columns, "failures", "alarms", "changed"], ["night"], nights
    ).to_pylist()
    return [row | {"made_by": dict(row["made_by"] or ())} for row in rows]
