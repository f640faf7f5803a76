"""Being asked to stop: the first Ctrl-C, a SIGTERM or the clock asks, another Ctrl-C interrupts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import time
from types import FrameType

from olscale.errors import StoppedError
from olscale.system.interrupts import UserInterrupt


class Stop:
    """Whether somebody has asked an evaluation to save what it is at and to stop.

    Parameters
    ----------
    at : float
        Seconds since 1970 from which on it is asked for without anybody's doing.

    Attributes
    ----------
    signal : int
        Number of the signal that asked; 0 while nobody has.
    """

    def __init__(self, at: float = inf) -> None:
        self.signal = 0
        self.at = at

    @property
    def asked(self) -> bool:
        """Whether to stop."""
        return self.signal != 0 or time() >= self.at

    def ask(self) -> None:
        """Ask to stop, as SIGTERM does."""
        self.signal = self.signal or signal.SIGTERM

    def error(self, what: str) -> StoppedError:
        """Return the error that ends an evaluation that was asked to stop; `what` says what was saved."""
        name = signal.Signals(self.signal).name if self.signal else "the time to stop has come"
        return StoppedError(f"{name}: {what}; run the same command again to go on", self.signal)

    @contextmanager
    def listening(self) -> Iterator[Stop]:
        """Let SIGINT and SIGTERM ask, in place of interrupting; only the main thread can hear of them."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {
            number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        # A launcher may send SIGTERM more than once, or as the time is up: what is being saved must
        # not suffer from it.
        if self.asked and number == signal.SIGINT:
            raise UserInterrupt
        self.signal = self.signal or number
