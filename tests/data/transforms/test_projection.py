"""Random projection: the generator is Philox, entries have their distribution, and nothing but the definition has a say."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from olscale.bench.workloads.url_like import chunks
from olscale.compiled.csr import CSR, slice_rows, to_csr
from olscale.compiled.philox import fill_words, philox
from olscale.data.chunk import Chunk
from olscale.data.transforms import matrix
from olscale.data.transforms.matrix import (
    Listed,
    MatrixRows,
    gaussian,
    quantile,
    quantiles,
)
from olscale.data.transforms.pipeline import (
    canonical_transform,
    fit_transforms,
    make_transform,
    split_transforms,
)
from olscale.errors import OlscaleError, ParameterError, UnknownNameError

KINDS = ("gaussian", "sparse", "very-sparse")
Projected = np.ndarray


def projected(
    X, columns: int, text: str = "project:100", projection: int = 0
) -> Projected:
    return (
        fit_transforms([text], lambda: iter(()), columns, projection)
        .apply(Chunk(X, np.zeros(count(X)), columns))
        .X
    )


def count(X) -> int:
    return len(X.indptr) - 1 if isinstance(X, CSR) else len(X)


def entries(
    kind: str, columns: int = 20_000, width: int = 50, projection: int = 0
) -> Projected:
    """Return the matrix itself, scaled to variance 1: the projection of each feature alone."""
    unit = CSR(
        np.arange(columns + 1), np.arange(columns, dtype=np.int32), np.ones(columns)
    )
    return projected(
        unit, columns, f"project:{width},kind={kind}", projection
    ) * math.sqrt(width)


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (
            (0xFFFFFFFF,) * 4,
            (0xFFFFFFFF,) * 2,
            (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
        ),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_the_generator_is_that_of_random123(counter, key, words) -> None:
    """Known answers: kat_vectors of Random123, philox4x32 of 10 rounds."""
    assert tuple(map(int, philox(*map(np.uint64, counter + key)))) == words


def test_words_are_the_blocks_of_a_number() -> None:
    key = np.array([1, 2], dtype=np.uint64)
    words = np.empty(8, dtype=np.uint64)
    fill_words(7, key, words)
    blocks = [
        philox(*(np.uint64(c) for c in (block, 7, 0, 0, 1, 2))) for block in range(2)
    ]
    assert words.tolist() == [int(word) for block in blocks for word in block]


def test_quantiles_are_the_gaussian_ones() -> None:
    from scipy.stats import norm

    p = np.concatenate(
        [np.linspace(1e-6, 1 - 1e-6, 2001), [2.0**-33, 1 - 2.0**-33, 0.075, 0.925]]
    )
    np.testing.assert_allclose(
        [quantile(x) for x in p], norm.ppf(p), rtol=1e-13, atol=1e-15
    )


def test_words_become_their_quantiles() -> None:
    from scipy.stats import norm

    words = np.random.default_rng(0).integers(0, 2**32, 20_000, dtype=np.uint64)
    words[:6] = [0, 2**32 - 1, 2**20, 2**20 - 1, 2**31, 2**32 - 2**20 - 1]
    made = np.array([gaussian(word, quantiles()) for word in words])
    np.testing.assert_allclose(made, norm.ppf((words + 0.5) / 2**32), atol=0.025)
    np.testing.assert_allclose(norm.cdf(made), (words + 0.5) / 2**32, atol=2e-5)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_entries_have_mean_0_and_variance_1(kind: str) -> None:
    """Bounds of five standard errors, over a million entries; each dimension and each hundred features by itself too."""
    made = entries(kind)
    fourth = {"gaussian": 3.0, "sparse": 3.0, "very-sparse": math.sqrt(len(made))}[kind]
    error = math.sqrt((fourth - 1.0) / made.size)
    assert abs(made.mean()) < 5.0 / math.sqrt(made.size)
    assert abs((made**2).mean() - 1.0) < 5.0 * error
    assert (abs(made.mean(axis=0)) < 5.0 / math.sqrt(len(made))).all()
    correlation = made.T @ made / len(made) - np.eye(made.shape[1])
    assert abs(correlation - np.diag(np.diag(correlation))).max() < 6.0 / math.sqrt(
        len(made)
    )
    neighbours = (made[1:] * made[:-1]).mean()
    assert abs(neighbours) < 5.0 / math.sqrt(made.size)


def test_gaussian_entries_are_gaussian() -> None:
    from scipy.stats import kstest, kurtosis

    made = entries("gaussian").ravel()
    assert kstest(made, "norm").statistic < 1.95 / math.sqrt(made.size)  # p = 0.001
    assert abs(kurtosis(made)) < 5.0 * math.sqrt(24.0 / made.size)
    assert 4.2 < abs(made).max() < 6.4


@pytest.mark.parametrize(
    ("kind", "sparsity"), [("sparse", 3.0), ("very-sparse", math.sqrt(20_000))]
)
def test_sparse_entries_are_as_rare_as_they_should_be(
    kind: str, sparsity: float
) -> None:
    made = entries(kind)
    np.testing.assert_allclose(np.unique(abs(made)), [0.0, math.sqrt(sparsity)])
    share = 1.0 / sparsity
    expected = 5.0 * math.sqrt(share * (1.0 - share))
    assert abs((made != 0.0).mean() - share) < expected / math.sqrt(made.size)
    assert (
        abs((made != 0.0).mean(axis=0) - share) < expected / math.sqrt(len(made))
    ).all()
    assert abs((made > 0.0).sum() - (made < 0.0).sum()) < 5.0 * math.sqrt(
        (made != 0.0).sum()
    )


@pytest.mark.parametrize("kind", KINDS[:2])
def test_distances_are_nearly_kept(kind: str) -> None:
    """Johnson and Lindenstrauss: at 500 dimensions a squared distance deviates by sqrt(2 / 500) = 6.3 %."""
    X = np.random.default_rng(0).normal(size=(40, 3000)) * (
        np.random.default_rng(1).random((40, 3000)) < 0.1
    )
    pairs = np.array(list(itertools.combinations(range(40), 2)))
    Z = projected(X, 3000, f"project:500,kind={kind}")
    before = ((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2).sum(axis=1)
    ratio = ((Z[pairs[:, 0]] - Z[pairs[:, 1]]) ** 2).sum(axis=1) / before
    assert abs(ratio - 1.0).max() < 5.0 * math.sqrt(2.0 / 500)
    assert ratio.std() == pytest.approx(math.sqrt(2.0 / 500), rel=0.25)


@pytest.mark.parametrize("kind", KINDS)
def test_a_projection_is_the_product_with_its_matrix(kind: str) -> None:
    X = np.random.default_rng(0).normal(size=(30, 200)) * (
        np.random.default_rng(1).random((30, 200)) < 0.3
    )
    R = entries(kind, 200, 7) / math.sqrt(7)
    np.testing.assert_allclose(
        projected(X, 200, f"project:7,kind={kind}"), X @ R, atol=1e-12
    )


def test_bits_are_these() -> None:
    """Another machine, compiler or version must make the same numbers; doubles are written in hexadecimal here."""
    features = np.arange(0, 3_231_961, 4_099, dtype=np.int32)
    row = CSR(
        np.array([0, len(features)]), features, 1.0 / (1.0 + np.arange(len(features)))
    )
    found = {
        kind: [
            x.hex()
            for x in projected(row, 3_231_961, f"project:3,kind={kind}")[0].tolist()
        ]
        for kind in KINDS
    }
    assert found == {
        "gaussian": [
            "-0x1.d117a05524e40p-1",
            "0x1.65a0f762e899ap-3",
            "0x1.3b0723d5dfbc0p-2",
        ],
        "sparse": [
            "-0x1.dfc239b24a63ap-1",
            "0x1.e195af7276ce5p-2",
            "0x1.b183a1aeb9803p-1",
        ],
        "very-sparse": ["0x0.0p+0", "0x1.5c27d41f1e764p-2", "0x0.0p+0"],
    }


def test_number_and_seed_make_other_projections() -> None:
    X = to_csr(np.eye(4))
    made = [
        projected(X, 4, f"project:8,seed={seed}", i).tobytes()
        for seed in range(2)
        for i in range(3)
    ]
    assert len(set(made)) == 6
    assert projected(X, 4, "project:8,seed=1", 2).tobytes() == made[5]


@pytest.mark.parametrize("kind", KINDS)
def test_neither_cut_nor_order_nor_what_is_kept_changes_a_bit(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a table of four rows nearly every feature is made anew; with a large one nearly none is."""
    text = f"project:10,kind={kind}"
    [whole] = chunks(200, chunk_rows=200, columns=5_000)
    expected = projected(whole.X, 5_000, text)
    parts = [
        projected(slice_rows(whole.X, i, i + 7), 5_000, text) for i in range(0, 200, 7)
    ]
    assert np.concatenate(parts).tobytes() == expected.tobytes()
    monkeypatch.setattr(matrix, "TABLE_BYTES", 4 * 10 * 4)
    matrix.matrix_of.cache_clear()
    backwards = [
        projected(slice_rows(whole.X, i, i + 1), 5_000, text)
        for i in reversed(range(200))
    ]
    matrix.matrix_of.cache_clear()
    assert np.concatenate(backwards[::-1]).tobytes() == expected.tobytes()


def test_threads_that_share_a_table_get_the_same_bits() -> None:
    from concurrent.futures import ThreadPoolExecutor

    streams = list(chunks(4_000, chunk_rows=500))
    alone = [projected(chunk.X, chunk.columns).tobytes() for chunk in streams]
    matrix.matrix_of.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        together = list(
            pool.map(lambda chunk: projected(chunk.X, chunk.columns).tobytes(), streams)
        )
    assert together == alone


@pytest.mark.parametrize("layout", ["parquet", "zarr"])
def test_a_stream_is_projected_the_same_in_any_layout(
    tmp_path: Path, layout: str
) -> None:
    from olscale.bench.workloads import generate
    from olscale.data.stream import open_streams

    generate(
        "url-like",
        tmp_path / "a",
        rows=300,
        columns=2_000,
        layout=layout,
        chunk_rows=64,
    )
    stream = open_streams(
        str(tmp_path / "a"), ["project:5", "standardize"], projection=3
    ).train
    raw = open_streams(str(tmp_path / "a"), ["project:5"], projection=3).train
    X = np.concatenate([chunk.X for chunk in raw.chunks()])
    [whole] = chunks(300, 300, columns=2_000, day_rows=19_803)
    assert X.tobytes() == projected(whole.X, 2_000, "project:5", 3).tobytes()
    assert stream.columns == 5
    np.testing.assert_allclose(
        np.concatenate([chunk.X for chunk in stream.chunks()]).std(axis=0), 1.0
    )


@pytest.mark.parametrize("width", [1, 100, 3000])
def test_what_is_kept_is_bounded(width: int) -> None:
    one_more = 4 * width  # the row of a feature that has no place
    assert (
        MatrixRows((0, 0), 2**31 - 1, width, 0.0).nbytes
        <= matrix.TABLE_BYTES + one_more
    )
    assert MatrixRows((0, 0), 5, width, 0.0).nbytes == 8 * (4 * width + 5) + one_more


def test_a_listed_matrix_is_that_of_a_table() -> None:
    X = next(chunks(100, columns=5_000)).X
    sparsity = math.sqrt(5_000)
    listed, table = (made((1, 2), 5_000, 30, sparsity) for made in (Listed, MatrixRows))
    assert listed.times(X).tobytes() == table.times(X).tobytes()
    assert listed.nbytes < 4 * 5_000 + 4 * (
        5_000 * 30 / sparsity + 5 * math.sqrt(5_000 * 30 / sparsity)
    )


def test_tables_of_two_matrices_stay() -> None:
    for number in range(5):
        projected(to_csr(np.eye(3)), 3, "project:2", number)
    assert matrix.matrix_of.cache_info().currsize == 2


def test_a_list_with_parameters_is_split_as_meant() -> None:
    assert split_transforms("standardize,bias") == ["standardize", "bias"]
    assert split_transforms(" unit-norm, project:kind=sparse,features=9 ,bias,") == [
        "unit-norm",
        "project:kind=sparse,features=9",
        "bias",
    ]
    assert split_transforms("") == []
    for text in ("project:9", "project:seed=4,features=9,kind=very-sparse", "bias"):
        once = canonical_transform(text)
        assert canonical_transform(once) == once
        assert split_transforms(f"bias,{once},bias") == ["bias", once, "bias"]


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        (
            "project",
            ParameterError,
            "features is missing; expected e.g. project:features=100",
        ),
        ("project:", ParameterError, "features was ''"),
        ("project:9,seed", ParameterError, "'seed' is not param=value"),
        (
            "project:many",
            ParameterError,
            "features was 'many', expected a whole number of at least 1",
        ),
        ("project:0", ParameterError, "features was 0"),
        (
            "project:9,seed=-1",
            ParameterError,
            "seed was -1, expected a whole number of at least 0",
        ),
        (
            "project:9,sparse",
            UnknownNameError,
            "unknown parameter of transform project 'sparse'",
        ),
        (
            "project:9,kind=gauss",
            UnknownNameError,
            "unknown kind of projection 'gauss'; did you mean 'gaussian'",
        ),
        ("project:feature=9", UnknownNameError, "'feature'; did you mean 'features'"),
        (
            "bias:2",
            UnknownNameError,
            "unknown parameter of transform bias '2'; there are: none",
        ),
        (
            "projekt:9",
            UnknownNameError,
            "unknown transform 'projekt'; did you mean 'project'",
        ),
    ],
)
def test_a_fault_is_one_line(text: str, error: type[OlscaleError], said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        make_transform(text)
    assert "\n" not in str(caught.value)
