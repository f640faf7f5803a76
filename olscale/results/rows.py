"""Records as Parquet bytes and back: the schema of the store.

The bytes of a run depend on its definition and results alone: sorted keys, fixed encodings, no
dates, no hosts. What differs from one execution to the next (times, machines) has a schema of its
own and lives in another file.

A file of one row carries a CRC-32 of all its bytes, so that a damaged one is known to all that read
it.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from olscale.results.arrow_arrays import arrow_array, check_times
from olscale.results.record import Record, SegmentMistakes, Series
from olscale.storage.canonical_json import canonical_json
from olscale.storage.checked_parquet import checksum_matches, parquet_bytes

_SEGMENT = pa.struct(
    [
        ("name", pa.string()),
        ("rows", pa.int64()),
        ("mistakes", pa.int64()),
    ]
)
_SERIES = pa.struct(
    [
        ("name", pa.string()),
        ("rows", pa.list_(pa.int64())),
        ("values", pa.list_(pa.float64())),
    ]
)

RUN_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("run", pa.string()),
        ("dataset", pa.string()),
        ("fingerprint", pa.string()),
        ("transforms", pa.list_(pa.string())),
        ("learner", pa.string()),
        ("version", pa.string()),
        ("params", pa.string()),
        ("protocol", pa.string()),
        ("outcome", pa.string()),
        ("reason", pa.string()),
        ("metrics", pa.map_(pa.string(), pa.float64())),
        ("curve_rows", pa.list_(pa.int64())),
        ("curve_mistakes", pa.list_(pa.int64())),
        ("segments", pa.list_(_SEGMENT)),
        ("series", pa.list_(_SERIES)),
    ]
)
"""Columns of a run.

`run`, `params` and `protocol` are canonical JSON; the flat columns repeat parts of `run`.
"""

OPTIONAL = ("series",)
"""Columns that a file has only where there is something in them.

So the bytes of other runs stay what they were before there were these columns.
"""

TIMING_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("timings", pa.map_(pa.string(), pa.float64())),
        ("environment", pa.map_(pa.string(), pa.string())),
        ("finished_at", pa.timestamp("us", tz="UTC")),
    ]
)
"""Columns of a run's timings, in seconds unless the name says otherwise."""


def run_bytes(record: Record) -> bytes:
    """Return the Parquet file (one row of `RUN_SCHEMA`) of a record's definition and results."""
    return _file(RUN_SCHEMA, run_row(record))


def run_row(record: Record) -> dict[str, Any]:
    """Return the row of `RUN_SCHEMA` of a record."""
    run = record.run
    learner = run["learner"]
    # Sorted and cast, so that bytes do not depend on how the values came about.
    return {
        "id": record.id,
        "run": canonical_json(run),
        "dataset": str(run["dataset"].get("name", "")),
        "fingerprint": str(run["dataset"].get("fingerprint", "")),
        "transforms": [str(name) for name in run.get("transforms", ())],
        "learner": str(learner.get("name", "")),
        "version": str(learner.get("version", "")),
        "params": canonical_json(learner.get("params", {})),
        "protocol": canonical_json(run["protocol"]),
        "outcome": record.outcome,
        "reason": record.reason,
        "metrics": [
            (name, float(record.metrics[name])) for name in sorted(record.metrics)
        ],
        "curve_rows": np.asarray(record.curve_rows, dtype=np.int64),
        "curve_mistakes": np.asarray(record.curve_mistakes, dtype=np.int64),
        "segments": [
            {
                "name": str(name),
                "rows": int(rows),
                "mistakes": int(mistakes),
            }
            for name, rows, mistakes in record.segments
        ],
        "series": [
            {
                "name": name,
                "rows": np.asarray(rows, np.int64),
                "values": np.asarray(values, np.float64),
            }
            for name, rows, values in record.series
        ],
    }


def timing_bytes(record: Record, finished_at: datetime) -> bytes:
    """Return the Parquet file (one row of `TIMING_SCHEMA`) of how a record came about."""
    return _file(TIMING_SCHEMA, timing_row(record, finished_at))


def timing_row(record: Record, finished_at: datetime) -> dict[str, Any]:
    """Return the row of `TIMING_SCHEMA` of a record."""
    return {
        "id": record.id,
        "timings": [
            (name, float(record.timings[name])) for name in sorted(record.timings)
        ],
        "environment": [
            (name, str(record.environment[name])) for name in sorted(record.environment)
        ],
        "finished_at": finished_at,
    }


def _file(schema: pa.Schema, row: dict[str, Any]) -> bytes:
    absent = [name for name in OPTIONAL if name in row and not len(row[name])]
    fields = [field for field in schema if field.name not in absent]
    columns = [arrow_array([row[field.name]], field.type) for field in fields]
    table = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    # A dictionary, statistics and a second copy of the schema only pay in files of many rows.
    return parquet_bytes(
        table,
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
    )


def parse(
    data: bytes,
    schema: pa.Schema,
    columns: Sequence[str],
    checked: bool = False,
) -> pa.Table:
    """Read `columns` of a file of the store; one without a checksum is damaged if `checked`.

    Raises
    ------
    ValueError, pyarrow.ArrowException, OSError
        If the bytes are not a whole Parquet file with these columns (`ArrowInvalid` is a
        `ValueError`).
    """
    if not checksum_matches(data, checked):
        raise ValueError("its checksum is wrong or missing")
    return validated(unvalidated(data, schema, columns), schema, columns)


def unvalidated(data: bytes, schema: pa.Schema, columns: Sequence[str]) -> pa.Table:
    """Read `columns` of a file whose checksum matches; `validated` looks at what they hold.

    Raises
    ------
    ValueError, pyarrow.ArrowException, OSError
        If the file has not these columns.
    """
    file = pq.ParquetFile(pa.BufferReader(data))
    absent = [
        name
        for name in OPTIONAL
        if name in columns and name not in file.schema_arrow.names
    ]
    stored = [name for name in columns if name not in absent]
    table = file.read(columns=stored, use_threads=False)
    for name in absent:
        # The column is left out where every row lacks a value: empty lists say the same.
        field = schema.field(name)
        empty_lists = arrow_array([[]] * table.num_rows, field.type)
        table = table.append_column(field, empty_lists)
    if sorted(table.column_names) != sorted(columns):
        raise ValueError(
            f"has the columns {', '.join(table.column_names)}, expected {', '.join(columns)}"
        )
    return table.select(list(columns)).replace_schema_metadata(None)


def validated(table: pa.Table, schema: pa.Schema, columns: Sequence[str]) -> pa.Table:
    """Return rows with the types of `schema`, once all values are known to be some.

    Raises
    ------
    ValueError, pyarrow.ArrowException
        If a text is no UTF-8, an offset points nowhere, a time is beyond the years 1 to 9999.
    """
    expected = pa.schema([schema.field(name) for name in columns])
    if not table.schema.equals(expected):
        table = table.cast(expected)
    # Arrow believes text that is no UTF-8, and offsets that point nowhere.
    table.validate(full=True)
    if "finished_at" in columns:
        try:
            check_times(table["finished_at"])
        except OverflowError as fault:
            raise ValueError(f"finished_at: {fault}") from fault
    return table


def record_of(run: dict[str, Any], timing: dict[str, Any] | None) -> Record:
    """Build the record back from a row of each schema (as `pyarrow.Table.to_pylist` gives them)."""
    series = [
        Series(
            row["name"],
            np.array(row["rows"], dtype=np.int64),
            np.array(row["values"], dtype=np.float64),
        )
        for row in run["series"]
    ]
    if timing is None:
        timing = {"timings": {}, "environment": {}}
    return Record(
        run=json.loads(run["run"]),
        id=run["id"],
        outcome=run["outcome"],
        reason=run["reason"],
        metrics=dict(run["metrics"]),
        curve_rows=np.array(run["curve_rows"], dtype=np.int64),
        curve_mistakes=np.array(run["curve_mistakes"], dtype=np.int64),
        segments=tuple(SegmentMistakes(**segment) for segment in run["segments"]),
        series=tuple(series),
        timings=dict(timing["timings"]),
        environment=dict(timing["environment"]),
    )
