"""The metric contract: each function checks one idea and raises `AssertionError`."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from olscale.arrays import Array, FloatArray
from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.protocol import PLAIN, Scoring
from olscale.learners.contract.learner import predictions_of
from olscale.task import Task
from olscale.testing.check_list import Check, check_list, check_plain_arrays
from olscale.testing.small_streams import copies

ROWS = 200
TEST_ROWS = 40
CLASSES: dict[Task, int] = {"classification": 3, "novelty": 2, "regression": 0}
SEGMENTS = (("monday", 0), ("tuesday", 80), ("wednesday", 150))


def metric_checks(metric: type[Metric], scoring: Scoring = PLAIN) -> list[Check]:
    """Return the checks that a metric must pass, with a readable name for each.

    Parameters
    ----------
    metric : type
        A subclass of `olscale.evaluation.metrics.Metric`.
    scoring : Scoring
        Options of a protocol that ask for it.

    Examples
    --------
    >>> from olscale.evaluation.metrics import Prequential
    >>> for name, check in metric_checks(Prequential):
    ...     check()
    """
    checks: list[Callable[..., None]] = [
        check_the_protocol_asks_for_it,
        check_any_cut_into_chunks_gives_the_same_bits,
        check_saving_and_restoring_in_mid_stream_is_exact,
        check_sums_are_plain_arrays,
        check_values_are_finite_and_what_was_not_measured_is_left_out,
        check_arrays_are_left_as_they_were,
    ]
    if not metric.reads_scores:
        checks.append(check_scores_are_not_read)
    if metric.reads_probabilities:
        checks.append(check_certain_probabilities_give_finite_values)
    if scoring.weighted_measures:
        checks.append(check_weights_of_1_change_nothing)
    return check_list(checks, metric, scoring)


def events(
    metric: type[Metric], rows: int, seed: int
) -> tuple[Array, Array, FloatArray]:
    """Return targets, mostly right (or near) predictions, and scores that imply them."""
    rng = np.random.default_rng(seed)
    task = metric.tasks[0]
    y: Array
    if task == "classification":
        classes = CLASSES[task]
        y = rng.integers(0, classes, rows)
        noise = rng.normal(size=(rows, classes))
        indicators = np.eye(classes)[y]
        scores = noise + 1.5 * indicators
        if metric.reads_probabilities:
            odds = np.exp(scores)
            scores = odds / odds.sum(axis=1, keepdims=True)
        codes = predictions_of(scores, task)
        return y, codes, scores
    if task == "regression":
        y = rng.normal(size=rows)
    else:
        y = rng.integers(0, CLASSES[task], rows)
    noise = rng.normal(size=(rows, 1))
    centres = 2.0 * y[:, np.newaxis]
    # Scores of novelty detectors are negative for novelties, whose code is 0.
    scores = noise + centres - (task == "novelty")
    codes = predictions_of(scores, task)
    return y, codes, scores


def weigh(counter: Metric, scoring: Scoring, seed: int, rows: slice) -> None:
    """Pass `counter` the weights of its next rows, some of them 0, if the options ask for it."""
    if scoring.weighted_measures:
        # Thirds, whose sums depend on the order of the additions.
        rng = np.random.default_rng(seed)
        weights = rng.integers(0, 7, ROWS) / 3.0
        counter.weigh(weights[rows])


def begin(metric: type[Metric], scoring: Scoring) -> Metric:
    """Return a new metric at the start of a stream of `ROWS` rows."""
    task = metric.tasks[0]
    classes = CLASSES[task]
    shape = StreamShape(ROWS, classes, SEGMENTS, scoring, task)
    return metric(shape)


def feed(
    counter: Metric,
    scoring: Scoring,
    first: int,
    last: int,
    cuts: tuple[int, ...] = (),
) -> None:
    """Show `counter` rows `first` to `last`, cut at `cuts`, and held-out rows when due."""
    y, codes, scores = events(type(counter), ROWS, 0)
    # Looks and held-out rows are due at fixed rows, whatever the cuts of a check are.
    due: set[int] = set()
    period = scoring.holdout_every
    if period and scoring.holdout_rows is None:
        due.update(range(period, ROWS + 1, period))
    looks: set[int] = set()
    if counter.watches:
        looks.update(range(50, ROWS + 1, 50))
    edges = {first, last, *cuts, *due, *looks}
    within = sorted(edge for edge in edges if first <= edge <= last)
    for start, stop in pairwise(within):
        rows = slice(start, stop)
        weigh(counter, scoring, 0, rows)
        counter.see(y[rows], codes[rows], scores[rows])
        if stop in looks:
            counter.look(stop, 8.0 * stop, (1e-6, 2e-6))
        if stop in due:
            weigh(counter, scoring, stop, slice(TEST_ROWS))
            held_y, held_codes, _ = events(type(counter), TEST_ROWS, stop)
            counter.held_out(held_y, held_codes)


def end(
    counter: Metric, scoring: Scoring, cuts: tuple[int, ...] = (0, TEST_ROWS)
) -> list[Any]:
    """Show `counter` the test rows and return all its results, as plain values."""
    y, codes, scores = events(type(counter), TEST_ROWS, 1)
    for start, stop in pairwise(cuts):
        rows = slice(start, stop)
        weigh(counter, scoring, 1, rows)
        counter.test(y[rows], codes[rows], scores[rows])
        counter.train(y[rows], codes[rows])
    series = [
        (curve.name, curve.rows.tolist(), curve.values.tolist())
        for curve in counter.series()
    ]
    # As bytes, in which NaN equals NaN and -0.0 differs from 0.0.
    sums = {
        name: (array.shape, array.tobytes()) for name, array in counter.sums.items()
    }
    figures = counter.values() | counter.timings()
    return [figures, series, sums]


def check_the_protocol_asks_for_it(metric: type[Metric], scoring: Scoring) -> None:
    """`wanted` agrees that the options ask for the metric, and then something is measured."""
    assert metric.wanted(scoring), f"the options do not ask for {metric.__name__}"
    counter = begin(metric, scoring)
    feed(counter, scoring, 0, ROWS)
    figures, series, _ = end(counter, scoring)
    assert figures or series, "nothing was measured in a stream with test rows"


def check_any_cut_into_chunks_gives_the_same_bits(
    metric: type[Metric], scoring: Scoring
) -> None:
    """One chunk, single rows, ragged and empty chunks give equal values, series and sums."""
    reference = begin(metric, scoring)
    feed(reference, scoring, 0, ROWS)
    expected = end(reference, scoring)
    single_rows = tuple(range(ROWS))
    ragged = (1, 64, 65, 150)
    for cuts in (single_rows, ragged):
        counter = begin(metric, scoring)
        feed(counter, scoring, 0, ROWS, cuts)
        # An empty chunk must not count as a row.
        nothing = events(metric, 0, 0)
        weigh(counter, scoring, 0, slice(0))
        counter.see(*nothing)
        results = end(counter, scoring, (0, 1, 30, TEST_ROWS))
        assert results == expected, (
            f"chunks that end at {cuts[:3]} ... give other values"
        )


def check_saving_and_restoring_in_mid_stream_is_exact(
    metric: type[Metric], scoring: Scoring
) -> None:
    """Sums in a new metric lead to the same values, wherever the stream was cut."""
    reference = begin(metric, scoring)
    feed(reference, scoring, 0, ROWS)
    expected = end(reference, scoring)
    for at in (0, 1, 77, ROWS):
        counter = begin(metric, scoring)
        restored = begin(metric, scoring)
        feed(counter, scoring, 0, at)
        restored.sums = copies(counter.sums)
        feed(restored, scoring, at, ROWS)
        results = end(restored, scoring)
        assert results == expected, f"restored after {at} rows it gives other values"


def check_sums_are_plain_arrays(metric: type[Metric], scoring: Scoring) -> None:
    """All sums are numeric arrays, since they are saved as such."""
    counter = begin(metric, scoring)
    feed(counter, scoring, 0, ROWS)
    check_plain_arrays("sum", counter.sums)


def check_values_are_finite_and_what_was_not_measured_is_left_out(
    metric: type[Metric], scoring: Scoring
) -> None:
    """No value is NaN before the first row; later, names are words and values finite floats."""
    counter = begin(metric, scoring)
    before = counter.values()
    are_finite = [math.isfinite(value) for value in before.values()]
    assert all(are_finite), "a value of no rows is not finite"
    feed(counter, scoring, 0, ROWS)
    figures = end(counter, scoring)[0]
    for name, value in figures.items():
        word = name.partition(":")[0]  # after the colon stands a class, in any letters
        assert word.isidentifier(), f"{name!r} is no name of a metric"
        assert isinstance(value, float), f"{name} is a {type(value).__name__}"
        assert math.isfinite(value), f"{name} is {value}"
    for series in counter.series():
        rows = series.rows
        values = series.values
        assert len(rows) == len(values), (
            f"series {series.name}: {len(rows)} rows, {len(values)} values"
        )
        steps = np.diff(rows)
        assert (steps > 0).all(), (
            f"series {series.name}: numbers of rows do not increase"
        )


def check_arrays_are_left_as_they_were(metric: type[Metric], scoring: Scoring) -> None:
    """Targets, codes and scores are not changed: other metrics get the same arrays."""
    counter = begin(metric, scoring)
    arrays = events(metric, ROWS, 0)
    weigh(counter, scoring, 0, slice(ROWS))
    counter.see(*arrays)
    counter.test(*arrays)
    untouched = events(metric, ROWS, 0)
    for array, expected in zip(arrays, untouched, strict=True):
        np.testing.assert_array_equal(array, expected)


def check_scores_are_not_read(metric: type[Metric], scoring: Scoring) -> None:
    """Without `reads_scores` scores change nothing: class shards have none to show."""
    y, codes, scores = events(metric, ROWS, 0)
    values = []
    # NaN would spread to the values if any score were read.
    unreadable = np.full_like(scores, np.nan)
    for shown in (scores, unreadable):
        counter = begin(metric, scoring)
        weigh(counter, scoring, 0, slice(ROWS))
        counter.see(y, codes, shown)
        counter.test(y, codes, shown)
        values.append(counter.values())
    assert values[0] == values[1], (
        "values depend on the scores, and reads_scores is False"
    )


def check_certain_probabilities_give_finite_values(
    metric: type[Metric], scoring: Scoring
) -> None:
    """Probabilities of 0 and 1, right for some rows and wrong for others, are no exception."""
    y, codes, scores = events(metric, ROWS, 0)
    classes = scores.shape[1]
    is_right = np.arange(ROWS) % 3 > 0
    next_class = (y + 1) % classes
    guesses = np.where(is_right, y, next_class)
    certain = np.eye(classes)[guesses]
    counter = begin(metric, scoring)
    weigh(counter, scoring, 0, slice(ROWS))
    counter.see(y, codes, certain)
    counter.test(y, codes, certain)
    for name, value in counter.values().items():
        assert math.isfinite(value), (
            f"{name} of probabilities that are 0 or 1 is {value}"
        )


def check_weights_of_1_change_nothing(metric: type[Metric], scoring: Scoring) -> None:
    """If all rows weigh 1, the values equal those without weights, up to rounding."""
    assert metric.weighs_rows, (
        f"{metric.__name__} counts all rows alike, and the options ask for weighted measures"
    )
    plain = replace(scoring, weights=None, weighted_measures=False)
    if not metric.wanted(plain):  # without weights another metric takes its place
        return
    arrays = events(metric, ROWS, 0)
    values = []
    for options in (plain, scoring):
        counter = begin(metric, options)
        if options.weighted_measures:
            counter.weigh(np.ones(ROWS))
        counter.see(*arrays)
        counter.test(*arrays)
        values.append(counter.values())
    unweighted, weighted = values
    assert unweighted.keys() == weighted.keys(), (
        f"the values are {sorted(weighted)}, expected {sorted(unweighted)}"
    )
    for name, value in unweighted.items():
        np.testing.assert_allclose(weighted[name], value, rtol=1e-9, err_msg=name)
