"""MOA's own command line: prequential evaluation of a learner on an ARFF file."""

import csv
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from olscale.bench.processes import children_seconds
from olscale.data.chunk import Chunk
from olscale.errors import OlscaleError

_EVALUATION = (
    "EvaluatePrequential -l ({learner}) -s (ArffFileStream -f {file}) "
    "-e BasicClassificationPerformanceEvaluator -i {rows} -f {rows} -q 0 -d {results}"
)
_CORRECT = "classifications correct (percent)"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What one evaluation by MOA took and came to.

    Attributes
    ----------
    seconds : float
        Processor time of the process, Java's compiler and garbage collector included.
    wall : float
        Seconds from its start to its end.
    mistakes : int
        Rows that were predicted wrongly, each before it was learned.
    """

    seconds: float
    wall: float
    mistakes: int


def evaluate(jar: Path, learner: str, file: Path, rows: int) -> Evaluated:
    """Evaluate a learner by its command line on the first rows of an ARFF file.

    Parameters
    ----------
    jar : Path
        MOA's archive of classes.
    learner : str
        Command line of MOA, such as ``"trees.HoeffdingTree -g 200"``.
    file : Path
        Rows, the class last; its path has no space.
    rows : int
        How many.

    Raises
    ------
    OlscaleError
        If MOA fails, with the end of what it said.
    """
    with tempfile.TemporaryDirectory(prefix="olscale-moa-") as folder:
        results = Path(folder) / "results.csv"
        task = _EVALUATION.format(
            learner=learner, file=file, rows=rows, results=results
        )
        command = [
            shutil.which("java") or "java",
            "-cp",
            str(jar),
            "moa.DoTask",
            task,
        ]
        # Besides the wall time, which is longer where other processes take the cores.
        used = children_seconds()
        start = perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wall = perf_counter() - start
        used = children_seconds() - used
        if done.returncode or not results.exists():
            output = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise OlscaleError(f"MOA cannot run {learner!r}: {output[-1:]}")
        with results.open(encoding="utf-8", newline="") as lines:
            row = list(csv.DictReader(lines))[-1]
    correct = float(row[_CORRECT]) / 100.0
    return Evaluated(used, wall, round(rows * (1.0 - correct)))


def write_arff(rows: Chunk, classes: int, file: Path) -> None:
    """Write rows as numbers that MOA reads to the same bits, and their classes as 0, 1, ..."""
    names = [f"@attribute x{column} numeric" for column in range(rows.columns)]
    codes = ",".join(map(str, range(classes)))
    head = ["@relation rows", *names, f"@attribute class {{{codes}}}", "@data"]
    with file.open("w", encoding="ascii") as text:
        text.writelines(f"{line}\n" for line in head)
        text.writelines(_lines(rows))


def _lines(rows: Chunk) -> Iterable[str]:
    # The text that Python writes is the shortest that gives the same bits.
    for values, code in zip(rows.to_numpy().tolist(), rows.y.tolist(), strict=True):
        yield f"{','.join(map(repr, values))},{code}\n"
