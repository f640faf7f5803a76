"""Learners of Vowpal Wabbit: the predictions of its command line, state, errors and workers."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.cli.evaluate import parse_learner
from olscale.compiled.csr import CSR
from olscale.data.ingest.ingest import ingest
from olscale.errors import ParameterError
from olscale.evaluation.budget import Budget, BudgetExceeded, TimeUp
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.execution import group_calls
from olscale.execution.evaluate import evaluate
from olscale.execution.on_worker import run_as_task
from olscale.execution.settings import ExecutionSettings
from olscale.execution.task_report import TaskReport
from olscale.learners.registry import learner_class, make_learner
from olscale.learners.vw import command_line, example_memory
from olscale.learners.vw.example_slots import ExampleSlots
from olscale.results.store import Store
from olscale.testing import claims, learner_checks, learners, small_streams, weights
from tests.cluster import Cluster
from tests.record_bytes import record_bytes

pylibvw = pytest.importorskip("pylibvw", reason="needs vowpalwabbit")

ROWS = 1_500
COLUMNS = 8
CHUNK = 400
REHEARSED = 200
CLASSES = 5


def stream(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of quarters, which text has exactly, with `kind` of labels."""
    rng = np.random.default_rng(0)
    X = np.round(4.0 * rng.normal(size=(ROWS, COLUMNS))) / 4.0
    target = X[:, 0] + X[:, 1] * X[:, 2] + np.round(rng.normal(size=ROWS)) / 2.0
    if kind == "target":
        return X, target
    if kind == "two":
        return X, (target > 0.0).astype(np.int64)
    return X, np.digitize(target, [-2.0, -0.5, 0.5, 2.0])


def label_texts(kind: str, y: np.ndarray, options: str) -> list[str]:
    if kind == "target":
        return [repr(target) for target in y.tolist()]
    if kind == "two":
        return [str(2 * code - 1) for code in y.tolist()]
    if "--csoaa" in options:
        return [
            " ".join(f"{each + 1}:{int(each != code)}" for each in range(CLASSES))
            for code in y.tolist()
        ]
    return [str(code + 1) for code in y.tolist()]


def rows_as_text(X: np.ndarray, labels: list[str]) -> str:
    return "".join(
        f"{label} | "
        + " ".join(f"{column}:{value!r}" for column, value in enumerate(row) if value)
        + "\n"
        for row, label in zip(X.tolist(), labels, strict=True)
    )


def own_predictions(options: str, text: str, folder: Path) -> np.ndarray:
    """Return what Vowpal Wabbit writes when it reads the rows as text."""
    (folder / "rows.vw").write_text(text)
    command = (
        f"{options} --quiet --no_stdin -d {folder}/rows.vw -p {folder}/predictions"
    )
    workspace = pylibvw.vw(command.split())
    workspace.run_parser()
    workspace.finish()
    lines = (folder / "predictions").read_text().splitlines()
    return np.array(
        [[float(w.rpartition(":")[2]) for w in line.split()] for line in lines]
    )


def predictions(
    options: str, X: Any, y: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the predictions of Vowpal Wabbit in olscale, as it gave them."""
    ours: Any = make_learner(f"vw:{options}")
    ours.begin(COLUMNS, len(np.unique(y)) if y.dtype == np.int64 else 0)
    parts = []
    for start in range(0, len(y), CHUNK):
        span = slice(start, start + CHUNK)
        texts = ours._texts(y[span], None if weights is None else weights[span])
        parts += ours._slots.learn(X[span], texts)
    return np.array(parts, dtype=np.float64).reshape(len(y), -1)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ("--loss_function logistic", "two"),
        ("--loss_function hinge --link glf1", "two"),
        ("--loss_function logistic --link logistic -b 22", "two"),
        ("--binary", "two"),
        ("--loss_function logistic --sgd -l 0.1 --power_t 0.5", "two"),
        ("--loss_function logistic --sgd --l1 1e-4 --l2 1e-5", "two"),
        ("--loss_function logistic --ftrl", "two"),
        ("--loss_function hinge -q :: --cubic :::", "two"),
        ("--loss_function logistic --boosting 3", "two"),
        ("--loss_function logistic -b 2 --noconstant", "two"),
        ("", "target"),
        ("--coin", "target"),
        ("--nn 5", "target"),
        ("--nn 3 --dropout --random_seed 4", "target"),
        ("--loss_function quantile --quantile_tau 0.3", "target"),
        (f"--oaa {CLASSES}", "five"),
        (f"--oaa {CLASSES} --nn 3", "five"),
        (f"--oaa {CLASSES} --scores", "five"),
        (f"--oaa {CLASSES} --loss_function logistic --probabilities", "five"),
        (f"--ect {CLASSES}", "five"),
        (f"--log_multi {CLASSES}", "five"),
        (f"--recall_tree {CLASSES}", "five"),
        (f"--csoaa {CLASSES}", "five"),
    ],
)
def test_predictions_are_those_of_its_command_line(
    options: str, kind: str, tmp_path: Path
):
    X, y = stream(kind)
    text = rows_as_text(X, label_texts(kind, y, options))
    own = own_predictions(options, text, tmp_path)
    # It writes six decimals.
    np.testing.assert_allclose(predictions(options, X, y), own, rtol=0, atol=5.1e-7)


def test_weights_are_importance_weights(tmp_path: Path):
    X, y = stream("two")
    weights = np.random.default_rng(1).integers(0, 9, len(y)) / 4.0
    texts = label_texts("two", y, "")
    weighted = [f"{t} {w!r}" for t, w in zip(texts, weights.tolist(), strict=True)]
    options = "--loss_function logistic --sgd --power_t 0.5"
    own = own_predictions(options, rows_as_text(X, weighted), tmp_path)
    ours = predictions(options, X, y, weights)
    np.testing.assert_allclose(ours, own, rtol=0, atol=5.1e-7)


def test_the_program_itself_predicts_the_same(tmp_path: Path):
    X, y = stream("five")
    options = f"--oaa {CLASSES} --nn 2"
    (tmp_path / "rows.vw").write_text(rows_as_text(X, label_texts("five", y, options)))
    files = ["-d", tmp_path / "rows.vw", "-p", tmp_path / "predictions"]
    program = [sys.executable, "-m", "vowpalwabbit", "--quiet", *options.split()]
    subprocess.run([*program, *files], check=True)
    own = np.loadtxt(tmp_path / "predictions")
    ours = predictions(options, X, y)[:, 0]
    assert np.array_equal(own, ours)
    learner = make_learner(f"vw:{options}")
    learner.begin(COLUMNS, CLASSES)
    assert np.array_equal(learner.learn(X, y).argmax(axis=1) + 1, own)


def sparse_rows(X: np.ndarray) -> CSR:
    starts = np.concatenate([[0], np.cumsum((X != 0.0).sum(axis=1))])
    return CSR(starts, np.nonzero(X)[1].astype(np.int32), X[X != 0.0])


def test_sparse_rows_and_features_by_python_give_the_same_bits(
    monkeypatch: pytest.MonkeyPatch,
):
    assert example_memory.layout() is not None, "features go through Python: slow"
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 900)) * (rng.random((300, 900)) < 0.1)
    X[40] = rng.normal(size=900)
    y = rng.normal(size=300)
    scores = []
    for rows in (X, sparse_rows(X)):
        learner = make_learner("vw:--sgd")
        learner.begin(900, 0)
        scores.append(learner.learn(rows, y))
    monkeypatch.setattr(example_memory, "layout", lambda: None)
    learner = make_learner("vw:--sgd")
    learner.begin(900, 0)
    scores.append(learner.learn(X, y))
    assert np.isfinite(scores[0]).all()
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[0], scores[2])


def test_another_layout_of_memory_is_noticed(monkeypatch: pytest.MonkeyPatch):
    layout = example_memory.layout()
    assert layout is not None
    assert example_memory._is_right(layout)
    assert not example_memory._is_right(layout._replace(squares=layout.squares + 4))
    assert example_memory._has_ends(layout)
    for other in (layout.values - 8, layout.values + 8, layout.indices):
        assert not example_memory._has_ends(layout._replace(values=other))

    memory = example_memory._memory

    def memory_with_a_freed_copy(address: int, count: int) -> bytes:
        content = memory(address, count)
        if count < example_memory._SEARCHED_BYTES:
            return content
        return content[: count // 2] + content[: count // 2]

    monkeypatch.setattr(example_memory, "_memory", memory_with_a_freed_copy)
    assert example_memory.layout.__wrapped__() == layout

    def no_memory(address: int, count: int) -> bytes:
        raise PermissionError

    monkeypatch.setattr(example_memory, "_memory", no_memory)
    assert example_memory.layout.__wrapped__() is None


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("vw:", 0),
        ("vw:--oaa 4 --nn 2", 4),
    ],
)
def test_the_contract_of_learners_holds(
    name: str, classes: int, monkeypatch: pytest.MonkeyPatch
):
    for module in (small_streams, learners, weights, claims):
        monkeypatch.setattr(module, "class_counts", lambda learner: (classes,))
    for title, check in learner_checks(learner_class(name)):
        check()
        assert title


@pytest.mark.parametrize(
    ("options", "kind", "restorable"),
    [
        ("--loss_function logistic --l1 1e-5", "two", True),
        (f"--oaa {CLASSES} --nn 3", "five", True),
        (f"--ect {CLASSES}", "five", True),
        ("--sgd --power_t 0.5 -q ::", "target", True),
        ("--coin", "target", True),
        ("--nn 3 --dropout", "target", False),
        ("--autolink 2", "target", False),
    ],
)
def test_a_restored_learner_goes_on_to_the_same_bits(
    options: str, kind: str, restorable: bool
):
    first = make_learner(f"vw:{options}")
    assert first.restorable is restorable
    if not restorable:
        return
    X, y = stream(kind)
    second = make_learner(f"vw:{options}")
    for each in (first, second):
        each.begin(COLUMNS, {"target": 0, "two": 2, "five": CLASSES}[kind])
    first.learn(X[:700], y[:700])
    second.restore(first.state())
    second.scores(X[:50])
    scores = [each.learn(X[700:], y[700:]) for each in (first, second)]
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(first.state()["model"], second.state()["model"])


def test_a_state_of_something_else_is_refused():
    learner = make_learner("vw:")
    learner.begin(COLUMNS, 0)
    state = learner.state()
    with pytest.raises(ValueError, match="does not fit"):
        learner.restore(state | {"model": state["model"][:-20]})
    with pytest.raises(ValueError, match="no rows lead to"):
        learner.restore({"model": state["model"]})


def test_probabilities_are_those_of_its_link():
    X, y = stream("two")
    learner: Any = make_learner("vw:--loss_function logistic --link logistic")
    learner.begin(COLUMNS, 2)
    assert learner.show_probabilities()
    scores = learner.learn(X, y)
    assert scores.shape == (ROWS, 3)
    np.testing.assert_allclose(scores[:, 1:].sum(axis=1), 1.0)
    assert np.array_equal(scores[:, 0] + 0.5, scores[:, 2])
    assert learner.with_plain_scores().scores(X).shape == (ROWS, 1)
    plain: Any = make_learner("vw:--loss_function logistic")
    plain.begin(COLUMNS, 2)
    assert not plain.show_probabilities()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--oaa 3 -d rows.vw", "--data makes no sense here (olscale gives it the rows"),
        ("-f model", "--final_regressor makes no sense here (it reads or writes files"),
        ("--passes 3", "the learner is to learn every row once"),
        ("--ngram 2", "rows have numbers in one namespace"),
        ("--daemon --port 0", "--daemon makes no sense here"),
        ("--loss_functio logistic", "did you mean --loss_function?"),
        ("--loss_function logstic", "Please select from {classic, expectile"),
        ("--oaa ten", "Failed to convert ten"),
        ("--nn", "is not accepted by Vowpal Wabbit"),
        ("rows.vw", "'rows.vw' is no option"),
        ("--cb 3", "does not learn a class or a target of each row"),
        ("--lda 5", "does not learn a class or a target of each row"),
        ("--active --binary", "waits on a port for a program that labels rows"),
        ("--oaa 0", "--oaa counts 0 classes, expected 2 or more"),
        ("--csoaa_ldf m", "does not learn a class or a target of each row"),
        ("--oaa '3", "No closing quotation"),
        ("-b 60", "give -b a smaller number"),
        ("--bootstrap 3", "draws random numbers where it only predicts"),
    ],
)
def test_a_command_line_that_is_wrong_is_one_line(options: str, message: str):
    with pytest.raises(ParameterError, match=re.escape(message)) as caught:
        make_learner(f"vw:{options}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "classes", "message"),
    [
        ("--oaa 3", 5, "write 5 there instead of 3"),
        ("--loss_function logistic", 5, "add --oaa 5"),
    ],
)
def test_other_classes_than_it_counts_are_refused(
    options: str, classes: int, message: str
):
    with pytest.raises(ParameterError, match=message):
        make_learner(f"vw:{options}").begin(COLUMNS, classes)


@pytest.mark.parametrize("classes", [2, CLASSES])
def test_the_stream_counts_the_classes(classes: int):
    X, y = stream("five")
    labels = y % classes
    by_stream = make_learner("vw:--oaa {classes} --nn 2")
    by_number = make_learner(f"vw:--oaa {classes} --nn 2")
    for learner in (by_stream, by_number):
        learner.begin(COLUMNS, classes)
    scores = by_number.learn(X, labels)
    assert np.array_equal(by_stream.learn(X, labels), scores)
    assert by_stream.name == "vw:--oaa {classes} --nn 2"
    restored = make_learner(by_stream.name)
    restored.begin(COLUMNS, classes)
    restored.restore(by_stream.state())
    assert np.array_equal(restored.scores(X), by_number.scores(X))


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch):
    def no_package(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(command_line, "version", no_package)
    with pytest.raises(ParameterError, match="pip install vowpalwabbit"):
        command_line.vowpalwabbit_version()


def test_a_copy_outlives_the_learner_and_restored_tables_are_freed(
    monkeypatch: pytest.MonkeyPatch,
):
    ended = []
    finish = pylibvw.vw.finish
    monkeypatch.setattr(
        pylibvw.vw, "finish", lambda space: (ended.append(space), finish(space))
    )
    X, y = stream("two")
    ours: Any = make_learner("vw:--loss_function logistic")
    ended.clear()
    ours.begin(COLUMNS, 2)
    ours.learn(X, y)
    ours.restore(ours.state())
    assert len(ended) == 1
    ahead = ours.scores(X)
    copied = ours.with_plain_scores()
    del ours
    gc.collect()
    assert len(ended) == 1
    np.testing.assert_array_equal(copied.scores(X), ahead)


@pytest.mark.parametrize("options", ["-q :: -b 4", "--loss_function=hinge", ""])
def test_all_behind_the_colon_is_the_command_line(options: str):
    assert parse_learner(f"vw:{options}") == {"name": f"vw:{options}", "params": {}}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vw")
    X, y = stream("five")
    np.savetxt(folder / "rows.csv", np.column_stack([X, y]), "%.6f", ",")
    ingest(
        [str(folder / "rows.csv")], str(folder / "rows"), label="8", target="classes"
    )
    return folder / "rows"


def experiment(dataset: Path, *names: str) -> Experiment:
    return parse_experiment(
        {
            "name": "vw",
            "datasets": [{"path": str(dataset)}],
            "learners": [{"name": name} for name in names],
            "protocol": {"order": "permuted", "permutations": 2},
        }
    )


def test_its_exception_ends_its_run_and_no_other(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    learn = ExampleSlots.learn

    def fail_later(slots: ExampleSlots, X: Any, labels: Any) -> list[Any]:
        if len(labels) > REHEARSED:
            raise RuntimeError("the learner cannot go on")
        return learn(slots, X, labels)

    name = f"vw:--oaa {CLASSES}"
    plan = experiment(dataset, name, "majority")
    make_learner(name)
    monkeypatch.setattr(ExampleSlots, "learn", fail_later)
    done = evaluate(plan, tmp_path / "store", in_process=True)
    rows = Store(done.store.path).read(["learner", "outcome", "reason"]).to_pylist()
    outcomes = {row["learner"]: (row["outcome"], row["reason"]) for row in rows}
    assert outcomes["majority"] == ("ok", "")
    assert outcomes[name][0] == "learner_error"
    assert "the learner cannot go on" in outcomes[name][1]


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
        f"vw:--oaa {CLASSES} --nn 2",
        f"vw:--oaa {CLASSES} --nn 2 --dropout",
        f"vw:--ect {CLASSES}",
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


@pytest.mark.parametrize(("options", "numbers"), [("--sgd", 1), ("", 4), ("--coin", 8)])
def test_a_table_beyond_the_budget_ends_the_run_before_it_begins(
    options: str, numbers: int
) -> None:
    """It is no memory of the process before weights are written, and saving reads all of it."""
    learner = make_learner(f"vw:--loss_function logistic -b 20 {options}")
    needed = learner.reserved_bytes(5, 2)  # type: ignore[attr-defined]
    assert needed == 4 * numbers * 2**20
    Budget(max_memory=needed).check_reserved(needed)
    with pytest.raises(TimeUp) as caught:
        Budget(max_memory=needed - 1).check_reserved(needed)
    assert caught.value.excess == BudgetExceeded(
        "oom",
        f"asks at its start for {needed} bytes, more than its budget of {needed - 1} bytes "
        "(max_memory)",
    )
