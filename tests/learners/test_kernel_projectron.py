"""Projectron and Projectron++ against published figures and against projections by `numpy.linalg.solve`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from olscale.errors import ParameterError
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import make_learner
from tests.learners.exact import WIDTH, exact_rows, noted, params_of, rows_of_file
from tests.learners.kernel_oracle import gaussian, is_close_call, rkhs_norm, vectors

NAMES = ("projectron", "projectron++")


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(r, id="-".join(list(r.values())[:4]))
        for r in exact_rows(*NAMES, noting="sum alpha")
    ],
)
def test_exact(row: dict[str, str]) -> None:
    X, y = rows_of_file(row["dataset"], row["order"])
    params: dict[str, Any] = params_of(row)
    form = "budget" if row["variant"].startswith("budget") else "true"
    learner = make_learner(row["learner"], {**params, "form": form})
    learner.begin(WIDTH[row["dataset"]], 2)
    scores = learner.learn(X, y)
    assert int((codes_of(scores) != y).sum()) == int(row["mistakes"])
    S, alpha = vectors(learner)
    assert len(S) == noted(row, "SV")
    assert scores.sum() == pytest.approx(noted(row, "sum of scores"), rel=1e-7)
    assert rkhs_norm(learner, params["gamma"]) == pytest.approx(
        float(row["norm_w"]), rel=1e-8
    )
    # Coefficients lose the digits that near vectors leave; norms and scores do not.
    tolerance = 1e-9 if noted(row, "smallest delta") > 1e-3 else 1e-4
    assert alpha.sum() == pytest.approx(noted(row, "sum alpha"), rel=tolerance)
    assert (alpha**2).sum() == pytest.approx(noted(row, "sum alpha^2"), rel=tolerance)


class Oracle:
    """Both learners, all forms and several classes by lists and linear solves."""

    def __init__(self, params: dict[str, Any], plus: bool, outputs: int) -> None:
        self.B = params["B"] if params["form"] == "budget" else None
        self.eta = params.get("eta") or (0.1 if self.B is None else 0.0)
        self.gamma = params["gamma"]
        self.pair = params["multiclass"] == "max-score" and outputs > 1
        self.plus = plus
        self.S = np.empty((0, 0))
        self.A = np.zeros((0, outputs))
        self.close = False

    def learn(self, x: np.ndarray, label: int) -> np.ndarray:
        self.S = self.S.reshape(len(self.S), len(x))
        k = gaussian(x[None], self.S, self.gamma)[0]
        f = k @ self.A
        target, margin, wrong = self.aim(f, label)
        self.close |= (
            is_close_call(margin, 0)
            | is_close_call(margin, 1)
            | (self.pair and is_close_call(f, max(f)))
        )
        lost = wrong if self.B is not None else (target != 0) & (margin <= 0)
        near = self.plus & (target != 0) & ~lost & (margin > 0) & (margin < 1)
        if not (lost | near).any():
            return f
        c = np.linalg.solve(gaussian(self.S, self.S, self.gamma), k) if len(k) else k
        delta = max(0.0, 1.0 - k @ c)
        adds = lost.any() and delta > max(self.eta, 1e-8) and len(k) != self.B
        step = np.where(near, self.partial(1 - margin, delta), 0.0) + (
            0.0 if adds else lost
        )
        self.A = self.A + np.outer(c, step * target)
        if adds:
            self.S, self.A = np.vstack([self.S, x]), np.vstack([self.A, lost * target])
        return f

    def aim(
        self, f: np.ndarray, label: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self.pair:
            rival = max((c for c in range(len(f)) if c != label), key=lambda c: f[c])
            target = np.zeros(len(f))
            target[[label, rival]] = 1, -1
            return (
                target,
                (f[label] - f[rival]) * abs(target),
                (np.argmax(f) != label) & (target != 0),
            )
        target = (
            np.where(np.arange(len(f)) == label, 1.0, -1.0)
            if len(f) > 1
            else np.array([2.0 * label - 1])
        )
        return target, target * f, np.where(f >= 0, 1.0, -1.0) != target

    def partial(self, loss: np.ndarray, delta: float) -> np.ndarray:
        parts = 2 if self.pair else 1
        q = parts * (1 - delta)
        if q <= 0:
            return np.zeros(len(loss))
        tau = np.minimum(loss / q, 1)
        if self.B is None:
            return np.maximum(0, np.minimum(tau, 2 * (loss - delta / self.eta) / q))
        U = np.sqrt((self.B + 1) / np.log(self.B + 1)) / 4
        return np.where(2 * loss - tau * q >= 2 * U * np.sqrt(parts * delta), tau, 0)


def stream(seed: int, classes: int, rows: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a few clusters, some of them twice, some of zeros only."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    X = rng.normal(size=(classes, 5))[y] + rng.normal(size=(rows, 5))
    X[rng.random(rows) < 0.05] = 0.0
    again = np.flatnonzero(rng.random(rows) < 0.1)
    X[again] = X[again // 2]
    return X, y


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    name=st.sampled_from(NAMES),
    form=st.sampled_from(
        [("true", None), ("true", 0.3), ("budget", None), ("budget", 1e-3)]
    ),
    classes=st.sampled_from([(2, "ova"), (4, "ova"), (4, "max-score")]),
    gamma=st.sampled_from([0.05, 0.5, 3.0]),
)
def test_learns_as_projections_by_linear_solves_do(
    seed: int,
    name: str,
    form: tuple[str, float | None],
    classes: tuple[int, str],
    gamma: float,
) -> None:
    X, y = stream(seed, classes[0])
    params: dict[str, Any] = {
        "form": form[0],
        "eta": form[1],
        "B": 12,
        "gamma": gamma,
        "multiclass": classes[1],
    }
    learner = make_learner(name, params)
    learner.begin(X.shape[1], classes[0])
    scores = learner.learn(X, y)
    oracle = Oracle(params, name == "projectron++", scores.shape[1])
    expected = [oracle.learn(*row) for row in zip(X, y, strict=True)]
    assume(not oracle.close)
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6)
    S, alpha = vectors(learner)
    np.testing.assert_array_equal(S, oracle.S)
    np.testing.assert_allclose(alpha, oracle.A, rtol=1e-6, atol=1e-6)
    if form[0] == "budget":
        assert len(S) <= 12
    inverse = learner.state_["matrix"][: len(S), : len(S)]
    K = gaussian(S, S, gamma)
    np.testing.assert_array_equal(inverse, inverse.T)
    assert abs(inverse @ K - np.eye(len(S))).max() <= 1e-13 * np.linalg.cond(K)


def test_more_vectors_than_the_first_slots() -> None:
    """The inverse grows with the slots, and keeps its bits when rows come one by one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    y = rng.integers(0, 2, 300)
    whole, parts = (make_learner("projectron", {"gamma": 1.0}) for _ in range(2))
    for learner in (whole, parts):
        learner.begin(8, 2)
    scores = whole.learn(X, y)
    np.testing.assert_array_equal(
        np.concatenate([parts.learn(X[i : i + 1], y[i : i + 1]) for i in range(300)]),
        scores,
    )
    np.testing.assert_array_equal(whole.state_["matrix"], parts.state_["matrix"])
    assert len(vectors(whole)[0]) > 64


def test_a_budget_whose_matrix_does_not_fit_is_refused_with_the_figure() -> None:
    learner = make_learner("projectron", {"form": "budget", "B": 2_000_000})
    with pytest.raises(
        ParameterError, match=r"2,000,001 support vectors needs .* TB, this machine has"
    ):
        learner.begin(4, 2)


def test_more_vectors_than_the_capacity_end_learning() -> None:
    learner = make_learner("projectron", {"capacity": 4, "gamma": 1e4})
    learner.begin(3, 2)
    with pytest.raises(ParameterError, match="capacity"):
        learner.learn(np.random.default_rng(1).normal(size=(50, 3)), np.arange(50) % 2)
