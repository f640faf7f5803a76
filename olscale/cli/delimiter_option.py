"""The values of ``--delimiter``, for the commands that read tables."""

import click

from olscale.errors import ParameterError


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
