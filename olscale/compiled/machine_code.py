"""The time that machine code takes in this process: to be made, or to be loaded from the cache. It is nobody's reading."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import perf_counter

_spent, _start, _depth = 0.0, 0.0, 0
_thread = threading.local()


def machine_code_seconds() -> float:
    """Return the seconds so far."""
    return _spent


def begin_machine_code() -> None:
    """Count from now; within another one, as where a loop is compiled that another one calls, nothing is counted twice."""
    global _start, _depth
    if not _depth:
        _start = perf_counter()
    _depth += 1


def end_machine_code() -> None:
    """Count until now."""
    global _spent, _depth
    _depth -= 1
    if not _depth:
        _spent += perf_counter() - _start


@contextmanager
def heard_when_made(hear: Callable[[], object]) -> Iterator[None]:
    """Call `hear` whenever this thread begins to make machine code within the block; it must call no compiled loop."""
    before = getattr(_thread, "hear", None)
    _thread.hear = hear
    try:
        yield
    finally:
        _thread.hear = before


def tell_it_is_made() -> None:
    """Say that machine code is about to be made, which takes seconds, and is not only loaded."""
    if (hear := getattr(_thread, "hear", None)) is not None:
        with suppress(
            Exception
        ):  # what is compiled is a learner's, and no fault of who hears of it may end its run
            hear()
