"""Random Fourier features: cosines and sines whose products approximate a Gaussian kernel."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, read_only_csr, rows_of, to_csr
from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import sine_cosine
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.row_layout import borrowed_rows
from olscale.compiled.simd.features import fourier_values
from olscale.data.transforms.kernel_features import KernelFeatures, mark_long_rows
from olscale.data.transforms.matrix import (
    MatrixRows,
    add_product,
    borrowed_kept,
    matrix_of,
)
from olscale.errors import ParameterError

# No Gaussian number of `olscale.data.transforms.matrix` is beyond this.
_GREATEST = 6.4

# Angle up to which `sine_cosine` is exact: beyond, whole turns are removed first, at a cost.
_FAR = 1e5

_TURN = 2.0 * np.pi


@compiled
def set_angles(X: Any, i: int, kept: Any, angles: Any) -> tuple[float, float]:
    """Set `angles` to row `i` of `X` times a Gaussian matrix; return ``|x|^2`` and their bound."""
    square = 0.0
    length = 0.0
    for p in range(X.indptr[i], X.indptr[i + 1]):
        square += X.data[p] * X.data[p]
        length += abs(X.data[p])
    angles[:] = 0.0
    add_product(X, i, kept, angles)
    return square, _GREATEST * length


@compiled
def set_features(
    angles: NDArray[np.float64],
    bound: float,
    gamma: float,
    scale: float,
    z: NDArray[np.float64],
) -> None:
    """Set `z` to `scale` times the cosines, then the sines, of ``sqrt(2 gamma)`` times `angles`."""
    frequencies = angles.shape[0]
    factor = np.sqrt(2.0 * gamma)
    cosines = z[:frequencies]
    sines = z[frequencies:]
    if factor * bound < _FAR:
        for j in range(
            fourier_values(angles, factor, scale, cosines, sines), frequencies
        ):
            sine, cosine = sine_cosine(factor * angles[j])
            cosines[j] = scale * cosine
            sines[j] = scale * sine
    else:
        for j in range(frequencies):
            sine, cosine = sine_cosine(np.fmod(factor * angles[j], _TURN))
            cosines[j] = scale * cosine
            sines[j] = scale * sine


@compiled
def _set_rows(X: Any, kept: Any, gamma: float, space: Any, Z: Any) -> None:
    X = borrowed_rows(X)
    kept = borrowed_kept(kept)
    Z = borrowed(Z)
    angles = borrowed(space)
    scale = 1.0 / np.sqrt(angles.shape[0])
    for i in range(Z.shape[0]):
        _, bound = set_angles(X, i, kept, angles)
        set_features(angles, bound, gamma, scale, Z[i, : 2 * angles.shape[0]])


def set_fourier_features(
    X: Rows,
    frequencies: MatrixRows,
    count: int,
    gamma: float,
    Z: NDArray[np.float64],
) -> None:
    """Set the first `count` columns of `Z` to features of each row, of length 1 in all.

    Half of them are cosines, the others sines.
    """
    rows = read_only_csr(X)
    with frequencies.lock:
        _set_rows(rows, frequencies.kept, gamma, np.empty(count // 2), Z)


class RandomFourier(KernelFeatures):
    r"""Random Fourier features, with which a linear learner approximates a Gaussian kernel.

    With D = `features` / 2 frequencies u, drawn from a Gaussian of variance ``2 gamma`` in each
    direction, ``z(x) = [cos(u.x), sin(u.x)] / sqrt(D)``. The product ``z(x).z(s)`` has the mean
    ``exp(-gamma |x - s|^2)`` and a standard deviation of at most ``1 / sqrt(2 D)``; every row has
    length 1. They are the features of the learner `fogd`.

    Frequencies are the matrix of the transform ``project``, with the same bits and memory.

    Parameters
    ----------
    features : int
        Number of features 2 D, even.
    gamma : float or {"auto", "median"}
        Width of the kernel: a number, one over the number of features before, or that of the median
        distance of a thousand training rows, drawn at random.
    seed : int
        As in ``project``.

    References
    ----------
    A. Rahimi, B. Recht, Random features for large-scale kernel machines, NIPS 2007.

    Examples
    --------
    >>> x, s = rows = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> z = RandomFourier(features=4000, gamma=0.5).apply(rows, 2)
    >>> abs(np.sum(z[0] * z[1]) - np.exp(-0.5 * np.sum((x - s) ** 2))) < 0.05
    np.True_
    """

    name = "rff"
    least_features = 2

    def __init__(
        self,
        features: int,
        gamma: float | str = "auto",
        seed: int = 0,
    ) -> None:
        self.features = features
        self.gamma = gamma
        self.seed = seed
        self._check()
        if features % 2:
            raise ParameterError(
                f"transform rff: features was {features}, expected an even number, a sine for "
                "each cosine"
            )

    def fit(self, chunks: Callable[[], Iterator[Rows]], columns: int) -> None:
        """Set the width from the rows, if it depends on them."""
        if self.gamma == "median":
            self._fit_width(self._sample(chunks, 0))

    def _matrix(self, columns: int) -> MatrixRows:
        drawn = np.random.SeedSequence([self.seed, self.projection]).generate_state(2)
        matrix = matrix_of(
            (int(drawn[0]), int(drawn[1])), columns, self.features // 2, 0.0
        )
        # Gaussian entries are too many to be listed.
        assert isinstance(matrix, MatrixRows)
        return matrix

    def frequencies(self, columns: int) -> NDArray[np.float64]:
        """Return the frequencies u of ``cos(u.x)``, shape (columns, features / 2)."""
        unit_vectors = to_csr(np.eye(columns))
        drawn = self._matrix(columns).times(unit_vectors)
        scaled: NDArray[np.float64] = np.sqrt(2.0 * self._gamma(columns)) * drawn
        return scaled

    def apply(self, X: Rows, columns: int) -> Rows:
        """Return the features of each row, dense."""
        matrix = self._matrix(columns)
        out = np.empty((rows_of(X), self.features))
        set_fourier_features(X, matrix, self.features, self._gamma(columns), out)
        mark_long_rows(read_only_csr(X), out)
        return out
