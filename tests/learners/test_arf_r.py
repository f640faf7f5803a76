"""Adaptive random forests for targets: MOA's predictions, trees that are replaced, refused states."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from math import fsum
from typing import Any

import numpy as np
import pytest

from olscale.compiled.adwin import DEEPEST, WIDTH
from olscale.compiled.csr import read_only, to_csr
from olscale.compiled.java_random import java_random
from olscale.errors import ParameterError
from olscale.learners import AdaptiveRandomForestR
from olscale.learners.registry import make_learner
from olscale.learners.tree.forest_draws import draw_until_different
from tests.learners.cut_streams import alike_in_parts
from tests.learners.test_fimt_dd import ENTROPY, STREAMS, stream

ROWS = 3_000
SPARSE = {"rate": 2.0, "share": 0.3}
# A stream, parameters and MOA's, and the exact sum of the predictions of CapyMOA 0.15.1's MOA from
# the same seed; `test_predictions_are_those_of_moa` compares each prediction where MOA is there.
SUMS_OF_MOA: list[tuple[str, dict[str, Any], str, float]] = [
    ("steady", {}, "-s 5", 17250.09770256422),
    ("discrete", {}, "-s 5", 159369.68333999623),
    ("partly", {}, "-s 5", -158.3542942625046),
    ("drifts", SPARSE, "-s 5 -a 2 -m 30", 37961.49860545264),
    ("single", SPARSE, "-s 5 -a 2 -m 30", 38061.257026858715),
]


def begun(columns: int, **params: Any) -> AdaptiveRandomForestR:
    learner = AdaptiveRandomForestR(**{"trees": 5, **params})
    learner.begin(columns, 0, ENTROPY)
    return learner


def predictions(name: str, **params: Any) -> np.ndarray:
    X, y = stream(name, ROWS)
    return begun(X.shape[1], **params).learn(X, y)[:, 0]


@pytest.mark.parametrize(("name", "params", "options", "expected"), SUMS_OF_MOA)
def test_predictions_add_up_to_those_of_moa(
    name: str, params: dict[str, Any], options: str, expected: float
):
    assert fsum(predictions(name, **params)) == expected, options


def test_another_seed_draws_other_numbers():
    steady = predictions("steady")
    assert np.array_equal(steady, predictions("steady", seed=0))
    assert not np.array_equal(steady, predictions("steady", seed=1))


@pytest.mark.skipif(
    find_spec("capymoa") is None or shutil.which("java") is None,
    reason="needs Java and capymoa",
)
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize(
    ("params", "options"),
    [
        ({}, "-s 5"),
        (SPARSE, "-s 5 -a 2 -m 30"),
        (
            {"trees": 20, "warning": 0.1, "drift": 0.05},
            "-s 20 -x (ADWINChangeDetector -a 0.05) -p (ADWINChangeDetector -a 0.1)",
        ),
    ],
)
def test_predictions_are_those_of_moa(name: str, params: dict[str, Any], options: str):
    X, y = stream(name, ROWS)
    moa = make_learner(f"moa:meta.AdaptiveRandomForestRegressor {options}", {})
    moa.begin(X.shape[1], 0, ENTROPY)
    expected = moa.learn(X, y)[:, 0]
    np.testing.assert_array_equal(predictions(name, **params), expected)


def test_a_forest_is_the_same_for_any_cut_layout_and_after_a_checkpoint():
    X, y = stream("drifts", ROWS)
    forest = alike_in_parts(lambda: begun(5, **SPARSE), X, y, 317, to_csr)
    assert forest.measures()["replaced"] > 0.0
    assert forest.measures()["warnings"] > 0.0


def test_trees_that_are_full_learn_on():
    X, y = stream("steady", ROWS)
    learner = begun(5, max_leaves=4)
    scores = learner.learn(X, y)
    assert np.isfinite(scores).all()
    assert 1.0 < learner.measures()["leaves"] <= 4.0


def test_features_are_drawn_until_each_is_new():
    random = java_random(1)
    features = np.zeros(4, dtype=np.int32)
    drawn = set()
    for _ in range(50):
        draw_until_different(random, 6, features)
        assert (np.diff(features) > 0).all()
        drawn.update(features.tolist())
    assert drawn == set(range(6))


@pytest.mark.parametrize(
    ("array", "place", "value"),
    [
        ("features", (0, 0), 5),
        ("front", (0,), 1),
        ("front", (0,), -5),
        ("roots", (0,), 10**6),
        ("bucket_counts", (0, 0), 7),
        ("window_counts", (0, WIDTH), 10**6),
        ("window_counts", (0, DEEPEST), 31),
    ],
)
def test_arrays_with_which_a_row_would_leave_the_trees_are_refused(
    array: str, place: tuple[int, ...], value: int
):
    X, y = stream("steady", 500)
    learner = begun(5)
    learner.learn(X, y)
    state = learner.state()
    state[array][place] = value
    with pytest.raises(ValueError, match="no rows lead to its arrays"):
        begun(5).restore(state)


def test_unknown_targets_are_predicted_only():
    X, y = stream("steady", 500)
    hidden = read_only(np.where(np.arange(500) % 2 == 0, np.nan, y))
    learner = begun(5)
    learner.learn(X, hidden)
    others = begun(5)
    others.learn(read_only(X[1::2].copy()), read_only(y[1::2].copy()))
    np.testing.assert_array_equal(learner.scores(X), others.scores(X))


def test_values_beyond_the_memory_are_refused():
    with pytest.raises(ParameterError, match=r"100 trees .* fewer trees"):
        AdaptiveRandomForestR().begin(10**8, 0)
