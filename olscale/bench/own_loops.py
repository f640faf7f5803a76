"""A model in the loop that its user would write, and the same model as a run of olscale.

Both get the rows as an array, predict each row or batch before it is learned, and count mistakes;
a run of olscale also counts all its measures.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from olscale.arrays import Array
from olscale.data.chunk import Chunk
from olscale.data.feature_names import FeatureNames
from olscale.evaluation.metrics import StreamShape
from olscale.evaluation.protocol import Scoring
from olscale.evaluation.run import Run, StreamKey
from olscale.evaluation.run_state import RunState


def river_loop(rows: Chunk, model: Any) -> int:
    """Return the mistakes of a classifier of River on rows as dictionaries."""
    names = column_names(rows.columns)
    labels = rows.y.tolist()
    if not model._multiclass:
        # River's classifiers of two classes want booleans.
        labels = [label == 1 for label in labels]
    mistakes = 0
    for values, label in zip(rows.to_numpy(), labels, strict=True):
        row = dict(zip(names, values.tolist(), strict=True))
        mistakes += model.predict_one(row) != label
        model.learn_one(row, label)
    return mistakes


def batch_loop(rows: Chunk, batch: int, model: Any) -> int:
    """Return the mistakes of a classifier of scikit-learn from its second batch of rows on."""
    X: Array = rows.to_numpy()
    classes = np.arange(2)
    mistakes = 0
    for start in range(0, len(rows), batch):
        span = slice(start, start + batch)
        # A model that has learned nothing cannot predict.
        if start:
            mistakes += int((model.predict(X[span]) != rows.y[span]).sum())
        model.partial_fit(X[span], rows.y[span], classes=classes)
    return mistakes


def column_names(columns: int) -> tuple[str, ...]:
    """Return names for columns that have none."""
    return tuple(f"x{column}" for column in range(columns))


def run_of(
    learner: str,
    params: Mapping[str, Any],
    rows: Chunk,
    classes: int = 2,
    batch: int | None = None,
) -> Callable[[], RunState]:
    """Return a function that makes a run over `rows`, which has had its rehearsal."""
    scoring = Scoring(batch=batch)
    key = StreamKey("rows", "0" * 64, (), None, scoring=scoring)
    run = Run(key, learner, "0", dict(params))
    shape = StreamShape(
        len(rows),
        classes,
        scoring=scoring,
        features=FeatureNames(column_names(rows.columns)),
        labels=tuple(range(classes)),
    )

    def untrained() -> RunState:
        state = RunState(run, shape, rows.columns)
        # two more models learn the first 100 rows of any stream
        state._rehearsal = None
        return state

    return untrained


def step(state: RunState, rows: Chunk) -> None:
    """Predict and learn the next rows of a run, which must not fail."""
    state.step(rows)
    # A run that fails stops early, and would look fast.
    assert state.outcome == "ok", state.reason
