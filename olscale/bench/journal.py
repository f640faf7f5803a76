"""What the live journal costs the driver: processor time, which other work on the machine leaves nearly as it is."""

import statistics
import tempfile
from pathlib import Path
from time import perf_counter, process_time, sleep, thread_time

from olscale.bench.base import Figure
from olscale.evaluation.run import Run, StreamKey
from olscale.execution.journal import LiveJournal
from olscale.execution.progress import Silent, Work, tell
from olscale.execution.settings import SETTINGS
from olscale.execution.task_report import Stand
from olscale.report.dashboard import Dashboard
from olscale.results.store import open_store

_GROUPS, _RUNS, _SECONDS = 500, 8, 5.0


def figures() -> list[Figure]:
    """Return the driver's time for a report, and the share of a core that the journal of 2 workers takes, and of very many.

    Very many are those that send as many reports a second as there are at most; the driver is idle
    for most of it even then.
    """
    groups = {
        f"group {number}": Work(1_000_000 * _RUNS, 1.0, _runs(number)) for number in range(_GROUPS)
    }
    found = []
    for workers, many in (
        (2, False),
        (round(SETTINGS.most_reports * SETTINGS.report_seconds), True),
    ):
        rate = workers / SETTINGS.report_seconds
        with tempfile.TemporaryDirectory() as folder:
            store = open_store(str(Path(folder) / "store"), create=True)
            with LiveJournal(store, Silent()) as journal:
                journal.start("bench", _GROUPS * _RUNS, 0, groups)
                telling, writing = _report(journal, groups, rate)
        if many:
            report = 1e3 * statistics.median(telling)
            found.append(
                Figure(
                    f"driver, a report of {_RUNS} runs",
                    report,
                    "ms",
                    0.1 / report,
                    "0.1 ms",
                    ">= 1",
                )
            )
        share = 100 * (rate * statistics.mean(telling) + writing)
        name, target = f"{workers} workers, {rate:g} reports a second", "" if many else ">= 1"
        found.append(Figure(name, share, "% of a core", 1 / share, "1 %", target))
    return [*found, _look()]


def _look() -> Figure:
    """Return what a look of the served page takes while 10,000 runs go on, of which one has said more."""
    groups = {
        f"group {number}": Work(1_000 * _RUNS, 1.0, _runs(number))
        for number in range(10_000 // _RUNS)
    }
    took = []
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "store"), create=True)
        page = Dashboard([store])
        with LiveJournal(store, Silent()) as journal:
            journal.start("bench", _RUNS * len(groups), 0, groups)
            for number, (name, work) in enumerate(groups.items()):
                errors = tuple((run.id, 500, 1 / (2 + i)) for i, run in enumerate(work.runs))
                tell(
                    journal, name, Stand(500 * _RUNS, 0.1, errors, 1 << 28), "tcp://127.0.0.1:40000"
                )
                if number >= len(groups) - 6:  # the first look reads it all
                    journal._flush()
                    start = thread_time()
                    page.live(0)
                    took.append(thread_time() - start)
    seconds = 1e3 * statistics.median(took[1:])
    return Figure("a look at 10,000 runs", seconds, "ms", 50 / seconds, "50 ms", ">= 1")


def _runs(number: int) -> tuple[Run, ...]:
    stream = StreamKey("bench", f"{number:064x}", (), None)
    return tuple(Run(stream, "pa1", 1, {"C": float(i)}) for i in range(_RUNS))


def _report(
    journal: LiveJournal, groups: dict[str, Work], rate: float
) -> tuple[list[float], float]:
    """Return this thread's seconds for each report, and the writer's in each second."""
    telling = []
    begin, all_before, own_before = perf_counter(), process_time(), thread_time()
    for number in range(int(_SECONDS * rate)):
        sleep(max(0.0, begin + number / rate - perf_counter()))
        name, rows = f"group {number % _GROUPS}", 10_000 * (1 + number // _GROUPS)
        errors = tuple((run.id, rows, 1 / (rows + i)) for i, run in enumerate(groups[name].runs))
        stand = Stand(rows * _RUNS, 0.1, errors, 1 << 28)
        start = thread_time()
        tell(journal, name, stand, "tcp://127.0.0.1:40000")
        telling.append(thread_time() - start)
    others = process_time() - all_before - (thread_time() - own_before)
    return telling, others / (perf_counter() - begin)
