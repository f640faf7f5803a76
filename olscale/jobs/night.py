"""A night: everything a job file asks for, once, resumed wherever it was interrupted."""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from math import inf
from pathlib import Path
from time import time
from types import FrameType
from typing import Any

from olscale.addresses import redacted_parts
from olscale.errors import ExperimentError, OlscaleError, StoppedError
from olscale.execution.progress import Progress, Silent
from olscale.execution.settings import SETTINGS, ExecutionSettings
from olscale.jobs.home import (
    JobHome,
    history_nights,
    night_rows,
    read_history,
    read_json,
    write_json,
)
from olscale.jobs.job_file import EvaluateStep, JobFile
from olscale.jobs.made_by import load_of_a_core, made_by
from olscale.jobs.night_end import NightEnd, end_night
from olscale.jobs.notify import tell_state
from olscale.jobs.page import write_page
from olscale.jobs.results import result_rows
from olscale.jobs.status import clock_line
from olscale.jobs.steps import bench_step, evaluate_step, ingest_step, store_of
from olscale.jobs.upkeep import mend_history, prune
from olscale.results.opening import open_store
from olscale.results.record import run_id
from olscale.system.interrupts import UserInterrupt, let_interrupt_out, text_of

_Evaluates = Callable[[EvaluateStep, Path, Progress], list[str]]


class _AskedToStop(UserInterrupt):
    """SIGTERM outside an evaluation, which has a handler of its own."""


def run_night(
    job: JobFile,
    home: JobHome,
    night: str | None = None,
    *,
    progress: Progress | None = None,
    clock: Callable[[], float] = time,
    stop_at: float = inf,
    scheduler: str | None = None,
    settings: ExecutionSettings = SETTINGS,
) -> NightEnd:
    """Run a night, or resume an interrupted one; a night that has ended is left alone.

    Parameters
    ----------
    job : JobFile
    home : JobHome
    night : str, optional
        Its name; the date (UTC) of its begin when left out.
    progress : Progress, optional
    clock : callable
        Seconds since 1970.
    stop_at : float
        By that clock, when to stop as if asked to by SIGTERM.
    scheduler : str, optional
        Address of a running Dask scheduler for all experiments, in place of their ``where``: on a
        cluster it is another one each night.
    settings : ExecutionSettings
        Seconds and attempts of supervision.

    Raises
    ------
    OlscaleError
        If the home cannot be written to. What fails within a night is in its `NightEnd`.
    KeyboardInterrupt
        After Ctrl-C; the same call resumes the night.
    """
    if night is not None and not re.fullmatch(r"\w[\w.-]{0,99}", night):
        raise ExperimentError(
            f"night was {night!r}: expected a letter or digit, then letters, digits, points and "
            "dashes, 100 at most"
        )
    with home.held(clock()) as is_held, home.written():
        if not is_held:
            who = home.holder() or {}
            return NightEnd(
                "busy",
                night or "",
                (f"process {who.get('pid')} on {who.get('host')} is running a night",),
            )
        # Before anything reads the history: all that follows would fail on a damaged file.
        for line in mend_history(job, home):
            (progress or Silent()).note(line)
        ended = {row["night"]: row for row in night_rows(home)}
        if line := clock_line(ended.values(), clock()):
            (progress or Silent()).note(line)
        name = (
            night
            or _unfinished(job, home, ended, clock())
            or datetime.fromtimestamp(clock(), UTC).strftime("%Y-%m-%d")
        )
        if name in ended and ended[name]["state"] != "failed":
            _settle_rest(job, home, ended[name])
            return NightEnd("done", name)

        def evaluate(step: EvaluateStep, folder: Path, progress: Progress) -> list[str]:
            return evaluate_step(step, folder, progress, scheduler, settings)

        end = _run(job, home, name, progress or Silent(), clock, stop_at, evaluate)
        if end.state not in ("stopped", "done"):
            _settle(
                job, home, next(row for row in night_rows(home) if row["night"] == name)
            )
        return end


def _unfinished(
    job: JobFile, home: JobHome, ended: dict[str, dict[str, Any]], now: float
) -> str | None:
    """Return the last night if it can be continued; remove checkpoints of earlier nights."""
    last = None
    for name in home.nights():
        begun = read_json(home.night(name) / "begun.json")
        if begun and ended.get(name, {"state": "failed"})["state"] == "failed":
            if now < begun["at"] + 3600 * job.max_hours:
                last = name
            else:
                # It will not be continued, and checkpoints may be larger than all results.
                for checkpoints in home.night(name).glob("*/checkpoints"):
                    shutil.rmtree(checkpoints)
    return last


def _run(
    job: JobFile,
    home: JobHome,
    night: str,
    progress: Progress,
    clock: Callable[[], float],
    stop_at: float,
    evaluate: _Evaluates,
) -> NightEnd:
    folder = home.night(night)
    host = made_by()
    file = folder / "begun.json"
    definition = run_id(
        redacted_parts(job.model_dump(mode="json", exclude={"notify", "keep", "alarm"}))
    )
    begun = read_json(file)
    # Results of two versions of the code must not mix in a night, and without its begun.json
    # the code that made them is unknown.
    is_damaged = not begun and file.exists()
    if is_damaged or (begun and begun["made_by"]["code"] != host["code"]):
        why = "its begun.json is damaged"
        if not is_damaged:
            why = f"olscale's code has changed since night {night} began"
        progress.note(f"{why}: it begins anew")
        shutil.rmtree(folder)
        begun = {}
    begun = begun or {
        "at": clock(),
        "load": load_of_a_core(),
        "made_by": host,
        "calls": 0,
    }
    begun |= {"job": definition, "calls": begun["calls"] + 1}
    write_json(file, begun)
    seconds_left = begun["at"] + 3600 * job.max_hours - clock()
    if seconds_left <= 0:
        line = (
            f"night {night} took more than its {job.max_hours:g} hours; the next one begins "
            "anew (or give --night)"
        )
        # as failed, which stands: no step is tried again
        if night in history_nights(home):
            return NightEnd("done", night, (line,))
        return _finish(job, home, night, begun, [], [line], clock)
    rows: list[dict[str, Any]] = []
    until = stop_at - clock()
    with _stoppable(
        max(0.1, min(seconds_left, until)), last=seconds_left <= until
    ) as late:
        try:
            failures = _do_steps(job, home, folder, rows, progress, evaluate)
        except (StoppedError, _AskedToStop) as stopped:
            if not late.is_set():
                return NightEnd(
                    "stopped",
                    night,
                    (f"night {night} was stopped; the same command resumes it",),
                )
            failures = [
                f"night {night} took more than its {job.max_hours:g} hours: {stopped}"
            ]
    return _finish(job, home, night, begun, rows, failures, clock)


def _do_steps(
    job: JobFile,
    home: JobHome,
    folder: Path,
    rows: list[dict[str, Any]],
    progress: Progress,
    evaluate: _Evaluates,
) -> list[str]:
    """Do the remaining steps, add to `rows`, and return failures; a failed step stops no other."""
    failures: list[str] = []

    def attempt(what: str, step: Callable[[], Any]) -> Any:
        try:
            return step()
        except StoppedError:
            raise
        except Exception as fault:
            let_interrupt_out(fault)
            text = text_of(fault)
            if isinstance(fault, OlscaleError):
                text = str(fault)
            # Errors of a file name it already.
            failures.append(f"{what}: {text.removeprefix(f'{what}: ')}")

    for number, ingest in enumerate(job.ingest):
        row = attempt(
            f"ingest of {ingest.dest}",
            partial(ingest_step, ingest, home, folder / f"ingest-{number}.json"),
        )
        if row:
            rows.append(row)
    for number, bench in enumerate(job.bench):
        figures = attempt(
            "bench", partial(bench_step, bench, folder / f"bench-{number}.json")
        )
        rows += figures or []
    for step in job.evaluate:
        failures += (
            attempt(step.experiment, partial(evaluate, step, folder, progress)) or []
        )
    stores = [
        store_of(folder, number)
        for number in range(max((step.repeat for step in job.evaluate), default=0))
    ]
    opened = [open_store(store) for store in stores if (store / "store.json").exists()]
    if opened:
        results, unlike = result_rows(opened[0], opened[1:])
        rows += results
        failures += [
            f"run {id} gave other bytes in two passes of this night" for id in unlike
        ]
    return failures


def _finish(
    job: JobFile,
    home: JobHome,
    night: str,
    begun: dict[str, Any],
    rows: list[dict[str, Any]],
    failures: list[str],
    clock: Callable[[], float],
) -> NightEnd:
    end = end_night(job, home, night, begun, rows, failures, clock() - begun["at"])
    folder = home.night(night)
    passes = max((step.repeat for step in job.evaluate), default=1)
    for number in range(1, passes):
        shutil.rmtree(store_of(folder, number), ignore_errors=True)
    # No process writes to its store any more: these are of processes that were killed.
    shutil.rmtree(store_of(folder, 0) / "tmp", ignore_errors=True)
    return end


def _settle(job: JobFile, home: JobHome, entry: dict[str, Any]) -> None:
    """Report a night, prune and write the page; repeated if it was interrupted."""
    history = read_history(home, ["alarm_keys"], ["night"], [entry["night"]])
    keys = history["alarm_keys"][0].as_py()
    tell_state(
        job,
        home,
        entry["night"],
        entry["state"],
        keys or [],
        [*(entry["failures"] or ()), *(entry["alarms"] or ())],
    )
    prune(job, home)
    write_page(job, home, home.path / "page")


def _settle_rest(job: JobFile, home: JobHome, entry: dict[str, Any]) -> None:
    """Finish what a process left undone that was killed after it had written the history."""
    page = home.path / "page" / "index.html"
    written = home.history / f"{entry['night']}.parquet"
    is_reported = read_json(home.path / "told.json").get("night", "") >= entry["night"]
    # Message, pruning and page come in this order; the message is written down once it is sent.
    if not is_reported:
        _settle(job, home, entry)
    elif not page.exists() or page.stat().st_mtime < written.stat().st_mtime:
        write_page(job, home, page.parent)


@contextmanager
def _stoppable(seconds: float, last: bool) -> Iterator[threading.Event]:
    """Let SIGTERM stop the night, and send it after so many seconds; yield whether they ran out."""
    late = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        raise _AskedToStop(signal.Signals(number).name)

    def end() -> None:
        if last:
            late.set()
        # The same way out as for a scheduler's SIGTERM: an evaluation saves its work on it.
        os.kill(os.getpid(), signal.SIGTERM)

    # Python lets only the main thread set handlers of signals.
    if threading.current_thread() is not threading.main_thread():
        yield late
        return
    before = signal.signal(signal.SIGTERM, ask)
    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
        signal.signal(signal.SIGTERM, before)
