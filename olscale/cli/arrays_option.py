"""The option ``--arrays`` of the commands that read files of arrays."""

import click

from olscale.errors import ParameterError


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
    help="Arrays of NPZ and MAT files that are features and labels; also X_test=NAME,y_test=NAME.",
)
