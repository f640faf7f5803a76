"""In process a signal ends what does not return, where it hears one."""

from __future__ import annotations

import mmap
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from olscale.evaluation.budget import Budget, BudgetExceeded, Meter, Spent
from olscale.evaluation.guard import attempt
from olscale.execution.alarm import Alarm


class Run:
    """A run in mid-stream."""

    random = None

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.spent = Spent()
        self.end = ("ok", "")

    def fail(
        self, outcome: str, reason: str, raised: bool = True, row: int = 0
    ) -> None:
        if self.end == ("ok", ""):
            self.end = outcome, reason


def loops() -> None:
    while True:
        pass


def sleeps() -> None:
    time.sleep(1000)


def catches() -> None:
    """As `except:` in a loop does."""
    for _ in range(2):
        try:
            time.sleep(1000)
        except BaseException:
            continue


@pytest.mark.parametrize("call", [loops, sleeps, catches])
def test_a_call_that_does_not_return_ends(call: Callable[[], None]) -> None:
    limits = Budget(max_seconds=0.05)
    run = Run(Meter(limits, Alarm(limits, again_seconds=0.05), grace_seconds=0.05))
    before: Any = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    assert attempt([run], call) is None
    assert BudgetExceeded(*run.end) == limits.out_of_time()
    assert signal.getsignal(signal.SIGALRM) is before[0]
    # The alarm of whoever had set one goes on.
    assert bool(signal.getitimer(signal.ITIMER_REAL)[0]) == bool(before[1][0])
    assert attempt([Run(run.meter)], lambda: 5) == 5


def test_a_call_that_takes_more_and_more_memory_ends() -> None:
    """It is ended on its way, not when it has taken all there is and returns."""
    limits = Budget(max_memory=20_000_000)
    run = Run(Meter(limits, Alarm(limits, look_seconds=0.05)))
    taken = []

    def takes() -> None:
        for _ in range(100):
            # pages of its own: others may have been freed, and be there yet
            taken.append(mmap.mmap(-1, 5_000_000))
            taken[-1].write(b"x" * 5_000_000)
            time.sleep(0.05)

    assert attempt([run], takes) is None
    assert BudgetExceeded(*run.end) == limits.out_of_memory()
    assert len(taken) < 50


def test_memory_that_is_looked_at_ends_no_call_in_its_budget() -> None:
    limits = Budget(max_memory=10_000_000_000, max_seconds=1000)
    run = Run(Meter(limits, Alarm(limits, look_seconds=0.01)))
    assert attempt([run], lambda: time.sleep(0.1) or 5) == 5
    assert run.end == ("ok", "")
