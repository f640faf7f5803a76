"""A line in the terminal with the progress of a long command, removed when it ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from olscale.cli.command import collect_as_usual
from olscale.printable import printable

if TYPE_CHECKING:
    from rich.progress import TaskID

    from olscale.data.dataset import Progress


class Bar:
    """One live line: a name, a bar and a text.

    Parameters
    ----------
    stream : text stream
        The terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        # Without a terminal no bar is drawn, and rich is not needed.
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Line

        self._line = Line(
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}", markup=False),
            console=Console(file=stream),
            transient=True,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._line.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the bar."""
        self._line.stop()

    def draw(self, name: str, text: str, share: float | None = None) -> None:
        """Show the share done, at most 1.0; None if it is unknown."""
        total = None
        if share is not None:
            total = 1.0
        if self._task is None:
            self._task = self._line.add_task("", total=None, text="")
        self._line.update(
            self._task,
            description=printable(name),
            text=printable(text),
            completed=share,
            total=total,
        )

    def note(self, line: str) -> None:
        """Print a line above the bar."""
        self._line.console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


@contextmanager
def meter(verb: str) -> Iterator[Progress | None]:
    """Yield the `progress` of a library call, or None if standard error is no terminal.

    Parameters
    ----------
    verb : str
        The activity: ``"reading"``.
    """
    collect_as_usual()
    if not sys.stderr.isatty():
        yield None
        return
    from olscale.cli.meter import Bar

    start = time.perf_counter()
    rows = size = 0
    with Bar(sys.stderr) as bar:

        def show(name: str, more: int, nbytes: int) -> None:
            nonlocal rows, size
            rows = rows + more
            size = size + nbytes
            # The first call may come within one tick of a coarse clock.
            seconds = max(time.perf_counter() - start, 1e-9)
            bar.draw(
                f"{verb} {name}",
                f"{rows:,} rows, {rows / seconds:,.0f} rows/s, {size / seconds / 1e6:,.1f} MB/s",
            )

        yield show
