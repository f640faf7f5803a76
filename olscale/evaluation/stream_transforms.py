"""What the transforms of a stream have learned from its rows: once for all runs that learn from the same rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from olscale.data.chunk import Chunk
from olscale.data.transforms.pipeline import Pipeline
from olscale.evaluation.label_delay import Schedule
from olscale.evaluation.run import Run

_Fold = int | None


class StreamTransforms:
    """The streaming transforms of a group of runs.

    A row trains a transform where it trains the model, however often it does that and whenever its
    label is known. So each of several models side by side has transforms of its own, which have not
    learned from the rows that test it.

    Parameters
    ----------
    pipeline : Pipeline
    runs : sequence of Run

    Attributes
    ----------
    folds : list of tuple
        The numbers of models, None of the only one, that see the same rows.
    """

    def __init__(self, pipeline: Pipeline, runs: Sequence[Run]) -> None:
        self._pipeline = pipeline
        folds = tuple(dict.fromkeys(run.fold for run in runs))
        self._streams = bool(pipeline.streaming)
        self.folds = [(fold,) for fold in folds] if self._streams else [folds]
        scoring = runs[0].stream.scoring
        self._schedules = [Schedule(scoring, same[0]) for same in self.folds]
        self._steps = [pipeline.begin() for _ in self.folds]

    def learn(self, chunk: Chunk, first: int) -> dict[_Fold, Chunk]:
        """Return the next rows of the stream, the first of which is row `first`, as each model sees them."""
        if not self._streams:
            return self._by_fold([chunk])
        span = first, first + len(chunk)
        trains = [schedule.times(*span) > 0 for schedule in self._schedules]
        return self._by_fold(
            [step.learn(chunk, some) for step, some in zip(self._steps, trains, strict=True)]
        )

    def rows_of(self, fold: _Fold) -> Callable[[Chunk, int], Chunk]:
        """Return `learn` for the rows of one fold alone."""
        return lambda chunk, first: self.learn(chunk, first)[fold]

    def apply(self, chunk: Chunk) -> dict[_Fold, Chunk]:
        """Return test rows as each model sees them now."""
        return self._by_fold([step.apply(chunk) for step in self._steps])

    def _by_fold(self, chunks: Sequence[Chunk]) -> dict[_Fold, Chunk]:
        return {
            fold: chunk for same, chunk in zip(self.folds, chunks, strict=True) for fold in same
        }

    def pipeline(self, fold: _Fold) -> Pipeline:
        """Return all transforms, as they are now, of the model number `fold`."""
        steps = (step for same, step in zip(self.folds, self._steps, strict=True) if fold in same)
        return self._pipeline.after(next(steps))

    def size_after(self, columns: int, values: float) -> tuple[int, float]:
        """Return the number of features, and of stored values of a row, of which there were so many."""
        return self._steps[0].size_after(columns, values)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of all that was learned, with names for a checkpoint."""
        parts = zip(self.folds, self._steps, strict=True)
        return {
            f"{_mark(same)}{name}": array
            for same, step in parts
            for name, array in step.state().items()
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a `state`, of these runs or of more.

        Raises
        ------
        KeyError
            If it is that of other transforms.
        """
        for same, step in zip(self.folds, self._steps, strict=True):
            mark = _mark(same)
            step.restore(
                {
                    name.removeprefix(mark): array
                    for name, array in state.items()
                    if name.startswith(mark)
                }
            )


def _mark(same: tuple[_Fold, ...]) -> str:
    return "transform." if same[0] is None else f"transform of fold {same[0]}."
