"""The options for when an evaluation stops by itself, for example within a batch job's limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from math import inf, isnan
from typing import Any

import click

from olscale.system.sizes import parse_duration


def _by(
    parse: Callable[[str], float],
) -> Callable[[click.Context, click.Parameter, str | None], float]:
    """Return a callback that converts an option's text to seconds; no option means never."""

    def convert(context: click.Context, option: click.Parameter, text: str | None) -> float:
        try:
            return inf if text is None else parse(text)
        except ValueError as fault:
            raise click.BadParameter(f"{text!r}: {fault}") from None

    return convert


def parse_moment(text: str) -> float:
    """Return the seconds since 1970 of such seconds, or of an ISO 8601 date and time.

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> parse_moment("1767268800"), parse_moment("2026-01-01T12:00Z")
    (1767268800.0, 1767268800.0)
    """
    for parse in (float, lambda words: datetime.fromisoformat(words).timestamp()):
        try:
            moment = parse(text)
        except (ValueError, OverflowError):
            continue
        if not isnan(moment):
            return moment
    raise ValueError("expected a time such as 2026-01-01T06:30, or seconds since 1970")


_OPTIONS = [
    click.option(
        "--stop-after",
        callback=_by(parse_duration),
        metavar="DURATION",
        help="Save what goes on after 90m, 4h ... and exit with 75: the same command goes on with "
        "it.",
    ),
    click.option(
        "--stop-at",
        callback=_by(parse_moment),
        envvar="OLSCALE_STOP_AT",
        metavar="TIME",
        help="Likewise at 2026-01-01T06:30, or so many seconds after 1970; the earlier of both "
        "counts.",
    ),
]


def stop_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to `command`, passed as `stop_at`: seconds since 1970, infinite if unset."""

    @wraps(command)
    def called(**options: Any) -> None:
        stop_at = min(options.pop("stop_at"), time.time() + options.pop("stop_after"))
        command(**options, stop_at=stop_at)

    for option in reversed(_OPTIONS):
        called = option(called)
    return called
