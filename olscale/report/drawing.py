"""Drawing: figures are drawn only here, in several processes if there are many.

No other module imports matplotlib.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from olscale.errors import ReportError
from olscale.report.figures.style import ANY_SIZE, FigureSize
from olscale.system.garbage import seldom_collected

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST = 6
"""Least number of figures that is worth a process."""

_CHILD = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from olscale.report.drawing import draw_in_copies
import olscale.report.figures.layout
path = sys.stdin.readline()
if path:
    with open(path.rstrip("\\n"), "rb") as file:
        sys.exit(draw_in_copies(*pickle.load(file)))
"""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure to draw.

    Parameters
    ----------
    name : str
        Of its files.
    caption : str
    make : callable
        A function of `olscale.report.figures`.
    shown, options : mapping, dict
        Its arguments.
    topic : str
        What it shows, in words by which a page filters figures.
    """

    name: str
    caption: str
    make: Callable[..., Figure]
    shown: Any
    options: dict[str, Any] = field(default_factory=dict)
    topic: str = ""


def draw(
    drawings: Sequence[Drawing],
    folder: Path,
    formats: Sequence[str],
    processes: int | None = None,
    size: FigureSize = ANY_SIZE,
) -> None:
    """Draw figures into a folder, in one process per core, or fewer for few figures.

    Where processes cannot be copied, as on macOS and Windows, this one draws all of them.

    Raises
    ------
    ReportError
        If a file cannot be written, or a process fails.
    """
    if processes_for(len(drawings), processes) < 2:
        draw_here(drawings, folder, formats, size)
        return
    with FigureProcess() as child:
        child.begin(drawings, folder, formats, processes, size)
        child.finish()


def processes_for(figures: int, most: int | None = None) -> int:
    """Return how many processes draw a number of figures: one per core, or `most`, or fewer."""
    if sys.platform != "linux":
        return 1
    # The cores that this process may use, which a container or a batch system limits.
    return min(most or len(os.sched_getaffinity(0)), figures // _LEAST)


class FigureProcess:
    """A process that imports matplotlib, waits for figures, and draws them on all cores.

    This process continues its own work meanwhile. It does not copy itself, because a copy would
    lack the threads of Arrow. The other process ends with the ``with`` block, however it ends.

    Raises
    ------
    ReportError
        By `finish`, if a file cannot be written or a figure fails.
    """

    def __enter__(self) -> Self:
        # Only this process writes to the folder, so the child can trust its contents.
        self._scratch = tempfile.TemporaryDirectory(prefix="olscale-report-")
        self._child = subprocess.Popen(
            [sys.executable, "-c", _CHILD],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._write(pickle.dumps(sys.path))
        return self

    def __exit__(self, *_: object) -> None:
        if self._child.poll() is None:
            # An error here must not wait for figures that will not be seen.
            self._child.kill()
        self._child.communicate()
        self._scratch.cleanup()

    def begin(
        self,
        drawings: Sequence[Drawing],
        folder: Path,
        formats: Sequence[str],
        processes: int | None = None,
        size: FigureSize = ANY_SIZE,
    ) -> None:
        """Have figures drawn into a folder; the arguments are those of `draw`."""
        count = max(processes_for(len(drawings), processes), 1)
        share = Path(self._scratch.name, "drawings")
        # A file, since a pipe would make this process wait until the other one reads.
        share.write_bytes(pickle.dumps((drawings, folder, formats, count, size)))
        self._write(f"{share}\n".encode())

    def finish(self) -> None:
        """Wait until all figures are drawn."""
        _, errors = self._child.communicate()
        if self._child.returncode:
            lines = errors.decode(errors="replace").strip().splitlines()
            # The last line is the exception; those above are warnings.
            last = (lines or [f"exit code {self._child.returncode}"])[-1]
            raise ReportError(last.removeprefix("olscale.errors.ReportError: "))

    def _write(self, data: bytes) -> None:
        assert self._child.stdin is not None
        # A child that is gone says why when it is waited for.
        with suppress(BrokenPipeError):
            self._child.stdin.write(data)
            self._child.stdin.flush()


def draw_in_copies(
    drawings: Sequence[Drawing],
    folder: Path,
    formats: Sequence[str],
    count: int,
    size: FigureSize = ANY_SIZE,
) -> int:
    """Draw figures in `count` copies of this process, this one included; return the exit code.

    One figure is drawn first: matplotlib is imported and its fonts are read once.
    """
    failed = _failure(drawings[:1], folder, formats, size)
    remaining = drawings[1:]
    copies = []
    for number in range(1, count):
        # A copy has what was imported and the fonts that were read, at no cost.
        copy = os.fork()
        if copy == 0:
            # Not sys.exit: a copy must not run what its original has registered for its
            # end.
            os._exit(_failure(remaining[number::count], folder, formats, size))
        copies.append(copy)
    failed |= _failure(remaining[::count], folder, formats, size)
    for copy in copies:
        failed |= os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
    return failed


def _failure(
    drawings: Sequence[Drawing], folder: Path, formats: Sequence[str], size: FigureSize
) -> int:
    """Draw figures and return 0, or 1 once the reason stands on the standard error, on one line."""
    try:
        draw_here(drawings, folder, formats, size)
    except Exception as fault:
        print(
            traceback.format_exception_only(fault)[-1],
            end="",
            file=sys.stderr,
            flush=True,
        )
        return 1
    return 0


def draw_here(
    drawings: Sequence[Drawing],
    folder: Path,
    formats: Sequence[str],
    size: FigureSize = ANY_SIZE,
) -> None:
    """Draw figures in this process."""
    from olscale.report.figures.style import save, sized

    with seldom_collected(), sized(size):
        for drawing in drawings:
            save(
                drawing.make(drawing.shown, **drawing.options),
                folder,
                drawing.name,
                formats,
            )
