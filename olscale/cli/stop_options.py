"""The options that say when an evaluation stops by itself: whoever gives it a time, such as a batch system, sets them."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from math import inf, isnan
from typing import Any

import click

from olscale.system.sizes import parse_duration


class _Of(click.ParamType):
    """What a function makes of text, or says is wrong with it."""

    def __init__(self, name: str, parse: Callable[[str], float]) -> None:
        self.name, self._parse = name, parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return self._parse(value)
        except ValueError as fault:
            self.fail(f"{value!r}: {fault}", param, ctx)


def parse_moment(text: str) -> float:
    """Return the seconds since 1970 of a moment, which are given, or an ISO 8601 date and time.

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
        type=_Of("duration", parse_duration),
        metavar="DURATION",
        help="Save what goes on after 90m, 4h ... and exit with 75: the same command goes on with it.",
    ),
    click.option(
        "--stop-at",
        type=_Of("time", parse_moment),
        envvar="OLSCALE_STOP_AT",
        metavar="TIME",
        help="Likewise at 2026-01-01T06:30, or so many seconds after 1970; the earlier of both counts.",
    ),
]


def stop_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give `command` the options, which reach it as `stop_at`: seconds since 1970, infinite where nobody says."""

    @wraps(command)
    def called(**options: Any) -> None:
        after, at = options.pop("stop_after"), options.pop("stop_at")
        command(**options, stop_at=min(inf if at is None else at, inf if after is None else time.time() + after))

    for option in reversed(_OPTIONS):
        called = option(called)
    return called
