"""Where runs run: a local cluster, or a scheduler that runs already."""

from dataclasses import dataclass

WORKER_SHARE = 0.95
"""Share of this machine's memory that the workers of a local cluster have together."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Which Dask cluster runs run on, and how it is reached.

    Attributes
    ----------
    workers : int, optional
        Worker processes of a local cluster, one thread each; as many as there are cores when left
        out.
    scheduler : str, optional
        Address of a running scheduler, in place of a local cluster.
    tls : str, optional
        Folder of the certificate that all connections are encrypted under
        (`olscale.execution.tls`).
    dashboard : str, optional
        ``HOST:PORT`` at which a local cluster shows Dask's dashboard; there is none when left out.
    modules : tuple of str
        What the workers of a local cluster import while they start.
    """

    workers: int | None = None
    scheduler: str | None = None
    tls: str | None = None
    dashboard: str | None = None
    modules: tuple[str, ...] = ()
