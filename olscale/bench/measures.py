"""What the measures that every run has cost: the pass of one run with and without them, in turns, by processor time."""

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time

import numpy as np

from olscale.bench.base import Figure
from olscale.data.ingest.ingest import ingest
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.metrics import METRICS, ClassMeasures, StreamShape
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_state import RunState

_COLUMNS = 8  # electricity's
_ROUNDS = 150


class _PlainPass(GroupPass):
    """A pass whose runs count their mistakes, as they did before there were other measures."""

    def _begin(self, shape: StreamShape, columns: int) -> Sequence[RunState]:
        metrics = [metric for metric in METRICS.load_all() if metric is not ClassMeasures]
        return [
            RunState(run, shape, columns, None, metrics, self._meter) for run in self.group.runs
        ]


def figures(rows: int = 45_312) -> list[Figure]:
    """Return milliseconds of the quickest learners' runs, as many rows as electricity has; 2 classes and 26."""
    with tempfile.TemporaryDirectory(prefix="olscale-bench-") as folder:
        return [
            figure
            for classes in (2, 26)
            for figure in _runs(Path(folder) / str(classes), rows, classes)
        ]


def _runs(path: Path, rows: int, classes: int) -> list[Figure]:
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, rows)
    path.mkdir()
    np.savez(
        path / "rows.npz",
        X=rng.normal(size=(rows, _COLUMNS)) + (y % _COLUMNS == np.arange(_COLUMNS)[:, None]).T,
        y=y,
    )
    ingest([str(path / "rows.npz")], str(path / "rows"))
    found = []
    for learner in ("perceptron", "pa1"):
        content = {"datasets": [{"path": str(path / "rows")}], "learners": [{"name": learner}]}
        plan = make_plan(parse_experiment({**content, "protocol": {"permutations": 1}}, "bench"))
        source = next(iter(plan.sources.values()))
        found.append(
            _beside(RunGroup(source.path, source.rows, plan.runs), f"{learner}, {classes} classes")
        )
    return found


def _beside(group: RunGroup, name: str) -> Figure:
    """Return the time with measures, and how fast that is beside the pass without."""
    times: list[tuple[float, float]] = []
    for i in range(_ROUNDS + 2):
        kinds = (GroupPass, _PlainPass) if i % 2 else (_PlainPass, GroupPass)
        seconds = {kind: _seconds(kind(group)) for kind in kinds}
        times.append((seconds[GroupPass], seconds[_PlainPass]))
    ratio = statistics.median(plain / whole for whole, plain in times[2:])
    milliseconds = 1e3 * statistics.median(whole for whole, _ in times[2:])
    return Figure(name, milliseconds, "ms", ratio, "without measures", ">= 0.97")


def _seconds(going: GroupPass) -> float:
    start = process_time()
    while not going.ended:
        going.advance()
    going.finish()
    return process_time() - start
