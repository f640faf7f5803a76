"""Probabilities of classes: calibrated as the stream goes, by nothing that comes later, and decided by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    f1_score,
    log_loss,
    precision_score,
    recall_score,
)

import olscale
from olscale.data.ingest.ingest import ingest
from olscale.errors import ExperimentError
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.final_models import compute_model
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.execution.evaluate import evaluate
from olscale.learners.calibrator import Calibrator
from olscale.learners.class_probabilities import ClassProbabilities
from olscale.learners.contract.capability import show_margins
from olscale.learners.decision import CostMatrix, F1Threshold
from olscale.results.record import Record
from olscale.results.rows import run_bytes
from tests.cli.command import run
from tests.cluster import Cluster

ROWS = 700
TEST = 100
CLOSE = {"rel": 1e-12, "abs": 0}
ALL = ["log_loss", "brier", "ece", "precision", "recall:a", "f1", "average_precision"]


def dataset(
    path: Path, classes: int, chunk_rows: int = 128, other_from: int = ROWS
) -> tuple[np.ndarray, np.ndarray]:
    """Ingest rows of some classes; those from `other_from` on have the label of the next class."""
    random = np.random.default_rng(classes)
    y = random.integers(0, classes, ROWS + TEST)
    X = random.normal(size=(ROWS + TEST, 4)) + np.eye(4)[y % 4] * 1.5
    y[other_from:ROWS] = (y[other_from:ROWS] + 1) % classes
    labels = np.array(["a", "b", "c"])[y]
    np.savez(path / "train.npz", X=X[:ROWS], y=labels[:ROWS])
    np.savez(path / "test.npz", X=X[ROWS:], y=labels[ROWS:])
    ingest(
        str(path / "train.npz"),
        path / f"data{chunk_rows}",
        test=str(path / "test.npz"),
        chunk_rows=chunk_rows,
    )
    return X, y


def content(
    path: Path, learner: str, chunk_rows: int = 128, **protocol: Any
) -> dict[str, Any]:
    return {
        "datasets": [{"path": str(path / f"data{chunk_rows}")}],
        "learners": [{"name": learner}],
        "protocol": {"order": "time", **protocol},
    }


def begun(
    path: Path, learner: str, chunk_rows: int = 128, **protocol: Any
) -> GroupPass:
    plan = make_plan(parse_experiment(content(path, learner, chunk_rows, **protocol)))
    [group] = cut_groups(plan.runs, plan.sources, 1)
    return GroupPass(group)


def finished(going: GroupPass) -> Record:
    while not going.ended:
        going.advance()
    [record] = going.finish()
    assert record.outcome == "ok", record.reason
    return record


def scores_before_updates(X: np.ndarray, y: np.ndarray, classes: int) -> np.ndarray:
    learner = olscale.make_learner("arow")
    learner.begin(4, classes)
    return np.concatenate([learner.learn(X[:ROWS], y[:ROWS]), learner.scores(X[ROWS:])])


@pytest.mark.parametrize("classes", [2, 3])
def test_measures_are_those_of_scikit_learn(classes: int, tmp_path: Path) -> None:
    X, y = dataset(tmp_path, classes)
    found = finished(
        begun(tmp_path, "arow", measures=ALL, positive="b", window=90)
    ).metrics
    scores = scores_before_updates(X, y, classes)
    calibrator = Calibrator(classes)
    p = np.concatenate(
        [
            calibrator.follow(scores[:ROWS], y[:ROWS]),
            calibrator.probabilities(scores[ROWS:]),
        ]
    )
    predicted = (
        scores.argmax(axis=1) if classes > 2 else (scores[:, 0] >= 0).astype(int)
    )
    ranks = p[:, 1] if classes > 2 else scores[:, 0]
    truth = y if classes > 2 else y == 1
    parts = {
        "": slice(ROWS),
        "test_": slice(ROWS, None),
        "window_": slice(ROWS - 90, ROWS),
    }
    for form, rows in parts.items():
        expected = {
            "log_loss": log_loss(y[rows], p[rows], labels=range(classes)),
            "brier": brier_score_loss(
                truth[rows],
                p[rows] if classes > 2 else p[rows, 1],
                labels=range(classes),
            ),
            "precision": precision_score(y[rows] == 1, predicted[rows] == 1),
            "recall:a": recall_score(y[rows] == 0, predicted[rows] == 0),
            "f1": f1_score(y[rows] == 1, predicted[rows] == 1),
            "average_precision": average_precision_score(y[rows] == 1, ranks[rows]),
        }
        for name, value in expected.items():
            assert found[form + name] == pytest.approx(value, **CLOSE), form + name
        confidence, hit = (
            (p[rows, 1], y[rows] == 1)
            if classes == 2
            else (p[rows].max(axis=1), p[rows].argmax(axis=1) == y[rows])
        )
        bins = np.minimum((15 * confidence).astype(int), 14)
        gaps = [abs((confidence - hit)[bins == b].sum()) for b in range(15)]
        assert found[form + "ece"] == pytest.approx(sum(gaps) / len(hit), rel=1e-9)


def test_bits_are_those_of_any_cut_into_chunks_and_of_a_restored_pass(
    tmp_path: Path,
) -> None:
    dataset(tmp_path, 2)
    dataset(tmp_path, 2, 33)
    asked = {"measures": ALL, "threshold": "f1", "delay": 7, "positive": "b"}
    whole = finished(begun(tmp_path, "arow", **asked))
    other = finished(begun(tmp_path, "arow", 33, **asked))
    half = begun(tmp_path, "arow", **asked)
    while half.position < 3:
        half.advance()
    state = dict(half.state())
    again = begun(tmp_path, "arow", **asked)
    again.restore(state)
    assert whole.metrics == other.metrics == finished(again).metrics
    damaged = {name: a for name, a in state.items() if "probabilities" not in name}
    with pytest.raises(ValueError, match="calibrator"):
        begun(tmp_path, "arow", **asked).restore(damaged)


@pytest.mark.parametrize("protocol", [{}, {"delay": 9}])
def test_nothing_later_changes_a_probability(
    protocol: dict[str, Any], tmp_path: Path
) -> None:
    """The curve up to a row is the same, whatever the labels of that row and of later ones are."""
    curves = []
    for other_from in (ROWS, 400):
        folder = tmp_path / str(other_from)
        folder.mkdir()
        dataset(folder, 2, other_from=other_from)
        record = finished(
            begun(folder, "arow", measures=["log_loss"], threshold="f1", **protocol)
        )
        curves.append(next(s for s in record.series if s.name == "log_loss").values)
    assert (curves[0][:400] == curves[1][:400]).all()
    assert (curves[0][400:] != curves[1][400:]).all()


def test_margins_of_models_without_probabilities_are_calibrated() -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 60)
    X = random.normal(size=(60, 4)) + 2.0 * np.eye(4)[y]
    learner = olscale.make_learner("sklearn.linear_model:SGDClassifier")
    for classes, columns in ((3, 3), (2, 1)):
        learner.begin(4, classes)
        assert show_margins(learner) == columns
        seen = learner.learn(X, y % classes)
        assert seen.shape == (60, columns + columns)
        assert not seen[0].any()
        got = learner.scores(X)[:, columns:]
        expected = learner.estimator.decision_function(X).reshape(60, columns)
        np.testing.assert_array_equal(got, expected)


def test_rows_learned_twice_calibrate_once(tmp_path: Path) -> None:
    """With folds drawn with replacement, probabilities are no better than those of single rows."""
    dataset(tmp_path, 2)
    asked = {
        "split": "prequential-bootstrap",
        "folds": 2,
        "measures": ["ece", "log_loss"],
    }
    plan = make_plan(parse_experiment(content(tmp_path, "arow", **asked)))
    [group] = cut_groups(plan.runs, plan.sources, 1)
    going = GroupPass(group)
    while not going.ended:
        going.advance()
    for record in going.finish():
        assert record.metrics["log_loss"] < 0.6
    scoring = plan.runs[0].stream.scoring
    learned = [(scoring.folds.weights(fold, 0, ROWS) > 0).sum() for fold in range(2)]
    # The sums of the nodes fade only with rows that are counted there, all of them together.
    taught = [
        state.probabilities.calibrator.state()["nodes"][1].sum()
        for state in going.states
    ]
    assert all(
        0.5 * rows < sums <= rows for rows, sums in zip(learned, taught, strict=True)
    )


def test_a_threshold_of_costs_takes_the_least_expected_cost(tmp_path: Path) -> None:
    X, y = dataset(tmp_path, 3)
    costs = [[0, 1, 1], [1, 0, 1], [20, 20, 0]]
    plain = finished(begun(tmp_path, "arow", measures=["recall:c"])).metrics
    found = finished(
        begun(
            tmp_path, "arow", measures=["recall:c", "cost"], threshold=costs, window=50
        )
    ).metrics
    assert plain["recall:c"] < 0.9 < found["recall:c"]
    scores = scores_before_updates(X, y, 3)
    p = Calibrator(3).follow(scores[:ROWS], y[:ROWS])
    codes = (p @ np.array(costs)).argmin(axis=1)
    expected = np.array(costs)[y[:ROWS], codes]
    assert found["cost"] == pytest.approx(expected.mean(), **CLOSE)
    assert found["window_cost"] == pytest.approx(expected[-50:].mean(), **CLOSE)
    assert found["mistakes"] == (codes != y[:ROWS]).sum()


def test_the_threshold_of_f1_finds_the_best_one() -> None:
    """On probabilities that are right, later decisions have nearly the best F1 in hindsight."""
    random = np.random.default_rng(0)
    p = random.beta(0.5, 6.0, 20_000)
    y = (random.random(20_000) < p).astype(int)
    both = np.stack([1 - p, p], axis=1)
    codes = F1Threshold(1).follow(both, y)
    late = slice(5_000, None)
    best = max(f1_score(y[late], p[late] > t) for t in np.linspace(0.02, 0.6, 59))
    assert (
        f1_score(y[late], codes[late])
        > 0.95 * best
        > 1.2 * f1_score(y[late], p[late] > 0.5)
    )
    mirrored = F1Threshold(0).follow(both[:, ::-1], 1 - y)
    np.testing.assert_array_equal(mirrored, 1 - codes)


def test_saved_models_decide_and_learn_on_as_the_run_did(tmp_path: Path) -> None:
    X, y = dataset(tmp_path, 2)
    asked = {"measures": ["ece"], "threshold": [[0, 1], [9, 0]], "keep_model": True}
    record = finished(begun(tmp_path, "arow", **asked))
    model = compute_model(record, str(tmp_path / "data128"))
    model.save(tmp_path / "m.olm")
    loaded = olscale.load_model(tmp_path / "m.olm")
    scores = loaded.learner.scores(X[ROWS:])
    p = loaded.probabilities.of(scores)
    np.testing.assert_array_equal(p, model.probabilities.of(scores))
    predicted = loaded.predict(X[ROWS:]) == "b"
    np.testing.assert_array_equal(
        predicted, CostMatrix([[0, 1], [9, 0]]).decide(p) == 1
    )
    assert np.mean(predicted != (y[ROWS:] == 1)) == record.metrics["test_error"]
    labels = np.array(["a", "b"])[y[ROWS:]]
    loaded.partial_fit(X[ROWS:], labels)
    for row, label in zip(X[ROWS:], labels, strict=True):
        model.partial_fit([row], [label])
    for name, array in loaded.arrays().items():
        np.testing.assert_array_equal(array, model.arrays()[name], err_msg=name)
    with pytest.raises(ValueError, match="of 3 classes"):
        ClassProbabilities.from_state(
            ClassProbabilities(Calibrator(3), None).state(), 2
        )
    for name, value, reason in (
        ("calibrator.nodes", -20.0, "a sum of weights below 0"),
        ("calibrator.biases", np.nan, "cannot have learned"),
        ("decision.costs", np.inf, "not of finite numbers"),
    ):
        damaged = loaded.probabilities.state()
        damaged[name][...] = value
        with pytest.raises(ValueError, match=reason):
            ClassProbabilities.from_state(damaged, 2)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (
            {"measures": ["recall:d"]},
            "measures has 'recall:d', and the classes are 'a', 'b', 'c'",
        ),
        (
            {"measures": ["f1"]},
            "which is of one class, not of 3; name it: positive = LABEL",
        ),
        (
            {"measures": ["f1"], "positive": "x"},
            "positive was 'x', and the classes are",
        ),
        ({"threshold": "f1"}, "threshold was 'f1', which is for two classes, not 3"),
        (
            {"threshold": "0,1;1,0"},
            "threshold has costs of 2 classes, expected a list for each",
        ),
        ({"threshold": "f2"}, "threshold was 'f2', expected 'f1', or what it costs"),
        (
            {"threshold": [[0, 1]]},
            r"threshold was \[\[0, 1\]\], expected 'f1', or what",
        ),
        ({"positive": "a"}, "positive was 'a', and nothing asks for that class"),
        ({"measures": ["precision:"]}, "precision:"),
        (
            {"threshold": "0,1,1;1,0,1;1,1,0", "costs": [1, 1, 1]},
            "costs does not go with a threshold",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    asked: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    dataset(tmp_path, 3)
    with pytest.raises(ExperimentError, match=reason):
        make_plan(parse_experiment(content(tmp_path, "arow", **asked)))


def test_models_that_only_say_which_class_have_no_probabilities(tmp_path: Path) -> None:
    dataset(tmp_path, 2)
    (tmp_path / "only_says.py").write_text(
        "from sklearn.base import BaseEstimator, ClassifierMixin\n"
        "class Says(ClassifierMixin, BaseEstimator):\n"
        "    def partial_fit(self, X, y, classes=None): return self\n"
        "    def predict(self, X): return [0] * len(X)\n"
    )
    import sys

    sys.path.insert(0, str(tmp_path))
    try:
        reason = "only_says:Says only says which class, so it has no probabilities, and protocol"
        for asked in ({"measures": ["ece"]}, {"threshold": "f1"}):
            with pytest.raises(ExperimentError, match=reason):
                make_plan(
                    parse_experiment(content(tmp_path, "only_says:Says", **asked))
                )
        made = make_plan(
            parse_experiment(content(tmp_path, "only_says:Says", measures=["f1"]))
        )
        assert len(made.runs) == 1
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("only_says", None)


def test_runs_without_these_options_are_called_what_they_were(tmp_path: Path) -> None:
    dataset(tmp_path, 2)
    [run] = make_plan(
        parse_experiment(content(tmp_path, "arow", measures=["log_loss"]))
    ).runs
    assert run.stream.scoring.definition() == {"measures": ("log_loss",)}
    one, other = (
        make_plan(
            parse_experiment(content(tmp_path, "arow", threshold=threshold))
        ).runs[0]
        for threshold in ("0, 1; 10.0, 0", [[0, 1], [10, 0]])
    )
    assert one.id == other.id != run.id


def test_workers_and_this_process_write_the_same_bytes(
    tmp_path: Path, cluster: Cluster
) -> None:
    """Also settings that share a pass, and a run in time order in an actor."""
    dataset(tmp_path, 3)
    asked = {
        "measures": ALL,
        "positive": "c",
        "threshold": "0,1,1;2,0,1;3,1,0",
        "window": 40,
    }
    experiment = content(tmp_path, "pa1", **asked)
    experiment["learners"][0]["params"] = {"C": [0.1, 1.0]}
    stores = [
        evaluate(
            parse_experiment(experiment), str(tmp_path / name), progress=False, **where
        ).store
        for name, where in (
            ("here", {"in_process": True}),
            ("there", {"scheduler": cluster.scheduler}),
        )
    ]
    here, there = (
        {id: run_bytes(store.get(id)) for id in store.done()} for store in stores
    )
    assert len(here) == 2
    assert here == there


def test_tables_and_curves_name_classes_by_their_labels(tmp_path: Path) -> None:
    dataset(tmp_path, 2)
    words = ("--order", "time", "--in-process", "--store", "runs", "--window", "60")
    asked = ("--measures", "recall:b,f1", "--positive", "a", "--threshold", "f1")
    done = run(
        "evaluate",
        "--dataset",
        "data128",
        "--learner",
        "arow",
        *words,
        *asked,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    table = run("results", "runs", "--metric", "recall:b", cwd=tmp_path)
    assert (
        "Recall of b (%), time order, measures recall:b f1, positive a, threshold f1"
        in (table.stdout)
    )
    curve = run("results", "runs", "--curve", "window_recall:b", cwd=tmp_path).stdout
    assert "window recall of b (%)" in curve.lower()
    assert "700" in curve
    report = run("report", "runs", "--out", "page", cwd=tmp_path)
    assert report.returncode == 0, report.stderr
    assert list((tmp_path / "page" / "figures").glob("*window-recall*"))
