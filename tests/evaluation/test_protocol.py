"""Options of a protocol against their definitions, row by row, in plain Python."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import read_only, slice_rows, to_csr
from olscale.data.chunk import Chunk
from olscale.data.stream import open_streams
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.label_delay import Schedule
from olscale.evaluation.metrics import StreamShape
from olscale.evaluation.online_folds import ONLINE_FOLDS, OnlineFolds
from olscale.evaluation.protocol import ProtocolSpec, Scoring
from olscale.evaluation.run import Run, StreamKey, stream_keys
from olscale.evaluation.run_plan import RunPlan
from olscale.evaluation.run_state import RunState
from olscale.learners.contract.capability import looks_ahead
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import learner_names, make_learner
from olscale.results.record import Record
from olscale.results.rows import run_bytes
from tests.evaluation.planned import plan


def records(made: RunPlan) -> list[Record]:
    """Run a plan, one pack after another."""
    found = []
    for pack in cut_groups(made.runs, made.sources, 1):
        passage = GroupPass(pack)
        for i in range(passage.chunks):
            passage.step(i)
        found += passage.finish()
    return found


# --- the order of predictions and updates ---


def made_stream(kind: str, classes: int, rows: int = 150) -> Chunk:
    rng = np.random.default_rng(3)
    y = rng.integers(0, classes, rows)
    X = rng.normal(size=(classes, 5))[y] + rng.normal(size=(rows, 5))
    X[rng.random(X.shape) < 0.3] = 0.0
    return Chunk(X if kind == "dense" else to_csr(X), y, 5)


def oracle(
    name: str, chunk: Chunk, classes: int, scoring: Scoring, fold: int | None
) -> tuple[dict[int, Any], Any]:
    """Return scores of the tested rows and the learner afterwards, from one-row calls in the order of the definition."""
    learner = make_learner(name, {})
    learner.begin(chunk.columns, classes)
    found = {}

    def times(row: int) -> int:
        if scoring.folds is not None:
            return int(scoring.folds.weights(fold or 0, row, row + 1)[0])
        if scoring.holdout_rows:
            assert scoring.holdout_every
            return int(
                row % (scoring.holdout_every + scoring.holdout_rows)
                < scoring.holdout_every
            )
        return 1

    late = bool(scoring.delay or scoring.batch)
    at = defaultdict(list)
    for t in range(len(chunk)):
        if scoring.batch:  # the labels of a batch arrive once its last row is predicted
            at[min(t - t % scoring.batch + scoring.batch, len(chunk)) - 1].append(t)
        else:
            at[
                t
                + (int(scoring.delay) if chunk.delays is None else int(chunk.delays[t]))
            ].append(t)
    for t in range(len(chunk)):
        x = slice_rows(chunk.X, t, t + 1)
        tested = scoring.folds is None or times(t) == 0
        if not late:
            if times(t) == 0:
                found[t] = learner.scores(x)[0]
            for _ in range(times(t)):
                score = learner.learn(x, chunk.y[t : t + 1])[0]
                if tested:
                    found[t] = score
            continue
        if tested:
            found[t] = learner.scores(x)[0]
        for due in at[t]:
            for _ in range(times(due)):
                learner.learn(slice_rows(chunk.X, due, due + 1), chunk.y[due : due + 1])
    return found, learner


DELAYS = np.random.default_rng(4).choice([0, 0, 1, 2, 7, 7, 40, 149, 1 << 60], 150)

SCORINGS = {
    "delay 1": (Scoring(delay=1), None),
    "delay 37": (Scoring(delay=37), None),
    "batch": (Scoring(batch=32), None),
    "kfold and batch": (
        Scoring(batch=11, folds=OnlineFolds("prequential-kfold", 5, 3)),
        1,
    ),
    "bootstrap and batch": (
        Scoring(batch=4, folds=OnlineFolds("prequential-bootstrap", 5, 3)),
        2,
    ),
    "holdout": (Scoring(holdout_every=20, holdout_rows=7), None),
    "delay column": (Scoring(delay="late"), None),
    "holdout and delay column": (
        Scoring(holdout_every=20, holdout_rows=7, delay="late"),
        None,
    ),
    "bootstrap and delay column": (
        Scoring(folds=OnlineFolds("prequential-bootstrap", 5, 3), delay="late"),
        2,
    ),
    "holdout and delay": (Scoring(holdout_every=20, holdout_rows=7, delay=9), None),
    **{kind: (Scoring(folds=OnlineFolds(kind, 5, 3)), 1) for kind in ONLINE_FOLDS},
    "bootstrap and delay": (
        Scoring(folds=OnlineFolds("prequential-bootstrap", 5, 3), delay=11),
        2,
    ),
}


@pytest.mark.parametrize(("scoring", "fold"), SCORINGS.values(), ids=SCORINGS)
@pytest.mark.parametrize(
    ("name", "kind"),
    [("pa1", "dense"), ("lol", "csr"), ("arow", "csr"), ("pamo1", "dense")],
)
def test_rows_are_scored_and_learned_in_the_order_of_the_definition(
    name: str, scoring: Scoring, fold: int | None, kind: str
) -> None:
    """However the chunks are cut: the same scores and the same model, to the last bit."""
    chunk = made_stream(kind, 3)
    if scoring.delay_column:
        chunk = replace(chunk, delays=DELAYS)
    expected, model = oracle(name, chunk, 3, scoring, fold)
    assert 0 < len(expected) <= len(chunk)
    for cuts in ([], [64], [1, 2, 30, 31, 140], list(range(len(chunk)))):
        learner = make_learner(name, {})
        schedule = Schedule(scoring, fold, rows=len(chunk))
        learner.begin(chunk.columns, 3)
        rows = []
        scores = []
        for start, stop in pairwise([0, *cuts, len(chunk)]):
            scored = schedule.learn(learner, chunk[start:stop], start)
            rows.append(scored.rows + start)
            scores.append(scored.scores)
        assert np.concatenate(rows).tolist() == list(expected)
        np.testing.assert_array_equal(
            np.concatenate(scores), np.array(list(expected.values()))
        )
        for key, array in model.state_.items():
            np.testing.assert_array_equal(learner.state_[key], array)


def test_the_label_comes_after_so_many_predictions() -> None:
    """A delay of 2: rows 0, 1 and 2 meet the model that knows nothing, row 3 the one that knows row 0."""
    ones = np.ones((5, 1))
    learner = make_learner("pa", {})
    schedule = Schedule(Scoring(delay=2))
    learner.begin(1, 2)
    scored = schedule.learn(learner, Chunk(ones, np.ones(5, dtype=np.int64), 1), 0)
    assert scored.scores[:, 0].tolist() == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert learner.state_["seen"][0] == 3


FOREIGN = ["sklearn.linear_model:Perceptron", "sklearn.linear_model:SGDRegressor"]


@pytest.mark.long
@pytest.mark.parametrize("name", [*learner_names(), *FOREIGN])
def test_any_learner_can_wait_for_labels(name: str) -> None:
    # batch references are trained anew for every row
    chunk = made_stream("dense", 2)[:40]
    learner = make_learner(name, {})
    if not learner.takes_negative:
        chunk = Chunk(read_only(np.abs(chunk.X)), chunk.y, chunk.columns)
    schedule = Schedule(Scoring(delay=5))
    if learner.task == "regression":
        chunk = Chunk(chunk.X, np.sin(np.arange(len(chunk))), chunk.columns)
    learner.begin(chunk.columns, 0 if learner.task == "regression" else 2)
    if looks_ahead(learner):
        learner.prepare(chunk.X)
    assert schedule.learn(learner, chunk, 0).scores.shape == (len(chunk), 1)


@given(
    st.sampled_from(sorted(ONLINE_FOLDS)),
    st.integers(0, 5),
    st.integers(0, 300),
    st.integers(0, 300),
)
@settings(max_examples=60)
def test_folds_are_the_same_whatever_rows_are_asked_for(
    kind: str, seed: int, first: int, count: int
) -> None:
    folds = OnlineFolds(kind, seed, 4)
    for fold in range(4):
        whole = folds.weights(fold, 0, 600)
        np.testing.assert_array_equal(
            folds.weights(fold, first, first + count), whole[first : first + count]
        )


def test_each_way_of_dealing_rows_out_is_the_papers() -> None:
    rows = 20_000
    k = 5
    dealt = {
        kind: np.array(
            [OnlineFolds(kind, 1, k).weights(fold, 0, rows) for fold in range(k)]
        )
        for kind in ONLINE_FOLDS
    }
    assert (dealt["prequential-kfold"].sum(axis=0) == k - 1).all()
    assert (dealt["prequential-split"].sum(axis=0) == 1).all()
    counts = np.bincount(dealt["prequential-bootstrap"].ravel(), minlength=4)[:4] / (
        rows * k
    )
    np.testing.assert_allclose(counts, np.exp(-1) / np.array([1, 1, 2, 6]), atol=0.006)
    shares = (dealt["prequential-kfold"] == 0).mean(axis=1)
    np.testing.assert_allclose(shares, 1 / k, atol=0.012)
    boot = dealt["prequential-bootstrap"]
    assert abs(np.corrcoef(boot)[0, 1]) < 0.03, (
        "models draw independently of each other"
    )


# --- whole runs ---

OPTIONS: dict[str, dict[str, Any]] = {
    "window": {"window": 50},
    "fading": {"fading": 0.99},
    "delay": {"delay": 70},
    "batch": {"batch": 32, "window": 50, "mcnemar": True},
    "holdout": {"holdout_every": 45},
    "holdout rows": {"holdout_every": 45, "holdout_rows": 10},
    "drift": {"drift": "ddm"},
    "kfold": {"split": "prequential-kfold", "folds": 3},
    "mcnemar": {"mcnemar": True, "burn_in": 30},
    "everything": {
        "window": 50,
        "fading": 0.99,
        "delay": 20,
        "holdout_every": 90,
        "holdout_rows": 30,
        "drift": "adwin",
    },
}


@pytest.mark.parametrize("dataset", ["dense", "sparse"])
@pytest.mark.parametrize("protocol", OPTIONS.values(), ids=OPTIONS)
def test_a_run_restored_in_mid_stream_gives_the_same_record(
    shelf: Path, protocol: dict[str, Any], dataset: str
) -> None:
    run = plan(shelf, dataset, **protocol).runs[-1]
    stream = open_streams(str(shelf / dataset)).train
    shape = StreamShape(stream.rows, 2, scoring=run.stream.scoring)
    whole, first, second = (RunState(run, shape, stream.columns) for _ in range(3))
    for i in range(len(stream)):
        if i == 3:
            saved = first.state()
            assert all(array.dtype.kind in "fiu" for array in saved.values())
            second.restore(saved)
        whole.step(stream.chunk(i))
        (first if i < 3 else second).step(stream.chunk(i))
    assert whole.outcome == "ok"
    assert run_bytes(second.record()) == run_bytes(whole.record())


def test_the_holdout_curve_is_the_test_error_of_models_stopped_early(
    shelf: Path,
) -> None:
    [record] = records(plan(shelf, holdout_every=45))
    streams = open_streams(str(shelf / "dense"))
    assert streams.test is not None
    rows = np.concatenate([chunk.X for chunk in streams.train.chunks()])
    y = np.concatenate([chunk.y for chunk in streams.train.chunks()])
    expected = []
    for stop in range(45, 401, 45):
        learner = make_learner("pa1", {})
        learner.begin(streams.train.columns, 2)
        learner.learn(rows[:stop], y[:stop])
        wrong = [
            codes_of(learner.scores(chunk.X)) != chunk.y
            for chunk in streams.test.chunks()
        ]
        expected.append((stop, float(np.concatenate(wrong).mean())))
    [(name, at, values)] = record.series
    assert (name, list(zip(at.tolist(), values.tolist(), strict=True))) == (
        "holdout_error",
        expected,
    )
    assert record.metrics["holdout_error"] == pytest.approx(np.mean(values))
    [plain] = records(plan(shelf))
    assert {k: v for k, v in record.metrics.items() if k != "holdout_error"} == dict(
        plain.metrics
    )


def test_models_of_a_prequential_kfold_test_each_row_once(shelf: Path) -> None:
    made = plan(shelf, split="prequential-kfold", folds=4)
    assert len(made.runs) == len({run.id for run in made.runs}) == 4
    [pack] = cut_groups(made.runs, made.sources, 1)  # one reading of the stream
    assert len(pack.runs) == 4
    found = records(made)
    assert sum(int(record.curve_rows[-1]) for record in found) == 400
    assert (
        len({record.metrics["mistakes"] / record.curve_rows[-1] for record in found})
        > 1
    )
    for record, run in zip(found, pack.runs, strict=True):
        stream = open_streams(str(shelf / "dense")).train
        rows = np.concatenate([chunk.X for chunk in stream.chunks()])
        whole = Chunk(
            rows, np.concatenate([chunk.y for chunk in stream.chunks()]), stream.columns
        )
        scores, _ = oracle("pa1", whole, 2, run.stream.scoring, run.fold)
        wrong = codes_of(np.array(list(scores.values()))) != whole.y[list(scores)]
        assert record.metrics["mistakes"] == wrong.sum()


def test_segments_of_a_fold_are_those_of_its_rows() -> None:
    folds = OnlineFolds("prequential-kfold", 0, 3)
    shape = StreamShape(90, 2, (("a", 0), ("b", 40)), Scoring(folds=folds))
    tested = folds.weights(2, 0, 90) == 0
    assert Schedule(shape.scoring, 2).shape(shape).rows == tested.sum()
    assert Schedule(shape.scoring, 2).shape(shape).segments == (
        ("a", 0),
        ("b", tested[:40].sum()),
    )


def test_what_was_asked_for_is_in_the_id_and_the_rest_is_not(shelf: Path) -> None:
    key = StreamKey("digits", "f" * 64, (), None)
    assert Run(key, "perceptron", 1, {}).id == "552b175c388e3eb27b95aa4d80b2354e"
    with_window = StreamKey("digits", "f" * 64, (), None, scoring=Scoring(window=100))
    assert Run(with_window, "perceptron", 1, {}).definition()["protocol"] == {
        "order": "time",
        "window": 100,
    }
    plain = [run.id for run in plan(shelf).runs]
    assert [run.id for run in plan(shelf, delay=0).runs] == plain
    found = [
        run.id for protocol in OPTIONS.values() for run in plan(shelf, **protocol).runs
    ]
    assert len({*found, *plain}) == len(found) + 1


CHANGES: dict[str, dict[str, Any]] = {
    "measures": {"measures": ("kappa",)},
    "costs": {"costs": (1.0, 5.0)},
    "positive": {"measures": ("f1",), "positive": "b"},
    "threshold": {"threshold": "f1"},
    "epsilon": {"measures": ("epsilon_loss",), "epsilon": 0.5},
    "from_model": {"from_model": "m.olm"},
    "order": {"order": "time"},
    "permutations": {"permutations": 3},
    "projections": {"order": "time", "projections": 2},
    "split": {"split": "half"},
    "folds": {"split": "kfold", "folds": 3},
    "passes": {"passes": 2},
    "window": {"window": 5},
    "fading": {"fading": 0.9},
    "delay": {"delay": 2},
    "batch": {"batch": 2},
    "holdout_every": {"holdout_every": 5},
    "holdout_rows": {"holdout_every": 5, "holdout_rows": 2},
    "drift": {"drift": "page-hinkley"},
    "burn_in": {"burn_in": 1},
    "mcnemar": {"mcnemar": True},
    "weights": {"weights": "w"},
    "weighted_measures": {"weights": "w", "weighted_measures": True},
    "test_only": {"split": "half", "test_only": True},
}


@pytest.mark.parametrize(
    "option",
    sorted(
        {option.name for option in fields(ProtocolSpec)}
        - {"keep_model", "allow_pickle"}
    ),
)
def test_every_option_asks_for_other_runs(
    option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a store would have the runs without the option for those with it."""
    monkeypatch.setattr("olscale.evaluation.run.detector_version", lambda _: "1")
    digest = SimpleNamespace(digest="0" * 64)
    monkeypatch.setattr("olscale.evaluation.run.saved_model", lambda _: digest)

    def ids(**options: Any) -> set[str]:
        keys = stream_keys(
            "d", "f" * 64, ("project:3",), ProtocolSpec(**options), seed=0
        )
        return {Run(key, "perceptron", 1, {}).id for key in keys}

    assert option in CHANGES, f"give {option} a value in CHANGES of this file"
    others = {name: value for name, value in CHANGES[option].items() if name != option}
    assert ids(**CHANGES[option]) != ids(**others)


def test_the_definition_of_a_fold_is_in_the_words_of_other_splits(shelf: Path) -> None:
    protocol = (
        plan(shelf, split="prequential-split", folds=2).runs[1].definition()["protocol"]
    )
    assert protocol == {
        "order": "time",
        "split": "prequential-split",
        "split_seed": 0,
        "folds": 2,
        "fold": 1,
    }
