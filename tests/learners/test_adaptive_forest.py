"""Adaptive random forests: MOA's mistakes, trees that are replaced, and states that are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import read_only
from olscale.compiled.java_random import java_random
from olscale.errors import ParameterError
from olscale.learners import AdaptiveRandomForest
from olscale.learners.contract.learner import codes_of
from olscale.learners.tree.forest_draws import draw_features, draw_poisson
from tests.learners.cut_streams import alike_in_parts
from tests.learners.test_hoeffding_tree import electricity, stream

# A generator, its name in MOA 24.07, trees, and what this prints:
# java -cp moa.jar tests/learners/MoaMistakes.java STREAM
# "meta.AdaptiveRandomForest -s TREES" 5000 1826701615
# Last, how many fewer mistakes there are here, all on rows for which MOA's votes are no numbers.
MISTAKES_OF_MOA = [
    ("sea", "generators.SEAGenerator", 10, 610, 0),
    (
        "rbf:speed=0.001,classes=5",
        "generators.RandomRBFGeneratorDrift -s 0.001 -c 5",
        10,
        1_956,
        0,
    ),
    ("hyperplane", "generators.HyperplaneGenerator", 10, 1_025, 6),
    ("waveform", "generators.WaveformGenerator", 10, 929, 1),
    ("sine:function=3", "generators.SineGenerator -f 3", 100, 304, 3),
]
SEED = 1_826_701_615
# Parameters of the learner and of MOA's; MOA's mistakes on the 45,312 rows of electricity, of
# "ArffFileStream -f FILE", the file being that of `write_arff`, and how many fewer there are here.
SETTINGS: list[tuple[dict[str, Any], str, int, int]] = [
    ({}, "-s 5", 5_326, 3),
    (
        {"leaf": "mc", "share": 0.3, "rate": 1.0},
        "-s 5 -m 30 -a 1.0 -l (ARFHoeffdingTree -e 2000000 -g 50 -c 0.01 -l MC)",
        9_387,
        0,
    ),
    (
        {"leaf": "nb", "grace": 200, "confidence": 1e-7, "tie": 0.1},
        "-s 5 -l (ARFHoeffdingTree -e 2000000 -g 200 -c 1.0E-7 -t 0.1 -l NB)",
        5_098,
        2,
    ),
    (
        {"share": 1.0, "warning": 1e-4, "drift": 1e-5},
        "-s 5 -m 100 -x (ADWINChangeDetector -a 1.0E-5) -p (ADWINChangeDetector -a 1.0E-4)",
        4_857,
        4,
    ),
]
SMALL: dict[str, Any] = {"trees": 3, "grace": 20, "confidence": 0.2, "tie": 0.3}


def mistakes(X: np.ndarray, y: np.ndarray, **params: Any) -> int:
    learner = AdaptiveRandomForest(**params)
    learner.begin(X.shape[1], int(y.max()) + 1)
    assert learner.java_seed() == SEED
    scores = learner.learn(read_only(X), read_only(y))
    return int((codes_of(scores) != y).sum())


@pytest.mark.parametrize(("text", "name", "trees", "of_moa", "fewer"), MISTAKES_OF_MOA)
def test_mistakes_are_those_of_moa(
    text: str, name: str, trees: int, of_moa: int, fewer: int
):
    assert mistakes(*stream(text, 5_000), trees=trees) == of_moa - fewer, name


@pytest.mark.parametrize(("params", "options", "of_moa", "fewer"), SETTINGS)
def test_mistakes_of_settings_are_those_of_moa(
    params: dict[str, Any],
    options: str,
    of_moa: int,
    fewer: int,
    shared_data: Callable[[str], Path],
):
    X, y = electricity(shared_data("electricity/electricity.arff"))
    assert mistakes(X, y, trees=5, **params) == of_moa - fewer, options


def drifting_rows(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(rows, 4))
    y = (X[:, 0] > 0.3).astype(np.int64) + (X[:, 1] > 0.5)
    y[rows // 2 :] = 2 - y[rows // 2 :]
    return read_only(X), read_only(y)


def begun(X: np.ndarray, y: np.ndarray, **params: Any) -> AdaptiveRandomForest:
    learner = AdaptiveRandomForest(**SMALL | params)
    learner.begin(X.shape[1], int(y.max()) + 1)
    return learner


def test_a_forest_is_the_same_for_any_cut_and_after_a_checkpoint():
    X, y = drifting_rows(3_000)
    at_once = alike_in_parts(lambda: begun(X, y), X, y, 217)
    measures = at_once.measures()
    assert measures["replaced"] > 2
    assert measures["warnings"] > measures["replaced"] - 3
    assert len(at_once.state()["counts"]) > 12


def test_trees_are_replaced_where_the_stream_drifts():
    X, y = drifting_rows(4_000)
    learner = begun(X, y)
    learner.learn(read_only(X[:2_000]), read_only(y[:2_000]))
    assert learner.measures()["replaced"] == 0.0
    scores = learner.learn(read_only(X[2_000:]), read_only(y[2_000:]))
    assert learner.measures()["replaced"] >= 3.0
    late = codes_of(scores[1_000:]) != y[3_000:]
    assert late.mean() < 0.15


def test_repetitions_of_a_run_draw_other_rows():
    X, y = drifting_rows(500)
    scores = []
    for entropy in [(0, 0), (0, 1)]:
        learner = AdaptiveRandomForest(**SMALL)
        learner.begin(4, 3, entropy)
        scores.append(learner.learn(X, y))
    assert (scores[0] != scores[1]).any()


def test_trees_stop_to_grow_at_their_limit():
    X, y = drifting_rows(2_000)
    learner = begun(X, y, max_leaves=2)
    learner.learn(X, y)
    assert learner.measures()["leaves"] == 2.0


@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("child", 10**6),
        ("feature", 4),
        ("features", 9),
        ("front", 6),
        ("sizes", 0),
        ("slot", 10**6),
        ("free_sizes", 10**6),
        ("bucket_counts", 7),
        ("window_counts", -1),
    ],
)
def test_arrays_with_which_a_row_would_leave_the_forest_are_refused(
    array: str, value: int
):
    X, y = drifting_rows(1_000)
    learner = begun(X, y)
    learner.learn(X, y)
    state = learner.state()
    state[array][...] = value
    with pytest.raises(ValueError, match="no rows lead to its arrays"):
        begun(X, y).restore(state)


def test_two_trees_with_the_same_nodes_are_refused():
    X, y = drifting_rows(1_000)
    learner = begun(X, y)
    learner.learn(X, y)
    state = learner.state()
    split = np.flatnonzero(state["feature"][:6] >= 0)
    assert len(split) >= 2
    state["child"][split[1]] = state["child"][split[0]]
    with pytest.raises(ValueError, match="no rows lead to its arrays"):
        begun(X, y).restore(state)


def test_trees_beyond_the_memory_are_refused():
    with pytest.raises(ParameterError, match="fewer trees"):
        AdaptiveRandomForest().begin(10**8, 1_000)


def test_a_forest_that_outgrows_the_memory_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
):
    X, y = drifting_rows(3_000)
    monkeypatch.setattr("olscale.learners.contract.cost.memory_bytes", lambda: 5_000)
    learner = begun(X, y)
    with pytest.raises(
        ParameterError, match=r"leaves of 2 features .* take fewer trees"
    ):
        learner.learn(X, y)


def test_how_often_rows_are_learned_has_the_poisson_distribution():
    random = java_random(3)
    counts = [draw_poisson(random, 6.0, float(np.exp(6.0))) for _ in range(4_000)]
    assert abs(np.mean(counts) - 6.0) < 0.15
    assert abs(np.var(counts) - 6.0) < 0.5


def test_drawn_features_are_different_and_ascend_and_none_is_preferred():
    random = java_random(3)
    features = np.zeros(3, dtype=np.int64)
    space = np.zeros(7, dtype=np.int64)
    counts = np.zeros(7)
    for _ in range(2_000):
        draw_features(random, 7, space, features)
        assert (np.diff(features) > 0).all()
        counts[features] += 1
    assert counts.sum() == 6_000
    assert (np.abs(counts - 6_000 / 7) < 100).all()
