"""Fused runs: runs of one learner in several settings that share one pass of the compiled loop."""

from collections.abc import Sequence

import numpy as np

from olscale.compiled.csr import slice_rows
from olscale.data.chunk import Chunk
from olscale.evaluation.guard import attempt, failure_of, guarded
from olscale.evaluation.label_delay import Scored
from olscale.evaluation.learning_time import LearningTime
from olscale.evaluation.run_state import RunState
from olscale.learners.contract.fused_settings import FusedSettings, fuse, group_fusible
from olscale.learners.contract.usable_rows import learn_usable_together, usable_rows


class FusedRuns:
    """Runs of one learner in several settings that share the time of their pass evenly.

    An exception of the pass ends all of them, since its cause cannot be attributed to one setting.
    A failure reported for a single setting ends only that run.
    """

    fold = None  # models of online folds are not fused

    def __init__(self, runs: Sequence[RunState]) -> None:
        self._runs = runs
        self._fused = attempt(
            runs, lambda: fuse([run.learner for run in runs]), counts=False
        )
        first = runs[0]
        self._weighted = (
            first.run.stream.scoring.weights is not None and first.learner.takes_weights
        )
        self._ready = False

    def step(self, chunk: Chunk) -> None:
        """Have all learners predict, then learn, each row of the stream's next chunk."""
        fused = self._fused
        scores = None
        if fused is None:
            return
        if not self._ready:
            attempt(self._runs, lambda: self._compile(fused, chunk), counts=False)
            self._ready = True
        start = LearningTime.now()
        with guarded(self._runs):
            visible = self._runs[0].seen_by_learner(chunk)
            weights = None
            if self._weighted:
                weights = visible.weights
            scores = learn_usable_together(
                fused,
                self._runs[0].learner,
                visible.X,
                visible.y,
                weights,
            )
        share = start.elapsed() / len(self._runs)
        for run, run_scores in zip(self._runs, scores or (), strict=scores is not None):
            if isinstance(run_scores, Exception):
                end = failure_of(run_scores)
                run.fail(end.outcome, end.reason, row=end.row)
            else:
                run.see(chunk, Scored(np.arange(len(chunk)), run_scores), share)

    def _compile(self, fused: FusedSettings, chunk: Chunk) -> None:
        fused.compile(chunk.X, self._weighted)
        if not self._runs[0].learner.checks_rows:
            usable_rows(slice_rows(chunk.X, 0, 0), self._runs[0].learner.norm_limits())

    def release(self) -> None:
        """Bring the learners up to date with the pass."""
        if self._fused is not None:
            attempt(self._runs, self._fused.release, counts=False)


def fuse_runs(runs: Sequence[RunState]) -> list[RunState | FusedRuns]:
    """Return `runs` as they process a stream: fused where possible, otherwise single."""
    running = [run for run in runs if run.outcome == "ok"]
    if len(running) == 1:
        return list(running)
    if any(run.run.stream.scoring.interrupts or run.watch for run in running):
        return list(running)
    running = [run for run in running if run.shares_passes]
    groups = group_fusible([run.learner for run in running])
    passes: list[RunState | FusedRuns] = []
    for group in groups:
        members = [running[i] for i in group]
        # A single run needs no arrays for several settings.
        passes.append(members[0] if len(members) == 1 else FusedRuns(members))
    return passes
