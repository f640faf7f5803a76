"""Networks: random layers against BLAS symv and syr, components against IncrementalPCA.

Every row is predicted before it, or its block, is learned; where only sums are made none is, nor by
IncrementalPCA.
"""

from functools import partial
from typing import Any

import numpy as np

from olscale.arrays import FloatArray
from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.linear import learner, one_pass, untrained
from olscale.data.chunk import Chunk
from olscale.learners.network.product_sums import AT_ONCE

_COLUMNS = 20
_ELEMENTS = 200_000_000
"""Total of matrix elements to process: larger matrices get fewer rows."""

_SUMMED = 8_000_000_000
"""Likewise, where no row is predicted."""


def figures(rows: int = 20_000, rounds: int = 5) -> list[Figure]:
    """Return the speeds of recursive least squares with 100, 500 and 1,000 features."""
    rng = np.random.default_rng(0)
    results = []
    for size in (100, 500, 1000):
        # Each size gets about the same time.
        count = min(rows, _ELEMENTS // size**2)
        stream = [_quadrants(rng, count)]
        of_size = f"{size} features"
        peer = f"BLAS symv + syr, {of_size}"
        fourier = {"features": size, "gamma": 0.1}
        results += compare(
            [
                _blas(peer, size, count),
                learner(
                    "oselm",
                    {"nodes": size},
                    stream,
                    peer,
                    ">= 0.8",
                    f"oselm, {of_size}",
                    1e3,
                ),
                learner(
                    "rff-rls",
                    fourier,
                    stream,
                    peer,
                    ">= 0.8",
                    f"rff-rls, {of_size}",
                    1e3,
                ),
                learner(
                    "rff-rls",
                    {**fourier, "block": 16},
                    stream,
                    peer,
                    "",
                    f"rff-rls, {of_size}, block = 16",
                    1e3,
                ),
            ],
            "thousand rows/s",
            rounds,
        )
    return [*results, *_sums(rounds), *_penalties(rounds), *_components(rounds)]


def _quadrants(rng: np.random.Generator, rows: int) -> Chunk:
    """Return rows whose class follows from the signs of two features: none is linear in them."""
    X = rng.uniform(-1.0, 1.0, (rows, _COLUMNS))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(np.int64)
    return Chunk(X, y, _COLUMNS)


def _sums(rounds: int) -> list[Figure]:
    """Return the speeds of sums of 500 and 1,000 features, against BLAS for their products."""
    rng = np.random.default_rng(0)
    results = []
    for size in (500, 1000):
        # Whole blocks of the rows that `add_rows` multiplies at once.
        count = _SUMMED // size**2 // AT_ONCE * AT_ONCE
        chunk = _quadrants(rng, count)
        Z = rng.normal(size=(count, size))
        peer = f"BLAS syrk, {size} features"
        of_size = f"{size} features"
        layers: dict[str, dict[str, Any]] = {
            "oselm": {"nodes": size},
            "rff-rls": {"features": size, "gamma": 0.1},
        }
        contestants = [
            Contestant(
                f"{name}, sums only, {of_size}",
                partial(_add_up, chunk),
                count / 1e3,
                partial(untrained, name, params, chunk),
                peer,
                ">= 0.7",
            )
            for name, params in layers.items()
        ]
        products = Contestant(peer, partial(_syrk, Z), count / 1e3)
        results += compare([products, *contestants], "thousand rows/s", rounds)
    return results


def _penalties(rounds: int) -> list[Figure]:
    """Return 8 values of lam in one pass or sum against 8, on rows like images of ten digits."""
    rng = np.random.default_rng(0)
    columns = 784
    values = np.geomspace(1e-4, 10.0, 8).tolist()
    X = rng.uniform(size=(3000, columns))
    chunk = Chunk(X, rng.integers(10, size=len(X)), columns)
    results = []
    layers: dict[str, dict[str, Any]] = {
        "oselm": {"nodes": 100},
        "rff-rls": {"features": 500, "gamma": 0.01},
    }
    for name, layer in layers.items():
        settings = [layer | {"lam": lam} for lam in values]
        size = f"{next(iter(layer.values()))} features"
        titles = (
            f"{name}, 8 values of lam in one pass, {size}",
            f"{name}, 8 passes, {size}",
        )
        results += one_pass(name, settings, [chunk], titles, rounds, ">= 1", classes=10)
        results += _one_sum(name, settings, chunk, size, rounds)
    return results


def _one_sum(
    name: str,
    settings: list[dict[str, Any]],
    chunk: Chunk,
    size: str,
    rounds: int,
) -> list[Figure]:
    def begun() -> Any:
        return [untrained(name, params, chunk, 10) for params in settings]

    def apart(models: Any) -> None:
        for model in models:
            _solve([model], chunk)

    peer = f"{name}, 8 sums, {size}"
    work = 8 * len(chunk) / 1e6
    sum_title = f"{name}, one sum for 8 values of lam, {size}"
    table = [
        Contestant(peer, apart, work, begun),
        Contestant(sum_title, partial(_solve, chunk=chunk), work, begun, peer, ">= 1"),
    ]
    return compare(table, "M setting-rows/s", rounds)


def _solve(models: Any, chunk: Chunk) -> None:
    sums = models[0].no_sums()
    models[0].add_rows(chunk.X, chunk.y, sums)
    ends = models[0].end_sums(sums)
    # `take_sums` may change its arrays, which all settings share.
    for model in models:
        model.take_sums({name: array.copy() for name, array in ends.items()})


def _add_up(chunk: Chunk, model: Any) -> None:
    sums = model.no_sums()
    model.add_rows(chunk.X, chunk.y, sums)
    model.end_sums(sums)


def _syrk(Z: FloatArray, _: object) -> None:
    from scipy.linalg.blas import dsyrk

    # Transposed, rows of C are in the order of Fortran: BLAS takes them without a copy.
    dsyrk(1.0, Z.T, lower=1)


def _components(rounds: int) -> list[Figure]:
    """Return speeds row by row on the shape of the OSPVM paper's faces: 200 of 32 x 32."""
    rng = np.random.default_rng(0)
    classes = 40
    components = 100
    y = np.tile(np.arange(classes), 5)
    faces = rng.uniform(size=(classes, 1024))
    X = faces[y] + 0.1 * rng.normal(size=(len(y), 1024))
    stream = [Chunk(X, y, 1024)]
    peer = f"scikit-learn IncrementalPCA, {components} components, one by one after {components}"
    own = {
        "ospvm, 72 nodes, one by one": ("ospvm", {"nodes": 72, "block": 1}),
        f"ipca-lda, {components} components, one by one": (
            "ipca-lda",
            {"components": components, "block": 1},
        ),
        f"ipca-lda, {components} components, block = 16": (
            "ipca-lda",
            {"components": components},
        ),
    }
    contestants = [
        learner(name, params, stream, peer, "", title, 1.0, classes)
        for title, (name, params) in own.items()
    ]
    return compare([_incremental(peer, X, components), *contestants], "rows/s", rounds)


def _incremental(name: str, X: FloatArray, kept: int) -> Contestant:
    """Return scikit-learn's; its first block has at least as many rows as there are components."""
    from sklearn.decomposition import IncrementalPCA

    def fit(_: object) -> None:
        model = IncrementalPCA(kept).partial_fit(X[:kept])
        for row in range(kept, len(X)):
            model.partial_fit(X[row : row + 1])

    return Contestant(name, fit, len(X))


def _blas(name: str, size: int, count: int) -> Contestant:
    """Return the two products with half a matrix that a textbook needs to update a row."""
    from scipy.linalg.blas import dsymv, dsyr

    z, g = np.random.default_rng(1).normal(size=(2, size))

    def update(matrix: Any) -> None:
        # The steps are tiny: the matrix stays what it is, however many rows come.
        for _ in range(count):
            dsymv(1.0, matrix, z, y=g, overwrite_y=True)
            dsyr(-1e-12, z, a=matrix, overwrite_a=True)

    return Contestant(
        name, update, count / 1e3, lambda: np.asfortranarray(np.eye(size))
    )
