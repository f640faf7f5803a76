"""BSGD against published figures, and against maintenance by brute force."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import random as sparse_random

from olscale.compiled.csr import read_only, to_csr
from olscale.errors import ParameterError
from olscale.learners.contract.estimator import to_rows
from olscale.learners.contract.learner import codes_of
from olscale.learners.kernel.bsgd import BSGD, MAINTENANCE
from olscale.learners.kernel.budget_maintenance import (
    merge_lightest,
    project_lightest,
    remove_lightest,
)
from olscale.learners.kernel.kernel_model import KernelRow
from tests.learners.exact import WIDTH, exact_rows, noted, params_of, rows_of_file
from tests.learners.kernel_oracle import gaussian, is_close_call, rkhs_norm, vectors

WAYS = tuple(map(numba.njit, (remove_lightest, project_lightest, merge_lightest)))


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id="-".join(list(row.values())[:4]))
        for row in exact_rows("bsgd", noting="sum alpha")
    ],
)
def test_exact(row: dict[str, str]) -> None:
    X, y = rows_of_file(row["dataset"], row["order"])
    params: dict[str, Any] = params_of(row)
    maintenance = next(word for word in MAINTENANCE if row["variant"].startswith(word))
    learner = BSGD(**params, maintenance=maintenance)
    learner.begin(WIDTH[row["dataset"]], 2)
    scores = learner.learn(X, y)
    assert int((codes_of(scores) != y).sum()) == int(row["mistakes"])
    assert learner.measures()["updates"] == noted(row, "updates")
    tolerance = 1e-6 if maintenance == "merging" else 1e-9
    assert scores.sum() == pytest.approx(noted(row, "sum of scores"), rel=tolerance)
    _, alpha = vectors(learner)
    assert (
        alpha.sum() == pytest.approx(noted(row, "sum alpha"), rel=tolerance)
        or maintenance == "removal"
    )
    assert rkhs_norm(learner, params["gamma"]) == pytest.approx(
        float(row["norm_w"]), rel=tolerance
    )


def lost_by_merging(
    A: np.ndarray, C: np.ndarray, D: np.ndarray, d2: np.ndarray, gamma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return what is lost and h, by a grid over all of [0, 1] that narrows around its best point."""
    low = np.zeros(len(D))
    high = np.ones(len(D))
    for _ in range(12):
        h = low + (high - low) * np.linspace(0, 1, 41)[:, None]
        p = np.exp(-gamma * d2 * (1 - h) ** 2)
        q = np.exp(-gamma * d2 * h**2)
        gain = A * p**2 + 2 * D * p * q + C * q**2
        best = gain.argmax(axis=0)
        at = h[best, np.arange(len(D))]
        width = (high - low) / 40
        low = np.maximum(0, at - width)
        high = np.minimum(1, at + width)
    return A + C + 2 * D * np.exp(-gamma * d2) - gain.max(axis=0), at


class Oracle:
    """BSGD by lists in order of age, with a shrink pass, solves and grids."""

    def __init__(self, params: dict[str, Any], outputs: int) -> None:
        self.lam, self.B, self.gamma, self.how = (
            params[name] for name in ("lam", "B", "gamma", "maintenance")
        )
        self.pair = outputs > 1 and params["multiclass"] == "max-score"
        self.S = np.empty((0, 5))
        self.A = np.zeros((0, outputs))
        self.t = 0
        self.close = False

    def learn(self, x: np.ndarray, label: int) -> np.ndarray:
        self.t += 1
        f = gaussian(x[None], self.S, self.gamma)[0] @ self.A
        if self.pair:
            rival = max((c for c in range(len(f)) if c != label), key=lambda c: f[c])
            target = np.zeros(len(f))
            target[[label, rival]] = 1, -1
            self.close |= is_close_call(
                f[[c for c in range(len(f)) if c != label]], f[rival]
            )
            lost = f[label] - f[rival] < 1
        else:
            target = (
                np.where(np.arange(len(f)) == label, 1.0, -1.0)
                if len(f) > 1
                else np.array([2.0 * label - 1])
            )
            lost = target * f < 1
        self.close |= is_close_call(f[label] - f[rival] if self.pair else target * f, 1)
        self.A = self.A * (1 - 1 / self.t)
        if np.any(lost):
            self.S, self.A = (
                np.vstack([self.S, x]),
                np.vstack([self.A, lost * target / (self.lam * self.t)]),
            )
            if self.how == "projection":
                K = gaussian(self.S, self.S, self.gamma)
                c = np.linalg.solve(K[:-1, :-1], K[:-1, -1])
                if 1 - K[-1, :-1] @ c < 1e-8:
                    self.S, self.A = self.S[:-1], self.A[:-1] + np.outer(c, self.A[-1])
            if len(self.S) > self.B:
                getattr(self, self.how)()
        return f

    def without(self, s: int) -> None:
        self.S, self.A = np.delete(self.S, s, 0), np.delete(self.A, s, 0)

    def cosine(self, s: int, b: int) -> float:
        return float(
            self.A[s]
            @ self.A[b]
            / np.sqrt((self.A[s] @ self.A[s]) * (self.A[b] @ self.A[b]))
        )

    def lightest(self) -> int:
        weights = np.round((self.A**2).sum(axis=1) * (self.lam * self.t) ** 2, 12)
        self.close |= is_close_call(weights, weights.min())
        return int(weights.argmin())

    def removal(self) -> None:
        self.without(self.lightest())

    def projection(self) -> None:
        K = gaussian(self.S, self.S, self.gamma)
        lost = []
        for s in range(len(self.S)):
            rest = np.delete(np.arange(len(self.S)), s)
            c = np.linalg.solve(K[np.ix_(rest, rest)], K[rest, s])
            lost.append((self.A[s] @ self.A[s] * (1 - K[s, rest] @ c), s, rest, c))
        least, s, rest, c = min(lost, key=lambda one: one[0])
        self.close |= is_close_call(np.array([one[0] for one in lost]) / least, 1)
        self.A[rest] += np.outer(c, self.A[s])
        self.without(s)

    def merging(self) -> None:
        b = self.lightest()
        others = np.array(
            [s for s in range(len(self.S)) if s != b and self.cosine(s, b) > 1e-6], int
        )
        if len(others):
            d2 = ((self.S[others] - self.S[b]) ** 2).sum(axis=1)
            A = self.A[b] @ self.A[b]
            C = (self.A[others] ** 2).sum(axis=1)
            lost, h = lost_by_merging(
                np.full(len(d2), A), C, self.A[others] @ self.A[b], d2, self.gamma
            )
            i = int(lost.argmin())
            one = int(others[lost.argmin()])
            self.close |= is_close_call(lost / A, lost[i] / A) | is_close_call(
                np.sqrt(C / A), 1
            )
            # either is the lighter one; the middle is found to half the digits
            if abs(C[i] - A) < 1e-9 * A:
                h[i] = min(h[i], 1 - h[i]) if abs(h[i] - 0.5) > 1e-6 else 0.5
            g = self.gamma * d2[i]
            self.A[one] = self.A[b] * np.exp(-g * (1 - h[i]) ** 2) + self.A[
                one
            ] * np.exp(-g * h[i] ** 2)
            self.S[one] = h[i] * self.S[b] + (1 - h[i]) * self.S[one]
        self.without(b)


def stream(seed: int, classes: int, rows: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    X = rng.normal(size=(classes, 5))[y] + rng.normal(size=(rows, 5))
    X[rng.random(X.shape) < 0.3] = 0.0
    return read_only(X), read_only(y)


KINDS = st.sampled_from([(2, "ova"), (3, "ova"), (4, "max-score")])


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    maintenance=st.sampled_from(MAINTENANCE),
    kind=KINDS,
    gamma=st.sampled_from([0.02, 0.2]),
    lam=st.sampled_from([0.003, 0.1]),
    B=st.sampled_from([2, 7]),
)
def test_learns_as_brute_force_does(
    seed: int, maintenance: str, kind: tuple[int, str], gamma: float, lam: float, B: int
) -> None:
    (X, y), params = stream(seed, kind[0]), {"lam": lam, "B": B, "gamma": gamma}
    params |= {"maintenance": maintenance, "multiclass": kind[1]}
    whole, parts = (BSGD(**params) for _ in range(2))
    for learner in (whole, parts):
        learner.begin(5, kind[0])
    scores = whole.learn(X, y)
    oracle = Oracle(params, scores.shape[1])
    expected = [oracle.learn(*row) for row in zip(X, y, strict=True)]
    assume(not oracle.close)
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)
    S, _ = vectors(whole)
    assert len(S) <= B
    assert rkhs_norm(whole, gamma) == pytest.approx(
        np.sqrt(np.sum(oracle.A * (gaussian(oracle.S, oracle.S, gamma) @ oracle.A))),
        rel=1e-5,
    )
    if maintenance == "projection":
        inverse = whole.state_["matrix"][: len(S), : len(S)]
        K = gaussian(S, S, gamma)
        # Besides what is added to the diagonal: the error that a hundred rows leave.
        assert abs(inverse @ K - np.eye(len(S))).max() <= 1e-9 * np.linalg.cond(K)
    in_parts = [
        parts.learn(to_csr(X[i : i + 7]), y[i : i + 7]) for i in range(0, len(y), 7)
    ]
    np.testing.assert_array_equal(np.concatenate(in_parts), scores)
    for name, array in parts.state().items():
        np.testing.assert_array_equal(array, whole.state_[name])


@pytest.mark.parametrize("maintenance", MAINTENANCE)
def test_a_budget_of_more_slots_than_a_block_has(maintenance: str) -> None:
    X, y = stream(3, 2, rows=110)
    params = {"lam": 0.3, "B": 70, "gamma": 0.2, "maintenance": maintenance}
    learner = BSGD(**params)
    oracle = Oracle({**params, "multiclass": "ova"}, 1)
    learner.begin(5, 2)
    scores = learner.learn(X, y)
    np.testing.assert_allclose(
        scores,
        [oracle.learn(*row) for row in zip(X, y, strict=True)],
        rtol=1e-5,
        atol=1e-5,
    )
    assert learner.measures()["updates"] > 75


def crowded(seed: int, classes: int) -> tuple[BSGD, KernelRow]:
    """Return a learner whose vectors, of many weights, are one too many, and space to work in."""
    X, y = stream(seed, classes)
    learner = BSGD(lam=0.01, B=8, gamma=0.1)
    learner.begin(5, classes)
    learner.learn(X, y)
    S, _ = vectors(learner)
    learner.state_["matrix"] = np.zeros((64, 64))
    learner.state_["matrix"][:8, :8] = np.linalg.inv(gaussian(S, S, 0.1))
    learner.state_["alpha"][8:] = 0.0
    numbers = np.zeros(64)
    space = (np.zeros(64, np.int32), np.zeros(64), np.zeros(64), np.zeros(64))
    wrong = np.zeros(1, np.bool_)
    return learner, KernelRow(
        to_csr(X),
        0,
        1,
        1.0,
        1.0,
        False,
        numbers,
        numbers,
        numbers,
        wrong,
        numbers,
        *space,
        1.0,
    )


def lost(learner: BSGD, row: KernelRow, maintain: Any) -> float:
    """Return the squared norm of what `maintain` changes of the model, with the scale left out."""
    S, alpha = vectors(learner)
    maintain(learner._model(), row)
    T, beta = vectors(learner)
    assert len(T) == len(S) - 1
    both = np.vstack([S, T])
    change = np.vstack([alpha, -beta]) / learner.state_["scale"]
    return float(np.sum(change * (gaussian(both, both, 0.1) @ change)))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), classes=st.sampled_from([2, 4]))
def test_neither_projection_nor_merging_loses_more_than_removal(
    seed: int, classes: int
) -> None:
    """At the same state; and projection is the least squares solution of the best victim."""
    removed, projected, merged = (
        lost(*crowded(seed, classes), maintain) for maintain in WAYS
    )
    assert projected <= removed * (1 + 1e-9)
    assert merged <= removed * (1 + 1e-9)
    learner, _ = crowded(seed, classes)
    S, alpha = vectors(learner)
    alpha = alpha / learner.state_["scale"]
    K = gaussian(S, S, 0.1)
    least = min(alpha[s] @ alpha[s] / np.linalg.inv(K)[s, s] for s in range(8))
    assert projected == pytest.approx(least, rel=1e-6, abs=1e-9)


def test_merging_is_for_the_gaussian_kernel() -> None:
    with pytest.raises(
        ParameterError, match="maintenance = 'merging', expected 'gaussian'"
    ):
        BSGD(kernel="linear").begin(3, 2)


def test_vectors_of_one_class_only_have_a_partner_and_one_alone_is_dropped() -> None:
    """The lightest vector is the only one of its class: it is removed."""
    X = read_only(np.array([[0.0], [3.0], [6.0], [9.0]]))
    learner = BSGD(lam=10.0, B=3, gamma=1.0)
    learner.begin(1, 2)
    learner.learn(X, read_only(np.array([0, 1, 1, 1])))
    S, alpha = vectors(learner)
    assert set(S[:, 0]) == {3.0, 6.0, 9.0}
    assert (alpha > 0).all()


def test_merged_vectors_of_wide_sparse_rows_stay_sparse() -> None:
    """Of a million features those have a place that some vector has; faint entries of merged vectors give theirs back."""
    rng = np.random.default_rng(0)
    X = sparse_random(400, 1_000_000, density=2e-5, format="csr", random_state=rng)
    learner = BSGD(lam=0.001, B=10, gamma=0.05)
    learner.begin(1_000_000, 2)
    learner.learn(to_rows(X), read_only((np.arange(400) % 2).astype(np.int64)))
    state = learner.state_
    held = state["feature"] >= 0
    places = state["values"].shape[1]
    assert held.sum() == state["counts"][1] == (state["place"] >= 0).sum()
    np.testing.assert_array_equal(
        state["holders"], (state["values"] != 0).sum(axis=(0, 2))
    )
    np.testing.assert_array_equal(held, state["holders"] > 0)
    assert set(state["free"][state["counts"][1] :]) == set(np.flatnonzero(~held))
    assert places < 10_000
