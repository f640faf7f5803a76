"""A folder for machine code where numba has none: neither in the package nor in the user's home.

It is a temporary folder of this process, which its children share. Its name cannot be predicted and
only its user can open it, since machine code is run without inspection.
"""

import atexit
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_logger = logging.getLogger(__name__)

_VARIABLE = "NUMBA_CACHE_DIR"

_PRIVATE = "OLSCALE_PRIVATE_CODE"
"""Variable with the folder, by which children know that it is a private one."""

_SAID = "said"
"""File in the folder, made by the one process that reports it."""


@cache
def use_private_cache() -> Path:
    """Make numba keep machine code in a temporary folder of this process; return the folder."""
    folder = tempfile.mkdtemp(prefix="olscale-machine-code-")
    atexit.register(_remove, folder, os.getpid())
    os.environ[_VARIABLE] = folder
    os.environ[_PRIVATE] = folder
    # What is not imported yet reads the variable.
    if "numba" in sys.modules:
        from numba.core import config

        config.CACHE_DIR = folder
    return Path(folder)


def share_private_cache() -> None:
    """Make the private folder before children start, if they will need one; numba stays unloaded.

    They compile once for all of them, and one of them says so.
    """
    if not any(map(_is_writable, _places())):
        use_private_cache()


def _places() -> Iterator[Path]:
    """Yield the folders that numba tries, in its order."""
    if os.environ.get(_VARIABLE):
        yield Path(os.environ[_VARIABLE])
    yield Path(__file__).parent / "__pycache__"
    homes = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    yield Path(homes).expanduser() / "numba"


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@cache
def say_it_is_private() -> None:
    """Report the folder of the machine code, once for all processes, if it is a private one."""
    folder = os.environ.get(_PRIVATE)
    if not folder or os.environ.get(_VARIABLE) != folder:
        return
    try:
        Path(folder, _SAID).open("x").close()
    except OSError:  # another process has made the file, or has removed the folder at its end
        return
    _logger.warning(
        "machine code is made anew by each command: neither the package nor the home folder "
        "can be written to; "
        "name a folder that can in NUMBA_CACHE_DIR"
    )


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
