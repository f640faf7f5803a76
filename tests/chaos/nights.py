"""Ten nights in a row of a short job, each of which has something happen to it, by the commands that a scheduler calls.

A copy of the package is changed, as a commit changes it: once by a bit of one learner's step, for
three nights by a loop that takes longer. One night is killed, before one the data change. What the
history and the messages say is compared with what was done.

::

    python -m tests.chaos.nights           # some minutes; exit 1 where they say anything else
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import monotonic, sleep

import olscale
from olscale.jobs.home import JobHome, night_rows, read_history
from olscale.jobs.job_file import load_job
from olscale.jobs.series import judge, read_series

_SLOWED = "linear: pa1 to bare dot + axpy, prefetch"
_MOST_NOISE = 0.025
NIGHTS = [f"{number:02}" for number in range(1, 11)]
KILLED = "03"
WRONG = "04"
CHANGED = "06"
SLOW = ("08", "09", "10")

_JOB = """
name = "nights"
home = "home"
[[ingest]]
source = "rows.csv"
dest = "rows"
[[bench]]
names = ["linear"]
rows = {rows}
[[evaluate]]
experiment = "experiment.toml"
repeat = 2
where = {{ in_process = true }}
[alarm]
speed = {{ change = 0.05, nights = 3, load = 1000.0 }}
[[notify]]
command = ["/bin/sh", "-c", "cat >>said; echo >>said"]
"""

_EXPERIMENT = """
transforms = ["standardize", "bias"]
[protocol]
permutations = 5
[[datasets]]
path = "rows"
[[learners]]
name = "pa1"
params = { C = [0.1, 1.0] }
[[learners]]
name = "arow"
[[learners]]
name = "kernel-perceptron"
"""

_BIT = (
    "learners/linear/passive_aggressive.py",
    "return min(rule.C[s], max(0.0, 1.0 - y * f) / square)",
    "return min(rule.C[s], max(0.0, 1.0 - y * f) / square) * (1.0 + 2.0**-52)",
)
_CALL = """        loop(X, y, one_or_many(W), rule, settings, self.norm_limits(), state["seen"], state["updates"], scores)
"""
_LONGER = (
    "learners/linear/first_order.py",
    _CALL,
    """        from time import process_time

        begin = process_time()
"""
    + _CALL
    + """        end = begin + (process_time() - begin) / (0.85 if settings == 1 and self.name == "pa1" else 1.0)
        while process_time() < end:
            pass
""",
)


class Nights:
    """The job and the package, in a folder of their own."""

    def __init__(self, folder: Path, rows: int = 20_000) -> None:
        self.folder = folder
        self.home = JobHome(folder / "home")
        shutil.copytree(Path(olscale.__file__).parent, folder / "code" / "olscale")
        (folder / "nights.toml").write_text(_JOB.format(rows=rows))
        (folder / "experiment.toml").write_text(_EXPERIMENT)
        self.write_rows(1)
        self.job = load_job(folder / "nights.toml")

    def write_rows(self, seed: int) -> None:
        """Write the source of the data."""
        rng = random.Random(seed)
        rows = [[rng.gauss(0.0, 1.0) for _ in range(8)] for _ in range(4000)]
        lines = [
            ",".join(map(repr, row)) + f",{'ab'[row[0] + rng.gauss(0.0, 0.5) > row[1]]}"
            for row in rows
        ]
        (self.folder / "rows.csv").write_text("\n".join(lines))

    def begin(self, night: str) -> subprocess.Popen[bytes]:
        """Begin a night, or go on with it."""
        command = [
            sys.executable,
            "-m",
            "olscale",
            "jobs",
            "run",
            "nights.toml",
            "--night",
            night,
        ]
        environment = os.environ | {"PYTHONPATH": str(self.folder / "code")}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=log
            )

    def kill_in(self, night: str, reached: str) -> None:
        """Begin a night and kill it when a file is there."""
        process = self.begin(night)
        while not list(self.home.night(night).glob(reached)):
            if process.poll() is not None:
                raise RuntimeError(
                    f"night {night} ended before {reached}: see {self.folder / 'log'}"
                )
            sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()

    @contextmanager
    def other_code(self, *change: str) -> Iterator[None]:
        """Change a file of the package for a while; with its time it is then what it was."""
        name, before, after = change
        file = self.folder / "code" / "olscale" / name
        kept = shutil.copy2(file, self.folder / "kept")
        text = file.read_text()
        if text.count(before) != 1:
            raise RuntimeError(
                f"{name} has no line {before!r}; plant the fault elsewhere"
            )
        file.write_text(text.replace(before, after))
        yield
        shutil.copy2(kept, file)

    def run(self) -> None:
        """Run the nights, and do to each what is to happen."""
        for night in NIGHTS:
            start = monotonic()
            if night == KILLED:
                self.kill_in(night, "bench-0.json")
                self.kill_in(night, "store/compacted/runs/*")
            if night == CHANGED:
                self.write_rows(2)
            if night in (WRONG, *SLOW):
                with self.other_code(*(_BIT if night == WRONG else _LONGER)):
                    self.begin(night).wait()
            else:
                self.begin(night).wait()
            print(
                f"night {night}: {night_rows(self.home)[-1]['state']}, {monotonic() - start:.0f} s",
                flush=True,
            )

    def noise(self) -> float:
        """Return how far the ratio of the loop that is to be slower is off its median before, as a share of it."""
        ratios = read_series(self.home, self.job.alarm.speed, "ratio")
        [values] = [
            series.values[: NIGHTS.index(SLOW[0])]
            for series in ratios
            if series.name == _SLOWED
        ]
        return median(abs(value / median(values) - 1.0) for value in values)

    def faults(self) -> list[str]:
        """Return what the history and the messages say that was not done, or do not say.

        On a machine with more to do, that hides a step of 15 %, they are to say nothing of it.
        """
        seen = self.noise() < _MOST_NOISE
        rows = {row["night"]: row for row in night_rows(self.home)}
        text = (
            (self.folder / "said").read_text()
            if (self.folder / "said").exists()
            else ""
        )
        messages = {
            message["night"]: message
            for message in map(json.loads, filter(None, text.splitlines()))
        }
        alarms = (WRONG, SLOW[-1]) if seen else (WRONG,)
        unlike = [night for night in NIGHTS if not self._is_right(rows, night, alarms)]
        found = [f"{night} is {rows.get(night, {}).get('state')}" for night in unlike]
        wrong = [line for line in rows[WRONG]["alarms"] if "other bytes" in line]
        if len(wrong) != 2 or not all(
            "results of pa1 " in line and "made: code " in line for line in wrong
        ):
            found.append(f"night {WRONG} does not name pa1 and the code alone: {wrong}")
        events = {night: message["event"] for night, message in messages.items()}
        if events != dict.fromkeys(alarms, "alarm") | {"05": "recovered"}:
            found.append(f"messages were {events}")
        if seen and "since 08" not in messages.get(SLOW[-1], {}).get("text", ""):
            found.append("no message says since when pa1 is slower")
        ratios = [
            judge(series, self.job.alarm)
            for series in read_series(self.home, self.job.alarm.speed, "ratio")
        ]
        slower = {
            verdict.series.name for verdict in ratios if verdict.verdict == "slower"
        }
        if (_SLOWED in slower) != seen or any(": pa1" not in name for name in slower):
            found.append(f"slower were {slower}")
        for series in read_series(self.home, self.job.alarm.speed, "error"):
            if (CHANGED, "data") not in series.marks():
                found.append(f"{series.name} has no mark of other data")
        table = read_history(self.home, ["night", "digest"], ["results"]).to_pylist()
        digests = {
            night: {row["digest"] for row in table if row["night"] == night}
            for night in NIGHTS
        }
        if digests[KILLED] != digests["01"] or digests["10"] != digests["07"]:
            found.append("a night that was killed, or slow, has other results")
        return found

    @staticmethod
    def _is_right(
        rows: dict[str, dict[str, object]], night: str, alarms: tuple[str, ...]
    ) -> bool:
        state = "alarm" if night in alarms else "good"
        calls = 3 if night == KILLED else 1
        row = rows.get(night, {})
        return (
            row.get("state"),
            row.get("calls"),
            list(row.get("failures") or ()),
        ) == (
            state,
            calls,
            [],
        )  # type: ignore[call-overload]


def main() -> int:
    """Run the nights in a scratch folder, print what was wrong, and return 1 if anything was."""
    with tempfile.TemporaryDirectory(prefix="olscale-nights-") as folder:
        nights = Nights(Path(folder))
        nights.run()
        faults = nights.faults()
        if (noise := nights.noise()) >= _MOST_NOISE:
            print(
                f"ratios are off by {100 * noise:.0f} % where nothing changed: no slow-down of 15 "
                "% can be told here"
            )
        for row in night_rows(nights.home):
            for line in (*(row["alarms"] or ()), *(row["changed"] or ())):
                print(f"night {row['night']}: {line}")
        for fault in faults:
            print(f"WRONG: {fault}")
        if "--keep" in sys.argv:
            shutil.copytree(
                folder, sys.argv[sys.argv.index("--keep") + 1], dirs_exist_ok=True
            )
        return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
