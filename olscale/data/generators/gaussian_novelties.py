"""A Gaussian and a few rows of another, Example 3 of the OLK paper: the few are novelties.

Rows are independent: a novelty with odds of 1 to 19, at ``N(-2, 1)`` in two coordinates, the others
at ``N(2, 1)``. With the paper's 100 rows some draws, one in 170, have no novelty.

References
----------
G. Li, C. Wen, Z. G. Li, A. Zhang, F. Yang, K. Mao, "Model-based online learning with kernels", IEEE
TNNLS 24(3), 2013, section IV, Example 3.
"""

from collections.abc import Iterator

import numpy as np

from olscale.data.formats.base import Batch
from olscale.task import NORMAL, NOVEL, Task

ROWS = 100
SEGMENTS = False
TASK: Task = "novelty"

_BATCH_ROWS = 1_000


def batches(rows: int, seed: int) -> Iterator[Batch]:
    """Yield `rows` rows, 1,000 at a time: dense, two columns, targets -1 (a novelty) and +1."""
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    for start in range(0, rows, _BATCH_ROWS):
        y = np.where(
            generator.uniform(-0.05, 0.95, _BATCH_ROWS) < 0.0,
            float(NOVEL),
            float(NORMAL),
        )
        X = 2.0 * y[:, None] + generator.standard_normal((_BATCH_ROWS, 2))
        # Whole batches are drawn, so that fewer rows are the beginning of more.
        remaining = slice(0, rows - start)
        yield Batch(X[remaining], y[remaining], 2)
