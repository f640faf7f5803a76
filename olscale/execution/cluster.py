"""Connecting to Dask: a local cluster of our own, or a scheduler that runs already."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from olscale.errors import ExecutionError

__all__ = ["connect", "settings"]

CONNECT_SECONDS = 10


def settings() -> dict[str, Any]:
    """Return the Dask settings that olscale ships (``olscale/execution/dask.yaml``)."""
    import yaml

    content: dict[str, Any] = yaml.safe_load(files("olscale.execution").joinpath("dask.yaml").read_text())
    return content


@asynccontextmanager
async def connect(workers: int | None = None, scheduler: str | None = None) -> AsyncIterator[Any]:
    """Yield an asynchronous Dask client.

    Parameters
    ----------
    workers : int, optional
        Worker processes of a local cluster, one thread each; as many as there are cores when left out.
    scheduler : str, optional
        Address of a running scheduler, in place of a local cluster.

    Raises
    ------
    ExecutionError
        If the scheduler does not answer within ten seconds.
    """
    import dask
    from distributed import Client, LocalCluster

    # `config.update` merges; `config.set` would replace whole subtrees of Dask's own defaults.
    dask.config.update(dask.config.config, settings())
    if scheduler is not None:
        try:
            client = await Client(scheduler, asynchronous=True, timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise ExecutionError(
                f"scheduler {scheduler} does not answer within {CONNECT_SECONDS} s ({reason}); check the address and "
                f"that `dask scheduler` runs there"
            ) from None
        try:
            yield client
        finally:
            await client.close()
        return
    has_dashboard = importlib.util.find_spec("bokeh") is not None
    async with (
        LocalCluster(
            n_workers=workers or os.cpu_count() or 1,
            threads_per_worker=1,
            processes=True,
            asynchronous=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0" if has_dashboard else None,
            memory_limit=0.95 / (workers or os.cpu_count() or 1),
        ) as cluster,
        Client(cluster, asynchronous=True) as client,
    ):
        yield client
