"""Drawing: figures are drawn once, here and of many in further processes; nobody else imports matplotlib."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olscale.errors import ReportError
from olscale.system.garbage import seldom_collected

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST = 6
"""Figures that are worth a process: matplotlib is imported in about the time of so many."""

_CHILD = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    sys.path[:] = pickle.load(file)
    from olscale.report.drawing import draw_here
    draw_here(*pickle.load(file))
"""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure that is to be drawn.

    Parameters
    ----------
    name : str
        Of its files.
    caption : str
    make : callable
        A function of `olscale.report.figures`.
    shown, options : mapping, dict
        What it is called with.
    """

    name: str
    caption: str
    make: Callable[..., Figure]
    shown: Any
    options: dict[str, Any] = field(default_factory=dict)


def draw(
    drawings: Sequence[Drawing], folder: Path, formats: Sequence[str], processes: int | None = None
) -> None:
    """Draw figures into a folder, in as many processes as there are cores, this one included, or fewer for few figures.

    Raises
    ------
    ReportError
        If a file cannot be written, or a process fails.
    """
    most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = min(processes or most, len(drawings) // _LEAST)
    if count < 2:
        draw_here(drawings, folder, formats)
        return
    with tempfile.TemporaryDirectory(prefix="olscale-report-") as scratch:
        children = []
        for number in range(1, count):
            share = Path(scratch, str(number))
            # In a folder that nobody else writes to; the child believes it.
            share.write_bytes(
                pickle.dumps(sys.path) + pickle.dumps((drawings[number::count], folder, formats))
            )
            # Neither a fork of this process, whose threads of Arrow would not be there, nor one
            # that runs its main module.
            command = [sys.executable, "-c", _CHILD, str(share)]
            children.append(
                subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
                )
            )
        try:
            draw_here(drawings[::count], folder, formats)
            said = [child.communicate()[1] for child in children]
        finally:
            for child in children:
                child.kill()
                child.wait()
    for child, text in zip(children, said, strict=True):
        if child.returncode:
            last = (text.strip().splitlines() or [f"exit code {child.returncode}"])[-1]
            raise ReportError(last.removeprefix("olscale.errors.ReportError: "))


def draw_here(drawings: Sequence[Drawing], folder: Path, formats: Sequence[str]) -> None:
    """Draw figures in this process."""
    from olscale.report.figures.style import save

    with seldom_collected():
        for one in drawings:
            save(one.make(one.shown, **one.options), folder, one.name, formats)
