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
from olscale.execution.progress import Silent
from olscale.execution.work import Work
from olscale.measures import figure_of, measure_of, metric_words
from olscale.printable import printable
from olscale.results.live import COMPILING, LiveEvaluation
from olscale.system.sizes import left_text, speed_text

_MOST_DATASETS = 3
"""Most datasets whose errors are shown next to each other."""

_LINE_SECONDS = 5.0
_DRAW_SECONDS = 0.1
_DRAW_SHARE = 50
"""A drawing is followed by as many times as long without one: it takes a fiftieth at most."""


def progress_for(stream: TextIO) -> TerminalProgress | LineProgress:
    """Return a live display if `stream` is a terminal, else plain lines.

    Everything that shows progress is imported by then.
    """
    collect_as_usual()
    return TerminalProgress(stream) if stream.isatty() else LineProgress(stream)


def stand_words(evaluation: LiveEvaluation) -> list[str]:
    """Return where an evaluation stands: runs, time left, speed, errors so far."""
    words = [f"{evaluation.done}/{evaluation.total} runs"]
    if evaluation.failed:
        words.append(f"{evaluation.failed} failed")
    if evaluation.compiling:
        words.append(COMPILING)
    if evaluation.done < evaluation.total:
        words.append(left_text(evaluation.seconds_left))
    if evaluation.rows_done:
        words.append(speed_text(evaluation.rows_per_second))
    if errors := _error_words(evaluation.errors()):
        words.append(errors)
    if not isnan(share := evaluation.share_scored):
        words.append(f"held-out rows {100 * share:.0f} %")
    return words


def _error_words(errors: Mapping[str, tuple[str, float]]) -> str:
    """Return the errors of a few datasets; empty without any, or with too many for a line."""
    if not errors or len(errors) > _MOST_DATASETS:
        return ""
    figures = []
    kinds = []
    for dataset, (metric, error) in errors.items():
        unit = " %" if measure_of(metric).unit == "percent" else ""
        name = f"{dataset} " if len(errors) > 1 else ""
        figures.append(f"{name}{figure_of(metric, error)}{unit}")
        kinds.append("error" if metric == "cumulative_error" else metric_words(metric))
    return f"{' or '.join(dict.fromkeys(kinds))} so far {', '.join(figures)}"


class LineProgress(Silent, AbstractContextManager["LineProgress"]):
    """A plain line at the start, at most every five seconds, and at the end.

    Parameters
    ----------
    stream : text stream
        Where the lines go.
    every : float
        Least number of seconds between two lines.
    """

    def __init__(
        self, stream: TextIO = sys.stderr, every: float = _LINE_SECONDS
    ) -> None:
        self._stream = stream
        self._every = every
        self._last = float("-inf")
        self._last_done = 0

    def note(self, line: str) -> None:
        """Print the line."""
        print(printable(line), file=self._stream, flush=True)

    def start(
        self, name: str, runs: int, done: int, groups: Mapping[str, Work]
    ) -> None:
        """Print what there is to do."""
        # The interface passes them; the lines need only counts.
        del groups
        self._last_done = done
        self._say(f"{name}: {runs} runs, {done} in the store, {runs - done} to do")

    def show(self, evaluation: LiveEvaluation) -> None:
        """Say where things stand, if this was the last run or the last line is old enough."""
        if not evaluation.total:  # notes may come before the start
            return
        # The end is said once, even where the last line is younger than the interval.
        has_ended = evaluation.done == evaluation.total > self._last_done
        if has_ended or monotonic() - self._last > self._every:
            self._last_done = evaluation.done
            self._say(", ".join(stand_words(evaluation)))

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


class TerminalProgress(Silent, AbstractContextManager["TerminalProgress"]):
    """A live bar: runs done, rows per second, error so far, time left.

    Parameters
    ----------
    stream : text stream
        The terminal.
    """

    def __init__(self, stream: TextIO = sys.stderr) -> None:
        from olscale.cli.meter import Bar

        self._bar = Bar(stream)
        self._next = float("-inf")

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

    def show(self, evaluation: LiveEvaluation) -> None:
        """Draw the bar, if the last drawing is old enough or nothing follows."""
        began = monotonic()
        if not evaluation.total or (
            began < self._next and evaluation.done < evaluation.total
        ):
            return
        self._bar.draw(evaluation.name, stand_words(evaluation), evaluation.share_done)
        # A slow terminal, over a network for example, must not slow the evaluation
        # down.
        seconds = monotonic() - began
        self._next = began + max(_DRAW_SECONDS, _DRAW_SHARE * seconds)
