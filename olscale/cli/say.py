"""Printing for commands: a terminal receives only visible characters, whatever the text."""

import sys

import click

from olscale.printable import printable


def say(message: str = "", err: bool = False) -> None:
    """Print a message as one line."""
    click.echo(_encodable(printable(message), err), err=err)


# `printable` makes one line of a text, so lines that are meant go through it one by
# one.
def show(text: str) -> None:
    """Print lines with a layout of their own unchanged, except for escaped control characters."""
    click.echo(_encodable("\n".join(map(printable, text.split("\n"))), False), nl=False)


def can_show_blocks() -> bool:
    """Return whether the output has the characters of sparklines; in the C locale it has not."""
    try:
        "\u2581".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _encodable(text: str, err: bool) -> str:
    """Return text with escapes for what the stream's encoding lacks."""
    # In the C locale even the name of a dataset may end a command with a UnicodeEncodeError.
    stream = sys.stdout
    if err:
        stream = sys.stderr
    encoding = stream.encoding or "ascii"
    return text.encode(encoding, "backslashreplace").decode(encoding)
