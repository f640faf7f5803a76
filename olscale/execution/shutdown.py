"""Being asked to stop: the first Ctrl-C or SIGTERM asks, the second Ctrl-C interrupts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from olscale.errors import StoppedError
from olscale.system.interrupts import UserInterrupt


class Stop:
    """Whether somebody has asked an evaluation to save what it is at and to stop.

    Attributes
    ----------
    signal : int
        Number of the signal that asked; 0 while nobody has.
    """

    def __init__(self) -> None:
        self.signal = 0

    @property
    def asked(self) -> bool:
        """Whether to stop."""
        return self.signal != 0

    def ask(self) -> None:
        """Ask to stop, as SIGTERM does."""
        self.signal = self.signal or signal.SIGTERM

    def error(self, what: str) -> StoppedError:
        """Return the error that ends an evaluation that was asked to stop; `what` says what was saved."""
        name = signal.Signals(self.signal).name if self.signal else "stopped"
        return StoppedError(f"{name}: {what}; run the same command again to go on", self.signal)

    @contextmanager
    def listening(self) -> Iterator[Stop]:
        """Let SIGINT and SIGTERM ask, in place of interrupting; only the main thread can hear of them."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise UserInterrupt
        self.signal = number
