"""Nominal columns of adaptive random forests: MOA's mistakes, any cut, limits and refused states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import read_only, to_csr
from olscale.errors import ModelError, ParameterError
from olscale.learners import AdaptiveRandomForest
from olscale.learners.contract.learner import codes_of
from olscale.models.onnx_forest import add_forest
from tests.learners.cut_streams import alike_in_parts
from tests.learners.moa_program import mistakes_of_moa
from tests.learners.test_hoeffding_tree import stream
from tests.learners.test_nominal_trees import rows_of_words, write_words

SEED = 1_826_701_615
MAJORITY = "-l (ARFHoeffdingTree -e 2000000 -g 50 -c 0.01 -l MC)"
BAYES = "-m 30 -l (ARFHoeffdingTree -e 2000000 -g 50 -c 0.01 -l NB)"
# A generator, nominal columns, its name in MOA 24.07, parameters and options, MOA's mistakes on
# 5,000 rows, and how many fewer there are here, all on rows for which its votes are no numbers:
# java -cp moa.jar tests/learners/MoaMistakes.java STREAM "FOREST OPTIONS" 5000 1826701615
MISTAKES_OF_MOA: list[tuple[str, str, str, dict[str, Any], str, int, int]] = [
    ("agrawal", "3-5", "AgrawalGenerator", {"trees": 10}, "-s 10", 1_337, 1),
    (
        "agrawal:function=7",
        "3-5",
        "AgrawalGenerator -f 7",
        {"trees": 5, "leaf": "mc"},
        f"-s 5 {MAJORITY}",
        691,
        0,
    ),
    (
        "agrawal",
        "3-5",
        "AgrawalGenerator",
        {"trees": 5, "leaf": "nb", "share": 0.3},
        f"-s 5 {BAYES}",
        638,
        0,
    ),
    ("led", "0-23", "LEDGenerator", {"trees": 10}, "-s 10", 1_528, 0),
    (
        "stagger:function=2",
        "0-2",
        "STAGGERGenerator -f 2",
        {"trees": 10},
        "-s 10",
        11,
        0,
    ),
    ("mixed", "0-1", "MixedGenerator", {"trees": 10}, "-s 10", 306, 0),
]
# Rare words, parameters and options, and MOA's mistakes on these `rows_of_words`.
WORDS: list[tuple[int, dict[str, Any], str, int]] = [
    (80, {"trees": 10}, "-s 10", 408),
    (80, {"trees": 5, "share": 1.0}, "-s 5 -m 100", 406),
    (300, {"trees": 5, "share": 1.0}, "-s 5 -m 100", 414),
]
FOREST = "meta.AdaptiveRandomForest"
SMALL: dict[str, Any] = {
    "trees": 3,
    "grace": 20,
    "confidence": 0.2,
    "tie": 0.3,
    "nominal": "0+2",
}


def begun(X: np.ndarray, y: np.ndarray, **params: Any) -> AdaptiveRandomForest:
    learner = AdaptiveRandomForest(**params)
    learner.begin(X.shape[1], int(y.max()) + 1)
    return learner


def mistakes(X: np.ndarray, y: np.ndarray, **params: Any) -> int:
    learner = begun(X, y, **params)
    assert params.get("seed", 0) or learner.java_seed() == SEED
    return int((codes_of(learner.learn(X, y)) != y).sum())


@pytest.mark.parametrize(
    "case", MISTAKES_OF_MOA, ids=lambda case: f"{case[0]} {case[4]}"
)
def test_mistakes_are_those_of_moa(case: Any):
    text, nominal, name, params, options, counted, fewer = case
    X, y = stream(text, 5_000)
    assert mistakes(X, y, nominal=nominal, **params) == counted - fewer, (name, options)


@pytest.mark.parametrize("case", WORDS, ids=lambda case: f"{case[0]} {case[2]}")
def test_words_that_come_late_are_rare_or_missing_go_where_they_do_in_moa(case: Any):
    rare, params, options, counted = case
    X, y = rows_of_words(rare=rare)
    assert mistakes(X, y, nominal="0+2", **params) == counted, options


@pytest.mark.long
@pytest.mark.parametrize("case", WORDS, ids=lambda case: f"{case[0]} {case[2]}")
def test_moa_itself_makes_these_mistakes(case: Any, tmp_path: Path):
    rare, _, options, counted = case
    write_words(*rows_of_words(rare=rare), rare, tmp_path / "words.arff")
    source = f"ArffFileStream -f {tmp_path / 'words.arff'}"
    assert mistakes_of_moa(source, f"{FOREST} {options}", 3_000, SEED) == counted


@pytest.mark.long
@pytest.mark.parametrize(
    "place", [0, 3, 4, 5], ids=lambda place: MISTAKES_OF_MOA[place][0]
)
def test_the_error_over_twenty_seeds_is_that_of_moa(place: int):
    text, nominal, name, params, options, _, _ = MISTAKES_OF_MOA[place]
    X, y = stream(text, 5_000)
    differences = []
    for seed in range(20):
        drawn = begun(X, y, seed=seed).java_seed()
        forest = f"{FOREST} {options}"
        counted = mistakes_of_moa(f"generators.{name}", forest, 5_000, drawn)
        own = mistakes(X, y, nominal=nominal, seed=seed, **params)
        differences.append(own - counted)
    print(text, differences)
    # Rows for which MOA's votes are no numbers are few.
    assert abs(np.mean(differences)) < 0.001 * 5_000


def test_a_forest_is_the_same_for_any_cut_sparse_and_after_a_checkpoint():
    X, y = rows_of_words()
    at_once = alike_in_parts(lambda: begun(X, y, **SMALL), X, y, 411, to_csr)
    assert at_once.measures()["leaves"] > 20


def test_no_tree_passes_max_leaves():
    X, y = rows_of_words()
    learner = begun(X, y, **SMALL, max_leaves=85)
    learner.learn(X, y)
    assert (learner.state_["leaves"] <= 85).all()
    assert learner.state_["leaves"].max() > 40


def test_room_is_made_for_the_splits_of_a_tree_and_not_of_all():
    X, y = rows_of_words(rare=300)
    learner = begun(X, y, trees=50, nominal="0+2", grace=100_000)
    learner.learn(X, y)
    # No tree has split, and each of 50 might, into 512 leaves.
    assert 512 < len(learner.state_["counts"]) < 50 * 512 / 10


@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("feature", -3),
        ("feature", -9),
        ("child", 10**6),
        ("value_spans", 10**6),
        ("value_spans", -1),
        ("value_starts", 10**6),
    ],
)
def test_arrays_with_which_a_row_would_leave_the_forest_are_refused(
    array: str, value: int
):
    X, y = rows_of_words(1_500)
    learner = begun(X, y, **SMALL)
    learner.learn(X, y)
    state = learner.state()
    root = np.flatnonzero(state["feature"][:6] < -1)[0]
    places = {"feature": root, "child": root}
    state[array].reshape(-1)[places.get(array, 0)] = value
    with pytest.raises(ValueError, match="state does not fit learner arf"):
        begun(X, y, **SMALL).restore(state)


def test_the_estimate_and_the_limit_of_memory_count_values(
    monkeypatch: pytest.MonkeyPatch,
):
    X, y = rows_of_words(rare=300)
    plain = begun(X, y, trees=3)
    learner = begun(X, y, **SMALL)
    # Two values of each of two columns, of three classes, in four leaves of three trees.
    more = learner.state_bytes(3, 3) - plain.state_bytes(3, 3)
    assert more == 8 * 4 * 3 * 12
    monkeypatch.setattr("olscale.learners.contract.cost.memory_bytes", lambda: 60_000)
    with pytest.raises(ParameterError, match="take fewer trees"):
        learner.learn(X, y)


@pytest.mark.parametrize("value", [2.5, 1e6])
def test_a_row_without_a_code_ends_learning_and_says_why(value: float):
    X, y = rows_of_words(40)
    X = X.copy()
    X[30, 2] = value
    learner = begun(X, y, **SMALL)
    scores = learner.learn(read_only(X), y)
    assert np.isfinite(scores[:30]).all()
    assert np.isnan(scores[30:]).all()
    why = learner.why_no_score(read_only(X[30:31]))
    assert why.startswith(f"nominal column 2 has {value:g}, expected a code")


def test_forests_of_nominal_columns_are_not_written_as_onnx():
    X, y = rows_of_words(40)
    learner = begun(X, y, **SMALL)
    with pytest.raises(ModelError, match="only trees of numeric ones"):
        add_forest(learner, None)  # type: ignore[arg-type]
