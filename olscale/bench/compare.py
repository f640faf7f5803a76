"""Processor time of `olscale compare` with ever more settings, on eight data sets."""

import tempfile
from pathlib import Path
from time import process_time

from olscale.analysis.summary import summarise
from olscale.bench.base import Figure
from olscale.bench.store import fill_compacted
from olscale.report.comparison import compared
from olscale.report.comparison_tables import comparison_json, comparison_tables
from olscale.results import Store, open_store

SETTINGS = (40, 80, 160, 400)
DATASETS = 8


def figures(settings: tuple[int, ...] = SETTINGS) -> list[Figure]:
    """Return seconds of tables, with the best learner's pairs, and of JSON, with all pairs."""
    measured = []
    with tempfile.TemporaryDirectory(prefix="olscale-bench-") as folder:
        for count in settings:
            store = fill_compacted(
                Path(folder, str(count)),
                count * DATASETS,
                permutations=1,
                datasets=DATASETS,
            )
            for what, as_json in (("tables", False), ("JSON", True)):
                seconds = _seconds(store, as_json)
                measured.append(
                    Figure(
                        f"{what} of {count} settings",
                        seconds,
                        "s",
                        5.0 / seconds,
                        "5 s",
                        ">= 1",
                    )
                )
    return measured


def _seconds(store: Store, as_json: bool) -> float:
    """Return the processor time of a comparison in a store that nothing has been read of."""
    start = process_time()
    # A new object: an opened store keeps what it has read.
    fresh = open_store(store.path)
    [comparison] = compared(fresh, summarise(fresh))
    if as_json:
        comparison_json([(comparison, [], [])])
    else:
        comparison_tables(comparison)
    return process_time() - start
