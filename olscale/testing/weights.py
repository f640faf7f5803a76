"""Checks of weights of rows, and of classes."""

import inspect
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from olscale.arrays import FloatArray, IntArray
from olscale.compiled.csr import read_only, slice_rows
from olscale.data.chunk import Chunk
from olscale.errors import ParameterError
from olscale.learners.contract.class_axes import class_axes
from olscale.learners.contract.class_shards import ClassShard
from olscale.learners.contract.class_weights import BALANCED, WeighsClasses
from olscale.learners.contract.estimator import Estimator
from olscale.learners.contract.fused_settings import fuse, grid_key, learn_together
from olscale.learners.contract.learner import Learner, learn_rows
from olscale.testing.check_list import Check, check_list, name_check
from olscale.testing.equal_arrays import assert_equal_arrays
from olscale.testing.other_values import two_settings
from olscale.testing.small_streams import (
    ANY_CUTS,
    CLASSES,
    COLUMNS,
    ROWS,
    assert_same_state,
    choices,
    class_counts,
    continue_from,
    real_names,
    start,
    start_with,
    stream,
)


def weight_checks(learner: type[Learner]) -> list[Check]:
    """Return a check per promise of the class `learner` about weights; one if it takes none."""
    checks = check_list(
        [check_sample_weight_is_an_argument_where_weights_are_taken], learner
    )
    if not learner.takes_weights:
        return [*checks, name_check(check_weights_are_refused, learner)]
    for classes in class_counts(learner):
        of = f"{classes} classes" if classes else learner.task
        for check in (
            check_weights_of_one_are_no_weights,
            check_any_cut_gives_the_same_bits_with_weights,
            check_a_weight_comes_after_the_prediction,
            check_the_label_of_a_row_without_weight_is_not_learned,
        ):
            checks.append(name_check(check, learner, classes, of=of))
    if issubclass(learner, WeighsClasses):
        checks += check_list(
            [
                check_balanced_classes_weigh_by_the_rows_so_far,
                check_balanced_runs_continue_from_their_state,
                check_named_classes_weigh_what_they_are_given,
            ],
            learner,
        )
    for params in choices(learner):
        if params.get("dtype") == "float32":  # the same loops would be compiled again
            continue
        words = ", ".join(map(str, params.values()))
        if grid_key(learner(**params)) is not None:
            checks.append(
                name_check(check_fused_settings_take_weights, learner, params, of=words)
            )
        if class_axes(learner(**params), CLASSES) is not None:
            checks.append(
                name_check(check_class_shards_take_weights, learner, params, of=words)
            )
    return checks


def check_sample_weight_is_an_argument_where_weights_are_taken(
    learner: type[Learner],
) -> None:
    """`fit` and `partial_fit` have the argument `sample_weight` if the learner takes weights."""
    if not issubclass(learner, Estimator):
        return
    for method in ("fit", "partial_fit"):
        function = getattr(learner, method)
        arguments = inspect.signature(function).parameters
        assert "sample_weight" in arguments or not learner.takes_weights, (
            f"{method} of {learner.__name__} has no sample_weight; inherit WeightedClassifier or "
            "WeightedRegressor"
        )


def check_weights_are_refused(learner: type[Learner]) -> None:
    """Rows with weights are refused by a learner that takes none, before anything is learned."""
    classes = class_counts(learner)[0]
    chunk = stream(learner, classes, "dense")
    fresh = start(learner, classes)
    ones = read_only(np.ones(ROWS))
    message = ""
    try:
        learn_rows(fresh, chunk.X, chunk.y, ones)
    except ParameterError as error:
        message = str(error)
    assert learner.name in message, (
        f"weights were accepted, or the message does not name the learner: {message!r}"
    )
    untouched = start(learner, classes)
    assert_same_state(fresh, untouched)


def check_weights_of_one_are_no_weights(learner: type[Learner], classes: int) -> None:
    """Rows that all weigh 1 give the scores and the state of rows without weights."""
    chunk = stream(learner, classes, "dense")
    plain = start(learner, classes)
    weighted = start(learner, classes)
    expected = plain.learn(chunk.X, chunk.y)
    ones = read_only(np.ones(ROWS))
    scores = learn_rows(weighted, chunk.X, chunk.y, ones)
    assert_equal_arrays(scores, expected)
    assert_same_state(weighted, plain)


def check_any_cut_gives_the_same_bits_with_weights(
    learner: type[Learner], classes: int
) -> None:
    """One chunk, rows one by one and ragged chunks give equal scores and equal state."""
    chunk = stream(learner, classes, "dense")
    weights = _weights()
    reference = start(learner, classes)
    expected = learn_rows(reference, chunk.X, chunk.y, weights)
    for cuts in ANY_CUTS:
        in_parts = start(learner, classes)
        parts = _cut(chunk, weights, cuts)
        scores = [learn_rows(in_parts, *part) for part in parts]
        assert_equal_arrays(np.concatenate(scores), expected)
        assert_same_state(in_parts, reference)


def check_a_weight_comes_after_the_prediction(
    learner: type[Learner], classes: int
) -> None:
    """The scores of a row do not depend on its own weight."""
    chunk = stream(learner, classes, "dense")
    weights = _weights()
    for row in (0, ROWS // 2, ROWS - 1):
        stop = row + 1
        X = slice_rows(chunk.X, 0, stop)
        y = chunk.y[:stop]
        lighter = weights[:stop]
        heavier = lighter.copy()
        # Only the weight of the last row changes, which must not affect its own prediction.
        heavier[row] += 10.0
        of_row = []
        for row_weights in (lighter, heavier):
            fresh = start(learner, classes)
            scores = learn_rows(fresh, X, y, read_only(row_weights))
            of_row.append(scores[row])
        assert_equal_arrays(*of_row)


def check_the_label_of_a_row_without_weight_is_not_learned(
    learner: type[Learner], classes: int
) -> None:
    """Rows of weight 0 have no loss: their labels change no score, although the rows may count."""
    chunk = stream(learner, classes, "dense")
    weights = _weights()
    other_labels = chunk.y + 1.0
    if classes:
        other_labels = (chunk.y + 1) % classes
    has_no_weight = weights == 0.0
    changed = read_only(np.where(has_no_weight, other_labels, chunk.y))
    # Otherwise no weight is 0 and the check is void.
    assert (changed != chunk.y).any()
    first = start(learner, classes)
    second = start(learner, classes)
    expected = learn_rows(first, chunk.X, chunk.y, weights)
    scores = learn_rows(second, chunk.X, changed, weights)
    assert_equal_arrays(scores, expected)
    final_scores = second.scores(chunk.X)
    assert_equal_arrays(final_scores, first.scores(chunk.X))


def check_balanced_classes_weigh_by_the_rows_so_far(learner: type[Learner]) -> None:
    """With ``class_weight="balanced"`` a row weighs n / (K m) times its weight, in any cut.

    n and m count the rows so far, of all classes and of its own.
    """
    params = {"class_weight": BALANCED}
    for classes in class_counts(learner):
        chunk = stream(learner, classes, "dense")
        weights = _weights()
        of_classes = _balanced(chunk.y)
        for own in (None, weights):
            # The expected weights are computed outside of the learner, as in the formula.
            product = of_classes
            if own is not None:
                product = of_classes * own
            weighted = start(learner, classes)
            expected = learn_rows(weighted, chunk.X, chunk.y, read_only(product))
            at_once = [0, ROWS]
            in_parts = [0, 1, 64, 65, ROWS]
            for cuts in (at_once, in_parts):
                balanced = start_with(learner, params, chunk.X, classes)
                parts = _cut(chunk, own, cuts)
                scores = [learn_rows(balanced, *part) for part in parts]
                assert_equal_arrays(np.concatenate(scores), expected)


def check_named_classes_weigh_what_they_are_given(learner: type[Learner]) -> None:
    """With a mapping in `class_weight` a row has the weight of its class, 1 by default."""
    params = {"class_weight": {"0": 3.0}}
    for classes in class_counts(learner):
        chunk = stream(learner, classes, "dense")
        is_named = chunk.y == 0
        weights = read_only(np.where(is_named, 3.0, 1.0))
        by_row = start(learner, classes)
        expected = learn_rows(by_row, chunk.X, chunk.y, weights)
        by_class = start_with(learner, params, chunk.X, classes)
        scores = learn_rows(by_class, chunk.X, chunk.y)
        assert_equal_arrays(scores, expected)


def check_balanced_runs_continue_from_their_state(learner: type[Learner]) -> None:
    """A run with ``class_weight="balanced"`` continues from its state to the same bits."""
    params = {"class_weight": BALANCED}
    for classes in class_counts(learner):
        chunk = stream(learner, classes, "dense")
        # Cut where the counts of classes differ, so that losing them would show.
        first, second = _cut(chunk, None, [0, ROWS // 3, ROWS])
        reference = start_with(learner, params, chunk.X, classes)
        learn_rows(reference, *first)
        restored = continue_from(learner, params, reference.state(), classes)
        expected = learn_rows(reference, *second)
        scores = learn_rows(restored, *second)
        assert_equal_arrays(scores, expected)
        assert_same_state(restored, reference)


def check_fused_settings_take_weights(
    learner: type[Learner], params: dict[str, Any]
) -> None:
    """Settings that share a pass over weighted rows have the bits of separate passes."""
    key = grid_key(learner(**params))
    names = [
        name
        for name in real_names(learner, params)
        if grid_key(learner(**params, **{name: 0.5})) == key
    ]
    # The last one, as lam: with forget = 0.1 there would be nothing to compare behind the first
    # rows.
    varied = names[-1:]
    settings = two_settings(learner, params, varied, (0.1, 0.5))
    for classes in class_counts(learner):
        chunk = stream(learner, classes, "dense")
        weights = _weights()
        separate, grouped = (
            [start_with(learner, setting, chunk.X, classes) for setting in settings]
            for _ in range(2)
        )
        fused = fuse(grouped)
        for X, y, own in _cut(chunk, weights, [0, 64, ROWS]):
            scores = learn_together(fused, X, y, own)
            fused.release()
            for n, single in enumerate(separate):
                expected = learn_rows(single, X, y, own)
                assert_equal_arrays(scores[n], expected)
                assert_same_state(grouped[n], single)


def check_class_shards_take_weights(
    learner: type[Learner], params: dict[str, Any]
) -> None:
    """Class shards give the scores of the whole learner for rows with weights too."""
    chunk = stream(learner, CLASSES, "dense")
    weights = _weights()
    full = learner(**params)
    full.begin(COLUMNS, CLASSES)
    expected = learn_rows(full, chunk.X, chunk.y, weights)
    results = []
    # Uneven shards: one with a single class, and one with all others.
    for first, last in pairwise((0, 1, CLASSES)):
        shard = ClassShard(learner(**params), range(first, last))
        shard.begin(COLUMNS, CLASSES)
        scores = learn_rows(shard, chunk.X, chunk.y, weights)
        results.append(scores)
    side_by_side = np.concatenate(results, axis=1)
    assert_equal_arrays(side_by_side, expected)


def _weights() -> FloatArray:
    """Return weights of the rows of `stream`; some are 0."""
    random = np.random.default_rng(3)
    is_zero = random.random(ROWS) < 0.2
    positive = random.uniform(0.2, 3.0, ROWS)
    return read_only(np.where(is_zero, 0.0, positive))


def _balanced(y: IntArray) -> FloatArray:
    """Return the weights of rows whose classes are balanced by the rows so far."""
    weights = np.empty(len(y))
    for i, label in enumerate(y):
        so_far = y[: i + 1]
        classes = len(np.unique(so_far))
        own_rows = np.count_nonzero(so_far == label)
        weights[i] = (i + 1) / (classes * own_rows)
    return weights


def _cut(
    chunk: Chunk, weights: FloatArray | None, at: list[int]
) -> Iterator[tuple[Any, ...]]:
    """Yield rows, labels and weights between the positions `at`."""
    for first, stop in pairwise(at):
        own = None
        if weights is not None:
            own = weights[first:stop]
        rows = slice_rows(chunk.X, first, stop)
        yield rows, chunk.y[first:stop], own
