"""Rows that are taken together have the products of each alone, also with vectors that change meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from olscale.compiled import rows_together
from olscale.compiled.csr import CSR, read_only_csr
from olscale.compiled.decorator import compiled
from olscale.compiled.rows_together import (
    may_go_together,
    multiply_together,
    renew,
    together_space,
)
from olscale.compiled.simd import row_tiles
from olscale.compiled.simd.row_tiles import ROWS, multiply_rows
from olscale.compiled.support_arrays import empty_support, grow_places, support_vectors
from olscale.compiled.support_vectors import (
    SupportVectors,
    drop,
    find_places,
    merge,
    products,
    put,
    take_out,
)
from tests.compiled.slow import slow_versions

COLUMNS = 70
SLOTS = 128


@compiled
def _put(support: Any, slot: int, X: Any, i: int) -> None:
    put(support, slot, X, i, 1.0)


@compiled
def _take_out(support: Any, slot: int) -> None:
    take_out(support, slot)


@compiled
def _products(support: Any, X: Any, i: int, at: Any, value: Any, k: Any) -> float:
    found, square = find_places(support, X, i, at, value)
    products(support, at, value, found, k)
    return square


@compiled
def _may_go_together(support: Any, X: Any, i: int, last: int) -> bool:
    return may_go_together(support, X, i, last)


@compiled
def _renew(support: Any, X: Any, i: int, at: Any, space: Any) -> None:
    renew(support, X, i, at, space)


@compiled
def _multiply_rows(
    at: Any,
    p: Any,
    x: Any,
    first: int,
    length: int,
    W: Any,
    column: int,
    vectors: int,
    K: Any,
) -> None:
    multiply_rows(at, p, len(at), x, first, length, W, column, vectors, K[:, 8:])


def rows(count: int, seed: int, share: float = 1.0) -> CSR:
    rng = np.random.default_rng(seed)
    return read_only_csr(
        rng.normal(size=(count, COLUMNS)) * (rng.random(COLUMNS) < share)
    )


def vectors(count: int, share: float = 0.9) -> SupportVectors:
    """Return vectors that lack some features, whose places have the order of no row."""
    support = support_vectors(
        grow_places(empty_support(COLUMNS, SLOTS, SLOTS), COLUMNS)
    )
    for slot in range(count):
        _put(support, slot, rows(1, 100 + slot, share), 0)
    return support


def check(support: SupportVectors, X: CSR, first: int, space: Any) -> None:
    """See that what is known of four rows is what each has alone."""
    at = np.empty(COLUMNS, np.int32)
    value = np.empty(COLUMNS)
    k = np.zeros(SLOTS)
    count = support.counts[0]
    for r in range(ROWS):
        assert _products(support, X, first + r, at, value, k) == space.squares[r]
        np.testing.assert_array_equal(space.products[r, :count], k[:count])


@pytest.mark.parametrize("vectors", [1, 2, 3, 4, 5, 8])
def test_four_rows_are_multiplied_as_one_after_the_other(vectors: int) -> None:
    rng = np.random.default_rng(vectors)
    slow = slow_versions(row_tiles)["multiply_rows"]
    W = rng.normal(size=(9, 64))
    x = rng.normal(size=50)
    places = rng.permutation(9).astype(np.int32)
    positions = np.array([0, 1, 3, 4, 5, 7, 8, 9, 10], np.int32)
    for column in range(0, 64 - 8 * vectors + 1, 8):
        K, expected = (np.full((6, 72), np.nan) for _ in range(2))
        _multiply_rows(places, positions, x, 2, 12, W, column, vectors, K)
        slow(places, positions, 9, x, 2, 12, W, column, vectors, expected[:, 8:])
        np.testing.assert_array_equal(K, expected)


@pytest.mark.parametrize("count", [1, 8, 63, 64, 65, 100, 128])
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_products_are_those_of_each_row(count: int, share: float) -> None:
    """For rows with all features and rows that share some, of which vectors lack some."""
    support = vectors(count)
    X = rows(9, 1, share)
    space = together_space(COLUMNS, SLOTS)
    for first in (0, 5):
        assert multiply_together(support, X, first, np.empty(COLUMNS, np.int32), space)
        check(support, X, first, space)


@pytest.mark.parametrize("odd", [0, 1, 3])
@pytest.mark.parametrize(
    ("all_lack", "one_lacks"), [([], 3), ([10], 20), ([0], 1), ([1], 0), ([69], 68)]
)
def test_rows_of_other_features_go_alone(
    odd: int, all_lack: list[int], one_lacks: int
) -> None:
    """Also where they are as many; rows that all lack the same do not."""
    support = vectors(60)
    space = together_space(COLUMNS, SLOTS)
    at = np.empty(COLUMNS, np.int32)
    X = rows(8, 2).data.reshape(8, COLUMNS).copy()
    X[:, all_lack] = 0.0
    X[odd] = rows(1, 3).data
    X[odd, one_lacks] = 0.0
    found = read_only_csr(X)
    assert not multiply_together(support, found, 0, at, space)
    assert multiply_together(support, found, 4, at, space)
    assert _may_go_together(support, found, 4, 8)
    assert not _may_go_together(support, found, 5, 8)  # that is three


def test_rows_are_taken_together_where_the_vectors_fill_the_cache() -> None:
    assert [_may_go_together(vectors(n), rows(4, 3), 0, 4) for n in (58, 59)] == [
        False,
        True,
    ]
    assert 58 * COLUMNS < rows_together.LEAST_PRODUCTS <= 59 * COLUMNS


def test_vectors_may_change_between_the_rows() -> None:
    """One that is put in, in a slot and behind the last, one replaced, one dropped for the last, two merged."""
    support = vectors(60)
    X = rows(4, 4)
    space = together_space(COLUMNS, SLOTS)
    at = np.empty(COLUMNS, np.int32)
    others = rows(8, 5)
    assert multiply_together(support, X, 0, at, space)

    def replace(slot: int, row: int) -> None:
        _take_out(support, slot)
        _put(support, slot, others, row)

    for change in (
        lambda: _put(support, 60, others, 0),
        # into the next block
        lambda: [_put(support, 61 + n, others, 1 + n) for n in range(5)],
        lambda: replace(17, 6),
        lambda: drop(support, 3),
        lambda: drop(support, support.counts[0] - 1),
        lambda: merge(support, 20, 40, 0.3),
        # no feature has a place
        lambda: [_take_out(support, n) for n in range(support.counts[0])],
        # places of another order
        lambda: [_put(support, n, others, n) for n in range(8)],
    ):
        before = space.products.copy()
        change()
        _renew(support, X, 0, at, space)
        check(support, X, 0, space)
        assert not np.array_equal(before, space.products)
        assert not support.changed.any()
