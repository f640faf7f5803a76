"""Memory of this machine, and how much of it a stream may take."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from olscale.errors import ParameterError
from olscale.system.sizes import parse_size

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_bytes() -> int:
    """Return the bytes of memory this process may use at most: the machine's, or its control group's if that is less."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _CGROUPS:
        try:
            sizes.append(int(Path(file).read_text()))
        except (OSError, ValueError):  # no such file, or no limit: "max"
            continue
    return min(sizes)


@cache
def default_limit() -> int:
    """Return half of `memory_bytes`: the other half is the learners'."""
    return memory_bytes() // 2


def parse_limit(limit: str | int) -> int:
    """Return the bytes of a memory limit.

    Raises
    ------
    ParameterError
        If it is no size, or not positive.

    Examples
    --------
    >>> parse_limit("2GB"), parse_limit(1000)
    (2000000000, 1000)
    """
    try:
        size = parse_size(limit) if isinstance(limit, str) else int(limit)
    except ValueError:
        size = 0
    if size <= 0:
        raise ParameterError(f"memory limit was {limit!r}, expected a size such as '2GB' or '512MiB'")
    return size
