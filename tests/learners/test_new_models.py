"""Each run begins with a new model: untrained, alone, and with seeds that are set."""

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from olscale.data.ingest.ingest import ingest
from olscale.errors import OlscaleError
from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.learners.registry import make_learner
from olscale.testing import foreign_checks

pytest.importorskip("river")

HERE = "tests.learners.shared_models"
Outcomes = list[tuple[float | str, bool]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Outcomes]:
    """Return a function that evaluates a model over three permutations: mistakes or reasons, and whether they are marked."""
    folder = tmp_path_factory.mktemp("runs")
    draw = np.random.default_rng(0)
    y = draw.integers(0, 2, 150)
    np.savez(folder / "rows.npz", X=y[:, np.newaxis] + draw.normal(size=(150, 3)), y=y)
    data = ingest([str(folder / "rows.npz")], str(folder / "rows"), chunk_rows=40).path

    def evaluated(name: str, **options: Any) -> Outcomes:
        content = {
            "datasets": [{"path": data}],
            "learners": [{"name": f"{HERE}:{name}"}],
            "protocol": {"order": "permuted", "permutations": 3},
        }
        place = folder / "store"
        shutil.rmtree(place, ignore_errors=True)
        store = evaluate(
            parse_experiment(content), place, **({"in_process": True} | options)
        ).store
        table = store.read(["metrics", "reason"]).to_pylist()
        metrics = [dict(row["metrics"]) for row in table]
        return [
            (of.get("mistakes", row["reason"]), "not_reproducible" in of)
            for of, row in zip(metrics, table, strict=True)
        ]

    return evaluated


@pytest.mark.parametrize(
    ("shared", "new"),
    [
        ("one_of_river", "new_of_river"),
        ("one_of_scikit_learn", "new_of_scikit_learn"),
        ("Weights", "new_hidden"),
        ("kept", "new_hidden"),
        ("Remembers", "new_hidden"),
    ],
)
def test_what_can_be_cloned_learns_for_its_run_alone(
    run: Callable[..., Outcomes], shared: str, new: str
) -> None:
    """The ids of runs order a store: the same figures come in any order."""
    assert sorted(run(shared)) == sorted(run(new))


def test_workers_have_new_models_too(
    run: Callable[..., Outcomes], cluster: Any
) -> None:
    alone = run("one_of_river")
    assert run("one_of_river", in_process=False, scheduler=cluster.scheduler) == alone


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "Default",
            "models of it share Default.weights, so that what one learns others know",
        ),
        (
            "one_hidden",
            r"the same Hidden in each call, and cannot be cloned \(.*source is no attribute of it",
        ),
        (
            "hidden",
            "without get_params, of which nobody can say whether it has learned before",
        ),
        (
            "experienced",
            "nobody can say whether it has learned before .it may have learned its weights",
        ),
        ("taught_of_river", "Pipeline is trained where it is made"),
        ("taught_hidden", "Hidden is trained where it is made"),
        (
            "trained",
            "SGDClassifier has learned before, its [a-z]+.* is not that of an untrained one",
        ),
        ("trained_of_scikit_learn", "SGDClassifier has learned before"),
    ],
)
def test_what_is_shared_or_trained_is_refused_by_name(name: str, reason: str) -> None:
    with pytest.raises(
        OlscaleError, match=f"learner {HERE}:{name}.*{reason}"
    ) as caught:
        make_learner(f"{HERE}:{name}", {})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "holder"), [("InClass", "InClass.weights"), ("InModule", f"{HERE}.KNOWN")]
)
def test_what_stands_outside_of_models_ends_the_runs(
    run: Callable[..., Outcomes], name: str, holder: str
) -> None:
    outcomes = run(name)
    assert [
        str(reason).startswith(f"models of it share {holder}, ")
        for reason, _ in outcomes
    ] == [True] * 3


@pytest.mark.parametrize(
    "name",
    [
        "OfNumpy",
        "OfPython",
        "OfClass",
        "OfProcess",
        "SeededLater",
        "seeded_later",
        "bagged",
        "graph",
    ],
)
def test_open_seeds_that_can_be_found_are_set(
    run: Callable[..., Outcomes], name: str
) -> None:
    first = run(name)
    assert run(name) == first
    assert not any(is_marked for _, is_marked in first)


def test_permutations_have_seeds_of_their_own() -> None:
    draws = []
    for entropy in ((0, 0), (0, 1), (1, 0), (0, 1)):
        learner = make_learner(f"{HERE}:OfNumpy", {})
        learner.begin(2, 2, entropy)
        draws.append(learner.estimator.draw())  # type: ignore[attr-defined]
    assert len(set(draws)) == 3
    assert draws[1] == draws[3]


def test_what_draws_from_the_clock_is_marked(run: Callable[..., Outcomes]) -> None:
    assert [is_marked for _, is_marked in run("OfClock")] == [True] * 3


@pytest.mark.parametrize("chunk_rows", [7, 64])
def test_the_mark_does_not_depend_on_chunks(chunk_rows: int) -> None:
    """Differences show in the fiftieth row at the earliest, whatever pieces the rows come in."""
    from olscale.evaluation.rehearsal import ROWS, Rehearsal
    from olscale.learners.contract.learner import Learner

    def make() -> Learner:
        learner = make_learner(f"{HERE}:OfClock", {})
        learner.begin(2, 2)
        return learner

    rehearsal = Rehearsal(make, ())
    X = np.zeros((2 * ROWS, 2))
    y = np.zeros(2 * ROWS, dtype=np.int64)
    for start in range(0, ROWS, chunk_rows):
        assert not rehearsal.differs
        rehearsal.see(X[start : start + chunk_rows], y[start : start + chunk_rows])
    assert rehearsal.differs


def ranking(name: str) -> tuple[Any, Any, Any]:
    """Return a learner, its scores along a stream, and what its model itself says of the same rows."""
    draw = np.random.default_rng(0)
    y = draw.integers(0, 2, 80)
    X = y[:, np.newaxis] + draw.normal(size=(80, 3))
    learner = make_learner(name, {})
    learner.expect_ranking()  # type: ignore[attr-defined]
    learner.begin(3, 2)
    learner.learn(X, y)
    return learner, learner.scores(X), X


@pytest.mark.parametrize(
    ("name", "own"),
    [
        (
            "sklearn.linear_model:SGDClassifier",
            lambda model, X: model.decision_function(X),
        ),
        (
            "sklearn.naive_bayes:GaussianNB",
            lambda model, X: model.predict_proba(X)[:, 1],
        ),
        (
            "tests.learners.own_estimators:Scored",
            lambda model, X: np.diff(model.decision_function(X))[:, 0],
        ),
        (
            "river.linear_model:LogisticRegression",
            lambda model, X: np.array(
                [
                    model.predict_proba_one(dict(enumerate(row)))[True]
                    for row in X.tolist()
                ]
            ),
        ),
    ],
)
def test_rows_are_ranked_by_the_models_own_scores(
    name: str, own: Callable[[Any, Any], Any]
) -> None:
    learner, scores, X = ranking(name)
    assert scores.shape == (80, 2)
    assert not learner.ranks_by_class
    with np.errstate(all="ignore"):
        expected = own(learner.estimator, X)
    np.testing.assert_array_equal(scores[:, 1], expected)
    assert set(scores[:, 0]) == {-1.0, 1.0}


@pytest.mark.parametrize(
    "name",
    ["tests.learners.own_estimators:RiverLike", "tests.learners.own_estimators:InName"],
)
def test_a_model_that_only_says_which_class_is_told_apart(name: str) -> None:
    """Also one that has the method in name only, which shows when it is called."""
    learner, scores, _ = ranking(name)
    assert learner.ranks_by_class
    np.testing.assert_array_equal(scores[:, 0], scores[:, -1])


def test_scores_of_the_first_class_fail_the_check() -> None:
    found = dict(foreign_checks(f"{HERE}:Backwards"))
    with pytest.raises(AssertionError, match="the first class has the higher score"):
        found["scores rank rows as classes do (2 classes)"]()
