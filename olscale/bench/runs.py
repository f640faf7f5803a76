"""Small runs: what an evaluation of many costs besides learning, in process and on workers.

The data are as large as svmguide1, and the learners the four that the LOL paper compares on it
first, each in many settings. Groups from small to large show the gain of two workers.
"""

import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow.compute as pc

from olscale.bench.base import Figure
from olscale.bench.store import records, write_loose
from olscale.bench.workers import running_cluster
from olscale.data.ingest.ingest import ingest
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.execution.evaluate import evaluate
from olscale.execution.evaluation import Evaluation
from olscale.results.opening import open_store

# Rows, and below columns, of svmguide1.
TRAINING = 3_089
TEST = 4_000
PERMUTATIONS = 20
SETTINGS = 25
LOOSE = 10_000


def figures(
    permutations: int = PERMUTATIONS, loose: int = LOOSE, rounds: int = 3
) -> list[Figure]:
    """Return milliseconds per run, the gain of a second worker, and seconds.

    Stores are in the system's temporary folder.
    """
    with (
        tempfile.TemporaryDirectory(prefix="olscale-bench-") as folder,
        ExitStack() as stack,
    ):
        root = Path(folder)
        number = count()
        _generate(root)
        experiment = _experiment(root, permutations, SETTINGS)
        first = _experiment(root, 2, 2)

        def timed(
            experiment: Experiment, **where: Any
        ) -> tuple[float, float, Evaluation]:
            start = perf_counter()
            used = process_time()
            evaluation = evaluate(experiment, root / f"store-{next(number)}", **where)
            return perf_counter() - start, process_time() - used, evaluation

        # Compiles the loops, or loads them.
        timed(first, in_process=True)
        results = _beside(lambda: timed(experiment, in_process=True), rounds)
        clusters = {
            workers: stack.enter_context(running_cluster(root, workers))
            for workers in (1, 2)
        }
        walls: dict[int, list[float]] = {workers: [] for workers in clusters}
        for i in range(rounds + 1):  # the first for what a worker does once
            for workers, cluster in clusters.items():
                seconds, _, _ = timed(experiment, scheduler=cluster.address)
                walls[workers] += [seconds] if i else []
        one_worker = walls[1]
        two_workers = walls[2]
        rounds_of_both = zip(one_worker, two_workers, strict=True)
        ratio = statistics.median(one / two for one, two in rounds_of_both)
        results.append(
            Figure("one worker that runs already", statistics.median(one_worker), "s")
        )
        results.append(
            Figure(
                "two workers",
                statistics.median(two_workers),
                "s",
                ratio,
                "one",
                ">= 1.5",
            )
        )
        results += group_size_figures(
            root, clusters[1].address, clusters[2].address, rounds
        )
        return results + _nothing_to_compute(
            _experiment(root, max(1, loose // (4 * SETTINGS)), SETTINGS), root / "loose"
        )


def _generate(here: Path) -> None:
    rng = np.random.default_rng(0)
    for name, rows in (("train", TRAINING), ("test", TEST)):
        y = rng.integers(0, 2, rows)
        centres = 0.5 * (2 * y - 1)
        X = rng.normal(size=(rows, 4)) + centres[:, None]
        np.savez(here / f"{name}.npz", X=X, y=y)
    train = str(here / "train.npz")
    ingest([train], str(here / "rows"), test=[str(here / "test.npz")])


def _experiment(here: Path, permutations: int, settings: int) -> Experiment:
    values = [2.0 ** (i / 2 - 6) for i in range(settings)]
    learners = [
        {"name": name, "params": {"C": values}} for name in ("pa1", "pa2", "lol")
    ]
    learners.append({"name": "arow", "params": {"r": values}})
    content = {
        "datasets": [{"path": str(here / "rows")}],
        "learners": learners,
        "transforms": ["standardize", "bias"],
    }
    return parse_experiment(
        {**content, "protocol": {"permutations": permutations}}, "bench"
    )


def _beside(
    evaluation: Callable[[], tuple[float, float, Evaluation]], rounds: int
) -> list[Figure]:
    """Return wall and processor time of a run in process, against its learner's passes."""
    measured = []
    for _ in range(rounds):
        wall, used, result = evaluation()
        timings = pc.map_lookup(
            result.store.timings(columns=["timings"])["timings"],
            "fit_seconds",
            "first",
        )
        learning = pc.sum(timings).as_py()
        measured.append(
            [
                1e3 * seconds / result.computed
                for seconds in (learning, wall - learning, used)
            ]
        )
    learning, wall, used = np.median(measured, axis=0).tolist()
    return [
        Figure("a run in process: learning", learning, "ms"),
        Figure(
            "a run in process: beside learning",
            wall,
            "ms",
            1.0 / wall,
            "1.0 ms",
            ">= 1.0",
            "on the disk when told",
        ),
        Figure("a run in process: processor time, learning included", used, "ms"),
    ]


def _nothing_to_compute(experiment: Experiment, path: Path) -> list[Figure]:
    """Return the times of evaluations whose runs all exist, first in loose files of the past."""
    runs = make_plan(experiment).runs
    store = open_store(path, create=True)
    # Made-up results under the ids of the experiment, which then has nothing left to run.
    finished = zip(runs, records(len(runs)), strict=True)
    write_loose(
        store,
        (replace(record, run=run.definition(), id=run.id) for run, record in finished),
    )
    seconds = []
    # The first evaluation compacts the loose files; later ones find nothing to do.
    for _ in range(3):
        start = perf_counter()
        evaluate(experiment, path, in_process=True)
        seconds.append(perf_counter() - start)
    what = f"nothing to compute, {len(runs):,} runs"
    return [
        Figure(f"{what} in loose files, which are compacted", seconds[0], "s"),
        Figure(
            f"{what}, from then on",
            seconds[-1],
            "s",
            1.0 / seconds[-1],
            "1 s",
            ">= 1.0",
        ),
    ]


SIZES = ((1, 1000), (3, 260), (10, 100), (100, 10))
"""Learners, the runs of a group, and permutations, each a stream of its own."""

MOST_MILLISECONDS = 1.2
"""Of processor time that a run may take, on data as small as breast cancer."""

_LEARNERS = (
    "pa1",
    "pa",
    "pa2",
    "perceptron",
    "ogd",
    "arow",
    "scw1",
    "lol",
    "cw",
    "scw2",
)


def group_size_figures(
    here: Path, one_worker: str, two_workers: str, rounds: int
) -> Iterator[Figure]:
    """Yield milliseconds a run in process, and how many times as fast two workers are.

    Parameters
    ----------
    here : Path
        Folder for data and stores.
    one_worker, two_workers : str
        Addresses of schedulers that have them.
    rounds : int
        Over which medians are taken.
    """
    # A new store for each evaluation, which would otherwise find its runs done.
    stores = count()
    for name in ("breast_cancer", "digits"):
        ingest([f"sklearn:{name}"], str(here / name))

    def seconds(experiment: Experiment, **where: Any) -> tuple[float, float]:
        """Return the wall time and the processor time of an evaluation in a new store."""
        start = perf_counter()
        used = process_time()
        evaluate(experiment, here / f"sizes-{next(stores)}", **where)
        return perf_counter() - start, process_time() - used

    for learners, permutations in SIZES:
        single = _sized_experiment(here / "breast_cancer", 1, 1)
        many = _sized_experiment(here / "breast_cancer", learners, permutations)
        seconds(_sized_experiment(here / "breast_cancer", learners, 1), in_process=True)
        differences = []
        for _ in range(rounds):
            _, used_by_many = seconds(many, in_process=True)
            _, used_by_one = seconds(single, in_process=True)
            differences.append(used_by_many - used_by_one)
        used = statistics.median(differences)
        # The start of an evaluation is in both, so that the difference is that of the other runs.
        share = 1e3 * used / (learners * permutations - 1)
        yield Figure(
            f"{_words(learners, permutations)}: a run in process, processor time",
            share,
            "ms",
            MOST_MILLISECONDS / share,
            f"{MOST_MILLISECONDS} ms",
            ">= 1.0",
        )
    places: tuple[dict[str, Any], ...] = (
        {"in_process": True},
        {"scheduler": one_worker},
        {"scheduler": two_workers},
    )
    for learners, permutations in SIZES:
        many = _sized_experiment(here / "digits", learners, permutations)
        # Workers load machine code once, which is no part of a run.
        for place in places:
            seconds(_sized_experiment(here / "digits", learners, 2), **place)
        walls = np.array(
            [[seconds(many, **place)[0] for place in places] for _ in range(rounds)]
        )
        gains = np.median(walls / walls[:, 2:], axis=0)
        two = float(np.median(walls[:, 2]))
        what = f"{_words(learners, permutations)} of digits: two workers"
        yield Figure(what, two, "s", float(gains[1]), "one worker", ">= 1.5")
        yield Figure(what, two, "s", float(gains[0]), "in process", ">= 1.5")


def _words(learners: int, permutations: int) -> str:
    noun = "learner" if learners == 1 else "learners"
    return f"{learners} {noun} on {permutations:,} permutations"


def _sized_experiment(dataset: Path, learners: int, permutations: int) -> Experiment:
    chosen: list[dict[str, Any]] = [{"name": name} for name in _LEARNERS[:learners]]
    if learners > len(_LEARNERS):
        values = [2.0 ** (i / 8 - 6) for i in range(learners // 2)]
        chosen = [{"name": name, "params": {"C": values}} for name in ("pa1", "pa2")]
    content = {
        "datasets": [{"path": str(dataset)}],
        "learners": chosen,
        "protocol": {"permutations": permutations},
    }
    return parse_experiment(content, "bench")
