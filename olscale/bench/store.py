"""The metrics store: writing a run, finding out what is done, aggregating, loose and compacted, on synthetic records."""

import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from timeit import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from olscale.analysis.summary import aggregated, summarise
from olscale.bench.base import Figure
from olscale.report.write import write_report
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

LOOSE, COMPACTED = 10_000, 100_000
_WHEN = datetime(2026, 1, 1, tzinfo=UTC)
_METRICS = ("cumulative_error", "mistakes", "model_bytes", "norm_w", "test_error", "updates")
_TIMINGS = ("fit_seconds", "read_seconds", "rows_per_second")


def records(number: int, permutations: int = 10, datasets: int = 25) -> Iterator[Record]:
    """Yield synthetic finished runs: permutations of each setting on each data set, five values of C a learner.

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
            "protocol": {"order": "permuted", "seed": 0, "permutation": i % permutations},
        }
        curve = np.cumsum(rng.integers(0, 20, 100))
        yield Record(
            run,
            run_id(run),
            metrics=dict(zip(_METRICS, rng.random(len(_METRICS)).tolist(), strict=True)),
            curve_rows=rows,
            curve_mistakes=curve,
            timings=dict(zip(_TIMINGS, rng.random(len(_TIMINGS)).tolist(), strict=True)),
            environment={"host": f"host-{i % 8}", "olscale": "0.1.0"},
        )


def fill_loose(path: Path, number: int) -> Store:
    """Make a local store of loose files."""
    return write_loose(open_store(path, create=True), records(number))


def write_loose(store: Store, finished: Iterable[Record]) -> Store:
    """Write runs to loose files of a local store, without waiting for the disk at each of them."""
    for record in finished:
        for kind, data in (("timings", timing_bytes(record, _WHEN)), ("runs", run_bytes(record))):
            file = Path(store.path, kind) / record.id[:2] / f"{record.id}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    return store


def fill_compacted(path: Path, number: int, permutations: int = 10, datasets: int = 25) -> Store:
    """Make the store that compaction would make of as many loose files."""
    store = open_store(path, create=True)
    made = sorted(records(number, permutations, datasets), key=lambda record: record.id)
    for kind, schema, row in (
        ("runs", RUN_SCHEMA, run_row),
        ("timings", TIMING_SCHEMA, lambda record: timing_row(record, _WHEN)),
    ):
        data = compacted_bytes(
            pa.Table.from_pylist([row(record) for record in made], schema=schema)
        )
        store.put(compacted_name(kind, "", data), data)
    compact(store)
    return store


def figures() -> list[Figure]:
    """Return seconds, on a store in the system's temporary folder."""
    with tempfile.TemporaryDirectory(prefix="olscale-bench-") as folder:
        loose = fill_loose(Path(folder, "loose"), LOOSE)
        compacted = fill_compacted(Path(folder, "compacted"), COMPACTED)
        fresh = open_store(Path(folder, "written"), create=True)
        waiting = list(records(200))
        many = f"{COMPACTED // 1000}k runs"
        few = f"{LOOSE // 1000}k runs"
        return [
            _figure(
                "write a run",
                lambda: fresh.write(waiting.pop()),
                100,
                "flushed to the disk, with its timings",
            ),
            _figure(f"what is done, {few} loose", loose.done, 3),
            _figure(f"aggregate {few} loose", lambda: aggregated(loose), 2),
            _figure(f"what is done, {many} compacted", lambda: Store(compacted.path).done(), 5),
            _figure(
                f"aggregate {many} compacted",
                lambda: aggregated(compacted),
                7,
                "mean and deviation of 9 metrics",
            ),
            _figure(
                f"the same as {9 * COMPACTED // 10:,} summaries", lambda: summarise(compacted), 3
            ),
            _figure(f"report on {few} loose", partial(_report, loose, folder), 1),
            _figure(f"compact {few}", lambda: compact(loose), 1),
            _figure(f"report on {few} compacted", partial(_report, loose, folder), 1),
            _figure(f"aggregate {few} compacted", lambda: aggregated(loose), 7),
        ]


def _report(store: Store, folder: str) -> None:
    write_report(open_store(store.path), Path(folder, "report"))


def _figure(name: str, work: Callable[[], Any], times: int, note: str = "") -> Figure:
    return Figure(
        name, 1e3 * statistics.median(repeat(work, repeat=times, number=1)), "ms", note=note
    )
