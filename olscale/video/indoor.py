"""Sequences with known masks in place of the OLK paper's indoor video, which is not to be had: a body that crosses a room.

The room is a wall, a window and a desk under a lamp that flickers by a few grey values.
"""

from itertools import islice

import numpy as np
from numpy.typing import NDArray

from olscale.video.ripples import FIRST, HEIGHT, WIDTH, Frames, cross

FRAMES = 100
"""As many as the paper's video has."""

NINE = FIRST + 10, FIRST + 19
"""The nine frames of the paper's second case, all with the body."""


def indoor(seed: int = 0, count: int = FRAMES, height: int = HEIGHT, width: int = WIDTH) -> Frames:
    """Yield frames and their masks, True where the body is.

    Examples
    --------
    >>> [int(mask.sum()) for _, mask in indoor(count=42)][-3:]
    [0, 2816, 2816]
    """
    room = np.empty((height, width))
    room[:] = np.linspace(150.0, 120.0, height)[:, None]
    room[height // 8 : height // 3, width // 2 : 3 * width // 4] = 210.0
    room[2 * height // 3 :, width // 5 : 4 * width // 5] = 70.0

    def lit(t: int) -> NDArray[np.float64]:
        return room * (1.0 + 0.02 * float(np.sin(0.35 * t)))

    return cross(lit, seed, count, height, width)


def indoor_nine() -> Frames:
    """Return nine frames of `indoor` with their masks, in the first of which the body is there already."""
    return islice(indoor(), *NINE)
