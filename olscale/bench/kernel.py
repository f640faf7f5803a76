"""Kernel learners on rows like a9a's against scikit-learn and River; kernel rows against BLAS.

Bare loops of a learner's products and exponentials on the same rows show the least that it needs.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from olscale.bench import other_learners
from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.linear import feed, learner, untrained
from olscale.bench.other_learners import to_scipy
from olscale.compiled.csr import CSR, read_only
from olscale.compiled.decorator import compiled
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.pages import aligned_space
from olscale.compiled.row_layout import borrowed_rows
from olscale.compiled.rows_together import (
    may_go_together,
    multiply_together,
    together_space,
)
from olscale.compiled.simd.row_tiles import ROWS
from olscale.compiled.support_arrays import empty_support, grow_places, support_vectors
from olscale.compiled.support_vectors import SupportVectors, find_places, put
from olscale.data.chunk import Chunk
from olscale.data.transforms.fourier import set_angles, set_features
from olscale.data.transforms.matrix import MatrixRows, borrowed_kept
from olscale.learners.contract.fused_settings import fuse
from olscale.learners.kernel.kernels import GAUSSIAN, Kernel, finish_row, raw_row

_GAMMA = 0.01
_SIZES = (16, 123, 784), (50, 100, 200, 1000)
_GROUPS = (5, 8, 16, 16, 7, 14, 6, 5, 2, 2, 2, 2, 10, 28)
"""Number of values of each attribute; one of them is 1, as a9a cuts numbers into ranges."""

_BUDGETED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("bpas", {"B": 100}),
    ("projectron", {"form": "budget", "B": 100}),
    ("forgetron", {"B": 100}),
    ("rbp", {"B": 100}),
    ("bogd", {"B": 100}),
    ("bsgd", {"B": 50, "lam": 5e-5}),
    ("nogd", {"B": 100, "k": 20}),
)
_SKLEARN = "scikit-learn, "


def figures(rows: int = 30_000, rounds: int = 5) -> list[Figure]:
    """Return speeds of learners against peers and bare loops, of their growth and kernel rows."""
    stream = [_rows(rows)]
    missing = other_learners.missing("River", "river")
    table = [_sklearn("SGDClassifier on Nystroem(100)", _nystroem, stream)]
    table += [
        _learner(name, params, stream, table[0].name) for name, params in _BUDGETED
    ]
    table += [
        _sklearn("SGDClassifier on RBFSampler(800)", _random_features, stream),
        _learner(
            "fogd", {"D": 400}, stream, f"{_SKLEARN}SGDClassifier on RBFSampler(800)"
        ),
    ]
    if not missing:
        table.append(_river(stream, table[-1].name))
    speeds = compare(table, "M rows/s", rounds)
    return [
        *speeds,
        *missing,
        *_limits(stream, rounds),
        *_growth(stream, rounds),
        *_settings(stream, rounds),
        *_kernel_rows(rounds),
    ]


def _rows(rows: int) -> Chunk:
    """Return rows with one value for each of 14 attributes, and labels with a fifth of noise.

    The odds of the values depend on the class.
    """
    # Made here, so that a benchmark needs no data set and no network.
    rng = np.random.default_rng(0)
    y = (rng.random(rows) < 0.24).astype(np.int64)
    # Labels that nothing explains: a learner that errs keeps adding and exchanging vectors.
    noisy = np.where(rng.random(rows) < 0.2, 1 - y, y)
    first = 0
    features = []
    for size in _GROUPS:
        odds = np.cumsum(rng.dirichlet(np.full(size, 2.0), size=2), axis=1)
        # The value drawn is the number of bounds below a uniform number.
        above = rng.random((rows, 1)) > odds[noisy]
        features.append(first + above.sum(axis=1))
        first += size
    indices = np.stack(features, axis=1).astype(np.int32)
    indptr = np.arange(0, indices.size + 1, len(_GROUPS), dtype=np.int64)
    values = read_only(np.ones(indices.size))
    X = CSR(read_only(indptr), read_only(indices.reshape(-1)), values)
    return Chunk(X, y, first)


def _learner(
    name: str,
    params: dict[str, Any],
    stream: Sequence[Chunk],
    peer: str,
    to: str = "",
) -> Contestant:
    settings = [f"{key} = {value}" for key, value in params.items()]
    title = ", ".join([name, *settings]) + to
    return learner(name, params | {"gamma": _GAMMA}, stream, peer, title=title)


def _limits(stream: Sequence[Chunk], rounds: int) -> list[Figure]:
    """Return learners' speeds against the loop of their products and exponentials alone."""
    table = [
        bare_rows(stream, _GAMMA, 50),
        bare_rows(stream, _GAMMA, 100),
        bare_features(stream, _GAMMA, 400),
    ]
    names = {
        contestant.name.rpartition(" ")[2]: contestant.name for contestant in table
    }
    for name, params in (*_BUDGETED, ("fogd", {"D": 400})):
        peer = names[str(params.get("B") or params["D"])]
        table.append(_learner(name, params, stream, peer, to=", to the bare loop"))
    return compare(table, "M rows/s", rounds)


def _growth(stream: Sequence[Chunk], rounds: int) -> list[Figure]:
    """Return speeds as the budget and the number of frequencies grow."""
    # A budget of 5,000 costs a hundred times that of 50: fewer rows show it as well.
    few = []
    for chunk in stream:
        assert isinstance(chunk.X, CSR)
        # A prefix of indptr alone cuts rows; indices and values are shared.
        rows = CSR(chunk.X.indptr[:3001], *chunk.X[1:])
        few.append(Chunk(rows, chunk.y[:3000], chunk.columns))
    table = []
    for B in (50, 500, 5000):
        table.append(
            learner("bpas", {"B": B, "gamma": _GAMMA}, few, title=f"bpas, B = {B}")
        )
    for D in (100, 1000, 10_000):
        table.append(
            learner("fogd", {"D": D, "gamma": _GAMMA}, few, title=f"fogd, D = {D}")
        )
    return compare(table, "M rows/s", rounds)


def _settings(stream: Sequence[Chunk], rounds: int, rows: int = 6000) -> list[Figure]:
    """Return the speeds of settings that keep ever more rows, one by one and in one pass."""
    few = [stream[0][:rows]]
    etas = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.7, 0.9)
    grid = [{"eta": eta, "gamma": _GAMMA} for eta in etas]

    def begin() -> list[Any]:
        return [untrained("norma", params, few[0]) for params in grid]

    def learn_in_turn(learners: Any) -> None:
        for single in learners:
            feed(single, few)

    # Rows times settings: both contestants end with the same models.
    work = rows / 1e6 * len(grid)
    passes = f"norma, {len(grid)} passes"
    fused_title = f"norma, {len(grid)} settings in one pass"
    table = [
        Contestant(passes, learn_in_turn, work, begin),
        Contestant(
            fused_title,
            lambda fused: feed(fused, few),
            work,
            lambda: fuse(begin()),
            passes,
            ">= 1",
        ),
    ]
    return compare(table, "M setting-rows/s", rounds)


def _sklearn(
    title: str, features: Callable[[], Any], stream: Sequence[Chunk]
) -> Contestant:
    """Return scikit-learn's classifier on its kernel approximation, in chunks of 1,000 rows."""
    from sklearn.linear_model import SGDClassifier

    # Conversion and fit are done before the clock starts.
    matrix = to_scipy(stream[0])
    y = np.array(stream[0].y)
    approximation = features().fit(matrix[:1000])

    def learn(model: Any) -> None:
        for start in range(0, len(y), 1000):
            cut = slice(start, start + 1000)
            features_of_rows = approximation.transform(matrix[cut])
            model.partial_fit(features_of_rows, y[cut], classes=[0, 1])

    def untrained() -> Any:
        # Without penalty, shuffling and intercept it makes the same kind of step a row.
        return SGDClassifier(
            loss="hinge", penalty=None, shuffle=False, fit_intercept=False
        )

    return Contestant(_SKLEARN + title, learn, len(y) / 1e6, untrained)


def _nystroem() -> Any:
    from sklearn.kernel_approximation import Nystroem

    return Nystroem(gamma=_GAMMA, n_components=100, random_state=0)


def _random_features() -> Any:
    from sklearn.kernel_approximation import RBFSampler

    return RBFSampler(gamma=_GAMMA, n_components=800, random_state=0)


def _river(stream: Sequence[Chunk], peer: str) -> Contestant:
    """Return River's linear learner on its random features, on the first 300 rows."""
    from river.feature_extraction import RBFSampler
    from river.linear_model import PAClassifier

    # River needs a second for a few hundred rows of 800 features.
    matrix = to_scipy(stream[0])[:300]
    y = stream[0].y[:300].tolist()
    # Dictionaries are made before the clock starts: making them is not River's work.
    rows = []
    for row in matrix:
        entries = zip(row.indices.tolist(), row.data.tolist(), strict=True)
        rows.append(dict(entries))

    def learn(model: Any) -> None:
        for x, label in zip(rows, y, strict=True):
            model.predict_one(x)
            model.learn_one(x, bool(label))

    def untrained() -> Any:
        return RBFSampler(gamma=_GAMMA, n_components=800, seed=0) | PAClassifier()

    return Contestant(
        "River PAClassifier on RBFSampler(800)", learn, len(y) / 1e6, untrained, peer
    )


def _kernel_rows(rounds: int, rows: int = 400) -> list[Figure]:
    """Return the speeds of dense kernel rows, one by one, against BLAS gemv and NumPy's exp."""
    rng = np.random.default_rng(0)
    results = []
    for d, B in product(*_SIZES):
        X = rng.normal(size=(rows, d)) / np.sqrt(d)
        S = rng.normal(size=(B, d)) / np.sqrt(d)
        support = support_of(_as_sparse(S), d)
        sparse = _as_sparse(X)
        space = space_of(d, len(support.sizes))
        sizes = np.sum(S * S, axis=1)
        gemv = f"BLAS gemv and numpy.exp, d = {d}, B = {B}"

        # Arguments by default: a closure would see the last size only.
        def blas(_: object, X: Any = X, S: Any = S, sizes: Any = sizes) -> None:
            for x in X:
                # Rounding may leave a squared distance just below 0.
                distances = np.maximum(0.0, x @ x + sizes - 2.0 * (S @ x))
                np.exp(-_GAMMA * distances)

        def ours(
            _: object, rows: Any = sparse, support: Any = support, space: Any = space
        ) -> None:
            kernel_rows(rows, support, Kernel(GAUSSIAN, _GAMMA, 0.0, 1), *space)

        # BLAS is at its best with large matrices; budgets are mostly small.
        target = ">= 2" if B <= 200 else ">= 0.9"
        table = [
            Contestant(gemv, blas, len(X) / 1e6),
            Contestant(
                f"kernel row, d = {d}, B = {B}",
                ours,
                len(X) / 1e6,
                peer=gemv,
                target=target,
            ),
        ]
        results += compare(table, "M rows/s", rounds)
    return results


def _as_sparse(X: Any) -> CSR:
    rows, d = X.shape
    indptr = np.arange(0, rows * d + 1, d, dtype=np.int64)
    indices = np.tile(np.arange(d, dtype=np.int32), rows)
    return CSR(read_only(indptr), read_only(indices), read_only(X.reshape(-1)))


def bare_rows(stream: Sequence[Chunk], gamma: float, B: int) -> Contestant:
    """Return the Gaussian kernel values of each row with the first `B` rows, and nothing else."""
    X: Any = stream[0].X
    first_rows = CSR(X.indptr[: B + 1], *X[1:])
    support = support_of(first_rows, stream[0].columns)
    room = len(support.sizes)
    kernel = Kernel(GAUSSIAN, gamma, 0.0, 1)
    space = space_of(stream[0].columns, room)

    def run(_: object) -> None:
        for chunk in stream:
            kernel_rows(chunk.X, support, kernel, *space)

    return Contestant(f"bare kernel rows, B = {B}", run, sum(map(len, stream)) / 1e6)


def bare_features(stream: Sequence[Chunk], gamma: float, D: int) -> Contestant:
    """Return the `D` angles of each row, their cosines and sines, and nothing else."""
    matrix = MatrixRows((0, 1), stream[0].columns, D, 0.0)
    space = aligned_space(3 * D)

    def run(_: object) -> None:
        for chunk in stream:
            _features(chunk.X, matrix.kept, gamma, space)

    return Contestant(
        f"bare cosines and sines, D = {D}", run, sum(map(len, stream)) / 1e6
    )


def space_of(columns: int, slots: int) -> tuple[Any, ...]:
    """Return the space in which `kernel_rows` works."""
    return (
        np.empty(columns, np.int32),
        np.empty(columns),
        aligned_space(slots),
        together_space(columns, slots),
    )


@compiled
def kernel_rows(
    X: Any,
    support: Any,
    kernel: Any,
    at: Any,
    value: Any,
    k: Any,
    together: Any,
) -> None:
    """Set `k` to the kernel values of one row of `X` after another."""
    X = borrowed_rows(X)
    support = borrowed(support)
    at = borrowed(at)
    value = borrowed(value)
    k = borrowed(k)
    together = borrowed(together)
    rows = X.indptr.shape[0] - 1
    begun = 0
    done = 0
    for i in range(rows):
        if (
            i >= done
            and may_go_together(support, X, i, rows)
            and multiply_together(support, X, i, at, together)
        ):
            begun = i
            done = i + ROWS
        # These rows were multiplied together, as the learners' loop does.
        if i < done:
            k = together.products[i - begun]
            square = together.squares[i - begun]
        else:
            entries, square = find_places(support, X, i, at, value)
            raw_row(kernel, support, at, value, entries, square, k)
        finish_row(kernel, support, X, i, at, value, square, k)


@compiled
def _features(X: Any, kept: Any, gamma: float, space: Any) -> None:
    X = borrowed_rows(X)
    kept = borrowed_kept(kept)
    D = space.shape[0] // 3
    angles = borrowed(space[:D])
    z = borrowed(space[D:])
    for i in range(X.indptr.shape[0] - 1):
        _, bound = set_angles(X, i, kept, angles)
        set_features(angles, bound, gamma, D**-0.5, z)


@compiled
def _put_all(support: Any, X: Any) -> None:
    for i in range(X.indptr.shape[0] - 1):
        square = 0.0
        for p in range(X.indptr[i], X.indptr[i + 1]):
            square += X.data[p] * X.data[p]
        put(support, i, X, i, square)


def support_of(rows: CSR, columns: int) -> SupportVectors:
    """Return support vectors that are the rows."""
    count = len(rows.indptr) - 1
    arrays = grow_places(empty_support(columns, count, count), columns)
    support = support_vectors(arrays)
    _put_all(support, rows)
    return support
