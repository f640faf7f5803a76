"""Weights of rows and classes: what they scale in each rule, and the face that scikit-learn asks for.

That weights of 1 change nothing, that no cut does, and the like are checks of every learner
(`olscale.testing`).
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import sklearn
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import Ridge, SGDClassifier, SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter

from olscale.compiled.csr import read_only
from olscale.compiled.decorator import is_ours
from olscale.errors import ParameterError
from olscale.learners import LOL, OGD, PA, PA1, SGDR, Pegasos, Perceptron
from olscale.learners.contract.capability import looks_ahead
from olscale.learners.contract.class_axes import class_axes
from olscale.learners.contract.fused_settings import grid_key
from olscale.learners.contract.learner import learn_rows
from olscale.learners.contract.merged_sums import mergeable
from olscale.learners.linear.first_order import LinearLearner
from olscale.learners.linear.passive_aggressive import PARule
from olscale.learners.registry import learner_class, learner_names, make_learner
from tests.few_trees import few_trees

ROWS = 150
RANDOM = np.random.default_rng(5)
X = read_only(RANDOM.normal(size=(ROWS, 4)))
Y = read_only((X[:, 0] + 0.5 * RANDOM.normal(size=ROWS) > 0.4).astype(np.int64))
TARGETS = read_only(
    X @ np.array([1.0, -2.0, 0.5, 0.0]) + 0.3 * RANDOM.normal(size=ROWS)
)
WEIGHTS = read_only(RANDOM.uniform(0.0, 3.0, size=ROWS))
TWICE = read_only(RANDOM.integers(1, 3, size=ROWS).astype(np.float64))

OF_THE_SLACK = [
    "pa1",
    "pa2",
    "scw1",
    "scw2",
    "lol",
    "ilol",
    "soft-lol",
    "pamo1",
    "pamo2",
    "olk",
    "bpas",
    "svm",
]
OF_THE_SLACK_OF_TARGETS = ["pa1-r", "pa2-r", "olk-r", "svr", "ls-svm"]
OF_A_STEP = ["ogd-kernel", "fogd", "nogd", "kernel-perceptron-r", "sgd-r"]
OF_THE_SQUARE = ["rls", "ridge", "krls", "oselm", "oselm-r", "rff-rls", "rff-rls-r"]


def labels_of(name: str) -> NDArray[Any]:
    return TARGETS if learner_class(name).task == "regression" else Y


def begun(name: str, **params: Any) -> Any:
    learner = make_learner(name, params)
    learner.begin(X.shape[1], 0 if learner.task == "regression" else 2)
    if looks_ahead(learner):
        learner.prepare(X)
    return learner


@pytest.mark.parametrize(
    ("name", "parameter", "factor"),
    [
        *(
            (name, "C", 2.0)
            for name in (*OF_THE_SLACK, *OF_THE_SLACK_OF_TARGETS, "ogd")
        ),
        *((name, "eta", 2.0) for name in OF_A_STEP),
        ("arow", "r", 0.5),
    ],
)
def test_a_weight_of_all_rows_is_a_parameter(
    name: str, parameter: str, factor: float
) -> None:
    """Weights of 2 are exact, and give the bits of the parameter times 2."""
    small = 0.05 if parameter in ("C", "eta") else 1.0
    weighted = begun(name, **{parameter: small})
    scaled = begun(name, **{parameter: small * factor})
    plain = begun(name, **{parameter: small})
    scores = learn_rows(weighted, X, labels_of(name), read_only(np.full(ROWS, 2.0)))
    np.testing.assert_array_equal(scores, scaled.learn(X, labels_of(name)))
    np.testing.assert_array_equal(weighted.scores(X), scaled.scores(X))
    assert (scores != plain.learn(X, labels_of(name))).any()


def test_the_diagonal_form_of_arow_divides_r_too() -> None:
    weighted = begun("arow", covariance="diagonal")
    scaled = begun("arow", r=0.5, covariance="diagonal")
    scores = learn_rows(weighted, X, Y, read_only(np.full(ROWS, 2.0)))
    np.testing.assert_array_equal(scores, scaled.learn(X, Y))


@pytest.mark.parametrize("name", OF_THE_SQUARE)
def test_of_least_squares_a_weight_of_two_is_the_row_twice(name: str) -> None:
    weighted = begun(name)
    repeated = begun(name)
    learn_rows(weighted, X, labels_of(name), TWICE)
    again = np.repeat(np.arange(ROWS), TWICE.astype(np.int64))
    repeated.learn(read_only(X[again]), read_only(labels_of(name)[again]))
    np.testing.assert_allclose(
        weighted.scores(X), repeated.scores(X), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("name", ["oselm", "rff-rls-r"])
def test_sums_of_weighted_rows_make_the_final_model(name: str) -> None:
    along = begun(name)
    summed = begun(name)
    learn_rows(along, X, labels_of(name), WEIGHTS)
    sums = summed.no_sums()
    summed.add_rows(X, labels_of(name), sums, WEIGHTS)
    summed.take_sums(summed.end_sums(sums))
    np.testing.assert_allclose(summed.scores(X), along.scores(X), rtol=1e-5, atol=1e-7)


def test_gradient_descent_is_that_of_scikit_learn() -> None:
    once = {
        "penalty": None,
        "fit_intercept": False,
        "shuffle": False,
        "max_iter": 1,
        "tol": None,
    }
    falling = {"learning_rate": "invscaling", "power_t": 0.5, "eta0": 0.1, **once}
    expected = (
        SGDClassifier(loss="hinge", **falling).fit(X, Y, sample_weight=WEIGHTS).coef_
    )
    np.testing.assert_allclose(
        OGD(C=0.1).fit(X, Y, sample_weight=WEIGHTS).coef_, expected, rtol=1e-12
    )
    expected = SGDRegressor(**falling).fit(X, TARGETS, sample_weight=WEIGHTS).coef_
    np.testing.assert_allclose(
        SGDR(eta=0.1).fit(X, TARGETS, sample_weight=WEIGHTS).coef_, expected, rtol=1e-12
    )


@pytest.mark.parametrize("name", ["ridge", "rls"])
def test_ridge_is_that_of_scikit_learn(name: str) -> None:
    expected = (
        Ridge(alpha=1.0, fit_intercept=False)
        .fit(X, TARGETS, sample_weight=WEIGHTS)
        .coef_
    )
    learner: Any = make_learner(name)
    np.testing.assert_allclose(
        learner.fit(X, TARGETS, sample_weight=WEIGHTS).coef_, expected, rtol=1e-10
    )


def test_ridge_by_the_root_mean_square_takes_no_weights() -> None:
    with pytest.raises(ParameterError, match="scaling = 'rms'"):
        learn_rows(begun("ridge", scaling="rms"), X, TARGETS, WEIGHTS)


def test_perceptron_and_pegasos_by_hand() -> None:
    w = np.zeros(4)
    v = np.zeros(4)
    lam = 0.1
    for t, (x, y, weight) in enumerate(zip(X, 2.0 * Y - 1.0, WEIGHTS, strict=True), 1):
        if (w @ x >= 0.0) != (y > 0.0):
            w += weight * y * x
        step = weight * y * x / (lam * t) if y * (v @ x) < 1.0 else 0.0
        v = (1.0 - 1.0 / t) * v + step
    np.testing.assert_allclose(
        Perceptron().fit(X, Y, sample_weight=WEIGHTS).coef_[0], w, rtol=1e-12
    )
    np.testing.assert_allclose(
        Pegasos(lam=lam).fit(X, Y, sample_weight=WEIGHTS).coef_[0], v, rtol=1e-10
    )


def test_balanced_classes_of_a_fit_are_those_of_scikit_learn() -> None:
    expected = (
        PA1(C=0.1).fit(X, Y, sample_weight=compute_sample_weight("balanced", Y)).coef_
    )
    balanced = PA1(C=0.1, class_weight="balanced").fit(X, Y)
    np.testing.assert_array_equal(balanced.coef_, expected)
    assert balanced.state_["class_counts"].tolist() == np.bincount(Y).tolist()
    assert (
        PA1(C=0.1, class_weight="balanced").partial_fit(X, Y).coef_ != expected
    ).any()


@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [-1.0, 1.0], [False, True]])
def test_classes_are_weighed_by_their_labels(labels: list[Any]) -> None:
    y = np.array(labels)[Y]
    weights = np.where(Y == 1, 5.0, 1.0) * WEIGHTS
    expected = PA1(C=0.1).fit(X, y, sample_weight=weights).coef_
    learner: Any = make_learner("pa1", {"C": 0.1, "class_weight": {labels[1]: 5}})
    np.testing.assert_array_equal(
        learner.fit(X, y, sample_weight=WEIGHTS).coef_, expected
    )
    named: Any = make_learner("pa1", learner.resolved_params())
    np.testing.assert_array_equal(
        named.partial_fit(X, y, sample_weight=WEIGHTS).coef_, expected
    )


@pytest.mark.parametrize("label", [1.0, np.float32(1.0), np.int64(1), "1"])
def test_a_whole_number_names_its_class_with_a_point_and_without(label: Any) -> None:
    expected = PA1(C=0.1, class_weight={1: 5}).fit(X, Y).coef_
    np.testing.assert_array_equal(
        PA1(C=0.1, class_weight={label: 5}).fit(X, Y).coef_, expected
    )


@pytest.mark.parametrize(
    ("class_weight", "words"),
    [
        ("even", "'balanced', or a weight"),
        ({}, "'balanced', or a weight"),
        ({0: -1.0}, "class 0 was -1.0"),
        ({0: np.inf}, "class 0 was inf"),
        ({0: 1.0, "0": 2.0}, "one weight a label"),
        ({"spam": 2.0}, "names 'spam', and the classes are '0', '1'"),
    ],
)
def test_odd_weights_of_classes_are_refused(class_weight: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words) as refusal:
        PA1(class_weight=class_weight).fit(X, Y)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "weights",
    [
        [1.0, 2.0],
        np.ones((ROWS, 2)),
        -WEIGHTS,
        np.full(ROWS, np.nan),
        np.full(ROWS, np.inf),
    ],
)
@pytest.mark.parametrize("learner", [PA1(), SGDR()])
def test_odd_weights_of_rows_are_refused(learner: Any, weights: Any) -> None:
    with pytest.raises(ValueError, match=r"[Ss]ample.weight") as refusal:
        learner.fit(X, Y, sample_weight=weights)
    assert "\n" not in str(refusal.value)
    with pytest.raises(ValueError, match=r"[Ss]ample.weight"):
        learner.partial_fit(X, Y, sample_weight=weights)


def test_rows_that_all_weigh_nothing_are_refused_by_fit_alone() -> None:
    with pytest.raises(ValueError, match="sample_weight was zero for all rows"):
        PA1().fit(X, Y, sample_weight=0.0)
    assert not PA1().partial_fit(X, Y, sample_weight=0.0).coef_.any()


@pytest.mark.parametrize(
    "weights", [2, 2.0, [2] * ROWS, np.full(ROWS, 2, dtype=np.int32)]
)
def test_numbers_and_lists_are_weights(weights: Any) -> None:
    expected = PA1(C=0.2).fit(X, Y).coef_
    np.testing.assert_array_equal(
        PA1(C=0.1).fit(X, Y, sample_weight=weights).coef_, expected
    )


def test_parameters_that_are_not_set_change_nothing() -> None:
    """A run is known by its parameters: one that weighs no classes is what it was before there were such weights."""
    assert make_learner("pa1").resolved_params() == {
        "C": 1.0,
        "dtype": "float64",
        "multiclass": "max-score",
    }
    assert set(begun("pa1").state()) == {"seen", "updates", "W"}
    assert repr(PA1(C=0.5)) == "PA1(C=0.5)"
    assert (
        PA1(C=0.5, class_weight="balanced").get_params()["class_weight"] == "balanced"
    )


def test_what_weighs_classes_learns_alone() -> None:
    balanced = {"class_weight": "balanced"}
    assert grid_key(make_learner("pa1")) is not None
    assert grid_key(make_learner("pa1", balanced)) is None
    assert class_axes(make_learner("lol"), 4) is not None
    assert class_axes(make_learner("lol", balanced), 4) is None
    assert mergeable(make_learner("oselm"))
    assert not mergeable(make_learner("oselm", balanced))


@pytest.mark.parametrize("name", learner_names())
def test_scikit_learn_knows_which_take_weights(name: str) -> None:
    target = learner_class(name)
    assert has_fit_parameter(target(), "sample_weight") == target.takes_weights
    assert ("class_weight" in target().get_params()) == (
        target.takes_weights and target.task == "classification"
    )


def test_ensembles_say_which_take_weights() -> None:
    AdaBoostClassifier(PA1(), n_estimators=3).fit(X, Y)
    with pytest.raises(ValueError, match="doesn't support sample_weight"):
        AdaBoostClassifier(PA()).fit(X, Y)


def test_weights_are_routed_through_pipelines() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        steps = (
            StandardScaler().set_fit_request(sample_weight=False),
            PA1(C=0.1).set_fit_request(sample_weight=True),
        )
        pipeline = make_pipeline(*steps).fit(X, Y, sample_weight=WEIGHTS)
    expected = PA1(C=0.1).fit(
        StandardScaler().fit_transform(X), Y, sample_weight=WEIGHTS
    )
    np.testing.assert_array_equal(pipeline[-1].coef_, expected.coef_)


class OldPA1(PA1):
    """A learner from before there were weights, derived from one that takes them today."""

    def learn(self, X, y):  # type: ignore[no-untyped-def, override]
        return super().learn(X, y)


class NoSlack(PA1):
    """A learner whose rule has no weight."""

    def _rule(self) -> PARule:
        return PARule()


@pytest.mark.parametrize(
    "learner", [PA(), OldPA1(), NoSlack(), OldPA1(class_weight="balanced")]
)
def test_a_rule_without_a_weight_is_refused(learner: LinearLearner) -> None:
    def learn() -> None:
        learner.begin(4, 2)
        learn_rows(learner, X, Y, WEIGHTS)

    with pytest.raises(
        ParameterError,
        match="takes no weights of rows: its rule has no loss that could",
    ) as refusal:
        learn()
    assert "\n" not in str(refusal.value)


def test_prototypes_move_by_rows_whatever_they_weigh() -> None:
    light = LOL(k=3).partial_fit(X, Y, sample_weight=0.0)
    np.testing.assert_array_equal(light.prototypes_, LOL(k=3).fit(X, Y).prototypes_)
    assert not light.decision_function(X).any()


def forms_of_loops() -> dict[str, int]:
    """Return how many types of arguments each compiled loop has machine code for in this process."""
    loops: dict[str, int] = {}
    for module in [sys.modules[name] for name in sys.modules if is_ours(name)]:
        for value in vars(module).values():
            if isinstance(value, Dispatcher):
                loops[f"{value.__module__}.{value.__name__}"] = len(value.signatures)
    return loops


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in learner_names()
        # a branch at each row takes a twentieth of its time
        if learner_class(name).takes_weights and name != "pegasos"
    ],
)
def test_rows_with_weights_need_no_machine_code_of_their_own(name: str) -> None:
    learner = begun(name, **few_trees(name))
    rows = np.abs(X) if not learner.takes_negative else X
    learner.learn(rows, labels_of(name))
    before = forms_of_loops()
    learner.learn(rows, labels_of(name), WEIGHTS)
    assert forms_of_loops() == before
