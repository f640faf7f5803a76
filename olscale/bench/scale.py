"""From a published archive to results: ingest, layouts, a stream through learners, and memory.

The size of the made-up URL stream is chosen with ``--rows``; 2,396,130 is that of the real set.
What says "one core" is kept to one core of the machine, with all its threads; the rest may use all.
"""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from time import perf_counter
from typing import Any

from olscale.bench import other_learners
from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.linear import feed, untrained
from olscale.bench.workloads import generate, generate_archive
from olscale.bench.workloads.url_like import ROWS as URL_ROWS
from olscale.bench.workloads.webspam_like import ROWS as WEBSPAM_ROWS
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.experiment_sections import DatasetSpec
from olscale.evaluation.pipelines import load_pipeline
from olscale.execution.evaluate import evaluate

_WATCH_SECONDS = 0.05
_VW = "Vowpal Wabbit --sgd"


def _unsaid(note: str) -> None:
    """Take a note on the archive: that its file without rows is passed over is known."""
    del note


def figures(rows: int = 100_000, rounds: int = 3) -> list[Figure]:
    """Return the figures of a URL-like stream of `rows` rows, then those of WEBSPAM-like rows.

    The number of the latter is in proportion.
    """
    with other_learners.scratch() as folder:
        results = _url(Path(folder), rows, rounds)
        return results + _webspam(
            Path(folder), max(1, rows * WEBSPAM_ROWS // URL_ROWS), rounds
        )


def _url(folder: Path, rows: int, rounds: int) -> list[Figure]:
    archive = str(folder / "url_svmlight.tar.gz")
    start = perf_counter()
    _, size = generate_archive("url-like", archive, rows=rows)
    speed = size / 1e6 / (perf_counter() - start)
    note = f"{size / 1e6:,.0f} MB of text"
    results = [Figure("write the archive", speed, "MB/s", note=note)]
    results += _ingests(archive, size / 1e6, folder, rounds)
    datasets = {layout: open_dataset(folder / layout) for layout in ("parquet", "zarr")}
    results += [
        Figure(f"size in {name}", dataset.size() / rows, "bytes a row")
        for name, dataset in datasets.items()
    ]
    with one_core():
        results += _stored(datasets, folder, rounds)
    return [*results, *_stream("url-like", datasets["zarr"], folder)]


def _ingests(archive: str, megabytes: float, folder: Path, rounds: int) -> list[Figure]:
    """Return how fast an archive becomes a dataset, in turns, and an uncounted round's result."""
    few = str(folder / "few.tar.gz")
    generate_archive("url-like", few, rows=200)
    usages: dict[str, list[Usage]] = {}

    def contestant(layout: str, cores: str) -> Contestant:
        name = f"ingest to {layout}, {cores}"
        dest = folder / layout
        usages[name] = []
        # Compiles the compiled loops, or loads them.
        ingest(
            few,
            folder / f"few-{layout}-{cores}",
            segments="files",
            layout=layout,
            note=_unsaid,
        )

        def run(_: object) -> None:
            # The watch is not on the core that is timed.
            with (
                measured() as usage,
                one_core() if cores == "one core" else nullcontext(),
            ):
                ingest(archive, dest, segments="files", layout=layout, note=_unsaid)
            usages[name].append(usage)

        return Contestant(
            name, run, megabytes, lambda: shutil.rmtree(dest, ignore_errors=True)
        )

    table = [
        contestant(*how)
        for how in (
            ("parquet", "one core"),
            ("zarr", "one core"),
            ("zarr", "all cores"),
        )
    ]
    results = compare(table, "MB/s", rounds, perf_counter)
    notes = [
        f"{megabytes / of[0].seconds:.0f} in the round before; "
        f"{max(of, key=attrgetter('peak')).note}"
        for of in usages.values()
    ]
    return [
        replace(figure, note=note) for figure, note in zip(results, notes, strict=True)
    ]


def _webspam(folder: Path, rows: int, rounds: int) -> list[Figure]:
    layouts = ("parquet", "zarr")
    datasets = [
        generate("webspam-like", folder / f"webspam-{of}", rows=rows, layout=of)
        for of in layouts
    ]
    with one_core():
        table = [
            _pa1(f"webspam-like, {of}", dataset)
            for of, dataset in zip(layouts, datasets, strict=True)
        ]
        results = compare(table, "M rows/s", rounds, perf_counter)
    return [*results, *_stream("webspam-like", datasets[1], folder)]


def _stored(datasets: dict[str, Dataset], folder: Path, rounds: int) -> list[Figure]:
    """Return how fast stored files become a PA-I model, against Vowpal Wabbit's own cache."""
    absent = other_learners.missing(_VW, "vowpalwabbit")
    peer = "" if absent else _VW
    table = [
        _pa1(layout, dataset, peer, ">= 2" if peer else "")
        for layout, dataset in datasets.items()
    ]
    if not absent:
        table.append(
            other_learners.vowpal_wabbit(list(_spread(datasets["zarr"])), str(folder))
        )
    return [*compare(table, "M rows/s", rounds, perf_counter), *absent]


def _spread(dataset: Dataset) -> Iterator[Any]:
    """Yield chunks at one and two thirds of the stream, since its start has few features."""
    count = dataset.chunk_count()
    for i in sorted({count // 3, 2 * count // 3}):
        yield dataset.chunk("train", i)


def _pa1(name: str, dataset: Dataset, peer: str = "", target: str = "") -> Contestant:
    fresh = partial(untrained, "pa1", {"C": 1.0}, dataset.chunk("train", 0))
    work = dataset.rows() / 1e6
    return Contestant(
        f"PA-I from {name}",
        lambda model: feed(model, dataset.chunks()),
        work,
        fresh,
        peer,
        target,
    )


def _stream(name: str, dataset: Dataset, folder: Path) -> list[Figure]:
    """Return the time of all learners of ``pipelines/url.toml``, in time order, on two workers."""
    learners = stream_learners()
    content = {"name": name, "datasets": [{"path": dataset.path}], "learners": learners}
    experiment = parse_experiment(content | {"protocol": {"order": "time"}})
    # Compiles the compiled loops, or loads them.
    few = generate(name, folder / f"{name}-few", rows=200)
    warm = experiment.model_copy(update={"datasets": (DatasetSpec(path=few.path),)})
    evaluate(warm, folder / f"{name}-warm", in_process=True)
    with measured() as usage:
        evaluation = evaluate(experiment, folder / f"{name}-store", workers=2)
    outcomes = evaluation.store.read(["outcome"])["outcome"].to_pylist()
    failed = sum(outcome != "ok" for outcome in outcomes)
    note = f"{dataset.rows():,} rows, {usage.note}, start of the cluster included"
    note += f", {failed} failed" if failed else ""
    return [
        Figure(
            f"{name} through {len(learners)} learners, 2 workers",
            usage.seconds,
            "s",
            note=note,
        )
    ]


def stream_learners() -> list[dict[str, Any]]:
    """Return the learners of the pipeline ``url``."""
    return [
        spec.model_dump(include={"name", "params"})
        for spec in load_pipeline("url").learners
    ]


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this thread, and those it starts, to one core, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass
class Usage:
    """The seconds of a block, and the peak bytes of this process and all below it."""

    seconds: float = 0.0
    peak: int = 0

    @property
    def note(self) -> str:
        """The memory in words."""
        return f"at most {self.peak / 1e9:.2f} GB resident"


@contextmanager
def measured() -> Iterator[Usage]:
    """Measure the block; what is yielded is filled in meanwhile, and complete at the end."""
    import psutil

    own = psutil.Process()
    usage = Usage()
    stop = threading.Event()
    start = perf_counter()

    def watch() -> None:
        while True:
            total = own.memory_info().rss
            # Workers may end between the list and the look at one of them.
            for process in own.children(recursive=True):
                with suppress(psutil.Error):
                    total += process.memory_info().rss
            usage.peak = max(usage.peak, int(total))
            if stop.wait(_WATCH_SECONDS):
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield usage
    finally:
        usage.seconds = perf_counter() - start
        stop.set()
        thread.join()
