"""The time to compile machine code in this process, or to load it from the cache.

An evaluation reports it separately from the time of reading.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import perf_counter

_spent = 0.0
_start = 0.0
_depth = 0
_thread = threading.local()


def machine_code_seconds() -> float:
    """Return the seconds so far."""
    return _spent


def begin_machine_code() -> None:
    """Start to count; nested loops that are compiled within another are not counted twice."""
    global _start, _depth
    if not _depth:
        _start = perf_counter()
    _depth += 1


def end_machine_code() -> None:
    """Stop counting."""
    global _spent, _depth
    _depth -= 1
    if not _depth:
        _spent += perf_counter() - _start


@contextmanager
def heard_when_made(hear: Callable[[], object]) -> Iterator[None]:
    """Call `hear` whenever this thread begins to compile within the block.

    `hear` must not call a compiled loop.
    """
    before = getattr(_thread, "hear", None)
    _thread.hear = hear
    try:
        yield
    finally:
        _thread.hear = before


def tell_it_is_made() -> None:
    """Announce that machine code is about to be compiled, not only loaded, which takes seconds."""
    if (hear := getattr(_thread, "hear", None)) is not None:
        # a learner is being compiled, and an error of a listener must not end its run
        with suppress(Exception):
            hear()
