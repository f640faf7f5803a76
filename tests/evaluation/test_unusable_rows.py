"""A row that cannot be used ends every run at that row, in the same words, in the stream, held out and in the test split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import to_csr, to_dense
from olscale.data.chunk import Chunk
from olscale.data.ingest.ingest import ingest
from olscale.evaluation.class_shards import ShardPass, merge_shards
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.shard_cuts import cut_shards
from olscale.learners.contract.learner import FloatArray, Learner, State
from olscale.learners.registry import learner_class, learner_names, make_learner
from olscale.results.opening import open_store
from olscale.results.record import Record
from olscale.results.rows import run_bytes
from olscale.results.scratch import Scratch

ODD = "score is not finite, and neither is the row: "
MISSING = f'{ODD}NaN in column 2; add transforms = ["impute:mean"]'
INFINITE = f"{ODD}infinity in column 2"
ROWS = 200
TESTED = 90


class Careless(Learner):
    """Gives a score for anything, whatever it is."""

    name = "careless"

    def _allocate(self, columns: int, outputs: int) -> State:
        return {}

    def learn(self, X, y):  # type: ignore[no-untyped-def]
        self.state_["seen"][0] += len(y)
        return self.scores(X)

    def scores(self, X) -> FloatArray:  # type: ignore[no-untyped-def]
        rows = (
            len(X)
            if isinstance(X, np.ndarray) and not hasattr(X, "indptr")
            else len(X.indptr) - 1
        )
        return np.zeros((rows, self._outputs))


class Late(Careless):
    """Learns anything, and has no score for long rows."""

    name = "late"

    def learn(self, X, y):  # type: ignore[no-untyped-def]
        return np.zeros((len(y), self._outputs))

    def scores(self, X) -> FloatArray:  # type: ignore[no-untyped-def]
        return np.where(
            to_dense(X, 4)[:, 2:3] > 1e5, np.nan, np.zeros((1, self._outputs))
        )


TARGETS = [*learner_names("regression"), "sklearn.linear_model:SGDRegressor"]
EVERY = [
    *(
        name
        for name in learner_names("classification")
        if learner_class(name).takes_negative
    ),
    "sklearn.linear_model:Perceptron",
    f"{__name__}:Careless",
]
SOME = ["pa1", "arow", "lol", "pamo1", f"{__name__}:Careless"]


@pytest.fixture(scope="module")
def spoil(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a maker of datasets of three classes, of which one row of a split is spoilt, in chunks of so many rows."""
    made: dict[Any, Path] = {}

    def make(
        split: str,
        row: int,
        value: float,
        chunk_rows: int = 64,
        scale: float = 1.0,
        target: str = "classes",
    ) -> Path:
        key = (split, row, str(value), chunk_rows, scale, target)
        if key not in made:
            rng = np.random.default_rng(0)
            y = {"train": rng.integers(0, 3, ROWS), "test": rng.integers(0, 3, TESTED)}
            centres = rng.normal(size=(3, 4))
            X = {
                name: scale * (centres[codes] + 0.5 * rng.normal(size=(len(codes), 4)))
                for name, codes in y.items()
            }
            X["train"][[0, 20]] = X["test"][[0, 20]] = 0.0
            X[split][row, 2] = value
            folder = tmp_path_factory.mktemp("spoilt")
            arrays = {
                f"{kind}_{name}": part[name]
                for kind, part in (("X", X), ("y", y))
                for name in ("train", "test")
            }
            np.savez(folder / "rows.npz", **arrays)
            ingest(
                str(folder / "rows.npz"),
                str(folder / "rows"),
                chunk_rows=chunk_rows,
                target=target,
            )
            made[key] = folder / "rows"
        return made[key]

    return make


def packs(path: Path, *learners: str, **protocol: Any) -> list[RunGroup]:
    content = {
        "datasets": [{"path": str(path)}],
        "learners": [{"name": name} for name in learners],
        "protocol": {"order": "time", **protocol},
    }
    plan = make_plan(parse_experiment(content))
    return cut_groups(plan.runs, plan.sources, 1)


def through(pack: RunGroup) -> list[Record]:
    passage = GroupPass(pack)
    for i in range(passage.chunks):
        passage.step(i)
    return passage.finish()


def ends(
    path: Path, *learners: str, **protocol: Any
) -> dict[str, set[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = {}
    for pack in packs(path, *learners, **protocol):
        for record in through(pack):
            found.setdefault(record.run["learner"]["name"], set()).add(
                (record.outcome, record.reason)
            )
    return found


@pytest.mark.long
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_missing_values_end_every_learner_in_the_same_words(
    spoil: Any, value: float
) -> None:
    said = {
        ("diverged", f"diverged at row 150: {MISSING if np.isnan(value) else INFINITE}")
    }
    assert ends(spoil("train", 150, value), *EVERY) == dict.fromkeys(EVERY, said)
    assert ends(spoil("train", 150, value, target="real"), *TARGETS) == dict.fromkeys(
        TARGETS, said
    )


@pytest.mark.long
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_values_in_the_test_split_end_every_learner(
    spoil: Any, value: float
) -> None:
    """They were predicted as the first class."""
    said = {
        (
            "diverged",
            f"diverged at test row 70: {MISSING if np.isnan(value) else INFINITE}",
        )
    }
    assert ends(spoil("test", 70, value), *EVERY) == dict.fromkeys(EVERY, said)
    assert ends(spoil("test", 70, value, target="real"), *TARGETS) == dict.fromkeys(
        TARGETS, said
    )


def test_training_rows_that_are_predicted_again_have_the_numbers_of_the_stream(
    spoil: Any,
) -> None:
    late = f"{__name__}:Late"
    [(outcome, reason)] = ends(
        spoil("train", 150, 1e6), late, measures=["train_error"]
    )[late]
    assert (outcome, reason[:28]) == ("diverged", "diverged at training row 150")


@pytest.mark.long
@pytest.mark.parametrize(
    ("scale", "how"),
    [(1e160, "overflows: its length is"), (1e-170, "underflows: its length is")],
)
def test_rows_whose_squared_norm_leaves_the_range_end_our_learners(
    spoil: Any, scale: float, how: str
) -> None:
    """Predictions were constant, and the runs ok; the first row, of zeros, is fine."""
    ours = learner_names("classification")
    (reasons,) = {
        frozenset(found)
        for found in ends(spoil("train", 150, scale, scale=scale), *ours).values()
    }
    ((outcome, reason),) = reasons
    assert outcome == "diverged"
    assert reason.startswith(f"diverged at row 1: the squared norm of the row {how}")


@pytest.mark.parametrize("split", ["train", "test"])
def test_targets_whose_squared_errors_overflow_end_every_run(
    tmp_path: Path, split: str
) -> None:
    """Runs were ok, and had no RMSE."""
    rng = np.random.default_rng(0)
    arrays = {f"X_{name}": rng.normal(size=(80, 3)) for name in ("train", "test")}
    arrays |= {
        f"y_{name}": (1e200 if name == split else 1.0) * rng.normal(size=80)
        for name in ("train", "test")
    }
    np.savez(tmp_path / "targets.npz", **arrays)
    ingest(str(tmp_path / "targets.npz"), str(tmp_path / "targets"), target="real")

    said = {
        ("diverged", "the squared errors overflow; scale the targets, or the features")
    }
    assert ends(tmp_path / "targets", "mean", "rls") == dict.fromkeys(
        ["mean", "rls"], said
    )


@pytest.mark.parametrize(
    "protocol",
    [
        {"delay": 30},
        {"holdout_every": 40},
        {"holdout_every": 25, "holdout_rows": 7},
        {"split": "prequential-kfold", "folds": 3},
        {"split": "prequential-bootstrap", "folds": 3},
        {"split": "prequential-kfold", "folds": 3, "delay": 30},
        {"passes": 2},
    ],
    ids=str,
)
def test_every_protocol_finds_the_row_however_the_stream_is_cut(
    spoil: Any, protocol: dict[str, Any]
) -> None:
    """Also the models of online folds that only learn from it."""
    found = [
        ends(spoil("train", 150, np.nan, chunk), *SOME, **protocol)
        for chunk in (16, 200)
    ]
    assert found[0] == found[1]
    for reasons in found[0].values():
        assert {reason for outcome, reason in reasons if outcome == "diverged"} == {
            f"diverged at row 150: {MISSING}"
        }
        assert {outcome for outcome, _ in reasons} <= {"diverged"}


def test_rows_held_out_are_checked(spoil: Any) -> None:
    said = {("diverged", f"diverged at test row 70: {MISSING}")}
    assert ends(spoil("test", 70, np.nan), *SOME, holdout_every=40) == dict.fromkeys(
        SOME, said
    )


@pytest.mark.parametrize("split", ["train", "test"])
def test_class_shards_end_as_the_run_in_one_piece(
    spoil: Any, split: str, tmp_path: Path
) -> None:
    (pack,) = packs(spoil(split, 70, np.nan), "lol")
    (whole,) = through(pack)
    (cut,) = cut_shards([pack], 1, 3)
    scratch = Scratch(open_store(tmp_path / "store", create=True), pack.runs[0].id)
    for part in cut.parts():
        passage = ShardPass(part, scratch)
        for i in range(passage.chunks):
            passage.step(i)
        passage.finish()
    assert whole.outcome == "diverged"
    assert run_bytes(merge_shards(cut, scratch)) == run_bytes(whole)


def test_prototypes_fitted_before_the_stream_leave_the_row_out(spoil: Any) -> None:
    content = {
        "datasets": [{"path": str(spoil("train", 150, np.nan))}],
        "learners": [
            {"name": name, "params": {"prototypes": "offline", "k": 4}}
            for name in ("lol", "ilol")
        ],
        "protocol": {"order": "time"},
    }
    plan = make_plan(parse_experiment(content))
    (pack,) = cut_groups(plan.runs, plan.sources, 1)
    assert {(one.outcome, one.reason) for one in through(pack)} == {
        ("diverged", f"diverged at row 150: {MISSING}")
    }


def test_settings_in_one_pass_end_where_they_do_alone(spoil: Any) -> None:
    content = {
        "datasets": [{"path": str(spoil("train", 150, np.nan))}],
        "learners": [{"name": "pa1", "params": {"C": [0.1, 1.0, 10.0]}}],
        "protocol": {"order": "time"},
    }
    plan = make_plan(parse_experiment(content))
    (pack,) = cut_groups(plan.runs, plan.sources, 1)
    assert [(one.outcome, one.reason) for one in through(pack)] == 3 * [
        ("diverged", f"diverged at row 150: {MISSING}")
    ]


def test_what_breaks_down_behind_a_row_that_has_ended_the_run_is_not_told() -> None:
    """Or the reason would depend on whether both rows are in one chunk."""
    learner = make_learner("arow", {"covariance": "diagonal", "multiclass": "ova"})
    learner.begin(2, 3)
    state = learner.state()
    state["mean_variance"][0, 0] = 1e308  # the first class scores infinity in row 1
    # the variance of the third class breaks down in row 2
    state["mean_variance"][1, 5] = -1.0
    learner.restore(state)
    rows = Chunk(
        to_csr(np.array([[0.0, 0.0], [1e10, 0.0], [0.0, 1.0]])), np.array([0, 0, 0]), 2
    )
    scores = learner.learn(rows.X, rows.y)
    assert np.isfinite(scores).all(axis=1).tolist() == [True, False, False]
