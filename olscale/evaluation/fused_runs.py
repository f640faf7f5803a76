"""Lanes: folds that go through a stream in one pass of the compiled loop, or alone."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Protocol

from olscale.data.chunk import Chunk
from olscale.evaluation.guard import attempt
from olscale.evaluation.run_state import RunState
from olscale.learners.contract.fused_settings import group_for_grids

__all__ = ["FusedRuns", "cut_fused_runs"]


class FusedRuns(Protocol):
    """What a stream feeds its chunks to."""

    def step(self, chunk: Chunk) -> None:
        """Feed the stream's next chunk."""
        ...

    def release(self) -> None:
        """Bring the folds' learners up to date."""
        ...


class _Alone:
    """A fold by itself."""

    def __init__(self, fold: RunState) -> None:
        self._fold = fold

    def step(self, chunk: Chunk) -> None:
        self._fold.step(chunk)

    def release(self) -> None:
        """Nothing is behind."""


class _Together:
    """Folds of one learner in several settings; the time of the pass is shared evenly among them.

    What their pass raises ends all of them: nobody can say whose doing it was.
    """

    def __init__(self, folds: Sequence[RunState]) -> None:
        self._folds = folds
        self._grid = attempt(folds, lambda: folds[0].learner.fuse([fold.learner for fold in folds]), counts=False)
        self._ready = False

    def step(self, chunk: Chunk) -> None:
        grid = self._grid
        if grid is None:
            return
        if not self._ready:
            attempt(self._folds, lambda: grid.compile(chunk.X), counts=False)
            self._ready = True
        start = perf_counter()
        scores = attempt(self._folds, lambda: grid.learn(chunk.X, chunk.y))
        share = (perf_counter() - start) / len(self._folds)
        for fold, mine in zip(self._folds, scores or (), strict=scores is not None):
            fold.see(chunk, mine, share)

    def release(self) -> None:
        if self._grid is not None:
            attempt(self._folds, self._grid.release, counts=False)


def cut_fused_runs(folds: Sequence[RunState]) -> list[FusedRuns]:
    """Return lanes for `folds`, those together that can be."""
    able = [fold for fold in folds if fold.outcome == "ok"]
    if any(fold.run.stream.scoring.interrupts for fold in able):
        return [_Alone(fold) for fold in able]
    able = [fold for fold in able if fold.shares_passes]
    groups = group_for_grids([fold.learner for fold in able])
    return [_Alone(able[group[0]]) if len(group) == 1 else _Together([able[i] for i in group]) for group in groups]
