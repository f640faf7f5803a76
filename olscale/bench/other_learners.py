"""Other people's learners, each as a function that learns from chunks in one pass."""

import importlib.util
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from olscale.bench.base import Contestant, Figure
from olscale.compiled.csr import entries_of, to_csr, trim
from olscale.data.chunk import Chunk

_RIVER_ROWS = 500
_VW_ROWS = 30_000


def missing(name: str, module: str) -> list[Figure]:
    """Return the line for a peer that is not installed, or nothing."""
    if importlib.util.find_spec(module) is not None:
        return []
    return [Figure(name, note=f"{module} is not installed: pip install {module}")]


def sklearn_pa1(
    chunks: Sequence[Chunk], peer: str = "", target: str = ""
) -> Contestant:
    """Return `SGDClassifier` with ``learning_rate="pa1"`` fed with the same chunks."""
    params = {"loss": "hinge", "learning_rate": "pa1", "eta0": 1.0}
    return _sgd("scikit-learn pa1, 16k chunks", params, chunks, peer, target)


def sklearn_logistic(
    chunks: Sequence[Chunk], peer: str = "", target: str = ""
) -> Contestant:
    """Return `SGDClassifier` with the log loss and the step of `logistic`, fed likewise."""
    params = {"loss": "log_loss", "learning_rate": "constant", "eta0": 0.1}
    return _sgd("scikit-learn log loss, 16k chunks", params, chunks, peer, target)


def _sgd(
    title: str, params: dict[str, Any], chunks: Sequence[Chunk], peer: str, target: str
) -> Contestant:
    from sklearn.linear_model import SGDClassifier

    def untrained() -> Any:
        return SGDClassifier(penalty=None, shuffle=False, fit_intercept=False, **params)

    return _sklearn(title, untrained, chunks, peer, target)


def sklearn_multinomial(chunks: Sequence[Chunk], peer: str = "") -> Contestant:
    """Return scikit-learn's multinomial naive Bayes fed with the same chunks."""
    from sklearn.naive_bayes import MultinomialNB

    title = "scikit-learn MultinomialNB, 16k chunks"
    return _sklearn(title, MultinomialNB, chunks, peer)


def _sklearn(
    title: str,
    untrained: Callable[[], Any],
    chunks: Sequence[Chunk],
    peer: str,
    target: str = "",
) -> Contestant:
    # Converted before the clock starts: a program of scikit-learn has its rows so.
    matrices = [(to_scipy(chunk), np.array(chunk.y)) for chunk in chunks]

    def learn(model: Any) -> None:
        for matrix, y in matrices:
            model.partial_fit(matrix, y, classes=[0, 1])

    rows = sum(map(len, chunks))
    return Contestant(title, learn, rows / 1e6, untrained, peer, target)


def vowpal_wabbit(chunks: Sequence[Chunk], folder: str, peer: str = "") -> Contestant:
    """Return Vowpal Wabbit's ``--sgd`` on its own cache of the first rows (hinge loss, 22 bits)."""
    rows = (
        (y, *entries)
        for chunk in chunks
        for y, entries in zip(chunk.y, entries_of(to_csr(chunk.X)), strict=True)
    )
    lines = [
        f"{2 * y - 1} | "
        + " ".join(f"{j}:{v:g}" for j, v in zip(indices, values, strict=True))
        + "\n"
        for y, indices, values in islice(rows, _VW_ROWS)
    ]
    return vowpal_wabbit_lines(
        "Vowpal Wabbit --sgd",
        lines,
        "--loss_function hinge -b 22",
        Path(folder),
        peer,
    )


def vowpal_wabbit_lines(
    name: str,
    lines: Sequence[str],
    options: str,
    folder: Path,
    peer: str,
) -> Contestant:
    """Return Vowpal Wabbit's ``--sgd`` on a cache file made of its text `lines`."""
    from vowpalwabbit import Workspace

    text = folder / "rows.vw"
    cache = folder / "rows.cache"
    text.write_text("".join(lines))
    command = f"--sgd {options} --quiet --noconstant --no_stdin -d {text} --cache_file {cache}"
    # Writes the cache; the runs that are timed read it, as further passes do.
    Workspace(command).finish()

    note = f"from its cache file, {len(lines):,} rows, start included"
    work = len(lines) / 1e6
    return Contestant(
        name, lambda _: Workspace(command).finish(), work, peer=peer, note=note
    )


def cached_rows(
    lines: Iterable[str], options: str, folder: Path
) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """Return how Vowpal Wabbit starts on a cache of its text `lines`, and how it learns that."""
    import pylibvw

    text = folder / "rows.vw"
    text.write_text("".join(f"{line}\n" for line in lines))
    command = f"{options} --quiet --no_stdin --cache_file {folder / 'rows.cache'}"

    def learn(workspace: Any) -> None:
        workspace.run_parser()
        workspace.finish()

    # Writes the cache.
    learn(pylibvw.vw(f"{command} -d {text}".split()))
    return lambda: pylibvw.vw(command.split()), learn


def river_pa1(chunks: Sequence[Chunk], peer: str = "") -> Contestant:
    """Return River's passive-aggressive classifier on dictionaries of the first rows."""
    from river.linear_model import PAClassifier

    return _river("River pa1", partial(PAClassifier, C=1.0, mode=1), chunks, peer)


def river_multinomial(chunks: Sequence[Chunk], peer: str = "") -> Contestant:
    """Return River's multinomial naive Bayes on dictionaries of the first rows."""
    from river.naive_bayes import MultinomialNB

    return _river("River MultinomialNB", MultinomialNB, chunks, peer)


def _river(
    title: str, untrained: Callable[[], Any], chunks: Sequence[Chunk], peer: str
) -> Contestant:
    chunk = chunks[0][:_RIVER_ROWS]
    # Made before the clock starts, as in a program that has its rows so.
    entries = (dict(zip(*row, strict=True)) for row in entries_of(to_csr(chunk.X)))
    rows = list(zip(entries, map(bool, chunk.y), strict=True))

    def learn(model: Any) -> None:
        for x, y in rows:
            model.learn_one(x, y)

    note = f"{len(rows):,} rows, dictionaries made before"
    return Contestant(title, learn, len(rows) / 1e6, untrained, peer, note=note)


def to_scipy(chunk: Chunk) -> Any:
    """Return sparse rows as SciPy's, in arrays of their own."""
    from scipy.sparse import csr_matrix

    indptr, indices, data = trim(to_csr(chunk.X))
    # Copies, since peers may refuse read-only arrays; indices of one type need no conversion.
    arrays = (np.array(data), np.array(indices), indptr.astype(np.int32))
    return csr_matrix(arrays, (len(chunk), chunk.columns))


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Return a directory for a peer's files."""
    return tempfile.TemporaryDirectory(prefix="olscale-bench-")


def river_neighbours() -> Any:
    """Return River's classifier by the five nearest of the last thousand rows."""
    from river.neighbors import KNNClassifier, LazySearch

    # An exhaustive search: River's default engine is approximate.
    engine = LazySearch(window_size=1_000)
    return KNNClassifier(n_neighbors=5, engine=engine, weighted=False)
