"""The transform contract: each function checks one idea and raises `AssertionError`."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from olscale.arrays import BoolArray, FloatArray
from olscale.compiled.csr import (
    CSR,
    Rows,
    read_only,
    rows_of,
    slice_rows,
    to_csr,
    to_dense,
    trim,
)
from olscale.data.transforms.base import Transform
from olscale.data.transforms.streaming import StreamingTransform, StreamLabels
from olscale.testing.check_list import Check, check_list
from olscale.testing.small_streams import copies

Make: TypeAlias = Callable[[], Transform]
ROWS = 60
COLUMNS = 5
CUTS = (
    (0, ROWS),
    tuple(range(ROWS + 1)),
    (0, 1, 1, 17, 40, ROWS),
)
"""Bounds of chunks: one chunk, single rows, and ragged chunks, one of them empty."""


def transform_checks(make: Make) -> list[Check]:
    """Return the checks that a transform must pass, with a readable name for each.

    Parameters
    ----------
    make : callable
        Returns a new transform that is not fitted: the class, or a function for one with
        parameters.

    Examples
    --------
    >>> from olscale.data.transforms.scaling import MinMax
    >>> for name, check in transform_checks(MinMax):
    ...     check()
    """
    checks: list[Callable[..., None]] = [
        check_any_cut_into_chunks_fits_the_same_bits,
        check_rows_are_transformed_one_by_one_as_together,
        check_the_width_is_that_of_the_rows,
        check_features_have_a_name_each,
        check_rows_are_left_as_they_were,
        check_no_rows_give_no_rows,
        check_usable_rows_stay_usable,
    ]
    if not make().takes_categories:  # categories that no row has taught are alike
        checks.append(check_rows_too_long_to_square_are_not_made_alike)
    if make().takes_sparse:
        # Transforms that take no sparse rows get dense ones from the pipeline.
        checks.append(check_sparse_rows_give_the_same_bits)
    if make().is_random:
        checks.append(check_draws_differ_by_their_number)
    if make().streams:
        checks += [
            check_any_cut_into_chunks_learns_the_same_bits,
            check_what_is_learned_goes_on_in_another,
            check_rows_that_do_not_train_leave_no_trace,
            check_rows_to_come_are_not_known,
            check_arrays_that_no_rows_lead_to_are_refused,
        ]
    if getattr(make(), "learns_labels", False):
        checks += [
            check_any_cut_into_chunks_learns_the_same_bits_from_labels,
            check_labels_that_wait_go_on_in_another,
            check_a_label_counts_once_it_has_arrived,
            check_labels_of_rows_that_do_not_train_never_count,
        ]
    if make().keeps_missing:
        checks.append(check_missing_values_stay_where_they_are)
    return check_list(checks, make)


def table(seed: int = 0) -> FloatArray:
    """Return rows with zeros, a constant feature, one of large numbers, and a row of zeros."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, COLUMNS))
    is_zero = rng.random(X.shape) < 0.3
    # Zeros are what sparse rows leave out.
    X[is_zero] = 0.0
    # A spread of zero, and one that swallows the digits of small numbers.
    X[:, 1] = 0.1
    X[:, 2] *= 1e6
    X[7] = 0.0
    return read_only(X)


def fit(make: Make, cuts: tuple[int, ...] = (0, ROWS), scale: float = 1.0) -> Transform:
    """Return a new transform, fitted on `scale` times the table in chunks that end at `cuts`."""
    step = make()
    X = read_only(scale * table())

    def chunks() -> Iterator[FloatArray]:
        for start, stop in pairwise(cuts):
            yield X[start:stop]

    step.fit(chunks, COLUMNS)
    if isinstance(step, StreamingTransform):
        step.begin(COLUMNS)
        for rows in chunks():
            trains = np.ones(len(rows), dtype=np.bool_)
            labels = _labels(rows[:, 0])
            step.learn_labelled(rows, COLUMNS, trains, labels)
    return step


def _labels(y: FloatArray, waits: int = 0) -> StreamLabels:
    labels = read_only(np.array(y))
    waiting = np.full(len(y), waits)
    return StreamLabels(labels, waiting)


def check_any_cut_into_chunks_fits_the_same_bits(make: Make) -> None:
    """Fitting on one chunk, single rows or ragged chunks transforms rows to the same bits."""
    X = table(1)
    expected = fit(make).apply(X, COLUMNS)
    for cuts in CUTS:
        result = fit(make, cuts).apply(X, COLUMNS)
        _same(result, expected)


def check_rows_are_transformed_one_by_one_as_together(make: Make) -> None:
    """A row's transform does not depend on its neighbours."""
    X = table(1)
    step = fit(make)
    expected = step.apply(X, COLUMNS)
    for cuts in CUTS:
        for start, stop in pairwise(cuts):
            result = step.apply(X[start:stop], COLUMNS)
            _same(result, slice_rows(expected, start, stop))


def check_the_width_is_that_of_the_rows(make: Make) -> None:
    """`width` is the number of float64 features of the rows, before fitting and after."""
    step = fit(make)
    width = make().width(COLUMNS)
    width_after = step.width(COLUMNS)
    assert width_after == width, (
        f"the width is {width} before fitting and {width_after} afterwards"
    )
    result = step.apply(table(), COLUMNS)
    if isinstance(result, CSR):
        last = result.indices.max(initial=-1)
        assert last < width, f"index {last} in rows of width {width}"
    else:
        assert result.shape == (ROWS, width), (
            f"rows have shape {result.shape}, expected {(ROWS, width)}"
        )
    values = _values(result)
    assert values.dtype == np.float64, f"rows are {values.dtype}, expected float64"


def check_features_have_a_name_each(make: Make) -> None:
    """Each feature has a name, known before fitting; a kept value stays with its name."""
    step = make()
    before = [f"column {number}" for number in range(COLUMNS)]
    names = step.feature_names(before)
    width = step.width(COLUMNS)
    assert len(names) == width, f"{len(names)} names for {width} features"
    assert len(set(names)) == width, f"two features of one name in {names}"
    if step.keeps_values:
        rows = table()
        kept_names = [name for name in names if name in before]
        assert kept_names, f"values are kept, but no name is: {names}"
        result = _dense(fit(make), rows)
        for name in kept_names:
            kept_values = result[:, names.index(name)]
            values = rows[:, before.index(name)]
            assert np.array_equal(kept_values, values), (
                f"{name} has other values than before"
            )


def check_rows_are_left_as_they_were(make: Make) -> None:
    """Rows that could be written to are not changed."""
    X: Any = np.array(table())
    fit(make).apply(X, COLUMNS)
    np.testing.assert_array_equal(X, table())


def check_no_rows_give_no_rows(make: Make) -> None:
    """A chunk of no rows is transformed to no rows."""
    none = table()[:0]
    result = fit(make).apply(none, COLUMNS)
    assert rows_of(result) == 0


def check_usable_rows_stay_usable(make: Make) -> None:
    """Finite numbers stay finite, including constant features and rows of zeros."""
    result = fit(make).apply(table(), COLUMNS)
    values = _values(result)
    assert np.isfinite(values).all(), "a number is not finite"


def check_rows_too_long_to_square_are_not_made_alike(make: Make) -> None:
    """Rows that would end a run still do, or remain distinct.

    Otherwise predictions would silently be constant.
    """
    X = read_only(1e200 * table(1))
    step = fit(make, scale=1e200)
    result = _dense(step, X)
    length = np.abs(result).max(axis=1)
    # Squares of lengths from 1e154 on overflow, so such rows end a run anyway.
    is_usable = length < 1e154
    before = np.unique(X[is_usable], axis=0)
    after = np.unique(result[is_usable], axis=0)
    assert len(after) >= len(before), "different rows are made alike"


def check_sparse_rows_give_the_same_bits(make: Make) -> None:
    """CSR rows, also of a slice, become what dense rows become, if a transform `takes_sparse`."""
    X = table(1)
    step = fit(make)
    # A slice shares the arrays of its rows: its first entry is not at 0.
    for start, stop in ((0, ROWS), (5, 31)):
        sparse = slice_rows(to_csr(X), start, stop)
        of_sparse = _dense(step, sparse)
        of_dense = _dense(step, X[start:stop])
        np.testing.assert_array_equal(of_sparse, of_dense)


def check_draws_differ_by_their_number(make: Make) -> None:
    """The same `projection` gives the same rows, another gives others, if it `is_random`."""
    X = table()
    draws = []
    # Twice the same number, or a draw from the clock would pass.
    for number in (0, 0, 1):
        step = make()
        step.projection = number
        step.fit(lambda: iter([X]), COLUMNS)
        draws.append(_dense(step, X))
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2]), "projections 0 and 1 are the same"


def begin(make: Make) -> StreamingTransform:
    """Return a new transform that streams, before the first row."""
    step = make()
    assert isinstance(step, StreamingTransform), (
        f"{step.name} is to learn from rows as they come, and has no method for it"
    )
    step.begin(COLUMNS)
    return step


def holed(seed: int = 0) -> FloatArray:
    """Return the rows of `table` with missing values: a whole row, nearly a whole feature."""
    X = np.array(table(seed))
    rng = np.random.default_rng(seed)
    absent = rng.random(X.shape) < 0.2
    X[absent] = np.nan
    X[11] = np.nan
    # One value of feature 4 remains: its deviation is zero, a classic division by zero.
    X[:-1, 4] = np.nan
    return read_only(X)


def _trains() -> BoolArray:
    rng = np.random.default_rng(2)
    return rng.random(ROWS) < 0.7


def check_any_cut_into_chunks_learns_the_same_bits(make: Make) -> None:
    """Rows of a stream, some of them training rows, get the same bits from any chunk size."""
    X = holed()
    trains = _trains()
    expected = begin(make).learn(X, COLUMNS, trains)
    for cuts in CUTS:
        step = begin(make)
        for start, stop in pairwise(cuts):
            rows = slice(start, stop)
            learned = step.learn(X[rows], COLUMNS, trains[rows])
            _same(learned, slice_rows(expected, start, stop))


def check_what_is_learned_goes_on_in_another(make: Make) -> None:
    """From a mid-stream copy of `learned` another transform continues with the same bits."""
    X = holed()
    trains = _trains()
    first = begin(make)
    second = begin(make)
    before = slice(0, 25)
    behind = slice(25, ROWS)
    first.learn(X[before], COLUMNS, trains[before])
    # Copies, because the first transform may update its arrays in place.
    second.learned = copies(first.learned)
    expected = first.learn(X[behind], COLUMNS, trains[behind])
    continued = second.learn(X[behind], COLUMNS, trains[behind])
    _same(continued, expected)


def check_rows_that_do_not_train_leave_no_trace(make: Make) -> None:
    """Rows that are held out or of the test split are transformed without being learned."""
    X = holed()
    step = begin(make)
    all_train = np.ones(25, dtype=np.bool_)
    step.learn(X[:25], COLUMNS, all_train)
    before = copies(step.learned)
    none_trains = np.zeros(ROWS - 25, dtype=np.bool_)
    held_out = step.learn(X[25:], COLUMNS, none_trains)
    applied = step.apply(X[25:], COLUMNS)
    _same(applied, held_out)
    for name, array in before.items():
        words = f"{name} has changed"
        np.testing.assert_array_equal(step.learned[name], array, err_msg=words)


def check_rows_to_come_are_not_known(make: Make) -> None:
    """Later rows do not change the bits to which a row is transformed."""
    X = np.array(holed())
    trains = np.ones(ROWS, dtype=np.bool_)
    learned = begin(make).learn(X, COLUMNS, trains)
    expected = slice_rows(learned, 0, 40)
    # Extreme values would show in earlier rows if a transform looked ahead.
    X[40:] = 1e9 * X[40:][::-1]
    result = begin(make).learn(X, COLUMNS, trains)
    _same(slice_rows(result, 0, 40), expected)


def check_arrays_that_no_rows_lead_to_are_refused(make: Make) -> None:
    """A count of -1 in the arrays of a file is refused: loops rely on counts and positions."""
    step = begin(make)
    step.learn(table(), COLUMNS, _trains())
    state = step.state()
    for name, array in state.items():
        if array.dtype.kind not in "iu" or not array.size:
            continue
        crafted = array.copy()
        flat = crafted.reshape(-1)
        flat[0] = -1
        try:
            begin(make).restore(state | {name: crafted}, COLUMNS)
        except ValueError:
            continue
        raise AssertionError(
            f"{name} of -1 is restored; can_continue is to say that it cannot"
        )


def _categories() -> FloatArray:
    """Return rows of few values, some of them missing."""
    rng = np.random.default_rng(4)
    numbers = rng.integers(0, 3, (ROWS, COLUMNS))
    X = numbers.astype(np.float64)
    X[5, 2] = np.nan
    return read_only(X)


def _stream_labels(seed: int = 6) -> StreamLabels:
    """Return labels that arrive late, several of them together, and some never."""
    rng = np.random.default_rng(seed)
    y = read_only(rng.normal(size=ROWS))
    waits = rng.integers(-1, 9, ROWS)
    return StreamLabels(y, waits)


def _learned(
    step: StreamingTransform, labels: StreamLabels, start: int, stop: int
) -> Rows:
    span = slice(start, stop)
    part = StreamLabels(labels.y[span], labels.waits[span])
    rows = _categories()[span]
    trains = _trains()[span]
    return step.learn_labelled(rows, COLUMNS, trains, part)


def check_any_cut_into_chunks_learns_the_same_bits_from_labels(make: Make) -> None:
    """Rows whose labels arrive late get the same bits at any chunk size, if it `learns_labels`."""
    labels = _stream_labels()
    expected = _learned(begin(make), labels, 0, ROWS)
    for cuts in CUTS:
        step = begin(make)
        for start, stop in pairwise(cuts):
            result = _learned(step, labels, start, stop)
            _same(result, slice_rows(expected, start, stop))


def check_labels_that_wait_go_on_in_another(make: Make) -> None:
    """From a mid-stream copy of `learned` another transform gets the labels that are to come."""
    labels = _stream_labels()
    first = begin(make)
    second = begin(make)
    _learned(first, labels, 0, 25)
    second.learned = copies(first.learned)
    continued = _learned(second, labels, 25, ROWS)
    expected = _learned(first, labels, 25, ROWS)
    _same(continued, expected)


def check_a_label_counts_once_it_has_arrived(make: Make) -> None:
    """A row's label changes no row up to that after which it arrives, its own above all."""
    labels = _stream_labels()
    expected = _learned(begin(make), labels, 0, ROWS)
    changes = 0
    for row in range(ROWS):
        y = np.array(labels.y)
        y[row] += 1000.0
        changed = StreamLabels(read_only(y), labels.waits)
        result = _learned(begin(make), changed, 0, ROWS)
        wait = int(labels.waits[row])
        last = ROWS  # a label that never arrives
        if wait >= 0:
            last = min(ROWS, row + wait + 1)
        expected_part = slice_rows(expected, 0, last)
        _same(slice_rows(result, 0, last), expected_part)
        changes += not np.array_equal(_values(result), _values(expected))
    assert changes, "no label changes anything"


def check_labels_of_rows_that_do_not_train_never_count(make: Make) -> None:
    """Labels of rows that are held out change no row."""
    labels = _stream_labels()
    y = np.where(_trains(), labels.y, labels.y + 1000.0)
    held_out = StreamLabels(read_only(y), labels.waits)
    expected = _learned(begin(make), labels, 0, ROWS)
    result = _learned(begin(make), held_out, 0, ROWS)
    _same(result, expected)


def check_missing_values_stay_where_they_are(make: Make) -> None:
    """A missing value makes no other value missing, if a transform `keeps_missing`."""
    X = holed(1)
    step = fit(make)
    transformed = _dense(step, X)
    without_gaps = np.where(np.isnan(X), 0.0, X)
    filled = _dense(step, without_gaps)
    gaps_before = np.isnan(X).sum(axis=1)
    gaps = np.isnan(transformed).sum(axis=1)
    spread = gaps > gaps_before
    row = int(np.argmax(spread))
    assert not spread.any(), f"row {row} has more missing values than before"
    assert np.isfinite(filled).all(), "a value is missing where none was"


def _dense(step: Transform, X: Rows) -> FloatArray:
    """Return transformed rows as a dense array."""
    rows = step.apply(X, COLUMNS)
    return to_dense(rows, step.width(COLUMNS))


def _values(X: Rows) -> FloatArray:
    if isinstance(X, CSR):
        return X.data
    return X


def _same(got: Rows, expected: Rows) -> None:
    assert isinstance(got, CSR) == isinstance(expected, CSR), (
        "rows are dense at one time and sparse at another"
    )
    if not isinstance(got, CSR) or not isinstance(expected, CSR):
        np.testing.assert_array_equal(got, expected)
        return
    # Without the entries of other rows, which slices of sparse rows still hold.
    arrays = zip(trim(got), trim(expected), strict=True)
    for got_array, expected_array in arrays:
        np.testing.assert_array_equal(got_array, expected_array)
