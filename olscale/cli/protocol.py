"""The options of ``olscale evaluate`` that make up a protocol, each with the name of its key in ``[protocol]``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

__all__ = ["protocol_options"]

_KEYS = (
    "order",
    "permutations",
    "projections",
    "split",
    "folds",
    "window",
    "fading",
    "delay",
    "holdout_every",
    "holdout_rows",
    "drift",
)
_SPLITS = ("given", "kfold", "stratified", "half", "prequential-kfold", "prequential-split", "prequential-bootstrap")
_COUNT = click.IntRange(min=1)


class _Delay(click.ParamType):  # type: ignore[type-arg]
    name = "N|COLUMN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        number = str(value).removeprefix("-").isdecimal()
        return click.IntRange(min=0).convert(value, param, ctx) if number else str(value)


_OPTIONS = (
    click.option("--order", type=click.Choice(["time", "permuted"]), help="Order of the rows (default: permuted)."),
    click.option("--permutations", type=_COUNT, metavar="N", help="Number of permutations (default: 10)."),
    click.option(
        "--projections",
        type=_COUNT,
        metavar="N",
        help="Number of random projections, in time order (default: 1); permutation i has projection i.",
    ),
    click.option("--split", type=click.Choice(_SPLITS), help="What is tested on (default: given, the test split)."),
    click.option("--folds", type=_COUNT, metavar="K", help="Number of folds of --split (default: 10)."),
    click.option("--window", type=_COUNT, metavar="N", help="Also the error over the last N rows."),
    click.option(
        "--fading",
        type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
        metavar="ALPHA",
        help="Also the error with this fading factor, e.g. 0.999.",
    ),
    click.option(
        "--delay",
        type=_Delay(),
        metavar="N|COLUMN",
        help="Labels arrive N rows after the prediction, or as a column says.",
    ),
    click.option("--holdout-every", type=_COUNT, metavar="N", help="Also the error on the test split every N rows."),
    click.option("--holdout-rows", type=_COUNT, metavar="M", help="... on the next M rows, not learned from, instead."),
    click.option(
        "--drift", type=click.Choice(["adwin", "ddm", "page-hinkley"]), help="Also the alarms of a drift detector."
    ),
)


def protocol_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give `command` the options, which reach it as one dict `protocol` by key; those not given are None."""

    @wraps(command)
    def called(**options: Any) -> None:
        protocol = {name: options.pop(name) for name in _KEYS}
        command(**options, protocol=protocol)

    for option in reversed(_OPTIONS):
        called = option(called)
    return called
