"""Burn-in: the first rows are learned from and not counted, whatever else a protocol asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import slice_rows
from olscale.data.stream import open_streams
from olscale.errors import ExperimentError
from olscale.evaluation.class_shards import ShardPass, merge_shards
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run import Run
from olscale.evaluation.run_plan import RunPlan
from olscale.evaluation.shard_cuts import cut_shards
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import make_learner
from olscale.results.opening import open_store
from olscale.results.record import Record
from olscale.results.rows import run_bytes
from olscale.results.scratch import Scratch

BURN_IN = 150  # in the third chunk of 64 rows


def planned(
    path: Path,
    params: dict[str, Any] | None = None,
    learner: str = "pa1",
    **protocol: Any,
) -> RunPlan:
    content = {
        "datasets": [{"path": str(path)}],
        "learners": [{"name": learner, "params": params or {}}],
    }
    return make_plan(
        parse_experiment(
            content | {"protocol": {"order": "time", "burn_in": BURN_IN} | protocol}
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
    return found


def mistakes_of(run: Run, path: Path) -> np.ndarray:
    """Return for each row of a stream whether it is predicted wrongly before it is learned from, one row at a time."""
    stream = open_streams(
        str(path), run.stream.transforms, run.stream.shuffle, run.stream.part
    ).train
    learner = make_learner(run.learner, run.params)
    wrong = []
    shuffle = run.stream.shuffle
    learner.begin(
        stream.columns,
        len(stream.dataset.classes),
        () if shuffle is None else (shuffle.seed, shuffle.index),
    )
    for chunk in stream.chunks():
        for i in range(len(chunk)):
            scores = learner.learn(slice_rows(chunk.X, i, i + 1), chunk.y[i : i + 1])
            wrong.append(codes_of(scores)[0] != chunk.y[i])
    return np.array(wrong)


@pytest.mark.parametrize(
    "options",
    [{}, {"split": "kfold", "folds": 3}, {"order": "permuted", "permutations": 2}],
)
def test_rows_after_the_burn_in_are_counted_as_if_the_stream_began_there(
    shelf: Path, options: dict[str, Any]
) -> None:
    """Mistakes, curve, window and fading error and alarms; the model is that of the run without burn-in."""
    protocol = {"window": 20, "fading": 0.9, **options}
    plan = planned(shelf / "dense", **protocol)
    without = {
        record.id: record
        for record in records(planned(shelf / "dense", **protocol, burn_in=0))
    }
    ids = [run.id for run in planned(shelf / "dense", **protocol, burn_in=0).runs]
    for run, id, record in zip(plan.runs, ids, records(plan), strict=True):
        wrong = mistakes_of(run, shelf / "dense")[BURN_IN:]
        assert record.metrics["mistakes"] == wrong.sum()
        assert record.metrics["cumulative_error"] == wrong.sum() / len(wrong)
        assert record.curve_rows.tolist() == list(range(1, len(wrong) + 1))
        assert record.curve_mistakes.tolist() == np.cumsum(wrong).tolist()
        series = {one.name: one for one in record.series}
        windows = [wrong[max(0, i - 20) : i].mean() for i in range(1, len(wrong) + 1)]
        np.testing.assert_allclose(series["window_error"].values, windows)
        weights = 0.9 ** np.arange(len(wrong))[::-1]
        assert record.metrics["fading_error"] == pytest.approx(
            weights @ wrong / weights.sum()
        )
        assert record.metrics["test_error"] == without[id].metrics["test_error"]
        assert record.metrics["updates"] == without[id].metrics["updates"]


def test_a_run_in_mid_stream_goes_on(shelf: Path) -> None:
    """Saved within the burn-in, and after it, alone and with settings that share a pass."""
    plan = planned(shelf / "dense", {"C": [0.1, 1.0, 10.0]}, window=20, fading=0.9)
    whole = [run_bytes(record) for record in records(plan)]
    for stop in (1, 2, 5):
        assert [run_bytes(record) for record in records(plan, stop)] == whole
    apart = [
        records(planned(shelf / "dense", {"C": C}, window=20, fading=0.9))
        for C in (0.1, 1.0, 10.0)
    ]
    assert [run_bytes(record) for [record] in apart] == whole


@pytest.mark.parametrize("burn_in", [400, 750])
def test_class_shards_count_the_same_rows(
    faces: Path, tmp_path: Path, burn_in: int
) -> None:
    """Segments too: the first has 700 rows."""
    plan = planned(faces, {"multiclass": "ova"}, burn_in=burn_in)
    [whole] = records(plan)
    assert [rows for _, rows, _ in whole.segments] == (
        [300, 500] if burn_in == 400 else [450]
    )
    [group] = cut_groups(plan.runs, plan.sources, 1)
    [cut] = cut_shards([group], 1, 3)
    scratch = Scratch(open_store(tmp_path / "store", create=True), group.runs[0].id)
    for part in cut.parts():
        going = ShardPass(part, scratch)
        for i in range(going.chunks):
            going.step(i)
        going.finish()
    assert run_bytes(merge_shards(cut, scratch)) == run_bytes(whole)


def test_models_side_by_side_count_what_tests_them_after_the_burn_in(
    shelf: Path,
) -> None:
    plan = planned(shelf / "dense", split="prequential-kfold", folds=3)
    for run, record in zip(plan.runs, records(plan), strict=True):
        folds = run.stream.scoring.folds
        assert folds is not None
        tested = folds.weights(run.fold or 0, 0, 400) == 0
        assert record.curve_rows[-1] == tested[BURN_IN:].sum()


def test_rows_are_held_out_after_the_burn_in(shelf: Path) -> None:
    """Every row of the burn-in is learned from; the test split is first measured on so many rows after it."""
    [record] = records(planned(shelf / "dense", holdout_every=40, holdout_rows=10))
    [series] = [one for one in record.series if one.name == "holdout_error"]
    assert series.rows.tolist() == [40, 90, 140, 190, 240]
    stream = open_streams(str(shelf / "dense")).train
    learner = make_learner("pa1", {})
    wrong = []
    learner.begin(stream.columns, 2)
    X, y = (
        np.concatenate(parts)
        for parts in zip(*((c.X, c.y) for c in stream.chunks()), strict=True)
    )
    for i in range(400):
        held = i >= BURN_IN and (i - BURN_IN) % 50 >= 40
        scores = (
            learner.scores if held else lambda x, i=i: learner.learn(x, y[i : i + 1])
        )(X[i : i + 1])
        wrong += [codes_of(scores)[0] != y[i]] if held else []
    np.testing.assert_allclose(series.values, np.reshape(wrong, (5, 10)).mean(axis=1))
    [record] = records(planned(shelf / "dense", holdout_every=100))
    [series] = [one for one in record.series if one.name == "holdout_error"]
    assert series.rows.tolist() == [100, 200]
    tested = open_streams(str(shelf / "dense")).test
    assert tested is not None
    learner = make_learner("pa1", {})
    learner.begin(stream.columns, 2)
    for start, stop, error in (
        (0, BURN_IN + 100, series.values[0]),
        (BURN_IN + 100, 350, series.values[1]),
    ):
        learner.learn(X[start:stop], y[start:stop])
        wrong = np.concatenate(
            [codes_of(learner.scores(c.X)) != c.y for c in tested.chunks()]
        )
        assert error == wrong.mean()


def test_labels_that_come_late_are_learned_from_in_the_burn_in(shelf: Path) -> None:
    """The predictions are those of the run without burn-in."""
    [record] = records(planned(shelf / "dense", delay=7))
    [without] = records(planned(shelf / "dense", delay=7, burn_in=0))
    assert (
        record.metrics["mistakes"]
        == without.metrics["mistakes"] - without.curve_mistakes[BURN_IN - 1]
    )
    assert record.metrics["test_error"] == without.metrics["test_error"]


def test_a_burn_in_is_part_of_a_definition_where_it_is_given(shelf: Path) -> None:
    [given] = planned(shelf / "dense").runs
    [none] = planned(shelf / "dense", burn_in=0).runs
    assert given.definition()["protocol"] == none.definition()["protocol"] | {
        "burn_in": BURN_IN
    }
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [{"name": "pa1"}],
        "protocol": {"order": "time"},
    }
    assert none.id == make_plan(parse_experiment(content)).runs[0].id


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"burn_in": 400},
            "protocol.burn_in was 400, but the stream of dataset .* has 400 rows: none would be "
            "counted",
        ),
        (
            {"burn_in": 300, "holdout_every": 101},
            "together were 101 after a burn_in of 300, but the stream",
        ),
        (
            {"burn_in": -1},
            "protocol.burn_in was -1: Input should be greater than or equal to 0",
        ),
        ({"burn-in": 3}, "unknown key in protocol 'burn-in'; did you mean 'burn_in'"),
    ],
)
def test_a_burn_in_that_fits_no_stream_is_refused(
    shelf: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ExperimentError, match=said):
        planned(shelf / "dense", **options)
