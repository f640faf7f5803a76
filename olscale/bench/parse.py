"""Reading SVMlight text from a plain file to CSR rows, on one core, against scikit-learn."""

from collections import deque
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.datasets import load_svmlight_file

from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.other_learners import scratch
from olscale.bench.workloads.archive import svmlight_text
from olscale.bench.workloads.url_like import chunks
from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.svmlight import read_svmlight


def figures(megabytes: float = 48, rounds: int = 3) -> list[Figure]:
    """Return the speed of both readers on made-up files like a9a and like URL.

    Batches are handed on and dropped, as ingestion does, or collected.
    """
    with scratch() as folder:
        return [
            figure
            for name, rows in (("a9a", _rows_like_adult()), ("URL", _rows_like_url()))
            for figure in _read(
                Path(folder, name),
                rows * max(1, round(megabytes * 1e6 / len(rows))),
                rounds,
            )
        ]


def _read(path: Path, text: bytes, rounds: int) -> list[Figure]:
    path.write_bytes(text)
    peer = f"scikit-learn load_svmlight_file, like {path.name}"
    read = partial(read_svmlight, str(path), ReadOptions())
    table = [
        Contestant(peer, lambda _: load_svmlight_file(path), len(text) / 1e6),
        Contestant(
            f"streamed, like {path.name}",
            lambda _: deque(read(), 0),
            len(text) / 1e6,
            peer=peer,
            target=">= 20",
        ),
        Contestant(
            f"collected, like {path.name}",
            lambda _: list(read()),
            len(text) / 1e6,
            peer=peer,
        ),
    ]
    return compare(table, "MB/s", rounds, perf_counter)


def _rows_like_adult() -> bytes:
    """Return text like a9a: 14 of 123 binary features per row."""
    # Only the shape of the text counts for a reader: the file repeats these rows.
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(2000):
        indices = np.sort(rng.choice(123, 14, replace=False)) + 1
        rows.append(
            f"{rng.choice(('-1', '+1'))} {' '.join(f'{index}:1' for index in indices)} \n"
        )
    return "".join(rows).encode()


def _rows_like_url() -> bytes:
    """Return text like the URL reputation set."""
    (chunk,) = chunks(1000, chunk_rows=1000)
    return bytes(svmlight_text(Batch(chunk.X, 2.0 * chunk.y - 1.0, chunk.columns)))
