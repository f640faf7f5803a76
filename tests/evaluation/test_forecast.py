"""What runs will take: growing models cost more by the row, a budget ends that, held-out rows and records count too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from olscale.data.dataset import open_dataset
from olscale.errors import ParameterError
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.forecast import (
    NUMBERS_A_SECOND,
    ROW_NUMBERS,
    RUN_SECONDS,
    long_runs,
    seconds_of,
)
from olscale.evaluation.plan import make_plan
from olscale.learners.contract.cost import cost_of, learning_seconds
from olscale.learners.contract.learner import Learner
from olscale.learners.kernel.norma import NORMA
from olscale.learners.linear.passive_aggressive import PA1
from olscale.learners.registry import learner_names, make_learner
from olscale.task import TASKS


class Dear(PA1):
    """Says what a row takes, as a learner did before there was `stream_numbers`."""

    name = "dear"

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        return 1e6


def doubled(name: str, rows: int) -> float:
    """Return how many times as much twice as many rows take."""
    cost = cost_of(make_learner(name, {}))
    return cost.stream_numbers(20, 2, 20.0, 2 * rows) / cost.stream_numbers(
        20, 2, 20.0, rows
    )


@pytest.mark.parametrize(
    "name", ["norma", "olk", "ogd-kernel", "olk-r", "norma-n", "svm", "svr"]
)
def test_twice_the_rows_take_a_model_that_grows_four_times_as_long(name: str) -> None:
    assert doubled(name, 40_000) == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize(
    "name", ["bpas", "bsgd", "forgetron", "nogd", "rbp", "fogd", "pa1", "arow"]
)
def test_a_budget_ends_that(name: str) -> None:
    assert doubled(name, 100_000) == pytest.approx(2.0, rel=0.05)


def test_a_row_takes_what_a_model_has_grown_to() -> None:
    """Pieces of a chunk are cut by it: signals and budgets are heard along a long stream as at its begin."""
    learner = make_learner("norma", {})
    before = cost_of(learner).row_numbers(2, 2, 2.0)
    learner.begin(2, 2)
    rng = np.random.default_rng(0)
    learner.learn(rng.normal(size=(512, 2)), rng.integers(0, 2, 512))
    count = int(learner.state_["counts"][0])
    assert cost_of(learner).row_numbers(2, 2, 2.0) == pytest.approx(before * count / 64)
    assert count > 200


def test_a_row_held_out_takes_what_the_last_ones_did(shelf: Path) -> None:
    """Not what it would if the model grew by it: of the same rows, half of them held out, the others take less."""
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [{"name": "norma"}],
    }
    costs = []
    for protocol in ({"permutations": 1, "split": "half"}, {"permutations": 1}):
        made = make_plan(parse_experiment({**content, "protocol": protocol}))
        seconds = (
            made.costs[made.runs[0].id]
            - ROW_NUMBERS * (400 if "split" in protocol else 500)
        ) / NUMBERS_A_SECOND
        costs.append(seconds * NORMA.numbers_per_second)
    numbers = cost_of(make_learner("norma", {})).stream_numbers
    columns = open_dataset(str(shelf / "dense")).columns
    half, whole = (numbers(columns, 2, float(columns), rows) for rows in (200, 400))
    assert half < costs[0] < whole < costs[1] < numbers(columns, 2, float(columns), 500)


def test_a_perceptron_that_gets_better_keeps_fewer_rows() -> None:
    assert 3.2 < doubled("kernel-perceptron", 16_384) < 3.8


def test_a_matrix_that_grows_takes_more_than_its_vectors() -> None:
    """Whose number goes as the root of the rows: the square of that times the rows."""
    assert 3.5 < doubled("projectron", 16_384) < 4.5


@pytest.mark.parametrize("power", [1.0, 0.5])
@pytest.mark.parametrize("capacity", [64, 700, 100_000])
def test_the_mean_of_vectors_is_that_of_a_count_row_by_row(
    power: float, capacity: int
) -> None:
    learner = make_learner("norma", {"tau": None, "capacity": capacity})
    learner.kept_power = power
    came = 2_000 * learner.kept_share * (np.arange(4_001) / 2_000) ** power
    there = np.minimum(came, capacity + 1)
    assert learner._expected_vectors(4_000) == pytest.approx(
        (there[-1], there.mean()), rel=2e-3
    )


@pytest.mark.parametrize(
    "name", [name for task in TASKS for name in learner_names(task)]
)
def test_no_stream_takes_less_than_nothing(name: str) -> None:
    """Nor is one of no rows a fault."""
    cost = cost_of(make_learner(name, {}))
    assert (
        0.0
        <= cost.stream_numbers(20, 2, 20.0, 0)
        <= cost.stream_numbers(20, 2, 20.0, 200)
    )


@pytest.mark.parametrize(("split", "rows"), [("train", 500), ("half", 400)])
def test_held_out_rows_count_as_do_records(shelf: Path, split: str, rows: int) -> None:
    """400 rows to train on, or on half of them, and 100 of a test."""
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [{"name": "pa1"}, {"name": f"{__name__}:Dear"}],
    }
    protocol = (
        {"permutations": 1} if split == "train" else {"permutations": 1, "split": split}
    )
    made = make_plan(parse_experiment({**content, "protocol": protocol}))
    linear, dear = sorted({made.costs[run.id] for run in made.runs})
    columns = open_dataset(str(shelf / "dense")).columns
    seconds = learning_seconds(PA1(), columns, 2, float(columns))
    assert linear == pytest.approx(rows * (NUMBERS_A_SECOND * seconds + ROW_NUMBERS))
    of_dear = learning_seconds(Dear(), columns, 2, float(columns))
    assert dear == pytest.approx(rows * (NUMBERS_A_SECOND * of_dear + ROW_NUMBERS))
    numbers = len(made.runs) / 2 * (linear + dear)
    assert seconds_of(made, made.runs) == pytest.approx(
        numbers / NUMBERS_A_SECOND + len(made.runs) * RUN_SECONDS
    )


def test_a_model_that_grows_is_announced_and_one_with_a_budget_is_not(
    shelf: Path,
) -> None:
    """16,000,000 rows at the pace of the first ones would take minutes."""
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [{"name": "norma"}, {"name": "bpas"}],
    }
    made = make_plan(
        parse_experiment({**content, "protocol": {"order": "time", "passes": 40_000}})
    )
    (line,) = long_runs(made, made.runs)
    assert line.startswith("norma on dense may take ")
    assert line.endswith("take fewer rows, or a learner with a budget, as bpas or fogd")


@pytest.mark.parametrize("speed", [0.0, -1.0, float("inf"), float("nan")])
def test_a_speed_that_is_none_is_refused_by_its_name(
    shelf: Path, monkeypatch: pytest.MonkeyPatch, speed: float
) -> None:
    monkeypatch.setattr(Dear, "numbers_per_second", speed)
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [{"name": f"{__name__}:Dear"}],
    }
    with pytest.raises(
        ParameterError,
        match=f"learner dear: numbers_per_second was {speed!r}, expected a finite",
    ):
        make_plan(parse_experiment(content))


@pytest.mark.parametrize("seconds", [-1e-9, float("inf"), float("nan")])
def test_seconds_of_a_row_that_are_none_are_refused_by_their_name(
    shelf: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(Dear, "row_seconds", seconds)
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [{"name": f"{__name__}:Dear"}],
    }
    with pytest.raises(
        ParameterError,
        match=f"learner dear: row_seconds was {seconds!r}, expected a finite",
    ):
        make_plan(parse_experiment(content))


def test_a_row_of_few_features_takes_most_of_its_time_whatever_they_are() -> None:
    narrow, wide = (
        learning_seconds(PA1(), columns, 2, float(columns)) for columns in (5, 5_000)
    )
    assert wide < 200.0 * narrow


@pytest.mark.parametrize("name", ["pa1", "lol", "bpas", "fogd", "pamo1"])
def test_a_value_of_a_sparse_row_takes_more_than_one_of_a_dense_row(name: str) -> None:
    """As its weights are looked up."""
    learner = make_learner(name, {})
    dense = learning_seconds(learner, 60, 2, 60.0, 1_000)
    sparse = learning_seconds(learner, 5_000, 2, 60.0, 1_000)
    assert 1.2 * dense < sparse < 10.0 * dense


def test_eight_learners_take_about_what_was_measured() -> None:
    """By the seconds that they took on rows of 10 columns (4,000,000) and 200 (400,000)."""
    narrow = (0.73, 0.73, 2.33, 0.38, 0.33, 0.36, 0.058, 0.064)
    wide = (0.67, 1.29, 2.12, 1.06, 0.78, 0.30, 0.138, 0.156)
    names = ("scw1", "bpas", "fogd", "arow", "lol", "amm", "pa1", "ogd")
    shapes = ((10, 2, 4_000_000, narrow), (200, 10, 400_000, wide))
    for columns, classes, rows, measured in shapes:
        for name, seconds in zip(names, measured, strict=True):
            size = (columns, classes, float(columns), rows)
            estimated = learning_seconds(make_learner(name, {}), *size)
            assert seconds / 1.5 < estimated < 1.5 * seconds


@pytest.mark.parametrize(
    "name", [name for task in TASKS for name in learner_names(task)]
)
def test_how_fast_each_learner_goes_is_measured(name: str) -> None:
    """Not left at the usual speed, which is that of none: groups are dealt to workers by the time they take."""
    learner = make_learner(name, {})
    if learner.baseline:
        pytest.skip("goes through labels alone")
    assert 1e8 < learner.numbers_per_second < 1e11
    assert learner.numbers_per_second != Learner.numbers_per_second
