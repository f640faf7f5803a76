"""Runs in small and large groups: the time of one in process, and the gain of two workers."""

import statistics
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from olscale.bench.base import Figure
from olscale.data.ingest.ingest import ingest
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.execution.evaluate import evaluate

SIZES = ((1, 1000), (3, 260), (10, 100), (100, 10))
"""Learners, the runs of a group, and permutations, each a stream of its own."""

MOST_MILLISECONDS = 1.2
"""Of processor time that a run may take, on data as small as breast cancer."""

_LEARNERS = ("pa1", "pa", "pa2", "perceptron", "ogd", "arow", "scw1", "lol", "cw", "scw2")


def figures(here: Path, two_workers: str, rounds: int) -> Iterator[Figure]:
    """Yield milliseconds a run in process, and how many times as fast two workers are.

    Parameters
    ----------
    here : Path
        Folder for data and stores.
    two_workers : str
        Address of a scheduler that has them.
    rounds : int
        Over which medians are taken.
    """
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
        single = _experiment(here / "breast_cancer", 1, 1)
        many = _experiment(here / "breast_cancer", learners, permutations)
        seconds(_experiment(here / "breast_cancer", learners, 1), in_process=True)
        used = statistics.median(
            seconds(many, in_process=True)[1] - seconds(single, in_process=True)[1]
            for _ in range(rounds)
        )
        share = 1e3 * used / (learners * permutations - 1)
        yield Figure(
            f"{_words(learners, permutations)}: a run in process, processor time",
            share,
            "ms",
            MOST_MILLISECONDS / share,
            f"{MOST_MILLISECONDS} ms",
            ">= 1.0",
        )
    for learners, permutations in SIZES:
        many = _experiment(here / "digits", learners, permutations)
        for where in ({"in_process": True}, {"scheduler": two_workers}):
            seconds(_experiment(here / "digits", learners, 2), **where)
        pairs = [
            (seconds(many, in_process=True)[0], seconds(many, scheduler=two_workers)[0])
            for _ in range(rounds)
        ]
        gain = statistics.median(in_process / on_workers for in_process, on_workers in pairs)
        walls = statistics.median(on_workers for _, on_workers in pairs)
        yield Figure(
            f"{_words(learners, permutations)} of digits: two workers",
            walls,
            "s",
            gain,
            "in process",
            ">= 1.5",
        )


def _words(learners: int, permutations: int) -> str:
    return (
        f"{learners} {'learner' if learners == 1 else 'learners'} on {permutations:,} permutations"
    )


def _experiment(dataset: Path, learners: int, permutations: int) -> Experiment:
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
