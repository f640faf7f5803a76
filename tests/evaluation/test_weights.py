"""Rows count by their weights: learners get the weight of each row that they learn, measures count by it where asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from olscale.data.ingest.ingest import ingest
from olscale.data.stream import Shuffle
from olscale.errors import ExperimentError, ParameterError
from olscale.evaluation.class_shards import ShardPass, merge_shards
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.metrics import METRICS, Metric, StreamShape
from olscale.evaluation.plan import PlannedExperiment, make_plan
from olscale.evaluation.resolve import open_experiment, resolve
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.shard_cuts import can_shard, cut_shards
from olscale.evaluation.summed_rows import LEAST_ROWS, SumsPass
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import make_learner
from olscale.results.opening import open_store
from olscale.results.rows import run_bytes
from olscale.results.scratch import Scratch
from tests.evaluation.weighted import ROWS, planned, records, rows_of, scores_along

SGD = "sklearn.linear_model:SGDClassifier"


@pytest.mark.parametrize("shuffle", [None, Shuffle(0, 1)])
@pytest.mark.parametrize("name", ["two", "three"])
def test_learners_get_the_weight_of_each_row(
    weighted_sets: Path, name: str, shuffle: Shuffle | None
) -> None:
    order = {} if shuffle is None else {"order": "permuted", "permutations": 2}
    record = records(
        planned(weighted_sets / name, {"name": "pa1", "params": {"C": 0.1}}, **order)
    )[-1]
    predicted = codes_of(scores_along("pa1", {"C": 0.1}, weighted_sets / name, shuffle))
    _, y, _ = rows_of(weighted_sets / name, shuffle=shuffle)
    assert record.metrics["mistakes"] == np.count_nonzero(predicted != y)
    plain = records(
        planned(
            weighted_sets / name,
            {"name": "pa1", "params": {"C": 0.1}},
            **order,
            weights=None,
        )
    )[-1]
    assert plain.metrics["mistakes"] != record.metrics["mistakes"]
    assert "weights" not in plain.run["protocol"]
    assert record.run["protocol"]["weights"] == "w"


@pytest.mark.parametrize(
    "protocol",
    [
        {},
        {"delay": 7},
        {"delay": 100, "order": "permuted", "permutations": 1},
        {"split": "prequential-bootstrap", "folds": 2},
        {"holdout_every": 50, "holdout_rows": 20},
        {"burn_in": 100, "window": 30, "fading": 0.9},
        {"split": "kfold", "folds": 2, "order": "permuted", "permutations": 1},
    ],
)
@pytest.mark.parametrize("weighted_measures", [False, True])
def test_a_run_that_is_resumed_is_the_same_to_the_byte(
    weighted_sets: Path, protocol: dict[str, Any], weighted_measures: bool
) -> None:
    learners = [
        {"name": "pa1", "params": {"C": [0.1, 1.0]}},
        {"name": "pa1", "params": {"class_weight": "balanced"}},
    ]
    options = {
        "measures": ["kappa", "auc", "confusion"],
        "weighted_measures": weighted_measures,
        **protocol,
    }
    plan = planned(weighted_sets / "two", *learners, **options)
    at_once = [run_bytes(record) for record in records(plan)]
    assert [run_bytes(record) for record in records(plan, stop=3)] == at_once


@pytest.mark.parametrize("delay", [1, 5, 100])
def test_a_late_label_brings_its_weight(weighted_sets: Path, delay: int) -> None:
    [record] = records(
        planned(
            weighted_sets / "two", {"name": "pa1", "params": {"C": 0.1}}, delay=delay
        )
    )
    X, y, weights = rows_of(weighted_sets / "two")
    learner: Any = make_learner("pa1", {"C": 0.1})
    learner.begin(3, 2)
    wrong = 0
    for i in range(ROWS):
        wrong += int(codes_of(learner.scores(X[i : i + 1]))[0] != y[i])
        if i >= delay:
            late = slice(i - delay, i - delay + 1)
            learner.learn(X[late], y[late], weights[late])
    assert record.metrics["mistakes"] == wrong


def test_weights_of_1_and_no_weights_give_the_same_figures(
    weighted_sets: Path, tmp_path: Path
) -> None:
    lines = (weighted_sets / "two.csv").read_text().splitlines()
    ones = [
        lines[0],
        *(
            ",".join([*line.split(",")[:3], "1", line.split(",")[4]])
            for line in lines[1:]
        ),
    ]
    (tmp_path / "ones.csv").write_text("\n".join(ones) + "\n")
    ingest(
        tmp_path / "ones.csv",
        tmp_path / "ones",
        weights="w",
        train_rows=ROWS,
        chunk_rows=64,
    )
    asked = {
        "measures": ["kappa", "auc", "log_loss", "confusion"],
        "window": 50,
        "fading": 0.9,
    }
    [plain] = records(planned(tmp_path / "ones", "pa1", weights=None, **asked))
    [weighted] = records(
        planned(tmp_path / "ones", "pa1", weighted_measures=True, **asked)
    )
    known = plain.metrics.keys() - {"mistakes"}
    assert weighted.metrics.keys() == known
    for metric in known:
        assert weighted.metrics[metric] == pytest.approx(
            plain.metrics[metric], rel=1e-12
        ), metric


def test_baselines_stand_beside_weighted_learners_unweighted(
    weighted_sets: Path,
) -> None:
    weighted = records(planned(weighted_sets / "two", "majority", "no-change", "pa1"))
    plain = records(
        planned(weighted_sets / "two", "majority", "no-change", weights=None)
    )
    assert [record.metrics["mistakes"] for record in weighted[:2]] == [
        one.metrics["mistakes"] for one in plain
    ]


def test_a_model_of_scikit_learn_gets_sample_weight(weighted_sets: Path) -> None:
    [record] = records(
        planned(weighted_sets / "two", {"name": SGD, "params": {"random_state": 1}})
    )
    X, y, weights = rows_of(weighted_sets / "two")
    model = SGDClassifier(random_state=1)
    wrong = 0
    for i in range(ROWS):
        predicted = model.predict(X[i : i + 1])[0] if hasattr(model, "coef_") else 1
        wrong += int(predicted != y[i])
        if weights[i] > 0.0:  # it refuses rows that all weigh nothing
            model.partial_fit(
                X[i : i + 1],
                y[i : i + 1],
                classes=[0, 1],
                sample_weight=weights[i : i + 1],
            )
    assert record.metrics["mistakes"] == wrong


def test_a_model_of_river_gets_w(weighted_sets: Path) -> None:
    from river import linear_model

    [record] = records(
        planned(weighted_sets / "two", "river.linear_model:LogisticRegression")
    )
    X, y, weights = rows_of(weighted_sets / "two")
    model = linear_model.LogisticRegression()
    wrong = 0
    for x, label, weight in zip(X.tolist(), y.tolist(), weights.tolist(), strict=True):
        row = dict(zip("abc", x, strict=True))
        wrong += int(model.predict_one(row) != bool(label))
        model.learn_one(row, bool(label), w=weight)
    assert record.metrics["mistakes"] == wrong


@pytest.mark.parametrize(
    ("learner", "protocol", "problem"),
    [
        ("cw", {}, "learner cw takes no weights of rows, .*: .*pa1"),
        (
            "river.tree:ExtremelyFastDecisionTreeClassifier",
            {"weights": "v"},
            "weights of dataset .* are those of its column 'w'",
        ),
        (
            "pa1",
            {"weights": None, "weighted_measures": True},
            "weighted_measures needs protocol.weights",
        ),
        (
            "pa1",
            {"weighted_measures": True, "measures": ["roc"]},
            "does not go with measures = 'roc'",
        ),
        (
            "pa1",
            {"weighted_measures": True, "mcnemar": True},
            "does not go with mcnemar",
        ),
    ],
)
def test_what_cannot_count_by_weights_is_refused(
    weighted_sets: Path, learner: str, protocol: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ExperimentError, match=problem):
        planned(weighted_sets / "two", learner, **protocol)


def test_a_dataset_without_weights_is_refused(
    weighted_sets: Path, tmp_path: Path
) -> None:
    ingest(weighted_sets / "two.csv", tmp_path / "plain")
    with pytest.raises(
        ExperimentError, match="are none; ingest its sources with --weights COLUMN"
    ):
        planned(tmp_path / "plain", "pa1")


def test_every_learner_stands_for_those_that_take_weights(weighted_sets: Path) -> None:
    content = {
        "datasets": [{"path": str(weighted_sets / "two")}],
        "learners": [{"name": "*"}],
        "protocol": {"weights": "w"},
    }
    experiment = resolve(parse_experiment(content), lambda line: None).experiment
    names = {spec.name for spec in experiment.learners}
    assert {"pa1", "majority"} <= names
    assert "cw" not in names
    make_plan(experiment)


def test_tuning_counts_rows_by_their_weights(weighted_sets: Path) -> None:
    content = {
        "datasets": [{"path": str(weighted_sets / "two")}],
        "learners": [{"name": "pa1", "tune": {"C": [0.1, 1.0]}}],
        "protocol": {"order": "time", "weights": "w", "weighted_measures": True},
        "tuning": {"folds": 2},
    }
    tuning = PlannedExperiment(open_experiment(parse_experiment(content))).tuning
    protocols = [run.definition()["protocol"] for run in tuning.runs]
    assert all(
        protocol["weights"] == "w" and protocol["weighted_measures"]
        for protocol in protocols
    )
    assert tuning.searches[0].definition()["protocol"]["weights"] == "w"
    plain = PlannedExperiment(
        open_experiment(parse_experiment(content | {"protocol": {"order": "time"}}))
    ).tuning
    assert "weights" not in plain.searches[0].definition()["protocol"]


def test_class_shards_give_the_bytes_of_a_run_in_one_piece(
    weighted_sets: Path, tmp_path: Path
) -> None:
    plan = planned(
        weighted_sets / "three", {"name": "pa1", "params": {"multiclass": "ova"}}
    )
    [whole] = records(plan)
    [group] = cut_groups(plan.runs, plan.sources, 1)
    [cut] = cut_shards([group], 1, 3)
    assert len(cut.shards) == 3
    scratch = Scratch(open_store(tmp_path / "store", create=True), group.runs[0].id)
    for part in cut.parts():
        going = ShardPass(part, scratch)
        for i in range(going.chunks):
            going.step(i)
        going.finish()
    assert run_bytes(merge_shards(cut, scratch)) == run_bytes(whole)


def test_weighted_measures_and_weights_of_classes_need_all_classes_at_once(
    weighted_sets: Path,
) -> None:
    ova = {"name": "pa1", "params": {"multiclass": "ova"}}
    balanced = {
        "name": "pa1",
        "params": {"multiclass": "ova", "class_weight": "balanced"},
    }
    for plan in (
        planned(weighted_sets / "three", ova, weighted_measures=True),
        planned(weighted_sets / "three", balanced),
    ):
        assert not can_shard(plan.runs[0], 3)


def test_a_class_that_there_is_not_has_no_weight(weighted_sets: Path) -> None:
    with pytest.raises(
        ParameterError, match="class_weight names '7', and the classes are"
    ):
        planned(
            weighted_sets / "two",
            {"name": "pa1", "params": {"class_weight": {"7": 2.0}}},
        )


def test_settings_that_share_a_pass_get_weights_as_each_alone(
    weighted_sets: Path,
) -> None:
    together = records(
        planned(
            weighted_sets / "two", {"name": "pa1", "params": {"C": [0.01, 0.1, 1.0]}}
        )
    )
    alone = [
        records(planned(weighted_sets / "two", {"name": "pa1", "params": {"C": C}}))[0]
        for C in (0.01, 0.1, 1.0)
    ]
    assert sorted(map(run_bytes, together)) == sorted(map(run_bytes, alone))


def test_sums_of_rows_have_their_weights(weighted_sets: Path) -> None:
    """The final model of an experiment that only tests it is made of sums, block by block."""
    plan = planned(
        weighted_sets / "two",
        {"name": "oselm", "params": {"nodes": 8, "start": "ridge"}},
        test_only=True,
    )
    found = []
    for blocks in (1, 3):
        group = RunGroup(str(weighted_sets / "two"), blocks * LEAST_ROWS, plan.runs)
        going = SumsPass(group)
        for i in range(going.chunks):
            going.step(i)
        [record] = going.finish()
        found.append(record.metrics["test_error"])
    X, y, weights = rows_of(weighted_sets / "two")
    learner: Any = make_learner("oselm", {"nodes": 8, "start": "ridge"})
    learner.begin(3, 2)
    learner.learn(X, y, weights)
    X, y, _ = rows_of(weighted_sets / "two", "test")
    wrong = float(np.mean(codes_of(learner.scores(X)) != y))
    assert found == [wrong, wrong]


@pytest.mark.parametrize("protocol", [{}, {"split": "prequential-kfold", "folds": 2}])
def test_transforms_that_stream_leave_weights_with_their_rows(
    weighted_sets: Path, protocol: dict[str, Any]
) -> None:
    content = {
        "datasets": [{"path": str(weighted_sets / "two")}],
        "learners": [{"name": "pa1", "params": {"C": 0.1}}],
        "transforms": ["running-standardize", "bias"],
        "protocol": {"order": "time", "weights": "w", **protocol},
    }
    plan = make_plan(parse_experiment(content))
    weighted = records(plan)
    assert [run_bytes(record) for record in records(plan, stop=4)] == list(
        map(run_bytes, weighted)
    )
    plain = records(
        make_plan(
            parse_experiment(content | {"protocol": {"order": "time", **protocol}})
        )
    )
    assert [one.metrics["mistakes"] for one in weighted] != [
        one.metrics["mistakes"] for one in plain
    ]


def test_a_metric_of_somebodys_own_that_counts_all_rows_alike_is_refused(
    weighted_sets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class RowCount(Metric):
        """Counts rows, whatever they weigh."""

        def __init__(self, shape: StreamShape) -> None:
            self.sums = {"rows": np.zeros(1, dtype=np.int64)}

        def values(self) -> dict[str, float]:
            return {}

    monkeypatch.setattr(METRICS, "load_all", lambda: [RowCount])
    with pytest.raises(
        ExperimentError, match="weighted_measures does not go with the metric RowCount"
    ):
        planned(weighted_sets / "two", "pa1", weighted_measures=True)
    assert planned(weighted_sets / "two", "pa1").runs
