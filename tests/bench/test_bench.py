"""Benchmarks: what is measured is right, ratios are of the same round, and a missing peer is a line. No figure is judged."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from olscale.bench import BENCHMARKS, run
from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.loops import arow_numpy, bare_max_out, lol_numpy
from olscale.bench.other_learners import missing
from olscale.bench.table import as_json, machine
from olscale.bench.workloads.url_like import chunks
from olscale.cli import olscale
from olscale.errors import UnknownNameError
from olscale.evaluation.experiment import Experiment
from olscale.execution.evaluate import evaluate
from olscale.execution.evaluation import Evaluation
from olscale.learners.linear.passive_aggressive import PA1
from olscale.learners.local.lol import LOL
from olscale.results import open_store
from tests.cluster import Cluster


def test_contestants_take_turns_and_the_first_round_does_not_count() -> None:
    order: list[str] = []
    table = [
        Contestant(name, lambda _, name=name: order.append(name), 1.0, peer="a")
        for name in "ab"
    ]
    figures = compare(table, "calls/s", 2, _clock(9.0))
    assert order == list("ababab")
    assert figures[0].ratio == 1.0


def test_short_rounds_are_more() -> None:
    """Two contestants of half a second each: two rounds are not enough, five are."""
    order: list[str] = []
    table = [
        Contestant(name, lambda _, name=name: order.append(name), 1.0) for name in "ab"
    ]
    assert [figure.value for figure in compare(table, "calls/s", 2, _clock(0.5))] == [
        2.0,
        2.0,
    ]
    assert len(order) == 2 * 6
    order.clear()
    compare(table, "calls/s", 2, _clock(0.001))
    assert len(order) == 2 * 17


def test_waiting_is_no_work_of_the_processor() -> None:
    table = [
        Contestant("busy", lambda _: sum(range(100_000)), 1.0),
        Contestant("idle", lambda _: sleep(0.01), 1.0),
    ]
    busy, idle = compare(table, "calls/s", 1)
    assert (idle.value or 0.0) > 2.0 * (busy.value or 0.0) > 0.0


def _clock(step: float) -> Callable[[], float]:
    """Return a clock by which each call takes so long."""
    ticks = count()
    return lambda: step * next(ticks)


def test_a_target_is_met_or_missed() -> None:
    assert [
        Figure("f", 1.0, ratio=r, target=">= 0.9").met for r in (0.9, 0.8, None)
    ] == [
        True,
        False,
        None,
    ]


def test_the_bare_loop_does_what_pa1_does() -> None:
    """Fed with PA-I's steps, the bare loop ends with PA-I's weights."""
    from olscale.bench.linear import _bare

    stream = list(chunks(300, chunk_rows=100, columns=2_000))
    model = PA1(C=1.0)
    model.begin(2_000, 2)
    for chunk in stream:
        model.learn(chunk.X, chunk.y)
    contestant = _bare(stream)
    w = contestant.prepare()
    contestant.run(w)
    np.testing.assert_allclose(w, model.state_["W"][:, 0], atol=1e-12)
    assert w.any()


def test_the_bare_max_out_moves_one_hyperplane_a_dimension_where_told() -> None:
    X = np.random.default_rng(0).normal(size=(1, 5))
    P = np.ones((6, 5))
    out = np.zeros(6)
    bare_max_out(X, np.array([False]), P, 2, out)
    np.testing.assert_allclose(out, X.sum())
    assert (P == 1.0).all()
    bare_max_out(X, np.array([True]), P, 2, out)
    assert (P != 1.0).any(axis=1).tolist() == [True, False] * 3


def test_rows_that_move_pamo_are_found() -> None:
    from olscale.bench.local import _moved
    from olscale.data.chunk import Chunk

    X = np.random.default_rng(0).normal(size=(40, 3))
    stream = [Chunk(X, (X[:, 0] > 0.0).astype(np.int64), 3)] * 20
    always, at_a_loss = (_moved(name, {"h": 4}, stream) for name in ("pamo2", "pamo1"))
    assert always.shape == (800,)
    assert always.all()
    assert 0.0 < at_a_loss.mean() < 1.0


def test_soft_lol_is_measured_beside_lol_for_every_shape(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from olscale.bench import local
    from olscale.bench.local import _SHAPES, soft_figures

    monkeypatch.setattr(local, "_MANY_CLASSES", {"30 classes": (5, 30, 1.0, 8)})
    every = soft_figures(rounds=1, values=0)
    found = every[: 3 * len(_SHAPES)]
    many = every[3 * len(_SHAPES) :]
    assert [figure.name for figure in many[1::2]] == [
        "soft-lol, float64, 30 classes",
        "soft-lol, float32, 30 classes",
    ]
    assert [figure.name for figure in found[1::3]] == [
        f"soft-lol, rows like {name}" for name in _SHAPES
    ]
    for peer, ours in ((found[::3], found[1::3]), (found[1::3], found[2::3])):
        assert [figure.peer for figure in ours] == [figure.name for figure in peer]
    assert all(figure.value is not None and figure.value > 0.0 for figure in found)


def test_soft_lol_is_measured_where_it_costs_most() -> None:
    """Sparse rows with many classes, both forms of LOL beside it."""
    from olscale.bench.local import wide_figures

    *peers, soft = wide_figures(rows=30, rounds=1, features=2_000, classes=20)
    assert [figure.name.split(",")[1].strip() for figure in peers] == [
        "one-vs-all",
        "max-score",
    ]
    assert soft.peer == peers[0].name
    assert soft.ratio is not None


def test_reading_is_measured_on_rows_of_both_kinds() -> None:
    from olscale.bench.parse import _rows_like_adult, figures

    assert _rows_like_adult().count(b":") == 28_000
    found = figures(megabytes=1, rounds=1)
    assert [figure.name.rpartition(" ")[2] for figure in found] == ["a9a"] * 3 + [
        "URL"
    ] * 3
    assert all(figure.value is not None and figure.value > 0.0 for figure in found)


def test_the_numpy_versions_are_the_learners() -> None:
    """The slow peers compute the same thing, or the comparison would be idle."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(np.int64)
    model = LOL(k=8)
    model.begin(5, 2)
    np.testing.assert_allclose(
        model.learn(X, y)[:, 0], lol_numpy(X, y, 8, 1.0, 1.0), atol=1e-9
    )
    assert np.mean((X @ arow_numpy(X, X[:, 0] > 0.0) > 0.0) == (X[:, 0] > 0.0)) > 0.95


def test_permuting_is_measured_with_its_peak() -> None:
    from olscale.bench.permute import figures

    found = figures(rounds=1, rows=4_000)
    peaks = ["limit over peak"] * 2 if sys.platform == "linux" else [""]
    assert [figure.peer for figure in found] == [
        *("", "PA-I, file order, parquet", *peaks),
        *("", "PA-I, file order, zarr", *peaks),
    ]
    measured = [figure for figure in found if not figure.note]
    assert len(measured) == (8 if sys.platform == "linux" else 4)
    assert all(figure.value is not None and figure.value > 0.0 for figure in measured)
    assert all(
        figure.ratio is not None and figure.ratio > 0.0
        for figure in measured
        if figure.peer
    )


def test_a_missing_peer_says_how_to_get_it() -> None:
    (figure,) = missing("Peer", "no_such_module_here")
    assert "pip install" in figure.note
    assert figure.value is None
    assert missing("NumPy", "numpy") == []


def test_an_unknown_benchmark_ends_before_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The nearest name is in the message, and nothing runs before it, however many names are right."""
    monkeypatch.setattr(
        "olscale.bench.parse.figures", lambda: pytest.fail("a benchmark has run")
    )
    with pytest.raises(UnknownNameError, match="linear"):
        run(["parse", "linaer"])


def test_the_help_lists_every_benchmark() -> None:
    shown = CliRunner().invoke(olscale, ["bench", "--help"]).output
    # a line may end within a name
    assert f"Benchmarks:{','.join(BENCHMARKS)}." in "".join(shown.split())


def test_json_names_the_machine() -> None:
    written = json.loads(as_json({"parse": [Figure("reader", 1.0, "MB/s")]}, machine()))
    assert written["machine"]["versions"]["numpy"] == np.__version__
    assert written["benchmarks"]["parse"][0]["met"] is None


def test_the_command_prints_a_table_and_writes_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "olscale.bench.parse.figures",
        lambda: [Figure("reader", 650.0, "MB/s", 29.0, "peer")],
    )
    result = CliRunner().invoke(
        olscale,
        ["bench", "parse", "--json", str(tmp_path / "f.json")],
        standalone_mode=False,
    )
    assert result.exception is None
    assert "reader" in result.output
    assert (
        json.loads((tmp_path / "f.json").read_text())["benchmarks"]["parse"][0]["ratio"]
        == 29.0
    )


def test_scale_measures_every_step_from_the_archive_to_the_results(
    monkeypatch: pytest.MonkeyPatch, cluster: Cluster
) -> None:
    """Small, and on workers that run already; a failed run is in the note: a fast failure is not taken for a fast run."""
    asked = []

    def on_cluster(experiment: Experiment, store: Path, **options: Any) -> Evaluation:
        asked.append(options)
        where = (
            options if "workers" not in options else {"scheduler": cluster.scheduler}
        )
        return evaluate(experiment, store, **where)

    monkeypatch.setattr("olscale.bench.scale.evaluate", on_cluster)
    monkeypatch.setattr(
        "olscale.bench.other_learners.missing",
        lambda name, module: [Figure(name, note="left out")],
    )
    monkeypatch.setattr(
        "olscale.bench.scale.stream_learners",
        lambda: [{"name": "perceptron"}, {"name": "pa1"}],
    )
    figures = {figure.name: figure for figure in run(["scale"], rows=1500)["scale"]}
    assert asked == [{"in_process": True}, {"workers": 2}] * 2
    measured = [name for name, figure in figures.items() if figure.value is not None]
    for words in (
        "ingest to parquet",
        "ingest to zarr",
        "PA-I from zarr",
        "url-like through",
        "webspam-like through",
    ):
        assert any(words in name for name in measured), words
    assert not [figure.note for figure in figures.values() if "failed" in figure.note]
    assert "GB resident" in figures["url-like through 2 learners, 2 workers"].note


@pytest.mark.slow
def test_memory_is_flat_over_ten_million_rows() -> None:
    """No more than a few chunks are added behind the first tenth of a stream through three learners."""
    figures = {figure.name: figure.value for figure in run(["memory"])["memory"]}
    growth = figures["growth from the second to the last tenth"]
    assert growth is not None
    assert growth < 16


def test_memory_of_a_short_stream_is_not_measured() -> None:
    [figure] = run(["memory"], rows=1000)["memory"]
    assert figure.value is None
    assert "too soon" in figure.note


def test_small_runs_are_measured_beside_learning_and_where_all_are_there(
    tmp_path: Path,
) -> None:
    from olscale.bench import runs

    runs._generate(tmp_path)
    experiment = runs._experiment(tmp_path, 1, 2)
    done = evaluate(experiment, tmp_path / "store", in_process=True)
    learning, beside, processor = runs._beside(lambda: (2.0, 1.0, done), rounds=1)
    assert (learning.value or 0.0) + (beside.value or 0.0) == pytest.approx(2000 / 8)
    assert processor.value == pytest.approx(1000 / 8)
    figures = runs._nothing_to_compute(experiment, tmp_path / "loose")
    assert all(
        "nothing to compute, 8 runs" in figure.name and figure.value
        for figure in figures
    )
    assert open_store(tmp_path / "loose").done() == done.store.done()


def test_comparisons_are_measured_by_tables_and_json() -> None:
    from olscale.bench.compare import figures

    found = figures((6, 8))
    assert [figure.name for figure in found] == [
        "tables of 6 settings",
        "JSON of 6 settings",
        "tables of 8 settings",
        "JSON of 8 settings",
    ]
    assert all(figure.value is not None and figure.value > 0.0 for figure in found)


def test_a_dashboard_is_read_beside_an_evaluation() -> None:
    from olscale.bench.views import figures

    [figure] = figures(rows=2_000, pairs=1)
    assert figure.value is not None
    assert figure.value > 0
    assert figure.ratio is not None


def test_drift_has_a_speed_of_each_and_a_ratio_to_river(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("river", reason="river")
    from olscale.bench import drift

    monkeypatch.setattr(drift, "_RIVER_ROWS", 20)
    figures = {figure.name: figure for figure in drift.figures(rows=300, rounds=1)}
    assert all(figure.value > 0.0 for figure in figures.values())
    assert figures["River GaussianNB"].peer == "naive-bayes"
    assert figures["River GaussianNB"].ratio > 0.0
