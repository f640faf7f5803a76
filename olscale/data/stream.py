"""A stream: the chunks of one split in the order a learner meets them, transformed.

Chunks are addressed by number, so a stream can be read from any position, by any process: what travels over the network is
a reference, never the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from olscale.data.chunk import CSR, Chunk, Rows, take_rows
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.transforms import Pipeline, fit_transforms
from olscale.errors import DatasetError

__all__ = ["Shuffle", "Stream", "open_stream"]

_RESIDENT_BYTES = 4 << 30


@dataclass(frozen=True, slots=True)
class Shuffle:
    """The order of permutation number `index` under `seed`: exact, uniform and the same for every learner."""

    seed: int
    index: int

    def order(self, rows: int) -> NDArray[np.int64]:
        """Return the permutation of ``range(rows)``."""
        source = np.random.SeedSequence([self.seed, self.index])
        return np.random.Generator(np.random.PCG64(source)).permutation(rows)


class Stream:
    """The chunks of one split, in file order or shuffled.

    Parameters
    ----------
    dataset : Dataset
        Source of the rows.
    split : str
        ``"train"`` or ``"test"``.
    pipeline : Pipeline
        Fitted transforms.
    shuffle : Shuffle, optional
        Order; file order when left out.

    Attributes
    ----------
    rows : int
        Number of rows.
    columns : int
        Number of features after the transforms.
    """

    def __init__(self, dataset: Dataset, split: str, pipeline: Pipeline, shuffle: Shuffle | None = None) -> None:
        self.dataset, self.split, self.pipeline = dataset, split, pipeline
        self.rows, self.columns = dataset.rows(split), pipeline.width
        self._order = None if shuffle is None else shuffle.order(self.rows)

    def __len__(self) -> int:
        return self.dataset.chunk_count(self.split)

    def chunk(self, i: int) -> Chunk:
        """Return chunk number `i`."""
        if self._order is None:
            return self.pipeline.apply(self.dataset.chunk(self.split, i))
        starts = [*self.dataset.chunk_starts(self.split), self.rows]
        whole = _resident(self.dataset.path, self.dataset.fingerprint, self.split)
        index = self._order[starts[i] : starts[i + 1]]
        return self.pipeline.apply(Chunk(take_rows(whole.X, index), whole.y[index], whole.columns))

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Yield the chunks from number `start` on."""
        for i in range(start, len(self)):
            yield self.chunk(i)


def open_stream(path: str, split: str, transforms: Sequence[str] = (), shuffle: Shuffle | None = None) -> Stream:
    """Open a split of the dataset at `path` as a stream; transforms are fitted on the training split.

    Examples
    --------
    >>> from olscale.data.generators import generate
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/rotating-xor"
    >>> dataset = generate("rotating-xor", path, seed=0)
    >>> stream = open_stream(path, "train", ["bias"], Shuffle(seed=0, index=0))
    >>> stream.rows, stream.columns
    (1000, 3)
    """
    dataset = open_dataset(path)
    return Stream(dataset, split, _fitted(path, dataset.fingerprint, tuple(transforms)), shuffle)


@lru_cache(maxsize=16)
def _fitted(path: str, fingerprint: str, transforms: tuple[str, ...]) -> Pipeline:
    dataset = open_dataset(path)
    return fit_transforms(transforms, lambda: dataset.chunks("train"), dataset.columns)


@lru_cache(maxsize=2)
def _resident(path: str, fingerprint: str, split: str) -> Chunk:
    """Return a whole split: a shuffled stream visits its rows in no order that a disk would like."""
    dataset = open_dataset(path)
    width = dataset.columns if dataset.kind == "dense" else dataset.nonzeros(split) / max(1, dataset.rows(split)) * 1.5
    size = int(dataset.rows(split) * width * 8)
    if size > _RESIDENT_BYTES:
        raise DatasetError(
            f"{path}: a permutation of its {split} split needs {size / 2**30:.1f} GiB in memory, the limit is "
            f"{_RESIDENT_BYTES / 2**30:.0f} GiB; use order = 'time'"
        )
    parts = list(dataset.chunks(split))
    return Chunk(_stack([part.X for part in parts]), np.concatenate([part.y for part in parts]), dataset.columns)


def _stack(parts: list[Rows]) -> Rows:
    if not isinstance(parts[0], CSR):
        return np.concatenate(parts)
    sparse = [part for part in parts if isinstance(part, CSR)]
    spans = [slice(int(part.indptr[0]), int(part.indptr[-1])) for part in sparse]
    lengths = np.concatenate([np.diff(part.indptr) for part in sparse])
    return CSR(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([part.indices[span] for part, span in zip(sparse, spans, strict=True)]),
        np.concatenate([part.data[span] for part, span in zip(sparse, spans, strict=True)]),
    )
