"""Seconds and attempts of supervision, in one place; tests pass shorter ones."""

import os
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ExecutionSettings:
    """How patient an evaluation is; no result depends on it.

    Attributes
    ----------
    connect_seconds : float
        A scheduler has to answer within.
    start_seconds : float
        A local cluster takes to start: a plan that is shorter, and asks for no cluster, runs in
        process.
    start_attempts : int
        How often a local cluster is started that does not come up.
    answer_seconds : float
        A call to the scheduler, or to a worker that has joined, has to be answered within.
    watch_seconds : float
        Between two looks at which workers there are.
    no_worker_seconds : float
        A cluster may be without workers.
    silence_seconds : float
        Without a word, after which a worker is ended.
    attempts : int
        Deaths of a run group at one place, after which it is split, or its run is lost.
    stop_seconds : float
        For saving what is going on, once an evaluation is asked to stop.
    report_seconds : float
        A task is silent between two reports, at least.
    most_reports : int
        Reports a second of all workers together: a fifth of the scheduler's time (docs/scaling.md).
    call_seconds : float
        After which a call to an actor returns from within a chunk.
    checkpoint_seconds : float, optional
        Of work, after which a checkpoint is due at the earliest; what
        ``OLSCALE_CHECKPOINT_SECONDS`` says where it is saved when left out, and 10 without that.
    checkpoint_ratio : float
        A checkpoint is due after so many times what the last ones cost, so that saving takes 1/50
        of the time.
    first_bytes_a_second : float
        What is expected of the first checkpoint, which nobody has measured yet: bytes that are not
        in blocks of zeros.
    grace_seconds : float
        Beyond the budget of a call that does not return, at least.
    compile_seconds : float
        Compiling may take beside a limited budget, of which it is no part.
    alarm_seconds : float
        Between two alarms: a learner may catch the first one.
    many_runs : int
        From so many runs on, their records are not left in files of their own.
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
    many_runs: int = 500

    @property
    def least_checkpoint_seconds(self) -> float:
        """`checkpoint_seconds` in this process."""
        if self.checkpoint_seconds is not None:
            return self.checkpoint_seconds
        return float(os.environ.get("OLSCALE_CHECKPOINT_SECONDS", "10"))


SETTINGS = ExecutionSettings()
"""Those of every evaluation that names no others."""
