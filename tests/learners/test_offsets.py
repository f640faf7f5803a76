"""Rows far from 0, for what they differ by: the nearest prototype and kernel values stay right, or the run ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from olscale.compiled.csr import Rows, read_only, rows_of, to_csr
from olscale.errors import DivergedError
from olscale.learners.contract.learner import Learner
from olscale.learners.contract.usable_rows import diverged_at
from olscale.learners.kernel.norma import NORMA
from olscale.learners.local.lol import ILOL, LOL
from olscale.learners.local.offline_prototypes import offline_prototypes
from olscale.learners.local.soft_lol import SoftLOL
from olscale.learners.reference.batch_machine import WithoutOffset

LAYOUTS = pytest.mark.parametrize("layout", [read_only, to_csr], ids=["dense", "csr"])


def rows_at(offset: float, rows: int = 400, columns: int = 6) -> np.ndarray:
    """Return rows that vary by about 1, whose feature 2 is at `offset`; some values are 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    X[rng.random(X.shape) < 0.2] = 0.0
    X[:, 2] += offset
    return read_only(X)


def labels(rows: int = 400) -> np.ndarray:
    return read_only(np.random.default_rng(1).integers(0, 2, rows))


def learned(learner: Learner, X: Rows, columns: int = 6) -> np.ndarray:
    learner.begin(columns, 2)
    return learner.learn(X, labels(rows_of(X)))


def moving_means(X: np.ndarray, k: int) -> np.ndarray:
    """Return the prototypes of sequential k-means, by differences."""
    means = X[:k].copy()
    counts = np.ones(k)
    for x in X[k:]:
        p = int(np.argmin(((x - means) ** 2).sum(axis=1)))
        counts[p] += 1.0
        means[p] += (x - means[p]) / counts[p]
    return means


@LAYOUTS
@pytest.mark.parametrize("kind", [LOL, ILOL])
@pytest.mark.parametrize(
    ("dtype", "offset", "error"),
    [("float64", 1e8, 1e-5), ("float64", 0.0, 1e-9), ("float32", 3e3, 0.05)],
)
def test_rows_go_to_the_nearest_prototype(
    layout: Any, kind: type[LOL], dtype: str, offset: float, error: float
) -> None:
    X = rows_at(offset)
    learner = kind(k=10, dtype=dtype)
    learned(learner, layout(X))
    near = moving_means(X.astype(dtype).astype(np.float64), 10)
    np.testing.assert_allclose(learner.prototypes_, near, atol=error, rtol=1e-12)


@LAYOUTS
@pytest.mark.parametrize(
    ("learner", "offset"),
    [
        (LOL(k=10), 1e14),
        (LOL(k=10, dtype="float32"), 1e8),
        (SoftLOL(k=10), 1e8),
        (SoftLOL(k=10, dtype="float32"), 1e6),
    ],
    ids=["lol", "lol float32", "soft-lol", "soft-lol float32"],
)
def test_a_run_ends_where_rounding_hides_which_prototype_is_nearest(
    layout: Any, learner: Learner, offset: float
) -> None:
    X = layout(rows_at(offset))
    lost = np.flatnonzero(np.isnan(learned(learner, X)[:, 0]))
    assert list(lost) == list(range(10, 400))
    error = diverged_at(learner, X, 10, 10)
    assert "rows differ by so small a part of their length" in str(error)
    assert "standardize" in error.reason


@LAYOUTS
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", [LOL, SoftLOL])
def test_rows_that_are_copies_of_each_other_end_nothing(
    layout: Any, kind: type[Any], dtype: str
) -> None:
    """Their distances are rounding, too; but no prototype is nearer than another."""
    X = np.tile([0.1, 0.0, 1e8 / 3.0, 0.7, 0.3, 0.9], (400, 1))
    assert np.isfinite(learned(kind(k=10, dtype=dtype), layout(read_only(X)))).all()


@LAYOUTS
def test_rows_near_to_vectors_that_have_other_features(layout: Any) -> None:
    """Rows of whole numbers: with an offset even the bits of a sum of differences are those without."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, size=(300, 12)).astype(np.float64)
    far = X.copy()
    far[:, 5] += 2.0**50
    for kernel in ("gaussian", "laplacian"):
        expected = learned(NORMA(kernel=kernel), layout(read_only(X)), columns=12)
        scores = learned(NORMA(kernel=kernel), layout(read_only(far)), columns=12)
        np.testing.assert_allclose(scores, expected, rtol=1e-12)


@LAYOUTS
def test_clusters_found_before_the_stream(layout: Any) -> None:
    rng = np.random.default_rng(3)
    near = 10.0 * np.eye(3, 4)[rng.integers(0, 3, 300)] + rng.normal(size=(300, 4))
    far = near + np.array([0.0, 1e8, 0.0, 0.0])
    _, expected = offline_prototypes(near, 3, np.random.default_rng(0))
    _, means = offline_prototypes(layout(far), 3, np.random.default_rng(0))
    np.testing.assert_allclose(means - [0.0, 1e8, 0.0, 0.0], expected, atol=1e-6)


def test_a_machine_of_rows_with_two_offsets_is_refused() -> None:
    """No row taken off makes their distances right."""
    X = rows_at(0.0)
    X = csr_matrix(X + np.where(np.arange(400) % 2, 1e8, -1e8)[:, None])
    with pytest.raises(DivergedError, match="standardize"):
        WithoutOffset(object(), gamma=0.1).fit(X, labels())


def test_rows_of_two_offsets_have_kernel_values() -> None:
    """The learners that keep rows take differences, whatever the rows are far from."""
    near = rows_at(0.0)
    side = np.where(np.arange(400) % 2, 1e8, -1e8)[:, None]
    far = near + side
    # no kernel value between the sides
    apart = read_only(np.where(side > 0.0, 50.0, -50.0) + (far - side))
    expected = learned(NORMA(gamma=0.2), apart)
    np.testing.assert_allclose(
        learned(NORMA(gamma=0.2), read_only(far)), expected, atol=1e-9
    )
