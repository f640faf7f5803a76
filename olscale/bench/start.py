"""The start of commands: whole processes, as users wait for them, against plain imports.

A speed of 0.5 is twice the seconds of ``python -c "import pyarrow, duckdb"``. Each process is
started in turn with the peer's; evaluations go to a new store each time, and machine code is in the
cache. Seconds are the processor's, of a process and all below it. Reports on many runs are held to
seconds and to memory.
"""

import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from olscale.bench.base import Figure
from olscale.bench.processes import children_seconds, python_usage, run_python
from olscale.bench.store import fill_compacted, fill_loose
from olscale.bench.tables import text_like_kdd99, text_of_numbers, write_text

_PEER = 'python -c "import pyarrow, duckdb"'
_ROUNDS = 5


def figures() -> list[Figure]:
    """Return processor seconds of commands, with data and stores in the temporary folder."""
    with tempfile.TemporaryDirectory(prefix="olscale-bench-") as name:
        folder = Path(name)
        # An evaluation of 500 runs leaves none of them in a single file.
        fill_loose(folder / "single", 499)
        fill_compacted(folder / "thousand", 1_000)
        fill_compacted(folder / "ten-thousand", 10_000)
        fill_compacted(folder / "hundred-thousand", 100_000)
        _seconds(
            folder, ["-m", "olscale", "datasets", "generate", "rotating-xor", "xor"]
        )
        write_text(folder / "numbers.csv", text_of_numbers(9, 15_000), 2)
        write_text(folder / "words.csv", text_like_kdd99(15_000), 2)
        run = "evaluate --dataset xor --learner pa1 --store new"
        return [
            _figure(folder, "--help", "--help", ">= 1"),
            _figure(folder, "learners list", "learners list"),
            _figure(folder, "datasets show", "datasets show xor"),
            _figure(folder, "results of 1,000 runs", "results thousand", ">= 0.43"),
            _figure(folder, "results of 499 runs, a file each", "results single"),
            _figure(folder, "status of 1,000 runs", "status thousand"),
            _figure(
                folder, "ingest 2 MB of numbers", "ingest numbers.csv new", ">= 0.56"
            ),
            _figure(
                folder,
                "ingest 2 MB of numbers and words",
                "ingest words.csv new",
                ">= 0.56",
            ),
            _figure(
                folder, "evaluate one run in process", f"{run} --in-process", ">= 0.28"
            ),
            _figure(
                folder,
                "evaluate one run on a new cluster",
                f"{run} --workers 2",
                ">= 0.086",
                3,
            ),
            _figure(
                folder,
                "report on 1,000 runs",
                "report thousand --out page",
                ">= 0.05",
                3,
            ),
            *_report_figures(folder, "10,000", "ten-thousand", 4.0, 500.0),
            *_report_figures(folder, "100,000", "hundred-thousand", 8.0, 500.0),
        ]


def _report_figures(
    folder: Path,
    runs: str,
    store: str,
    most_seconds: float,
    most_megabytes: float,
) -> list[Figure]:
    """Return processor seconds and megabytes of a report; a ratio of 1 is its limit."""
    usages = []
    for _ in range(3):
        shutil.rmtree(folder / "page", ignore_errors=True)
        usages.append(
            python_usage(folder, ["-m", "olscale", "report", store, "--out", "page"])
        )
    seconds, megabytes = zip(*usages, strict=True)
    used_seconds = statistics.median(seconds)
    held = max(megabytes)
    return [
        Figure(
            f"report on {runs} runs",
            used_seconds,
            "s",
            most_seconds / used_seconds,
            f"{most_seconds:.0f} s",
            ">= 1",
        ),
        Figure(
            "its memory",
            held,
            "MB",
            most_megabytes / held,
            f"{most_megabytes:.0f} MB",
            ">= 1",
        ),
    ]


def _figure(
    folder: Path,
    name: str,
    command: str,
    target: str = "",
    rounds: int = _ROUNDS,
) -> Figure:
    seconds: list[tuple[float, float]] = []
    for _ in range(rounds + 1):
        for leftover in ("new", "page"):
            shutil.rmtree(folder / leftover, ignore_errors=True)
        # In turns: a slow minute of the machine slows both.
        peer = _seconds(folder, ["-c", "import pyarrow, duckdb"])
        own = _seconds(folder, ["-m", "olscale", *command.split()])
        seconds.append((own, peer))
    # The first start reads files that later ones find in memory.
    counted = seconds[1:]
    ratio = statistics.median(peer / own for own, peer in counted)
    used = statistics.median(own for own, _ in counted)
    return Figure(name, used, "s", ratio, _PEER, target)


def _seconds(folder: Path, arguments: Sequence[str]) -> float:
    before = children_seconds()
    run_python(folder, arguments)
    return children_seconds() - before
