"""Seconds and attempts of supervision, and the cluster that computes runs; tests pass others."""

import os
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ExecutionSettings:
    """How patient an evaluation is; no result depends on it.

    Attributes
    ----------
    connect_seconds : float
        Time for a scheduler to answer.
    start_seconds : float
        Time that a local cluster takes to start: a shorter plan that requests no cluster runs in
        process.
    start_attempts : int
        Attempts to start a local cluster that does not come up.
    answer_seconds : float
        Time for the scheduler, or a worker that has joined, to answer a call.
    watch_seconds : float
        Time between two queries for the current workers.
    no_worker_seconds : float
        Time that a cluster may be without workers.
    silence_seconds : float
        Time of silence after which a worker is ended.
    attempts : int
        Deaths of a run group at one place after which it is split, or its run is lost.
    stop_seconds : float
        Time for saving running work once an evaluation is asked to stop.
    report_seconds : float
        Least time between two reports of a task.
    most_reports : int
        Reports per second of all workers together: a fifth of the scheduler's time
        (docs/scaling.md).
    call_seconds : float
        Time after which a call to an actor returns in the middle of a chunk.
    checkpoint_seconds : float, optional
        Least time of work between two checkpoints. By default the value of
        ``OLSCALE_CHECKPOINT_SECONDS`` in the saving process, or else 10.
    checkpoint_ratio : float
        A checkpoint is due after this multiple of the last ones' cost, so that saving takes 1/50
        of the time.
    first_bytes_a_second : float
        Assumed speed of the first checkpoint, before any is measured, in bytes outside of blocks
        of zeros.
    grace_seconds : float
        Least time beyond its budget for a call that does not return.
    compile_seconds : float
        Time that compiling may take in addition to a limited budget.
    alarm_seconds : float
        Time between two alarms: a learner may catch the first one.
    shared_runs : int
        Number of runs of an experiment from which on they share files of records: two files a run
        take longer than many a run. A run by itself has files of its own.
    """

    connect_seconds: float = 10
    start_seconds: float = 2.0
    start_attempts: int = 3
    answer_seconds: float = 60.0
    watch_seconds: float = 1.0
    no_worker_seconds: float = 180.0
    silence_seconds: float = 3600.0
    attempts: int = 3
    stop_seconds: float = 30.0
    report_seconds: float = 0.5
    most_reports: int = 500
    call_seconds: float = 2.0
    checkpoint_seconds: float | None = None
    checkpoint_ratio: float = 50.0
    first_bytes_a_second: float = 200e6
    grace_seconds: float = 2.0
    compile_seconds: float = 300.0
    alarm_seconds: float = 1.0
    shared_runs: int = 2

    @property
    def least_checkpoint_seconds(self) -> float:
        """`checkpoint_seconds` in this process."""
        if self.checkpoint_seconds is not None:
            return self.checkpoint_seconds
        return float(os.environ.get("OLSCALE_CHECKPOINT_SECONDS", "10"))


SETTINGS = ExecutionSettings()
"""Default settings."""


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
