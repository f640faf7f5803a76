"""Runs of sums: the same bytes wherever they are saved, and the model that one pass along the stream has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olscale
from olscale.data.ingest.ingest import ingest
from olscale.errors import ExperimentError
from olscale.evaluation import summed_rows
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.final_models import compute_model
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.summed_rows import SumsPass, can_sum, cut_sums
from olscale.execution.on_worker import run_as_task
from olscale.learners.contract.learner import codes_of
from olscale.models.file import load_model
from olscale.results.opening import open_store
from olscale.results.record import Record
from olscale.results.rows import run_bytes
from olscale.results.store import model_file
from tests.cluster import Cluster

TEST_ONLY = {"test_only": True, "order": "time"}


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset of 1,000 rows of three classes in chunks of 150, none of which ends with a block of 166 rows."""
    folder = tmp_path_factory.mktemp("sums")
    rng = np.random.default_rng(0)
    for part, rows in (("train", 1000), ("test", 90)):
        X = rng.normal(size=(rows, 5))
        np.savez(
            folder / f"{part}.npz",
            X=X,
            y=(np.abs(X[:, :2]).sum(axis=1) > 1.0) + (X[:, 2] > 0.5),
        )
    ingest(
        [str(folder / "train.npz")],
        str(folder / "data"),
        test=[str(folder / "test.npz")],
        chunk_rows=150,
    )
    return folder / "data"


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summed_rows, "LEAST_ROWS", 150)


def content(path: Path, protocol: dict[str, Any], *learners: str) -> dict[str, Any]:
    return {
        "datasets": [{"path": str(path)}],
        "learners": [
            {"name": name, "params": {"nodes": 20} if name == "oselm" else {}}
            for name in learners
        ],
        "protocol": protocol,
    }


def group_of(path: Path, protocol: dict[str, Any] = TEST_ONLY) -> RunGroup:
    plan = make_plan(parse_experiment(content(path, protocol, "oselm")))
    [group] = cut_sums(cut_groups(plan.runs, plan.sources, 1))
    assert can_sum(group.runs[0])
    return group


def run(group: RunGroup, store: Path) -> Record:
    open_store(store, create=True)
    assert not run_as_task(group, str(store), lambda stand: None).fault
    return open_store(store).get(group.runs[0].id)


def test_the_model_is_that_of_a_pass_along_the_stream(
    stream: Path, tmp_path: Path
) -> None:
    for protocol in ({"order": "time"}, {"order": "permuted", "permutations": 1}):
        summed = run(
            group_of(stream, protocol | {"test_only": True}),
            tmp_path / protocol["order"],
        )
        store = tmp_path / f"{protocol['order']}-along"
        experiment = parse_experiment(content(stream, protocol, "oselm"))
        olscale.evaluate(experiment, store, in_process=True, progress=False)
        [row] = open_store(store).read(["metrics"]).to_pylist()
        along = dict(row["metrics"])
        assert summed.metrics["norm_w"] == pytest.approx(along["norm_w"], rel=1e-8)
        assert summed.metrics["updates"] == 1000
        for name in ("test_error", "test_kappa"):
            assert summed.metrics[name] == along[name]


def test_a_pass_goes_on_in_the_middle_of_a_block(stream: Path, tmp_path: Path) -> None:
    group = group_of(stream)
    undisturbed = run(group, tmp_path / "undisturbed")
    assert undisturbed.outcome == "ok"
    for chunks in (1, 4, 7):
        first = SumsPass(group)
        for _ in range(chunks):
            first.advance()
        second = SumsPass(group)
        second.restore(dict(first.state()))
        while not second.ended:
            second.advance()
        [record] = second.finish()
        assert run_bytes(record) == run_bytes(undisturbed)


def test_the_model_can_be_made_again_and_kept(stream: Path, tmp_path: Path) -> None:
    """To the bit, or the record would differ."""
    group = replace(group_of(stream), keeps_models=True)
    record = run(group, tmp_path / "store")
    model = compute_model(record, str(stream))
    kept = load_model(tmp_path / "store" / model_file(record.id))
    for name, array in model.learner.state().items():
        np.testing.assert_array_equal(kept.learner.state()[name], array)


@pytest.mark.long
def test_workers_and_this_process_write_the_same_bytes(
    stream: Path, tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folds of a permuted order too, and a learner beside it that knows no sums."""
    monkeypatch.undo()  # workers have blocks as large as ever
    protocol = {"test_only": True, "split": "kfold", "folds": 2}
    experiment = parse_experiment(content(stream, protocol, "oselm", "pa1"))
    found = []
    for name, where in (
        ("here", {"in_process": True}),
        ("there", {"scheduler": cluster.scheduler}),
    ):
        olscale.evaluate(experiment, tmp_path / name, progress=False, **where)
        store = open_store(tmp_path / name)
        found.append([run_bytes(store.get(id)) for id in sorted(store.done())])
        assert not list((tmp_path / name / "tmp").glob("shards-*"))
    assert len(found[0]) == 4
    assert found[0] == found[1]


def test_nothing_along_the_stream_is_said(stream: Path, tmp_path: Path) -> None:
    olscale.evaluate(
        parse_experiment(content(stream, TEST_ONLY, "pa1")),
        tmp_path,
        in_process=True,
        progress=False,
    )
    [row] = (
        open_store(tmp_path)
        .read(["metrics", "curve_rows", "segments", "series"])
        .to_pylist()
    )
    metrics = dict(row["metrics"])
    assert not any(row[name] for name in ("curve_rows", "segments", "series"))
    assert {name for name in metrics if not name.startswith("test_")} <= {
        "updates",
        "model_bytes",
        "norm_w",
    }
    assert {"test_error", "test_kappa"} < metrics.keys()
    assert not {"test_kappa_m", "test_kappa_t"} & metrics.keys()


def test_a_row_that_cannot_be_used_ends_the_run_where_it_is(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(700, 3))
    y = np.tile([0, 1], 350)
    X[[430, 610], 1] = np.nan
    for part, rows in (("train", slice(None)), ("test", slice(0, 20))):
        np.savez(tmp_path / f"{part}.npz", X=X[rows], y=y[rows])
    ingest(
        [str(tmp_path / "train.npz")],
        str(tmp_path / "data"),
        test=[str(tmp_path / "test.npz")],
        chunk_rows=100,
    )
    record = run(group_of(tmp_path / "data"), tmp_path / "store")
    assert record.outcome == "diverged"
    assert "row 430:" in record.reason


def test_what_needs_the_order_of_rows_is_not_summed(stream: Path) -> None:
    def summed(learner: dict[str, Any], **more: Any) -> bool:
        protocol = TEST_ONLY | more.pop("protocol", {})
        given = content(stream, protocol, "pa1") | {"learners": [learner], **more}
        return can_sum(make_plan(parse_experiment(given)).runs[0])

    assert summed({"name": "oselm"})
    assert summed({"name": "rff-rls"}, transforms=["standardize"])
    assert not summed({"name": "oselm", "params": {"forget": 0.9}})
    assert not summed({"name": "oselm", "params": {"start": "boost"}})
    assert not summed({"name": "oselm"}, transforms=["running-standardize"])
    assert not summed({"name": "oselm"}, protocol={"passes": 2})
    assert not summed({"name": "pa1"})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"window": 10},
            "test_only does not go with window, which needs predictions along the stream",
        ),
        ({"burn_in": 10}, "test_only does not go with burn_in"),
        ({"measures": ["kappa_m"]}, "test_only does not go with measures = 'kappa_m'"),
        (
            {"split": "prequential-kfold"},
            "test_only does not go with split = 'prequential-kfold'",
        ),
    ],
)
def test_options_of_the_stream_do_not_go_with_it(
    stream: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ExperimentError, match=said):
        make_plan(parse_experiment(content(stream, TEST_ONLY | options, "pa1")))


def test_it_needs_rows_to_test_on(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", X=np.eye(4), y=[0, 1, 0, 1])
    ingest([str(tmp_path / "rows.npz")], str(tmp_path / "data"))
    with pytest.raises(
        ExperimentError,
        match=r"test_only needs rows to test on, and dataset .* has no test split; give",
    ):
        make_plan(parse_experiment(content(tmp_path / "data", TEST_ONLY, "pa1")))


@pytest.mark.parametrize("test_only", [False, True])
def test_rows_can_be_predicted_again_by_the_final_model(
    stream: Path, tmp_path: Path, test_only: bool
) -> None:
    protocol = {"measures": ["train_error"], "order": "time", "test_only": test_only}
    olscale.evaluate(
        parse_experiment(content(stream, protocol, "oselm")),
        tmp_path,
        in_process=True,
        progress=False,
    )
    store = open_store(tmp_path)
    [record] = [store.get(id) for id in store.done()]
    model = compute_model(record, str(stream)).learner
    chunks = list(olscale.open_dataset(stream).chunks("train"))
    wrong = sum(
        int((codes_of(model.scores(chunk.X)) != chunk.y).sum()) for chunk in chunks
    )
    assert record.metrics["train_error"] == wrong / 1000
    assert record.metrics["train_error"] != record.metrics["test_error"]


def test_rows_that_were_not_learned_are_not_called_training_rows(stream: Path) -> None:
    for options in (
        {"delay": 3},
        {"split": "prequential-kfold"},
        {"holdout_every": 50, "holdout_rows": 9},
    ):
        with pytest.raises(
            ExperimentError,
            match="train_error', which needs a model that learns from every row",
        ):
            make_plan(
                parse_experiment(
                    content(
                        stream,
                        {"measures": ["train_error"], "order": "time"} | options,
                        "pa1",
                    )
                )
            )
