"""Budgets: the seconds and bytes that each run may take; what a run takes is measured around the calls into its learner.

A budget is no part of a run's definition: results that are ``ok`` do not depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

__all__ = ["NO_BUDGET", "Budget", "Excess", "Meter", "Metered", "Spent", "parse_bytes", "resident_bytes"]

_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_bytes(size: Any) -> Any:
    """Return a size in bytes; text with a unit is understood (kB, MB ... are powers of 1000, KiB, MiB ... of 1024).

    Raises
    ------
    ValueError
        If a text is no size.

    Examples
    --------
    >>> parse_bytes("2GB"), parse_bytes("512 MiB"), parse_bytes(4096)
    (2000000000, 536870912, 4096)
    """
    if not isinstance(size, str):
        return size
    parts = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?)(i?)b?\s*", size.lower())
    if parts is None or (parts[3] and not parts[2]):
        raise ValueError(f"expected bytes, such as 2GB, 512MiB or 4096, got {size!r}")
    return int(float(parts[1]) * (1024 if parts[3] else 1000) ** _UNITS[parts[2]])


class Budget(BaseModel):
    """What each run may take.

    Attributes
    ----------
    max_seconds : float, optional
        Seconds in the learner: preparing, learning and predicting, without reading and compiling. No limit when left out.
    max_memory : int, optional
        Bytes by which the process may have grown during the calls into the learner, or text such as ``"2GB"``. No limit
        when left out.

    Examples
    --------
    >>> Budget(max_seconds=60, max_memory="2GB")
    Budget(max_seconds=60.0, max_memory=2000000000)
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    max_memory: Annotated[int, BeforeValidator(parse_bytes), Field(gt=0)] | None = None

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return self.max_seconds is not None or self.max_memory is not None


NO_BUDGET = Budget()


@dataclass(slots=True)
class Spent:
    """What a run has taken so far."""

    seconds: float = 0.0
    bytes: float = 0.0


class Metered(Protocol):
    """A run in mid-stream whose learner is called."""

    spent: Spent

    def fail(self, outcome: str, reason: str) -> None:
        """End the run, if it has not failed already."""
        ...


@dataclass(frozen=True, slots=True)
class Excess:
    """A budget that is exceeded.

    Attributes
    ----------
    outcome : str
        ``"timeout"`` or ``"oom"``.
    reason : str
        Names the limit, and nothing that was measured: the same in every execution.
    """

    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Call:
    runs: Sequence[Metered]
    started: float
    resident: int


class Meter:
    """Measures the runs of one pack.

    A run that has exceeded its budget when its learner returns fails there, and nothing else is touched. That a call is
    over the budget and does *not* return is for a watchdog to see, which asks `excess` from another thread.

    Parameters
    ----------
    budget : Budget
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._call: _Call | None = None

    @contextmanager
    def calling(self, runs: Sequence[Metered]) -> Iterator[None]:
        """Measure a call into the learner of `runs`, which share what it takes evenly; fail those that are over."""
        if not runs:
            yield
            return
        call = self._call = _Call(runs, perf_counter(), resident_bytes() if self.budget.max_memory else 0)
        try:
            yield
        finally:
            self._call = None
            for run in runs:
                run.spent = self._with(run.spent, call)
            for run in runs:
                over = self._over(run.spent)
                if over:
                    run.fail(over.outcome, over.reason)

    def excess(self, grace_seconds: float) -> tuple[Sequence[Metered], Excess] | None:
        """Return the runs whose learner is being called, if they are over their budget by `grace_seconds` or any bytes."""
        call = self._call
        if call is None:
            return None
        for run in call.runs:
            spent = self._with(run.spent, call)
            over = self._over(Spent(spent.seconds - grace_seconds, spent.bytes))
            if over:
                return call.runs, over
        return None

    @property
    def running(self) -> Sequence[Metered]:
        """The runs whose learner is being called."""
        call = self._call
        return call.runs if call else ()

    def _with(self, spent: Spent, call: _Call) -> Spent:
        seconds = spent.seconds + (perf_counter() - call.started) / len(call.runs)
        grown = (resident_bytes() - call.resident) / len(call.runs) if self.budget.max_memory else 0
        return Spent(seconds, max(0.0, spent.bytes + grown))

    def _over(self, spent: Spent) -> Excess | None:
        seconds, memory = self.budget.max_seconds, self.budget.max_memory
        if memory is not None and spent.bytes > memory:
            return Excess("oom", f"took more than its budget of {memory} bytes (max_memory)")
        if seconds is not None and spent.seconds > seconds:
            return Excess("timeout", f"took more than its budget of {seconds:g} s (max_seconds)")
        return None


@cache
def _process() -> Any:
    import psutil

    return psutil.Process()


def resident_bytes() -> int:
    """Return how much memory this process holds."""
    return int(_process().memory_info().rss)
