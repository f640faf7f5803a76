"""Networks with a random layer, every row predicted before it is learned, beside BLAS symv and syr of their size."""

from typing import Any

import numpy as np

from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.linear import learner
from olscale.data.chunk import Chunk

_COLUMNS = 20
_ELEMENTS = 200_000_000
"""Elements of the matrix that are gone through in all: fewer rows where it is larger."""


def figures(rows: int = 20_000, rounds: int = 5) -> list[Figure]:
    """Return the speeds of recursive least squares for 100, 500 and 1,000 features, at most `rows` rows."""
    rng, found = np.random.default_rng(0), []
    for size in (100, 500, 1000):
        count = min(rows, _ELEMENTS // size**2)
        X = rng.uniform(-1.0, 1.0, (count, _COLUMNS))
        stream, of_size = [Chunk(X, (X[:, 0] * X[:, 1] > 0.0).astype(np.int64), _COLUMNS)], f"{size} features"
        peer = f"BLAS symv + syr, {of_size}"
        fourier = {"features": size, "gamma": 0.1}
        found += compare(
            [
                _blas(peer, size, count),
                learner("oselm", {"nodes": size}, stream, peer, ">= 0.8", f"oselm, {of_size}", 1e3),
                learner("rff-rls", fourier, stream, peer, ">= 0.8", f"rff-rls, {of_size}", 1e3),
                learner("rff-rls", {**fourier, "block": 16}, stream, peer, "", f"rff-rls, {of_size}, block = 16", 1e3),
            ],
            "thousand rows/s",
            rounds,
        )
    return found


def _blas(name: str, size: int, count: int) -> Contestant:
    """Return the two products with half a matrix that a textbook's update of a row takes, and no more."""
    from scipy.linalg.blas import dsymv, dsyr

    z, g = np.random.default_rng(1).normal(size=(2, size))

    def update(matrix: Any) -> None:
        for _ in range(count):
            dsymv(1.0, matrix, z, y=g, overwrite_y=True)
            dsyr(-1e-12, z, a=matrix, overwrite_a=True)

    return Contestant(name, update, count / 1e3, lambda: np.asfortranarray(np.eye(size)))
