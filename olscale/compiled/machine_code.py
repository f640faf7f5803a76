"""The time that machine code takes in this process: to be made, or to be loaded from the cache. It is nobody's reading."""

from time import perf_counter

_spent, _start, _depth = 0.0, 0.0, 0


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
