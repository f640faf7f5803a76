"""Streams: every row exactly once, in the order that the seed says, whatever the chunks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.compiled.csr import to_dense
from olscale.data.dataset import Dataset
from olscale.data.ingest.ingest import ingest
from olscale.data.stream import Shuffle, Stream, open_streams

ROWS = 53
SAMPLED = [2, 7, 10, 11, 18, 19, 21, 22, 26, 30, 32, 34, 36, 37, 42, 46, 47, 48, 51, 52]
"""Positions of a sample of 20 of them: the numbers of a run depend on these staying as they are."""


@pytest.fixture(
    scope="module",
    params=itertools.product(["dense", "sparse"], ["parquet", "zarr"], [10, 53, 1000]),
)
def dataset(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Dataset:
    """A dataset whose row i has the value i + 1 in every feature that is not zero."""
    kind, layout, chunk_rows = request.param
    folder = tmp_path_factory.mktemp("stream")
    columns = 4 if kind == "dense" else 400
    lines = []
    for i in range(ROWS):
        features = (
            range(1, 5) if kind == "dense" else sorted({1, 2 + i * 7 % columns, 400})
        )
        lines.append(f"{i % 3} " + " ".join(f"{j}:{i + 1}" for j in features))
    (folder / "a.svm").write_text("\n".join(lines))
    made = ingest(folder / "a.svm", folder / "d", layout=layout, chunk_rows=chunk_rows)
    assert made.kind == kind
    return made


def together(stream: Stream, start: int = 0) -> tuple[np.ndarray, np.ndarray]:
    chunks = list(stream.chunks(start))
    return np.concatenate(
        [to_dense(c.X, stream.columns) for c in chunks]
    ), np.concatenate([c.y for c in chunks])


def test_file_order_is_the_dataset(dataset: Dataset) -> None:
    X, y = together(open_streams(dataset.path).train)
    assert X[:, 0].tolist() == list(range(1, ROWS + 1))
    assert y.tolist() == [i % 3 for i in range(ROWS)]


@pytest.mark.parametrize("transforms", [(), ("unit-norm", "bias"), ("standardize",)])
def test_shuffled_stream_is_direct_indexing(
    dataset: Dataset, transforms: tuple[str, ...]
) -> None:
    shuffle = Shuffle(seed=3, index=2)
    plain, shuffled = (
        open_streams(dataset.path, transforms, order).train for order in (None, shuffle)
    )
    assert [len(chunk) for chunk in shuffled.chunks()] == [
        len(chunk) for chunk in plain.chunks()
    ]
    (X, y), (got_X, got_y) = together(plain), together(shuffled)
    order = shuffle.order(ROWS)
    assert got_X.tobytes() == X[order].tobytes()
    np.testing.assert_array_equal(got_y, y[order])


def test_any_chunk_at_any_time(dataset: Dataset) -> None:
    for order in (None, Shuffle(0, 0)):
        stream = open_streams(dataset.path, ["bias"], order).train
        X, y = together(stream)
        starts = [*dataset.chunk_starts("train"), ROWS]
        for i in reversed(range(len(stream))):
            chunk = stream.chunk(i)
            np.testing.assert_array_equal(
                to_dense(chunk.X, stream.columns), X[starts[i] : starts[i + 1]]
            )
            np.testing.assert_array_equal(chunk.y, y[starts[i] : starts[i + 1]])
        np.testing.assert_array_equal(
            together(stream, len(stream) - 1)[1], y[starts[-2] :]
        )


def test_a_sample_depends_on_the_rows_alone(dataset: Dataset) -> None:
    """The same rows however they are cut into chunks, in the order of the stream, none twice."""
    for order in (None, Shuffle(0, 0)):
        stream = open_streams(dataset.path, ["bias"], order).train
        X, _ = together(stream)
        sample = to_dense(stream.sample(20), stream.columns)
        positions = [X[:, 0].tolist().index(value) for value in sample[:, 0]]
        assert positions == SAMPLED
        np.testing.assert_array_equal(sample, X[positions])
        for size in (ROWS, 1000):
            np.testing.assert_array_equal(
                to_dense(stream.sample(size), stream.columns), X
            )


@given(
    seed=st.integers(0, 2**40), index=st.integers(0, 10_000), rows=st.integers(0, 300)
)
def test_permutation_is_the_one_that_is_documented(
    seed: int, index: int, rows: int
) -> None:
    order = Shuffle(seed, index).order(rows)
    source = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, index])))
    np.testing.assert_array_equal(order, source.permutation(rows))
    assert sorted(order.tolist()) == list(range(rows))
    assert order.dtype == np.int64


def test_permutations_are_uniform() -> None:
    """Chi squared over the 24 orders of four rows, 4,800 draws: 23 degrees of freedom, five deviations at most."""
    counts: dict[tuple[int, ...], int] = {}
    for index in range(4_800):
        order = tuple(Shuffle(0, index).order(4).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == math.factorial(4)
    assert sum(
        (count - 200) ** 2 / 200 for count in counts.values()
    ) < 23 + 5 * math.sqrt(2 * 23)


def test_seeds_and_indices_differ() -> None:
    orders = {
        tuple(Shuffle(seed, index).order(50).tolist())
        for seed in range(10)
        for index in range(10)
    }
    assert len(orders) == 100
