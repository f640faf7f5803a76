"""Where runs are computed: on a local cluster, or by a running scheduler."""

from dataclasses import dataclass

WORKER_SHARE = 0.95
"""Share of this machine's memory for all workers of a local cluster together."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Which Dask cluster computes runs, and how to reach it.

    Attributes
    ----------
    workers : int, optional
        Worker processes of a local cluster, one thread each; defaults to the number of cores.
    scheduler : str, optional
        Address of a running scheduler, in place of a local cluster.
    tls : str, optional
        Folder of the certificate that encrypts all connections (`olscale.execution.tls`).
    dashboard : str, optional
        ``HOST:PORT`` of Dask's dashboard of a local cluster; none by default.
    modules : tuple of str
        Modules that the workers of a local cluster import while they start.
    """

    workers: int | None = None
    scheduler: str | None = None
    tls: str | None = None
    dashboard: str | None = None
    modules: tuple[str, ...] = ()
