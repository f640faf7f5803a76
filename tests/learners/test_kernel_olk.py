"""OLK against plain numpy, and what its threshold does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.learners.kernel.olk import OLK
from tests.learners.kernel_oracle import FORMS, Oracle, assert_equal_to_oracle, clusters


def _update(C: float, r: float, threshold: float):  # type: ignore[no-untyped-def]
    def update(
        model: Oracle,
        x: np.ndarray,
        target: np.ndarray,
        margin: np.ndarray,
        wrong: np.ndarray,
    ) -> None:
        del wrong
        a = np.clip((1 + r - margin) / (2 if model.pair else 1), 0, C) * np.abs(target)
        model.scale(1 / (1 + r))
        if a.any():
            model.keep(x, target * a / (1 + r))
        kept = [
            i for i, alpha in enumerate(model.alpha) if np.abs(alpha).max() >= threshold
        ]
        model.vectors = [model.vectors[i] for i in kept]
        model.alpha = [model.alpha[i] for i in kept]

    return update


@pytest.mark.parametrize(("classes", "multiclass"), FORMS)
@pytest.mark.parametrize(
    ("C", "r", "threshold"),
    [(1.0, 0.0, 0.0), (0.8, 0.02, 0.0), (0.7, 0.05, 0.1), (5.0, 20.0, 0.0)],
)
def test_scores_are_those_of_the_plain_update(
    C: float, r: float, threshold: float, classes: int, multiclass: str
) -> None:
    params = {"C": C, "r": r, "threshold": threshold}
    assert_equal_to_oracle("olk", params, _update(C, r, threshold), classes, multiclass)


@given(st.floats(0.01, 10), st.floats(0.05, 5))
def test_without_regularisation_and_threshold_every_coefficient_stays(
    C: float, gamma: float
) -> None:
    """That which a row comes in with is there at the end."""
    X, y = clusters(2, rows=40)
    learner = OLK(C=C, r=0.0, gamma=gamma)
    learner.begin(4, 2)
    came = []
    for i in range(len(y)):
        before = int(learner.state_["counts"][0])
        f = float(learner.learn(X[i : i + 1], y[i : i + 1])[0, 0])
        sign = 2 * y[i] - 1
        if int(learner.state_["counts"][0]) > before:
            came.append(sign * min(C, max(0.0, 1 - sign * f)))
    assert learner.state_["scale"][0] == 1.0
    assert learner.state_["alpha"][: len(came), 0].tolist() == came


@given(st.floats(0.01, 0.5), st.floats(0.01, 0.2))
def test_no_coefficient_is_less_than_the_threshold(r: float, threshold: float) -> None:
    X, y = clusters(2, rows=80)
    learner = OLK(C=1.0, r=r, threshold=threshold, gamma=0.5)
    learner.begin(4, 2)
    for i in range(len(y)):
        learner.learn(X[i : i + 1], y[i : i + 1])
        count = int(learner.state_["counts"][0])
        alpha = learner.state_["alpha"] * learner.state_["scale"]
        assert (np.abs(alpha[:count]) >= threshold).all()
        assert count <= np.log(1.0 / threshold) / np.log(1.0 + r) + 1
