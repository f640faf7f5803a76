"""Trees that split at the bounds of histograms: MOA's mistakes, thresholds, weights, checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import read_only
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import make_learner
from tests.learners.cut_streams import alike_in_parts
from tests.learners.moa_program import mistakes_of_moa
from tests.learners.test_hoeffding_tree import electricity, stream, write_arff
from tests.learners.test_nominal_trees import SMALL, TREES, rows_of_words, write_words

OBSERVER = "-n (VFMLNumericAttributeClassObserver -n {})"
QUICK = {"grace": 50, "confidence": 0.05, "tie": 0.1}
# Parameters, and options of MOA 24.07.
SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"leaf": "mc"}, "-l MC"),
    ({"leaf": "nb"}, "-l NB"),
    (QUICK, "-g 50 -c 0.05 -t 0.1"),
    ({**QUICK, "leaf": "mc", "bins": 100}, "-l MC -g 50 -c 0.05 -t 0.1"),
]
# The mistakes of trees.HoeffdingTree and trees.HoeffdingAdaptiveTree by these settings, the file
# being that of `write_arff`, whose attributes are all numeric:
# java -cp moa.jar tests/learners/MoaMistakes.java "ArffFileStream -f FILE" "LEARNER" 20000
MISTAKES_OF_MOA: dict[str, list[tuple[int, int]]] = {
    "agrawal": [
        (1_452, 1_228),
        (1_431, 1_239),
        (6_468, 6_463),
        (1_146, 1_187),
        (1_134, 1_142),
    ],
    "sea": [
        (4_008, 3_765),
        (3_995, 3_746),
        (12_819, 12_810),
        (2_827, 2_943),
        (2_577, 2_714),
    ],
    "sine:function=3": [
        (2_887, 2_609),
        (2_883, 2_579),
        (8_727, 8_726),
        (1_125, 976),
        (915, 829),
    ],
    "rbf:speed=0.001,classes=5": [
        (13_953, 13_944),
        (13_964, 13_976),
        (14_865, 14_859),
        (13_220, 13_171),
        (13_628, 13_319),
    ],
}
# Of all 45,312 rows of electricity.
OF_ELECTRICITY = [
    (11_783, 10_483),
    (11_901, 11_502),
    (19_225, 19_207),
    (10_098, 8_890),
    (10_584, 9_176),
]
# Of `rows_of_words` with two nominal columns.
OF_WORDS = (474, 790)


def begun(tree: str, X: np.ndarray, y: np.ndarray, **params: Any) -> Any:
    learner = make_learner(tree, {"splits": "histogram", **params})
    learner.begin(X.shape[1], int(y.max()) + 1)
    return learner


def mistakes(tree: str, X: np.ndarray, y: np.ndarray, **params: Any) -> int:
    scores = begun(tree, X, y, **params).learn(read_only(X), read_only(y))
    return int((codes_of(scores) != y).sum())


@pytest.mark.parametrize("place", [0, 1], ids=TREES)
@pytest.mark.parametrize("text", MISTAKES_OF_MOA)
def test_mistakes_are_those_of_moa(text: str, place: int):
    X, y = stream(text, 20_000)
    counted = [mistakes(TREES[place], X, y, **params) for params, _ in SETTINGS]
    assert counted == [pair[place] for pair in MISTAKES_OF_MOA[text]]


@pytest.mark.parametrize("place", [0, 1], ids=TREES)
def test_mistakes_on_electricity_are_those_of_moa(
    place: int, shared_data: Callable[[str], Path]
):
    X, y = electricity(shared_data("electricity/electricity.arff"))
    counted = [mistakes(TREES[place], X, y, **params) for params, _ in SETTINGS]
    assert counted == [pair[place] for pair in OF_ELECTRICITY]


# Loops with both kinds of columns take seconds to compile.
@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1], ids=TREES)
def test_nominal_columns_stand_beside_histograms_as_in_moa(place: int):
    X, y = rows_of_words()
    assert mistakes(TREES[place], X, y, **SMALL) == OF_WORDS[place]


@pytest.mark.long
def test_moa_itself_makes_these_mistakes(tmp_path: Path):
    file = tmp_path / "stream.arff"

    def counted(params: dict[str, Any], options: str, rows: int) -> tuple[int, ...]:
        observer = OBSERVER.format(params.get("bins", 10))
        counts = []
        for kind in ("HoeffdingTree", "HoeffdingAdaptiveTree"):
            learner = f"trees.{kind} {observer} {options}"
            source = f"ArffFileStream -f {file}"
            counts.append(mistakes_of_moa(source, learner, rows))
        return tuple(counts)

    for text, expected in MISTAKES_OF_MOA.items():
        write_arff(*stream(text, 20_000), file)
        assert [counted(*setting, 20_000) for setting in SETTINGS] == expected
    write_words(*rows_of_words(), 80, file)
    assert counted({}, "-g 20 -c 0.2 -t 0.3", 3_000) == OF_WORDS


def test_what_is_at_a_bound_goes_above_it():
    # Of four values and as many bins each has a bin of its own.
    X = read_only(np.arange(200.0).reshape(-1, 1) % 4.0)
    y = read_only((X[:, 0] >= 2.0).astype(np.int64))
    tree = begun("hoeffding-tree", X, y, leaf="mc", bins=4)
    tree.learn(X, y)
    assert tree.measures()["leaves"] == 2
    edges = np.array([[np.nextafter(2.0, 0.0)], [2.0]])
    assert codes_of(tree.scores(read_only(edges))).tolist() == [0, 1]


def test_a_row_of_weight_2_is_the_row_twice():
    X, y = rows_of_words(600)
    # A grace that no leaf reaches: what a leaf holds is compared, and not when it splits.
    params = {"grace": 10_000, "bins": 7}
    weighted = begun("hoeffding-tree", X, y, **params)
    weighted.learn(X, y, np.full(len(y), 2.0))
    twice = begun("hoeffding-tree", X, y, **params)
    twice.learn(read_only(np.repeat(X, 2, axis=0)), read_only(np.repeat(y, 2)))
    state = twice.state()
    for name in ("bin_sizes", "bin_bounds", "bin_weights", "start_weights"):
        np.testing.assert_array_equal(weighted.state()[name], state[name])
    assert state["bin_sizes"].tolist() == [[7, 7, 7]]


@pytest.mark.parametrize("tree", TREES)
def test_a_tree_is_the_same_for_any_cut_and_after_a_checkpoint(tree: str):
    X, y = rows_of_words()
    params = {"grace": 20, "confidence": 0.2, "tie": 0.3, "bins": 5}
    at_once = alike_in_parts(lambda: begun(tree, X, y, **params), X, y, 411)
    assert at_once.measures()["leaves"] > 5


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("bin_sizes", -1),
        ("bin_sizes", 11),
        ("bin_classes", 4),
        ("bin_classes", -1),
        ("start_classes", 3),
        ("start_classes", -1),
    ],
)
def test_arrays_with_which_a_row_would_leave_the_tree_are_refused(
    tree: str, array: str, value: int
):
    X, y = rows_of_words(500)
    learner = begun(tree, X, y)
    learner.learn(X, y)
    state = learner.state()
    state[array].reshape(-1)[0] = value
    with pytest.raises(ValueError, match=f"state does not fit learner {tree}"):
        begun(tree, X, y).restore(state)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("params", [{"splits": "gaussian"}, {"bins": 9}, {"bins": 11}])
def test_states_of_other_splits_are_refused(tree: str, params: dict[str, Any]):
    X, y = rows_of_words(10)
    state = begun(tree, X, y, **params).state()
    with pytest.raises(ValueError, match="state does not fit"):
        begun(tree, X, y).restore(state)
    other = begun(tree, X, y).state()
    with pytest.raises(ValueError, match="state does not fit"):
        begun(tree, X, y, **params).restore(other)


@pytest.mark.parametrize("tree", TREES)
def test_runs_with_normal_distributions_keep_their_definition(tree: str):
    plain = make_learner(tree, {}).resolved_params()
    assert make_learner(tree, {"splits": "gaussian"}).resolved_params() == plain
    assert "splits" not in plain
    assert "bins" not in plain
    params = make_learner(tree, {"splits": "histogram"}).resolved_params()
    assert params == {**plain, "splits": "histogram", "bins": 10}


def test_leaves_of_histograms_count_towards_memory():
    gaussian = make_learner("hoeffding-tree", {})
    histogram = make_learner("hoeffding-tree", {"splits": "histogram"})
    histogram.begin(6, 3)
    leaf = sum(
        array.nbytes
        for name, array in histogram.state().items()
        if name.startswith(("bin_", "start_"))
    )
    bytes_of_two = histogram.state_bytes(6, 3)
    assert 0.9 < bytes_of_two / (2 * leaf) < 1.1
    assert bytes_of_two > gaussian.state_bytes(6, 3)
