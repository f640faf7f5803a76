"""Requests to stop: the first Ctrl-C, a SIGTERM or the clock asks, another Ctrl-C interrupts."""

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
    """A request that an evaluation save its work and stop.

    Parameters
    ----------
    at : float
        Time in seconds since 1970 from which on a stop is requested automatically.

    Attributes
    ----------
    signal : int
        Number of the signal that asked; 0 without one.
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
        """Return the error that ends an evaluation after a request to stop.

        `what` says what was saved.
        """
        name = "the time to stop has come"
        if self.signal:
            name = signal.Signals(self.signal).name
        return StoppedError(
            f"{name}: {what}; run the same command again to continue", self.signal
        )

    @contextmanager
    def listening(self) -> Iterator[Stop]:
        """Let SIGINT and SIGTERM request a stop; only the main thread can receive them."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {
            number: signal.signal(number, self._ask)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        # A launcher may send SIGTERM several times, or as the time runs out: saving must not be
        # disturbed by it.
        if self.asked and number == signal.SIGINT:
            raise UserInterrupt
        self.signal = self.signal or number
