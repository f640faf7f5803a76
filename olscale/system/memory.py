"""Memory of this machine, how much of it a stream may take, and keeping what is freed of it.

Chunks come and go by the ten megabytes, and fresh pages cost more than what is done with them.
"""

import ctypes
import os
import sys
from functools import cache, lru_cache
from pathlib import Path
from time import monotonic

from olscale.errors import ParameterError
from olscale.system.sizes import parse_size

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_LARGEST_MMAP_THRESHOLD = 32 << 20
_KEPT = 512 << 20


@cache
def memory_bytes() -> int:
    """Return the most bytes of memory that this process may use.

    That is the memory of the machine, or of its control group if that is less. The answer is kept,
    because every learner that may fill the memory asks.
    """
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _CGROUPS:
        try:
            sizes.append(int(Path(file).read_text()))
        except (OSError, ValueError):  # no such file, or no limit: "max"
            continue
    return min(sizes)


def resident_bytes() -> int:
    """Return the bytes of memory that this process takes; 0 if the system does not report it."""
    try:
        with Path("/proc/self/statm").open() as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def recent_resident_bytes() -> int:
    """Return `resident_bytes`, at most a tenth of a second old: cheap enough for small groups."""
    return _resident_bytes_at(int(10 * monotonic()))


@lru_cache(maxsize=1)
def _resident_bytes_at(tenth: int) -> int:
    del tenth
    return resident_bytes()


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
        raise ParameterError(
            f"memory limit was {limit!r}, expected a size such as '2GB' or '512MiB'"
        )
    return size


@cache
def keep_freed_memory() -> bool:
    """Let glibc keep up to 512 MB of freed memory for the next chunk, for the rest of the process.

    By default it gives the memory of every large array back to the system and asks for new, which
    is zeroed page by page. Returns False, and does nothing, where the C library is another one.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return False
    # Setting either threshold also ends glibc's own adjusting of both.
    return bool(
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
        and mallopt(_M_TRIM_THRESHOLD, _KEPT)
    )
