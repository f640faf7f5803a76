"""Two Gaussians, Example 1 of the OLK paper: the class is the sign of both means.

Rows are independent: ``y = +-1`` with equal odds, ``x ~ N(y, deviation^2)`` in two coordinates. The
paper prints a standard deviation of 1, with which the best possible classifier errs on 7.9 % of the
rows, 118 of 1,500; its figures 2 and 3 show less than half of that. `two_gaussians_narrow` has a
deviation of 0.6, which makes these figures possible.

References
----------
G. Li, C. Wen, Z. G. Li, A. Zhang, F. Yang, K. Mao, "Model-based online learning with kernels", IEEE
TNNLS 24(3), 2013, section IV, Example 1.
"""

from collections.abc import Iterator

import numpy as np

from olscale.data.formats.base import Batch

ROWS = 1_500
SEGMENTS = False

_BATCH_ROWS = 1_000


def batches(rows: int, seed: int, deviation: float = 1.0) -> Iterator[Batch]:
    """Yield `rows` rows, 1,000 at a time: dense, two columns, targets -1 and +1."""
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    for start in range(0, rows, _BATCH_ROWS):
        y = 2.0 * generator.integers(2, size=_BATCH_ROWS) - 1.0
        X = y[:, None] + deviation * generator.standard_normal((_BATCH_ROWS, 2))
        # Whole batches are drawn, so that fewer rows are the beginning of more.
        remaining = slice(0, rows - start)
        yield Batch(X[remaining], y[remaining].astype(np.float64), 2)
