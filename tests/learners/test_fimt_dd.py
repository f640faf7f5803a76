"""FIMT-DD: the predictions of MOA's, to the last bit, and trees that stay within their arrays."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from math import fsum
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import read_only, to_csr
from olscale.errors import ParameterError
from olscale.evaluation.experiment_sections import LearnerSpec
from olscale.learners import FIMTDD
from olscale.learners.registry import (
    is_ours,
    learner_class,
    learner_names,
    make_learner,
)
from olscale.learners.tree.regression_arrays import (
    ALTERNATE,
    ALTERNATES,
    FIRST,
    PARENT,
    UNUSED,
    sizes_with_room,
)
from olscale.learners.tree.target_sums import (
    MOST_VALUES,
    NO_NODE,
    SumTrees,
    add_value,
    best_cut,
    empty_sum_trees,
    free_nodes,
    free_tree,
)
from tests.learners.cut_streams import alike_in_parts

ROWS = 6_000
ENTROPY = (3, 1)
QUICK = {"grace": 50, "confidence": 0.01, "lam": 5.0, "t_min": 50, "t_max": 700}
QUICK_OF_MOA = "-g 50 -c 0.01 -h 5 -y 50 -u 700"
# A stream, parameters and MOA's, and the exact sum of the predictions of CapyMOA 0.15.1's MOA from
# the same random weights; `test_predictions_are_those_of_moa` compares each prediction where MOA is there.
SUMS_OF_MOA: list[tuple[str, dict[str, Any], str, float]] = [
    ("steady", {}, "", 39360.388184827716),
    ("discrete", {}, "", 353760.90482190583),
    ("single", {}, "", 79386.05958554248),
    ("drifts", QUICK, QUICK_OF_MOA, 84517.00971182084),
    ("partly", QUICK, QUICK_OF_MOA, -10716.196519101422),
    ("partly", {**QUICK, "leaf": "mean"}, f"{QUICK_OF_MOA} -e", -3150.53223317654),
]
STREAMS = ["steady", "drifts", "partly", "discrete", "single"]


def stream(name: str, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Return a stream whose numbers are the same on any machine."""
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(rows, 1 if name == "single" else 5))
    noise = rng.uniform(-1.0, 1.0, rows)
    late = np.arange(rows) // (rows // 4) % 2 == 1
    if name == "discrete":
        X = np.floor(X * 4.0)
    y = 20.0 * (X[:, 0] - 0.5) ** 2 + 10.0 * X[:, -1] + noise
    if name in ("drifts", "single"):
        y[late] = 30.0 - 20.0 * X[late, 0]
    if name == "partly":
        half = late & (X[:, -1] > 0.5)
        y[half] = -40.0 * X[half, 1]
    return read_only(X), read_only(y)


def begun(columns: int, **params: Any) -> FIMTDD:
    learner = FIMTDD(**params)
    learner.begin(columns, 0, ENTROPY)
    return learner


def predictions(name: str, **params: Any) -> np.ndarray:
    X, y = stream(name)
    return begun(X.shape[1], **params).learn(X, y)[:, 0]


@pytest.mark.parametrize(("name", "params", "options", "expected"), SUMS_OF_MOA)
def test_predictions_add_up_to_those_of_moa(
    name: str, params: dict[str, Any], options: str, expected: float
):
    assert fsum(predictions(name, **params)) == expected, options


def test_another_seed_draws_other_weights():
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
        ({}, ""),
        ({"leaf": "mean"}, "-e"),
        (QUICK, QUICK_OF_MOA),
        ({**QUICK, "leaf": "mean", "fading": 0.9}, f"{QUICK_OF_MOA} -e -f 0.9"),
        ({"eta": 0.1, "decay": 0.0, "alpha": 0.05}, "-l 0.1 -p -a 0.05"),
    ],
)
def test_predictions_are_those_of_moa(name: str, params: dict[str, Any], options: str):
    X, y = stream(name)
    moa = make_learner(f"moa:trees.FIMTDD {options}".strip(), {})
    moa.begin(X.shape[1], 0, ENTROPY)
    expected = moa.learn(X, y)[:, 0]
    np.testing.assert_array_equal(predictions(name, **params), expected)


def test_streams_that_drift_replace_parts_and_free_them():
    X, y = stream("drifts")
    learner = begun(5, **QUICK)
    alternates = []
    for start in range(0, ROWS, 50):
        learner.learn(X[start : start + 50], y[start : start + 50])
        alternates.append(learner.measures()["alternates"])
    assert max(alternates) > 0.0
    assert alternates[-1] < max(alternates)
    state = learner.state()
    assert (state["feature"][: state["nodes"][0]] == UNUSED).any()


@pytest.mark.parametrize("name", ["drifts", "partly"])
def test_a_tree_is_the_same_for_any_cut_layout_and_after_a_checkpoint(name: str):
    X, y = stream(name, 3_000)
    alike_in_parts(lambda: begun(5, **QUICK), X, y, 217, to_csr)


def test_a_full_tree_keeps_no_values_and_grows_again_after_a_drift():
    X, y = stream("drifts", 12_000)
    learner = begun(5, **QUICK, max_leaves=6)
    leaves = []
    for start in range(0, 12_000, 100):
        learner.learn(X[start : start + 100], y[start : start + 100])
        leaves.append(int(learner.state_["sizes"][0, 0]))
    # An alternate begins where the tree is full, too.
    assert 6 in leaves
    assert max(leaves) <= 8
    assert len(learner.state_["cuts"]) < 12_000 * 5


def test_targets_without_spread_are_predicted():
    X, _ = stream("steady", 2_000)
    y = np.full(2_000, 0.1)
    scores = begun(5).learn(X, read_only(y))
    np.testing.assert_allclose(scores[2:, 0], 0.1, rtol=1e-6)


def test_unknown_targets_are_predicted_only():
    X, y = stream("steady", 500)
    hidden = read_only(np.where(np.arange(500) % 2 == 0, np.nan, y))
    learner = begun(5)
    learner.learn(X, hidden)
    others = begun(5)
    others.learn(read_only(X[1::2].copy()), read_only(y[1::2].copy()))
    np.testing.assert_array_equal(learner.scores(X), others.scores(X))


def pool(nodes: int) -> SumTrees:
    return SumTrees(**empty_sum_trees(nodes))


def test_the_best_cut_is_that_of_all_cuts():
    rng = np.random.default_rng(2)
    values = np.round(rng.normal(size=300), 1)
    targets = values**3 + rng.normal(size=300)
    trees = pool(300)
    root = NO_NODE
    for value, target in zip(values, targets, strict=True):
        root = add_value(trees, root, value, target)
    stack = np.empty(301, dtype=np.int32)
    totals = (300.0, targets.sum(), (targets**2).sum())
    merit, at = best_cut(trees, root, *totals, stack)
    merits = {
        cut: targets.var()
        - (values <= cut).mean() * targets[values <= cut].var()
        - (values > cut).mean() * targets[values > cut].var()
        for cut in np.unique(values)
        if min((values <= cut).sum(), (values > cut).sum()) >= 5
    }
    assert at == max(merits, key=lambda cut: merits[cut])
    assert merit == pytest.approx(merits[at], rel=1e-9)


def test_nodes_of_a_dropped_tree_are_used_again():
    trees = pool(20)
    stack = np.empty(21, dtype=np.int32)
    for _ in range(3):
        root = NO_NODE
        for value in (3.0, 1.0, 2.0, 5.0, 1.0):
            root = add_value(trees, root, value, 1.0)
        assert free_nodes(trees) == 16
        free_tree(trees, root, stack)
        assert free_nodes(trees) == 20


@pytest.mark.parametrize(
    ("array", "place", "value"),
    [
        ("links", (0, FIRST), 0),
        ("links", (0, FIRST), 10**6),
        ("feature", (0,), 5),
        ("roots", (0,), -1),
        ("nodes", (0,), 10**6),
        ("values", (1, 0), 10**6),
        ("sides", (1, 0), 1),
        ("room", (0,), 10**7),
        ("waiting", (1,), 10**6),
        # twice as many nodes are below 0
        ("sizes", (0, ALTERNATES), 2**62),
        ("sizes", (0, ALTERNATES), 10**6),
        # a leaf and a child of the root
        ("links", (1, ALTERNATE), 2),
        ("links", (1, PARENT), 2),
    ],
)
def test_arrays_with_which_a_row_would_leave_the_tree_are_refused(
    array: str, place: tuple[int, ...], value: int
):
    X, y = stream("steady", 3_000)
    learner = begun(5, **QUICK)
    learner.learn(X, y)
    state = learner.state()
    assert state["feature"][0] >= 0
    state[array][place] = value
    with pytest.raises(ValueError, match="no rows lead to its arrays"):
        begun(5, **QUICK).restore(state)


def test_fewer_alternates_than_there_are_would_bring_too_little_room():
    X, y = stream("partly")
    learner = begun(5, **QUICK)
    start = 0
    while learner.measures()["alternates"] == 0:
        rows = slice(start, start + 100)
        learner.learn(read_only(X[rows]), read_only(y[rows]))
        start += 100
    state = learner.state()
    begun(5, **QUICK).restore(state)
    state["sizes"][0, ALTERNATES] = 0
    with pytest.raises(ValueError, match="no rows lead to its arrays"):
        begun(5, **QUICK).restore(state)


def test_a_leaf_whose_single_row_waits_is_refused():
    learner = begun(1, grace=1)
    state = learner.state()
    state["waiting"][0] = 1
    with pytest.raises(ValueError, match="no rows lead to its arrays"):
        learner.restore(state)


def test_values_beyond_32_bits_are_refused():
    state = begun(5).state()
    with pytest.raises(ParameterError, match="smaller max_leaves"):
        sizes_with_room(state, 1, MOST_VALUES + 1)
    assert sizes_with_room(state, 1, MOST_VALUES)[1] == MOST_VALUES


def test_values_beyond_the_memory_are_refused():
    with pytest.raises(ParameterError, match=r"200 rows .* fewer features"):
        FIMTDD().begin(10**9, 0)


def test_a_tree_that_outgrows_the_memory_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
):
    X, y = stream("steady")
    learner = begun(5, **QUICK)
    monkeypatch.setattr("olscale.learners.contract.cost.memory_bytes", lambda: 10**5)
    with pytest.raises(ParameterError, match=r"values of features, need"):
        learner.learn(X, y)


def test_its_other_name_makes_the_same_runs() -> None:
    assert learner_class("hoeffding-tree-r") is FIMTDD
    assert LearnerSpec(name="hoeffding-tree-r") == LearnerSpec(name="fimt-dd")
    every = LearnerSpec(name="*", without=("hoeffding-tree-r",))
    assert every == LearnerSpec(name="*", without=("fimt-dd",))
    assert is_ours("hoeffding-tree-r")
    assert "hoeffding-tree-r" not in learner_names()
