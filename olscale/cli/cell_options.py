"""How the cells of CSV and TSV are written, as options of the commands that read tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])


def cell_options(command: _Command) -> _Command:
    """Add ``--quoting``, ``--escape`` and ``--missing`` to a command."""
    options = (
        click.option(
            "--quoting",
            type=click.Choice(["none"]),
            metavar="none",
            help="Quotes in CSV and TSV are part of the text; else a cell may stand between "
            "double ones.",
        ),
        click.option(
            "--escape",
            type=click.Choice(["backslash"]),
            metavar="backslash",
            help="A backslash in CSV and TSV takes the meaning of the next character.",
        ),
        click.option(
            "--missing",
            multiple=True,
            metavar="WORD[,WORD]",
            callback=_missing_words,
            help="More cells of CSV and TSV that have no value, beside NA, ? and the like; "
            "repeatable.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _missing_words(
    context: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the values that the user's words stand for."""
    del context, option
    if not texts:
        return ()
    from olscale.data.formats.cell_form import missing_words
    from olscale.errors import ParameterError

    try:
        return missing_words(texts)
    except ParameterError as fault:
        raise click.BadParameter(str(fault)) from None
