"""Made-up rows in the shape of WEBSPAM (unigrams): 350,000 x 254, a third nonzero, curved.

Each row belongs to one of 16 kinds of page. A kind has its own profile of frequencies and, inside
it, its own hyperplane that separates spam (+1) from the rest (-1), so a learner that is linear only
locally can learn it and a linear one cannot. Rows have unit norm, as in the published set. One
label in two hundred is wrong.

References
----------
S. Webb, J. Caverlee, C. Pu, Introducing the Webb spam corpus, CEAS 2006: the real set.
"""

from collections.abc import Iterator

import numpy as np

from olscale.arrays import FloatArray
from olscale.data.formats.base import Batch

ROWS = 350_000
COLUMNS = 254
SEGMENTS = False

_KINDS = 16
_BATCH_ROWS = 8_192
_PRESENT = 0.33
_NOISE = 0.005


def batches(rows: int, seed: int) -> Iterator[Batch]:
    """Yield `rows` dense rows, 8,192 at a time, of 254 features, with targets -1 and +1.

    Every batch has a stream of random numbers of its own.
    """
    kinds = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    profiles = kinds.random((_KINDS, COLUMNS)) ** 3 + 0.05
    planes = kinds.standard_normal((_KINDS, COLUMNS)) * (
        kinds.random((_KINDS, COLUMNS)) < 0.15
    )
    presence = np.clip(_PRESENT * 2.0 * kinds.random((_KINDS, COLUMNS)), 0.02, 1.0)
    for number, start in enumerate(range(0, rows, _BATCH_ROWS)):
        generator = np.random.Generator(
            np.random.PCG64(np.random.SeedSequence([seed, number]))
        )
        X, target = _batch(generator, profiles, planes, presence)
        remaining = slice(0, rows - start)
        yield Batch(X[remaining], target[remaining], COLUMNS)


def _batch(
    generator: np.random.Generator,
    profiles: FloatArray,
    planes: FloatArray,
    presence: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    kind = generator.integers(_KINDS, size=_BATCH_ROWS)
    shape = (_BATCH_ROWS, COLUMNS)
    X = np.where(
        generator.random(shape) < presence[kind],
        profiles[kind] * (0.5 + generator.random(shape)),
        0.0,
    )
    norms = np.sqrt(np.einsum("ij,ij->i", X, X))
    # A row without words stays 0.
    X /= np.maximum(norms, 1e-12)[:, None]
    mean = presence * profiles
    mean /= np.linalg.norm(mean, axis=1)[:, None]
    of_rows = np.einsum("ij,ij->i", X, planes[kind])
    of_means = np.einsum("ij,ij->i", mean, planes)
    side = of_rows > of_means[kind] * 0.9
    target = np.where(side != (generator.random(_BATCH_ROWS) < _NOISE), 1.0, -1.0)
    return X, target
