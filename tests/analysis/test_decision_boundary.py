"""Learners in the plane."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.analysis.decision_boundary import (
    DecisionBoundary,
    features,
    plane_of,
    principal_plane,
    snapshots,
)
from olscale.data.generators.rotating_xor import batches
from olscale.errors import ParameterError
from olscale.learners.registry import make_learner


def test_the_principal_plane_has_the_largest_variances_uncorrelated(shelf):
    plane = principal_plane(str(shelf / "dense"))

    variances = np.cov(plane.X.T, bias=True)
    assert plane.X.shape == (400, 2)
    assert variances[0, 1] == pytest.approx(0, abs=1e-9)
    assert variances[0, 0] > variances[1, 1] > 0
    assert set(plane.y) == {0, 1}
    np.testing.assert_array_equal(plane.X, principal_plane(str(shelf / "dense")).X)


def test_the_plane_of_sparse_rows_is_that_of_dense_ones(shelf):
    dense, sparse = (
        principal_plane(str(shelf / name)).X for name in ("dense", "sparse")
    )

    np.testing.assert_allclose(sparse, dense, atol=1e-9)


def test_snapshots_are_the_learner_after_so_many_rows():
    plane = plane_of("xor", batches(250, seed=1))
    learner = make_learner("pa1", {})
    learner.begin(3, 2, (0,))

    taken = list(snapshots("pa1", {}, plane, every=100, resolution=5))

    assert [(snapshot.start, snapshot.stop) for snapshot in taken] == [
        (0, 100),
        (100, 200),
        (200, 250),
    ]
    for snapshot in taken:
        span = slice(snapshot.start, snapshot.stop)
        learner.learn(features(plane.X[span], bias=True), plane.y[span])
        grid = np.array([[x, y] for y in snapshot.y for x in snapshot.x])
        np.testing.assert_array_equal(
            snapshot.scores.ravel(), learner.scores(features(grid, bias=True))[:, 0]
        )


def test_prototypes_are_those_at_the_snapshot():
    plane = plane_of("xor", batches(200, seed=1))

    first, second = snapshots("lol", {"k": 4}, plane, every=100, resolution=3)

    assert first.prototypes.shape == second.prototypes.shape == (4, 3)
    assert (first.prototypes != second.prototypes).any()
    assert next(snapshots("pa", {}, plane, resolution=3)).prototypes is None


def test_shuffling_keeps_rows_with_their_labels():
    plane = plane_of("xor", batches(100, seed=0))
    shuffled = plane.shuffled(seed=3)

    assert (shuffled.X != plane.X).any()
    assert sorted(map(tuple, np.column_stack([shuffled.X, shuffled.y]))) == sorted(
        map(tuple, np.column_stack([plane.X, plane.y]))
    )


def test_more_than_two_classes_are_refused():
    plane = DecisionBoundary("three", np.zeros((3, 2)), np.array([0, 1, 2]))

    with pytest.raises(ParameterError, match="three has 3 classes"):
        next(snapshots("pa", {}, plane))
