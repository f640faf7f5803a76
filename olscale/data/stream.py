"""A stream: the chunks of one split in the order a learner receives them, transformed.

Chunks are addressed by number, so any process can read a stream from any position: a reference
travels over the network, never the rows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, stack_rows, take_rows
from olscale.data.chunk import Chunk
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.feature_names import FeatureNames, feature_names
from olscale.data.shuffle.subset import ordered_rows
from olscale.data.splits import Part
from olscale.data.transforms.drop import column_of
from olscale.data.transforms.pipeline import Pipeline, fit_transforms
from olscale.errors import DatasetError, UnknownNameError
from olscale.system.memory import default_limit

__all__ = ["Part", "Shuffle", "Stream", "Streams", "delay_position", "open_streams"]

_SAMPLE = 0x53414D504C45
_NEVER = 1 << 60


@dataclass(frozen=True, slots=True)
class Shuffle:
    """Permutation number `index` under `seed`: exact, uniform and the same for every learner."""

    seed: int
    index: int

    def order(self, rows: int) -> NDArray[np.int64]:
        """Return the permutation of ``range(rows)``."""
        # Not their sum: neighbouring seeds would share permutations.
        source = np.random.SeedSequence([self.seed, self.index])
        return np.random.Generator(np.random.PCG64(source)).permutation(rows)


class Stream:
    """Rows of one split, in file order or in a given order, as chunks.

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
    limit : int, optional
        Bytes of memory that an `order` may take; `default_limit` when left out. The chunks do not
        depend on it.
    delay_column : int, optional
        Column of the dataset, counted from 0, with the number of rows after which the label of a
        row is known; chunks then have these `delays`.

    Attributes
    ----------
    rows : int
        Number of rows.
    columns : int
        Number of features after the transforms.
    names : tuple of str
        Names of the first features, as far as transforms do not move them; may be empty.
    """

    def __init__(
        self,
        dataset: Dataset,
        split: str,
        pipeline: Pipeline,
        order: NDArray[np.int64] | None = None,
        limit: int | None = None,
        delay_column: int | None = None,
    ) -> None:
        self.dataset = dataset
        self.split = split
        self.pipeline = pipeline
        self._delay_column = delay_column
        self.rows = dataset.rows(split) if order is None else len(order)
        self.columns = pipeline.width
        names = (dataset.manifest.feature_names or ()) if pipeline.keeps_places else ()
        self.names = (
            names
            if delay_column is None
            else tuple(n for i, n in enumerate(names) if i != delay_column)
        )
        self._ordered = (
            None
            if order is None
            else ordered_rows(dataset, split, order, limit or default_limit())
        )

    def __len__(self) -> int:
        return -(-self.rows // self.dataset.manifest.chunk_rows)

    @property
    def feature_names(self) -> FeatureNames:
        """The names of all features after the transforms."""
        return feature_names(
            self.dataset.manifest,
            (*self.pipeline.steps, *self.pipeline.streaming),
        )

    def first_row(self, i: int) -> int:
        """Return the number of the first row of chunk number `i`."""
        return i * self.dataset.manifest.chunk_rows

    def chunk(self, i: int) -> Chunk:
        """Return chunk `i` transformed; fastest if requested one after another.

        A stream ignores what transforms learn as rows arrive: code that passes through it applies
        `Pipeline.begin`.
        """
        return self.pipeline.apply(self.untransformed(i))

    def untransformed(self, i: int) -> Chunk:
        """Return chunk `i` as it is in the dataset, for `Pipeline.apply`.

        It may be applied to as many rows at once as fit in memory.
        """
        rows = (
            self.dataset.chunk(self.split, i)
            if self._ordered is None
            else self._ordered.chunk(i)
        )
        if self._delay_column is not None:
            rows = replace(rows, delays=self._delays(rows, i))
        return rows

    def _delays(self, rows: Chunk, i: int) -> NDArray[np.int64]:
        assert self._delay_column is not None
        values = column_of(rows.X, self._delay_column)
        fits = (values >= 0.0) & (values == np.floor(values)) & np.isfinite(values)
        if not fits.all():
            wrong = int(np.argmin(fits))
            row = self.first_row(i) + wrong
            name = (self.dataset.manifest.feature_names or ())[self._delay_column]
            raise DatasetError(
                f"{self.dataset.path}: delay column {name!r} was {values[wrong]:g} in row {row} "
                "of the stream, "
                "expected the number of rows after which its label is known: a whole number, 0 or "
                "more"
            )
        # A number beyond int64 would wrap around to a negative delay.
        return np.minimum(values, _NEVER).astype(np.int64)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Yield the chunks from number `start` on."""
        for i in range(start, len(self)):
            yield self.chunk(i)

    def blocks(self) -> Iterator[Chunk]:
        """Yield the rows transformed, in parts of chunks that limit the memory of dense rows."""
        for i in range(len(self)):
            for block in self.pipeline.blocks(self.untransformed(i)):
                yield self.pipeline.apply(block)

    def sample(
        self,
        size: int,
        through: Callable[[Chunk, int], Chunk] = lambda chunk, first: chunk,
    ) -> Rows:
        """Return `size` rows drawn uniformly, in stream order; all of them if there are no more.

        The draw depends only on the number of rows, not on how they are cut into chunks. All chunks
        pass `through` the given function, each with the number of its first row, before rows are
        drawn.
        """
        index = np.arange(self.rows)
        if self.rows > size:
            generator = np.random.Generator(
                np.random.PCG64(np.random.SeedSequence([_SAMPLE]))
            )
            index = np.sort(
                generator.choice(self.rows, size, replace=False, shuffle=False)
            )
        parts = []
        first = 0
        for rows in self.blocks():
            chunk = through(rows, first)
            low, high = np.searchsorted(index, [first, first + len(chunk)])
            parts.append(take_rows(chunk.X, index[low:high] - first))
            first += len(chunk)
        return stack_rows(parts)


@dataclass(frozen=True, slots=True)
class Streams:
    """The stream to learn from and, if there is one, the stream to test on."""

    train: Stream
    test: Stream | None


def open_streams(
    path: str | Dataset,
    transforms: Sequence[str] = (),
    shuffle: Shuffle | None = None,
    part: Part | None = None,
    projection: int = 0,
    limit: int | None = None,
    delay_column: int | None = None,
    fitted: Pipeline | None = None,
) -> Streams:
    """Open the dataset at `path` for learning and testing, with transforms fitted on training rows.

    Parameters
    ----------
    path : str or Dataset
        Path of the dataset, or an open dataset.
    transforms : sequence of str
        Transforms with their parameters.
    shuffle : Shuffle, optional
        Order of the rows to learn from; file order when left out.
    part : Part, optional
        The rows of the training split that train; the others replace the test split.
    projection : int
        Number of the random projection, where there is one.
    limit : int, optional
        Bytes of memory that rows out of file order may take; half the machine's when left out. Only
        memory and speed depend on it.
    delay_column : int, optional
        Column of the dataset, counted from 0, with the number of rows after which the label of a
        row is known; it is no feature.
    fitted : Pipeline, optional
        The transforms, if they are fitted already.

    Raises
    ------
    ParameterError
        If the limit is too small for the order of the rows and a few chunks.

    Examples
    --------
    >>> from olscale.data.generators import generate
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/rotating-xor"
    >>> dataset = generate("rotating-xor", path, seed=0)
    >>> part = Part("kfold", seed=0, fold=0, folds=5)
    >>> streams = open_streams(path, ["bias"], Shuffle(seed=0, index=0), part)
    >>> streams.train.rows, streams.train.columns, streams.test.rows
    (800, 3, 200)
    """
    dataset = path if isinstance(path, Dataset) else open_dataset(path)
    path = dataset.path
    pipeline = fitted or _fitted(
        dataset, tuple(transforms), part, projection, limit, delay_column
    )
    if part is None:
        order = None
        if shuffle is not None:
            order = shuffle.order(dataset.rows("train"))
        test = None
        if "test" in dataset.splits:
            test = Stream(dataset, "test", pipeline)
        return Streams(
            Stream(dataset, "train", pipeline, order, limit, delay_column), test
        )
    rows, held_out = part.rows(_labels(path, dataset.fingerprint, part.reads_labels))
    if shuffle is not None:
        rows = rows[shuffle.order(len(rows))]
    # After the permutation: the first rows of a file may be of one class.
    rows = rows[: max(1, int(part.share * len(rows)))]
    train = Stream(dataset, "train", pipeline, rows, limit, delay_column)
    return Streams(train, Stream(dataset, "train", pipeline, held_out, limit))


def delay_position(dataset: Dataset, name: str) -> int:
    """Return the position of the column of `dataset` called `name`.

    Raises
    ------
    DatasetError
        If its columns have no names, or it is the only column.
    UnknownNameError
        If there is no such column.
    """
    names = dataset.manifest.feature_names
    if names is None:
        raise DatasetError(
            f"delay was the column {name!r}, but the columns of dataset {dataset.path} have no "
            "names; ingest it from a "
            "table with a header, or give delay as a number of rows"
        )
    if name not in names:
        raise UnknownNameError(f"column of {dataset.name}", name, names)
    if len(names) == 1:
        why = f"the only one of dataset {dataset.path}: no feature would be left"
        raise DatasetError(f"delay was the column {name!r}, {why}")
    return names.index(name)


# The newest fitted pipelines, by dataset and by everything that the fit depends on.
_FITTED: dict[tuple[object, ...], Pipeline] = {}

_MOST_FITTED = 16


def _fitted(
    dataset: Dataset,
    transforms: tuple[str, ...],
    part: Part | None,
    projection: int,
    limit: int | None,
    dropped: int | None,
) -> Pipeline:
    if part is not None:
        # A stream that ends early has the transforms of the one that continues.
        part = replace(part, share=1.0)
    key = (
        dataset.path,
        dataset.fingerprint,
        transforms,
        part,
        projection,
        limit,
        dropped,
    )
    pipeline = _FITTED.get(key)
    if pipeline is None:
        # Without transforms: these are the rows that they are fitted on.
        train = Stream(
            dataset, "train", fit_transforms((), lambda: iter(()), dataset.columns)
        )
        # Transforms must not see the rows that the part holds out.
        if part is not None and transforms:
            rows, _ = part.rows(
                _labels(dataset.path, dataset.fingerprint, part.reads_labels)
            )
            train = Stream(dataset, "train", train.pipeline, rows, limit)
        pipeline = fit_transforms(
            transforms,
            train.chunks,
            dataset.columns,
            projection,
            dropped,
            dataset.manifest,
        )
        # Another thread of a worker may remove the oldest entry at the same time.
        if len(_FITTED) >= _MOST_FITTED:
            _FITTED.pop(next(iter(_FITTED)), None)
        _FITTED[key] = pipeline
    return pipeline


@lru_cache(maxsize=2)
def _labels(path: str, fingerprint: str, read: bool) -> NDArray[np.int64]:
    """Return the class codes of the training split, or zeros if only their number matters."""
    dataset = open_dataset(path)
    if not read:
        # A broadcast scalar takes no memory.
        return np.broadcast_to(np.int64(0), dataset.rows("train"))
    return np.concatenate([chunk.y for chunk in dataset.chunks("train")])
