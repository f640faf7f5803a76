"""FOGD against its formulas in numpy, and figures of other programs for frequencies that anybody can draw."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from olscale.compiled.csr import CSR, read_only, to_csr
from olscale.data.transforms import matrix
from olscale.data.transforms.matrix import MatrixRows
from olscale.errors import ParameterError
from olscale.learners.contract.fused_settings import fuse
from olscale.learners.contract.learner import codes_of
from olscale.learners.kernel.fogd import FOGD
from tests.learners.exact import rows_of_file


def frequencies(learner: FOGD, columns: int) -> np.ndarray:
    """Return the frequencies of a learner after `begin`, shape (columns, D)."""
    key = (int(learner.state_["key"][0]), int(learner.state_["key"][1]))
    matrix_rows = MatrixRows(key, columns, learner.D, 0.0).times(
        to_csr(read_only(np.eye(columns)))
    )
    return np.sqrt(2.0 * learner.state_["gamma"][0]) * matrix_rows


def oracle(
    X: np.ndarray,
    y: np.ndarray,
    U: np.ndarray,
    eta: float,
    unit: bool,
    multiclass: str,
    classes: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores before each update and the weights, by numpy's functions and a list of classes."""
    outputs = 1 if classes == 2 else classes
    D = U.shape[1]
    w = np.zeros((outputs, 2 * D))
    scores = []
    for x, label in zip(X, y, strict=True):
        z = np.concatenate([np.cos(x @ U), np.sin(x @ U)]) / (
            np.sqrt(D) if unit else 1.0
        )
        f = w @ z
        scores.append(f)
        if outputs == 1:
            sign = 2 * label - 1
            w[0] += eta * sign * z * (sign * f[0] < 1)
        elif multiclass == "ova":
            signs = np.where(np.arange(classes) == label, 1, -1)
            w += eta * np.outer(signs * (signs * f < 1), z)
        else:
            rival = max(
                (c for c in range(classes) if c != label), key=lambda c: (f[c], -c)
            )
            if f[label] - f[rival] < 1:
                w[label] += eta * z
                w[rival] -= eta * z
    return np.array(scores), w


def stream(
    classes: int, rows: int = 150, columns: int = 6
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, rows)
    return read_only(
        2.0 * np.eye(columns)[y] + rng.normal(size=(rows, columns))
    ), read_only(y)


@pytest.mark.parametrize("scale", ["unit", "paper"])
@pytest.mark.parametrize(
    ("classes", "multiclass"), [(2, "ova"), (4, "ova"), (4, "max-score")]
)
def test_scores_and_weights_are_those_of_numpy(
    classes: int, multiclass: str, scale: str
) -> None:
    X, y = stream(classes)
    eta = 0.3 if scale == "unit" else 0.3 / 37
    learner = FOGD(D=37, eta=eta, scale=scale, sigma=1.5, seed=3, multiclass=multiclass)
    learner.begin(6, classes, (1, 2))
    scores = learner.learn(X, y)
    expected, w = oracle(
        X, y, frequencies(learner, 6), eta, scale == "unit", multiclass, classes
    )
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    np.testing.assert_allclose(learner.state_["W"], w, atol=1e-12)


class PortableFOGD(FOGD):
    """FOGD with the frequencies of the reference file, which any program can compute."""

    def _draw(self) -> None:
        super()._draw()
        i = np.arange(1, self._columns + 1)[:, None]
        j = np.arange(1, self.D + 1)
        drawn = ndtri(
            ((7919 * i + 104729 * j + 31 * i * j * (i + 3 * j)) % 10007 + 0.5) / 10007
        )
        places = np.zeros((len(self._frequencies.kept.owner) + 1, self.D))
        places[: self._columns] = drawn
        owner = np.arange(len(places) - 1, dtype=np.int32)
        self._frequencies.kept = self._frequencies.kept._replace(
            rows=places, owner=owner
        )


@pytest.mark.parametrize(
    ("name", "columns", "gamma", "mistakes", "updates", "total", "norm"),
    [
        ("a1a", 123, 0.01, 396, 804, -1608.593755431, 0.33504053669165257),
        ("svmguide1", 4, 0.001, 227, 889, 1063.89299726, 0.79060365769715035),
    ],
)
def test_exact(
    name: str,
    columns: int,
    gamma: float,
    mistakes: int,
    updates: int,
    total: float,
    norm: float,
) -> None:
    """Rows of ``reference/exact.csv``: MATLAB's rule on frequencies that can be computed, in both scales."""
    rows, y = rows_of_file(name, "p7919" if name == "svmguide1" else "time")
    for scale, eta in (("paper", 0.001), ("unit", 0.1)):
        learner = PortableFOGD(D=100, eta=eta, scale=scale, gamma=gamma)
        learner.begin(columns, 2)
        scores = learner.learn(rows, y)
        assert int((codes_of(scores) != y).sum()) == mistakes
        assert learner.measures()["updates"] == updates
        assert scores.sum() == pytest.approx(total, rel=1e-9)
        assert learner.measures()["norm_w"] == pytest.approx(
            norm * (10.0 if scale == "unit" else 1.0), rel=1e-9
        )


# A row so short that its squared length is no number ends a run, as one too long does.
_NUMBERS = st.floats(-5.0, 5.0).map(lambda number: round(number, 9))


@given(
    x=st.lists(_NUMBERS, min_size=3, max_size=3),
    s=st.lists(_NUMBERS, min_size=3, max_size=3),
    gamma=st.sampled_from([0.01, 0.3, 2.0]),
)
@settings(max_examples=60)
def test_products_of_features_are_near_the_kernel(
    x: list[float], s: list[float], gamma: float
) -> None:
    """A standard deviation is at most ``1 / sqrt(2 D)``; five of them are allowed."""
    learner = FOGD(D=400, eta=1.0, gamma=gamma)
    learner.begin(3, 2)
    learner.learn(read_only(np.array([x])), read_only(np.array([1])))
    kernel = np.exp(-gamma * np.sum((np.array(x) - np.array(s)) ** 2))
    assert abs(learner.scores(read_only(np.array([s])))[0, 0] - kernel) < 5.0 / np.sqrt(
        2.0 * 400
    )
    assert learner.scores(read_only(np.array([x])))[0, 0] == pytest.approx(
        1.0, rel=1e-12
    )


@pytest.mark.parametrize("length", [1e3, 1e5, 1e9, 1e100])
def test_features_are_cosines_however_long_a_row_is(length: float) -> None:
    learner = FOGD(D=50, eta=1.0)
    learner.begin(2, 2)
    x = read_only(np.array([[length, 0.0]]))
    learner.learn(x, read_only(np.array([1])))
    angles = length * frequencies(learner, 2)[0]
    expected = np.sqrt(0.02) * np.concatenate([np.cos(angles), np.sin(angles)])
    w = learner.state_["W"][0]
    np.testing.assert_allclose(w[:50] ** 2 + w[50:] ** 2, 0.02, rtol=1e-12)
    if length < 1e9:  # beyond, the last digit of an angle is worth more than this
        np.testing.assert_allclose(w, expected, atol=1e-9)


def test_memory_is_bounded_and_does_not_decide_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Frequencies of millions of features stay within a table; where it is small they are drawn anew, to the same bits."""
    rng = np.random.default_rng(0)
    indices = np.concatenate(
        [np.sort(rng.choice(3_200_000, 20, replace=False)) for _ in range(100)]
    ).astype(np.int32)
    rows = CSR(
        *map(read_only, (np.arange(0, 2001, 20), indices, rng.normal(size=2000)))
    )
    y = read_only(rng.integers(0, 2, 100))
    found = []
    for size in (matrix.TABLE_BYTES, 5_000):
        monkeypatch.setattr(matrix, "TABLE_BYTES", size)
        learner = FOGD(D=30)
        learner.begin(3_200_000, 2)
        found.append(learner.learn(rows, y))
        measures = learner.measures()
        assert measures["frequency_bytes"] <= size + 4 * 30
        assert measures["model_bytes"] < 600
    np.testing.assert_array_equal(found[0], found[1])


def test_copies_have_the_same_frequencies() -> None:
    X, y = stream(2)
    learner = FOGD(D=20).fit(X, y)
    for other in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        np.testing.assert_array_equal(
            other.decision_function(X), learner.decision_function(X)
        )


def test_permutations_and_seeds_draw_other_frequencies() -> None:
    keys = set()
    for seed, entropy in ((0, ()), (0, (0, 1)), (0, (0, 2)), (1, ())):
        learner = FOGD(seed=seed)
        learner.begin(3, 2, entropy)
        keys.add(tuple(learner.state_["key"].tolist()))
    assert len(keys) == 4


def test_a_width_has_three_names_and_settings_of_several_share_a_pass() -> None:
    X, y = stream(4)
    ways = [
        {"gamma": "median"},
        {"sigma": 0.5},
        {"gamma": 2.0},
        {"p": 0.5},
        {"gamma": 2.0, "eta": 1.8},
    ]
    learners = [FOGD(**{"D": 20, "eta": 0.2, **way}) for way in ways]  # type: ignore[arg-type]
    for learner in learners:
        learner.begin(6, 4)
    assert [float(learner.state_["gamma"][0]) for learner in learners[1:]] == [
        2.0,
        2.0,
        4.0,
        2.0,
    ]
    with pytest.raises(ValueError, match="must see rows before it learns"):
        fuse(learners).learn(X, y)
    learners[0].prepare(X)
    scores = fuse(learners).learn(X, y)
    np.testing.assert_array_equal(scores[1], scores[2])
    assert not np.array_equal(scores[0], scores[1])
    np.testing.assert_allclose(scores[4][1], 9.0 * scores[1][1], rtol=1e-12)
    with pytest.raises(
        ParameterError, match="gamma, sigma were given, expected one of"
    ):
        FOGD(gamma=1.0, sigma=2.0).fit(X, y)
