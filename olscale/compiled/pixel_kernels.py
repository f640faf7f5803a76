"""Expansions in Gaussian kernels, one for each pixel of a sequence of frames: all in one pass of a loop.

The pixels lie side by side, ``frames[term, channel, pixel]``, and a sum over terms does not cross
pixels: loops over pixels become vector code, and no bit depends on its width or on how pixels are
cut into blocks.
"""

from typing import Any

import numpy as np

from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import exponential

BLOCK = 1024
"""Pixels whose sums stay in the nearest memory while the terms go by."""


@compiled
def add_kernels(frame: Any, frames: Any, alpha: Any, weights: Any, gamma: float, f: Any) -> None:
    """Set ``f[p] = sum_t weights[t] alpha[t, p] exp(-gamma |frame[:, p] - frames[t, :, p]|^2)``."""
    channels, pixels = frame.shape
    distance, sums = np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, pixels, BLOCK):
        size = min(BLOCK, pixels - start)
        for p in range(BLOCK):
            sums[p] = 0.0
        for t in range(weights.shape[0]):
            if weights[t] == 0.0:
                continue
            for p in range(BLOCK):
                distance[p] = 0.0
            for c in range(channels):
                new, old = frame[c, start : start + size], frames[t, c, start : start + size]
                for p in range(size):
                    step = np.float64(new[p]) - np.float64(old[p])
                    distance[p] += step * step
            for p in range(BLOCK):
                distance[p] = exponential(-gamma * distance[p])
            line, weight = alpha[t, start : start + size], weights[t]
            for p in range(size):
                sums[p] += (weight * np.float64(line[p])) * distance[p]
        for p in range(size):
            f[start + p] = sums[p]
