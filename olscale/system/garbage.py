"""Fewer garbage collections while many objects are made that stay or that form cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 50_000
_TIMES = 100
"""Objects made before the young ones are looked at, and how often those before all objects are."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Collect garbage less often than by default.

    Default collections take a quarter of the time of a large report.

    Examples
    --------
    >>> before = gc.get_threshold()
    >>> with seldom_collected():
    ...     assert gc.get_threshold() != before
    >>> gc.get_threshold() == before
    True
    """
    before = gc.get_threshold()
    # Collecting is not switched off: objects of figures form cycles, and would fill the memory.
    gc.set_threshold(_OBJECTS, 20, _TIMES)
    try:
        yield
    finally:
        gc.set_threshold(*before)
