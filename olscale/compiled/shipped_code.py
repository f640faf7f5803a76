"""Machine code that ships with the package, so that a first use compiles nothing.

It is made for a level of x86-64 (a set of instructions that most processors have) rather than for
one processor, and lies in ``olscale/machine_code/LEVEL`` in the files of numba's cache. It is only
read. A wheel built by ``make wheel-with-machine-code`` contains it; without it, loops are compiled
at first use.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from olscale.compiled.checked_code import CheckedCodeFile
from olscale.system.source_digest import STAMPED, package_digest

PACKAGE = Path(__file__).parents[1]

FOLDER = PACKAGE / "machine_code"

LEVEL = "x86-64-v3"
"""The level of x86 servers since Haswell and Zen; the next lower makes LOL ten times slower."""

STAMP_FILE = "sources.txt"
"""Name of the file, in the folder of a level, with the digest of the sources."""

_INSTRUCTIONS = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")

_HARMLESS = {
    "NUMBA_CACHE_DIR",
    "NUMBA_NUM_THREADS",
    "NUMBA_DEBUG_CACHE",
    "NUMBA_CACHE_LOCATOR_CLASSES",
}
"""Variables of numba that do not affect its machine code."""


def is_usable(environment: Mapping[str, str], instructions: Mapping[str, bool]) -> bool:
    """Return whether a process with this environment and these instructions runs shipped code.

    Examples
    --------
    >>> is_usable({"NUMBA_OPT": "0"}, dict.fromkeys(_INSTRUCTIONS, True))
    False
    """
    if environment.get("OLSCALE_MACHINE_CODE") == "0":
        return False
    if any(name.startswith("NUMBA_") and name not in _HARMLESS for name in environment):
        return False
    return all(instructions.get(name, False) for name in _INSTRUCTIONS)


@cache
def shipped_folder() -> Path | None:
    """Return the folder of the shipped code for this process, None if these sources have none."""
    folder = FOLDER / LEVEL
    stamp = folder / STAMP_FILE
    if not stamp.is_file() or stamp.read_text() != package_digest(*STAMPED):
        return None
    return folder if is_usable(os.environ, llvm.get_host_cpu_features()) else None


def shipped_file(
    function: Callable[..., Any], name: str, version: str, stamp: str
) -> CheckedCodeFile | None:
    """Return the shipped cache of a function of this package, None if there is none."""
    folder = shipped_folder()
    if folder is None:
        return None
    place = Path(inspect.getfile(function)).parent.relative_to(PACKAGE)
    file = CheckedCodeFile(str(folder / place), name, stamp)
    file._version = version
    return file


def shipped_key(key: Any) -> Any:
    """Return numba's key of machine code for the level: without the name of a processor."""
    signature, (triple, _, _), hashes = key
    return signature, (triple, LEVEL, ""), hashes
