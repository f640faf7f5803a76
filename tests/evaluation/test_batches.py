"""Test-then-train in batches against plain loops over whole batches, whatever the chunks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river.linear_model import LinearRegression, LogisticRegression
from river.naive_bayes import GaussianNB
from river.tree import HoeffdingTreeClassifier
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB as ScikitNB

from olscale.cli.results import results
from olscale.data.chunk import Chunk, join_chunks
from olscale.data.feature_names import NAMELESS
from olscale.data.ingest.ingest import ingest
from olscale.data.stream import open_streams
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.run import Run
from olscale.evaluation.run_plan import RunPlan
from olscale.learners.contract.learner import predictions_of
from olscale.learners.registry import make_learner
from olscale.results.opening import open_store
from olscale.results.record import Record
from olscale.results.rows import run_bytes
from tests.evaluation.planned import plan
from tests.evaluation.test_protocol import records

# no chunk of 64 rows ends where a batch does; the last batch of 400 rows is short
BATCH = 48

OURS = [
    "perceptron",
    "pa1",
    "arow",
    "lol",
    "pamo1",
    "kernel-perceptron",
    "oselm",
    "knn-window",
]
OURS += ["naive-bayes", "majority", "no-change", "projectron"]


def rows_of_run(run: Run, shelf: Path, dataset: str) -> tuple[Chunk, Chunk | None]:
    """Return the stream of a run and its test split, each as one chunk."""
    key = run.stream
    streams = open_streams(str(shelf / dataset), key.transforms, key.shuffle, key.part)
    test = None
    if streams.test is not None:
        test = join_chunks([*streams.test.chunks()])
    return join_chunks([*streams.train.chunks()]), test


@pytest.mark.parametrize("name", OURS)
def test_learners_of_olscale_have_the_figures_of_labels_delayed_to_the_end_of_the_batch(
    name: str, shelf: Path
) -> None:
    """One call per row, in a plain loop: predict the rows of a batch, then learn them."""
    made = plan(shelf, learners=(name,), batch=BATCH)
    [record] = records(made)
    stream, test = rows_of_run(made.runs[0], shelf, "dense")
    learner = make_learner(name, {})
    learner.begin(stream.columns, 2)
    predicted = []
    for start in range(0, len(stream), BATCH):
        rows = range(start, min(start + BATCH, len(stream)))
        for i in rows:
            predicted += predictions_of(
                learner.scores(stream[i : i + 1].X), learner.task
            ).tolist()
        for i in rows:
            learner.learn(stream[i : i + 1].X, stream.y[i : i + 1])
    assert record.metrics["mistakes"] == (np.array(predicted) != stream.y).sum()
    assert record.metrics["updates"] == learner.measures()["updates"]
    assert test is not None
    wrong = predictions_of(learner.scores(test.X), learner.task) != test.y
    assert record.metrics["test_error"] == wrong.mean()
    wrong_so_far = np.cumsum(np.array(predicted) != stream.y)
    assert (
        record.curve_mistakes.tolist() == wrong_so_far[record.curve_rows - 1].tolist()
    )


def test_targets_and_novelties_come_in_batches(shelf: Path) -> None:
    [record] = records(plan(shelf, "targets", ("rls",), batch=BATCH))
    stream, _ = rows_of_run(plan(shelf, "targets", ("rls",)).runs[0], shelf, "targets")
    learner = make_learner("rls", {})
    learner.begin(stream.columns, 0)
    predicted = []
    for start in range(0, len(stream), BATCH):
        batch = stream[start : start + BATCH]
        predicted.append(learner.scores(batch.X)[:, 0])
        learner.learn(batch.X, batch.y)
    error = np.concatenate(predicted) - stream.y
    assert record.metrics["rmse"] == pytest.approx(
        np.sqrt(np.mean(error**2)), rel=1e-12
    )


ALONG: dict[str, dict[str, Any]] = {
    "plain": {},
    "along": {
        "window": 50,
        "fading": 0.99,
        "drift": "ddm",
        "mcnemar": True,
        "burn_in": 30,
    },
    "measures": {
        "measures": ["kappa", "kappa_m", "kappa_t", "auc", "log_loss", "train_error"]
    },
    "threshold": {"threshold": "f1"},
    "kfold": {"split": "prequential-kfold", "folds": 3},
}


@pytest.mark.parametrize("protocol", ALONG.values(), ids=ALONG)
def test_a_column_of_delays_to_the_ends_of_batches_is_the_same_protocol(
    tmp_path: Path, protocol: dict[str, Any]
) -> None:
    """Every metric and every curve, for linear, local and other learners."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    X = (rng.normal(size=(300, 4)) + y[:, None]).round(3)
    rows = np.arange(300)
    waits = np.minimum((rows // BATCH + 1) * BATCH, 300) - 1 - rows
    for name, columns in (("plain", X), ("late", np.column_stack([X, waits]))):
        header = "a,b,c,d,late,label" if name == "late" else "a,b,c,d,label"
        table = np.column_stack([columns, y])
        np.savetxt(
            tmp_path / f"{name}.csv", table, "%g", ",", header=header, comments=""
        )
        ingest([str(tmp_path / f"{name}.csv")], str(tmp_path / name), chunk_rows=40)
    learners = ("pa1", "lol", "knn-window", "no-change")
    asked = {name: value for name, value in protocol.items() if name != "measures"}
    measures = list(protocol.get("measures", []))
    batched = records(
        plan(tmp_path, "plain", learners, batch=BATCH, measures=measures, **asked)
    )
    # refused where labels never arrive, as a column may say
    if "train_error" in measures:
        measures.remove("train_error")
    late = records(
        plan(tmp_path, "late", learners, delay="late", measures=measures, **asked)
    )
    assert len(batched) == len(late) >= 4
    for one, other in zip(batched, late, strict=True):
        metrics = {k: v for k, v in one.metrics.items() if k != "train_error"}
        assert metrics == dict(other.metrics)
        assert one.curve_mistakes.tolist() == other.curve_mistakes.tolist()
        assert [s.values.tolist() for s in one.series] == [
            s.values.tolist() for s in other.series
        ]


class Counting(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Counts the calls that it gets, and the rows in each."""

    calls: list[tuple[str, int]]

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        if not hasattr(self, "model_"):
            self.model_ = ScikitNB()
            self.calls = []
        self.model_.partial_fit(X, y, classes=classes)
        self.calls.append(("partial_fit", len(y)))
        return self

    def predict(self, X: Any) -> Any:
        self.calls.append(("predict", len(X)))
        return self.model_.predict(X)

    def decision_function(self, X: Any) -> Any:
        raise AssertionError("one call predicts a batch")


def passed(made: RunPlan) -> GroupPass:
    [group] = cut_groups(made.runs, made.sources, 1)
    group_pass = GroupPass(group)
    while not group_pass.ended:
        group_pass.advance()
    return group_pass


@pytest.mark.parametrize("batch", [48, 100, 150, 399])
def test_a_model_of_scikit_learn_gets_one_call_to_predict_and_one_to_learn(
    shelf: Path, batch: int
) -> None:
    name = "tests.evaluation.test_batches:Counting"
    group_pass = passed(plan(shelf, learners=(name,), batch=batch))
    sizes = [min(batch, 400 - start) for start in range(0, 400, batch)]
    calls = [
        call for size in sizes for call in (("predict", size), ("partial_fit", size))
    ]
    # nothing predicts at first
    assert group_pass.states[0].learner.estimator.calls == calls[1:]
    assert group_pass.rows == 400
    assert group_pass.finish()[0].outcome == "ok"


def in_scikit_learn(model: Any, batch: Chunk, predicts: bool) -> list[Any]:
    answers = model.predict(batch.X).tolist() if predicts else [None] * len(batch)
    if isinstance(model, SGDRegressor):
        model.partial_fit(batch.X, batch.y)
    else:
        model.partial_fit(batch.X, batch.y, classes=np.arange(2))
    return answers


def in_river(model: Any, batch: Chunk, predicts: bool) -> list[Any]:
    rows = [dict(enumerate(row.tolist())) for row in np.asarray(batch.X)]
    answers = [model.predict_one(row) for row in rows]
    for row, y in zip(rows, batch.y.tolist(), strict=True):
        model.learn_one(row, y)
    return answers


def with_frames(model: Any, batch: Chunk, predicts: bool) -> list[Any]:
    import pandas as pd

    frame = pd.DataFrame(batch.X)
    binary = isinstance(model, LogisticRegression)
    if predicts:
        answers = model.predict_many(frame).tolist()
    else:
        answers = [
            model.predict_one(dict(enumerate(row))) for row in np.asarray(batch.X)
        ]
    model.learn_many(frame, pd.Series(batch.y == 1 if binary else batch.y))
    return answers


OTHERS: dict[str, tuple[str, Callable[[], Any], Callable[..., list[Any]], str]] = {
    "naive Bayes": (
        "sklearn.naive_bayes:GaussianNB",
        ScikitNB,
        in_scikit_learn,
        "dense",
    ),
    "SGD": (
        "sklearn.linear_model:SGDClassifier:random_state=0",
        lambda: SGDClassifier(random_state=0),
        in_scikit_learn,
        "dense",
    ),
    "SGD of targets": (
        "sklearn.linear_model:SGDRegressor:random_state=0",
        lambda: SGDRegressor(random_state=0),
        in_scikit_learn,
        "targets",
    ),
    "tree": (
        "river.tree:HoeffdingTreeClassifier",
        HoeffdingTreeClassifier,
        in_river,
        "dense",
    ),
    "River's naive Bayes": (
        "river.naive_bayes:GaussianNB",
        GaussianNB,
        with_frames,
        "dense",
    ),
    "logistic": (
        "river.linear_model:LogisticRegression",
        LogisticRegression,
        with_frames,
        "dense",
    ),
    "linear": (
        "river.linear_model:LinearRegression",
        LinearRegression,
        with_frames,
        "targets",
    ),
}


@pytest.mark.parametrize(
    ("name", "make", "loop", "dataset"), OTHERS.values(), ids=OTHERS
)
def test_models_from_elsewhere_have_the_figures_of_their_own_loop(
    name: str,
    make: Callable[[], Any],
    loop: Callable[..., list[Any]],
    dataset: str,
    shelf: Path,
) -> None:
    path, _, seed = name.partition(":random_state=")
    params = {"random_state": int(seed)} if seed else {}
    made = plan(shelf, dataset, (path,), batch=BATCH)
    runs = (
        [replace(run, params=params) for run in made.runs]
        if params
        else list(made.runs)
    )
    group = replace(cut_groups(made.runs, made.sources, 1)[0], runs=tuple(runs))
    group_pass = GroupPass(group)
    while not group_pass.ended:
        group_pass.advance()
    [record] = group_pass.finish()
    assert record.outcome == "ok", record.reason
    stream, _ = rows_of_run(made.runs[0], shelf, dataset)
    model = make()
    answers: list[Any] = []
    for start in range(0, len(stream), BATCH):
        answers += loop(model, stream[start : start + BATCH], start > 0)
    if dataset == "targets":
        error = np.array([answer or 0.0 for answer in answers]) - stream.y
        assert record.metrics["rmse"] == pytest.approx(
            np.sqrt(np.mean(error**2)), rel=1e-12
        )
    else:
        # Before the first batch a model of scikit-learn answers class 1, as scores of 0 do.
        codes = [1 if answer is None else int(answer) for answer in answers]
        assert record.metrics["mistakes"] == (np.array(codes) != stream.y).sum()
    assert record.metrics["updates"] == 400


def test_weights_of_rows_come_with_their_batch() -> None:
    """Rows of weight 0 never reach a model of scikit-learn, which cannot learn from them alone."""
    import pandas as pd

    random = np.random.default_rng(3)
    y = random.integers(0, 2, 90)
    X = random.normal(size=(90, 3)) + y[:, None]
    weights = random.choice([0.0, 0.5, 2.0], 90)
    ours = {}
    for name in (
        "sklearn.linear_model:SGDClassifier",
        "river.linear_model:LogisticRegression",
    ):
        learner = make_learner(name, {})
        learner.expect_names(NAMELESS, (0, 1))
        learner.begin(3, 2)
        learner.learn_batches(X, y, 30, weights)
        ours[name] = learner.scores(X)[:, 0] > 0
    scikit = SGDClassifier(random_state=0)
    river = LogisticRegression()
    for start in range(0, 90, 30):
        batch = slice(start, start + 30)
        kept = np.flatnonzero(weights[batch]) + start
        scikit.partial_fit(
            X[kept], y[kept], classes=[0, 1], sample_weight=weights[kept]
        )
        frame = pd.DataFrame(X[batch])
        river.learn_many(frame, pd.Series(y[batch] == 1), w=pd.Series(weights[batch]))
    expected = [scikit.predict(X) == 1, river.predict_many(pd.DataFrame(X)).to_numpy()]
    for got, own in zip(ours.values(), expected, strict=True):
        assert (got == own).all()


MIXED = (
    "pa1",
    "lol",
    "sklearn.linear_model:SGDClassifier",
    "river.naive_bayes:GaussianNB",
)


@pytest.mark.parametrize(
    ("batch", "dataset"),
    [(7, "dense"), (48, "dense"), (48, "sparse"), (150, "sparse")],
)
def test_the_bytes_are_the_same_however_the_rows_are_cut_into_chunks(
    shelf: Path, tmp_path: Path, batch: int, dataset: str
) -> None:
    suffix = "npz" if dataset == "dense" else "svm"
    sources = [str(shelf / f"{split}.{suffix}") for split in ("train", "test")]
    bytes_of = []
    for chunk_rows in (33, 64, 400):
        folder = tmp_path / str(chunk_rows)
        folder.mkdir()
        path = str(folder / dataset)
        ingest(sources[:1], path, test=sources[1:], chunk_rows=chunk_rows)
        asked = {
            "batch": batch,
            "window": 50,
            "burn_in": 20,
            "measures": ["kappa", "auc"],
        }
        bytes_of.append(
            sorted(run_bytes(r) for r in records(plan(folder, dataset, MIXED, **asked)))
        )
    assert bytes_of[0] == bytes_of[1] == bytes_of[2]


@pytest.mark.parametrize("batch", [48, 150, 399])
def test_a_pass_is_saved_and_continued_within_a_batch(shelf: Path, batch: int) -> None:
    """It reads the rows of the batch again; no row is in the checkpoint."""
    learners = ("pa1", "lol", "knn-window")
    made = plan(shelf, learners=learners, batch=batch, measures=["kappa", "log_loss"])
    [group] = cut_groups(made.runs, made.sources, 1)
    expected = [run_bytes(record) for record in passed(made).finish()]
    places = []
    going = GroupPass(group)
    while not going.ended:
        going.advance()
        state = dict(going.state())
        again = GroupPass(group)
        again.restore(state)
        assert (again.position, again.within) == going.resumes_at
        places.append(again.rows == going.rows)
        while not again.ended:
            again.advance()
        assert again.rows == 1200
        assert [run_bytes(record) for record in again.finish()] == expected
        assert not [
            name for name in state if "schedule" in name and len(state[name]) > 1
        ]
    assert not all(places), "some pass was saved in the middle of a batch"


def test_errors_on_the_test_split_are_those_of_models_between_batches(
    shelf: Path,
) -> None:
    [record] = records(plan(shelf, batch=40, holdout_every=80))
    stream, test = rows_of_run(plan(shelf).runs[0], shelf, "dense")
    assert test is not None
    expected = []
    learner = make_learner("pa1", {})
    learner.begin(stream.columns, 2)
    for start in range(0, 400, 80):
        learner.learn(stream[start : start + 80].X, stream.y[start : start + 80])
        wrong = predictions_of(learner.scores(test.X), "classification") != test.y
        expected.append((start + 80, wrong.mean()))
    [(name, at, values)] = record.series
    assert (name, list(zip(at.tolist(), values.tolist(), strict=True))) == (
        "holdout_error",
        expected,
    )


FOLDS: dict[str, dict[str, Any]] = {
    "permutations": {"order": "permuted", "permutations": 2},
    "folds": {"order": "permuted", "split": "kfold", "folds": 3},
    "online folds": {"split": "prequential-bootstrap", "folds": 3},
}


@pytest.mark.parametrize("protocol", FOLDS.values(), ids=FOLDS)
def test_permutations_and_folds_come_in_batches(
    shelf: Path, protocol: dict[str, Any]
) -> None:
    made = plan(shelf, learners=MIXED, batch=BATCH, **protocol)
    done = records(made)
    assert [record.outcome for record in done] == ["ok"] * len(made.runs)
    plain = plan(shelf, learners=MIXED, **protocol)
    assert not {run.id for run in made.runs} & {run.id for run in plain.runs}
    assert all(run.definition()["protocol"]["batch"] == BATCH for run in made.runs)


@pytest.mark.parametrize("name", ["ScoredBreaks", "SilentBreaks", "RiverLikeBreaks"])
def test_a_model_that_breaks_down_in_a_batch_ends_its_run(
    shelf: Path, name: str
) -> None:
    learner = f"tests.learners.own_estimators:{name}"
    [record] = records(plan(shelf, learners=(learner,), batch=BATCH))
    assert record.outcome == "diverged"


def test_tables_name_the_batch_and_keep_it_apart(shelf: Path, tmp_path: Path) -> None:
    from click.testing import CliRunner

    store = open_store(tmp_path / "store", create=True)
    done: list[Record] = []
    for batch in ({}, {"batch": 20}, {"batch": 40}):
        done += records(plan(shelf, learners=("pa1", "arow"), **batch))
    for record in done:
        store.write(record)
    table = CliRunner().invoke(results, [str(tmp_path / "store")]).output
    assert [
        f"time order{text}\n" in table for text in ("", ", batch 20", ", batch 40")
    ] == [True] * 3
