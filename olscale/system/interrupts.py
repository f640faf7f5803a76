"""Errors of users' code, as one line of text and distinct from the user's Ctrl-C.

A learner may raise anything: `SystemExit`, a `KeyboardInterrupt` of its own, an exception whose
message cannot be made.
"""

import signal
import threading

from olscale.errors import one_line


class UserInterrupt(KeyboardInterrupt):
    """Ctrl-C of the user, as the handlers of an evaluation raise it; no learner does."""


def text_of(error: BaseException) -> str:
    r"""Return type and message of an exception on one line, whatever its message contains.

    Examples
    --------
    >>> text_of(ValueError("two\nlines"))
    'ValueError: two lines'
    """
    try:
        # `str` may return an instance of a subclass, whose methods are the user's code too.
        message = str.__str__(str(error))
    except BaseException as fault:
        let_interrupt_out(fault)
        message = "its message cannot be shown"
    return one_line(f"{type(error).__name__}: {message}")


def let_interrupt_out(error: BaseException) -> None:
    """Raise the user's Ctrl-C if it caused the exception caught; otherwise do nothing.

    Raises
    ------
    KeyboardInterrupt
        If the user has interrupted.
    """
    interrupt = _interrupt_in(error)
    if interrupt is None:
        return
    # A buried one of Python's own may be a learner's to others, who only know this kind.
    if interrupt is not error and not isinstance(interrupt, UserInterrupt):
        interrupt = UserInterrupt()
    raise interrupt from None


def _interrupt_in(error: BaseException) -> KeyboardInterrupt | None:
    """Return the user's Ctrl-C that caused an exception, however deeply it is buried.

    Its kind says who asked: SIGTERM stops a night, which is then called again.
    """
    # If only Python handles signals, its KeyboardInterrupt looks like any other.
    main = threading.current_thread() is threading.main_thread()
    by_python = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    kinds: type[KeyboardInterrupt] = UserInterrupt
    if by_python:
        kinds = KeyboardInterrupt
    # A learner that catches it and raises its own error would otherwise hide the interrupt.
    waiting: list[BaseException | None] = [error]
    visited: set[int] = set()
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in visited:
            continue
        visited.add(id(current))
        if isinstance(current, kinds):
            return current
        waiting += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
    return None
