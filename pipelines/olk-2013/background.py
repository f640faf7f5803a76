"""Background subtraction: a novelty detector for each pixel, OLK-N or NORMA-N.

A pixel that is like those before it is background, another is foreground, with the rules of the
learners `olk-n` and `norma-n`. The pixels lie side by side, ``frames[term, channel, pixel]``, and a
sum over terms does not cross pixels: loops over pixels become vector code, and no bit depends on
its width or on how pixels are cut into blocks.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import exponential
from olscale.errors import FormatError, ParameterError

FloatArray = NDArray[np.float64]
Mask = NDArray[np.bool_]

BLOCK = 1024
"""Pixels whose sums stay in the nearest memory while the terms go by."""


@compiled
def add_kernels(
    frame: Any, frames: Any, alpha: Any, weights: Any, gamma: float, f: Any
) -> None:
    """Set ``f[p] = sum_t weights[t] alpha[t, p] exp(-gamma |frame[:, p] - frames[t, :, p]|^2)``."""
    channels, pixels = frame.shape
    distance = np.empty(BLOCK)
    sums = np.empty(BLOCK)
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
                new = frame[c, start : start + size]
                old = frames[t, c, start : start + size]
                for p in range(size):
                    step = np.float64(new[p]) - np.float64(old[p])
                    distance[p] += step * step
            for p in range(BLOCK):
                distance[p] = exponential(-gamma * distance[p])
            line = alpha[t, start : start + size]
            weight = weights[t]
            for p in range(size):
                sums[p] += (weight * np.float64(line[p])) * distance[p]
        for p in range(size):
            f[start + p] = sums[p]


class BackgroundModel(ABC):
    """Base of the rules: what a frame changes, each adds.

    Parameters
    ----------
    p : float
        Width of the kernel ``exp(-|x - s|^2 / p^2)`` in units of the frames; of colours, over all
        channels.
    terms : int
        Frames that are kept: the oldest makes room. A pixel's expansion has a coefficient for each.

    Attributes
    ----------
    state_ : dict of str to ndarray
        All that was learned, after the first frame. Frames are kept in the type that they have,
        coefficients in float32.
    """

    name: ClassVar[str]

    def __init__(self, p: float, terms: int) -> None:
        if not p > 0.0 or terms < 1:
            raise ParameterError(
                f"{self.name}: p was {p:g} and terms {terms}, expected more than 0 and at least 1"
            )
        self.p = p
        self.terms = terms
        self.state_: dict[str, NDArray[Any]] = {}

    def learn(self, frame: NDArray[Any]) -> Mask:
        """Return the mask of a frame, True for foreground, from the frames before; then learn it.

        Parameters
        ----------
        frame : ndarray of shape (height, width) or (height, width, channels)
            Numbers of any type; all frames have the shape and the type of the first.
        """
        number = int(self.state_["seen"][0]) + 1 if self.state_ else 1
        planes = _planes(frame, number)
        shape = np.array(frame.shape)
        if not self.state_:
            self.state_ = {"shape": shape, **self._begin(planes)}
        state = self.state_
        if (
            not np.array_equal(shape, state["shape"])
            or planes.dtype != state["frames"].dtype
        ):
            before = (
                f"{state['frames'].dtype} of shape {tuple(state['shape'].tolist())}"
            )
            raise FormatError(
                f"frame {number}",
                f"{planes.dtype} of shape {frame.shape}, expected {before} as before",
            )
        seen = number - 1
        f = np.empty(planes.shape[1])
        add_kernels(
            planes,
            state["frames"],
            state["alpha"],
            self._weights(seen),
            1.0 / self.p**2,
            f,
        )
        scores, alpha = self._step(f)
        slot = seen % self.terms
        state["frames"][slot] = planes
        state["alpha"][slot] = alpha
        state["seen"][0] = seen + 1
        return (scores < 0.0).reshape(frame.shape[:2])

    def _begin(self, planes: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return {
            "seen": np.zeros(1, dtype=np.int64),
            "frames": np.zeros((self.terms, *planes.shape), dtype=planes.dtype),
            "alpha": np.zeros((self.terms, planes.shape[1]), dtype=np.float32),
        }

    def _weights(self, seen: int) -> FloatArray:
        """Return what the frames' coefficients have faded to, 0 without a frame; shape (terms,)."""
        age = (seen - 1 - np.arange(self.terms)) % self.terms
        return np.where(np.arange(self.terms) < seen, self._faded(age), 0.0)

    @abstractmethod
    def _faded(self, age: NDArray[np.int64]) -> FloatArray:
        """Return the share of a coefficient that is left `age` frames after its own."""

    @abstractmethod
    def _step(self, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return scores, below 0 for foreground, and new coefficients; `f` are the expansions."""


class OLKBackground(BackgroundModel):
    """OLK-N for each pixel, with rho = 0: see the learner `olk-n`.

    At least the first ``1 / C`` frames are all foreground.

    Parameters
    ----------
    p, terms
        As in `BackgroundModel`; the paper's width is 5.
    C, v : float
        Most and least that a frame weighs.
    r : float
        Regularisation: how much faster old frames fade.

    Examples
    --------
    >>> model = OLKBackground(p=5.0, C=0.5)
    >>> frame = np.full((2, 3), 100, dtype=np.uint8)
    >>> [int(model.learn(frame).sum()) for _ in range(4)]
    [6, 6, 6, 0]
    >>> frame[0, 0] = 200
    >>> int(model.learn(frame).sum())
    1
    """

    name = "olk-n"

    def __init__(
        self,
        p: float = 5.0,
        C: float = 0.2,
        v: float = 0.1,
        r: float = 0.001,
        terms: int = 128,
    ) -> None:
        super().__init__(p, terms)
        if not (0.0 <= v <= C and C > 0.0 and r >= 0.0):
            raise ParameterError(
                f"olk-n: C, v, r were {C:g}, {v:g}, {r:g}; expected 0 <= v <= C, C > 0 and r >= 0"
            )
        self.C = C
        self.v = v
        self.r = r

    def _faded(self, age: NDArray[np.int64]) -> FloatArray:
        return np.asarray((1.0 + self.r) ** -(age + 1.0), dtype=np.float64)

    def _step(self, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        return f - 1.0, np.clip(1.0 + self.r - f, self.v, self.C)


class NORMABackground(BackgroundModel):
    """NORMA-N for each pixel: see the learner `norma-n`.

    Parameters
    ----------
    p, terms
        As in `BackgroundModel`.
    eta, lam, nu : float
        Step, regularisation and share of foreground.

    Examples
    --------
    >>> model = NORMABackground(eta=0.5, lam=0.1, nu=0.5)
    >>> frame = np.full((2, 3), 100, dtype=np.uint8)
    >>> [int(model.learn(frame).sum()) for _ in range(3)]
    [0, 6, 0]
    """

    name = "norma-n"

    def __init__(
        self,
        p: float = 15.0,
        eta: float = 0.001,
        lam: float = 0.0001,
        nu: float = 0.1,
        terms: int = 128,
    ) -> None:
        super().__init__(p, terms)
        if not (eta > 0.0 and lam >= 0.0 and eta * lam < 1.0 and 0.0 < nu < 1.0):
            raise ParameterError(
                f"norma-n: eta, lam, nu were {eta:g}, {lam:g}, {nu:g}; expected eta > 0, eta lam "
                "in [0, 1) and nu in (0, 1)"
            )
        self.eta = eta
        self.lam = lam
        self.nu = nu

    def _begin(self, planes: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return super()._begin(planes) | {"rho": np.zeros(planes.shape[1])}

    def _faded(self, age: NDArray[np.int64]) -> FloatArray:
        return np.asarray((1.0 - self.eta * self.lam) ** age, dtype=np.float64)

    def _step(self, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        rho = self.state_["rho"]
        scores = f - rho
        hit = scores < 0.0
        rho += self.eta * (self.nu - hit)
        return scores, self.eta * hit


def _planes(frame: NDArray[Any], number: int) -> NDArray[Any]:
    """Return a frame as a line of pixels for each channel."""
    if frame.dtype.kind == "f" and not np.isfinite(frame).all():
        raise FormatError(
            f"frame {number}",
            "has pixels that are no numbers; fill them, for any kernel value would be wrong",
        )
    channels = frame[None] if frame.ndim == 2 else np.moveaxis(frame, 2, 0)
    return np.ascontiguousarray(channels).reshape(len(channels), -1)
