"""Random Fourier features: cosines and sines whose products are near the values of a Gaussian kernel."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import sine_cosine
from olscale.data.transforms.matrix import add_product

_GREATEST = 6.4
"""No Gaussian number of `olscale.data.transforms.normal` is beyond this."""

_FAR = 1e5
"""Angle from which on `sine_cosine` is not exact: beyond, whole turns are taken off first, which costs."""

_TURN = 2.0 * np.pi


@compiled
def set_angles(X: Any, i: int, kept: Any, angles: Any) -> tuple[float, float]:
    """Set `angles` to row `i` of `X` times a matrix of Gaussian numbers; return ``|x|^2`` and a bound of the angles."""
    square = 0.0
    for p in range(X.indptr[i], X.indptr[i + 1]):
        square += X.data[p] * X.data[p]
    angles[:] = 0.0
    add_product(X, i, kept, angles)
    return square, _GREATEST * np.sqrt((X.indptr[i + 1] - X.indptr[i]) * square)


@compiled
def set_features(angles: NDArray[np.float64], bound: float, gamma: float, scale: float, z: NDArray[np.float64]) -> None:
    """Set `z` to `scale` times the cosines, then the sines, of ``sqrt(2 gamma)`` times `angles`."""
    frequencies, factor = angles.shape[0], np.sqrt(2.0 * gamma)
    cosines, sines = z[:frequencies], z[frequencies:]
    if factor * bound < _FAR:
        for j in range(frequencies):
            sine, cosine = sine_cosine(factor * angles[j])
            cosines[j], sines[j] = scale * cosine, scale * sine
    else:
        for j in range(frequencies):
            sine, cosine = sine_cosine(np.fmod(factor * angles[j], _TURN))
            cosines[j], sines[j] = scale * cosine, scale * sine
