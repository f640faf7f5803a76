"""NORMA against plain numpy, and what its truncation keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.errors import ParameterError
from olscale.learners.kernel.norma import NORMA
from tests.learners.kernel_oracle import FORMS, Oracle, assert_equal_to_oracle, clusters

SETTINGS: list[dict[str, Any]] = [
    {"eta": 0.3, "lam": 0.05},
    {"eta": 0.5, "lam": 0.1, "nu": 0.3, "power": 0.5, "bias": True},
    {"eta": 0.2, "lam": 0.0, "rho": 0.2, "tau": 7},
]


def _update(params: dict[str, Any], outputs: int):  # type: ignore[no-untyped-def]
    rho = np.full(outputs, params.get("rho", 1.0))

    def update(
        model: Oracle,
        x: np.ndarray,
        target: np.ndarray,
        margin: np.ndarray,
        wrong: np.ndarray,
    ) -> None:
        del wrong
        eta = params["eta"] / model.t ** params.get("power", 0.0)
        hit = (margin <= rho) & (target != 0)
        model.scale(1 - eta * params["lam"])
        if hit.any():
            model.keep(x, eta * target * hit)
        if params.get("bias"):
            model.offset += eta * target * hit
        if params.get("nu"):
            rho[:] += eta * (params["nu"] - (hit.any() if model.pair else hit))
        if len(model.vectors) > params.get("tau", np.inf):
            del model.vectors[0], model.alpha[0]

    return update


@pytest.mark.parametrize(("classes", "multiclass"), FORMS)
@pytest.mark.parametrize(
    "params", SETTINGS, ids=["fixed margin", "moving margin", "truncated"]
)
def test_scores_are_those_of_the_plain_update(
    params: dict[str, Any], classes: int, multiclass: str
) -> None:
    update = _update(params, 1 if classes == 2 else classes)
    assert_equal_to_oracle("norma", params, update, classes, multiclass)


@given(st.integers(1, 20), st.booleans())
def test_the_vectors_that_came_last_are_kept(tau: int, bias: bool) -> None:
    X, y = clusters(2, rows=60)
    learner = NORMA(tau=tau, bias=bias, gamma=0.5)
    learner.begin(4, 2)
    for i in range(len(y)):
        learner.learn(X[i : i + 1], y[i : i + 1])
        there, ever = learner.state_["counts"][[0, 2]]
        assert there == min(tau, ever)
        assert sorted(learner.state_["born"][:there]) == list(range(ever - there, ever))


def test_steps_that_turn_the_model_over_are_refused() -> None:
    with pytest.raises(ParameterError, match="eta lam was 2, expected less than 1"):
        NORMA(eta=4.0, lam=0.5).resolved_params()
