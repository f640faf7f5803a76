"""Connecting to Dask: a local cluster of our own, or a scheduler that runs already."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import Any

import dask
from distributed import Client, LocalCluster, nanny
from distributed.process import AsyncProcess

from olscale.data.ranges import Parsers
from olscale.errors import ExecutionError
from olscale.execution.agreement import settings
from olscale.execution.tls import security
from olscale.execution.where import Where

__all__ = ["connect"]

CONNECT_SECONDS = 10
DASHBOARD = "127.0.0.1:0"


class Deaf(AsyncProcess):
    """A worker process that Ctrl-C does not reach: the driver ends its workers, they do not end with tracebacks."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The thread made here starts the process; both inherit the mask of this one.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@cache
def _configure() -> None:
    """Make our settings Dask's defaults; what the user has set in files or ``DASK_...`` variables still wins."""
    dask.config.update_defaults(settings())
    nanny.AsyncProcess = Deaf  # type: ignore[attr-defined]


@asynccontextmanager
async def connect(where: Where) -> AsyncIterator[Any]:
    """Yield an asynchronous Dask client.

    Raises
    ------
    ExecutionError
        If the scheduler does not answer within ten seconds, or if there is no certificate to encrypt under.
    """
    _configure()
    secured = security(where.tls) if where.tls is not None else None
    if where.scheduler is not None:
        _check_encryption(where.scheduler, where.tls)
        client = Client(where.scheduler, asynchronous=True, timeout=CONNECT_SECONDS, security=secured)
        try:
            await _answered(client, where.scheduler)
            yield client
        finally:
            with contextlib.suppress(Exception):
                await client.close()
        return
    # A worker that is ended in the middle of a run leaves semaphores to multiprocessing's resource tracker. It cleans them
    # up, as it should, and would print a warning about it after the last line of every interrupted evaluation.
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")
    has_dashboard = importlib.util.find_spec("bokeh") is not None
    workers = where.workers or os.cpu_count() or 1
    async with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            asynchronous=True,
            host="127.0.0.1",
            protocol="tcp://" if secured is None else "tls://",
            security=secured,
            dashboard_address=(where.dashboard or DASHBOARD) if has_dashboard else None,
            silence_logs=logging.WARNING if os.environ.get("OLSCALE_DEBUG") else logging.CRITICAL + 1,
            memory_limit=0.95 / workers,
        ) as cluster,
        Client(cluster, asynchronous=True) as client,
    ):
        try:
            yield client
        except BaseException:
            # Nobody waits for what the workers are still at: by default they would get four seconds to finish it.
            await asyncio.gather(
                *(worker.close(timeout=0.5) for worker in cluster.workers.values()), return_exceptions=True
            )
            raise


def _check_encryption(scheduler: str, tls: str | None) -> None:
    """Say what Dask says of it in words that few understand."""
    encrypted = scheduler.startswith("tls://")
    if encrypted and tls is None and not dask.config.get("distributed.comm.tls.ca-file"):
        raise ExecutionError(f"scheduler {scheduler} wants encryption; give the folder of its certificate with --tls")
    if tls is not None and not encrypted:
        raise ExecutionError(
            f"scheduler {scheduler} does not encrypt, but --tls {tls} was given; start it with that certificate "
            "(cluster/README.md), or leave --tls out"
        )


@contextmanager
def parsers(workers: int) -> Iterator[Parsers]:
    """Yield so many processes of a local cluster that parse text for `olscale.data.ingest.ingest`."""
    _configure()
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=DASHBOARD,
            silence_logs=logging.WARNING if os.environ.get("OLSCALE_DEBUG") else logging.CRITICAL + 1,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield Parsers(client.get_executor(pure=False), workers)


async def _answered(client: Any, scheduler: str) -> None:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await client
    except Exception as error:  # what listens there may be no scheduler at all and answer anything
        late = isinstance(error, TimeoutError)
        what = (
            f"within {CONNECT_SECONDS} s" if late else f"({str(error).partition(chr(10))[0] or type(error).__name__})"
        )
        raise ExecutionError(
            f"scheduler {scheduler} does not answer {what}; check the address and that `dask scheduler` runs there"
        ) from None
