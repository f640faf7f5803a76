"""Standard streams that are closed, full, or read by nobody any more, and a folder that is gone."""

import os
import sys


def open_closed_streams() -> None:
    """Let standard streams that a shell has closed (``>&-``) lead to nowhere.

    Python has None in their place, and the next file that is opened would get their numbers: what
    a library writes to standard output would end up in it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115, PTH123
            setattr(sys, name, nowhere)


def why_output_fails() -> str | None:
    """Return why standard output takes no line, as that of a full disk; None where it does."""
    try:
        # Without a buffer (PYTHONUNBUFFERED) nothing is left of the write that failed.
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError as fault:
        return fault.strerror
    return None


def discard_output() -> None:
    """Drop what is still to be written: Python would complain again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def folder_is_gone() -> bool:
    """Return whether the working folder was removed, so that no relative path leads anywhere."""
    try:
        os.getcwd()  # noqa: PTH109, which says the same in fewer words
    except FileNotFoundError:
        return True
    return False
