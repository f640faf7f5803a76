"""Options of the commands that run experiments: where, and until when."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
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

    def convert(
        context: click.Context, option: click.Parameter, text: str | None
    ) -> float:
        try:
            if text is None:
                return inf
            return parse(text)
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
    # Batch systems give seconds since 1970, people a date.
    for parse in (float, lambda words: datetime.fromisoformat(words).timestamp()):
        try:
            moment = parse(text)
        except (ValueError, OverflowError):
            continue
        if not isnan(moment):  # which Python reads from "nan"
            return moment
    raise ValueError("expected a time such as 2026-01-01T06:30, or seconds since 1970")


_STOP_OPTIONS = [
    click.option(
        "--stop-after",
        callback=_by(parse_duration),
        metavar="DURATION",
        help="Save running work after 90m, 4h ... and exit with 75; the same command resumes it.",
    ),
    click.option(
        "--stop-at",
        callback=_by(parse_moment),
        envvar="OLSCALE_STOP_AT",
        metavar="TIME",
        help="The same at 2026-01-01T06:30, or at so many seconds since 1970; the earlier one "
        "counts.",
    ),
]


def stop_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to `command`, passed as `stop_at`: seconds since 1970, infinite if unset."""

    @wraps(command)
    def called(**options: Any) -> None:
        # Of the wall clock, in which batch systems say when they will end a job.
        stop_at = min(options.pop("stop_at"), time.time() + options.pop("stop_after"))
        command(**options, stop_at=stop_at)

    # Decorators apply from the last to the first, and help lists options in the order
    # of the lines.
    for option in reversed(_STOP_OPTIONS):
        called = option(called)
    return called


def _seconds_option(name: str, text: str) -> Callable[[Any], Any]:
    # A scheduler's unit files set these once for all of its jobs.
    variable = "OLSCALE_" + name.replace("-", "_").upper()
    return click.option(
        f"--{name}",
        type=click.FloatRange(min=0),
        envvar=variable,
        metavar="SECONDS",
        help=text,
    )


_OPTIONS = [
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        metavar="N",
        help="Worker processes of a local cluster (default: one per core; none for plans shorter "
        "than their start); with --scheduler, the number of worker threads to expect (default: "
        "those present).",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Address of a running Dask scheduler, e.g. tcp://host:8786.",
    ),
    click.option(
        "--tls",
        metavar="DIR",
        help="Encrypt Dask's connections with DIR/cert.pem and DIR/key.pem, created if DIR is "
        "missing.",
    ),
    click.option(
        "--dashboard",
        metavar="HOST:PORT",
        help="Address at which a local cluster serves Dask's dashboard (default: none).",
    ),
    click.option(
        "--in-process", is_flag=True, help="Run in this process, without Dask."
    ),
]

_WAITS = [
    _seconds_option(
        "wait-workers",
        "How long to wait for --scheduler to answer, and for a compatible worker (default: 10, "
        "180).",
    ),
    _seconds_option(
        "stop-seconds",
        "How long workers may take to save running work once asked to stop (default: 30).",
    ),
]


def wait_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to `command`, passed as `settings`: those of supervision."""

    @wraps(command)
    def called(
        wait_workers: float | None, stop_seconds: float | None, **options: Any
    ) -> None:
        from olscale.execution.settings import SETTINGS

        seconds: dict[str, Any] = {}
        if stop_seconds is not None:
            seconds = {"stop_seconds": stop_seconds}
        if wait_workers is not None:
            # A scheduler that is starting may answer late even if no wait for workers is wanted.
            seconds |= {
                "no_worker_seconds": wait_workers,
                "connect_seconds": max(wait_workers, SETTINGS.connect_seconds),
            }
        command(**options, settings=replace(SETTINGS, **seconds))

    for option in reversed(_WAITS):
        called = option(called)
    return called


def cluster_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to `command`, passed as dict `cluster`: keywords of `olscale.evaluate`."""

    @stop_options
    @wait_options
    @wraps(command)
    def called(stop_at: float, settings: Any, **options: Any) -> None:
        from olscale.execution.shutdown import Stop

        if options["workers"] is not None and options["scheduler"] is None:
            from olscale.execution.worker_template import begin

            # Workers fork from a template process, which imports in parallel with this one.
            begin()
        names = ("workers", "scheduler", "tls", "dashboard", "in_process")
        cluster = {name: options.pop(name) for name in names}
        in_process = cluster["in_process"]
        clusters = [
            option for option in ("workers", "scheduler") if cluster[option] is not None
        ]
        if in_process and clusters:
            raise click.UsageError(
                f"--in-process and --{clusters[0]} exclude each other"
            )
        if cluster["dashboard"] is not None and (
            in_process or cluster["scheduler"] is not None
        ):
            raise click.UsageError(
                "--dashboard needs a local cluster: it cannot be combined with --scheduler or "
                "--in-process"
            )
        if cluster["tls"] is not None and in_process:
            raise click.UsageError(
                "--tls encrypts Dask's connections, and --in-process has none"
            )
        command(
            **options,
            cluster=cluster | {"stop": Stop(stop_at), "settings": settings},
        )

    for option in reversed(_OPTIONS):
        called = option(called)
    return called
