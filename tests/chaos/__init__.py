"""Chaos: two evaluations on a real cluster whose processes are killed at random, against the same evaluations undisturbed.

One experiment streams in time order (actors), the other goes through permutations (tasks), both
into one store, which is being compacted again and again. Scheduler, workers with their nannies,
both drivers and the compactor are processes of their own; whatever dies is started again here, as a
service manager would. When all runs have their records, the store must be the undisturbed one, byte
for byte (`tests.chaos.compare`), and little may have been learned twice (`tests.chaos.rework`).

::

    python -m tests.chaos                  # ten minutes
    python -m tests.chaos --minutes 3      # exit 1 where anything differs, fails or is left
"""

from __future__ import annotations

import random
from pathlib import Path
from time import monotonic

from tests.chaos.report import Report
from tests.chaos.rounds import Chaos

__all__ = ["Report", "run_chaos"]


def run_chaos(
    seconds: float, folder: Path, seed: int = 0, workers: int = 2, every: float = 0.7
) -> Report:
    """Evaluate while processes die, for `seconds` at least; then let everything end, and compare.

    Parameters
    ----------
    seconds : float
        How long processes are hit, from the first row learned on. The experiments are started anew,
        on empty stores, until then.
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
        report = Report()
        number = 0
        while not chaos.end or monotonic() < chaos.end:
            chaos.round(folder / f"store{number}", seconds, report)
            number += 1
        return report
    finally:
        chaos.stop()
