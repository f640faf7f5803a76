"""Learners of MOA and CapyMOA: the mistakes of their own evaluations, state, errors and workers."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import CSR, to_dense
from olscale.data.generators import recipe
from olscale.data.ingest.ingest import ingest
from olscale.errors import ParameterError, UnknownNameError
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.execution import group_calls
from olscale.execution.evaluate import evaluate
from olscale.execution.on_worker import run_as_task
from olscale.execution.settings import ExecutionSettings
from olscale.execution.task_report import TaskReport
from olscale.learners.contract.learner import codes_of
from olscale.learners.moa import java, learner
from olscale.learners.moa.java import start_java
from olscale.learners.registry import learner_class, make_learner
from olscale.results.store import Store
from olscale.testing import learner_checks
from tests.cluster import Cluster
from tests.record_bytes import record_bytes

pytestmark = pytest.mark.skipif(
    find_spec("capymoa") is None or shutil.which("java") is None,
    reason="needs Java and capymoa",
)
ROWS = 4_000
STREAMS = ["agrawal:function=2", "sea", "rbf:classes=5", "electricity"]
CHUNK = 700
HERE = Path(learner.__file__).parent


def stream(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the first rows of a stream in time order; numbers only, classes as codes."""
    if name == "electricity":
        return electricity()
    module, arguments, _ = recipe(name, "batches", 1, ROWS, {})
    batches = list(module.batches(**arguments))
    y = np.concatenate([batch.target for batch in batches])
    return np.concatenate([batch.X for batch in batches]), y.astype(np.int64)


def electricity() -> tuple[np.ndarray, np.ndarray]:
    path = (
        Path(os.environ.get("OLSCALE_SHARED_DATA", ""))
        / "electricity"
        / "electricity.arff"
    )
    if not path.exists():
        pytest.skip("needs electricity.arff in OLSCALE_SHARED_DATA")
    lines = path.read_text().lower().partition("@data")[2].split("\n")
    rows = [line.strip().split(",") for line in lines if line.count(",") == 8][:ROWS]
    X = np.array([[float(word.strip("'")) for word in row[:8]] for row in rows])
    return X, np.array([int(row[8] == "up") for row in rows])


def mistakes(name: str, params: dict[str, Any], X: np.ndarray, y: np.ndarray) -> int:
    """Return how many rows a learner predicts wrongly, each before it is learned."""
    ours = make_learner(name, params)
    ours.begin(X.shape[1], int(y.max()) + 1, (0, 0))
    spans = [slice(start, start + CHUNK) for start in range(0, len(y), CHUNK)]
    scores = np.vstack([ours.learn(X[span], y[span]) for span in spans])
    return int((codes_of(scores) != y).sum())


def mistakes_of_moa(command: str, X: np.ndarray, y: np.ndarray) -> int:
    """Return the mistakes that MOA's own loop and evaluator count on the same rows."""
    jpype = start_java()
    numeric = jpype.JArray.of(np.zeros(X.shape[1], dtype=np.int32))
    header = jpype.JClass("RowLoop").header(numeric, int(y.max()) + 1)
    instances = jpype.JClass("com.yahoo.labs.samoa.instances.Instances")(header, 0)
    instances.setClassIndex(X.shape[1])
    dense = jpype.JClass("com.yahoo.labs.samoa.instances.DenseInstance")
    for row in np.column_stack([X, y]):
        instance = dense(1.0, jpype.JArray.of(np.array(row)))
        instance.setDataset(header)
        instances.add(instance)
    model = jpype.JClass("com.github.javacliparser.ClassOption").cliStringToObject(
        command, jpype.JClass("moa.classifiers.Classifier").class_, None
    )
    model.prepareForUse()
    model.setModelContext(header)
    evaluator = jpype.JClass("moa.evaluation.BasicClassificationPerformanceEvaluator")()
    cached = jpype.JClass("moa.streams.CachedInstancesStream")(instances)
    jpype.JClass("moa.evaluation.EfficientEvaluationLoops").PrequentialEvaluation(
        cached, model, evaluator, None, len(y), 0, False, False
    )
    accuracy = float(evaluator.getPerformanceMeasurements()[1].getValue())
    return round(len(y) * (1.0 - accuracy / 100.0))


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize(
    "command",
    ["trees.HoeffdingTree -g 100", "bayes.NaiveBayes", "lazy.kNN -k 5 -w 300"],
)
def test_mistakes_are_those_of_moas_own_evaluation(name: str, command: str):
    X, y = stream(name)
    assert mistakes(f"moa:{command}", {}, X, y) == mistakes_of_moa(command, X, y)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("HoeffdingTree", {"grace_period": 100}),
        ("NaiveBayes", {}),
        ("KNN", {"k": 5, "window_size": 300}),
        ("AdaptiveRandomForestClassifier", {"ensemble_size": 3, "random_seed": 7}),
    ],
)
def test_mistakes_are_those_of_capymoas_own_evaluation(
    name: str, kind: str, params: dict[str, Any]
):
    start_java()
    from capymoa import classifier
    from capymoa.evaluation import prequential_evaluation
    from capymoa.stream import NumpyStream

    X, y = stream(name)
    theirs = NumpyStream(X, y)
    model = getattr(classifier, kind)(theirs.get_schema(), **params)
    accuracy = prequential_evaluation(theirs, model)["cumulative"].accuracy()
    counted = round(len(y) * (1.0 - accuracy / 100.0))
    assert mistakes(f"capymoa:{kind}", params, X, y) == counted


@pytest.mark.parametrize("name", ["moa:trees.HoeffdingTree -g 50", "moa:trees.FIMTDD"])
def test_the_contract_of_learners_holds(name: str):
    for title, check in learner_checks(learner_class(name)):
        check()
        assert title


def test_sparse_rows_make_the_same_mistakes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 20)) * (rng.random((600, 20)) < 0.2)
    y = (X[:, 0] + X[:, 1] > 0.0).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum((X != 0.0).sum(axis=1))])
    sparse = CSR(starts, np.nonzero(X)[1].astype(np.int32), X[X != 0.0])
    assert np.array_equal(to_dense(sparse, 20), X)
    both = [make_learner("moa:bayes.NaiveBayes") for _ in range(2)]
    for each in both:
        each.begin(20, 2)
    assert np.array_equal(both[0].learn(X, y), both[1].learn(sparse, y))


@pytest.mark.parametrize(
    ("name", "restorable"),
    [
        ("moa:trees.HoeffdingTree -g 50", True),
        ("moa:meta.AdaptiveRandomForest -s 3", True),
        ("moa:meta.StreamingRandomPatches -s 3", False),
        ("moa:lazy.kNN", False),
    ],
)
def test_a_restored_learner_goes_on_to_the_same_bits(name: str, restorable: bool):
    """The sizes of what kNN writes differ; patches cannot be written."""
    first = make_learner(name)
    assert first.restorable is restorable
    if not restorable:
        return
    X, y = stream("rbf:classes=5")
    second = make_learner(name)
    for each in (first, second):
        each.begin(X.shape[1], 5, (1, 2))
    first.learn(X[:2_000], y[:2_000])
    second.restore(first.state())
    scores = [each.learn(X[2_000:], y[2_000:]) for each in (first, second)]
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(first.state()["model"], second.state()["model"])


def test_a_state_of_other_classes_than_moas_is_refused():
    ours = make_learner("moa:bayes.NaiveBayes")
    ours.begin(3, 2)
    state = ours.state()
    with pytest.raises(ValueError, match="does not fit"):
        ours.restore(state | {"model": state["model"][:-20]})
    written = start_java().JClass("java.io.ByteArrayOutputStream")()
    out = start_java().JClass("java.io.ObjectOutputStream")(written)
    out.writeObject(start_java().JClass("java.net.URL")("http://localhost"))
    out.close()
    foreign = np.frombuffer(bytes(written.toByteArray()), dtype=np.uint8)
    with pytest.raises(ValueError, match="REJECTED"):
        ours.restore(state | {"model": foreign})


def test_the_seed_is_the_runs():
    X, y = stream("rbf:classes=5")
    scores = []
    for entropy in ((0, 0), (0, 0), (0, 1)):
        forest = make_learner("moa:meta.AdaptiveRandomForest -s 3")
        forest.begin(X.shape[1], 5, entropy)
        scores.append(forest.learn(X, y))
    assert np.array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_probabilities_are_shares_of_votes():
    X, y = stream("rbf:classes=5")
    bayes: Any = make_learner("moa:bayes.NaiveBayes")
    bayes.begin(X.shape[1], 5)
    assert bayes.show_probabilities()
    scores = bayes.learn(X, y)
    assert scores.shape == (len(y), 10)
    np.testing.assert_allclose(scores[:, 5:].sum(axis=1), 1.0)
    assert np.array_equal(
        scores[100:, :5].argmax(axis=1), scores[100:, 5:].argmax(axis=1)
    )


def test_the_share_of_the_second_class_ranks_rows():
    X, y = stream("sea")
    bayes: Any = make_learner("moa:bayes.NaiveBayes")
    bayes.expect_ranking()
    bayes.begin(X.shape[1], 2)
    assert bayes.ranking_columns == 1
    assert bayes.show_probabilities()
    scores = bayes.learn(X, y)
    assert scores.shape == (len(y), 4)
    assert np.array_equal(scores[:, 1], scores[:, 3])
    assert bayes.with_plain_scores().scores(X).shape == (len(y), 1)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("moa:trees.HoefdingTree", {}, "did you mean moa:trees.HoeffdingTree?"),
        ("moa:trees.HoeffdingTree -g x", {}, "expected -m maxByteSize"),
        ("moa:meta.OzaBag", {"s": 3}, "unknown parameter"),
        ("moa: ", {}, "expected a command line of MOA"),
        ("capymoa:HoeffdingTre", {}, "did you mean 'HoeffdingTree'?"),
        ("capymoa:KNN", {"neighbours": 3}, "unknown parameter"),
        ("capymoa:SGDClassifier", {}, "is written in Python"),
    ],
)
def test_a_name_that_is_wrong_is_one_line(
    name: str, params: dict[str, Any], message: str
):
    with pytest.raises(
        (ParameterError, UnknownNameError), match=re.escape(message)
    ) as caught:
        make_learner(name, params)
    assert "\n" not in str(caught.value)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch):
    jpype = start_java()

    def no_java() -> str:
        raise jpype.JVMNotFoundException("none")

    with monkeypatch.context() as patch:
        patch.setattr(jpype, "isJVMStarted", lambda: False)
        patch.setattr(jpype, "getDefaultJVMPath", no_java)
        patch.setattr(java.shutil, "which", lambda name: None)
        patch.delenv("JAVA_HOME", raising=False)
        with pytest.raises(
            ParameterError, match="apt-get install default-jre-headless"
        ):
            start_java.__wrapped__()

    def no_package(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(java, "version", no_package)
    with pytest.raises(ParameterError, match="pip install capymoa"):
        java.capymoa_version()


def test_the_shipped_class_is_that_of_its_source(tmp_path: Path):
    compiler = shutil.which("javac")
    version = subprocess.run(
        ["java", "-version"], capture_output=True, text=True
    ).stderr
    if compiler is None or '"17.' not in version:
        pytest.skip("needs javac 17, which compiled it")
    places = [
        "-cp",
        str(java.moa_jar()),
        "-d",
        str(tmp_path),
        str(HERE / "RowLoop.java"),
    ]
    subprocess.run([compiler, "--release", "11", *places], check=True)
    assert (tmp_path / "RowLoop.class").read_bytes() == (
        HERE / "RowLoop.class"
    ).read_bytes()


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("moa")
    X, y = stream("sea")
    np.savetxt(folder / "sea.csv", np.column_stack([X, y]), "%.6f", ",")
    ingest([str(folder / "sea.csv")], str(folder / "sea"), label="3", target="classes")
    return folder / "sea"


def experiment(dataset: Path, *names: str) -> Experiment:
    return parse_experiment(
        {
            "name": "moa",
            "datasets": [{"path": str(dataset)}],
            "learners": [{"name": name} for name in names],
            "protocol": {"order": "permuted", "permutations": 2},
        }
    )


def ends(store: Store) -> set[tuple[str, str, str]]:
    """Return learner, outcome and reason of every run."""
    rows = store.read(["learner", "outcome", "reason"]).to_pylist()
    return {(row["learner"], row["outcome"], row["reason"]) for row in rows}


def test_an_exception_of_java_ends_its_run_and_no_other(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    calls = []
    to_java = learner._to_java

    def fail_later(values: Any, dtype: type) -> Any:
        calls.append(values)
        if len(calls) > 10:
            start_java().JClass("java.lang.Integer").parseInt("no number")
        return to_java(values, dtype)

    plan = experiment(dataset, "moa:bayes.NaiveBayes", "pa1")
    make_learner("moa:bayes.NaiveBayes")
    monkeypatch.setattr(learner, "_to_java", fail_later)
    monkeypatch.setattr(learner, "_is_restorable", lambda kind, params: True)
    calls.extend([None] * 10)
    done = evaluate(plan, tmp_path / "store", in_process=True)
    outcomes = ends(done.store)
    assert ("pa1", "ok", "") in outcomes
    failed = [each for each in outcomes if each[0].startswith("moa:")]
    assert [each[1] for each in failed] == ["learner_error"]
    assert "java.lang.NumberFormatException" in failed[0][2]


A_TASK_A_GROUP = ExecutionSettings(shared_runs=1_000)


def die_once(pack: Any, store: str, **options: Any) -> TaskReport:
    """Run a group of runs; the first that tries kills its worker."""
    try:
        (Path(store).parent / "died").touch(exist_ok=False)
    except FileExistsError:
        return run_as_task(pack, store, **options)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_a_killed_worker_changes_no_byte(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Cluster
):
    names = [
        "moa:trees.HoeffdingTree -g 50",
        "moa:meta.AdaptiveRandomForest -s 2",
        "moa:lazy.kNN",
    ]
    plan = experiment(dataset, *names)
    evaluate(plan, tmp_path / "here", in_process=True)
    monkeypatch.setattr(group_calls, "run_as_task", die_once)
    evaluate(
        plan, tmp_path / "store", scheduler=cluster.scheduler, settings=A_TASK_A_GROUP
    )
    assert (tmp_path / "died").exists()
    assert record_bytes(tmp_path / "store") == record_bytes(tmp_path / "here")
    assert len(record_bytes(tmp_path / "here")) == 2 * len(names)
