"""Linear regressors on dense rows in memory against scikit-learn, River and Vowpal Wabbit."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from olscale.bench import other_learners
from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.linear import learner
from olscale.data.chunk import Chunk

_FEATURES = 100
_BLOCK = 1000
_RIVER_ROWS = 1000
_SKLEARN = "scikit-learn SGDRegressor, pa1"
_RIVER = "River LinearRegression, squared loss"
_RIVER_RLS = "River BayesianLinearRegression"
_VW = "Vowpal Wabbit --sgd"


def figures(rows: int = 100_000, rounds: int = 5) -> list[Figure]:
    """Return the speeds of regressors and of their peers with the same update rule."""
    stream = list(_chunks(rows))
    # River takes a hundred times as long a row.
    slow = [chunk[:_RIVER_ROWS] for chunk in stream[:1]]
    sgd = {"eta": 0.01, "power": 0.0}
    results = other_learners.missing(_VW, "vowpalwabbit") + [
        figure
        for name in (_RIVER, _RIVER_RLS)
        for figure in other_learners.missing(name, "river")
    ]
    absent = {figure.name for figure in results}
    with other_learners.scratch() as folder:
        table = [
            _sklearn_pa1(stream),
            learner("pa1-r", {"C": 0.1}, stream, _SKLEARN, ">= 2.5"),
            learner("sgd-r", sgd, stream, _SKLEARN, ">= 2.5"),
            learner("sgd-r", sgd, stream, "pa1-r", title="sgd-r to pa1-r"),
            learner("rls", {}, stream[:10], "pa1-r", title="rls, d = 100"),
            learner(
                "rls", {"form": "diagonal"}, stream, "pa1-r", title="rls, diagonal"
            ),
            learner("ridge", {}, slow, "pa1-r", title="ridge, d = 100"),
        ]
        if _VW not in absent:
            table.append(_vowpal_wabbit(stream, folder, "sgd-r"))
        if _RIVER not in absent:
            table += [_river(slow[0], "sgd-r"), _river_rls(slow[0], "rls, d = 100")]
        return [*compare(table, "M rows/s", rounds), *results]


def _chunks(rows: int) -> Any:
    rng = np.random.default_rng(0)
    w = rng.normal(size=_FEATURES) / np.sqrt(_FEATURES)
    for start in range(0, rows, _BLOCK):
        X = rng.normal(size=(min(_BLOCK, rows - start), _FEATURES))
        yield Chunk(X, X @ w + 0.1 * rng.normal(size=len(X)), _FEATURES)


def _sklearn_pa1(stream: Sequence[Chunk]) -> Contestant:
    """Return `SGDRegressor` with the rule of ``pa1-r``, fed with blocks of a thousand rows."""
    from sklearn.linear_model import SGDRegressor

    blocks = [(np.array(chunk.X), np.array(chunk.y)) for chunk in stream]
    rule = {
        "loss": "epsilon_insensitive",
        "learning_rate": "pa1",
        "eta0": 0.1,
        "epsilon": 0.1,
    }

    def untrained() -> Any:
        # The same rule as ours: what differs is the loop.
        return SGDRegressor(**rule, penalty=None, shuffle=False, fit_intercept=False)

    def learn(model: Any) -> None:
        for X, y in blocks:
            model.partial_fit(X, y)

    return Contestant(_SKLEARN, learn, sum(map(len, stream)) / 1e6, untrained)


def _river(chunk: Chunk, peer: str) -> Contestant:
    """Return River's linear regression by gradient descent.

    River's passive-aggressive regressor takes targets for labels.
    """
    from river.linear_model import LinearRegression
    from river.optim import SGD

    return _river_model(
        _RIVER, chunk, peer, lambda: LinearRegression(SGD(0.005), intercept_lr=0.0)
    )


def _river_rls(chunk: Chunk, peer: str) -> Contestant:
    """Return River's Bayesian linear regression: recursive least squares with ``lam=1``."""
    from river.linear_model import BayesianLinearRegression

    return _river_model(
        _RIVER_RLS,
        chunk,
        peer,
        lambda: BayesianLinearRegression(alpha=1.0, beta=1.0),
    )


def _river_model(name: str, chunk: Chunk, peer: str, untrained: Any) -> Contestant:
    rows = []
    # Dictionaries are made before the clock starts: they are not River's work.
    for x, y in zip(chunk.X, chunk.y.tolist(), strict=True):
        rows.append((dict(enumerate(x.tolist())), y))

    def learn(model: Any) -> None:
        for x, y in rows:
            model.predict_one(x)
            model.learn_one(x, y)

    note = f"{len(rows):,} rows, dictionaries made before"
    return Contestant(name, learn, len(rows) / 1e6, untrained, peer, note=note)


def _vowpal_wabbit(stream: Sequence[Chunk], folder: str, peer: str) -> Contestant:
    """Return Vowpal Wabbit's ``--sgd`` with squared loss on its own cache file."""
    rows = ((y, x) for chunk in stream for y, x in zip(chunk.y, chunk.X, strict=True))
    lines = []
    # Text of all rows would be large, and the speed is the same.
    for y, x in islice(rows, 30_000):
        features = " ".join(f"{j}:{v:g}" for j, v in enumerate(x))
        lines.append(f"{y:g} | {features}\n")
    return other_learners.vowpal_wabbit_lines(
        _VW, lines, "--loss_function squared", Path(folder), peer
    )
