"""How much memory a stream may take."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from olscale.errors import ParameterError

__all__ = ["default_limit", "parse_size", "size_text"]

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def parse_size(text: str | int) -> int:
    """Return the bytes that `text` says.

    Raises
    ------
    ParameterError
        If it is no size, or not positive.

    Examples
    --------
    >>> parse_size("2GB"), parse_size("512 MiB"), parse_size(1000)
    (2000000000, 536870912, 1000)
    """
    from dask.utils import parse_bytes

    try:
        size = int(parse_bytes(text))
    except ValueError:
        size = 0
    if size <= 0:
        raise ParameterError(f"memory limit was {text!r}, expected a size such as '2GB' or '512MiB'")
    return size


def size_text(size: float) -> str:
    """Return a number of bytes for messages.

    Examples
    --------
    >>> size_text(2_500_000), size_text(800)
    ('2.5 MB', '800 B')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size:.0f} B"


@cache
def default_limit() -> int:
    """Return half the memory of this machine, or of the container it is: the other half is the learners'."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _CGROUPS:
        try:
            sizes.append(int(Path(file).read_text()))
        except (OSError, ValueError):  # no such file, or no limit: "max"
            continue
    return min(sizes) // 2
