"""Settings of a kernel learner in one pass: the bits of each alone, also where they go on alone, and one that fails."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from olscale.compiled.csr import read_only
from olscale.learners.contract.fused_settings import fuse, grid_key, group_fusible
from olscale.learners.contract.learner import Learner
from olscale.learners.registry import make_learner

ETAS = (0.01, 0.1, 0.3, 0.9)


def stream(rows: int, columns: int) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.6)
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=rows) > 0).astype(np.int64)
    return read_only(X), read_only(y)


def begin(
    settings: list[dict[str, Any]], columns: int, name: str = "norma"
) -> list[Learner]:
    learners = [make_learner(name, setting) for setting in settings]
    for learner in learners:
        learner.begin(columns, 2)
    return learners


@pytest.mark.parametrize(
    ("name", "settings", "alone"),
    [
        ("norma", [{"eta": eta, "gamma": 0.05} for eta in ETAS], False),
        # products of few values cost little
        (
            "norma",
            [{"eta": 0.3, "gamma": gamma} for gamma in (0.05, 0.5)],
            True,
        ),
        (
            "norma",
            [{"eta": eta, "kernel": "laplacian", "gamma": 0.05} for eta in ETAS],
            False,
        ),
        # vectors leave in the middle
        (
            "olk",
            [{"C": C, "gamma": 0.05, "threshold": 0.02} for C in ETAS],
            None,
        ),
    ],
    ids=["shared", "widths", "laplacian", "dropped"],
)
def test_settings_have_the_bits_they_have_alone(
    name: str, settings: list[dict[str, Any]], alone: bool | None
) -> None:
    """Scores and state after each of some pieces; settings share, or go on alone, as their vectors are the same or not."""
    X, y = stream(900, 40)
    one = begin(settings, 40, name)
    together = begin(settings, 40, name)
    fused: Any = fuse(together)
    for part in (slice(0, 1), slice(1, 650), slice(650, 900)):
        for learner, scores in zip(one, fused.learn(X[part], y[part]), strict=True):
            np.testing.assert_array_equal(scores, learner.learn(X[part], y[part]))
    fused.release()
    for learner, other in zip(one, together, strict=True):
        assert learner.state_.keys() == other.state_.keys()
        for key, array in learner.state_.items():
            np.testing.assert_array_equal(other.state_[key], array, err_msg=key)
    assert alone is None or fused._alone == alone


def test_settings_go_on_from_where_each_is() -> None:
    """Of learners that have learned, nobody knows which vectors are the same: they go on alone, to the same bits."""
    X, y = stream(300, 12)
    settings = [{"eta": eta, "gamma": 0.05} for eta in ETAS]
    one = begin(settings, 12)
    together = begin(settings, 12)
    for learner in (*one, *together):
        learner.learn(X[:100], y[:100])
    for learner, scores in zip(
        one, fuse(together).learn(X[100:], y[100:]), strict=True
    ):
        np.testing.assert_array_equal(scores, learner.learn(X[100:], y[100:]))


def test_a_setting_that_keeps_too_much_ends_alone() -> None:
    """What one setting raises stands in place of its scores, in this piece and later ones; the others learn on."""
    X, y = stream(400, 12)
    settings = [
        {"eta": 0.1, "gamma": 0.05, "capacity": capacity} for capacity in (100, 10_000)
    ]
    (other,) = begin(settings[1:], 12)
    fused = fuse(begin(settings, 12))
    for part in (slice(0, 300), slice(300, 400)):
        failed, scores = fused.learn(X[part], y[part])
        assert isinstance(failed, Exception)
        assert "capacity" in str(failed)
        np.testing.assert_array_equal(scores, other.learn(X[part], y[part]))


def test_what_has_a_budget_or_a_matrix_runs_alone() -> None:
    """Most of its time goes to what each setting does for itself."""
    for name, params in (
        ("bpas", {}),
        ("norma", {"tau": 50}),
        ("projectron", {}),
        ("bsgd", {}),
    ):
        assert grid_key(make_learner(name, params)) is None, name
    learners = [make_learner("norma", {"eta": eta}) for eta in ETAS]
    assert group_fusible(
        [*learners, make_learner("norma", {"kernel": "laplacian"})]
    ) == [
        [0, 1, 2, 3],
        [4],
    ]
