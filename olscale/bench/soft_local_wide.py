"""soft-lol beside LOL on sparse rows with many classes, such as texts in a hundred categories: where it costs most.

The models take 6 GB at the sizes of the defaults, so this benchmark runs on request only.
"""

from __future__ import annotations

import numpy as np

from olscale.bench.base import Figure, compare
from olscale.bench.linear import learner
from olscale.compiled.csr import CSR, read_only
from olscale.data.chunk import Chunk

__all__ = ["figures"]

_WORDS = 160  # drawn for a row; a word drawn twice counts once


def figures(rows: int = 400, rounds: int = 3, features: int = 50_000, classes: int = 105) -> list[Figure]:
    """Return the speeds of LOL in both of its multi-class forms and of soft-lol, otherwise at their defaults."""
    stream = [_texts(rows, features, classes)]
    size = f"{features:,} features, {classes} classes"
    ova, best = f"lol, one-vs-all, {size}", f"lol, max-score, {size}"
    table = [
        learner("lol", {}, stream, title=ova, unit=1.0, classes=classes),
        learner("lol", {"multiclass": "max-score"}, stream, title=best, unit=1.0, classes=classes),
        learner("soft-lol", {}, stream, ova, title=f"soft-lol, {size}", unit=1.0, classes=classes),
    ]
    return compare(table, "rows/s", rounds)


def _texts(rows: int, features: int, classes: int) -> Chunk:
    """Return rows of about `_WORDS` words of a Zipf law, half of them from the tenth of all words that a class prefers."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    orders = np.stack([rng.permutation(features) for _ in range(classes)])
    lists = []
    for label in y:
        ranks = (features ** rng.random(_WORDS)).astype(np.int64) - 1  # log-uniform: the law of Zipf
        own = rng.random(_WORDS) < 0.5
        lists.append(np.unique(np.where(own, orders[label, ranks // 10], ranks)))
    indptr = np.cumsum([0, *map(len, lists)])
    values = 1.0 + rng.random(indptr[-1])
    X = CSR(read_only(indptr), read_only(np.concatenate(lists).astype(np.int32)), read_only(values))
    return Chunk(X, y, features)
