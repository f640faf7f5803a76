"""The state of a stream's transforms, shared by runs that learn from the same rows."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from olscale.arrays import Array, part_of
from olscale.data.chunk import Chunk
from olscale.data.transforms.pipeline import Pipeline
from olscale.data.transforms.streaming import StreamLabels
from olscale.evaluation.label_delay import Schedule
from olscale.evaluation.run import Run

_Fold = int | None


class StreamTransforms:
    """The streaming transforms of a group of runs.

    A row trains a transform if it trains the model, no matter how often it does so or when its
    label arrives. Models of online folds therefore have transforms of their own, which have not
    learned from their test rows.

    Parameters
    ----------
    pipeline : Pipeline
    runs : sequence of Run
    rows : int
        Length of the stream over all passes: labels that come later never arrive. 0 if no label
        does, as for rows that are shown ahead.

    Attributes
    ----------
    folds : list of tuple
        Groups of models that see the same rows, by number; None for a single model.
    """

    def __init__(self, pipeline: Pipeline, runs: Sequence[Run], rows: int) -> None:
        self._pipeline = pipeline
        self._rows = rows
        folds = tuple(dict.fromkeys(run.fold for run in runs))
        self._streams = bool(pipeline.streaming)
        # Without streaming transforms all models see the same rows, so one copy serves them.
        self.folds: list[tuple[_Fold, ...]] = [folds]
        if self._streams:
            self.folds = [(fold,) for fold in folds]
        scoring = runs[0].stream.scoring
        self._schedules = [
            Schedule(scoring, fold_group[0], rows=rows) for fold_group in self.folds
        ]
        self._steps = [pipeline.begin() for _ in self.folds]
        self._learns_labels = rows > 0 and self._steps[0].learns_labels

    def learn(self, chunk: Chunk, first: int) -> dict[_Fold, Chunk]:
        """Return the next rows of the stream, from row `first` on, as each model sees them."""
        if not self._streams:
            return self._by_fold([chunk])
        span = first, first + len(chunk)
        trains = [schedule.times(*span) > 0 for schedule in self._schedules]
        labels = self._labels(chunk, first) if self._learns_labels else None
        return self._by_fold(
            [
                step.learn(chunk, some, labels)
                for step, some in zip(self._steps, trains, strict=True)
            ]
        )

    def _labels(self, chunk: Chunk, first: int) -> StreamLabels:
        """Return labels that arrive when learners get them."""
        rows = np.arange(first, first + len(chunk))
        arrivals = rows + self._schedules[0].delays(chunk, first)
        return StreamLabels(
            chunk.y, np.where(arrivals < self._rows, arrivals - rows, -1)
        )

    def rows_of(self, fold: _Fold) -> Callable[[Chunk, int], Chunk]:
        """Return `learn` for the rows of a single fold."""
        return lambda chunk, first: self.learn(chunk, first)[fold]

    def apply(self, chunk: Chunk) -> dict[_Fold, Chunk]:
        """Return test rows as each model currently sees them."""
        return self._by_fold([step.apply(chunk) for step in self._steps])

    def _by_fold(self, chunks: Sequence[Chunk]) -> dict[_Fold, Chunk]:
        return {
            fold: chunk
            for fold_group, chunk in zip(self.folds, chunks, strict=True)
            for fold in fold_group
        }

    def pipeline(self, fold: _Fold) -> Pipeline:
        """Return all current transforms of the model number `fold`."""
        steps = (
            step
            for fold_group, step in zip(self.folds, self._steps, strict=True)
            if fold in fold_group
        )
        return self._pipeline.after(next(steps))

    def size_after(self, columns: int, values: float) -> tuple[int, float]:
        """Return the features and stored values of a row after the transforms."""
        return self._steps[0].size_after(columns, values)

    def state(self) -> dict[str, Array]:
        """Return copies of everything learned, named for a checkpoint."""
        parts = zip(self.folds, self._steps, strict=True)
        return {
            f"{_mark(fold_group)}{name}": array
            for fold_group, step in parts
            for name, array in step.state().items()
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a `state` of these runs or of more.

        Raises
        ------
        KeyError
            If the state belongs to other transforms.
        """
        for fold_group, step in zip(self.folds, self._steps, strict=True):
            step.restore(part_of(state, _mark(fold_group)))


def _mark(fold_group: tuple[_Fold, ...]) -> str:
    if fold_group[0] is None:
        return "transform."
    return f"transform of fold {fold_group[0]}."
