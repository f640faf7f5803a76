"""What chaos came to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["Report"]


@dataclass
class Report:
    """What happened.

    Attributes
    ----------
    hits : Counter of str
        Processes killed or frozen, by kind.
    runs : int
        Runs of all rounds.
    differing : list of str
        Files that differ from the undisturbed ones, or are in one store only, or should not be there.
    rows, rows_learned : int
        Rows that had to be learned from, and that were, those lost with a worker and learned again included.
    setbacks : list of float
        Seconds of learning that were done again, each time that a pack went on from a place it had been beyond.
    longest_pause : float
        Seconds without any row learned.
    orphans : int
        Processes that were left at the end.
    seconds : float
        From the first start to the last record, of all rounds.
    compactions : int
        Compactions beside the evaluations that came to their end.
    failures : list of str
        Ends of drivers and compactors that were neither success nor being killed, with their last line.
    """

    hits: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    differing: list[str] = field(default_factory=list)
    rows: int = 0
    rows_learned: int = 0
    setbacks: list[float] = field(default_factory=list)
    longest_pause: float = 0.0
    orphans: int = 0
    seconds: float = 0.0
    compactions: int = 0
    failures: list[str] = field(default_factory=list)
