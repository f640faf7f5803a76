"""A folder for machine code where numba has none: neither in the package nor in the user's home.

It is a temporary folder of this process, which its children share. Its name cannot be predicted and
only its user can open it, since machine code is run without inspection.
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
    """Make numba keep machine code in a temporary folder of this process; return the folder."""
    folder = tempfile.mkdtemp(prefix="olscale-machine-code-")
    atexit.register(_remove, folder, os.getpid())
    config.CACHE_DIR = folder
    os.environ["NUMBA_CACHE_DIR"] = folder
    return Path(folder)


@cache
def say_it_is_private() -> None:
    """Report the folder of the machine code, once, if it is private to this process."""
    if use_private_cache.cache_info().currsize:
        _logger.warning(
            "machine code is made anew by each command: neither the package nor the home folder "
            "can be written to; "
            "name a folder that can in NUMBA_CACHE_DIR"
        )


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
