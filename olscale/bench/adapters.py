"""Models of other libraries in olscale, against their users' own loops on the same rows.

Vowpal Wabbit itself reads its own cache.
"""

from functools import partial
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np

from olscale.bench import other_learners
from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.own_loops import batch_loop, river_loop, run_of, step
from olscale.compiled.csr import read_only
from olscale.data.chunk import Chunk

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
_VOWPAL_WABBIT = (
    "--loss_function logistic",
    "--oaa 2",
    "--loss_function logistic --nn 5",
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
    for options in _VOWPAL_WABBIT:
        title = f"Vowpal Wabbit {options}"
        lines += other_learners.missing(title, "vowpalwabbit") or _vowpal_wabbit(
            title, options, stream, rounds
        )
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
        Contestant(own, partial(river_loop, rows), len(rows) / 1e3, model),
        _in_olscale(f"{title} in olscale", name, rows, None, own, ">= 0.85"),
        _in_olscale(
            f"{title} in olscale, batches of {_BATCH}", name, rows, _BATCH, own
        ),
    ]
    return compare(table, "k rows/s", rounds)


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
    own_loop = Contestant(
        own, partial(batch_loop, stream, _BATCH), len(stream) / 1e3, model
    )
    table = compare([own_loop, in_batches], "k rows/s", rounds)
    row_by_row = _in_olscale(single, name, few, None)
    faster = _in_olscale(batches, name, stream, _BATCH, single, ">= 70x")
    return [*table, *compare([row_by_row, faster], "k rows/s", rounds)]


def _vowpal_wabbit(
    title: str, options: str, stream: Chunk, rounds: int
) -> list[Figure]:
    own = f"{title}, its own cache"
    # Labels of Vowpal Wabbit are 1, 2 for `--oaa`, and -1, 1 for a loss of two classes.
    first_label, step = (1, 1) if "--oaa" in options else (-1, 2)
    texts = (
        f"{first_label + step * label} | "
        + " ".join(f"{column}:{value!r}" for column, value in enumerate(row))
        for row, label in zip(stream.to_numpy().tolist(), stream.y, strict=True)
    )
    with other_learners.scratch() as folder:
        start, learn = other_learners.cached_rows(texts, options, Path(folder))
        table = [
            Contestant(own, learn, len(stream) / 1e3, start),
            _in_olscale(
                f"{title} in olscale", f"vw:{options}", stream, None, own, ">= 0.5"
            ),
        ]
        return compare(table, "k rows/s", rounds)


def _in_olscale(
    title: str,
    name: str,
    rows: Chunk,
    batch: int | None,
    peer: str = "",
    target: str = "",
) -> Contestant:
    untrained = run_of(name, {}, rows, batch=batch)

    def learn(state: Any) -> None:
        step(state, rows)

    return Contestant(title, learn, len(rows) / 1e3, untrained, peer, target)
