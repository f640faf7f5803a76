"""The options for where runs run and for how long; every command that runs something has them."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import click

from olscale.cli.stop_options import stop_options


def _seconds_option(name: str, text: str) -> Callable[[Any], Any]:
    variable = "OLSCALE_" + name.replace("-", "_").upper()
    return click.option(
        f"--{name}", type=click.FloatRange(min=0), envvar=variable, metavar="SECONDS", help=text
    )


_OPTIONS = [
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        metavar="N",
        help="Worker processes of a local cluster (default: cores; none for a plan shorter than "
        "their start); with "
        "--scheduler, how many threads to expect of its workers (default: those there are).",
    ),
    click.option(
        "--scheduler", metavar="ADDRESS", help="A running Dask scheduler, e.g. tcp://host:8786."
    ),
    click.option(
        "--tls",
        metavar="DIR",
        help="Encrypt Dask's connections under DIR/cert.pem and DIR/key.pem, made if DIR is "
        "missing.",
    ),
    click.option(
        "--dashboard",
        metavar="HOST:PORT",
        help="Where a local cluster shows Dask's dashboard (default: nowhere).",
    ),
    click.option("--in-process", is_flag=True, help="Run here, without Dask."),
    _seconds_option(
        "wait-workers",
        "How long --scheduler may take to answer, and be without a worker that fits (default: 10, "
        "180).",
    ),
    _seconds_option(
        "stop-seconds",
        "How long workers may take to save what goes on, once asked to stop (default: 30).",
    ),
]


def cluster_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to `command`, passed as dict `cluster`: keywords of `olscale.evaluate`."""

    @stop_options
    @wraps(command)
    def called(stop_at: float, **options: Any) -> None:
        from olscale.execution.settings import SETTINGS
        from olscale.execution.shutdown import Stop

        if options["workers"] is not None and options["scheduler"] is None:
            from olscale.execution.worker_template import begin

            begin()  # in parallel with the imports below
        names = ("workers", "scheduler", "tls", "dashboard", "in_process")
        cluster = {name: options.pop(name) for name in names}
        in_process = cluster["in_process"]
        clusters = [option for option in ("workers", "scheduler") if cluster[option] is not None]
        if in_process and clusters:
            raise click.UsageError(f"--in-process and --{clusters[0]} exclude each other")
        if cluster["dashboard"] is not None and (in_process or cluster["scheduler"] is not None):
            raise click.UsageError(
                "--dashboard is for a local cluster: it cannot be given with --scheduler or "
                "--in-process"
            )
        if cluster["tls"] is not None and in_process:
            raise click.UsageError(
                "--tls encrypts Dask's connections; there are none with --in-process"
            )
        wait = options.pop("wait_workers")
        stop_seconds = options.pop("stop_seconds")
        seconds = {} if stop_seconds is None else {"stop_seconds": stop_seconds}
        if wait is not None:
            seconds |= {
                "no_worker_seconds": wait,
                "connect_seconds": max(wait, SETTINGS.connect_seconds),
            }
        command(
            **options,
            cluster=cluster | {"stop": Stop(stop_at), "settings": replace(SETTINGS, **seconds)},
        )

    for option in reversed(_OPTIONS):
        called = option(called)
    return called
