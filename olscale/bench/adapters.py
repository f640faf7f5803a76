"""Estimators of River and scikit-learn in olscale, against their users' own loops on the same rows.

Both sides get the rows as an array, predict each row or batch before it is learned, and count
mistakes; olscale also counts all measures of a run.
"""

from collections.abc import Callable
from functools import partial
from inspect import signature
from pkgutil import resolve_name
from typing import Any

import numpy as np

from olscale.arrays import Array
from olscale.bench import other_learners
from olscale.bench.base import Contestant, Figure, compare
from olscale.compiled.csr import read_only
from olscale.data.chunk import Chunk
from olscale.data.feature_names import FeatureNames
from olscale.evaluation.metrics import StreamShape
from olscale.evaluation.protocol import Scoring
from olscale.evaluation.run import Run, StreamKey
from olscale.evaluation.run_state import RunState

_COLUMNS = 10
_BATCH = 100
_RIVER_ROWS = 10_000
_SINGLE_ROWS = 1_000  # of scikit-learn's models row by row, which take about 1 ms each
_RIVER = (
    "river.naive_bayes:GaussianNB",
    "river.linear_model:LogisticRegression",
    "river.tree:HoeffdingTreeClassifier",
)
_SCIKIT_LEARN = (
    "sklearn.naive_bayes:GaussianNB",
    "sklearn.linear_model:SGDClassifier",
    "sklearn.linear_model:Perceptron",
)


def figures(rows: int = 50_000, rounds: int = 5) -> list[Figure]:
    """Return the speeds of models in their own loops, in olscale, and in olscale in batches."""
    stream = _stream(rows)
    lines = []
    for name in _RIVER:
        lines += other_learners.missing(f"River {_short(name)}", "river") or _river(
            name, stream, rounds
        )
    for name in _SCIKIT_LEARN:
        lines += _scikit_learn(name, stream, rounds)
    return lines


def _stream(rows: int) -> Chunk:
    """Return rows of two Gaussian classes that overlap."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, rows)
    X = 0.3 * random.normal(size=(2, _COLUMNS))[y] + random.normal(
        size=(rows, _COLUMNS)
    )
    return Chunk(read_only(X), read_only(y), _COLUMNS)


def _short(name: str) -> str:
    return name.rpartition(":")[2]


def _river(name: str, stream: Chunk, rounds: int) -> list[Figure]:
    title = f"River {_short(name)}"
    rows = stream[:_RIVER_ROWS]
    model = resolve_name(name)
    own = f"{title}, its own loop"
    table = [
        Contestant(own, partial(_river_loop, rows), len(rows) / 1e3, model),
        _in_olscale(f"{title} in olscale", name, rows, None, own, ">= 0.85"),
        _in_olscale(
            f"{title} in olscale, batches of {_BATCH}", name, rows, _BATCH, own
        ),
    ]
    return compare(table, "k rows/s", rounds)


def _river_loop(rows: Chunk, model: Any) -> int:
    names = _names()
    labels = rows.y.tolist()
    if not model._multiclass:
        labels = [label == 1 for label in labels]
    mistakes = 0
    for values, label in zip(rows.to_numpy(), labels, strict=True):
        row = dict(zip(names, values.tolist(), strict=True))
        mistakes += model.predict_one(row) != label
        model.learn_one(row, label)
    return mistakes


def _scikit_learn(name: str, stream: Chunk, rounds: int) -> list[Figure]:
    title = f"scikit-learn {_short(name)}"
    own = f"{title}, its own loop, batches of {_BATCH}"
    batches = f"{title} in olscale, batches of {_BATCH}"
    single = f"{title} in olscale, row by row"
    few = stream[:_SINGLE_ROWS]
    kind = resolve_name(name)
    model = kind
    if "random_state" in signature(kind).parameters:
        # as olscale sets a seed that is left open
        model = partial(kind, random_state=0)
    in_batches = _in_olscale(batches, name, stream, _BATCH, own, ">= 0.9")
    own_loop = Contestant(own, partial(_batch_loop, stream), len(stream) / 1e3, model)
    table = compare([own_loop, in_batches], "k rows/s", rounds)
    row_by_row = _in_olscale(single, name, few, None)
    faster = _in_olscale(batches, name, stream, _BATCH, single, ">= 70x")
    return [*table, *compare([row_by_row, faster], "k rows/s", rounds)]


def _batch_loop(rows: Chunk, model: Any) -> int:
    X: Array = rows.to_numpy()
    classes = np.arange(2)
    mistakes = 0
    for start in range(0, len(rows), _BATCH):
        span = slice(start, start + _BATCH)
        if start:
            mistakes += int((model.predict(X[span]) != rows.y[span]).sum())
        model.partial_fit(X[span], rows.y[span], classes=classes)
    return mistakes


def _names() -> tuple[str, ...]:
    return tuple(f"x{column}" for column in range(_COLUMNS))


def _in_olscale(
    title: str,
    name: str,
    rows: Chunk,
    batch: int | None,
    peer: str = "",
    target: str = "",
) -> Contestant:
    def learn(state: Any) -> None:
        state.step(rows)
        assert state.outcome == "ok", state.reason

    return Contestant(
        title, learn, len(rows) / 1e3, _untrained(name, rows, batch), peer, target
    )


def _untrained(name: str, rows: Chunk, batch: int | None) -> Callable[[], RunState]:
    """Return a function that makes a run, which has had its rehearsal."""
    scoring = Scoring(batch=batch)
    key = StreamKey("rows", "0" * 64, (), None, scoring=scoring)
    run = Run(key, name, "0", {})
    shape = StreamShape(
        len(rows), 2, scoring=scoring, features=FeatureNames(_names()), labels=(0, 1)
    )

    def untrained() -> RunState:
        state = RunState(run, shape, rows.columns)
        # two more models learn the first 100 rows of any stream
        state._rehearsal = None
        return state

    return untrained
