"""A sequence with known masks: a body that moves on rippling water, in place of the OLK paper's Jug, which is not to be had.

Three waves and noise of standard deviation 3 in grey values; the body of 44 x 64 pixels comes in at
frame 40 and drifts.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FRAMES, HEIGHT, WIDTH = 117, 230, 320
FIRST = 40
"""Frame, from 0, at which the body comes in."""

Frames: TypeAlias = Iterator[tuple[NDArray[np.uint8], NDArray[np.bool_]]]
"""Frames with their masks."""

_BODY = (44, 64)
_WAVES = ((0.11, 0.05, 0.9, 8.0), (-0.04, 0.17, 1.3, 6.0), (0.23, 0.02, 2.1, 4.0))
"""Of each: waves across and down a pixel and on a frame, in radians, and height in grey values."""


def ripples(seed: int = 0, count: int = FRAMES, height: int = HEIGHT, width: int = WIDTH) -> Frames:
    """Yield frames and their masks, True where the body is.

    Examples
    --------
    >>> made = list(ripples(count=42))
    >>> made[0][0].shape, [int(mask.sum()) for _, mask in made[-3:]]
    ((230, 320), [0, 2816, 2816])
    """
    down, across = np.mgrid[:height, :width].astype(np.float64)

    def water(t: int) -> NDArray[np.float64]:
        return np.asarray(
            110.0 + sum(a * np.sin(x * across + y * down + s * t) for x, y, s, a in _WAVES)
        )

    return cross(water, seed, count, height, width)


def cross(
    background: Callable[[int], NDArray[np.float64]], seed: int, count: int, height: int, width: int
) -> Frames:
    """Yield frames of `background`, a function of the frame's number, with noise and the body, and their masks."""
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    grain = generator.uniform(-1.0, 1.0, size=_BODY)
    for t in range(count):
        frame = background(t) + 3.0 * generator.standard_normal((height, width))
        mask = np.zeros((height, width), dtype=np.bool_)
        if t >= FIRST:
            top, left = (
                int(share * length)
                for share, length in zip(_place(t), (height, width), strict=True)
            )
            body = slice(top, top + _BODY[0]), slice(left, left + _BODY[1])
            mask[body] = True
            there = frame[body].shape
            frame[body] = (
                190.0
                + 20.0 * grain[: there[0], : there[1]]
                + 3.0 * generator.standard_normal(there)
            )
        yield np.clip(np.rint(frame), 0, 255).astype(np.uint8), mask


def _place(t: int) -> tuple[float, float]:
    """Return where the body is, as shares of height and width: it drifts to the right and bobs."""
    return 0.4 + 0.05 * float(np.sin(0.4 * t)), 0.05 + 0.6 * ((t - FIRST) / (FRAMES - FIRST)) % 0.75
