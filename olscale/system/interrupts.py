"""What other people's code raises: as one line of text, and told apart from the user's Ctrl-C.

A learner may raise anything: `SystemExit`, a `KeyboardInterrupt` of its own, an exception whose
message cannot be made.
"""

import signal
import threading

from olscale.errors import one_line


class UserInterrupt(KeyboardInterrupt):
    """Ctrl-C of the user, as the handlers of an evaluation raise it; no learner does."""


def text_of(error: BaseException) -> str:
    r"""Return type and message of an exception on one line, whatever its message is made of.

    Examples
    --------
    >>> text_of(ValueError("two\nlines"))
    'ValueError: two lines'
    """
    try:
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
    if _is_interrupt(error):
        raise error if isinstance(error, KeyboardInterrupt) else UserInterrupt from None


def _is_interrupt(error: BaseException) -> bool:
    """Return whether the user's Ctrl-C caused an exception, however deeply it is buried."""
    # Where nobody handles signals but Python itself, its KeyboardInterrupt looks like anybody's.
    main = threading.current_thread() is threading.main_thread()
    by_python = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    kinds = KeyboardInterrupt if by_python else UserInterrupt
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, kinds):
            return True
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
    return False
