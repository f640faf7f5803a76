"""The kernel perceptron and gradient descent with kernels, against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.errors import ParameterError
from olscale.learners.kernel import kernel_learner
from olscale.learners.kernel.kernel_perceptron import KernelPerceptron
from olscale.learners.registry import make_learner
from tests.learners.kernel_oracle import FORMS, Oracle, assert_equal_to_oracle, clusters


@pytest.mark.parametrize(("classes", "multiclass"), FORMS)
@pytest.mark.parametrize(
    ("name", "eta"), [("kernel-perceptron", 1.0), ("ogd-kernel", 0.4)]
)
def test_scores_are_those_of_the_plain_update(
    name: str, eta: float, classes: int, multiclass: str
) -> None:
    def update(
        model: Oracle,
        x: np.ndarray,
        target: np.ndarray,
        margin: np.ndarray,
        wrong: np.ndarray,
    ) -> None:
        fault = (wrong if name == "kernel-perceptron" else margin < 1) & (target != 0)
        if fault.any():
            model.keep(x, eta * target * fault)

    params = {} if name == "kernel-perceptron" else {"eta": eta}
    learner, oracle = assert_equal_to_oracle(name, params, update, classes, multiclass)
    assert learner.measures()["updates"] == len(oracle.vectors)


@pytest.mark.parametrize(("classes", "multiclass"), FORMS)
@pytest.mark.parametrize(
    ("name", "linear"), [("kernel-perceptron", "perceptron"), ("olk", "pa1")]
)
def test_a_linear_kernel_gives_the_linear_learner(
    name: str, linear: str, classes: int, multiclass: str
) -> None:
    """OLK without regularisation is PA-I."""
    X, y = clusters(classes)
    scores = []
    norms = []
    regular = {"r": 0.0} if name == "olk" else {}
    for learner in (
        make_learner(name, {"kernel": "linear", **regular}),
        make_learner(linear, {}),
    ):
        learner.set_params(multiclass=multiclass)
        learner.begin(4, classes)
        scores.append(learner.learn(X, y))
        norms.append(learner.measures()["norm_w"])
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-9, atol=1e-11)
    assert norms[0] == pytest.approx(norms[1], rel=1e-9)


def test_a_stream_that_needs_more_vectors_than_allowed_ends_with_a_message() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = (X.prod(axis=1) > 0).astype(np.int64)
    learner = KernelPerceptron(capacity=8)
    learner.begin(3, 2)
    with pytest.raises(
        ParameterError,
        match="9 support vectors, more than its parameter capacity allows",
    ):
        learner.learn(X, y)


def test_rows_that_need_no_room_are_learned_at_the_capacity() -> None:
    X = np.tile([[0.0], [9.0]], (20, 1))
    y = np.tile([0, 1], 20)
    learner = KernelPerceptron(capacity=2, gamma=0.1)
    learner.begin(1, 2)
    learner.learn(X, y)
    assert (learner.measures()["support_vectors"], int(learner.state_["seen"][0])) == (
        2,
        40,
    )


def test_the_norm_of_many_vectors_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = clusters(2)
    learner = KernelPerceptron(gamma=0.3)
    learner.begin(4, 2)
    learner.learn(X, y)
    count = int(learner.measures()["support_vectors"])
    monkeypatch.setattr(kernel_learner, "MOST_VECTORS", count)
    assert "norm_w" in learner.measures()
    monkeypatch.setattr(kernel_learner, "MOST_VECTORS", count - 1)
    assert "norm_w" not in learner.measures()
