"""A dataset of some rows of another: fewer of them, or with some held out as a test split."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.data.dataset import Dataset, open_dataset
from olscale.data.formats.base import Batch
from olscale.data.ingest.claim import claim
from olscale.data.ingest.members import Member
from olscale.data.ingest.writer import DatasetWriter
from olscale.data.labels import Labels
from olscale.data.manifest import SourceEntry
from olscale.data.shuffle.subset import Subset
from olscale.errors import ParameterError
from olscale.system.paths import path_text
from olscale.task import NOVEL

_DRAW = 0x524F5753


# A dataset of its own, so that fingerprints, tuning and tests need nothing new: slow learners
# cannot go through whole sets, and ranks need the same rows for all.
def sample(dataset: Dataset, dest: str | os.PathLike[str], rows: int) -> Dataset:
    """Write `rows` rows of each split, drawn uniformly without replacement, in their order.

    Parameters
    ----------
    dataset : Dataset
    dest : path
        New directory.
    rows : int
        Largest number of rows of a split; a smaller split is kept completely. The draw depends only
        on the numbers of rows.

    Raises
    ------
    ParameterError, DatasetError
        For a number out of range, a `dest` that is taken.

    Examples
    --------
    >>> from olscale.data.generators import generate
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> sample(generate("rotating-xor", f"{folder}/xor"), f"{folder}/xor-50", 50).rows()
    50
    """
    if rows < 1:
        raise ParameterError(f"rows is {rows}, expected at least 1")
    parts = [
        _Part(split, drawn(dataset.rows(split), rows), split)
        for split in dataset.splits
    ]
    return _write(dataset, dest, {"rows": rows}, parts)


def hold_out(
    dataset: Dataset, dest: str | os.PathLike[str], test_share: float
) -> Dataset:
    """Write a dataset with one split as one with two: some of its rows become the test split.

    Parameters
    ----------
    dataset : Dataset
    dest : path
        New directory.
    test_share : float
        Share of the rows that test, above 0 and below 1. They are drawn uniformly without
        replacement; the draw depends only on their number and the number of rows. Both splits keep
        the order of the rows.

    Raises
    ------
    ParameterError, DatasetError
        For a share that leaves a split without rows, a dataset that has a test split, a `dest` that
        is taken.

    Examples
    --------
    >>> from olscale.data.generators import generate
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> halves = hold_out(generate("rotating-xor", f"{folder}/xor"), f"{folder}/halves", 0.5)
    >>> halves.rows("train"), halves.rows("test")
    (500, 500)
    """
    if "test" in dataset.splits:
        raise ParameterError(
            f"test_share was {test_share}, but {dataset.name} has a test split of "
            f"{dataset.rows('test'):,} rows; leave test_share out"
        )
    rows = dataset.rows("train")
    tests = round(rows * test_share)
    if not 0 < tests < rows:
        raise ParameterError(
            f"test_share was {test_share}, which is {tests:,} of the {rows:,} rows of "
            f"{dataset.name}; expected a share that leaves rows to both splits"
        )
    tested = drawn(rows, tests)
    trained = np.setdiff1d(np.arange(rows), tested, assume_unique=True)
    parts = [_Part("train", trained, "train"), _Part("train", tested, "test")]
    return _write(dataset, dest, {"test_share": test_share}, parts)


class _Part(NamedTuple):
    """Rows of a split of the first dataset that make a split of the second one."""

    taken_from: str
    rows: NDArray[np.int64]
    split: str


def _write(
    dataset: Dataset,
    dest: str | os.PathLike[str],
    draw: Mapping[str, float],
    parts: Sequence[_Part],
) -> Dataset:
    # Declared, since few rows may have too few values to look like a regression.
    labels = Labels(
        {"classification": "classes", "regression": "real"}.get(dataset.task)
    )
    if dataset.task == "novelty":
        labels = Labels(novel=str(NOVEL))
    chunk_rows = dataset.manifest.chunk_rows
    source = f"sample:{dataset.name}:" + ",".join(f"{k}={v}" for k, v in draw.items())
    with (
        claim(
            path_text(dest, "dest"), {"sample": dataset.fingerprint, **draw}
        ) as directory,
        DatasetWriter(
            directory,
            dataset.manifest.layout,
            chunk_rows,
            labels=labels,
            weights=dataset.weights,
        ) as writer,
    ):
        sources = []
        for part in parts:
            # Ascending rows need neither memory nor a scratch file: each chunk is read once.
            some = Subset(dataset, part.taken_from, part.rows)
            for number in range(-(-len(part.rows) // chunk_rows)):
                chunk = some.chunk(number)
                target: Any = chunk.y.astype(np.float64)
                if dataset.classes is not None:
                    values = [dataset.classes[code] for code in chunk.y.tolist()]
                    is_text = isinstance(values[0], str)
                    target = values if is_text else np.array(values, dtype=np.float64)
                names = dataset.manifest.feature_names
                batch = Batch(
                    chunk.X,
                    target,
                    dataset.columns,
                    names,
                    targets=dataset.targets,
                    weights=chunk.weights,
                )
                writer.write(part.split, Member(source, part.split), batch)
            sources.append(SourceEntry(name=source, split=part.split))
        writer.finish(sources)
    return open_dataset(dest)


def drawn(rows: int, most: int) -> NDArray[np.int64]:
    """Return `most` of the numbers of `rows` rows, ascending; all of them if there are no more.

    Examples
    --------
    >>> drawn(3, 5)
    array([0, 1, 2])
    """
    if rows <= most:
        return np.arange(rows)
    generator = np.random.Generator(
        np.random.PCG64(np.random.SeedSequence([_DRAW, rows, most]))
    )
    return np.sort(generator.choice(rows, most, replace=False, shuffle=False))
