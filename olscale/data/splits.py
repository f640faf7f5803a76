"""Parts: the rows of a training split that train, and those held out for testing.

Each kind is an exact function of seed, number and, for the stratified one, the class codes; it is
the same for every learner. Both sides keep the order of the file.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from olscale.errors import ExperimentError

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
    """Fold number `fold` of `folds`.

    Attributes
    ----------
    kind : str
        One of `PARTS`.
    seed : int
        Seed of the draw.
    fold, folds : int
        Number of the fold, from 0, and number of folds.
    share : float
        The stream ends after this share of the rows that train; all are held out as without it.

    Examples
    --------
    >>> train, held_out = Part("kfold", seed=0, fold=1, folds=3).rows(np.zeros(7, dtype=np.int64))
    >>> len(train), len(held_out)
    (5, 2)
    """

    kind: str
    seed: int
    fold: int
    folds: int
    share: float = 1.0

    @property
    def training_share(self) -> float:
        """The share of the rows that are not held out."""
        if self.kind in HALVES:
            return 0.5
        return 1.0 - 1.0 / self.folds

    @property
    def reads_labels(self) -> bool:
        """Whether the classes of the rows matter; otherwise only their number does."""
        return self.kind.startswith("stratified")

    def rows(self, y: NDArray[np.int64]) -> tuple[Rows, Rows]:
        """Return the rows that train and those held out, ascending, given class codes `y`.

        Raises
        ------
        ExperimentError
            If there are fewer rows than folds.
        """
        if len(y) < max(2, self.folds if self.kind not in HALVES else 2):
            raise ExperimentError(
                f"split {self.kind} into {self.folds} folds needs as many rows, there are {len(y)}"
            )
        # By way of a mask both sides come out in the order of the file.
        held_out = np.zeros(len(y), dtype=np.bool_)
        held_out[PARTS[self.kind](self, y)] = True
        return np.flatnonzero(~held_out), np.flatnonzero(held_out)

    def _random(self, *number: int) -> np.random.Generator:
        # The tag separates these draws from the permutations, which are seeded with (seed, index).
        return np.random.Generator(
            np.random.PCG64(np.random.SeedSequence([self.seed, *number, 0x5041525453]))
        )


def _kfold(part: Part, y: Rows) -> Rows:
    """Hold out one of k blocks of equal size (to a row) of one random order."""
    return part._random().permutation(len(y))[part.fold :: part.folds]


def _stratified(part: Part, y: Rows) -> Rows:
    """Hold out one of k blocks that have each class in equal shares (to a row)."""
    return _class_by_class(part._random(), y)[part.fold :: part.folds]


def _half(part: Part, y: Rows) -> Rows:
    """Hold out a random half, drawn anew for each number (Zhou et al. 2016, section 5.3)."""
    return part._random(part.fold).permutation(len(y))[len(y) // 2 + len(y) % 2 :]


def _stratified_half(part: Part, y: Rows) -> Rows:
    """Hold out every other row of each class, drawn anew for each number."""
    return _class_by_class(part._random(part.fold), y)[1::2]


def _class_by_class(random: np.random.Generator, y: Rows) -> Rows:
    """Return the rows of each class in random order, class after class.

    Without a break in between, so that parts dealt out of them have equal sizes.
    """
    return np.concatenate(
        [random.permutation(np.flatnonzero(y == code)) for code in np.unique(y)]
    )


PARTS: dict[str, Callable[[Part, Rows], Rows]] = {
    "kfold": _kfold,
    "stratified": _stratified,
    "half": _half,
    "stratified-half": _stratified_half,
}
"""Kinds of parts by name; each returns the numbers of the rows that are held out."""

HALVES = ("half", "stratified-half")
"""Kinds that hold out half of the rows, drawn anew for each number."""
