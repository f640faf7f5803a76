"""The learner contract as plain functions: each checks one idea and raises `AssertionError` when it does not hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, slice_rows, to_csr
from olscale.data.chunk import Chunk
from olscale.errors import ParameterError
from olscale.learners.contract.class_axes import ShardsClasses, class_axes, join_classes
from olscale.learners.contract.class_shards import ClassShard
from olscale.learners.contract.compilation import CompilesLoops
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.fused_settings import FusesSettings
from olscale.learners.contract.learner import UNKNOWN, Learner, codes_of, score_columns
from olscale.learners.contract.look_ahead import LooksAhead, looks_ahead
from olscale.learners.contract.parameters import Choice, Flag, Real, Whole
from olscale.learners.contract.usable_rows import learn_usable, score_usable

__all__ = ["learner_checks"]

ROWS, COLUMNS, CLASSES = 240, 7, 4
CAPABILITIES = (LooksAhead, ShardsClasses, FusesSettings, EstimatesCost, CompilesLoops)


def learner_checks(learner: type[Learner]) -> list[tuple[str, Callable[[], None]]]:
    """Return the checks that the class `learner` must pass, with a readable name for each.

    Parameters
    ----------
    learner : type
        A subclass of `olscale.learners.contract.learner.Learner` that can be made without arguments.

    Returns
    -------
    list of (str, callable)
    """
    variants = [(f"{classes} classes, {kind}", classes, kind) for classes in (2, CLASSES) for kind in ("dense", "csr")]
    checks: list[tuple[str, Callable[[], None]]] = []
    for check in (
        check_label_comes_after_the_prediction,
        check_any_cut_into_chunks_gives_the_same_bits,
        check_saving_and_restoring_in_mid_stream_is_exact,
        check_empty_rows_break_nothing,
        check_the_stream_is_left_as_it_was,
        check_scoring_learns_nothing,
    ):
        title = check.__name__.removeprefix("check_").replace("_", " ")
        checks += [(f"{title} ({text})", partial(check, learner, n, kind)) for text, n, kind in variants]
    for single in (
        check_dense_and_csr_make_the_same_mistakes,
        check_state_is_plain_arrays,
        check_capabilities_are_declared,
        check_parameters_are_checked,
        check_a_separable_stream_is_learned,
    ):
        checks.append((single.__name__.removeprefix("check_").replace("_", " "), partial(single, learner)))
    if learner.layout_exact:
        same_bits = check_dense_and_csr_give_the_same_bits
        checks.append((same_bits.__name__.removeprefix("check_").replace("_", " "), partial(same_bits, learner)))
    if learner.takes_unknown:
        unknown = check_rows_of_unknown_class_are_only_scored
        title = unknown.__name__.removeprefix("check_").replace("_", " ")
        for params, (text, classes, kind) in product(_choices(learner), variants):
            words = ", ".join([*map(str, params.values()), text])
            checks.append((f"{title} ({words})", partial(unknown, learner, params, classes, kind)))
    for params in _choices(learner):
        title = check_rows_that_cannot_be_used_end_learning.__name__.removeprefix("check_").replace("_", " ")
        words = ", ".join(map(str, params.values())) or "no choices"
        checks.append((f"{title} ({words})", partial(check_rows_that_cannot_be_used_end_learning, learner, params)))
    for params in _choices(learner):
        if class_axes(learner(**params), CLASSES) is not None:
            text = ", ".join(str(value) for value in params.values())
            whole = partial(check_class_shards_are_the_whole, learner, params)
            checks.append((f"class shards are the whole ({text})", whole))
    return checks


def stream(classes: int, kind: str, seed: int = 0) -> Chunk:
    """Return a small stream of noisy clusters, in which some features and some whole rows are zero."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, ROWS)
    X = rng.normal(size=(classes, COLUMNS))[y] + 0.7 * rng.normal(size=(ROWS, COLUMNS))
    X[rng.random(X.shape) < 0.3] = 0.0
    X[rng.random(ROWS) < 0.03] = 0.0
    return Chunk(X if kind == "dense" else to_csr(X), y, COLUMNS)


def start(learner: type[Learner], classes: int) -> Learner:
    """Return a new learner at the start of the stream."""
    fresh = learner()
    fresh.begin(COLUMNS, classes)
    if looks_ahead(fresh):
        fresh.prepare(stream(classes, "dense").X)
    return fresh


def check_label_comes_after_the_prediction(learner: type[Learner], classes: int, kind: str) -> None:
    """The scores of a row do not depend on its own label."""
    chunk = stream(classes, kind)
    for row in (0, 1, ROWS // 2, ROWS - 1):
        y = chunk.y[: row + 1].copy()
        X = slice_rows(chunk.X, 0, row + 1)
        expected = start(learner, classes).learn(X, y)[row]
        y[row] = (y[row] + 1) % classes
        np.testing.assert_array_equal(start(learner, classes).learn(X, y)[row], expected)


def check_any_cut_into_chunks_gives_the_same_bits(learner: type[Learner], classes: int, kind: str) -> None:
    """One chunk, rows one by one and ragged chunks give equal scores and equal state."""
    chunk = stream(classes, kind)
    whole = start(learner, classes)
    expected = whole.learn(chunk.X, chunk.y)
    assert expected.shape == (ROWS, score_columns(classes)), f"scores have shape {expected.shape}"
    for cuts in (range(ROWS + 1), (0, 1, 1, 64, 65, 200, ROWS)):
        parts = start(learner, classes)
        scores = np.concatenate([parts.learn(X, y) for X, y in _cut(chunk, list(cuts))])
        np.testing.assert_array_equal(scores, expected)
        _same_state(parts, whole)


def check_saving_and_restoring_in_mid_stream_is_exact(learner: type[Learner], classes: int, kind: str) -> None:
    """A state put into a new learner continues to the same bits, wherever it was cut; it does not change any more.

    The new learner is begun and no more: what `prepare` found is in the state too.
    """
    chunk = stream(classes, kind)
    for at in (0, 1, ROWS // 3, ROWS - 1):
        first, second = _cut(chunk, [0, at, ROWS])
        whole = start(learner, classes)
        whole.learn(*first)
        state = whole.state()
        expected = whole.learn(*second)
        restored = learner()
        restored.begin(COLUMNS, classes)
        restored.restore(state)
        np.testing.assert_array_equal(restored.learn(*second), expected, err_msg=f"after row {at}")
        _same_state(restored, whole)


def check_empty_rows_break_nothing(learner: type[Learner], classes: int, kind: str) -> None:
    """A stream that begins with, and has, rows of zeros only gives finite scores and a finite state."""
    chunk = stream(classes, "dense")
    assert not isinstance(chunk.X, CSR)
    X: Any = np.concatenate([np.zeros((3, COLUMNS)), chunk.X, np.zeros((3, COLUMNS))])
    y = np.concatenate([[0, 1, 1], chunk.y, [1, 0, 1]])
    rows = Chunk(X if kind == "dense" else to_csr(X), y, COLUMNS)
    fresh = start(learner, classes)
    assert np.isfinite(fresh.learn(rows.X, rows.y)).all(), "a score is not finite"
    for name, array in fresh.state().items():
        assert np.isfinite(array).all(), f"state array {name} is not finite"


def check_the_stream_is_left_as_it_was(learner: type[Learner], classes: int, kind: str) -> None:
    """Learning from rows does not change them, even where they could be written to."""
    chunk = stream(classes, "dense")
    X: Any = np.array(chunk.X)
    rows: Rows = X if kind == "dense" else to_csr(X)
    before = [array.copy() for array in (rows if isinstance(rows, CSR) else [rows])]
    start(learner, classes).learn(rows, chunk.y)
    for array, expected in zip(rows if isinstance(rows, CSR) else [rows], before, strict=True):
        np.testing.assert_array_equal(array, expected)


def check_scoring_learns_nothing(learner: type[Learner], classes: int, kind: str) -> None:
    """`scores` changes no bit of the state and gives the same answer twice, also before the first row."""
    chunk = stream(classes, kind)
    fresh = start(learner, classes)
    assert fresh.scores(chunk.X).shape == (ROWS, score_columns(classes))
    fresh.learn(chunk.X, chunk.y)
    before = fresh.state()
    first = fresh.scores(chunk.X)
    np.testing.assert_array_equal(fresh.scores(chunk.X), first)
    for name, array in fresh.state().items():
        np.testing.assert_array_equal(array, before[name])


def check_dense_and_csr_make_the_same_mistakes(learner: type[Learner]) -> None:
    """The layout of the rows does not change a prediction."""
    for classes in (2, CLASSES):
        codes = [
            codes_of(start(learner, classes).learn(chunk.X, chunk.y))
            for chunk in (stream(classes, "dense"), stream(classes, "csr"))
        ]
        np.testing.assert_array_equal(codes[0], codes[1])


def check_dense_and_csr_give_the_same_bits(learner: type[Learner]) -> None:
    """Scores and state do not depend on the layout of the rows; for learners that claim `layout_exact`."""
    for classes in (2, CLASSES):
        fresh, scores = [], []
        for kind in ("dense", "csr"):
            chunk = stream(classes, kind)
            fresh.append(start(learner, classes))
            scores.append(fresh[-1].learn(chunk.X, chunk.y))
        np.testing.assert_array_equal(scores[0], scores[1])
        _same_state(*fresh)


def check_rows_of_unknown_class_are_only_scored(
    learner: type[Learner], params: dict[str, Any], classes: int, kind: str
) -> None:
    """Among rows that are learned from, as if a call of their own had scored them; for learners with `takes_unknown`."""
    chunk = stream(classes, kind)[:100]
    learning = np.random.default_rng(1).random(len(chunk)) < 0.6
    apart, together = learner(**params), learner(**params)
    for fresh in (apart, together):
        fresh.begin(COLUMNS, classes, (3, 1))
        if looks_ahead(fresh):
            fresh.prepare(chunk.X)
    expected = []
    for i in range(len(chunk)):
        row = slice_rows(chunk.X, i, i + 1)
        expected.append(apart.learn(row, chunk.y[i : i + 1]) if learning[i] else apart.scores(row))
    y = np.where(learning, chunk.y, UNKNOWN)
    scores = [together.learn(X, labels) for X, labels in _cut(Chunk(chunk.X, y, COLUMNS), [0, 64, len(chunk)])]
    np.testing.assert_array_equal(np.concatenate(scores), np.concatenate(expected))
    _same_state(apart, together)


def check_rows_that_cannot_be_used_end_learning(learner: type[Learner], params: dict[str, Any]) -> None:
    """A row with NaN or infinities, or of a length whose square overflows or underflows, gets NaN, and so do all behind it.

    Whether it is learned from or only scored. Rows of zeros are fine, and what comes before is as it was.
    """
    low, high = learner(**params).norm_limits()
    lengths = [length for length in (10.0 * high**0.5, 0.1 * low**0.5) if 0.0 < length < np.inf]
    for classes, kind, unknown in product((2, CLASSES), ("dense", "csr"), {False, learner.takes_unknown}):
        chunk = stream(classes, "dense")[:50]
        assert not isinstance(chunk.X, CSR)
        fresh = _start(learner, params, chunk.X, classes)
        clean = Chunk(chunk.X if kind == "dense" else to_csr(chunk.X), chunk.y, COLUMNS)
        learned = learn_usable(fresh, clean.X, clean.y)
        scored = score_usable(fresh, clean.X)
        for value, at in product((np.nan, np.inf, -np.inf, *lengths), (0, 40)):
            X: Any = np.array(chunk.X)
            X[at] = np.where(np.arange(COLUMNS) == 3, value, 0.0 if np.isfinite(value) else X[at])
            y = np.where((np.arange(50) == at) & unknown, UNKNOWN, chunk.y)
            rows = Chunk(X if kind == "dense" else to_csr(X), y, COLUMNS)
            where = f"{classes} classes, {kind}, {value:.3g} in row {at}"
            scores = learn_usable(_start(learner, params, chunk.X, classes), rows.X, rows.y)
            np.testing.assert_array_equal(scores[:at], learned[:at], err_msg=where)
            assert not np.isfinite(scores[at:]).any(), f"learn went on as if nothing were the matter: {where}"
            scores = score_usable(fresh, rows.X)
            assert not np.isfinite(scores[at]).any(), f"scores has a number for it: {where}"
            np.testing.assert_array_equal(scores[:at], scored[:at], err_msg=where)


def check_class_shards_are_the_whole(learner: type[Learner], params: dict[str, Any]) -> None:
    """Class shards of any size give the scores, updates and state of the whole learner; for learners with `class_axes`."""
    for kind in ("dense", "csr"):
        chunk = stream(CLASSES, kind)
        whole = learner(**params)
        whole.begin(COLUMNS, CLASSES, (3, 1))
        expected = whole.learn(chunk.X, chunk.y)
        for cuts in ((0, 1, 2, 3, 4), (0, 1, 4), (0, 2, 4), (0, 3, 4), (0, 4)):
            ranges = [range(first, last) for first, last in pairwise(cuts)]
            shards = [ClassShard(learner(**params), classes) for classes in ranges]
            learned, moved = [], np.zeros(ROWS, dtype=bool)
            for shard in shards:
                shard.begin(COLUMNS, CLASSES, (3, 1))
                parts = [(shard.learn(X, y), shard.moved) for X, y in _cut(chunk, [0, 64, ROWS])]
                learned.append(np.concatenate([scores for scores, _ in parts]))
                moved |= np.concatenate([rows for _, rows in parts])
            np.testing.assert_array_equal(np.concatenate(learned, axis=1), expected, err_msg=f"shards {cuts}")
            scores = np.concatenate([shard.scores(chunk.X) for shard in shards], axis=1)
            np.testing.assert_array_equal(scores, whole.scores(chunk.X), err_msg=f"scores of shards {cuts}")
            axes, parts_of = class_axes(whole, CLASSES), [class_axes(whole, len(classes)) for classes in ranges]
            state = join_classes([shard.state() for shard in shards], axes or {}, [part or {} for part in parts_of])
            state["updates"] = np.array([moved.sum()])
            for name, array in whole.state().items():
                np.testing.assert_array_equal(state[name], array, err_msg=f"state array {name} of shards {cuts}")


def check_state_is_plain_arrays(learner: type[Learner]) -> None:
    """The state is numeric arrays, the size reported is theirs, and the parameters are plain JSON values."""
    fresh = start(learner, 2)
    state = fresh.state()
    for name, array in state.items():
        assert isinstance(array, np.ndarray), f"state {name} is a {type(array).__name__}"
        assert array.dtype.kind in "fiub", f"state {name} has dtype {array.dtype}"
    measures = fresh.measures()
    assert measures["model_bytes"] == sum(array.nbytes for array in state.values()), (
        "model_bytes is not the state's size"
    )
    assert "updates" in measures, "measures() has no 'updates'"
    json.dumps(fresh.resolved_params(), allow_nan=False)


def check_capabilities_are_declared(learner: type[Learner]) -> None:
    """A learner with a method of a capability declares the capability: otherwise nobody calls the method."""
    for capability in CAPABILITIES:
        for method in vars(capability).keys() & set(dir(learner)):
            assert method.startswith("_") or issubclass(learner, capability), (
                f"{method} is a method of the capability {capability.__name__}: write class {learner.__name__}(..., "
                f"{capability.__name__}), from {capability.__module__}"
            )


def check_parameters_are_checked(learner: type[Learner]) -> None:
    """Every parameter has a domain, its default lies in it, and a value outside is refused by name."""
    for name, default in learner().get_params().items():
        domain = learner.domains.get(name)
        assert domain is not None, f"parameter {name} has no domain"
        domain.accept(name, default)
        wrong: Any = {Real: "many", Whole: -1, Choice: "no such word", Flag: "perhaps"}.get(type(domain), object())
        try:
            learner(**{name: wrong}).begin(COLUMNS, 2)
        except ParameterError as error:
            if name not in str(error):
                raise AssertionError(f"the message does not name {name}: {error}") from None
        else:
            raise AssertionError(f"{name} = {wrong!r} was accepted")


def check_a_separable_stream_is_learned(learner: type[Learner]) -> None:
    """Well separated clusters are told apart after one pass, far better than by chance."""
    rng = np.random.default_rng(1)
    for classes in (2, CLASSES):
        y = rng.integers(0, classes, 600)
        X = 4.0 * np.eye(COLUMNS)[y] + 0.3 * rng.normal(size=(600, COLUMNS))
        fresh = start(learner, classes)
        fresh.learn(Chunk(X, y, COLUMNS).X, y)
        error = float(np.mean(codes_of(fresh.scores(Chunk(X, y, COLUMNS).X)) != y))
        assert error < 0.1, f"error {error:.2f} with {classes} classes"


def _start(learner: type[Learner], params: dict[str, Any], X: Rows, classes: int) -> Learner:
    fresh = learner(**params)
    fresh.begin(COLUMNS, classes)
    if looks_ahead(fresh):
        fresh.prepare(X)
    return fresh


def _choices(learner: type[Learner]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the parameters that are, or may be, a choice among a few words."""
    words: dict[str, tuple[Any, ...]] = {}
    for name, default in learner().get_params(deep=False).items():
        domain = learner.domains.get(name)
        if isinstance(domain, Choice):
            words[name] = domain.words
        elif isinstance(domain, Whole) and domain.words:
            words[name] = (default, *(word for word in domain.words if word != default))
    for chosen in product(*words.values()):
        yield dict(zip(words, chosen, strict=True))


def _cut(chunk: Chunk, at: list[int]) -> Iterator[tuple[Rows, NDArray[np.int64]]]:
    for start, stop in pairwise(at):
        yield slice_rows(chunk.X, start, stop), chunk.y[start:stop]


def _same_state(got: Learner, expected: Learner) -> None:
    got_state, expected_state = got.state(), expected.state()
    assert got_state.keys() == expected_state.keys(), (
        f"state has {sorted(got_state)}, expected {sorted(expected_state)}"
    )
    for name in expected_state:
        np.testing.assert_array_equal(got_state[name], expected_state[name], err_msg=f"state array {name}")
