"""Fused settings: several settings of one learner share a pass over the rows.

The weights of all settings are adjacent, ``[features, settings x outputs]``: a row is read once,
and a few cache lines hold a feature's weights for all settings. Every setting gets the bits it
would get alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from olscale.compiled.csr import Rows, slice_rows
from olscale.learners.contract.capability import Capability
from olscale.learners.contract.class_weights import weighs_classes
from olscale.learners.contract.learner import NO_WEIGHTS, FloatArray, Learner, no_labels
from olscale.task import Task


class FusedSettings(ABC):
    """Learners that pass through one stream together.

    Parameters
    ----------
    learners : sequence of Learner
        Learners of one `FusesSettings.grid_key`, after `begin`; they are out of date until
        `release`.

    Attributes
    ----------
    task : {"classification", "regression", "novelty"}
        The task of the learners.
    """

    task: Task = "classification"

    @abstractmethod
    def __init__(self, learners: Sequence[Learner]) -> None: ...

    @abstractmethod
    def learn(self, X: Rows, y: NDArray[Any]) -> Sequence[FloatArray | Exception]:
        """Predict, then update, row by row; return each learner's scores, or its exception.

        The scores of a row are those before its update. `learn` of settings that `takes_weights`
        has the additional argument ``weights=None``.
        """

    @abstractmethod
    def release(self) -> None:
        """Bring the learners up to date; the fused settings can continue afterwards."""

    def compile(self, X: Rows, weighted: bool = False) -> None:
        """Compile the loops for rows like `X`, with or without weights."""
        learn_together(
            self,
            slice_rows(X, 0, 0),
            no_labels(self.task),
            NO_WEIGHTS if weighted else None,
        )


class FusesSettings(Capability):
    """A learner whose settings can share a pass; each sees and rejects the same rows as alone."""

    @abstractmethod
    def grid_key(self) -> object:
        """Return the key that settings must share to run in one pass, or None to run alone."""

    @abstractmethod
    def fuse(self, learners: Sequence[Learner]) -> FusedSettings:
        """Return `learners`, all of one `grid_key`, as fused settings."""


def grid_key(learner: Learner) -> object:
    """Return the key that `learner` shares with fusible settings, or None if it runs alone.

    A learner that weighs classes runs alone: the weights of rows are part of its state.
    """
    if not isinstance(learner, FusesSettings) or weighs_classes(learner):
        return None
    return learner.grid_key()


def learn_together(
    fused: FusedSettings, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
) -> Sequence[FloatArray | Exception]:
    """Let fused settings learn rows, with their weights if there are some."""
    if weights is None:
        return fused.learn(X, y)
    weighted: Any = fused
    scores: Sequence[FloatArray | Exception] = weighted.learn(X, y, weights)
    return scores


def fuse(learners: Sequence[Learner]) -> FusedSettings:
    """Return learners of one `grid_key` as fused settings."""
    first: object = learners[0]
    if isinstance(first, FusesSettings):
        return first.fuse(learners)
    raise TypeError(
        f"learner {learners[0].name} runs alone: it does not declare FusesSettings"
    )


def group_fusible(learners: Sequence[Learner]) -> list[list[int]]:
    """Return the positions of `learners` in groups that can share a pass, often of one member.

    Examples
    --------
    >>> from olscale.learners.registry import make_learner
    >>> both = [make_learner("pa1", {"C": C}) for C in (0.5, 1.0)]
    >>> group_fusible([*both, make_learner("pa", {})])
    [[0, 1], [2]]
    """
    groups: dict[object, list[int]] = {}
    for i, learner in enumerate(learners):
        groups.setdefault(grid_key(learner) or i, []).append(i)
    return list(groups.values())
