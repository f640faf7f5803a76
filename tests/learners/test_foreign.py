"""scikit-learn and River estimators beside ours."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.data.ingest.ingest import ingest
from olscale.data.stream import open_streams
from olscale.errors import OlscaleError
from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.learners.contract.foreign.answers import normality
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import make_learner
from olscale.testing import foreign_checks
from tests.record_bytes import record_bytes

SGD = "sklearn.linear_model:SGDClassifier"


@pytest.fixture(scope="module")
def iris(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small dataset of three classes in several chunks."""
    return Path(
        ingest(
            ["sklearn:iris"],
            str(tmp_path_factory.mktemp("iris") / "iris"),
            chunk_rows=64,
        ).path
    )


@pytest.mark.parametrize(
    ("name", "datasets"),
    [
        (SGD, ("iris", "sparse")),
        ("sklearn.linear_model:Perceptron", ("dense", "sparse")),
        ("sklearn.naive_bayes:GaussianNB", ("dense", "sparse")),
        ("river.tree:HoeffdingTreeClassifier", ("dense", "sparse")),
        ("river.linear_model:LogisticRegression", ("dense", "sparse")),
        ("river.linear_model:PAClassifier", ("dense", "sparse")),
    ],
)
def test_an_estimator_runs_end_to_end_and_gives_the_same_twice(
    shelf: Path, iris: Path, tmp_path: Path, name: str, datasets: tuple[str, ...]
) -> None:
    if name.startswith("river"):
        pytest.importorskip("river")
    content = {
        "datasets": [
            {"path": str(iris if dataset == "iris" else shelf / dataset)}
            for dataset in datasets
        ],
        "learners": [{"name": name}],
        "protocol": {"order": "time"},
    }
    runs = []
    for place in "ab":
        store = evaluate(
            parse_experiment(content), tmp_path / place, in_process=True
        ).store
        runs.append(record_bytes(store.path))
        assert store.read()["outcome"].to_pylist() == ["ok"] * len(datasets), (
            store.read()["reason"].to_pylist()
        )
    assert runs[0] == runs[1]


@pytest.mark.parametrize(("theirs", "ours"), [("pa1", "pa1"), ("pa2", "pa2")])
def test_scikit_learns_passive_aggressive_makes_our_mistakes(
    shelf: Path, theirs: str, ours: str
) -> None:
    """Fed row by row and asked before each update, so it is scored by the same protocol."""
    pytest.importorskip("sklearn", minversion="1.8")
    stream = open_streams(str(shelf / "dense"), ["standardize"]).train
    params = {
        "loss": "hinge",
        "penalty": None,
        "learning_rate": theirs,
        "eta0": 1.0,
        "fit_intercept": False,
    }
    codes = []
    for learner in (
        make_learner(SGD, {**params, "shuffle": False}),
        make_learner(ours, {"C": 1.0}),
    ):
        learner.begin(stream.columns, 2)
        codes.append(
            np.concatenate(
                [codes_of(learner.learn(chunk.X, chunk.y)) for chunk in stream.chunks()]
            )
        )
    # before the first row there is nothing to ask
    np.testing.assert_array_equal(codes[0][1:], codes[1][1:])


def test_prediction_comes_before_the_update(shelf: Path) -> None:
    chunk = open_streams(str(shelf / "digits")).train.chunk(0)
    y = chunk.y[:40].copy()
    codes = []
    for label in (y[-1], (y[-1] + 1) % 10):
        y[-1] = label
        learner = make_learner(SGD, {})
        learner.begin(chunk.columns, 10)
        codes.append(codes_of(learner.learn(chunk.X[:40], y))[-1])
    assert codes[0] == codes[1]


def test_a_seed_left_open_is_set_and_told() -> None:
    assert make_learner(SGD, {}).resolved_params() == {"random_state": 0}
    assert make_learner(SGD, {"random_state": 7}).resolved_params() == {
        "random_state": 7
    }
    assert make_learner("sklearn.naive_bayes:GaussianNB", {}).resolved_params() == {}


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("nowhere.at_all:Model", {}, "No module named 'nowhere'"),
        ("sklearn.linear_model:Nothing", {}, "no attribute 'Nothing'"),
        ("math:sin", {}, "'math:sin' is no class, nor a function"),
        (":Model", {}, "Empty module name"),
        (SGD, {"alfa": 1}, "'alfa'; did you mean 'alpha'"),
        (SGD, {"alpha": -1}, "'alpha' parameter of SGDClassifier must be"),
        ("sklearn.svm:SVC", {}, "neither partial_fit"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    name: str, params: dict[str, Any], said: str
) -> None:
    with pytest.raises(OlscaleError, match=said) as caught:
        make_learner(name, params)
    assert "\n" not in str(caught.value)


def test_a_binary_river_model_refuses_ten_classes() -> None:
    pytest.importorskip("river")
    with pytest.raises(
        OlscaleError, match="tells two classes apart, the dataset has 10"
    ):
        make_learner("river.linear_model:PAClassifier", {}).begin(64, 10)


OWN = "tests.learners.own_estimators"


def stream(classes: int = 2, rows: int = 300) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    X = 3.0 * np.eye(5)[y] + 0.5 * rng.normal(size=(rows, 5))
    X.flags.writeable = y.flags.writeable = False
    return X, y


def begun(name: str, params: dict[str, Any] | None = None, classes: int = 2) -> Any:
    learner = make_learner(f"{OWN}:{name}", params or {})
    learner.begin(5, classes)
    return learner


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("Scored", {}),
        ("Scored", {"eta": 0.2}),
        ("Silent", {}),
        ("around", {"alpha": 0.01}),
        ("ScaledSteps", {}),
        ("Keywords", {"eta": 0.2}),
        ("Needs", {"eta": 0.2, "beta": 1}),
        ("WithoutClasses", {}),
        ("HoldsLambda", {}),
        ("InName", {}),
        ("Outer.Inner", {}),
        ("RiverLike", {}),
        ("model", {"alpha": 0.01}),
        ("bound", {}),
    ],
)
def test_whatever_a_user_writes_is_taught_and_measured(
    name: str, params: dict[str, Any]
) -> None:
    X, y = stream()
    learner = begun(name, params)
    scores = learner.learn(X, y)
    assert np.isfinite(scores).all()
    assert np.mean(codes_of(scores) != y) < 0.2
    assert learner.measures()["updates"] == len(y)
    learner.begin(5, 2)  # a new model, not the old one
    np.testing.assert_array_equal(learner.learn(X, y), scores)


@pytest.mark.parametrize(
    ("name", "classes", "first"),
    [
        ("ScoredBreaks", 2, 101),
        ("ScoredBreaks", 4, 101),
        ("SilentBreaks", 4, 101),
        ("WrapperBreaks", 2, 101),
        ("RiverLikeBreaks", 2, 101),
    ],
)
def test_a_model_that_breaks_down_scores_nan_from_there_on(
    name: str, classes: int, first: int
) -> None:
    """However the stream is cut into chunks, and after it."""
    X, y = stream(classes)
    for cuts in ([0, 300], [0, 40, 101, 102, 300]):
        learner = begun(name, classes=classes)
        scores = np.concatenate(
            [learner.learn(X[a:b], y[a:b]) for a, b in pairwise(cuts)]
        )
        assert int(np.argmax(np.isnan(scores).any(axis=1))) == first
        assert np.isnan(scores[first:]).all()
    assert np.isnan(learner.scores(X)).all()


def test_such_a_run_ends_as_diverged(shelf: Path, tmp_path: Path) -> None:
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [
            {"name": f"{OWN}:{name}"}
            for name in ("ScoredBreaks", "SilentBreaks", "SaysText", "Scored")
        ],
        "protocol": {"order": "time"},
    }
    store = evaluate(
        parse_experiment(content), tmp_path / "store", in_process=True
    ).store
    found = {
        row["learner"].partition(":")[2]: row
        for row in store.read(["learner", "outcome", "reason"]).to_pylist()
    }
    assert (
        found["ScoredBreaks"]["outcome"]
        == found["SilentBreaks"]["outcome"]
        == "diverged"
    )
    assert found["ScoredBreaks"]["reason"] == "diverged at row 101: score is not finite"
    assert found["SaysText"]["outcome"] == "learner_error"
    assert (
        "', expected a class it was taught: they are the numbers 0 to 1"
        in found["SaysText"]["reason"]
    )
    assert found["Scored"]["outcome"] == "ok"


def test_a_row_that_is_not_finite_is_not_shown_to_a_model() -> None:
    X, y = stream()
    X = X.copy()
    X[7, 1] = np.nan
    for name in ("Scored", "Silent", "RiverLike"):
        scores = begun(name).learn(X, y)
        assert np.isnan(scores).any(axis=1).tolist() == [False] * 7 + [True] * 293


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("SaysText", "predicted '[01]', expected a class it was taught"),
        ("SaysScores", r"an array of shape \(1, 2\) for 1 row"),
        (
            "SaysNaN",
            "predicted nan, expected a class it was taught: they are the numbers 0 to 1",
        ),
        ("SaysMore", "predicted 7, expected"),
    ],
)
def test_what_is_no_class_is_an_error(name: str, said: str) -> None:
    X, y = stream()
    with pytest.raises(ValueError, match=said):
        begun(name).learn(X, y)


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("Scord", {}, r"has no attribute 'Scord'\); did you mean 'Scored'\?"),
        (
            "Scored",
            {"etta": 1},
            r"unknown parameter of learner .* 'etta'; did you mean 'eta'\? there are: eta",
        ),
        ("around", {"alfa": 1}, r"'alfa'; did you mean 'alpha'\?"),
        ("model", {"alfa": 1}, "Invalid parameter 'alfa'"),
        ("Needs", {"eta": 1}, r"needs beta: write .*:Needs:beta=\.\.\."),
        (
            "Around",
            {},
            "needs estimator: .* a class or function of your own that builds the whole",
        ),
        (
            "pipeline",
            {},
            "a scikit-learn Pipeline has none: .*--transform standardize,bias",
        ),
        ("Abstract", {}, "abstract class Abstract"),
        ("Raises", {}, "cannot be made: KeyError: 'no such thing'"),
        (
            "OnlyFit",
            {},
            "neither partial_fit .*; it has fit, which needs all rows at once",
        ),
        ("Outer", {}, "neither partial_fit"),
        (
            "STEP",
            {},
            "is no class, nor a function that returns a model, nor a model; it is a float",
        ),
    ],
)
def test_what_cannot_be_made_says_what_to_do(
    name: str, params: dict[str, Any], said: str
) -> None:
    with pytest.raises(OlscaleError, match=said) as caught:
        begun(name, params)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "sklearn.cluster:MiniBatchKMeans",
            "is a clusterer; expected a classifier, a regressor or",
        ),
        (
            "river.anomaly:GaussianScorer",
            r"finds anomalies of a target, learn_one\(x, y\); expected a detector of rows",
        ),
        ("sklearn.preprocessing:StandardScaler", "has partial_fit but no predict"),
        ("sklearn.linear_model:SGDClassifer", "did you mean 'SGDClassifier'"),
        (
            "broken_module:Model",
            r"\(ZeroDivisionError: division by zero\); .* raised in line 2 of .*broken_module.py",
        ),
        ("exits:Model", r"\(SystemExit: 3\)"),
        (
            "needs_more:Model",
            r"\(ModuleNotFoundError: No module named 'not_there_at_all'\); .* raised in line 1 of",
        ),
        ("whole.py:Model", "a module is named without .py: write whole"),
        (
            "arf:trees=3",
            "arf is a learner of olscale: name it alone, and give parameters",
        ),
        ("mine.Model", "one of your own is named module:Class, perhaps mine:Model"),
    ],
)
def test_what_is_no_classifier_or_cannot_be_imported_says_why(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_module.py").write_text("\n1 / 0\n")
    (tmp_path / "whole.py").write_text("")
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "needs_more.py").write_text("import not_there_at_all\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(OlscaleError, match=said):
        make_learner(name, {})


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("sklearn.linear_model:SGDRegressor", "regression"),
        ("river.linear_model:LinearRegression", "regression"),
        (f"{OWN}:river_regression", "regression"),
        ("sklearn.linear_model:SGDOneClassSVM", "novelty"),
        ("river.anomaly:HalfSpaceTrees", "novelty"),
        (f"{OWN}:river_filter", "novelty"),
    ],
)
def test_regressors_and_detectors_pass_the_checks(name: str, task: str) -> None:
    """And what has not seen a row predicts 0: a number, or that the row is normal."""
    pytest.importorskip("river")
    learner = make_learner(name, {})
    assert learner.task == task
    learner.begin(6, 0 if task == "regression" else 2)
    assert learner.scores(np.ones((2, 6)))[:, 0].min() >= 0.0
    for title, check in foreign_checks(name):
        if not title.startswith("another process"):  # slow
            check()


def test_scikit_learns_regressor_predicts_what_ours_does() -> None:
    X, _ = stream()
    y = X[:, 0] - 2.0 * X[:, 1]
    rule = {
        "loss": "epsilon_insensitive",
        "learning_rate": "pa1",
        "eta0": 0.1,
        "penalty": None,
        "fit_intercept": False,
    }
    predicted = []
    for learner in (
        make_learner("sklearn.linear_model:SGDRegressor", rule),
        make_learner("pa1-r", {"C": 0.1}),
    ):
        learner.begin(5, 0)
        predicted.append(np.concatenate([learner.learn(X, y), learner.scores(X)]))
    np.testing.assert_allclose(*predicted, rtol=1e-9, atol=1e-12)


def test_a_regressor_that_breaks_down_or_says_words() -> None:
    X, y = stream()
    scores = [
        begun(name, classes=0).learn(X, y.astype(float))
        for name in ("OverflowsAtFifty",)
    ]
    assert int(np.argmax(np.isnan(scores[0][:, 0]))) == 50
    with pytest.raises(ValueError, match="predicted 'much', expected a number"):
        begun("SaysMuch", classes=0).learn(X, y.astype(float))


def test_a_filter_decides_what_is_a_novelty() -> None:
    """Its answer is the sign; a higher score of River's is a lower one here."""

    class Filter:
        def classify(self, score: float) -> bool:
            return score >= 3.0

    scores = [
        normality(score, Filter()) for score in (-1e20, -2.0, 0.0, 2.9, 3.0, 7.0, 1e20)
    ]
    assert scores == sorted(scores, reverse=True)
    assert [score >= 0.0 for score in scores] == [True] * 4 + [False] * 3
    assert normality(3.0, object()) == -3.0


def test_pipelines_of_river_are_learners() -> None:
    pytest.importorskip("river")
    X, y = stream()
    learner = begun("river_pipeline")
    assert np.mean(codes_of(learner.learn(X, y)) != y) < 0.1
    with pytest.raises(
        OlscaleError, match="tells two classes apart, the dataset has 4"
    ):
        begun("river_pipeline", classes=4)


@pytest.mark.parametrize(
    ("name", "fails"),
    [
        ("Scored", set()),
        ("Shares", {"the same stream gives the same predictions"}),
        (
            "Chance",
            {
                "the same stream gives the same predictions",
                "a separable stream is learned",
            },
        ),
        ("Writes", {"rows are left as they were"}),
        ("LearnsWhenAsked", {"predicting learns nothing"}),
        ("DislikesZeros", {"rows of zeros break nothing"}),
        ("NeedsAllClassesFirst", {"a stream that begins with one class is fine"}),
        ("CannotBeCloned", {"a copy has the same parameters"}),
        ("KnowsItsProcess", {"another process gives the same predictions"}),
        ("SaysText", {"predictions are classes"}),
        ("LikelyInAnotherOrder", {"the class that is predicted is the likely one"}),
    ],
)
def test_each_check_can_fail(
    name: str, fails: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from olscale.testing import foreign_checks

    failed = set()
    for title, check in foreign_checks(f"{OWN}:{name}"):
        idea = title.partition(" (")[0]
        # Some start a process: of a model with a fault, those run that have to find it.
        if fails and idea not in fails:
            continue
        try:
            check()
        except Exception:
            failed.add(idea)
    assert failed == fails
