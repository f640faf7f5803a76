"""Alarms that end calls that do not return, where there is no worker to end.

A signal interrupts Python code and sleeping calls; compiled code handles it when it returns.
"""

import signal
import threading
from collections.abc import Sequence
from math import inf
from time import monotonic
from types import FrameType
from typing import Any

from olscale.evaluation.budget import (
    Budget,
    BudgetExceeded,
    Metered,
    TimeUp,
    resident_bytes,
)

_BETWEEN = ("contextlib", "olscale.evaluation.guard", "olscale.evaluation.budget")


class Alarm:
    """Raises `TimeUp` in a call of the main thread that exceeds its time or memory.

    Parameters
    ----------
    budget : Budget
    again_seconds : float
        Time between two alarms: a learner may catch the first one.
    look_seconds : float
        Time between two checks of the memory.
    """

    def __init__(
        self, budget: Budget, again_seconds: float = 1.0, look_seconds: float = 0.2
    ) -> None:
        self._budget = budget
        self._again_seconds = again_seconds
        self._look_seconds = look_seconds
        self._on = False
        self._seconds = self._most_bytes = inf
        self._handler: Any = None
        self._timer = (0.0, 0.0)
        self._started = 0.0

    @staticmethod
    def works() -> bool:
        """Return whether signals can be received here."""
        return threading.current_thread() is threading.main_thread() and hasattr(
            signal, "setitimer"
        )

    def enter(self, runs: Sequence[Metered], seconds: float, most_bytes: float) -> None:
        """Set the alarm; an alarm that another program part has set is postponed."""
        del runs
        if seconds == most_bytes == inf:
            return
        self._seconds = seconds
        self._most_bytes = most_bytes
        again = self._again_seconds
        first = seconds
        if most_bytes != inf:  # memory is looked at more often than time
            again = min(again, self._look_seconds)
            first = min(seconds, again)
        self._handler = signal.signal(signal.SIGALRM, self._ring)
        self._on = True
        self._started = monotonic()
        self._timer = signal.setitimer(signal.ITIMER_REAL, max(first, 1e-3), again)

    def leave(self) -> None:
        """Turn the alarm off."""
        if not self._on:
            return
        self._on = False
        seconds, interval = self._timer
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self._handler)
        if seconds:
            signal.setitimer(
                signal.ITIMER_REAL,
                max(seconds - (monotonic() - self._started), 1e-3),
                interval,
            )

    def _ring(self, number: int, frame: FrameType | None) -> None:
        # Between a learner and its run nothing could catch it; the next ring comes after that.
        between = frame is not None and frame.f_globals.get("__name__") in _BETWEEN
        over = self._over()
        if self._on and over is not None and not between:
            raise TimeUp(over)

    def _over(self) -> BudgetExceeded | None:
        if self._most_bytes < inf and resident_bytes() > self._most_bytes:
            return self._budget.out_of_memory()
        # Two clocks may differ slightly; without a tolerance, a ring on time would count as early.
        if monotonic() - self._started >= self._seconds - 0.01:
            return self._budget.out_of_time()
        return None
