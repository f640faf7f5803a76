"""A two-dimensional XOR that turns with time.

Four Gaussians at the corners of a square, opposite corners of the same class (+1 at (1, 1) and (-1,
-1), -1 at the other two). After every 100 rows the means turn counterclockwise, so a learner must
adapt: after 90 degrees every label is the opposite of its first value. The order of the rows
matters; they must not be permuted.

The paper states 1,000 rows, four Gaussians and the turn after every 100 rows. It does not state the
angle or the spread; here a turn is 18 degrees (half a revolution in 1,000 rows) and the standard
deviation 0.3.

References
----------
J. Jorge, R. Paredes, "Passive-Aggressive online learning with nonlinear embeddings", Pattern
Recognition 79 (2018), section 4.2.
"""

from collections.abc import Iterator

import numpy as np

from olscale.data.formats.base import Batch

ROWS = 1_000
SEGMENTS = True

_SEGMENT_ROWS = 100
_TURN = np.pi / 10
_DEVIATION = 0.3
_MEANS = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
_LABELS = np.array([1.0, -1.0, 1.0, -1.0])


def batches(rows: int, seed: int) -> Iterator[Batch]:
    """Yield `rows` rows, 100 at a time: dense, two columns, targets -1 and +1."""
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    for start in range(0, rows, _SEGMENT_ROWS):
        angle = _TURN * (start // _SEGMENT_ROWS)
        turn = np.array(
            [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
        )
        corner = generator.integers(4, size=_SEGMENT_ROWS)
        X = _MEANS[corner] @ turn + _DEVIATION * generator.standard_normal(
            (_SEGMENT_ROWS, 2)
        )
        # Whole batches are drawn, so that fewer rows are the beginning of more.
        remaining = slice(0, rows - start)
        yield Batch(X[remaining], _LABELS[corner][remaining], 2)
