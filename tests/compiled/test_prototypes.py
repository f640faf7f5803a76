"""Prototypes: sums rounded as they say, whatever the layout; the nearest ones are those of plain numpy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from olscale.compiled import prototypes as module
from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.dot import copy_square
from olscale.compiled.near_prototypes import nearest
from olscale.compiled.prototypes import (
    Prototypes,
    allocate_prototypes,
    begin,
    flush,
    measure,
    move,
    open_prototypes,
    row_space,
)
from tests.compiled.slow import layouts, slow_versions


@compiled
def _measure_second(X: Rows, prototypes: Prototypes, p: int) -> None:
    """Move a prototype by row 0, measure row 1 and move prototype 0 by that, twice."""
    prototypes = begin(prototypes)
    for i in range(2):
        copy_square(X, i, row_space(prototypes, i))
        measure(prototypes, X, i)
        if i == 0:
            move(prototypes, 0, p, 1.0, 0.0, 1.0)
    move(prototypes, 1, 0, 2.0, 0.0, 1.0)
    flush(prototypes, X)


@compiled
def _assign(X: Rows, prototypes: Prototypes, assigned: np.ndarray) -> None:
    """Run sequential k-means: the first rows are the prototypes."""
    prototypes = begin(prototypes)
    for i in range(assigned.shape[0]):
        square = copy_square(X, i, row_space(prototypes, i))
        measure(prototypes, X, i)
        p = i if i < prototypes.counts.shape[0] else nearest(prototypes, X, i, square)
        move(
            prototypes,
            i,
            p,
            1.0,
            prototypes.squares[p] + 2.0 * prototypes.products[p] + square,
            1.0,
        )
        assigned[i] = p
    flush(prototypes, X)


@pytest.mark.parametrize("columns", [1, 2, 4, 8, 16, 32, 64, 80])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_products_are_rounded_with_their_sums_whatever_the_layout(
    dtype: str, columns: int
) -> None:
    rng = np.random.default_rng(columns)
    for features in (1, 3, 8, 21, 37):
        start = rng.normal(size=(features, columns)).astype(dtype)
        results = []
        both = layouts(rng, 2, features)
        for X in both:
            state = allocate_prototypes(features, columns, dtype)
            state["S"][...] = start
            prototypes = open_prototypes(state, X, 0)
            _measure_second(X, prototypes, columns - 1)
            results.append((state["S"], prototypes.products[:columns]))
        for dense, sparse in zip(*results, strict=True):
            np.testing.assert_array_equal(dense, sparse)
        before, x = np.asarray(both[0]).astype(dtype)
        start[:, -1] += before
        if dtype == "float64":
            for c in range(columns):
                total = 0.0
                for value, weight in zip(x, start[:, c], strict=True):
                    total = float(Fraction(value) * Fraction(weight) + Fraction(total))
                assert results[0][1][c] == total
        np.testing.assert_allclose(results[0][1], x @ start, rtol=1e-5, atol=1e-5)
        start[:, 0] += 2.0 * np.asarray(both[0])[1].astype(dtype)
        np.testing.assert_allclose(results[0][0], start, rtol=1e-6)


def test_rows_go_to_the_prototypes_of_the_slow_version() -> None:
    slow_class = slow_versions(module)["SlowPrototypes"]
    rng = np.random.default_rng(0)
    k = 5
    for X in layouts(rng, 100, 6):
        dense = (
            X
            if isinstance(X, np.ndarray)
            else layouts(np.random.default_rng(0), 100, 6)[0]
        )
        slow = slow_class(6, k)
        expected = []
        for i, x in enumerate(np.asarray(dense)):
            expected.append(i if i < k else slow.nearest(x))
            slow.move(expected[-1], x)
        state = allocate_prototypes(6, k, "float64")
        assigned = np.zeros(100, np.int64)
        _assign(X, open_prototypes(state, X, 0), assigned)
        assert assigned.tolist() == expected
        np.testing.assert_allclose(state["S"][:, :k], slow.sums, rtol=1e-12, atol=1e-12)
        assert state["members"].tolist() == slow.counts.tolist()
