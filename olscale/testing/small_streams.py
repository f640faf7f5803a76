"""Small streams for the checks of learners, and learners at their start."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise, product
from typing import Any

import numpy as np

from olscale.arrays import Array, FloatArray
from olscale.compiled.csr import Rows, read_only, slice_rows, to_csr
from olscale.data.chunk import Chunk
from olscale.errors import ParameterError
from olscale.learners.contract.capability import looks_ahead
from olscale.learners.contract.learner import Learner, State
from olscale.learners.contract.parameters import Choice, Real, Whole

ROWS = 240
COLUMNS = 7
CLASSES = 4

ANY_CUTS = (
    list(range(ROWS + 1)),
    [0, 1, 1, 64, 65, 200, ROWS],
)
"""Bounds of chunks: rows one by one, and ragged chunks, one of them empty."""


def class_counts(learner: type[Learner]) -> tuple[int, ...]:
    """Return the class counts of a learner's streams: none for regression, two for novelties."""
    if learner.task == "regression":
        return (0,)
    if learner.task == "novelty":
        return (2,)
    # Two classes have one score column, more have one each: both ways need a check.
    return (2, CLASSES)


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
    clusters = classes or 3
    y: Array = rng.integers(0, clusters, ROWS)
    centres = rng.normal(size=(clusters, COLUMNS))
    # Noisy enough that learners of all kinds keep making mistakes, and so keep updating.
    X = centres[y] + 0.7 * rng.normal(size=(ROWS, COLUMNS))
    X[rng.random(X.shape) < 0.3] = 0.0
    X[rng.random(ROWS) < 0.03] = 0.0
    if not classes:
        noise = 0.1 * rng.normal(size=ROWS)
        y = np.sin(X[:, 0]) + X[:, 1] - 0.5 * X[:, 2] + noise
    return Chunk(in_layout(X, kind), read_only(y), COLUMNS)


def in_layout(X: FloatArray, kind: str) -> Rows:
    """Return dense rows read-only, or in the layout ``"csr"``."""
    if kind == "csr":
        return to_csr(X)
    return read_only(X)


def rows_on_a_line(columns: int) -> tuple[FloatArray, FloatArray]:
    """Return rows near a line, and their places on it from -1 to 1 as easy targets."""
    rng = np.random.default_rng(1)
    y = rng.uniform(-1.0, 1.0, 600)
    direction = np.linspace(-1.0, 1.0, columns)
    X = np.outer(y, direction) + 0.05 * rng.normal(size=(600, columns))
    return read_only(X), read_only(y)


def rows_and_novelties(columns: int) -> tuple[FloatArray, ...]:
    """Return rows around a point, similar ones, and rows on the other side of the origin."""
    rng = np.random.default_rng(1)
    centre = np.where(np.arange(columns) < 2, 2.0, 0.0)
    groups = []
    for sign in (1, 1, -1):
        noise = 0.3 * rng.normal(size=(300, columns))
        groups.append(read_only(sign * centre + noise))
    return tuple(groups)


def assert_known(predicted: FloatArray, y: FloatArray) -> None:
    """Refuse predictions that miss half the variance of the targets."""
    missed = float(np.mean((predicted - y) ** 2) / np.var(y))
    assert missed < 0.5, (
        f"{100 * missed:.0f} % of the variance of a smooth target is not known"
    )


def assert_apart(alike: FloatArray, far: FloatArray) -> None:
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
    learner: type[Learner],
    params: dict[str, Any],
    state: State,
    classes: int,
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
    combinations = [
        dict(zip(words, chosen, strict=True)) for chosen in product(*words.values())
    ]
    of_defaults = learner().get_params(deep=False)
    defaults = {name: of_defaults[name] for name in of_defaults if name in words}
    # One choice at a time: all combinations with every rule would be hundreds of loops to compile.
    bases = [defaults]
    for name in words:
        others = [word for word in words[name] if word != defaults[name]]
        bases += [defaults | {name: word} for word in others]
    with_rules = [base | {name: word} for name, word in in_place for base in bases]
    for params in [*combinations, *with_rules]:
        # Some words exclude each other; a learner refuses these itself.
        with suppress(ParameterError):
            learner(**params).resolved_params()
            yield params


def real_names(learner: type[Learner], params: dict[str, Any]) -> list[str]:
    """Return the names of parameters that are real numbers, but for those in `params`."""
    names = learner().get_params(deep=False).keys() - params.keys()
    return sorted(name for name in names if isinstance(learner.domains.get(name), Real))


def cut(chunk: Chunk, at: list[int]) -> Iterator[tuple[Rows, Array]]:
    """Yield rows and labels between the positions `at`."""
    for start, stop in pairwise(at):
        yield slice_rows(chunk.X, start, stop), chunk.y[start:stop]


def learn_in_parts(learner: Learner, chunk: Chunk, at: list[int]) -> FloatArray:
    """Return the scores of rows that are learned from in parts, between the positions `at`."""
    return np.concatenate([learner.learn(X, y) for X, y in cut(chunk, at)])


def copies(arrays: State) -> State:
    """Return copies: learners may change the arrays that they are given."""
    return {name: array.copy() for name, array in arrays.items()}


def assert_same_state(got: Learner, expected: Learner) -> None:
    """Refuse states that differ in a bit."""
    assert_same_arrays(got.state(), expected.state(), "state")


def assert_same_arrays(got: State, expected: State, what: str) -> None:
    """Refuse arrays that differ in a name or a bit."""
    names = sorted(expected)
    assert sorted(got) == names, f"{what} has {sorted(got)}, expected {names}"
    for name in expected:
        np.testing.assert_array_equal(
            got[name], expected[name], err_msg=f"{what} array {name}"
        )
