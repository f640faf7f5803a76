"""The loop that turns places in a cycle into sines and cosines, with the same bits everywhere."""

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import sine_cosine

_FULL_TURN = 6.283185307179586


@compiled
def fill_cycles(turns: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write sine and cosine of each of `turns`, side by side; 1 is a full turn."""
    for row in range(turns.shape[0]):
        for cycle in range(turns.shape[1]):
            sine, cosine = sine_cosine(_FULL_TURN * turns[row, cycle])
            out[row, 2 * cycle] = sine
            out[row, 2 * cycle + 1] = cosine
