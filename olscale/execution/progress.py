"""What an evaluation tells of itself while it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan
from time import monotonic
from typing import NamedTuple, Protocol

__all__ = ["Progress", "Silent", "Tally", "Work"]


class Work(NamedTuple):
    """What there is to do.

    Attributes
    ----------
    rows : int
        Row-passes: one row learned by one learner is one.
    cost : float
        The time that they take beside other work, in any unit.
    """

    rows: int
    cost: float


class Progress(Protocol):
    """Gets told of progress; the command line draws it."""

    def note(self, line: str) -> None:
        """Say what the user should know: a data set is fetched, an optional part left out."""

    def start(self, name: str, runs: int, done: int, packs: Mapping[str, Work]) -> None:
        """Begin `name`: so many runs, of which `done` are in the store already, and the `packs` to do."""

    def advance(self, pack: str, rows: int, error: float) -> None:
        """Say that the stream `pack` stands at row-pass `rows` with so high a cumulative error (NaN: unknown)."""

    def finish(self, run: str, outcome: str) -> None:
        """Say that a run was written to the store."""


class Silent:
    """Tells nobody."""

    def note(self, line: str) -> None:
        """Ignore."""

    def start(self, name: str, runs: int, done: int, packs: Mapping[str, Work]) -> None:
        """Ignore."""

    def advance(self, pack: str, rows: int, error: float) -> None:
        """Ignore."""

    def finish(self, run: str, outcome: str) -> None:
        """Ignore."""


@dataclass
class Tally:
    """Sums up what a `Progress` is told.

    Attributes
    ----------
    runs, done, failed : int
        Runs in all, in the store, and ended with another outcome than ``ok``.
    packs : mapping of str to Work
        What there is to do, by the name of its stream.
    rows, rows_done : int
        Row-passes in all and done.
    error : float
        Mean cumulative error of the streams last heard of.
    """

    name: str = ""
    runs: int = 0
    done: int = 0
    failed: int = 0
    packs: Mapping[str, Work] = field(default_factory=dict)
    started: float = field(default_factory=monotonic)
    _streams: dict[str, tuple[int, float]] = field(default_factory=dict)

    def note(self, line: str) -> None:
        """Ignore."""

    def start(self, name: str, runs: int, done: int, packs: Mapping[str, Work]) -> None:
        """Begin counting."""
        self.name, self.runs, self.done, self.packs, self.started = name, runs, done, packs, monotonic()
        self.failed = 0
        self._streams.clear()

    def advance(self, pack: str, rows: int, error: float) -> None:
        """Note where a stream stands; the clock starts with the first, not with the cluster."""
        if not self._streams:
            self.started = monotonic()
        self._streams[pack] = (rows, error)

    def finish(self, run: str, outcome: str) -> None:
        """Count a run."""
        self.done += 1
        self.failed += outcome != "ok"

    @property
    def rows(self) -> int:
        """Row-passes in all."""
        return sum(work.rows for work in self.packs.values())

    @property
    def rows_done(self) -> int:
        """Row-passes done."""
        return sum(rows for rows, _ in self._streams.values())

    @property
    def error(self) -> float:
        """Mean cumulative error of the streams heard of."""
        errors = [error for rows, error in self._streams.values() if rows and not isnan(error)]
        return sum(errors) / len(errors) if errors else 0.0

    @property
    def rows_per_second(self) -> float:
        """Row-passes a second since the start."""
        return self.rows_done / max(monotonic() - self.started, 1e-9)

    @property
    def share_done(self) -> float:
        """Share of the work that is done; streams differ in what a row of them takes."""
        cost = sum(work.cost for work in self.packs.values())
        row = cost / max(1, self.rows)
        done = 0.0
        for name, (rows, _) in self._streams.items():
            work = self.packs.get(name)  # none of half a pack, whose workers died
            done += rows * (work.cost / work.rows if work and work.rows else row)
        return min(1.0, done / cost) if cost else 0.0

    @property
    def seconds_left(self) -> float:
        """Time left at this speed."""
        done = self.share_done
        return (1.0 - done) / done * (monotonic() - self.started) if done else float("nan")
