"""LOL, soft-lol and PAMO against their necessary products and updates, numpy and each other.

soft-lol is compared with LOL in the shapes of docs/soft-local.md, and on wide rows of many classes.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from olscale.arrays import BoolArray, FloatArray, IntArray
from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.linear import feed, learner, one_pass
from olscale.bench.loops import bare_max_out, gemv_float32, lol_numpy, prototype_major
from olscale.bench.workloads.url_like import chunks
from olscale.compiled.csr import CSR, read_only, to_csr
from olscale.data.chunk import Chunk
from olscale.learners.registry import make_learner

_K = 60
_SOFT = ">= 0.333"  # at most three times LOL's cost of a row
_H = 64
_PLANES = 2


def figures(rounds: int = 7, rows: int = 40_000) -> list[Figure]:
    """Return figures of LOL, soft-lol and PAMO: dense ones, eight settings of LOL, sparse ones.

    The sparse rows have 3.2 million features.
    """
    results = [
        figure for features in (22, 254, 784) for figure in _dense(features, rounds)
    ]
    results += [
        figure for features in (22, 254) for figure in _settings(features, rounds)
    ]
    return (
        results + _max_out(254, rounds) + _many_classes(rounds) + _sparse(rows, rounds)
    )


def _rows(features: int) -> tuple[FloatArray, IntArray]:
    """Return 400,000 values, and classes that follow from the signs of two features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400_000 // features, features)) / np.sqrt(features)
    # Classes of opposite quadrants: no hyperplane separates them, so that learners keep moving.
    opposite = X[:, 0] * X[:, 1] > 0.0
    return X, opposite.astype(np.int64)


def _dense(features: int, rounds: int) -> list[Figure]:
    (X, y), rng = _rows(features), np.random.default_rng(1)
    # Many passes over a chunk that stays in the cache, as one that was just decoded; no model is
    # made in between.
    rows = len(X)
    passes = 10
    stream = [Chunk(X, y, features)] * passes
    work = rows * passes / 1e6

    def gemv(dtype: str) -> Contestant:
        rows_ = X.astype(dtype)
        P = rng.normal(size=(_K, features)).astype(dtype)
        out = np.zeros(_K, dtype)

        def run(_: object) -> None:
            for _ in range(passes):
                gemv_float32(rows_, P, out)

        return Contestant(f"BLAS gemv {dtype}, d = {features}", run, work)

    table = [gemv("float32"), gemv("float64")]
    for dtype, target in (("float32", ">= 0.77"), ("float64", "")):
        peer = f"BLAS gemv {dtype}, d = {features}"
        table.append(
            learner(
                "lol",
                {"k": _K, "dtype": dtype},
                stream,
                peer,
                target,
                f"lol {dtype}, d = {features}",
            )
        )
        soft = f"soft-lol {dtype}, d = {features}"
        table.append(
            learner(
                "soft-lol",
                {"dtype": dtype},
                stream,
                f"lol {dtype}, d = {features}",
                _SOFT,
                soft,
            )
        )
    # The loop in Python takes a hundred times as long per row.
    few = min(rows, 2000)
    slow = f"numpy LOL per row, d = {features}"

    def in_python(_: object) -> None:
        lol_numpy(X[:few], y[:few], _K, 1.0, 1.0)

    table.append(Contestant(slow, in_python, few / 1e6))
    target = ">= 15" if features == 254 else ""
    table.append(
        learner(
            "lol",
            {"k": _K},
            stream,
            slow,
            target,
            f"lol float64, d = {features}, to numpy",
        )
    )
    return compare(table, "M rows/s", rounds)


def _settings(features: int, rounds: int) -> list[Figure]:
    """Return LOL in eight settings that share prototypes, in one pass and in a pass each."""
    X, y = _rows(features)
    titles = (
        f"lol, 8 values of C in one pass, d = {features}",
        f"lol, 8 passes, d = {features}",
    )
    settings = [{"k": _K, "C": 2.0**power} for power in range(-4, 4)]
    return one_pass("lol", settings, [Chunk(X, y, features)], titles, rounds, ">= 3")


def _max_out(features: int, rounds: int) -> list[Figure]:
    """Return PAMO's figures against one BLAS gemv per row and the same moves of hyperplanes."""
    (X, y), rng = _rows(features), np.random.default_rng(1)
    rows = len(X)
    passes = 3
    stream = [Chunk(X, y, features)] * passes
    params = {"h": _H, "k": _PLANES}
    work = rows * passes / 1e6
    size = f"{_H} x {_PLANES} hyperplanes, d = {features}"

    def bare(name: str, moved: BoolArray) -> Contestant:
        P = rng.normal(size=(_H * _PLANES, features))
        out = np.zeros(_H * _PLANES)

        def run(_: object) -> None:
            for part in np.split(moved, passes):
                bare_max_out(X, part, P, _PLANES, out)

        return Contestant(f"{name}, {size}", run, work)

    def score(model: Any) -> None:
        for chunk in stream:
            model.scores(chunk.X)

    moved = _moved("pamo1", params, stream)
    table = [
        bare("BLAS gemv", np.zeros(rows * passes, dtype=bool)),
        bare("BLAS gemv, update of some rows", moved),
        bare("BLAS gemv, update of every row", np.ones(rows * passes, dtype=bool)),
    ]
    contestants = [
        learner(
            "pamo1",
            params,
            stream,
            table[1].name,
            ">= 0.67",
            f"pamo1, {moved.mean():.0%} of the rows move it",
        ),
        learner(
            "pamo2",
            params,
            stream,
            table[2].name,
            ">= 0.67",
            "pamo2, every row moves it",
        ),
    ]
    scored = Contestant(
        "pamo1, rows scored only",
        score,
        work,
        contestants[0].prepare,
        table[0].name,
        ">= 0.67",
    )
    return compare([*table, scored, *contestants], "M rows/s", rounds)


def _moved(name: str, params: dict[str, Any], stream: Sequence[Chunk]) -> BoolArray:
    """Return for each row whether it moves the model that learns from the stream."""
    model = make_learner(name, params)
    model.begin(stream[0].columns, 2)
    updates = [0.0]
    for chunk in stream:
        for i in range(len(chunk)):
            feed(model, [chunk[i : i + 1]])
            updates.append(model.measures()["updates"])
    return np.diff(updates) > 0.0


def _many_classes(rounds: int, features: int = 20, rows: int = 1_000) -> list[Figure]:
    """Return PAMO's figures per row and class, with ten classes and with a thousand.

    The hyperplanes of a thousand classes fit no cache.
    """
    rng = np.random.default_rng(0)
    table = []
    for classes, peer, target in (
        (10, "", ""),
        (1_000, "pamo1, 10 classes", ">= 0.67"),
    ):
        means = rng.normal(size=(classes, features))
        y = rng.integers(0, classes, rows)
        X = means[y] + rng.normal(size=(rows, features))
        stream = [Chunk(X, y, features)]
        # Per row and class: each class has hyperplanes of its own to go through.
        unit = 1e6 / classes
        table.append(
            learner(
                "pamo1",
                {},
                stream,
                peer,
                target,
                f"pamo1, {classes:,} classes",
                unit,
                classes,
            )
        )
    return compare(table, "M rows of a class/s", rounds)


def _sparse(rows: int, rounds: int) -> list[Figure]:
    stream = list(chunks(rows))
    columns = stream[0].columns
    params = {"k": _K, "dtype": "float32", "C": 0.01}
    work = rows / 1e6
    pa1 = learner("pa1", {"C": 0.01}, stream)
    steady = _steady("lol", params, stream)
    first = _first(params, stream)
    soft = _steady("soft-lol", {"dtype": "float32"}, stream)
    P = np.zeros((_K, columns), dtype=np.float32)
    part = stream[0][:2000]
    for start in range(0, columns, 1 << 16):
        # touched, so that reading it is reading memory
        P[:, start : start + (1 << 16)] = 1e-6
    slow = "prototype-major numba, nearest only"

    def by_prototype(_: object) -> None:
        prototype_major(part.X, P, np.ones(_K))

    table = [
        pa1,
        Contestant(slow, by_prototype, len(part) / 1e6),
        Contestant("lol float32, sparse", steady, work, peer="pa1", target=">= 0.0833"),
        Contestant(
            "soft-lol float32, sparse",
            soft,
            work,
            peer="lol float32, sparse",
            target=_SOFT,
        ),
        Contestant(
            "lol float32, sparse, to prototype-major",
            steady,
            work,
            peer=slow,
            target=">= 10",
        ),
    ]
    results = compare(table, "M rows/s", rounds)
    return [
        *results,
        *compare(
            [Contestant("lol float32, sparse, from nothing", first, work)],
            "M rows/s",
            1,
        ),
    ]


def _steady(name: str, params: dict[str, Any], stream: Sequence[Chunk]) -> Any:
    """Return further passes of one model: its memory is there, as late in a long stream."""
    contestant = learner(name, params, stream)
    model = cache(contestant.prepare)
    return lambda _: contestant.run(model())


def _first(params: dict[str, Any], stream: Sequence[Chunk]) -> Any:
    """Return a first pass of a new model, which waits for its memory at every new feature."""

    def run(_: object) -> None:
        model = make_learner("lol", params)
        model.begin(stream[0].columns, 2)
        feed(model, stream)

    return run


# Features with the bias, classes, share of nonzeros, distance of the centres: the one that gives
# LOL some mistakes.
_SHAPES = {
    "svmguide1": (5, 2, 1.0, 3),
    "cbcl_face": (362, 2, 1.0, 6),
    "ijcnn1": (23, 2, 1.0, 3),
    "letter": (17, 26, 1.0, 6),
    "usps": (257, 10, 1.0, 8),
    "mnist": (785, 10, 1.0, 40),
    "a9a": (124, 2, 0.11, 8),
    "w7a": (301, 2, 0.04, 20),
}
_MANY_CLASSES = {
    f"{classes:,} classes": (100, classes, 1.0, 8) for classes in (249, 1_000)
}
_WORDS = 160  # drawn for a wide row; a word drawn twice counts once


def soft_figures(rounds: int = 7, values: int = 600_000) -> list[Figure]:
    """Return the speeds of both learners with defaults; soft-lol may cost three times LOL's.

    The adaptive form of soft-lol is compared with the default. With many classes, whose
    weights fit into no near cache, there are both precisions, and float32 may cost three and a half
    times as much.

    A stream has some 500 rows more than come to so many `values`; fewer where there are many
    classes.
    """
    results = [
        figure for name in _SHAPES for figure in _soft_beside(name, rounds, values)
    ]
    return results + [
        figure
        for name in _MANY_CLASSES
        for figure in _soft_many_classes(name, rounds, values)
    ]


def _soft_stream(shape: tuple[int, int, float, float], values: int) -> list[Chunk]:
    features, classes, share, distance = shape
    return [
        _gaussians(
            500 + int(values / features / np.sqrt(classes)),
            features,
            classes,
            share,
            distance,
        )
    ]


def _soft_beside(name: str, rounds: int, values: int) -> list[Figure]:
    classes = _SHAPES[name][1]
    stream = _soft_stream(_SHAPES[name], values)
    lol = f"lol, rows like {name}"
    soft = f"soft-lol, rows like {name}"
    table = [
        learner("lol", {}, stream, title=lol, classes=classes),
        learner("soft-lol", {}, stream, lol, ">= 0.333", soft, classes=classes),
        learner(
            "soft-lol",
            {"averaging": "adaptive"},
            stream,
            soft,
            title=f"{soft}, adaptive",
            classes=classes,
        ),
    ]
    return compare(table, "M rows/s", rounds)


def _soft_many_classes(name: str, rounds: int, values: int) -> list[Figure]:
    classes = _MANY_CLASSES[name][1]
    stream = _soft_stream(_MANY_CLASSES[name], values)
    table = []
    for dtype, target in (("float64", ""), ("float32", ">= 0.286")):
        lol = f"lol, {dtype}, {name}"
        soft = f"soft-lol, {dtype}, {name}"
        table.append(
            learner("lol", {"dtype": dtype}, stream, title=lol, classes=classes)
        )
        table.append(
            learner(
                "soft-lol", {"dtype": dtype}, stream, lol, target, soft, classes=classes
            )
        )
    return compare(table, "M rows/s", rounds)


def _gaussians(
    rows: int, features: int, classes: int, share: float, distance: float
) -> Chunk:
    """Return rows of two Gaussians per class, so close that a learner keeps making mistakes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    centres = rng.normal(size=(2, classes, features)) * distance / np.sqrt(features)
    places = centres[rng.integers(0, 2, len(y)), y]
    X = (places + rng.normal(size=(len(y), features))) / np.sqrt(features)
    X[rng.random(X.shape) >= share] = 0.0
    # The bias, which every row of the published sets has here.
    X[:, -1] = 1.0
    return Chunk(X if share == 1.0 else to_csr(X), y, features)


def wide_figures(
    rows: int = 400,
    rounds: int = 3,
    features: int = 50_000,
    classes: int = 105,
) -> list[Figure]:
    """Return the speeds of both multi-class forms of LOL and soft-lol where they cost most.

    The rows are sparse ones with many classes, such as texts in a hundred categories. The models
    take 6 GB at these sizes.
    """
    stream = [_texts(rows, features, classes)]
    size = f"{features:,} features, {classes} classes"
    ova = f"lol, one-vs-all, {size}"
    best = f"lol, max-score, {size}"
    table = [
        learner("lol", {}, stream, title=ova, unit=1.0, classes=classes),
        learner(
            "lol",
            {"multiclass": "max-score"},
            stream,
            title=best,
            unit=1.0,
            classes=classes,
        ),
        learner(
            "soft-lol",
            {},
            stream,
            ova,
            title=f"soft-lol, {size}",
            unit=1.0,
            classes=classes,
        ),
    ]
    return compare(table, "rows/s", rounds)


def _texts(rows: int, features: int, classes: int) -> Chunk:
    """Return rows of about `_WORDS` words of a Zipf law.

    Half of them are from the tenth of all words that the row's class prefers.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    orders = np.stack([rng.permutation(features) for _ in range(classes)])
    lists = []
    for label in y:
        # Log-uniform ranks follow the law of Zipf.
        ranks = (features ** rng.random(_WORDS)).astype(np.int64) - 1
        own = rng.random(_WORDS) < 0.5
        words = np.where(own, orders[label, ranks // 10], ranks)
        lists.append(np.unique(words))
    indptr = np.cumsum([0, *map(len, lists)])
    values = 1.0 + rng.random(indptr[-1])
    indices = np.concatenate(lists).astype(np.int32)
    X = CSR(read_only(indptr), read_only(indices), read_only(values))
    return Chunk(X, y, features)
