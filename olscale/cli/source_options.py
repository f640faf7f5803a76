"""Options of commands that read rows for a model: how the source is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from olscale.cli.arrays_option import arrays_option
from olscale.cli.cell_options import cell_options
from olscale.cli.delimiter_option import delimiter_option

if TYPE_CHECKING:
    from olscale.data.formats.base import ReadOptions

_GIVEN = (
    "label",
    "drop",
    "decimal",
    "header",
    "delimiter",
    "arrays",
    "quoting",
    "escape",
    "missing",
    "index_base",
)


@dataclass(frozen=True)
class Reading:
    """How a source is read, as the user says.

    Parameters
    ----------
    format : str, optional
    given : dict
        Values of the options, by name.
    """

    format: str | None
    given: dict[str, Any]

    def options(self) -> ReadOptions:
        """Return the options of formats."""
        from olscale.cli.ingest import column_of
        from olscale.data.formats.base import ReadOptions

        given = dict(self.given)
        base = given.pop("index_base")
        label = column_of(given.pop("label"))
        zero_based = None if base is None else base == "0"
        return ReadOptions(label=label, zero_based=zero_based, **given)


def source_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to `command`, which gets them as `reading`."""

    @wraps(command)
    def called(**options: Any) -> None:
        format = options.pop("format")
        given = {name: options.pop(name) for name in _GIVEN}
        command(**options, reading=Reading(format, given))

    for decorate in reversed(_OPTIONS):
        called = decorate(called)
    return called


_OPTIONS = (
    click.option("--format", metavar="FORMAT", help="Format of the source; guessed when left out."),
    click.option(
        "--label",
        metavar="COLUMN",
        help="Column of the labels in tables; that of the model's dataset by default.",
    ),
    click.option(
        "--drop", metavar="COLUMN[,COLUMN]", multiple=True, help="Columns to leave out; repeatable."
    ),
    click.option(
        "--decimal",
        metavar="MARK",
        type=click.Choice([".", ","]),
        help="Mark within numbers in CSV and TSV.",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first row of CSV and TSV names the columns.",
    ),
    click.option(
        "--delimiter",
        metavar="CHAR",
        callback=delimiter_option,
        help="What is between cells in CSV and TSV.",
    ),
    click.option(
        "--index-base",
        type=click.Choice(["0", "1"]),
        help="First index of SVMlight text; as the model's dataset has it by default.",
    ),
    arrays_option,
    cell_options,
)

allow_pickle_option = click.option(
    "--allow-pickle",
    is_flag=True,
    help="Estimators from elsewhere may be pickles, which run code where they are read: of files "
    "that you trust.",
)
