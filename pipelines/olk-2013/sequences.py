"""Sequences with known masks in place of the OLK paper's videos, which are not to be had.

A body of 44 x 64 pixels comes in at frame 40 and drifts: on rippling water, three waves with noise
of standard deviation 3 in grey values; or in a room, a wall, a window and a desk under a lamp that
flickers by a few grey values.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FRAMES = 117
HEIGHT = 230
WIDTH = 320
FIRST = 40
"""Frame, from 0, at which the body comes in."""

INDOOR_FRAMES = 100
"""As many as the paper's indoor video has."""

NINE = FIRST + 10, FIRST + 19
"""The nine frames of the paper's second case, all with the body."""

Frames: TypeAlias = Iterator[tuple[NDArray[np.uint8], NDArray[np.bool_]]]
"""Frames with their masks."""

_BODY = (44, 64)
_WAVES = ((0.11, 0.05, 0.9, 8.0), (-0.04, 0.17, 1.3, 6.0), (0.23, 0.02, 2.1, 4.0))
"""Of each: waves across and down a pixel and on a frame, in radians, and height in grey values."""


def ripples(
    seed: int = 0, count: int = FRAMES, height: int = HEIGHT, width: int = WIDTH
) -> Frames:
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
            110.0
            + sum(a * np.sin(x * across + y * down + s * t) for x, y, s, a in _WAVES)
        )

    return cross(water, seed, count, height, width)


def indoor(
    seed: int = 0, count: int = INDOOR_FRAMES, height: int = HEIGHT, width: int = WIDTH
) -> Frames:
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
    """Return nine frames of `indoor` with their masks, the body being in the first already."""
    return islice(indoor(), *NINE)


def cross(
    background: Callable[[int], NDArray[np.float64]],
    seed: int,
    count: int,
    height: int,
    width: int,
) -> Frames:
    """Yield frames of `background` with noise and the body, and their masks.

    The background is a function of the frame's number.
    """
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
    return 0.4 + 0.05 * float(np.sin(0.4 * t)), 0.05 + 0.6 * (
        (t - FIRST) / (FRAMES - FIRST)
    ) % 0.75
