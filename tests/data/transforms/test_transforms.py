"""Transforms: dense and sparse agree, the cut into chunks leaves no trace, the test split teaches nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import CSR, rows_of, slice_rows, to_csr, to_dense
from olscale.data.chunk import Chunk
from olscale.data.transforms.pipeline import (
    TRANSFORMS,
    Pipeline,
    fit_transforms,
    make_transform,
    size_after,
)
from olscale.data.transforms.scaling import MinMax
from olscale.errors import DatasetError, UnknownNameError

EVERY = [
    "standardize",
    "minmax",
    "unit-norm",
    "bias",
    "project:3",
    "project:6,kind=sparse",
    "project:4,kind=very-sparse",
    "rff:4,gamma=median",
    "nystroem:3",
    "svd:3",
]
names = st.lists(st.sampled_from(EVERY), max_size=3)


def rows(seed: int, count: int = 40, columns: int = 5) -> np.ndarray:
    """Draw rows with zeros, one constant feature and one empty row."""
    rng = np.random.default_rng(seed)
    X = 10.0 ** rng.integers(-3, 4, columns) * rng.standard_normal((count, columns))
    X *= rng.random((count, columns)) < 0.6
    X[:, 1] = 0.0 if seed % 2 else 0.1
    X[3] = 0.0
    return X


def cut(X, sizes: list[int]) -> Callable[[], Iterator[Chunk]]:
    """Return what starts a pass over `X` in chunks of `sizes`, the last one with the rest."""
    count = rows_of(X)
    columns = 5
    bounds = [*np.unique(np.clip(np.cumsum([0, *sizes]), 0, count)).tolist(), count]

    def chunks() -> Iterator[Chunk]:
        for start, stop in itertools.pairwise(bounds):
            if stop > start:
                yield Chunk(slice_rows(X, start, stop), np.zeros(stop - start), columns)

    return chunks


def applied(pipeline: Pipeline, X) -> np.ndarray:
    return to_dense(pipeline.apply(Chunk(X, np.zeros(rows_of(X)), 5)).X, pipeline.width)


@given(
    steps=names, seed=st.integers(0, 20), sizes=st.lists(st.integers(1, 30), max_size=8)
)
@settings(max_examples=60, deadline=None)
def test_cuts_leave_no_trace_in_a_single_bit(
    steps: list[str], seed: int, sizes: list[int]
) -> None:
    X = rows(seed)
    whole = fit_transforms(steps, cut(X, []), 5)
    pieces = fit_transforms(steps, cut(X, sizes), 5)
    expected = applied(whole, X)
    assert applied(pieces, X).tobytes() == expected.tobytes()
    parts = [to_dense(pieces.apply(chunk).X, pieces.width) for chunk in cut(X, sizes)()]
    assert np.concatenate(parts).tobytes() == expected.tobytes()


@given(
    steps=names, seed=st.integers(0, 20), sizes=st.lists(st.integers(1, 30), max_size=4)
)
@settings(max_examples=60, deadline=None)
def test_dense_and_sparse_agree_in_every_bit(
    steps: list[str], seed: int, sizes: list[int]
) -> None:
    X = rows(seed)
    dense = fit_transforms(steps, cut(X, sizes), 5)
    sparse = fit_transforms(steps, cut(to_csr(X), sizes), 5)
    assert dense.width == sparse.width == size_after(steps, 5, 5)[0]
    np.testing.assert_array_equal(applied(sparse, to_csr(X)), applied(dense, X))


@given(
    steps=st.lists(st.sampled_from(["unit-norm", "bias"]), max_size=3),
    start=st.integers(0, 20),
)
@settings(deadline=None)
def test_sparse_stays_sparse_sorted_and_right_in_a_slice(
    steps: list[str], start: int
) -> None:
    X = rows(1)
    pipeline = fit_transforms(steps, cut(to_csr(X), []), 5)
    got = pipeline.apply(
        Chunk(slice_rows(to_csr(X), start, 40), np.zeros(40 - start), 5)
    ).X
    assert isinstance(got, CSR)
    assert (got.indptr.dtype, got.indices.dtype, got.data.dtype) == (
        np.int64,
        np.int32,
        np.float64,
    )
    for i in range(40 - start):
        assert (np.diff(got.indices[got.indptr[i] : got.indptr[i + 1]]) > 0).all()
    np.testing.assert_allclose(
        to_dense(got, pipeline.width), applied(pipeline, X[start:])
    )


def test_every_transform_is_tried() -> None:
    """Those for missing values, and that learn as rows come, are tried in tests/evaluation/test_stream_transforms.py."""
    ahead = {name for name in TRANSFORMS if not TRANSFORMS.load(name).streams}
    assert {make_transform(text).name for text in EVERY} == ahead - {
        "missing-indicator"
    }


def test_meaning_of_each() -> None:
    X = rows(0)
    new = np.full((2, 5), 7.0)
    constant = np.ptp(X, axis=0) == 0
    standardize = fit_transforms(["standardize"], cut(X, [7]), 5)
    Z = applied(standardize, X)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), np.where(constant, 0.0, 1.0), atol=1e-12)
    deviation = np.where(constant, 1.0, X.std(axis=0))
    np.testing.assert_allclose(
        applied(standardize, new), (new - X.mean(axis=0)) / deviation
    )
    minmax = fit_transforms(["minmax"], cut(X, [7]), 5)
    Z = applied(minmax, X)
    assert (Z.min(axis=0) == 0).all()
    assert (Z.max(axis=0) == np.where(constant, 0.0, 1.0)).all()
    assert applied(minmax, 1e6 * new).max() > 1, "test rows may lie outside"
    Z = applied(fit_transforms(["unit-norm"], cut(X, []), 5), X)
    np.testing.assert_allclose(
        np.linalg.norm(Z, axis=1), np.where((X == 0).all(axis=1), 0.0, 1.0)
    )
    np.testing.assert_array_equal(
        applied(fit_transforms(["bias"], cut(X, []), 5), X),
        np.hstack([X, np.ones((40, 1))]),
    )


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, -3.3, 0.5, 1e308])
def test_a_constant_feature_becomes_0_however_many_rows_there_are(value: float) -> None:
    """Its sum is not exact: it became 1 or -1, and another value in a test row 1e11 and more."""
    X = rows(0, 2000)
    X[:, 2] = value
    pipeline = fit_transforms(["standardize"], cut(X, [300, 500]), 5)
    np.testing.assert_allclose(applied(pipeline, X)[:, 2], 0.0, atol=1e-15 * abs(value))
    other = X[:2].copy()
    other[:, 2] *= 1.1
    np.testing.assert_allclose(applied(pipeline, other)[:, 2], 0.1 * value, rtol=1e-6)
    alone = fit_transforms(["standardize"], cut(rows(0, 2000), [300, 500]), 5)
    expected = np.delete(applied(alone, rows(0, 2000)), 2, axis=1)
    assert np.delete(applied(pipeline, X), 2, axis=1).tobytes() == expected.tobytes()


def test_a_feature_that_is_constant_on_a_part_only_becomes_0_there(tmp_path) -> None:
    from olscale.data.ingest.ingest import ingest
    from olscale.data.stream import Part, open_streams

    X = rows(0, 3000)
    part = Part("half", 0, 0, 2)
    train, held_out = part.rows(np.zeros(3000, dtype=np.int64))
    X[:, 2] = 0.7
    X[held_out, 2] = 0.8
    np.savez(tmp_path / "rows.npz", X=X, y=np.arange(3000) % 2)
    path = ingest(tmp_path / "rows.npz", tmp_path / "rows").path
    streams = open_streams(path, ["standardize"], part=part)
    assert len(train) == streams.train.rows
    assert all((chunk.X[:, 2] == 0.0).all() for chunk in streams.train.chunks())
    assert streams.test is not None
    assert all(np.allclose(chunk.X[:, 2], 0.1) for chunk in streams.test.chunks())


def test_features_that_vary_next_to_nothing_are_told_from_constant_ones() -> None:
    """By a few units in the last place is constant; one value that differs by 1e-12 is a feature."""
    X = rows(0, 2000)
    X[:, 2] = 0.1
    X[7, 2] = np.nextafter(0.1, 1.0)
    X[:, 3] = 0.3
    X[7, 3] *= 1.0 + 1e-12
    Z = applied(fit_transforms(["standardize"], cut(X, [300]), 5), X)
    assert np.abs(Z[:, 2]).max() < 1e-16
    np.testing.assert_allclose([Z[:, 3].mean(), Z[:, 3].std()], [0.0, 1.0], atol=0.1)
    assert np.argmax(Z[:, 3]) == 7


@pytest.mark.parametrize("scale", [1e-310, 1e-181, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("step", ["standardize", "minmax", "unit-norm"])
def test_features_whose_squares_leave_the_range_are_scaled_all_the_same(
    step: str, scale: float
) -> None:
    """They were left as they are, or became 0."""
    X = np.random.default_rng(0).normal(size=(500, 5))
    expected = applied(fit_transforms([step], cut(X, [64]), 5), X)
    scaled = X * scale
    got = applied(fit_transforms([step], cut(scaled, [64]), 5), scaled)
    np.testing.assert_allclose(
        got, expected, rtol=1e-9, atol=1e-3 if scale < 1e-307 else 1e-9
    )
    sparse = applied(
        fit_transforms([step], cut(to_csr(scaled), [64]), 5), to_csr(scaled)
    )
    np.testing.assert_array_equal(sparse, got)


def test_a_range_that_overflows_is_no_constant() -> None:
    X = np.array([[1.7e308, 1.0], [-1.7e308, 2.0], [0.0, 3.0]])
    pipeline = fit_transforms(["minmax"], lambda: iter([Chunk(X, np.zeros(3), 2)]), 2)
    got = pipeline.apply(Chunk(X, np.zeros(3), 2)).X
    np.testing.assert_allclose(got, [[1.0, 0.0], [0.0, 0.5], [0.5, 1.0]])


def test_steps_are_fitted_on_what_the_ones_before_leave() -> None:
    X = rows(2)
    both = fit_transforms(["unit-norm", "standardize"], cut(X, [9]), 5)
    first = applied(fit_transforms(["unit-norm"], cut(X, []), 5), X)
    np.testing.assert_array_equal(
        applied(both, X),
        applied(fit_transforms(["standardize"], cut(first, []), 5), first),
    )


def test_no_step_gets_rows_that_it_could_write_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behind another step its loops would otherwise be compiled once more, in the middle of a run."""
    given = []
    fit = MinMax.fit
    apply = MinMax.apply

    def see(X: np.ndarray) -> np.ndarray:
        given.append(X.flags.writeable)
        return X

    monkeypatch.setattr(
        MinMax,
        "fit",
        lambda step, chunks, columns: fit(step, lambda: map(see, chunks()), columns),
    )
    monkeypatch.setattr(
        MinMax, "apply", lambda step, X, columns: apply(step, see(X), columns)
    )
    for X in (np.eye(3), to_csr(np.eye(3))):
        for ahead in (["minmax"], ["standardize", "minmax"]):
            fit_transforms(
                ahead, lambda X=X: iter([Chunk(X, np.arange(3), 3)]), 3
            ).apply(Chunk(X, np.arange(3), 3))
    assert len(given) >= 8
    assert not any(given)


def test_only_the_training_split_is_seen(tmp_path) -> None:
    """Two datasets that differ in their test split alone give the same transforms, bit for bit."""
    from olscale.data.ingest.ingest import ingest
    from olscale.data.stream import open_streams

    streams = []
    for number in range(2):
        np.savez(
            tmp_path / f"{number}.npz",
            X_train=rows(0),
            y_train=np.arange(40) % 2,
            X_test=rows(5 + number) * 10.0**number,
            y_test=np.arange(40) % 2,
        )
        dataset = ingest(
            tmp_path / f"{number}.npz", tmp_path / f"d{number}", chunk_rows=16
        )
        both = open_streams(dataset.path, ["standardize", "minmax", "bias"])
        streams += [both.train, both.test]
    reference = [applied(stream.pipeline, rows(0)).tobytes() for stream in streams]
    assert len(set(reference)) == 1


def test_unknown_and_too_wide() -> None:
    X = rows(0)
    with pytest.raises(
        UnknownNameError, match="'standardise'; did you mean 'standardize'"
    ):
        fit_transforms(["standardise"], cut(X, []), 5)
    wide = Chunk(to_csr(X), np.zeros(40), 70_000)
    for name in ("standardize", "minmax"):
        with pytest.raises(
            DatasetError,
            match=f"transform {name} makes rows dense, and 70,000 features",
        ):
            fit_transforms([name], lambda: iter([wide]), 70_000)
