"""`two_gaussians` with a standard deviation of 0.6 in place of 1."""

from collections.abc import Iterator

from olscale.data.formats.base import Batch
from olscale.data.generators import two_gaussians

ROWS = two_gaussians.ROWS
SEGMENTS = two_gaussians.SEGMENTS


def batches(rows: int, seed: int) -> Iterator[Batch]:
    """Yield `rows` rows as `two_gaussians.batches` does."""
    return two_gaussians.batches(rows, seed, deviation=0.6)
