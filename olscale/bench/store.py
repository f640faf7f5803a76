"""Metrics stores of synthetic records, loose and compacted, for other benchmarks to read."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa

from olscale.results import Record, Store, open_store, run_id
from olscale.results.compact import compact
from olscale.results.compacted import compacted_bytes, compacted_name
from olscale.results.rows import (
    RUN_SCHEMA,
    TIMING_SCHEMA,
    run_bytes,
    run_row,
    timing_bytes,
    timing_row,
)

_WHEN = datetime(2026, 1, 1, tzinfo=UTC)
_METRICS = (
    "cumulative_error",
    "mistakes",
    "model_bytes",
    "norm_w",
    "test_error",
    "updates",
)
_TIMINGS = ("fit_seconds", "read_seconds", "rows_per_second")


def records(
    number: int, permutations: int = 10, datasets: int = 25
) -> Iterator[Record]:
    """Yield synthetic finished runs: permutations per setting and data set, five C per learner.

    Examples
    --------
    >>> [record.run["protocol"]["permutation"] for record in records(3)]
    [0, 1, 2]
    """
    rng = np.random.default_rng(0)
    rows = np.arange(1, 101) * 100
    for i in range(number):
        setting = i // permutations
        dataset = setting % datasets
        value = setting // datasets % 5
        learner = setting // (5 * datasets)
        params = {"C": 2.0**value, "dtype": "float64", "multiclass": "max-score"}
        run = {
            "dataset": {"name": f"set-{dataset}", "fingerprint": f"{dataset:064x}"},
            "transforms": ["standardize", "bias"],
            "learner": {"name": f"learner-{learner}", "version": 1, "params": params},
            "protocol": {
                "order": "permuted",
                "seed": 0,
                "permutation": i % permutations,
            },
        }
        curve = np.cumsum(rng.integers(0, 20, 100))
        yield Record(
            run,
            run_id(run),
            metrics=dict(
                zip(_METRICS, rng.random(len(_METRICS)).tolist(), strict=True)
            ),
            curve_rows=rows,
            curve_mistakes=curve,
            timings=dict(
                zip(_TIMINGS, rng.random(len(_TIMINGS)).tolist(), strict=True)
            ),
            environment={"host": f"host-{i % 8}", "olscale": "0.1.0"},
        )


def fill_loose(path: Path, number: int) -> Store:
    """Make a local store of loose files."""
    return write_loose(open_store(path, create=True), records(number))


def write_loose(store: Store, finished: Iterable[Record]) -> Store:
    """Write runs to loose files of a local store, without waiting for the disk at each of them."""
    for record in finished:
        for kind, data in (
            ("timings", timing_bytes(record, _WHEN)),
            ("runs", run_bytes(record)),
        ):
            file = Path(store.path, kind) / record.id[:2] / f"{record.id}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    return store


def fill_compacted(
    path: Path, number: int, permutations: int = 10, datasets: int = 25
) -> Store:
    """Make the store that compaction would make of as many loose files."""
    store = open_store(path, create=True)
    # In the order of ids, which compaction keeps.
    ordered = sorted(
        records(number, permutations, datasets), key=lambda record: record.id
    )
    # Written at once: a hundred thousand loose files would take minutes to write and compact.
    for kind, schema, row in (
        ("runs", RUN_SCHEMA, run_row),
        ("timings", TIMING_SCHEMA, lambda record: timing_row(record, _WHEN)),
    ):
        data = compacted_bytes(
            pa.Table.from_pylist([row(record) for record in ordered], schema=schema)
        )
        store.put(compacted_name(kind, "", data), data)
    compact(store)
    return store
