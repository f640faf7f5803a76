"""Processor time of `olscale results --metrics` over stores of many runs."""

import tempfile
from pathlib import Path
from time import process_time

from olscale.bench.base import Figure
from olscale.bench.store import fill_compacted
from olscale.report.leaderboard import leaderboard
from olscale.report.text import plain
from olscale.results import open_store

LIMITS = {10_000: 1.0, 100_000: 5.0}
"""Seconds that a leaderboard may take, by runs."""

METRICS = ("cumulative_error", "test_error", "rows_per_second", "model_bytes")


def figures(limits: dict[int, float] = LIMITS) -> list[Figure]:
    """Return the seconds of a leaderboard as text, from a store that nothing has been read of."""
    measured = []
    with tempfile.TemporaryDirectory(prefix="olscale-bench-") as folder:
        for runs, limit in limits.items():
            path = fill_compacted(Path(folder, str(runs)), runs).path
            start = process_time()
            plain(leaderboard(open_store(path), METRICS).tables())
            seconds = process_time() - start
            name = f"leaderboard of {runs:,} runs"
            peer = f"{limit:g} s"
            measured.append(Figure(name, seconds, "s", limit / seconds, peer, ">= 1"))
    return measured
