"""When a command's garbage is collected: not while it imports, and not at its end.

A collection inspects every object, and imported ones stay until the end: of a command that
evaluates one tiny run, inspecting them took a quarter of the time.
"""

import atexit
import gc
import sys

_OBJECTS = 200_000
"""More objects than the largest command imports; with more than these, garbage is collected."""

_COUNTED = ("duckdb", "jaxlib")
"""Packages that report objects not freed at the end as leaks."""

_usual: tuple[int, int, int] | None = None


def put_off() -> None:
    """Begin a command: collect nothing until `collect_as_usual`, and free nothing at its end."""
    global _usual
    if _usual is None:
        atexit.register(_end)
        _usual = gc.get_threshold()
        gc.set_threshold(_OBJECTS, *_usual[1:])


def collect_as_usual() -> None:
    """End the imports of a long command; objects present by now are no longer inspected."""
    global _usual
    if _usual is not None:
        gc.freeze()
        gc.set_threshold(*_usual)
        _usual = None


def _end() -> None:
    """Leave all memory to the system, which frees it at once, unless a package counts leaks."""
    if sys.modules.keys().isdisjoint(_COUNTED):
        gc.freeze()
    else:
        gc.unfreeze()
