"""Other people's learners, each as a function that learns from chunks in one pass."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from olscale.bench.base import Contestant, Figure
from olscale.compiled.csr import CSR
from olscale.data.chunk import Chunk

__all__ = ["missing", "river_pa1", "sklearn_pa1", "vowpal_wabbit"]

_RIVER_ROWS = 500
_VW_ROWS = 30_000


def missing(name: str, module: str) -> list[Figure]:
    """Return the line for a peer that is not installed, or nothing."""
    if importlib.util.find_spec(module) is not None:
        return []
    return [Figure(name, note=f"{module} is not installed: pip install 'olscale[bench]'")]


def sklearn_pa1(chunks: Sequence[Chunk], peer: str = "", target: str = "") -> Contestant:
    """Return `SGDClassifier` with ``learning_rate="pa1"`` fed with the same chunks."""
    import scipy.sparse
    from sklearn.linear_model import SGDClassifier

    matrices = []
    for chunk in chunks:
        X = chunk.X
        assert isinstance(X, CSR)
        shape = (len(chunk), chunk.columns)
        matrix: Any = scipy.sparse.csr_matrix(
            (np.array(X.data), np.array(X.indices), X.indptr.astype(np.int32)), shape=shape
        )
        matrices.append((matrix, np.array(chunk.y)))

    def untrained() -> Any:
        return SGDClassifier(
            loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, shuffle=False, fit_intercept=False
        )

    def learn(model: Any) -> None:
        for matrix, y in matrices:
            model.partial_fit(matrix, y, classes=[0, 1])

    rows = sum(map(len, chunks))
    return Contestant("scikit-learn pa1, 16k chunks", learn, rows / 1e6, untrained, peer, target)


def vowpal_wabbit(chunks: Sequence[Chunk], folder: str, peer: str = "") -> Contestant:
    """Return Vowpal Wabbit's ``--sgd`` on its own cache file of the first rows (hinge loss, 22 bits)."""
    from vowpalwabbit import Workspace

    text, cache = Path(folder) / "rows.vw", Path(folder) / "rows.cache"
    rows = 0
    with text.open("w") as file:
        for chunk in chunks:
            X = chunk.X
            assert isinstance(X, CSR)
            for i in range(min(len(chunk), _VW_ROWS - rows)):
                span = slice(X.indptr[i], X.indptr[i + 1])
                pairs = zip(X.indices[span].tolist(), X.data[span].tolist(), strict=True)
                file.write(f"{2 * chunk.y[i] - 1} | " + " ".join(f"{j}:{v:g}" for j, v in pairs) + "\n")
                rows += 1
    options = f"--sgd --loss_function hinge -b 22 --quiet --noconstant --no_stdin -d {text} --cache_file {cache}"
    Workspace(options).finish()

    def learn(_: object) -> None:
        Workspace(options).finish()

    note = f"from its cache file, {rows:,} rows, start included"
    return Contestant("Vowpal Wabbit --sgd", learn, rows / 1e6, peer=peer, note=note)


def river_pa1(chunks: Sequence[Chunk], peer: str = "") -> Contestant:
    """Return River's passive-aggressive classifier on dictionaries of the first rows."""
    from river.linear_model import PAClassifier

    chunk = chunks[0]
    X = chunk.X
    assert isinstance(X, CSR)
    rows = []
    for i in range(min(_RIVER_ROWS, len(chunk))):
        span = slice(X.indptr[i], X.indptr[i + 1])
        rows.append((dict(zip(X.indices[span].tolist(), X.data[span].tolist(), strict=True)), bool(chunk.y[i])))

    def learn(model: Any) -> None:
        for x, y in rows:
            model.learn_one(x, y)

    note = f"{len(rows):,} rows, dictionaries made before"
    return Contestant("River pa1", learn, len(rows) / 1e6, lambda: PAClassifier(C=1.0, mode=1), peer, note=note)


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Return a directory for a peer's files."""
    return tempfile.TemporaryDirectory(prefix="olscale-bench-")
