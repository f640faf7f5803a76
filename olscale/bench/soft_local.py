"""soft-lol against LOL, in the shapes of docs/soft-local.md and on wide rows of many classes."""

import numpy as np

from olscale.bench.base import Figure, compare
from olscale.bench.linear import learner
from olscale.compiled.csr import CSR, read_only, to_csr
from olscale.data.chunk import Chunk

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
_MANY_CLASSES = {f"{classes:,} classes": (100, classes, 1.0, 8) for classes in (249, 1_000)}
_WORDS = 160  # drawn for a wide row; a word drawn twice counts once


def figures(rounds: int = 7, values: int = 600_000) -> list[Figure]:
    """Return the speeds of both learners with defaults; soft-lol may cost three times LOL's.

    The adaptive form of soft-lol is compared with the default. With many classes, whose
    weights fit into no near cache, there are both precisions, and float32 may cost three and a half
    times as much.

    A stream has some 500 rows more than come to so many `values`; fewer where there are many
    classes.
    """
    results = [figure for name in _SHAPES for figure in _beside(name, rounds, values)]
    return results + [
        figure for name in _MANY_CLASSES for figure in _many_classes(name, rounds, values)
    ]


def _stream(shape: tuple[int, int, float, float], values: int) -> list[Chunk]:
    features, classes, share, distance = shape
    return [
        _rows(500 + int(values / features / np.sqrt(classes)), features, classes, share, distance)
    ]


def _beside(name: str, rounds: int, values: int) -> list[Figure]:
    classes = _SHAPES[name][1]
    stream = _stream(_SHAPES[name], values)
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


def _many_classes(name: str, rounds: int, values: int) -> list[Figure]:
    classes = _MANY_CLASSES[name][1]
    stream = _stream(_MANY_CLASSES[name], values)
    table = []
    for dtype, target in (("float64", ""), ("float32", ">= 0.286")):
        lol = f"lol, {dtype}, {name}"
        soft = f"soft-lol, {dtype}, {name}"
        table.append(learner("lol", {"dtype": dtype}, stream, title=lol, classes=classes))
        table.append(
            learner("soft-lol", {"dtype": dtype}, stream, lol, target, soft, classes=classes)
        )
    return compare(table, "M rows/s", rounds)


def _rows(rows: int, features: int, classes: int, share: float, distance: float) -> Chunk:
    """Return rows of two Gaussians per class, so close that a learner keeps making mistakes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    centres = rng.normal(size=(2, classes, features)) * distance / np.sqrt(features)
    X = (centres[rng.integers(0, 2, len(y)), y] + rng.normal(size=(len(y), features))) / np.sqrt(
        features
    )
    X[rng.random(X.shape) >= share] = 0.0
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
        learner("lol", {"multiclass": "max-score"}, stream, title=best, unit=1.0, classes=classes),
        learner("soft-lol", {}, stream, ova, title=f"soft-lol, {size}", unit=1.0, classes=classes),
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
        ranks = (features ** rng.random(_WORDS)).astype(
            np.int64
        ) - 1  # log-uniform: the law of Zipf
        own = rng.random(_WORDS) < 0.5
        lists.append(np.unique(np.where(own, orders[label, ranks // 10], ranks)))
    indptr = np.cumsum([0, *map(len, lists)])
    values = 1.0 + rng.random(indptr[-1])
    X = CSR(read_only(indptr), read_only(np.concatenate(lists).astype(np.int32)), read_only(values))
    return Chunk(X, y, features)
