"""When a command's garbage is collected: not while it imports, and not at its end.

Collecting looks at every object, and what is imported stays until the end: of a command that
evaluates one tiny run, looking at it took a quarter of the time.
"""

import atexit
import gc
import sys

_OBJECTS = 200_000
"""More than the largest command imports; from so many on, garbage is collected whatever has been called."""

_COUNTED = ("duckdb", "jaxlib")
"""Packages that count at the end what was not freed, and print it as leaks."""

_usual: tuple[int, int, int] | None = None


def put_off() -> None:
    """Begin a command: nothing is collected until `collect_as_usual`, and its end frees nothing one by one."""
    global _usual
    if _usual is None:
        atexit.register(_end)
        _usual = gc.get_threshold()
        gc.set_threshold(_OBJECTS, *_usual[1:])


def collect_as_usual() -> None:
    """End the imports of a command that may take long; what is there by now is not looked at any more."""
    global _usual
    if _usual is not None:
        gc.freeze()
        gc.set_threshold(*_usual)
        _usual = None


def _end() -> None:
    """Leave everything to the system, which takes the memory of a process at once, unless somebody counts what is left."""
    if sys.modules.keys().isdisjoint(_COUNTED):
        gc.freeze()
    else:
        gc.unfreeze()
