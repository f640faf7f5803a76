"""Rows count by their weights: learners get the weight of each row that they learn, measures count by it where asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as reference
from sklearn.linear_model import SGDClassifier

from olscale.data.dataset import open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.data.stream import Shuffle, open_streams
from olscale.errors import ExperimentError, ParameterError
from olscale.evaluation.class_shards import ShardPass, merge_shards
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.metrics import METRICS, Metric, StreamShape
from olscale.evaluation.plan import PlannedExperiment, make_plan
from olscale.evaluation.resolve import open_experiment, resolve
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_plan import RunPlan
from olscale.evaluation.shard_cuts import can_shard, cut_shards
from olscale.evaluation.summed_rows import LEAST_ROWS, SumsPass
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import make_learner
from olscale.results.opening import open_store
from olscale.results.record import Record
from olscale.results.rows import run_bytes
from olscale.results.scratch import Scratch

ROWS = 600
TEST_ROWS = 150
SGD = "sklearn.linear_model:SGDClassifier"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with datasets of two classes, of three and of numbers, in chunks of 64 rows, all with weights."""
    folder = tmp_path_factory.mktemp("weighted")
    rng = np.random.default_rng(3)
    count = ROWS + TEST_ROWS
    X = rng.normal(size=(count, 3))
    weights = np.where(rng.random(count) < 0.1, 0.0, rng.exponential(size=count))
    score = X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=count)
    labels = {
        "two": score > 0.8,
        "three": np.digitize(score, [-0.5, 1.0]),
        "numbers": score,
    }
    for name, label in labels.items():
        np.savetxt(
            folder / f"{name}.csv",
            np.column_stack([X, weights, label]),
            delimiter=",",
            header="a,b,c,w,y",
            comments="",
        )
        target = "real" if name == "numbers" else "classes"
        ingest(
            folder / f"{name}.csv",
            folder / name,
            weights="w",
            train_rows=ROWS,
            chunk_rows=64,
            target=target,
        )
    return folder


def planned(path: Path, *learners: Any, **protocol: Any) -> RunPlan:
    specs = [spec if isinstance(spec, dict) else {"name": spec} for spec in learners]
    content = {"datasets": [{"path": str(path)}], "learners": specs}
    return make_plan(
        parse_experiment(
            content | {"protocol": {"order": "time", "weights": "w"} | protocol}
        )
    )


def records(plan: RunPlan, stop: int | None = None) -> list[Record]:
    """Run a plan in process; save it after `stop` steps, if that is given, and go on with it elsewhere."""
    found = []
    for group in cut_groups(plan.runs, plan.sources, 1):
        going = GroupPass(group)
        for step in range(going.chunks):
            if step == stop:
                saved = {name: array.copy() for name, array in going.state()}
                going = GroupPass(group)
                going.restore(saved)
            going.step(step)
        found += going.finish()
    assert [record.reason for record in found] == [""] * len(found)
    return found


def rows_of(
    path: Path, split: str = "train", shuffle: Shuffle | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    streams = open_streams(str(path), shuffle=shuffle)
    stream = streams.train if split == "train" else streams.test
    assert stream is not None
    chunks = list(stream.chunks())
    parts = zip(*((chunk.X, chunk.y, chunk.weights) for chunk in chunks), strict=True)
    X, y, weights = map(np.concatenate, parts)
    return X, y, weights


def scores_along(
    name: str, params: dict[str, Any], path: Path, shuffle: Shuffle | None = None
) -> np.ndarray:
    """Return the scores of the rows of a stream, each before its row is learned from with its weight, one at a time."""
    X, y, weights = rows_of(path, shuffle=shuffle)
    learner: Any = make_learner(name, params)
    learner.begin(X.shape[1], len(open_dataset(path).classes or ()))
    return np.concatenate(
        [
            learner.learn(X[i : i + 1], y[i : i + 1], weights[i : i + 1])
            for i in range(len(y))
        ]
    )


@pytest.mark.parametrize("shuffle", [None, Shuffle(0, 1)])
@pytest.mark.parametrize("name", ["two", "three"])
def test_learners_get_the_weight_of_each_row(
    made: Path, name: str, shuffle: Shuffle | None
) -> None:
    order = {} if shuffle is None else {"order": "permuted", "permutations": 2}
    record = records(
        planned(made / name, {"name": "pa1", "params": {"C": 0.1}}, **order)
    )[-1]
    predicted = codes_of(scores_along("pa1", {"C": 0.1}, made / name, shuffle))
    _, y, _ = rows_of(made / name, shuffle=shuffle)
    assert record.metrics["mistakes"] == np.count_nonzero(predicted != y)
    plain = records(
        planned(
            made / name, {"name": "pa1", "params": {"C": 0.1}}, **order, weights=None
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
    made: Path, protocol: dict[str, Any], weighted_measures: bool
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
    plan = planned(made / "two", *learners, **options)
    at_once = [run_bytes(record) for record in records(plan)]
    assert [run_bytes(record) for record in records(plan, stop=3)] == at_once


@pytest.mark.parametrize("delay", [1, 5, 100])
def test_a_late_label_brings_its_weight(made: Path, delay: int) -> None:
    [record] = records(
        planned(made / "two", {"name": "pa1", "params": {"C": 0.1}}, delay=delay)
    )
    X, y, weights = rows_of(made / "two")
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
    made: Path, tmp_path: Path
) -> None:
    lines = (made / "two.csv").read_text().splitlines()
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


def test_measures_of_classes_are_those_of_scikit_learn_with_weights(made: Path) -> None:
    asked = ["accuracy", "weighted_f1", "macro_precision", "macro_recall", "confusion"]
    [record] = records(
        planned(
            made / "three", "pa1", weighted_measures=True, measures=asked, window=100
        )
    )
    predicted = codes_of(scores_along("pa1", {}, made / "three"))
    _, y, weights = rows_of(made / "three")
    found = record.metrics
    given: dict[str, Any] = {"sample_weight": weights}
    wrong = 1.0 - reference.accuracy_score(y, predicted, **given)
    assert found["cumulative_error"] == pytest.approx(wrong)
    assert found["accuracy"] == pytest.approx(1.0 - wrong)
    assert found["balanced_accuracy"] == pytest.approx(
        reference.balanced_accuracy_score(y, predicted, **given)
    )
    assert found["kappa"] == pytest.approx(
        reference.cohen_kappa_score(y, predicted, **given)
    )
    for name, average in (("macro_f1", "macro"), ("weighted_f1", "weighted")):
        assert found[name] == pytest.approx(
            reference.f1_score(y, predicted, average=average, **given)
        )
    assert found["macro_precision"] == pytest.approx(
        reference.precision_score(y, predicted, average="macro", **given)
    )
    assert found["macro_recall"] == pytest.approx(
        reference.recall_score(y, predicted, average="macro", **given)
    )
    series = {one.name: one for one in record.series}
    matrix = reference.confusion_matrix(y, predicted, **given)
    cells = series["confusion"].rows
    np.testing.assert_allclose(
        series["confusion"].values, matrix[cells // 65536, cells % 65536]
    )
    last = slice(-100, None)
    of_window = 1.0 - reference.accuracy_score(
        y[last], predicted[last], sample_weight=weights[last]
    )
    assert found["window_error"] == pytest.approx(of_window)
    assert series["cumulative_error"].values[-1] == found["cumulative_error"]
    assert "mistakes" not in found


def test_auc_is_that_of_scikit_learn_with_weights(made: Path) -> None:
    [record] = records(
        planned(made / "two", "pa1", weighted_measures=True, measures=["auc"])
    )
    scores = scores_along("pa1", {}, made / "two")[:, 0]
    _, y, weights = rows_of(made / "two")
    assert record.metrics["auc"] == pytest.approx(
        reference.roc_auc_score(y, scores, sample_weight=weights)
    )


def test_residuals_are_those_of_scikit_learn_with_weights(made: Path) -> None:
    [record] = records(
        planned(
            made / "numbers", "pa1-r", weighted_measures=True, measures=["mae", "r2"]
        )
    )
    predicted = scores_along("pa1-r", {}, made / "numbers")[:, 0]
    _, y, weights = rows_of(made / "numbers")
    found = record.metrics
    assert found["mae"] == pytest.approx(
        reference.mean_absolute_error(y, predicted, sample_weight=weights)
    )
    assert found["rmse"] == pytest.approx(
        reference.mean_squared_error(y, predicted, sample_weight=weights) ** 0.5
    )
    assert found["r2"] == pytest.approx(
        reference.r2_score(y, predicted, sample_weight=weights)
    )


def test_test_rows_count_by_their_weights(made: Path) -> None:
    options = {
        "weighted_measures": True,
        "measures": ["train_error"],
        "test_only": False,
    }
    [record] = records(planned(made / "two", "pa1", **options))
    X, y, weights = rows_of(made / "two")
    learner: Any = make_learner("pa1", {})
    learner.begin(3, 2)
    learner.learn(X, y, weights)
    for split, name in (("test", "test_error"), ("train", "train_error")):
        X, y, weights = rows_of(made / "two", split)
        wrong = codes_of(learner.scores(X)) != y
        assert record.metrics[name] == pytest.approx(np.average(wrong, weights=weights))


def test_chunks_change_no_bit_of_weighted_measures(made: Path, tmp_path: Path) -> None:
    ingest(
        made / "two.csv",
        tmp_path / "two",
        weights="w",
        train_rows=ROWS,
        chunk_rows=17,
        target="classes",
    )
    asked = {
        "measures": ["kappa", "auc", "confusion"],
        "window": 40,
        "fading": 0.95,
        "holdout_every": 90,
    }
    of_chunks = [
        records(planned(path, "pa1", weighted_measures=True, **asked))[0]
        for path in (made / "two", tmp_path / "two")
    ]
    assert run_bytes(of_chunks[0]) == run_bytes(of_chunks[1])


def test_baselines_stand_beside_weighted_learners_unweighted(made: Path) -> None:
    weighted = records(planned(made / "two", "majority", "no-change", "pa1"))
    plain = records(planned(made / "two", "majority", "no-change", weights=None))
    assert [record.metrics["mistakes"] for record in weighted[:2]] == [
        one.metrics["mistakes"] for one in plain
    ]


def test_a_model_of_scikit_learn_gets_sample_weight(made: Path) -> None:
    [record] = records(
        planned(made / "two", {"name": SGD, "params": {"random_state": 1}})
    )
    X, y, weights = rows_of(made / "two")
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


def test_a_model_of_river_gets_w(made: Path) -> None:
    from river import linear_model

    [record] = records(planned(made / "two", "river.linear_model:LogisticRegression"))
    X, y, weights = rows_of(made / "two")
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
    made: Path, learner: str, protocol: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ExperimentError, match=problem):
        planned(made / "two", learner, **protocol)


def test_a_dataset_without_weights_is_refused(made: Path, tmp_path: Path) -> None:
    ingest(made / "two.csv", tmp_path / "plain")
    with pytest.raises(
        ExperimentError, match="are none; ingest its sources with --weights COLUMN"
    ):
        planned(tmp_path / "plain", "pa1")


def test_every_learner_stands_for_those_that_take_weights(made: Path) -> None:
    content = {
        "datasets": [{"path": str(made / "two")}],
        "learners": [{"name": "*"}],
        "protocol": {"weights": "w"},
    }
    experiment = resolve(parse_experiment(content), lambda line: None).experiment
    names = {spec.name for spec in experiment.learners}
    assert {"pa1", "majority"} <= names
    assert "cw" not in names
    make_plan(experiment)


def test_tuning_counts_rows_by_their_weights(made: Path) -> None:
    content = {
        "datasets": [{"path": str(made / "two")}],
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
    made: Path, tmp_path: Path
) -> None:
    plan = planned(made / "three", {"name": "pa1", "params": {"multiclass": "ova"}})
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
    made: Path,
) -> None:
    ova = {"name": "pa1", "params": {"multiclass": "ova"}}
    balanced = {
        "name": "pa1",
        "params": {"multiclass": "ova", "class_weight": "balanced"},
    }
    for plan in (
        planned(made / "three", ova, weighted_measures=True),
        planned(made / "three", balanced),
    ):
        assert not can_shard(plan.runs[0], 3)


def test_a_class_that_there_is_not_has_no_weight(made: Path) -> None:
    with pytest.raises(
        ParameterError, match="class_weight names '7', and the classes are"
    ):
        planned(made / "two", {"name": "pa1", "params": {"class_weight": {"7": 2.0}}})


def test_settings_that_share_a_pass_get_weights_as_each_alone(made: Path) -> None:
    together = records(
        planned(made / "two", {"name": "pa1", "params": {"C": [0.01, 0.1, 1.0]}})
    )
    alone = [
        records(planned(made / "two", {"name": "pa1", "params": {"C": C}}))[0]
        for C in (0.01, 0.1, 1.0)
    ]
    assert sorted(map(run_bytes, together)) == sorted(map(run_bytes, alone))


def test_sums_of_rows_have_their_weights(made: Path) -> None:
    """The final model of an experiment that only tests it is made of sums, block by block."""
    plan = planned(
        made / "two",
        {"name": "oselm", "params": {"nodes": 8, "start": "ridge"}},
        test_only=True,
    )
    found = []
    for blocks in (1, 3):
        group = RunGroup(str(made / "two"), blocks * LEAST_ROWS, plan.runs)
        going = SumsPass(group)
        for i in range(going.chunks):
            going.step(i)
        [record] = going.finish()
        found.append(record.metrics["test_error"])
    X, y, weights = rows_of(made / "two")
    learner: Any = make_learner("oselm", {"nodes": 8, "start": "ridge"})
    learner.begin(3, 2)
    learner.learn(X, y, weights)
    X, y, _ = rows_of(made / "two", "test")
    wrong = float(np.mean(codes_of(learner.scores(X)) != y))
    assert found == [wrong, wrong]


@pytest.mark.parametrize("protocol", [{}, {"split": "prequential-kfold", "folds": 2}])
def test_transforms_that_stream_leave_weights_with_their_rows(
    made: Path, protocol: dict[str, Any]
) -> None:
    content = {
        "datasets": [{"path": str(made / "two")}],
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
    made: Path, monkeypatch: pytest.MonkeyPatch
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
        planned(made / "two", "pa1", weighted_measures=True)
    assert planned(made / "two", "pa1").runs
