"""The norm of a model of support vectors in the space of its kernel's features."""

from typing import Any

import numpy as np

from olscale.compiled.decorator import compiled
from olscale.learners.kernel.kernels import vector_row

MOST_VECTORS = 2_000
"""Vectors up to which the norm is worth a kernel value per pair."""


@compiled
def rkhs_norm(model: Any) -> float:
    """Return the square root of ``sum_c alpha_c' K alpha_c``."""
    support = model.support
    alpha = model.alpha
    scale = model.scale
    count = support.counts[0]
    outputs = alpha.shape[1]
    places = support.values.shape[1]
    at = np.empty(places, np.int32)
    value = np.empty(places)
    k = np.empty(support.sizes.shape[0])
    square = 0.0
    for s in range(count):
        vector_row(model.kernel, support, s, at, value, k)
        for c in range(outputs):
            f = 0.0
            for r in range(count):
                f += k[r] * alpha[r, c]
            square += (scale[c] * alpha[s, c]) * (scale[c] * f)
    return float(np.sqrt(max(0.0, square)))
