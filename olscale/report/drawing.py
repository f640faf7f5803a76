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
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olscale.errors import ReportError
from olscale.report.figures.style import ANY_SIZE, FigureSize
from olscale.system.garbage import seldom_collected

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST = 6
"""Least number of figures that is worth a process."""

_CHILD = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    sys.path[:] = pickle.load(file)
    from olscale.report.drawing import draw_in_copies
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
    most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    count = min(processes or most, len(drawings) // _LEAST)
    if count < 2 or sys.platform != "linux":
        draw_here(drawings, folder, formats, size)
        return
    with tempfile.TemporaryDirectory(prefix="olscale-report-") as scratch:
        # Only this process writes to the folder, so the child can trust its contents.
        share = Path(scratch, "drawings")
        share.write_bytes(
            pickle.dumps(sys.path) + pickle.dumps((drawings, folder, formats, count, size))
        )
        # A copy of this process would lack the threads of Arrow.
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, str(share)],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
    if child.returncode:
        last = (child.stderr.strip().splitlines() or [f"exit code {child.returncode}"])[-1]
        raise ReportError(last.removeprefix("olscale.errors.ReportError: "))


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
        copy = os.fork()
        if copy == 0:
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
        print(traceback.format_exception_only(fault)[-1], end="", file=sys.stderr, flush=True)
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
            save(drawing.make(drawing.shown, **drawing.options), folder, drawing.name, formats)
