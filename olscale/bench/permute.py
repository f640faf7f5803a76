"""A permutation out of core against file order: both read a dataset from disk and feed PA-I."""

import multiprocessing
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.linear import learner
from olscale.bench.workloads import generate, url_like
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.stream import Shuffle, open_streams


def figures(rounds: int = 5, rows: int = 300_000) -> list[Figure]:
    """Return speeds and memory peaks for URL-like rows in both layouts, at an eighth of memory."""
    with tempfile.TemporaryDirectory(prefix="olscale-bench-") as folder:
        paths = {layout: f"{folder}/{layout}" for layout in ("parquet", "zarr")}
        return [
            figure
            for layout, path in paths.items()
            for figure in _layout(path, layout, rows, rounds)
        ]


def _layout(path: str, layout: str, rows: int, rounds: int) -> list[Figure]:
    dataset = generate(
        "url-like",
        path,
        rows=rows,
        layout=layout,
        chunk_rows=min(8_192, rows // 48),
    )
    generate("url-like", f"{path}-few", rows=480, layout=layout, chunk_rows=10)
    # Far below the rows' size, or they would be permuted in memory.
    limit = _limit(dataset)
    prepare = learner("pa1", {}, [dataset.chunk("train", 0)]).prepare
    in_order = f"PA-I, file order, {layout}"
    permuted = f"PA-I, permuted out of core, {layout}"
    orders = {in_order: None, permuted: Shuffle(0, 0)}
    run = {
        name: partial(_pass, path=path, limit=limit, shuffle=shuffle)
        for name, shuffle in orders.items()
    }
    table = [
        Contestant(in_order, run[in_order], rows / 1e6, prepare),
        Contestant(permuted, run[permuted], rows / 1e6, prepare, in_order, ">= 0.5"),
    ]
    results = compare(table, "M rows/s", rounds, perf_counter)
    if sys.platform != "linux":
        return [
            *results,
            Figure(f"peak memory, {layout}", note="measured on Linux only"),
        ]
    for name, shuffle in orders.items():
        # A process of its own: the peak of this one is that of all it ever did.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            peak = process.submit(_peak, path, limit, shuffle).result()
        target = ">= 1" if shuffle else ""
        results.append(
            Figure(
                f"peak memory: {name}",
                peak / 1e6,
                "MB",
                limit / peak,
                "limit over peak",
                target,
            )
        )
    return results


def _limit(dataset: Dataset) -> int:
    """Return an eighth of the size of the rows in memory."""
    return (dataset.nonzeros() * 12 + dataset.rows() * 16) // 8


def _pass(model: Any, path: str, limit: int, shuffle: Shuffle | None) -> None:
    for chunk in open_streams(path, shuffle=shuffle, limit=limit).train.chunks():
        model.learn(chunk.X, chunk.y)
        del chunk  # or there would be two when the next is read


def _peak(path: str, limit: int, shuffle: Shuffle | None) -> int:
    """Return how many bytes a process with an untrained learner grows in its first pass (Linux)."""
    model = learner("pa1", {}, list(url_like.chunks(100))).prepare()
    # Code is loaded, and is not counted.
    few = f"{path}-few"
    _pass(model, few, _limit(open_dataset(few)), shuffle)
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = _resident("VmRSS")
    _pass(model, path, limit, shuffle)
    return _resident("VmHWM") - before


def _resident(what: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    [kilobytes] = [line.split()[1] for line in lines if line.startswith(what)]
    return int(kilobytes) * 1024
