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

from olscale.data.chunk import Chunk, Rows, stack_rows, take_rows
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.parts import Part
from olscale.data.transforms import Pipeline, fit_transforms
from olscale.errors import DatasetError

__all__ = ["Part", "Shuffle", "Stream", "Streams", "open_streams"]

_RESIDENT_BYTES = 4 << 30
_SAMPLE = 0x53414D504C45


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
    """Rows of one split, in file order or in an order given, as chunks.

    Parameters
    ----------
    dataset : Dataset
        Source of the rows.
    split : str
        ``"train"`` or ``"test"``.
    pipeline : Pipeline
        Fitted transforms.
    order : int64 array of shape (rows,), optional
        Which rows of the split, in which order; all in file order when left out.

    Attributes
    ----------
    rows : int
        Number of rows.
    columns : int
        Number of features after the transforms.
    """

    def __init__(
        self, dataset: Dataset, split: str, pipeline: Pipeline, order: NDArray[np.int64] | None = None
    ) -> None:
        self.dataset, self.split, self.pipeline = dataset, split, pipeline
        self.rows = dataset.rows(split) if order is None else len(order)
        self.columns = pipeline.width
        self._order = order

    def __len__(self) -> int:
        if self._order is None:
            return self.dataset.chunk_count(self.split)
        return -(-self.rows // self.dataset.manifest.chunk_rows)

    def first_row(self, i: int) -> int:
        """Return the number of the first row of chunk number `i`."""
        return i * self.dataset.manifest.chunk_rows

    def chunk(self, i: int) -> Chunk:
        """Return chunk number `i`."""
        if self._order is None:
            return self.pipeline.apply(self.dataset.chunk(self.split, i))
        size = self.dataset.manifest.chunk_rows
        whole = _resident(self.dataset.path, self.dataset.fingerprint, self.split)
        index = self._order[i * size : (i + 1) * size]
        return self.pipeline.apply(Chunk(take_rows(whole.X, index), whole.y[index], whole.columns))

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Yield the chunks from number `start` on."""
        for i in range(start, len(self)):
            yield self.chunk(i)

    def sample(self, size: int) -> Rows:
        """Return `size` rows drawn uniformly, in the order of the stream; all of them if there are no more.

        The draw depends on the number of rows alone, not on how they are cut into chunks.
        """
        wanted = np.arange(self.rows)
        if self.rows > size:
            generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([_SAMPLE])))
            wanted = np.sort(generator.choice(self.rows, size, replace=False, shuffle=False))
        parts, first = [], 0
        for chunk in self.chunks():
            low, high = np.searchsorted(wanted, [first, first + len(chunk)])
            parts.append(take_rows(chunk.X, wanted[low:high] - first))
            first += len(chunk)
        return stack_rows(parts)


@dataclass(frozen=True, slots=True)
class Streams:
    """The stream to learn from and, if there is one, the stream to test on.

    Attributes
    ----------
    train : Stream
    test : Stream or None
    """

    train: Stream
    test: Stream | None


def open_streams(
    path: str,
    transforms: Sequence[str] = (),
    shuffle: Shuffle | None = None,
    part: Part | None = None,
    projection: int = 0,
) -> Streams:
    """Open the dataset at `path` to learn from and to test on; transforms are fitted on the rows that train.

    Parameters
    ----------
    path : str
        Dataset.
    transforms : sequence of str
        Transforms with their parameters.
    shuffle : Shuffle, optional
        Order of the rows to learn from; file order when left out.
    part : Part, optional
        Which rows of the training split train, and which are tested on in place of the test split.
    projection : int
        Number of the random projection, where there is one.

    Examples
    --------
    >>> from olscale.data.generators import generate
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/rotating-xor"
    >>> dataset = generate("rotating-xor", path, seed=0)
    >>> streams = open_streams(path, ["bias"], Shuffle(seed=0, index=0), Part("kfold", seed=0, fold=0, folds=5))
    >>> streams.train.rows, streams.train.columns, streams.test.rows
    (800, 3, 200)
    """
    dataset = open_dataset(path)
    pipeline = _fitted(path, dataset.fingerprint, tuple(transforms), part, projection)
    if part is None:
        order = None if shuffle is None else shuffle.order(dataset.rows("train"))
        test = Stream(dataset, "test", pipeline) if "test" in dataset.splits else None
        return Streams(Stream(dataset, "train", pipeline, order), test)
    rows, held_out = part.rows(_resident(path, dataset.fingerprint, "train").y)
    rows = rows if shuffle is None else rows[shuffle.order(len(rows))]
    return Streams(Stream(dataset, "train", pipeline, rows), Stream(dataset, "train", pipeline, held_out))


@lru_cache(maxsize=16)
def _fitted(path: str, fingerprint: str, transforms: tuple[str, ...], part: Part | None, projection: int) -> Pipeline:
    dataset = open_dataset(path)
    whole = Stream(dataset, "train", fit_transforms((), lambda: iter(()), dataset.columns))
    if part is not None:
        rows, _ = part.rows(_resident(path, fingerprint, "train").y)
        whole = Stream(dataset, "train", whole.pipeline, rows)
    return fit_transforms(transforms, whole.chunks, dataset.columns, projection)


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
    return Chunk(stack_rows([part.X for part in parts]), np.concatenate([part.y for part in parts]), dataset.columns)
