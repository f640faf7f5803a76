"""Chaos: two evaluations on a real cluster whose processes are killed at random, against the same evaluations undisturbed.

One experiment streams in time order (actors), the other goes through permutations (tasks), both into one store, which is
being compacted again and again. Scheduler, workers with their nannies, both drivers and the compactor are processes of
their own; whatever dies is started again here, as a service manager would. When all runs have their records, the store
must be the undisturbed one, byte for byte (`olscale.bench.chaos.compare`), and little may have been learned twice
(`olscale.bench.chaos.rework`).
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from statistics import fmean
from time import monotonic

from olscale.bench.base import Figure
from olscale.bench.chaos.report import Report
from olscale.bench.chaos.rounds import CHECKPOINT_SECONDS, KINDS, Chaos

__all__ = ["Report", "figures", "run_chaos"]


def run_chaos(seconds: float, folder: Path, seed: int = 0, workers: int = 2, every: float = 0.7) -> Report:
    """Evaluate while processes die, for `seconds` at least; then let everything end, and compare.

    Parameters
    ----------
    seconds : float
        How long processes are hit, from the first row learned on. The experiments are started anew, on empty stores, until
        then.
    folder : path
        Empty directory for data, stores and logs.
    seed : int
        Which processes are hit when.
    workers : int
        Nannies with one worker each.
    every : float
        Mean seconds between two hits, counted from where rows are learned again.
    """
    chaos = Chaos(folder, random.Random(seed), workers, every)
    try:
        chaos.prepare()
        report, number = Report(), 0
        while not chaos.end or monotonic() < chaos.end:
            chaos.round(folder / f"store{number}", seconds, report)
            number += 1
        return report
    finally:
        chaos.stop()


def figures(minutes: float = 10.0, seed: int = 0) -> list[Figure]:
    """Return what `minutes` of chaos came to."""
    with tempfile.TemporaryDirectory(prefix="olscale-chaos-") as folder:
        report = run_chaos(60 * minutes, Path(folder), seed)
    hits = sum(report.hits.values())
    losing = hits - report.hits["compactor"]
    again = 100 * (report.rows_learned / max(1, report.rows) - 1)
    interval = f"checkpoints after max({CHECKPOINT_SECONDS:g} s, 50 times what saving takes)"
    wrong, failed = report.differing, report.failures
    return [
        Figure("hits", hits, "times", note=f"{60 * hits / report.seconds:.1f} a minute, restarts included"),
        *(Figure(f"{kind}: hit", report.hits[kind], "times") for kind in KINDS),
        Figure("compactions that came to their end", report.compactions, ""),
        Figure("runs", report.runs, "", note=f"in {report.seconds:.0f} s"),
        Figure("files that differ from the undisturbed", len(wrong), "", note=", ".join(wrong[:3])),
        Figure("rows learned again", again, "% of all"),
        Figure("rework a hit, all packs", sum(report.setbacks) / max(1, losing), "s of learning", note=interval),
        Figure("rework of a pack that was set back, mean", fmean(report.setbacks or [0.0]), "s of learning"),
        Figure(
            "rework of a pack that was set back, most",
            max(report.setbacks, default=0.0),
            "s of learning",
            note=f"{sum(lost > CHECKPOINT_SECONDS for lost in report.setbacks)} times more than {CHECKPOINT_SECONDS:g} s",
        ),
        Figure("packs set back", len(report.setbacks), "times"),
        Figure("longest time without a row", report.longest_pause, "s"),
        Figure("processes left at the end", report.orphans, ""),
        Figure("processes that ended otherwise", len(failed), "", note="; ".join(failed[:3])),
    ]
