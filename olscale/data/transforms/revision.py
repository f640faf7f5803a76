"""Streams whose transforms version 0.1 of olscale fitted differently: their runs have other ids.

Version 0.1 mistook a constant feature for a varying one if rounding made the sum of its values
inexact. Figures on such data were wrong, and a store that has them must not present them as
current; all other runs keep their ids.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from olscale.compiled.csr import to_dense
from olscale.data.chunk import Chunk
from olscale.data.dataset import Dataset
from olscale.data.transforms.pipeline import fit_transforms
from olscale.data.transforms.scaling import Standardize


def transforms_version(dataset: Dataset, texts: Sequence[str]) -> int:
    """Return 2 if version 0.1 would fit `texts` on the training split differently, else 1.

    The first chunk rules out nearly all data sets; only one with a suspicious feature is read
    completely.
    """
    scalings = [number for number, text in enumerate(texts) if text == Standardize.name]
    if not scalings or not dataset.rows("train"):
        return 1
    first = [dataset.chunk("train", 0)]
    if not any(_may_differ(texts[:number], first, dataset.columns) for number in scalings):
        return 1
    fitted = _steps(texts[: scalings[-1] + 1], lambda: dataset.chunks("train"), dataset.columns)
    return 2 if any(step.differs for step in fitted) else 1


def _may_differ(before: Sequence[str], first: list[Chunk], columns: int) -> bool:
    if any(
        step.differs for step in _steps([*before, Standardize.name], lambda: iter(first), columns)
    ):
        return True
    pipeline = fit_transforms(before, lambda: iter(first), columns)
    row = None
    constant = np.ones(pipeline.width, dtype=np.bool_)
    for block in pipeline.dense_blocks(first[0]):
        X = to_dense(pipeline.apply(block).X, pipeline.width)
        row = X[0] if row is None else row
        constant &= (row == X).all(axis=0)
    assert row is not None  # the chunk has rows
    values = row[constant]
    # Sums of a million of these are exact, no matter how they are rounded on the way.
    exact = (values * 2.0**16 == np.rint(values * 2.0**16)) & (np.abs(values) < 2.0**17)
    return not exact.all()


def _steps(
    texts: Sequence[str], chunks: Callable[[], Iterator[Chunk]], columns: int
) -> list[Standardize]:
    return [
        step
        for step in fit_transforms(texts, chunks, columns).steps
        if isinstance(step, Standardize)
    ]
