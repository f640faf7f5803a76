"""The option ``--layout`` of the commands that write a dataset."""

import click

from olscale.errors import UnknownNameError

_OURS = ("parquet", "zarr")


def _check(context: click.Context, option: click.Parameter, name: str | None) -> str | None:
    del context, option
    if (
        name is not None and name not in _OURS
    ):  # another package's, or none; looking it up takes a while
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
    help="Default: zarr for dense, parquet for sparse rows.",
)
