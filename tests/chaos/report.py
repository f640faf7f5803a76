"""What chaos came to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import fmean

__all__ = ["CHECKPOINT_SECONDS", "KINDS", "Report"]

KINDS = {
    "worker": 6,
    "frozen worker": 1,
    "nanny": 2,
    "driver": 2,
    "scheduler": 1,
    "compactor": 2,
}
"""What is hit, and how often against the others."""

CHECKPOINT_SECONDS = 1.0


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
        Files that differ from the undisturbed ones, or are in one store only, or should not be
        there.
    rows, rows_learned : int
        Rows that had to be learned from, and that were, those lost with a worker and learned again
        included.
    setbacks : list of float
        Seconds of learning that were done again, each time that a run group went on from a place it
        had been beyond.
    longest_pause : float
        Seconds without any row learned.
    orphans : int
        Processes that were left at the end.
    seconds : float
        From the first start to the last record, of all rounds.
    compactions : int
        Compactions beside the evaluations that came to their end.
    failures : list of str
        Ends of drivers and compactors that were neither success nor being killed, with their last
        line.
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

    @property
    def passed(self) -> bool:
        """Whether the store is the undisturbed one and no process was left or failed."""
        return not (self.differing or self.failures or self.orphans)

    def lines(self) -> list[str]:
        """Return the report, a figure a line."""
        hits = sum(self.hits.values())
        losing = hits - self.hits["compactor"]
        setbacks = self.setbacks or [0.0]
        longer = sum(lost > CHECKPOINT_SECONDS for lost in self.setbacks)
        return [
            f"hits: {hits}, {60 * hits / self.seconds:.1f} a minute, restarts included",
            *(f"{kind}: hit {self.hits[kind]} times" for kind in KINDS),
            f"compactions that ended by themselves: {self.compactions}",
            f"runs: {self.runs} in {self.seconds:.0f} s",
            f"files that differ from the undisturbed: {_list(self.differing)}",
            f"rows learned again: {100 * (self.rows_learned / max(1, self.rows) - 1):.1f} % of all",
            f"rework a hit, all run groups: {sum(self.setbacks) / max(1, losing):.2f} s of "
            "learning "
            f"(checkpoints after max({CHECKPOINT_SECONDS:g} s, 50 times what saving takes))",
            f"run groups set back: {len(self.setbacks)} times",
            f"rework of a group that was set back: mean {fmean(setbacks):.2f} s, most "
            f"{max(setbacks):.2f} s of learning, "
            f"{longer} times more than {CHECKPOINT_SECONDS:g} s",
            f"longest time without a row: {self.longest_pause:.1f} s",
            f"processes left at the end: {self.orphans}",
            f"processes that ended otherwise: {_list(self.failures)}",
        ]


def _list(names: list[str]) -> str:
    return f"{len(names)}" + (f" ({'; '.join(names[:3])})" if names else "")
