"""The progress bar: one live line in a terminal, removed when the command ends."""

from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from olscale.printable import printable


class Bar:
    """A name, a bar and a text.

    Parameters
    ----------
    stream : text stream
        The terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._line = Progress(
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}", markup=False),
            console=Console(file=stream),
            transient=True,
        )

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
        if not self._line.task_ids:
            self._line.add_task("", total=None, text="")
        total = None if share is None else 1.0
        self._line.update(
            self._line.task_ids[0],
            description=printable(name),
            text=printable(text),
            completed=share,
            total=total,
        )

    def note(self, line: str) -> None:
        """Print a line above the bar."""
        self._line.console.print(printable(line), markup=False, highlight=False, soft_wrap=True)
