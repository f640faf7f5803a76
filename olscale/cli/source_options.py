"""Options that several commands share which read sources or write datasets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from olscale.errors import ParameterError, UnknownNameError


def _parsed(
    context: click.Context,
    option: click.Parameter,
    words: str | None,
) -> dict[str, str] | None:
    del context, option
    if words is None:
        return None
    from olscale.data.formats.arrays import parse_arrays

    try:
        return parse_arrays(words)
    except ParameterError as fault:
        raise click.BadParameter(str(fault)) from None


arrays_option = click.option(
    "--arrays",
    metavar="X=NAME,y=NAME",
    callback=_parsed,
    help="Arrays of features and labels in NPZ and MAT files; also X_test=NAME,y_test=NAME.",
)


def delimiter_option(
    context: click.Context, option: click.Parameter, word: str | None
) -> str | None:
    """Return the character that `word` names."""
    del context, option
    if word is None:
        return None
    from olscale.data.formats.dialect import delimiter_called

    try:
        return delimiter_called(word)
    except ParameterError as fault:
        raise click.BadParameter(str(fault)) from None


_OURS = ("parquet", "zarr")


def _check(
    context: click.Context, option: click.Parameter, name: str | None
) -> str | None:
    del context, option
    # Another package's, or none: looking it up imports what help should not wait for.
    if name is not None and name not in _OURS:
        from olscale.data.layouts import LAYOUTS

        try:
            LAYOUTS.check(name)
        except UnknownNameError as fault:
            raise click.BadParameter(str(fault)) from None
    return name


layout_option = click.option(
    "--layout",
    metavar=f"[{'|'.join(_OURS)}]",
    callback=_check,
    help="Layout of chunks (default: zarr for dense, parquet for sparse rows).",
)


_Command = TypeVar("_Command", bound=Callable[..., Any])


def cell_options(command: _Command) -> _Command:
    """Add ``--quoting``, ``--escape`` and ``--missing`` to a command."""
    options = (
        click.option(
            "--quoting",
            type=click.Choice(["none"]),
            metavar="none",
            help="Take quotes in CSV and TSV as text (default: double quotes may enclose a cell).",
        ),
        click.option(
            "--escape",
            type=click.Choice(["backslash"]),
            metavar="backslash",
            help="Let a backslash in CSV and TSV escape the next character.",
        ),
        click.option(
            "--missing",
            multiple=True,
            metavar="WORD[,WORD]",
            callback=_missing_words,
            help="More words of CSV and TSV that mean a missing value, besides NA, ? and the like; "
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
