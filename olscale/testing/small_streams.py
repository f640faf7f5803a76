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
from olscale.testing.equal_arrays import assert_equal_arrays

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
    streams = []
    for classes, kind in product(class_counts(learner), ("dense", "csr")):
        words: str = learner.task
        if learner.task == "classification":
            words = f"{classes} classes"
        title = f"{words}, {kind}"
        streams.append((title, classes, kind))
    return streams


def stream(learner: type[Learner], classes: int, kind: str, seed: int = 0) -> Chunk:
    """Return a small stream of noisy clusters, in which some features and some whole rows are zero.

    A learner that takes no values below 0 gets absolute values.

    Without classes the targets are a smooth function of the rows, and noise. Detectors must not
    look at the labels. It is read-only, as all rows of streams are: loops would be compiled once
    more for writable rows.
    """
    rng = np.random.default_rng(seed)
    clusters = classes or 3
    y: Array = rng.integers(0, clusters, ROWS)
    centres = rng.normal(size=(clusters, COLUMNS))
    # Noisy enough that learners of all kinds keep making mistakes, and so keep updating.
    noise = rng.normal(size=(ROWS, COLUMNS))
    X = centres[y] + 0.7 * noise
    is_zero = rng.random(X.shape) < 0.3
    X[is_zero] = 0.0
    is_zero_row = rng.random(ROWS) < 0.03
    X[is_zero_row] = 0.0
    X = taken_by(learner, X)
    if not classes:
        noise_of_targets = 0.1 * rng.normal(size=ROWS)
        bent = np.sin(X[:, 0])
        smooth = bent + X[:, 1] - 0.5 * X[:, 2]
        y = smooth + noise_of_targets
    rows = in_layout(X, kind)
    return Chunk(rows, read_only(y), COLUMNS)


def taken_by(learner: type[Learner], X: FloatArray) -> FloatArray:
    """Return rows, or their absolute values for a learner that takes none below 0."""
    if learner.takes_negative:
        return X
    return np.abs(X)


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
    line = np.outer(y, direction)
    noise = rng.normal(size=(600, columns))
    X = line + 0.05 * noise
    return read_only(X), read_only(y)


def rows_and_novelties(columns: int) -> tuple[FloatArray, ...]:
    """Return rows around a point, similar ones, and rows on the other side of the origin."""
    rng = np.random.default_rng(1)
    is_centred = np.arange(columns) < 2
    centre = np.where(is_centred, 2.0, 0.0)
    groups = []
    for sign in (1, 1, -1):
        noise = 0.3 * rng.normal(size=(300, columns))
        group = sign * centre + noise
        groups.append(read_only(group))
    return tuple(groups)


def assert_known(predicted: FloatArray, y: FloatArray) -> None:
    """Refuse predictions that miss half the variance of the targets."""
    squares = (predicted - y) ** 2
    error = np.mean(squares)
    missed = float(error / np.var(y))
    percent = 100 * missed
    assert missed < 0.5, (
        f"{percent:.0f} % of the variance of a smooth target is not known"
    )


def assert_apart(alike: FloatArray, far: FloatArray) -> None:
    """Refuse novelty scores that are not nearly always below those of familiar rows."""
    is_above = alike[:, None] > far  # of each pair
    share = float(np.mean(is_above))
    percent = 100 * share
    assert share > 0.9, (
        f"of pairs of a row and a novelty, the novelty has the lower score in {percent:.0f} % only"
    )


def start(learner: type[Learner], classes: int) -> Learner:
    """Return a new learner at the start of the stream."""
    rows = stream(learner, classes, "dense").X
    return start_with(learner, {}, rows, classes)


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
    of_defaults = learner().get_params(deep=False)
    for name, default in of_defaults.items():
        domain = learner.domains.get(name)
        if isinstance(domain, Choice):
            words[name] = domain.words
        elif isinstance(domain, Whole | Real) and domain.words:
            words[name] = (default,)
            others = [word for word in domain.words if word != default]
            in_place += [(name, word) for word in others]
    each_choice = product(*words.values())
    combinations = [dict(zip(words, chosen, strict=True)) for chosen in each_choice]
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
    defaults = learner().get_params(deep=False)
    names = sorted(defaults.keys() - params.keys())
    domains = learner.domains
    return [name for name in names if isinstance(domains.get(name), Real)]


def cut(chunk: Chunk, at: list[int]) -> Iterator[tuple[Rows, Array]]:
    """Yield rows and labels between the positions `at`."""
    for start, stop in pairwise(at):
        rows = slice_rows(chunk.X, start, stop)
        yield rows, chunk.y[start:stop]


def learn_in_parts(learner: Learner, chunk: Chunk, at: list[int]) -> FloatArray:
    """Return the scores of rows that are learned from in parts, between the positions `at`."""
    parts = [learner.learn(X, y) for X, y in cut(chunk, at)]
    return np.concatenate(parts)


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
        words = f"{what} array {name}"
        assert_equal_arrays(got[name], expected[name], err_msg=words)
