"""Hoeffding adaptive trees: MOA's mistakes, branches that are replaced, and states that are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import read_only
from olscale.errors import ParameterError
from olscale.learners import HoeffdingAdaptiveTree
from olscale.learners.contract.learner import codes_of
from tests.learners.cut_streams import alike_in_parts
from tests.learners.test_hoeffding_tree import electricity, stream

# A generator, its name in MOA 24.07, and what this prints:
# java -cp moa.jar tests/learners/MoaMistakes.java STREAM "trees.HoeffdingAdaptiveTree" 20000
MISTAKES_OF_MOA = [
    ("sea", "generators.SEAGenerator", 2_625),
    (
        "rbf:speed=0.001,classes=5",
        "generators.RandomRBFGeneratorDrift -s 0.001 -c 5",
        11_882,
    ),
    ("hyperplane", "generators.HyperplaneGenerator", 2_639),
    ("waveform", "generators.WaveformGenerator", 4_091),
    ("sine:function=3", "generators.SineGenerator -f 3", 2_265),
]
# Parameters of the learner and of MOA's, and its mistakes on the 45,312 rows of electricity, of
# "ArffFileStream -f FILE", the file being that of `write_arff`.
SETTINGS: list[tuple[dict[str, Any], str, int]] = [
    ({}, "", 7_551),
    ({"leaf": "mc"}, "-l MC", 10_675),
    ({"leaf": "nb"}, "-l NB", 8_033),
    (
        {"grace": 50, "confidence": 0.05, "tie": 0.1},
        "-g 50 -c 0.05 -t 0.1",
        5_847,
    ),
]
SMALL: dict[str, Any] = {"grace": 20, "confidence": 0.2, "tie": 0.3}


def mistakes(X: np.ndarray, y: np.ndarray, **params: Any) -> int:
    learner = HoeffdingAdaptiveTree(**params)
    learner.begin(X.shape[1], int(y.max()) + 1)
    scores = learner.learn(read_only(X), read_only(y))
    return int((codes_of(scores) != y).sum())


@pytest.mark.parametrize(("text", "name", "expected"), MISTAKES_OF_MOA)
def test_mistakes_are_those_of_moa(text: str, name: str, expected: int):
    assert mistakes(*stream(text, 20_000)) == expected, name


@pytest.mark.parametrize(("params", "options", "expected"), SETTINGS)
def test_mistakes_of_settings_are_those_of_moa(
    params: dict[str, Any],
    options: str,
    expected: int,
    shared_data: Callable[[str], Path],
):
    X, y = electricity(shared_data("electricity/electricity.arff"))
    assert mistakes(X, y, **params) == expected, options


def drifting_rows(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose classes change places four times."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(rows, 3))
    y = (X[:, 0] > 0.3).astype(np.int64) + (X[:, 1] > 0.5)
    swapped = np.arange(rows) // (rows // 5) % 2 == 1
    y[swapped] = 2 - y[swapped]
    return read_only(X), read_only(y)


def begun(X: np.ndarray, y: np.ndarray, **params: Any) -> HoeffdingAdaptiveTree:
    learner = HoeffdingAdaptiveTree(**SMALL | params)
    learner.begin(X.shape[1], int(y.max()) + 1)
    return learner


def test_a_tree_is_the_same_for_any_cut_and_after_a_checkpoint():
    X, y = drifting_rows(5_000)
    at_once = alike_in_parts(lambda: begun(X, y), X, y, 217)
    measures = at_once.measures()
    assert measures["replaced"] >= 4
    assert measures["alternates"] >= measures["replaced"] + measures["dropped"]
    assert measures["leaves"] > 8


def test_branches_are_replaced_where_the_stream_drifts():
    X, y = drifting_rows(10_000)
    learner = begun(X, y)
    learner.learn(read_only(X[:2_000]), read_only(y[:2_000]))
    before = learner.measures()["replaced"]
    scores = learner.learn(read_only(X[2_000:4_000]), read_only(y[2_000:4_000]))
    assert learner.measures()["replaced"] > before
    late = codes_of(scores[1_000:]) != y[3_000:4_000]
    assert late.mean() < 0.2


def test_the_tree_stops_to_grow_at_its_limit():
    X, y = drifting_rows(5_000)
    learner = begun(X, y, max_leaves=3)
    learner.learn(X, y)
    assert learner.measures()["leaves"] <= 3.0


@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("child", 10**6),
        ("feature", 3),
        ("sizes", 0),
        ("slot", 10**6),
        ("alternate", 0),
        ("alternate", 10**6),
        ("free_sizes", 10**6),
        ("bucket_counts", 7),
        ("window_counts", -1),
    ],
)
def test_arrays_with_which_a_row_would_leave_the_tree_are_refused(
    array: str, value: int
):
    X, y = drifting_rows(1_000)
    learner = begun(X, y)
    learner.learn(X, y)
    state = learner.state()
    state[array][...] = value
    with pytest.raises(ValueError, match="no rows lead to its arrays"):
        begun(X, y).restore(state)


def test_leaves_beyond_the_memory_are_refused():
    with pytest.raises(ParameterError, match="fewer features"):
        HoeffdingAdaptiveTree().begin(10**9, 1_000)


def test_weights_that_swallow_each_other_stay_within_the_arrays():
    X, y = drifting_rows(1_000)
    weights = np.full(1_000, 1e20)
    weights[::3] = 1.0
    learner = begun(X, y)
    scores = learner.learn(X, y, read_only(weights))
    assert np.isfinite(scores).all()
