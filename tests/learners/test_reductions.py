"""What LOL and PAMO are special or general cases of, as their papers say: each reduction against the learner it leads to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import Rows, to_csr
from olscale.data.chunk import Chunk
from olscale.learners.contract.learner import Learner, codes_of
from olscale.learners.linear.passive_aggressive import PA, PA1
from olscale.learners.local.lol import ILOL, LOL
from olscale.learners.local.pamo import PAMO1, PAMO2

SEEDS = st.integers(0, 2**32 - 1)


def stream(seed: int, classes: int = 2, rows: int = 120, d: int = 5) -> Chunk:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    return Chunk(rng.normal(size=(classes, d))[y] + rng.normal(size=(rows, d)), y, d)


def begun(learner: Learner, columns: int, classes: int) -> Learner:
    learner.begin(columns, classes)
    return learner


def mistakes(scores: np.ndarray, y: np.ndarray) -> int:
    return int((codes_of(scores) != y).sum())


def assignments(X: np.ndarray, k: int, paper: bool) -> np.ndarray:
    """Return the number of each row's prototype by sequential k-means, as in Algorithm 1 or with MacQueen's count."""
    points = X[:k].copy()
    n = np.ones(k)
    found = np.empty(len(X), dtype=int)
    for t, x in enumerate(X):
        found[t] = t if t < k else np.argmin(((points - x) ** 2).sum(axis=1))
        if t >= k:
            p = found[t]
            points[p] += (x - points[p]) / (n[p] if paper else n[p] + 1.0)
            n[p] += 1.0
    return found


def stacked(X: np.ndarray, prototype: np.ndarray, k: int, lam: float) -> np.ndarray:
    """Return the rows of eq. (14): ``x / sqrt(lam)``, then x in the place of its prototype."""
    rows, d = X.shape
    tilde = np.zeros((rows, (k + 1) * d))
    tilde[:, :d] = X / np.sqrt(lam)
    for t, p in enumerate(prototype):
        tilde[t, (p + 1) * d : (p + 2) * d] = X[t]
    return tilde


@settings(max_examples=60)
@given(
    seed=SEEDS,
    classes=st.integers(2, 4),
    k=st.integers(1, 9),
    lam=st.sampled_from([0.05, 1.0, 7.0]),
    C=st.sampled_from([0.02, 1.0, None]),
    paper=st.booleans(),
    multiclass=st.sampled_from(["ova", "max-score"]),
    sparse=st.booleans(),
)
def test_lol_is_pa_on_stacked_rows(
    seed: int,
    classes: int,
    k: int,
    lam: float,
    C: float | None,
    paper: bool,
    multiclass: str,
    sparse: bool,
) -> None:
    """Eqs. (14)-(19): PA-I (PA where C never binds) on x~ has the weights w~ = [sqrt(lam) w, u_1, ..., u_k]."""
    chunk = stream(seed, classes)
    X = np.asarray(chunk.X)
    d = chunk.columns
    tilde: Rows = stacked(X, assignments(X, k, paper), k, lam)
    pa: Learner = (
        PA(multiclass=multiclass) if C is None else PA1(C=C, multiclass=multiclass)
    )
    expected = begun(pa, (k + 1) * d, classes).learn(
        to_csr(tilde) if sparse else tilde, chunk.y
    )
    rule = "paper" if paper else "macqueen"
    lol = LOL(
        k=k, lam=lam, C=1e9 if C is None else C, multiclass=multiclass, count_rule=rule
    )
    scores = begun(lol, d, classes).learn(to_csr(X) if sparse else X, chunk.y)
    assert mistakes(scores, chunk.y) == mistakes(expected, chunk.y)
    blocks = pa.state_["W"].reshape(k + 1, d, -1)
    np.testing.assert_allclose(
        lol.state_["W"] * np.sqrt(lam), blocks[0], rtol=0.0, atol=1e-10
    )
    np.testing.assert_allclose(lol.state_["U"], blocks[1:], rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("multiclass", ["ova", "max-score"])
@settings(max_examples=40)
@given(
    seed=SEEDS,
    classes=st.integers(2, 4),
    lam=st.sampled_from([0.05, 1.0, 7.0]),
    C=st.sampled_from([0.02, 1.0, 1e9]),
)
def test_with_one_prototype_lol_is_pa(
    multiclass: str, seed: int, classes: int, lam: float, C: float
) -> None:
    """With k = 1, u = lam w, and w + u moves as PA-I with C (1 + 1/lam) does, whatever lam; I-LOL as PA-I with C."""
    chunk = stream(seed, classes)
    for local, C_of_pa in (
        (LOL(k=1, lam=lam, C=C), C * (1.0 + 1.0 / lam)),
        (ILOL(k=1, C=C), C),
    ):
        local.set_params(multiclass=multiclass)
        pa = PA1(C=C_of_pa, multiclass=multiclass)
        expected = begun(pa, chunk.columns, classes).learn(chunk.X, chunk.y)
        scores = begun(local, chunk.columns, classes).learn(chunk.X, chunk.y)
        assert mistakes(scores, chunk.y) == mistakes(expected, chunk.y)
        both = local.state_["U"][0] + (
            local.state_["W"] if isinstance(local, LOL) else 0.0
        )
        np.testing.assert_allclose(both, pa.state_["W"], rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("C", [0.05, 1e9])
@pytest.mark.parametrize("seed", range(3))
def test_frozen_local_hyperplanes_leave_pa(seed: int, C: float) -> None:
    """Eq. (22): with every u_i kept at 0, LOL is PA. As lam goes to 0 (with C lam for C) it gets there, linearly in lam."""
    chunk = stream(seed)
    pa = PA1(C=C)
    begun(pa, chunk.columns, 2).learn(chunk.X, chunk.y)
    far = []
    for lam in (1e-4, 1e-6, 1e-8):
        lol = LOL(k=5, lam=lam, C=C * lam)
        begun(lol, chunk.columns, 2).learn(chunk.X, chunk.y)
        assert np.abs(lol.state_["U"]).max() < 100.0 * lam
        far.append(np.abs(lol.state_["W"] - pa.state_["W"]).max())
    assert far[2] < 1e-5
    assert far[1] < far[0] / 30.0
    assert far[2] < far[1] / 30.0


@pytest.mark.parametrize("seed", range(3))
def test_a_heavy_common_hyperplane_leaves_ilol(seed: int) -> None:
    """Eq. (13): as lam grows the common hyperplane stays at 0 and each prototype learns by itself."""
    chunk = stream(seed, classes=3)
    lol = LOL(k=5, lam=1e14)
    ilol = ILOL(k=5)
    for learner in (lol, ilol):
        begun(learner, chunk.columns, 3).learn(chunk.X, chunk.y)
    np.testing.assert_allclose(lol.state_["U"], ilol.state_["U"], rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("kind", [PAMO1, PAMO2])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@settings(max_examples=30)
@given(
    seed=SEEDS,
    classes=st.integers(2, 4),
    h=st.sampled_from([1, 3, 8, 64]),
    k=st.integers(1, 4),
    C=st.sampled_from([0.1, 1.0, 1e9]),
)
def test_pamo_with_alpha_0_is_pa_on_the_fixed_random_projection(
    kind: type[PAMO1], sparse: bool, seed: int, classes: int, h: int, k: int, C: float
) -> None:
    """Section 3: "a projection using the initial weights and a standard PA over it, that is modifying only w"."""
    chunk = stream(seed, classes)
    X = np.asarray(chunk.X)
    pamo = kind(h=h, k=k, C=C, alpha=0.0, seed=seed % 1000)
    begun(pamo, chunk.columns, classes)
    start = pamo.state()
    scores = pamo.learn(to_csr(X) if sparse else X, chunk.y)
    np.testing.assert_array_equal(pamo.state_["theta"], start["theta"])
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    outputs = len(start["W"])
    products = (unit @ start["theta"]).reshape(len(X), outputs, h, k)
    Z = products.max(axis=3)
    Z /= np.linalg.norm(Z, axis=2, keepdims=True)
    for c in range(outputs):
        target = chunk.y if outputs == 1 else (chunk.y == c).astype(np.int64)
        pa = PA1(C=C)
        begun(pa, h, 2)
        pa.restore({**pa.state(), "W": np.ascontiguousarray(start["W"][c][:, None])})
        expected = pa.learn(np.ascontiguousarray(Z[:, c]), target)
        np.testing.assert_allclose(scores[:, c], expected[:, 0], rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(
            pamo.state_["W"][c], pa.state_["W"][:, 0], rtol=0.0, atol=1e-10
        )
