"""How far masks agree with known ones: counts of pixels, and precision, recall and F1 of the foreground."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from olscale.errors import DatasetError


@dataclass(slots=True)
class Agreement:
    """Counts of pixels over masks.

    Examples
    --------
    >>> agreement = Agreement()
    >>> agreement.add(np.array([[True, True], [False, False]]), np.array([[True, False], [True, False]]))
    >>> agreement.precision, agreement.recall, agreement.f1, agreement.false_alarms
    (0.5, 0.5, 0.5, 0.5)
    """

    found: int = 0
    missed: int = 0
    false: int = 0
    quiet: int = 0

    def add(self, mask: NDArray[np.bool_], truth: NDArray[np.bool_]) -> None:
        """Count the pixels of a mask and the true one.

        Raises
        ------
        DatasetError
            If they differ in shape.
        """
        if mask.shape != truth.shape:
            raise DatasetError(
                f"a known mask of shape {truth.shape}, expected {mask.shape} as its frame"
            )
        self.found += int((mask & truth).sum())
        self.missed += int((~mask & truth).sum())
        self.false += int((mask & ~truth).sum())
        self.quiet += int((~mask & ~truth).sum())

    @property
    def precision(self) -> float:
        """Share of the pixels told as foreground that are; NaN of none."""
        return _share(self.found, self.false)

    @property
    def recall(self) -> float:
        """Share of the foreground that is told; NaN of none."""
        return _share(self.found, self.missed)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; NaN where there is no foreground and none is told."""
        return _share(2 * self.found, self.false + self.missed)

    @property
    def false_alarms(self) -> float:
        """Share of the background that is told as foreground; NaN of none."""
        return _share(self.false, self.quiet)


def _share(part: int, rest: int) -> float:
    return part / (part + rest) if part + rest else float("nan")
