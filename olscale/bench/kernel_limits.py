"""The least a kernel learner needs: loops of its products and exponentials on the same rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from olscale.bench.base import Contestant
from olscale.compiled.csr import CSR
from olscale.compiled.decorator import compiled
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.pages import aligned_space
from olscale.compiled.row_layout import borrowed_rows
from olscale.compiled.rows_together import (
    borrowed_together,
    may_go_together,
    multiply_together,
    together_space,
)
from olscale.compiled.simd.row_tiles import ROWS
from olscale.compiled.support_arrays import empty_support, grow_places, support_vectors
from olscale.compiled.support_vectors import SupportVectors, find_places, put
from olscale.data.chunk import Chunk
from olscale.data.transforms.fourier import set_angles, set_features
from olscale.data.transforms.matrix import MatrixRows, borrowed_kept
from olscale.learners.kernel.kernel_model import borrowed_support
from olscale.learners.kernel.kernels import GAUSSIAN, Kernel, finish_row, raw_row


def bare_rows(stream: Sequence[Chunk], gamma: float, B: int) -> Contestant:
    """Return the Gaussian kernel values of each row with the first `B` rows, and nothing else."""
    X: Any = stream[0].X
    support = support_of(CSR(X.indptr[: B + 1], *X[1:]), stream[0].columns)
    room = len(support.sizes)
    kernel = Kernel(GAUSSIAN, gamma, 0.0, 1)
    space = space_of(stream[0].columns, room)

    def run(_: object) -> None:
        for chunk in stream:
            kernel_rows(chunk.X, support, kernel, *space)

    return Contestant(f"bare kernel rows, B = {B}", run, sum(map(len, stream)) / 1e6)


def bare_features(stream: Sequence[Chunk], gamma: float, D: int) -> Contestant:
    """Return the `D` angles of each row, their cosines and sines, and nothing else."""
    matrix = MatrixRows((0, 1), stream[0].columns, D, 0.0)
    space = aligned_space(3 * D)

    def run(_: object) -> None:
        for chunk in stream:
            _features(chunk.X, matrix.kept, gamma, space)

    return Contestant(f"bare cosines and sines, D = {D}", run, sum(map(len, stream)) / 1e6)


def space_of(columns: int, slots: int) -> tuple[Any, ...]:
    """Return the space in which `kernel_rows` works."""
    return (
        np.empty(columns, np.int32),
        np.empty(columns),
        aligned_space(slots),
        together_space(columns, slots),
    )


@compiled
def kernel_rows(
    X: Any,
    support: Any,
    kernel: Any,
    at: Any,
    value: Any,
    k: Any,
    together: Any,
) -> None:
    """Set `k` to the kernel values of one row of `X` after another."""
    X = borrowed_rows(X)
    support = borrowed_support(support)
    at = borrowed(at)
    value = borrowed(value)
    k = borrowed(k)
    together = borrowed_together(together)
    rows = X.indptr.shape[0] - 1
    begun = 0
    done = 0
    for i in range(rows):
        if (
            i >= done
            and may_go_together(support, X, i, rows)
            and multiply_together(support, X, i, at, together)
        ):
            begun = i
            done = i + ROWS
        if i < done:
            k = together.products[i - begun]
            square = together.squares[i - begun]
        else:
            found, square = find_places(support, X, i, at, value)
            raw_row(kernel, support, at, value, found, square, k)
        finish_row(kernel, support, X, i, at, value, square, k)


@compiled
def _features(X: Any, kept: Any, gamma: float, space: Any) -> None:
    X = borrowed_rows(X)
    kept = borrowed_kept(kept)
    D = space.shape[0] // 3
    angles = borrowed(space[:D])
    z = borrowed(space[D:])
    for i in range(X.indptr.shape[0] - 1):
        _, bound = set_angles(X, i, kept, angles)
        set_features(angles, bound, gamma, D**-0.5, z)


@compiled
def _put_all(support: Any, X: Any) -> None:
    for i in range(X.indptr.shape[0] - 1):
        square = 0.0
        for p in range(X.indptr[i], X.indptr[i + 1]):
            square += X.data[p] * X.data[p]
        put(support, i, X, i, square)


def support_of(rows: CSR, columns: int) -> SupportVectors:
    """Return support vectors that are the rows."""
    count = len(rows.indptr) - 1
    arrays = grow_places(empty_support(columns, count, count), columns)
    support = support_vectors(arrays)
    _put_all(support, rows)
    return support
