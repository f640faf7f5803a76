"""Budgets: the seconds and bytes that each run may take.

What a run takes is measured around the calls into its learner. A budget is not part of a run's
definition: results that are ``ok`` do not depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from math import inf
from time import perf_counter
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from olscale.system.sizes import parse_size


def _bytes(size: Any) -> Any:
    if isinstance(size, str):
        return parse_size(size)
    return _number(size)


def _number(value: Any) -> Any:
    """Refuse true and false, which pydantic takes for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("expected a number, not true or false")
    return value


class Budget(BaseModel):
    """The seconds and bytes that each run may take.

    Attributes
    ----------
    max_seconds : float, optional
        Seconds in the learner: preparing, learning and predicting, without reading and compiling.
        No limit when left out.
    max_memory : int, optional
        Bytes by which the process may have grown during the calls into the learner, or text such as
        ``"2GB"``. No limit when left out.

    Examples
    --------
    >>> Budget(max_seconds=60, max_memory="2GB")
    Budget(max_seconds=60.0, max_memory=2000000000)
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_seconds: (
        Annotated[float, BeforeValidator(_number), Field(gt=0, allow_inf_nan=False)]
        | None
    ) = None
    max_memory: Annotated[int, BeforeValidator(_bytes), Field(gt=0)] | None = None

    def out_of_time(self) -> BudgetExceeded:
        """Return the outcome of a run that has taken more than `max_seconds`."""
        return BudgetExceeded(
            "timeout",
            f"took more than its budget of {self.max_seconds or 0.0:g} s (max_seconds)",
        )

    def out_of_memory(self, verb: str = "took") -> BudgetExceeded:
        """Return the outcome of a run that has taken more than `max_memory`."""
        return BudgetExceeded(
            "oom",
            f"{verb} more than its budget of {self.max_memory or 0} bytes (max_memory)",
        )

    def check_reserved(self, reserved: int) -> None:
        """End a run, before it begins, that asks the system for more bytes than it may take.

        Raises
        ------
        TimeUp
            With the outcome.
        """
        if self.max_memory is not None and reserved > self.max_memory:
            raise TimeUp(self.out_of_memory(f"asks at its start for {reserved} bytes,"))


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


@dataclass(frozen=True, slots=True)
class BudgetExceeded:
    """A budget that a run exceeded: ``"timeout"`` or ``"oom"``, and why.

    The reason names the limit and no measured value, so it is the same in every execution.
    """

    outcome: str
    reason: str


class TimeUp(BaseException):
    """Raised in the middle of a call to end it, where that is possible.

    `excess` is the budget that the call exceeds.
    """

    def __init__(self, excess: BudgetExceeded) -> None:
        super().__init__(excess.reason)
        self.excess = excess


class Watch(Protocol):
    """Watches calls that may not return; notified when each call begins and when it returns."""

    def enter(self, runs: Sequence[Metered], seconds: float, most_bytes: float) -> None:
        """Begin to watch a call.

        The watch ends `runs` after `seconds` from now, or when the process holds more than
        `most_bytes`.
        """

    def leave(self) -> None:
        """Stop watching: the call has returned."""


class _Call:
    """A call into the learner of runs, measured within a block; the runs share its cost evenly.

    It is a class rather than a generator because even the smallest run makes twenty of them.
    """

    __slots__ = ("counts", "meter", "resident", "runs", "started")

    def __init__(self, meter: Meter, runs: Sequence[Metered], counts: bool) -> None:
        self.meter = meter
        self.runs = runs
        self.counts = counts
        # Asking for the memory is a system call, which small calls would notice.
        self.resident = 0
        if meter.budget.max_memory:
            self.resident = resident_bytes()
        self.started = perf_counter()

    def __enter__(self) -> None:
        self.meter.begin(self)

    def __exit__(self, *error: object) -> None:
        self.meter.end(self)


class Meter:
    """Measures the runs of one group.

    A run that has exceeded its budget when its learner returns fails there; other runs are not
    affected. A call that exceeds the budget and does *not* return is left to the watch.

    Parameters
    ----------
    budget : Budget
    watch : Watch, optional
    grace_seconds : float
        Least time that a call may take beyond its budget before the watch ends it.
    compile_seconds : float
        Time that compiling may take in addition to a limited budget.
    """

    def __init__(
        self,
        budget: Budget,
        watch: Watch | None = None,
        grace_seconds: float = 2.0,
        compile_seconds: float = 300.0,
    ) -> None:
        self.budget = budget
        self.watch = watch
        self._grace_seconds = grace_seconds
        self._compile_seconds = compile_seconds

    def calling(
        self, runs: Sequence[Metered], counts: bool = True
    ) -> AbstractContextManager[None]:
        """Return a block that measures a call into the learner of `runs`; runs over budget fail.

        A call that does not count is only watched.
        """
        return _Call(self, runs, counts)

    def begin(self, call: _Call) -> None:
        """Let the watch observe a call that is about to be made."""
        if self.watch is not None:
            self.watch.enter(call.runs, *self._left(call))

    def end(self, call: _Call) -> None:
        """Note what a call that has returned has taken."""
        if self.watch is not None:
            self.watch.leave()
        if call.counts:
            for run in call.runs:
                run.spent = self._with(run.spent, call)
            # All runs are charged before any fails: failing one must not spare the others.
            for run in call.runs:
                if over := self._over(run.spent):
                    run.fail(over.outcome, over.reason)

    def _left(self, call: _Call) -> tuple[float, float]:
        """Return the seconds after which, and the bytes at which, a call is ended."""
        limit = self.budget.max_seconds
        memory = self.budget.max_memory
        seconds = inf
        most = inf
        if limit is not None:
            # A call that is only slow may return: ending it would cost other runs what they did
            # since their checkpoint.
            grace = max(self._grace_seconds, 0.1 * limit)
            spent = max(run.spent.seconds for run in call.runs)
            seconds = max(0.0, limit + grace - spent) * len(call.runs) + (
                0.0 if call.counts else self._compile_seconds
            )
        if memory is not None and call.counts:
            most = call.resident + (
                memory - max(run.spent.bytes for run in call.runs)
            ) * len(call.runs)
        return seconds, most

    def _with(self, spent: Spent, call: _Call) -> Spent:
        seconds = spent.seconds + (perf_counter() - call.started) / len(call.runs)
        grown = 0.0
        if self.budget.max_memory:
            grown = (resident_bytes() - call.resident) / len(call.runs)
        return Spent(seconds, max(0.0, spent.bytes + grown))

    def _over(self, spent: Spent) -> BudgetExceeded | None:
        seconds = self.budget.max_seconds
        memory = self.budget.max_memory
        if memory is not None and spent.bytes > memory:
            return self.budget.out_of_memory()
        if seconds is not None and spent.seconds > seconds:
            return self.budget.out_of_time()
        return None


@cache
def _process() -> Any:
    import psutil

    return psutil.Process()


def resident_bytes() -> int:
    """Return how much memory this process holds."""
    return int(_process().memory_info().rss)
