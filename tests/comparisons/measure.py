"""Run snippets as processes of their own and measure the processor time of all of each."""

from __future__ import annotations

import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.comparisons.contenders import SNIPPETS, Contender, Task

_FEW = 100
_ERROR = (
    re.compile(r"error ([\d.]+) %"),
    re.compile(r"average loss = ([\d.]+)"),
    re.compile(r"^(?:pa1|logistic|naive-bayes|knn-window\S*) +([\d.]+)", re.MULTILINE),
)


@dataclass(frozen=True)
class Measured:
    """What a contender needs for all rows and, to see its start, for the first hundred.

    Attributes
    ----------
    error : float
        Percent of rows predicted wrongly.
    seconds, start : float
        Processor seconds, medians over the rounds.
    ratio : float
        Median over the rounds of the seconds as a multiple of olscale's.
    """

    error: float
    seconds: float
    start: float
    ratio: float


class Bench:
    """Snippets with the interpreter and the folders that they need."""

    def __init__(self, python: str, libol: str) -> None:
        self.python = python or sys.executable
        self.libol = libol

    def can(self, contender: Contender) -> bool:
        """Return whether what the contender needs is there."""
        if not contender.needs:
            return bool(self.libol) and shutil.which("octave-cli") is not None
        look = f"import importlib.util, sys; sys.exit(not importlib.util.find_spec('{contender.needs}'))"
        return not subprocess.run(
            [self._python(contender), "-c", look], check=False
        ).returncode

    def measure(self, task: Task, rows: Path) -> dict[str, Measured | None]:
        """Return the figures of each contender by name, None where it is not installed.

        Contenders run in turns, so that ratios are of neighbours in time.
        """
        able = [one for one in task.contenders if self.can(one)]
        with tempfile.TemporaryDirectory(prefix="olscale-comparison-") as folder:
            few = Path(folder) / rows.name
            few.write_text(
                _first_rows(rows.read_text(encoding="utf-8")), encoding="utf-8"
            )
            ours = task.contenders[0]
            self.run(ours, rows)  # compiles
            seconds: dict[str, list[float]] = {one.name: [] for one in able}
            errors = {}
            ratios: dict[str, list[float]] = {one.name: [] for one in able}
            for number in range(max(one.rounds for one in able)):
                for one in able:
                    if number < one.rounds:
                        output, used = self.run(one, rows)
                        errors[one.name] = error_of(output)
                        seconds[one.name].append(used)
                        ratios[one.name].append(used / seconds[ours.name][-1])
            starts = {one.name: self.run(one, few)[1] for one in able}
        found: dict[str, Measured | None] = {one.name: None for one in task.contenders}
        for one in able:
            found[one.name] = Measured(
                errors[one.name],
                statistics.median(seconds[one.name]),
                starts[one.name],
                statistics.median(ratios[one.name]),
            )
        return found

    def run(self, contender: Contender, rows: Path) -> tuple[str, float]:
        """Return the output of a snippet and the processor seconds of it and its children.

        Raises
        ------
        SystemExit
            If it fails.
        """
        snippet = SNIPPETS / contender.snippet
        arguments = [str(rows), *contender.arguments]
        with tempfile.TemporaryDirectory(prefix="olscale-comparison-") as folder:
            if snippet.is_dir():
                shutil.copytree(snippet, Path(folder) / "benchmark")
                command = [
                    *(self._python(contender), "-m", "benchopt", "run", "benchmark"),
                    *("--no-plot", "--no-cache"),
                ]
            elif snippet.suffix == ".m":
                command = ["octave-cli", str(snippet), *arguments, self.libol]
            elif snippet.suffix == ".sh":
                command = ["bash", "-e", str(snippet), *arguments]
            else:
                command = [self._python(contender), str(snippet), *arguments]
            before = _children()
            done = subprocess.run(
                command,
                cwd=folder,
                env=self._environment(contender, rows),
                capture_output=True,
                text=True,
                check=False,
            )
            used = _children() - before
            output = done.stdout + done.stderr
            # Octave may fail when it has done everything.
            if done.returncode and snippet.suffix != ".m":
                raise SystemExit(f"{contender.name} failed:\n{output}")
            if snippet.is_dir():
                output += self._of_parquet(contender, Path(folder))
        return output, used

    def _of_parquet(self, contender: Contender, folder: Path) -> str:
        code = (
            "import glob, pandas; [file] = glob.glob('benchmark/outputs/*.parquet'); "
            "print('error', round(pandas.read_parquet(file).objective_value.iloc[-1], 2), '%')"
        )
        command = [self._python(contender), "-c", code]
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=True
        ).stdout

    def _python(self, contender: Contender) -> str:
        return sys.executable if contender.needs == "olscale" else self.python

    def _environment(self, contender: Contender, rows: Path) -> dict[str, str]:
        folder = str(Path(self._python(contender)).parent)
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        if contender.needs == "olscale":
            kept["PYTHONPATH"] = str(SNIPPETS.parents[2])
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        path = f"{folder}{os.pathsep}{os.environ['PATH']}"
        return {**kept, **threads, "PATH": path, "ROWS": str(rows)}


def error_of(output: str) -> float:
    """Return the percentage of errors that a snippet printed.

    Raises
    ------
    ValueError
        If it printed none.
    """
    mistakes = re.search(r"mistake rate = .*\((\d+)/(\d+)\)", output)
    if mistakes:
        return 100 * int(mistakes[1]) / int(mistakes[2])
    for pattern in _ERROR:
        match = pattern.search(output)
        if match:
            # Vowpal Wabbit prints a share.
            return float(match[1]) * (100 if "average" in pattern.pattern else 1)
    raise ValueError(f"no error in:\n{output}")


def _first_rows(text: str) -> str:
    lines = text.splitlines(keepends=True)
    header = [n for n, line in enumerate(lines) if line.lower().startswith("@data")]
    return "".join(lines[: (header[0] + 1 if header else 0) + _FEW])


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
