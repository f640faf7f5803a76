"""From stored files to PA-I's model, step by step, and what reading ahead or another codec would change.

Steps take turns in one process and are timed by the processor, so that their shares hold on a busy
machine. Reading ahead in a thread is timed by the clock on the wall: it can only gain where a core
is free.
"""

import statistics
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numcodecs.blosc import Blosc

from olscale.bench import peers
from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.linear import feed, untrained
from olscale.bench.workloads import generate
from olscale.compiled.csr import CSR
from olscale.data.chunk import Chunk
from olscale.data.dataset import Dataset
from olscale.data.layouts import SplitShape, open_reader
from olscale.data.layouts.base import crc32
from olscale.storage.open import open_storage

_AS_STORED = "lz4 level 5"
_LEVELS = {"lz4": (1, 5, 9), "zstd": (1, 3)}


def figures(rows: int = 100_000, rounds: int = 5) -> list[Figure]:
    """Return the figures of URL-like rows in both layouts, then those of a tenth as many dense rows like WEBSPAM."""
    found = []
    with peers.scratch() as folder:
        for workload, count in (("url-like", rows), ("webspam-like", rows // 10)):
            for layout in ("parquet", "zarr"):
                dataset = generate(
                    workload, f"{folder}/{workload}-{layout}", rows=count, layout=layout
                )
                found += _steps(f"{workload}, {layout}", dataset, rounds)
            found += _codecs(workload, dataset, rounds)
    return found


def _steps(name: str, dataset: Dataset, rounds: int) -> list[Figure]:
    """Return the share of each step of reading and learning, and the gain of a thread that reads ahead."""
    entry, manifest, count = (
        dataset.manifest.splits["train"],
        dataset.manifest,
        dataset.chunk_count(),
    )
    shape = SplitShape(
        "train",
        manifest.kind,
        manifest.stored_columns,
        entry.rows,
        manifest.chunk_rows,
        entry.files,
    )
    reader = open_reader(manifest.layout, open_storage(dataset.path), shape)
    files = [path for path in (Path(dataset.path) / "train").rglob("*") if path.is_file()]
    contents = [path.read_bytes() for path in files]
    chunks = list(dataset.chunks())
    fresh = partial(untrained, "pa1", {"C": 1.0}, chunks[0])

    steps: dict[str, Callable[[Any], object]] = {
        "bytes of the files": lambda _: [path.read_bytes() for path in files],
        "bytes, checked, decompressed and unpacked": lambda _: [
            reader.read(i) for i in range(count)
        ],
        "checksum": lambda _: [crc32(content) for content in contents],
        "all of reading": lambda _: [dataset.chunk("train", i) for i in range(count)],
        "learning": lambda model: feed(model, chunks),
        "all": lambda model: feed(model, dataset.chunks()),
    }
    seconds: dict[str, list[float]] = {step: [] for step in steps}
    for number in range(rounds + 1):
        for step, run in steps.items():
            model = fresh()
            start = process_time()
            run(model)
            if number:
                seconds[step].append(process_time() - start)
    found = []
    for step, own in seconds.items():
        share = statistics.median(a / b for a, b in zip(own, seconds["all"], strict=True))
        micros = 1e6 * statistics.median(own) / dataset.rows()
        found.append(
            Figure(f"{step}; {name}", micros, "us a row", share, "all, of which it is a share")
        )
    straight, ahead = f"reading and learning in turns; {name}", f"reading ahead in a thread; {name}"
    work = dataset.rows() / 1e6
    table = [
        Contestant(straight, lambda model: feed(model, dataset.chunks()), work, fresh),
        Contestant(
            ahead, lambda model: feed(model, read_ahead(dataset.chunks())), work, fresh, straight
        ),
    ]
    found += compare(table, "M rows/s", rounds, perf_counter)
    by_processor = compare(table, "M rows/s", rounds)[1]
    return [
        *found,
        Figure(
            f"the same by the processor; {name}",
            by_processor.value,
            "M rows/s",
            by_processor.ratio,
            straight,
        ),
    ]


def read_ahead(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield chunks of which the next is read by a thread meanwhile; at most two are in memory beside it."""
    following = iter(chunks)
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, following, None)
        while (chunk := coming.result()) is not None:
            coming = thread.submit(next, following, None)
            yield chunk


def _codecs(name: str, dataset: Dataset, rounds: int) -> list[Figure]:
    """Return how fast codecs decompress the arrays of a dataset, shuffled as Zarr has them, and what they leave of a row."""
    arrays = [array for chunk in dataset.chunks() for array in _arrays(chunk.X)]
    made = [("uncompressed", "", 0)]
    made += [
        (f"{codec} level {level}", codec, level)
        for codec, levels in _LEVELS.items()
        for level in levels
    ]
    table = []
    for title, codec, level in made:
        codecs = [Blosc(codec, level, shuffle) if codec else None for _, shuffle in arrays]
        packed = [
            array.tobytes() if of is None else of.encode(array)
            for of, (array, _) in zip(codecs, arrays, strict=True)
        ]
        outs = [np.empty_like(array) for array, _ in arrays]
        note = f"{sum(map(len, packed)) / dataset.rows():.0f} bytes a row"
        run, peer = _decompress(codecs, packed, outs), f"{_AS_STORED}; {name}"
        table.append(
            Contestant(f"{title}; {name}", run, dataset.rows() / 1e6, peer=peer, note=note)
        )
    return compare(table, "M rows/s", rounds)


def _arrays(X: Any) -> list[tuple[Any, int]]:
    """Return the arrays of rows, and whether their bytes are shuffled."""
    return (
        [(X.indices, Blosc.SHUFFLE), (X.data, Blosc.NOSHUFFLE)]
        if isinstance(X, CSR)
        else [(X, Blosc.SHUFFLE)]
    )


def _decompress(
    codecs: list[Any], packed: list[bytes], outs: list[Any]
) -> Callable[[object], None]:
    def run(_: object) -> None:
        for codec, data, out in zip(codecs, packed, outs, strict=True):
            if codec is None:
                out.view(np.uint8).reshape(-1)[:] = np.frombuffer(data, np.uint8)
            else:
                codec.decode(data, out)

    return run
