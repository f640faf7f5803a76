"""A line in the terminal with the progress of a long command, removed when it ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from olscale.cli.command import collect_as_usual
from olscale.printable import printable

if TYPE_CHECKING:
    from rich.progress import TaskID

    from olscale.data.dataset import Progress


_NAME = 12
"""Columns that a name keeps where the line is short."""

_BAR = 24
_LEAST_BAR = 10


def fitted(name: str, words: Sequence[str], columns: int) -> tuple[str, int, str]:
    """Return a name, the length of a bar, and words, as they fit on a line.

    Where there is no room, the bar becomes shorter, then the name is cut, then the last words are
    left out, as whole words: the first ones say most.

    Examples
    --------
    >>> fitted("permuted-digits", ["13/294 runs", "0:02:43 left", "17.3 k rows/s"], 52)
    ('permuted-dig', 13, '13/294 runs  0:02:43 left')
    """
    from rich.cells import cell_len, set_cell_size

    shown = list(words)

    def room() -> int:
        return columns - cell_len(name) - cell_len("  ".join(shown)) - 2

    if room() < _LEAST_BAR and cell_len(name) > _NAME:
        name = set_cell_size(name, _NAME)
    # The first words stay, even where the line then is too long: without them it says
    # nothing.
    while room() < _LEAST_BAR and len(shown) > 1:
        shown.pop()
    return name, min(_BAR, max(_LEAST_BAR, room())), "  ".join(shown)


class Bar:
    """One live line: a name, a bar and words.

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

        self._bar = BarColumn(bar_width=_BAR)
        self._line = Line(
            TextColumn("{task.description}", style="bold", markup=False),
            self._bar,
            TextColumn("{task.fields[text]}", markup=False),
            console=Console(file=stream),
            # The line goes with the command: what stays on the screen are results and
            # notes.
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

    def draw(self, name: str, words: Sequence[str], share: float | None = None) -> None:
        """Show the share done, at most 1.0; None if it is unknown. The first words say most."""
        columns = self._line.console.width
        name, self._bar.bar_width, text = fitted(
            printable(name), list(map(printable, words)), columns
        )
        total = None
        if share is not None:
            total = 1.0
        # At the first drawing, since a task without a name would be a bar that says
        # nothing.
        if self._task is None:
            self._task = self._line.add_task("", total=None, text="")
        self._line.update(
            self._task,
            description=name,
            text=text,
            completed=share,
            total=total,
        )

    def note(self, line: str) -> None:
        """Print a line above the bar."""
        self._line.console.print(
            printable(line), markup=False, highlight=False, soft_wrap=True
        )


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
        # A file or a pipe would keep every state of the line.
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
                [
                    f"{rows:,} rows",
                    f"{rows / seconds:,.0f} rows/s",
                    f"{size / seconds / 1e6:,.1f} MB/s",
                ],
            )

        yield show
