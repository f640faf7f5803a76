"""A line in the terminal with the progress of a long command, removed when it ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from olscale.cli.garbage import collect_as_usual

if TYPE_CHECKING:
    from olscale.data.dataset import Progress


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
    from olscale.cli.bar import Bar

    start = time.perf_counter()
    rows = size = 0
    with Bar(sys.stderr) as bar:

        def show(name: str, more: int, nbytes: int) -> None:
            nonlocal rows, size
            rows = rows + more
            size = size + nbytes
            seconds = max(time.perf_counter() - start, 1e-9)
            bar.draw(
                f"{verb} {name}",
                f"{rows:,} rows, {rows / seconds:,.0f} rows/s, {size / seconds / 1e6:,.1f} MB/s",
            )

        yield show
