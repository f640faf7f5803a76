"""Options of commands that read rows for a model: how the source is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from olscale.cli.source_options import arrays_option, cell_options, delimiter_option

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
    """How the user says a source is read.

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

        options = dict(self.given)
        base = options.pop("index_base")
        label = column_of(options.pop("label"))
        zero_based = None
        if base is not None:
            zero_based = base == "0"
        return ReadOptions(label=label, zero_based=zero_based, **options)


def source_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to `command`, which receives them as `reading`."""

    @wraps(command)
    def called(**options: Any) -> None:
        format = options.pop("format")
        reading_options = {name: options.pop(name) for name in _GIVEN}
        command(**options, reading=Reading(format, reading_options))

    for decorate in reversed(_OPTIONS):
        called = decorate(called)
    return called


_OPTIONS = (
    click.option(
        "--format", metavar="FORMAT", help="Format of the source (default: guessed)."
    ),
    click.option(
        "--label",
        metavar="COLUMN",
        help="Label column of a table (default: that of the model's dataset).",
    ),
    click.option(
        "--drop",
        metavar="COLUMN[,COLUMN]",
        multiple=True,
        help="Columns to leave out; repeatable.",
    ),
    click.option(
        "--decimal",
        metavar="MARK",
        type=click.Choice([".", ","]),
        help="Decimal mark of numbers in CSV and TSV.",
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
        help="Delimiter of cells in CSV and TSV.",
    ),
    click.option(
        "--index-base",
        type=click.Choice(["0", "1"]),
        help="First index of SVMlight text (default: that of the model's dataset).",
    ),
    arrays_option,
    cell_options,
)

allow_pickle_option = click.option(
    "--allow-pickle",
    is_flag=True,
    help="Allow pickles of external estimators. A pickle can run any code when it is read.",
)
