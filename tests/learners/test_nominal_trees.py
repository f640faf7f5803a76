"""Nominal columns of Hoeffding trees: MOA's mistakes, values that come late or are missing, errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import read_only
from olscale.data.feature_names import FeatureNames
from olscale.errors import ModelError, ParameterError, UnknownNameError
from olscale.learners import HoeffdingTree
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import make_learner
from olscale.models.onnx_trees import add_tree
from tests.learners.cut_streams import alike_in_parts
from tests.learners.moa_program import mistakes_of_moa
from tests.learners.test_hoeffding_tree import stream

QUICK = {"grace": 50, "confidence": 0.05, "tie": 0.1}
# Mistakes of MOA 24.07 on 20,000 rows, of trees.HoeffdingTree and trees.HoeffdingAdaptiveTree:
# java -cp moa.jar tests/learners/MoaMistakes.java STREAM "LEARNER OPTIONS" 20000
MISTAKES_OF_MOA: list[tuple[str, str, str, dict[str, Any], str, int, int]] = [
    ("agrawal", "3-5", "generators.AgrawalGenerator", {}, "", 1_706, 1_327),
    (
        "agrawal",
        "elevel+car+zipcode",
        "generators.AgrawalGenerator",
        QUICK,
        "-g 50 -c 0.05 -t 0.1",
        1_388,
        2_942,
    ),
    (
        "agrawal:function=7",
        "3-5",
        "generators.AgrawalGenerator -f 7",
        {"leaf": "mc"},
        "-l MC",
        2_274,
        2_254,
    ),
    (
        "stagger:function=2",
        "0-2",
        "generators.STAGGERGenerator -f 2",
        {"leaf": "nb"},
        "-l NB",
        14,
        16,
    ),
    ("led", "0-23", "generators.LEDGenerator", {}, "", 5_313, 5_321),
]
TREES = ["hoeffding-tree", "hoeffding-adaptive-tree"]
NAMES = ("salary", "commission", "age", "elevel", "car", "zipcode")
SMALL = {"grace": 20, "confidence": 0.2, "tie": 0.3, "nominal": "0+2"}
# Rare words, parameters and options, and the mistakes of both trees on these `rows_of_words`. With
# 300 words a test that parts one from the others is better than a branch for each.
WORDS: list[tuple[int, dict[str, Any], str, int, int]] = [
    (80, SMALL, "-g 20 -c 0.2 -t 0.3", 500, 650),
    (
        300,
        {"grace": 400, "confidence": 0.001, "nominal": "0+2"},
        "-g 400 -c 0.001",
        434,
        475,
    ),
]


def rows_of_words(rows: int = 3_000, rare: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of rare words beside one, a number, and words of which half come late."""
    rng = np.random.default_rng(11)
    X = np.empty((rows, 3))
    X[:, 0] = np.where(rng.random(rows) < 0.6, 7, rng.integers(0, rare, rows))
    X[:, 1] = rng.normal(size=rows)
    X[:, 2] = rng.integers(0, 6, rows)
    X[: rows // 2, 2] %= 3
    X[rng.random(rows) < 0.05, 2] = -1
    y = (X[:, 0] == 7) + (X[:, 2] % 3 == 1) * (X[:, 1] > 0)
    noise = rng.random(rows) < 0.1
    y = np.where(noise, rng.integers(0, 3, rows), y).astype(np.int64)
    return read_only(X), read_only(y)


def begun(tree: str, X: np.ndarray, y: np.ndarray, **params: Any) -> Any:
    learner = make_learner(tree, params)
    learner.expect_names(FeatureNames(NAMES), ())
    learner.begin(X.shape[1], int(y.max()) + 1)
    return learner


def mistakes(tree: str, X: np.ndarray, y: np.ndarray, **params: Any) -> int:
    scores = begun(tree, X, y, **params).learn(X, y)
    return int((codes_of(scores) != y).sum())


@pytest.mark.parametrize("place", [0, 1], ids=TREES)
@pytest.mark.parametrize(
    "case", MISTAKES_OF_MOA, ids=lambda case: f"{case[0]}{case[4]}"
)
def test_mistakes_are_those_of_moa(case: Any, place: int):
    text, nominal, name, params, options, *expected = case
    X, y = stream(text, 20_000)
    counted = mistakes(TREES[place], X, y, nominal=nominal, **params)
    assert counted == expected[place], (name, options)


@pytest.mark.parametrize("place", [0, 1], ids=TREES)
@pytest.mark.parametrize("case", WORDS, ids=lambda case: case[2])
def test_words_that_come_late_are_rare_or_missing_go_where_they_do_in_moa(
    case: Any, place: int
):
    rare, params, options, *expected = case
    X, y = rows_of_words(rare=rare)
    assert mistakes(TREES[place], X, y, **params) == expected[place], options


def write_words(X: np.ndarray, y: np.ndarray, rare: int, file: Path) -> None:
    words = [",".join(f"v{v}" for v in range(values)) for values in (rare, 6)]
    head = [
        "@relation words",
        f"@attribute a0 {{{words[0]}}}",
        "@attribute a1 numeric",
        f"@attribute a2 {{{words[1]}}}",
        "@attribute class {0,1,2}",
        "@data",
    ]
    rows = [
        f"v{int(x[0])},{x[1]!r},{'?' if x[2] < 0 else f'v{int(x[2])}'},{label}"
        for x, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    file.write_text("\n".join([*head, *rows, ""]))


@pytest.mark.long
@pytest.mark.parametrize("case", WORDS, ids=lambda case: case[2])
def test_moa_itself_makes_these_mistakes(case: Any, tmp_path: Path):
    rare, _, options, *expected = case
    write_words(*rows_of_words(rare=rare), rare, tmp_path / "words.arff")
    source = f"ArffFileStream -f {tmp_path / 'words.arff'}"
    counted = [
        mistakes_of_moa(source, f"trees.{kind} {options}", 3_000)
        for kind in ("HoeffdingTree", "HoeffdingAdaptiveTree")
    ]
    assert counted == expected


@pytest.mark.parametrize("tree", TREES)
def test_a_tree_is_the_same_for_any_cut_and_after_a_checkpoint(tree: str):
    X, y = rows_of_words()
    at_once = alike_in_parts(lambda: begun(tree, X, y, **SMALL), X, y, 411)
    assert at_once.measures()["leaves"] > 20


@pytest.mark.parametrize("tree", TREES)
def test_no_split_passes_max_leaves(tree: str):
    X, y = rows_of_words()
    learner = begun(tree, X, y, **SMALL, max_leaves=85)
    learner.learn(X, y)
    assert 1 < learner.measures()["leaves"] <= 85


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("feature", -3),
        ("feature", -9),
        ("child", 10**6),
        ("value_spans", 10**6),
        ("value_spans", -1),
        ("value_starts", -1),
        ("value_starts", 10**6),
    ],
)
def test_arrays_with_which_a_row_would_leave_the_tree_are_refused(
    tree: str, array: str, value: int
):
    X, y = rows_of_words(1_500)
    learner = begun(tree, X, y, **SMALL)
    learner.learn(X, y)
    state = learner.state()
    assert state["feature"][0] in (-2, -4)
    state[array].reshape(-1)[0] = value
    with pytest.raises(ValueError, match=f"state does not fit learner {tree}"):
        begun(tree, X, y, **SMALL).restore(state)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("nominal", ["0+1", "0-2"])
def test_states_of_other_columns_are_refused(tree: str, nominal: str):
    X, y = rows_of_words(10)
    state = begun(tree, X, y, nominal=nominal).state()
    with pytest.raises(ValueError, match="state does not fit"):
        begun(tree, X, y, nominal="0+2").restore(state)


def test_names_and_numbers_of_columns_name_one_run():
    learner = make_learner("hoeffding-tree", {"nominal": "car+elevel+5"})
    assert learner.resolved_params()["nominal"] == "5+car+elevel"
    learner.expect_names(FeatureNames(NAMES), ())
    assert learner.resolved_params()["nominal"] == "3-5"
    assert "nominal" not in make_learner("hoeffding-tree", {}).resolved_params()


@pytest.mark.parametrize(
    ("nominal", "error", "words"),
    [
        ("car+", ParameterError, "expected columns by number from 0 or by name"),
        (True, ParameterError, "parameter nominal was True"),
        (2.5, ParameterError, "parameter nominal was 2.5"),
        ("7", ParameterError, "nominal names column 7, and the last of 3 columns is 2"),
        ("cars", UnknownNameError, "unknown column in nominal .* did you mean 'car'"),
    ],
)
def test_columns_that_are_not_there_are_refused(
    nominal: Any, error: type[Exception], words: str
):
    X, y = rows_of_words(10)
    with pytest.raises(error, match=words):
        begun("hoeffding-tree", X, y, nominal=nominal)


def test_a_name_is_refused_where_columns_have_none():
    with pytest.raises(ParameterError, match="the columns have no names here"):
        HoeffdingTree(nominal="car").begin(3, 2)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("value", [2.5, 1e6])
def test_a_row_without_a_code_ends_learning_and_says_why(tree: str, value: float):
    X, y = rows_of_words(40)
    X = X.copy()
    X[30, 2] = value
    learner = begun(tree, X, y, **SMALL)
    scores = learner.learn(read_only(X), y)
    assert np.isfinite(scores[:30]).all()
    assert np.isnan(scores[30:]).all()
    why = learner.why_no_score(read_only(X[30:31]))
    assert why.startswith(f"nominal column 'age' has {value:g}, expected a code")


def test_trees_of_nominal_columns_are_not_written_as_onnx():
    X, y = rows_of_words(40)
    learner = begun("hoeffding-tree", X, y, **SMALL)
    with pytest.raises(ModelError, match="only trees of numeric ones"):
        add_tree(learner, None)  # type: ignore[arg-type]
