"""Small streams for the checks of learners, and learners at their start."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, read_only, slice_rows, to_csr
from olscale.data.chunk import Chunk
from olscale.errors import ParameterError
from olscale.learners.contract.capability import looks_ahead
from olscale.learners.contract.learner import Learner, State
from olscale.learners.contract.parameters import Choice, Real, Whole

ROWS = 240
COLUMNS = 7
CLASSES = 4


def class_counts(learner: type[Learner]) -> tuple[int, ...]:
    """Return the class counts of a learner's streams: none for regression, two for novelties."""
    return {"regression": (0,), "novelty": (2,)}.get(learner.task, (2, CLASSES))


def variants(learner: type[Learner]) -> list[tuple[str, int, str]]:
    """Return title, classes and layout of the streams for a learner."""
    word = f"{learner.task}, " if learner.task != "classification" else "{} classes, "
    kinds = ("dense", "csr")
    return [
        (word.format(classes) + kind, classes, kind)
        for classes in class_counts(learner)
        for kind in kinds
    ]


def stream(classes: int, kind: str, seed: int = 0) -> Chunk:
    """Return a small stream of noisy clusters, in which some features and some whole rows are zero.

    Without classes the targets are a smooth function of the rows, and noise. Detectors must not
    look at the labels. It is read-only, as all rows of streams are: loops would be compiled once
    more for writable rows.
    """
    rng = np.random.default_rng(seed)
    y: NDArray[Any] = rng.integers(0, classes or 3, ROWS)
    X = rng.normal(size=(classes or 3, COLUMNS))[y] + 0.7 * rng.normal(size=(ROWS, COLUMNS))
    X[rng.random(X.shape) < 0.3] = 0.0
    X[rng.random(ROWS) < 0.03] = 0.0
    if not classes:
        y = np.sin(X[:, 0]) + X[:, 1] - 0.5 * X[:, 2] + 0.1 * rng.normal(size=ROWS)
    return Chunk(read_only(X) if kind == "dense" else to_csr(X), read_only(y), COLUMNS)


def rows_on_a_line(columns: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rows near a line, and their places on it from -1 to 1 as easy targets."""
    rng = np.random.default_rng(1)
    y = rng.uniform(-1.0, 1.0, 600)
    return read_only(
        np.outer(y, np.linspace(-1.0, 1.0, columns)) + 0.05 * rng.normal(size=(600, columns))
    ), read_only(y)


def rows_and_novelties(columns: int) -> tuple[NDArray[np.float64], ...]:
    """Return rows around a point, similar ones, and rows on the other side of the origin."""
    rng = np.random.default_rng(1)
    centre = np.where(np.arange(columns) < 2, 2.0, 0.0)
    return tuple(
        read_only(sign * centre + 0.3 * rng.normal(size=(300, columns))) for sign in (1, 1, -1)
    )


def assert_known(predicted: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """Refuse predictions that miss half the variance of the targets."""
    missed = float(np.mean((predicted - y) ** 2) / np.var(y))
    assert missed < 0.5, f"{100 * missed:.0f} % of the variance of a smooth target is not known"


def assert_apart(alike: NDArray[np.float64], far: NDArray[np.float64]) -> None:
    """Refuse novelty scores that are not nearly always below those of familiar rows."""
    share = float(np.mean(alike[:, None] > far))
    assert share > 0.9, (
        f"of pairs of a row and a novelty, the novelty has the lower score in {100 * share:.0f} % "
        "only"
    )


def start(learner: type[Learner], classes: int) -> Learner:
    """Return a new learner at the start of the stream."""
    return start_with(learner, {}, stream(classes, "dense").X, classes)


def start_with(
    learner: type[Learner],
    params: dict[str, Any],
    X: Rows,
    classes: int,
    entropy: Sequence[int] = (),
) -> Learner:
    """Return a learner with `params` before a stream, prepared on `X` if it looks ahead."""
    fresh = learner(**params)
    fresh.begin(COLUMNS, classes, entropy)
    if looks_ahead(fresh):
        fresh.prepare(X)
    return fresh


def continue_from(
    learner: type[Learner], params: dict[str, Any], state: State, classes: int
) -> Learner:
    """Return a learner with `params` that has begun and continues from `state`."""
    fresh = learner(**params)
    fresh.begin(COLUMNS, classes)
    fresh.restore(state)
    return fresh


def choices(learner: type[Learner]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the parameters with a few words to choose from, if accepted.

    A word in place of a number, such as a width ``"median"``, names a rule for it: it comes with
    each choice, the others at their defaults.
    """
    words: dict[str, tuple[Any, ...]] = {}
    in_place: list[tuple[str, Any]] = []
    for name, default in learner().get_params(deep=False).items():
        domain = learner.domains.get(name)
        if isinstance(domain, Choice):
            words[name] = domain.words
        elif isinstance(domain, Whole | Real) and domain.words:
            words[name] = (default,)
            in_place += [(name, word) for word in domain.words if word != default]
    combinations = [dict(zip(words, chosen, strict=True)) for chosen in product(*words.values())]
    defaults = {
        name: value for name, value in learner().get_params(deep=False).items() if name in words
    }
    bases = [
        defaults,
        *(
            defaults | {name: word}
            for name in words
            for word in words[name]
            if word != defaults[name]
        ),
    ]
    for params in [
        *combinations,
        *(base | {name: word} for name, word in in_place for base in bases),
    ]:
        with suppress(ParameterError):
            learner(**params).resolved_params()
            yield params


def real_names(learner: type[Learner], params: dict[str, Any]) -> list[str]:
    """Return the names of parameters that are real numbers, but for those in `params`."""
    names = learner().get_params(deep=False).keys() - params.keys()
    return sorted(name for name in names if isinstance(learner.domains.get(name), Real))


def cut(chunk: Chunk, at: list[int]) -> Iterator[tuple[Rows, NDArray[Any]]]:
    """Yield rows and labels between the positions `at`."""
    for start, stop in pairwise(at):
        yield slice_rows(chunk.X, start, stop), chunk.y[start:stop]


def assert_same_state(got: Learner, expected: Learner) -> None:
    """Refuse states that differ in a bit."""
    assert_same_arrays(got.state(), expected.state(), "state")


def assert_same_arrays(got: State, expected: State, what: str) -> None:
    """Refuse arrays that differ in a name or a bit."""
    names = sorted(expected)
    assert sorted(got) == names, f"{what} has {sorted(got)}, expected {names}"
    for name in expected:
        np.testing.assert_array_equal(got[name], expected[name], err_msg=f"{what} array {name}")
