"""The XOR of the OLLC paper: a Gaussian in each quadrant, labelled by the signs of its mean.

Rows are independent. The paper states neither the number of rows nor means and spread; here there
are 2,000 rows, means at (+-1, +-1) and a standard deviation of 0.3, as in `rotating_xor`.

References
----------
J. Wang, V. Saligrama, "Online local linear classification (OLLC)", section III, Fig. 2.
"""

from collections.abc import Iterator

import numpy as np

from olscale.data.formats.base import Batch

ROWS = 2_000
SEGMENTS = False

_BATCH_ROWS = 1_000
_DEVIATION = 0.3


def batches(rows: int, seed: int) -> Iterator[Batch]:
    """Yield `rows` rows, 1,000 at a time: dense, two columns, targets -1 and +1."""
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    for start in range(0, rows, _BATCH_ROWS):
        means = 2.0 * generator.integers(2, size=(_BATCH_ROWS, 2)) - 1.0
        X = means + _DEVIATION * generator.standard_normal((_BATCH_ROWS, 2))
        # Whole batches are drawn, so that fewer rows are the beginning of more.
        remaining = slice(0, rows - start)
        yield Batch(X[remaining], means.prod(axis=1)[remaining], 2)
