"""Progress in the terminal: a live line with rich, or plain lines if output is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from math import isnan
from time import monotonic
from types import TracebackType
from typing import Self, TextIO

from olscale.cli.command import collect_as_usual
from olscale.execution.progress import Tally, Work
from olscale.execution.task_report import Stand
from olscale.printable import printable
from olscale.results.pace import COMPILING
from olscale.system.sizes import left_text, speed_text


def progress_for(stream: TextIO) -> TerminalProgress | LineProgress:
    """Return a live display if `stream` is a terminal, else plain lines.

    Everything that shows progress is imported by then.
    """
    collect_as_usual()
    return TerminalProgress(stream) if stream.isatty() else LineProgress(stream)


class LineProgress(Tally, AbstractContextManager["LineProgress"]):
    """A plain line at the start, at most every five seconds, and at the end.

    Parameters
    ----------
    stream : text stream
        Where the lines go.
    """

    every = 5.0

    def __init__(self, stream: TextIO = sys.stderr) -> None:
        super().__init__()
        self._stream = stream
        self._last = float("-inf")

    def note(self, line: str) -> None:
        """Print the line."""
        print(printable(line), file=self._stream, flush=True)

    def start(self, name: str, runs: int, done: int, groups: Mapping[str, Work]) -> None:
        """Print what there is to do."""
        super().start(name, runs, done, groups)
        self._say(f"{name}: {runs} runs, {done} in the store, {runs - done} to do")

    def advance(self, group: str, rows: int, error: float) -> None:
        """Say where things stand, if the last line is old enough."""
        super().advance(group, rows, error)
        if rows:
            self._stand()

    def details(self, group: str, stand: Stand, worker: str) -> None:
        """Report activities besides learning, if the last line is old enough."""
        super().details(group, stand, worker)
        if stand.scoring[1] or stand.compiling:
            self._stand()

    def finish(self, run: str, outcome: str) -> None:
        """Say where things stand, if this was the last run or the last line is old enough."""
        super().finish(run, outcome)
        self._stand(now=self.done == self.runs)

    def _stand(self, now: bool = False) -> None:
        if now or monotonic() - self._last > self.every:
            failed = f", {self.failed} failed" if self.failed else ""
            errors = self.errors_so_far()
            so_far = f", {self.error_words} so far {errors}" if errors else ""
            scored = (
                ""
                if isnan(self.share_scored)
                else f", held-out rows {100 * self.share_scored:.0f} %"
            )
            speed = f", {speed_text(self.rows_per_second)}" if self.rows_done else ""
            compiling = f", {COMPILING}" if self.compiling else ""
            time_left = left_text(self.seconds_left)
            self._say(
                f"{self.done}/{self.runs} runs{failed}{speed}{so_far}{scored}{compiling}{time_left}"
            )

    def _say(self, line: str) -> None:
        print(printable(line), file=self._stream, flush=True)
        self._last = monotonic()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave the lines as they are."""


class TerminalProgress(Tally, AbstractContextManager["TerminalProgress"]):
    """A live bar: runs done, rows per second, error so far, time left.

    Parameters
    ----------
    stream : text stream
        The terminal.
    """

    def __init__(self, stream: TextIO = sys.stderr) -> None:
        from olscale.cli.meter import Bar

        super().__init__()
        self._bar = Bar(stream)

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the bar."""
        self._bar.__exit__(kind, error, traceback)

    def note(self, line: str) -> None:
        """Print the line above the bar."""
        self._bar.note(line)

    def start(self, name: str, runs: int, done: int, groups: Mapping[str, Work]) -> None:
        """Show the bar."""
        super().start(name, runs, done, groups)
        self._draw()

    def advance(self, group: str, rows: int, error: float) -> None:
        """Move the bar."""
        super().advance(group, rows, error)
        self._draw()

    def details(self, group: str, stand: Stand, worker: str) -> None:
        """Move the bar while something besides learning is running, or has ended."""
        before = self.compiling
        super().details(group, stand, worker)
        if stand.scoring[1] or self.compiling != before:
            self._draw()

    def finish(self, run: str, outcome: str) -> None:
        """Count a run."""
        super().finish(run, outcome)
        self._draw()

    def _draw(self) -> None:
        failed = f" ({self.failed} failed)" if self.failed else ""
        errors = self.errors_so_far()
        error = f"{self.error_words} {errors}  " if errors else ""
        if not isnan(self.share_scored):
            error += f"held-out rows {100 * self.share_scored:.0f} %  "
        parts = [
            f"{self.done}/{self.runs} runs{failed}",
            speed_text(self.rows_per_second) if self.rows_done else "",
            error.rstrip(),
            COMPILING if self.compiling else "",
            left_text(self.seconds_left).removeprefix(", "),
        ]
        self._bar.draw(self.name, "  ".join(part for part in parts if part), self.share_done)
