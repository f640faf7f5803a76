"""How fast SVMlight text is parsed, as a ratio against scikit-learn on the same file in one process."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from olscale.bench.workloads.url_like import chunks
from olscale.compiled.csr import to_csr
from olscale.data.formats.base import ReadOptions
from olscale.data.formats.svmlight import read_svmlight

__all__ = ["bench_svmlight", "text_like_adult", "text_like_url"]


def text_like_adult(megabytes: float, seed: int = 0) -> bytes:
    """Return text like a9a: 14 of 123 binary features a row."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(2000):
        indices = np.sort(rng.choice(123, 14, replace=False)) + 1
        rows.append(f"{rng.choice(('-1', '+1'))} {' '.join(f'{index}:1' for index in indices)} \n")
    return _repeated("".join(rows).encode(), megabytes)


def text_like_url(megabytes: float, seed: int = 0) -> bytes:
    """Return text like the URL reputation set, from rows of the generator `url-like`."""
    (chunk,) = chunks(1000, chunk_rows=1000, seed=seed)
    X = to_csr(chunk.X)
    rows = []
    for i, code in enumerate(chunk.y):
        span = slice(int(X.indptr[i]), int(X.indptr[i + 1]))
        pairs = [f"{index + 1}:{value:g}" for index, value in zip(X.indices[span], X.data[span], strict=True)]
        rows.append(f"{'+1' if code else '-1'} {' '.join(pairs)}\n")
    return _repeated("".join(rows).encode(), megabytes)


def bench_svmlight(source: str | None = None, megabytes: float = 48, repeats: int = 3) -> dict[str, float]:
    """Measure reading of SVMlight text end to end: from a plain file to CSR rows, on one core.

    Parameters
    ----------
    source : str, optional
        Plain text file; `text_like_url` when left out.
    megabytes : float
        Size of the text made up when there is no `source`.
    repeats : int
        The best of so many readings counts, for either reader.

    Returns
    -------
    dict of str to float
        ``megabytes`` (10**6 bytes), ``megabytes_per_second`` (batches handed on and dropped, as ingestion does),
        ``collected_megabytes_per_second`` (all batches kept), ``sklearn_megabytes_per_second``, ``ratio`` (of the first
        to the third) and ``collected_ratio``.
    """
    if source is None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.svm"
            path.write_bytes(text_like_url(megabytes))
            return bench_svmlight(str(path), repeats=repeats)
    from sklearn.datasets import load_svmlight_file

    def stream() -> None:
        for _ in read_svmlight(source, ReadOptions()):
            pass

    size = Path(source).stat().st_size / 1e6
    next(iter(read_svmlight(source, ReadOptions(chunk_rows=1))))  # compiles or loads the compiled loop
    streamed = size / _best(stream, repeats)
    collected = size / _best(lambda: list(read_svmlight(source, ReadOptions())), repeats)
    peer = size / _best(lambda: load_svmlight_file(source), repeats)
    return {
        "megabytes": size,
        "megabytes_per_second": streamed,
        "collected_megabytes_per_second": collected,
        "sklearn_megabytes_per_second": peer,
        "ratio": streamed / peer,
        "collected_ratio": collected / peer,
    }


def _best(task: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _repeated(block: bytes, megabytes: float) -> bytes:
    return block * max(1, round(megabytes * 1e6 / len(block)))
