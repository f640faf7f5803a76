"""Connections to Dask: to a new local cluster, or to a running scheduler."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster, nanny, utils
from distributed.process import AsyncProcess

from olscale.errors import ExecutionError
from olscale.execution import dask_logs, worker_template
from olscale.execution.compatibility import settings as dask_settings
from olscale.execution.dask_logs import hide_secrets, log_handlers
from olscale.execution.settings import (
    SETTINGS,
    WORKER_SHARE,
    ClusterOptions,
    ExecutionSettings,
)
from olscale.execution.tls import security
from olscale.system.interrupts import text_of

DASHBOARD = "127.0.0.1:0"
_METHOD = "distributed.worker.multiprocessing-method"


class Deaf(AsyncProcess):
    """A worker process that ignores Ctrl-C: the driver ends its workers, without tracebacks."""

    forked = False
    """Whether it is forked from the template, or imports everything itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The thread made here starts the process; both inherit this thread's mask of signals.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            # The template may have been ended for lack of memory: begin it again.
            forked = Deaf.forked and worker_template.begin()
            with (
                dask.config.set({_METHOD: "forkserver"})
                if forked
                else contextlib.nullcontext()
            ):
                super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@cache
def configure_dask() -> None:
    """Make our settings Dask's defaults; the user's files and variables take precedence."""
    dask.config.update_defaults(dask_settings())
    nanny.AsyncProcess = Deaf  # type: ignore[attr-defined]
    # Otherwise Dask would import every package whose version it can report, here and in the
    # template.
    utils._forkserver_preload_set = True


@asynccontextmanager
async def connect(
    where: ClusterOptions, settings: ExecutionSettings = SETTINGS
) -> AsyncIterator[Any]:
    """Yield an asynchronous Dask client.

    Raises
    ------
    ExecutionError
        If the scheduler does not answer within ten seconds, if there is no certificate for
        encryption, or if this process must not start workers.
    """
    configure_dask()
    secured = None
    if where.tls is not None:
        secured = security(where.tls)
    if where.scheduler is not None:
        _check_encryption(where.scheduler, where.tls)
        with _quiet():
            # Dask times out later than we do, so that one clock decides and one message is shown.
            client = Client(
                where.scheduler,
                asynchronous=True,
                timeout=2 * settings.connect_seconds,
                security=secured,
            )
            try:
                await _answered(client, where.scheduler, settings.connect_seconds)
                yield client
            finally:
                with contextlib.suppress(Exception):
                    await client.close()
        return
    worker_template.check_children()
    debugged = _quiet() if os.environ.get("OLSCALE_DEBUG") else contextlib.nullcontext()
    with _for_workers_only(), debugged:
        async with (
            _template(),
            _closed(await _started(where, secured, settings)) as cluster,
            _closed(await Client(cluster, asynchronous=True)) as client,
        ):
            try:
                yield client
            except BaseException:
                # Nothing waits for running work of the workers: by default they would get four
                # seconds to finish it.
                await asyncio.gather(
                    *(worker.close(timeout=0.5) for worker in cluster.workers.values()),
                    return_exceptions=True,
                )
                raise


@asynccontextmanager
async def _closed(server: Any) -> AsyncIterator[Any]:
    """Close a cluster or a client after the block; a timeout of this is no error.

    All work is done by then. A worker that does not end in time has been killed, and Dask does not
    wait for that if the clock runs fast.
    """
    try:
        yield server
    finally:
        with contextlib.suppress(OSError, TimeoutError):
            await server.close()


@contextmanager
def _for_workers_only() -> Iterator[None]:
    """Restore the variables that Dask sets in this process for the workers that it starts."""
    names = {
        "PYTHONHASHSEED",
        *dask.config.get("distributed.nanny.pre-spawn-environ", {}),
    }
    with worker_template.environment_kept(names), worker_template.quiet_tracker():
        yield


@asynccontextmanager
async def _template() -> AsyncIterator[None]:
    """Fork workers from the template within the block, unless the user chose otherwise."""
    environment = {
        name: str(value)
        for name, value in dask.config.get(
            "distributed.nanny.pre-spawn-environ"
        ).items()
    }
    as_shipped = (
        dask.config.get(_METHOD) == "spawn"
        and environment == worker_template.BEFORE_IMPORTS
    )
    with (
        worker_template.kept()
        if as_shipped
        else contextlib.nullcontext(False) as Deaf.forked
    ):
        try:
            yield
        finally:
            Deaf.forked = False  # other clusters of the user are left alone


async def _started(
    where: ClusterOptions, secured: Any, settings: ExecutionSettings
) -> Any:
    """Return a running local cluster; one whose workers end during the start is started again."""
    workers = where.workers or os.cpu_count() or 1
    why = ""
    debug = bool(os.environ.get("OLSCALE_DEBUG"))
    for _ in range(settings.start_attempts):
        cluster: Any = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            asynchronous=True,
            host="127.0.0.1",
            protocol="tcp://" if secured is None else "tls://",
            security=secured,
            # By default Dask would serve port 8787 of all interfaces, dashboard or not.
            dashboard_address=where.dashboard or DASHBOARD,
            # otherwise bokeh would be imported without use
            scheduler_kwargs={"dashboard": where.dashboard is not None},
            preload=[*where.modules, *([dask_logs.__name__] if debug else [])],
            silence_logs=logging.WARNING if debug else logging.CRITICAL + 1,
            memory_limit=WORKER_SHARE / workers,
            env=worker_template.worker_environment() if Deaf.forked else {},
        )
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "(?s).*Port .* is already in use")
                await cluster
            _check_dashboard(where.dashboard, cluster.scheduler)
            return cluster
        except BaseException as error:
            why = text_of(error)
            Deaf.forked = False
            with contextlib.suppress(Exception):
                async with asyncio.timeout(settings.connect_seconds):
                    await cluster.close()
            if not isinstance(error, RuntimeError | OSError | TimeoutError):
                raise
    raise ExecutionError(
        f"a local cluster of {workers} workers did not start in {settings.start_attempts} "
        f"attempts ({why}); {_unguarded()}"
        "is there enough memory for them? fewer --workers need less, and --in-process needs none"
    )


def _unguarded() -> str:
    """Return a hint if workers would run the whole script, as Python imports it in each of them."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    if (
        script is None
        or not Path(script).is_file()
        or "__name__" in Path(script).read_text(errors="replace")
    ):
        return ""
    return (
        f"workers import {Path(script).name}, which is to evaluate below `if __name__ == "
        "'__main__':`; "
    )


def _check_dashboard(place: str | None, scheduler: Any) -> None:
    """Check that the dashboard has the requested port; Dask takes another if it is in use."""
    port = (place or "").rpartition(":")[2]
    if port.isdigit() and int(port) not in (0, scheduler.http_server.port):
        raise ExecutionError(
            f"port {port} of --dashboard {place} is in use; give another, or leave --dashboard out"
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's logs of connections out of the driver's terminal: one line of ours suffices.

    In debug mode they are shown without the secrets of addresses.
    """
    asyncio_logger: list[Any] = [logging.getLogger("asyncio")]
    handlers = asyncio_logger + log_handlers()
    allowed = _nothing
    if os.environ.get("OLSCALE_DEBUG"):
        allowed = hide_secrets
    for handler in handlers:
        handler.addFilter(allowed)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(allowed)


def _nothing(record: logging.LogRecord) -> bool:
    return False


def _check_encryption(scheduler: str, tls: str | None) -> None:
    """Raise a clear error for Dask's messages about encryption."""
    encrypted = scheduler.startswith("tls://")
    if (
        encrypted
        and tls is None
        and not dask.config.get("distributed.comm.tls.ca-file")
    ):
        raise ExecutionError(
            f"scheduler {scheduler} wants encryption; give the folder of its certificate with --tls"
        )
    if tls is not None and not encrypted:
        raise ExecutionError(
            f"scheduler {scheduler} does not encrypt, but --tls {tls} was given; start it with "
            "that certificate "
            "(cluster/README.md), or leave --tls out"
        )


async def _answered(client: Any, scheduler: str, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await client
    except Exception as error:
        # the listener may not be a scheduler, and answer anything
        late = isinstance(error, TimeoutError)
        what = f"({str(error).partition(chr(10))[0] or type(error).__name__})"
        if late:
            what = f"within {seconds} s"
        raise ExecutionError(
            f"scheduler {scheduler} does not answer {what}; check the address and that `dask "
            "scheduler` runs there"
        ) from None
