"""A sum of two sines with noise, Example 2 of the OLK paper: a regression.

Rows are independent: ``x ~ U(-pi, pi)`` and ``y = 0.2 sin 5x + 0.5 sin x + U(-0.5, 0.5)``. The test
rows have no noise; the paper does not say how many there are, here 1,000.

References
----------
G. Li, C. Wen, Z. G. Li, A. Zhang, F. Yang, K. Mao, "Model-based online learning with kernels", IEEE
TNNLS 24(3), 2013, section IV, Example 2.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.base import Batch

ROWS = 700
SEGMENTS = False

_BATCH_ROWS = 1_000


def batches(rows: int, seed: int) -> Iterator[Batch]:
    """Yield `rows` rows, 1,000 at a time: dense, one column, with noisy targets."""
    generator = _generator(seed)
    for start in range(0, rows, _BATCH_ROWS):
        x = generator.uniform(-np.pi, np.pi, _BATCH_ROWS)
        y = curve(x) + generator.uniform(-0.5, 0.5, _BATCH_ROWS)
        # Whole batches are drawn, so that fewer rows are the beginning of more.
        remaining = slice(0, rows - start)
        yield Batch(x[remaining, None], y[remaining], 1, regression=True)


def test_batches(seed: int) -> Iterator[Batch]:
    """Yield the 1,000 test rows, without noise."""
    x = _generator(seed, 1).uniform(-np.pi, np.pi, _BATCH_ROWS)
    yield Batch(x[:, None], curve(x), 1, regression=True)


def curve(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the targets without noise.

    Examples
    --------
    >>> curve(np.array([0.0, np.pi / 2]))
    array([0. , 0.7])
    """
    y: NDArray[np.float64] = 0.2 * np.sin(5.0 * x) + 0.5 * np.sin(x)
    return y


def _generator(*entropy: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
