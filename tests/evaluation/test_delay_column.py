"""Delays that a column of the data set says, row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.data.chunk import Chunk
from olscale.data.ingest.ingest import ingest
from olscale.data.stream import open_streams
from olscale.errors import DatasetError, ExperimentError, UnknownNameError
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.metrics import StreamShape
from olscale.evaluation.plan import PlannedExperiment, make_plan
from olscale.evaluation.resolve import open_experiment
from olscale.evaluation.run_state import RunState
from olscale.learners.contract.learner import codes_of
from olscale.results.rows import run_bytes
from tests.evaluation.planned import plan
from tests.evaluation.test_protocol import oracle, records


@pytest.mark.parametrize("order", ["time", "permuted"])
def test_a_delay_column_is_no_feature_and_says_when_each_label_arrives(
    late: Path, order: str
) -> None:
    """Whatever the order of the stream, transforms and split: as the definition has it, row by row."""
    content = {
        "datasets": [{"path": str(late)}],
        "learners": [{"name": "pa1"}],
        "transforms": ["standardize"],
    }
    protocol = {"delay": "late", "order": order} | (
        {"permutations": 1} if order == "permuted" else {}
    )
    made = make_plan(parse_experiment(content | {"protocol": protocol}))
    [record], [run] = records(made), made.runs
    assert run.definition()["protocol"].items() >= {
        ("delay", "late"),
        ("delay_position", 2),
    }
    streams = open_streams(
        str(late), run.stream.transforms, run.stream.shuffle, delay_column=2
    )
    rows = [chunk.X for chunk in streams.train.chunks()]
    raw = open_streams(str(late), (), run.stream.shuffle).train
    delays = np.concatenate(
        [np.asarray(chunk.X)[:, 2] for chunk in raw.chunks()]
    ).astype(np.int64)
    y = np.concatenate([chunk.y for chunk in raw.chunks()])
    kept = np.concatenate(
        [np.delete(np.asarray(chunk.X), 2, axis=1) for chunk in raw.chunks()]
    )
    assert streams.test is not None
    assert {
        chunk.X.shape[1] for chunk in [*streams.train.chunks(), *streams.test.chunks()]
    } == {6}
    np.testing.assert_allclose(
        np.concatenate(rows), (kept - kept.mean(axis=0)) / kept.std(axis=0), atol=1e-12
    )
    scores, model = oracle(
        "pa1", Chunk(np.concatenate(rows), y, 6, delays), 2, run.stream.scoring, None
    )
    assert (
        record.metrics["mistakes"]
        == (codes_of(np.array(list(scores.values()))) != y).sum()
    )
    assert record.metrics["updates"] == model.state_["updates"][0]
    wrong = [
        codes_of(model.scores(chunk.X)) != chunk.y for chunk in streams.test.chunks()
    ]
    assert record.metrics["test_error"] == np.concatenate(wrong).mean()


def test_a_column_of_one_number_is_that_delay(tmp_path: Path) -> None:
    """The same mistakes as with the number, on rows without the column."""
    rng = np.random.default_rng(0)
    table = np.column_stack(
        [rng.normal(size=(300, 3)).round(3), np.full(300, 17), rng.integers(0, 2, 300)]
    )
    np.savetxt(
        tmp_path / "with.csv", table, "%g", ",", header="a,b,c,late,label", comments=""
    )
    np.savetxt(
        tmp_path / "without.csv",
        np.delete(table, 3, axis=1),
        "%g",
        ",",
        header="a,b,c,label",
        comments="",
    )
    found = []
    for name, delay in (("with", "late"), ("without", 17)):
        ingest([str(tmp_path / f"{name}.csv")], str(tmp_path / name), chunk_rows=50)
        [record] = records(plan(tmp_path, name, ("arow",), delay=delay, window=40))
        found.append((dict(record.metrics), record.curve_mistakes.tolist()))
    assert found[0] == found[1]


def test_two_columns_whose_names_were_exchanged_make_other_runs(tmp_path: Path) -> None:
    """They are the same rows under the same fingerprint."""
    table = np.column_stack(
        [np.random.default_rng(0).integers(0, 9, (90, 3)), np.arange(90) % 2]
    )
    plans = []
    for name, header in (("a", "x,late,z,label"), ("b", "late,x,z,label")):
        np.savetxt(
            tmp_path / f"{name}.csv", table, "%g", ",", header=header, comments=""
        )
        ingest([str(tmp_path / f"{name}.csv")], str(tmp_path / name))
        plans.append(plan(tmp_path, name, delay="late").runs[0])
    assert plans[0].stream.fingerprint == plans[1].stream.fingerprint
    assert [run.definition()["protocol"]["delay_position"] for run in plans] == [1, 0]
    assert plans[0].id != plans[1].id
    both = make_plan(
        parse_experiment(
            {
                "datasets": [{"path": str(tmp_path / name)} for name in "ab"],
                "learners": [{"name": "pa1"}],
                "protocol": {"order": "time", "delay": "late"},
            }
        )
    )
    alone = [
        record
        for name in "ab"
        for record in records(plan(tmp_path, name, delay="late"))
    ]
    assert {r.id: dict(r.metrics) for r in records(both)} == {
        r.id: dict(r.metrics) for r in alone
    }
    assert len({str(dict(r.metrics)) for r in alone}) == 2


def test_labels_that_never_arrive_are_not_kept(late: Path) -> None:
    run = plan(late.parent, "late", delay="late").runs[0]
    stream = open_streams(str(late), delay_column=2).train
    fold = RunState(
        run, StreamShape(stream.rows, 2, scoring=run.stream.scoring), stream.columns
    )
    fold.step(stream.chunk(0))
    state = fold.state()
    assert state["schedule.arrival"].max() < 400
    delays = stream.chunk(0).delays
    assert delays is not None
    assert (
        len(state["schedule.y"])
        == ((np.arange(64) + delays >= 64) & (np.arange(64) + delays < 400)).sum()
    )


@pytest.mark.parametrize(
    "protocol",
    [{}, {"holdout_every": 45, "holdout_rows": 10}, {"split": "prequential-bootstrap"}],
)
def test_a_run_with_a_delay_column_is_restored_in_mid_stream(
    late: Path, protocol: dict[str, Any]
) -> None:
    run = plan(late.parent, "late", ("lol",), delay="late", **protocol).runs[-1]
    stream = open_streams(str(late), delay_column=2).train
    shape = StreamShape(stream.rows, 2, scoring=run.stream.scoring)
    whole, first, second = (RunState(run, shape, stream.columns) for _ in range(3))
    for i in range(len(stream)):
        if i == 3:
            second.restore(first.state())
        whole.step(stream.chunk(i))
        (first if i < 3 else second).step(stream.chunk(i))
    assert whole.outcome == "ok"
    assert run_bytes(second.record()) == run_bytes(whole.record())


def test_a_delay_column_that_cannot_be_is_one_line(
    shelf: Path, late: Path, tmp_path: Path
) -> None:
    with pytest.raises(
        DatasetError,
        match=r"the columns of dataset .*dense have no names; ingest it from a table",
    ):
        plan(shelf, delay="arrival")
    with pytest.raises(
        UnknownNameError, match="unknown column of late 'lat'; did you mean 'late'"
    ):
        plan(late.parent, "late", delay="lat")
    content = {
        "datasets": [{"path": str(late)}],
        "learners": [{"name": "pa1", "tune": {"C": [0.1, 1.0]}}],
    }
    with pytest.raises(
        ExperimentError,
        match=r"which tuning would take for a feature; give params in place of tune",
    ):
        PlannedExperiment(
            open_experiment(parse_experiment(content | {"protocol": {"delay": "late"}}))
        )
    for number, said in (("-1", "-1"), ("0.5", "0.5"), ("nan", "nan")):
        path = tmp_path / said
        (tmp_path / f"{said}.csv").write_text(f"a,late,label\n1,2,0\n2,{number},1\n")
        ingest([str(tmp_path / f"{said}.csv")], str(path), label="label")
        stream = open_streams(str(path), delay_column=1).train
        with pytest.raises(
            DatasetError,
            match=f"delay column 'late' was {said} in row 1 of the stream, expected",
        ) as fault:
            stream.chunk(0)
        assert "\n" not in str(fault.value)
