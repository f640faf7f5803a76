"""Linear learners on URL-like rows in memory, against a bare loop and other libraries."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from olscale.bench import other_learners
from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.loops import arow_numpy, bare_pa1, symv_syr
from olscale.bench.workloads.url_like import chunks
from olscale.compiled.csr import to_csr
from olscale.data.chunk import Chunk
from olscale.errors import ParameterError, UnknownNameError
from olscale.learners.contract.compilation import compile_loops
from olscale.learners.contract.fused_settings import fuse
from olscale.learners.registry import make_learner

_BARE = "bare dot + axpy, prefetch"
_UNIT = "M rows/s"


def figures(rows: int = 200_000, rounds: int = 5) -> list[Figure]:
    """Return the speeds of learners and peers, sparse first."""
    stream = list(chunks(rows))
    results: list[Figure] = other_learners.missing(
        "Vowpal Wabbit --sgd", "vowpalwabbit"
    ) + other_learners.missing("River pa1", "river")
    absent = {figure.name for figure in results}
    with other_learners.scratch() as folder:
        table = [
            _bare(stream),
            other_learners.sklearn_pa1(stream),
            learner("pa1", {"C": 1.0}, stream, peer=_BARE, target=">= 0.9"),
        ]
        table += _more(
            "pa1 to scikit-learn",
            "pa1",
            {"C": 1.0},
            stream,
            results,
            table[1].name,
            ">= 2.5",
        )
        table += _more(
            "arow diagonal",
            "arow",
            {"covariance": "diagonal"},
            stream,
            results,
            "pa1",
            ">= 0.7",
        )
        log_loss = other_learners.sklearn_logistic(stream)
        table.append(log_loss)
        for name in ("logistic", "adagrad", "ftrl"):
            table.append(learner(name, {}, stream, log_loss.name))
        name = "multinomial-naive-bayes"
        table.append(learner(name, {}, stream, "pa1"))
        table.append(other_learners.sklearn_multinomial(stream, name))
        if "Vowpal Wabbit --sgd" not in absent:
            table.append(other_learners.vowpal_wabbit(stream, folder, "pa1"))
        if "River pa1" not in absent:
            table.append(other_learners.river_pa1(stream, "pa1"))
            table.append(other_learners.river_multinomial(stream, name))
        figures = compare(table, _UNIT, rounds)
    return [
        *figures,
        *results,
        *_full(100, 2000, rounds),
        *_full(784, 300, rounds),
        *_steps(stream, rounds),
    ]


def learner(
    name: str,
    params: dict[str, Any],
    stream: Sequence[Chunk],
    peer: str = "",
    target: str = "",
    title: str = "",
    unit: float = 1e6,
    classes: int = 2,
) -> Contestant:
    """Return one of our learners, untrained at each start, with memory touched before.

    Its work is counted in units of so many rows; peers must count in the same.
    """
    work = sum(map(len, stream)) / unit
    fresh = partial(untrained, name, params, stream[0], classes)
    return Contestant(
        title or name, lambda model: feed(model, stream), work, fresh, peer, target
    )


def feed(model: Any, stream: Iterable[Chunk]) -> None:
    """Have a learner of ours, or fused settings, learn from all chunks."""
    for chunk in stream:
        model.learn(chunk.X, chunk.y)


def untrained(name: str, params: dict[str, Any], chunk: Chunk, classes: int = 2) -> Any:
    """Return a learner of ours that is ready for rows like those of `chunk`."""
    model = make_learner(name, params)
    model.begin(chunk.columns, classes)
    compile_loops(model, chunk.X)
    for array in model.state_.values():
        if not array.any():
            array.fill(0)  # the same zeros, but in pages that are there
    return model


def _more(
    title: str,
    name: str,
    params: dict[str, Any],
    stream: Sequence[Chunk],
    skipped: list[Figure],
    peer: str,
    target: str,
    unit: float = 1e6,
) -> list[Contestant]:
    try:
        make_learner(name, params)
    except (UnknownNameError, ParameterError) as error:
        # A line in the table says so: other benchmarks do not need this learner.
        skipped.append(Figure(title, target=target, note=str(error)))
        return []
    return [learner(name, params, stream, peer, target, title, unit)]


def _bare(stream: Sequence[Chunk]) -> Contestant:
    """Return the bare loop with the very steps that PA-I takes on this stream."""
    model = make_learner("pa1", {"C": 1.0})
    model.begin(stream[0].columns, 2)
    steps = []
    for chunk in stream:
        X = to_csr(chunk.X)
        target = 2.0 * chunk.y - 1.0
        scores = model.learn(chunk.X, chunk.y)[:, 0]
        square = np.add.reduceat(X.data**2, X.indptr[:-1])
        loss = np.maximum(0.0, 1.0 - target * scores)
        # Steps are known before, so that the loop is left with memory accesses alone.
        steps.append(target * np.minimum(1.0, loss / square))

    def run(w: Any) -> None:
        for chunk, step in zip(stream, steps, strict=True):
            bare_pa1(chunk.X, step, w)

    return Contestant(
        _BARE,
        run,
        sum(map(len, stream)) / 1e6,
        lambda: np.full(stream[0].columns, 0.0),
    )


def _full(features: int, rows: int, rounds: int) -> list[Figure]:
    """Return full AROW against numpy (small) or BLAS (large)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features)) / np.sqrt(features)
    y = rng.integers(0, 2, rows)  # labels of chance: nearly every row updates
    stream = [Chunk(X, y, features)]
    skipped = list[Figure]()
    small = features <= 100
    name = (
        f"numpy AROW per row, d = {features}"
        if small
        else f"BLAS symv + syr, d = {features}"
    )
    run: Callable[[Any], object] = (
        (lambda _: arow_numpy(X, y)) if small else (lambda S: symv_syr(X, S))
    )
    peer = Contestant(name, run, rows / 1e3, lambda: np.eye(features, order="F"))
    title = f"arow full, d = {features}"
    target = ">= 10" if small else ">= 0.8"
    contestants = _more(
        title, "arow", {"covariance": "full"}, stream, skipped, name, target, 1e3
    )
    return [*compare([peer, *contestants], "k rows/s", rounds), *skipped]


def _steps(stream: Sequence[Chunk], rounds: int) -> list[Figure]:
    # A quarter: sixteen settings go over it twice in each round.
    part = stream[: max(1, len(stream) // 4)]
    settings = [{"C": 2.0**power} for power in range(-8, 8)]
    return one_pass(
        "pa1",
        settings,
        part,
        ("pa1, 16 values of C in one pass", "pa1, 16 passes"),
        rounds,
        ">= 3",
    )


def one_pass(
    name: str,
    settings: Sequence[dict[str, Any]],
    stream: Sequence[Chunk],
    titles: tuple[str, str],
    rounds: int,
    target: str,
    classes: int = 2,
) -> list[Figure]:
    """Return a learner's settings in one pass against a pass each, per setting.

    `titles` name the two.
    """
    rows = sum(map(len, stream)) / 1e6 * len(settings)

    def single() -> Any:
        return [untrained(name, params, stream[0], classes) for params in settings]

    def fused() -> Any:
        group = fuse(single())
        group.compile(stream[0].X)
        return group

    def passes(models: Any) -> None:
        for model in models:
            feed(model, stream)

    table = [
        Contestant(titles[1], passes, rows, single),
        Contestant(
            titles[0],
            lambda together: feed(together, stream),
            rows,
            fused,
            titles[1],
            target,
        ),
    ]
    return compare(table, "M setting-rows/s", rounds)
