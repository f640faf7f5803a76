"""Totals of many rows at once are those that are added row by row."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from olscale.compiled.class_totals import add_class_totals, open_counts
from olscale.compiled.tallies import count_classes


@given(
    classes=st.sampled_from([2, 3, 8, 9, 40]),
    rows=st.integers(0, 3000),
    cuts=st.lists(st.integers(0, 3000), max_size=4),
    common=st.floats(0, 1),
    frozen=st.booleans(),
    seed=st.integers(0, 9),
)
def test_any_cut_of_any_rows(
    classes: int, rows: int, cuts: list[int], common: float, frozen: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    y = np.where(
        rng.random(rows) < common, rng.integers(2), rng.integers(0, classes, rows)
    )
    predicted = np.where(rng.random(rows) < 0.7, y, rng.integers(0, classes, rows))
    no_room = np.empty((0, 2), np.int64)
    no_marks = np.empty(0, np.int64)
    nothing = np.empty((0, 3 + 3 * classes))
    no_weights = np.empty(0)
    sums = np.zeros(3 + 3 * classes)
    totals = np.zeros(3 + 3 * classes)
    base = np.zeros(2 + classes, np.int64)
    base[2:] = rng.integers(0, 40, classes)
    base[:2] = np.argmax(base[2:]), -1
    other = base.copy()
    # The class met most often is ahead of others by no more than some rows: it changes.
    for part in np.split(np.arange(rows), sorted(min(cut, rows) for cut in cuts)):
        events = y[part], predicted[part], no_room, no_weights
        count_classes(*events, False, base, frozen, sums, 1.0, no_marks, nothing)
        add_class_totals(
            y[part], predicted[part], other, frozen, totals, open_counts(classes)
        )
        np.testing.assert_array_equal(totals, sums)
        np.testing.assert_array_equal(other, base)
