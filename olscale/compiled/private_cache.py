"""A place for machine code where numba has none: neither beside the package nor in the user's home.

That is a temporary folder of this process, which its children share. It has a name that nobody can
foresee and is open to its user alone, since machine code is run without being looked at.
"""

import atexit
import logging
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

from numba.core import config

_logger = logging.getLogger(__name__)


@cache
def use_private_cache() -> Path:
    """Have numba keep machine code in a temporary folder that goes with this process; return the folder."""
    folder = tempfile.mkdtemp(prefix="olscale-machine-code-")
    atexit.register(_remove, folder, os.getpid())
    config.CACHE_DIR = folder
    os.environ["NUMBA_CACHE_DIR"] = folder
    return Path(folder)


@cache
def say_it_is_private() -> None:
    """Say where machine code is kept, once, where that is a folder of this process."""
    if use_private_cache.cache_info().currsize:
        _logger.warning(
            "machine code is made anew by each command: neither the package nor the home folder "
            "can be written to; "
            "name a folder that can in NUMBA_CACHE_DIR"
        )


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
