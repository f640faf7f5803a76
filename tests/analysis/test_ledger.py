"""The ledger: verdicts by construction, and where figures differ what was tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.analysis.ledger import Cell, make_ledger, rank_methods
from olscale.analysis.published import PublishedCell
from olscale.errors import StoreError, UnknownNameError
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.settings import settings
from olscale.learners.registry import make_learner
from olscale.report.reproduction import (
    counts,
    differences,
    published_tables,
    rank_table,
    rank_tables,
)
from olscale.results import Store, open_store, run_id, write_plan
from olscale.results.plans import LeftOut
from olscale.results.record import Series
from olscale.results.selections import (
    Point,
    Selection,
    read_selections,
    write_selection,
)
from tests.analysis.published_cell import published

Write = Callable[..., None]


def experiment(**changes: Any) -> Experiment:
    content = {
        "name": "paper",
        "protocol": {"permutations": 2},
        "datasets": [
            {"name": "ring", "transforms": ["bias"]},
            {"name": "gone", "optional": True},
        ],
        "learners": [
            {"name": "pa1", "label": "PA", "params": {"C": 0.5}},
            {"name": "lol", "label": "LOL"},
            {"name": "none-such", "label": "NEW", "optional": True},
        ],
    }
    return parse_experiment(content | changes)


def ledger_of(
    store: Store,
    asked: Experiment,
    cells: list[PublishedCell],
    causes: Experiment | None = None,
) -> list[Cell]:
    """Return the ledger of the settings of an experiment."""
    chosen = read_selections(store)
    return make_ledger(
        store,
        settings(asked, chosen),
        cells,
        settings(causes, chosen) if causes else None,
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"), create=True)


@pytest.fixture
def write(store: Store, make_record: Callable[..., Any]) -> Write:
    """Return a writer of a group of runs with the given test errors."""

    def add(
        errors: list[float | None],
        learner: str = "pa1",
        given: dict[str, Any] | None = None,
        **rest: Any,
    ) -> None:
        made = make_learner(learner, {"C": 0.5} if given is None else given)
        params = made.resolved_params()
        rest = {
            "dataset": "ring",
            "transforms": ("bias",),
            "version": made.version,
        } | rest
        for permutation, error in enumerate(errors):
            result: dict[str, Any] = {"outcome": "diverged", "reason": "at row 3"}
            if error is not None:
                result = {"outcome": "ok", "metrics": {"test_error": error}}
            store.write(
                make_record(
                    learner=learner,
                    params=params,
                    permutation=permutation,
                    **rest,
                    **result,
                )
            )

    return add


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        ([0.20, 0.22], "reproduced"),
        ([0.10, 0.12], "better"),
        ([0.30, 0.32], "not reproduced"),
        ([0.10, 0.40] * 8 + [0.39] * 4, "compatible, wide"),
    ],
)
def test_the_verdict_follows_from_mean_and_deviation(
    store: Store, write: Write, errors: list[float | None], verdict: str
) -> None:
    write(errors)
    [cell] = ledger_of(store, experiment(), [published()])
    assert cell.verdict == verdict
    assert cell.summary is not None
    assert (cell.summary.mean, cell.summary.n) == (
        pytest.approx(sum(e or 0 for e in errors) / len(errors)),
        len(errors),
    )


def test_what_is_not_there_is_said_and_why(store: Store, write: Write) -> None:
    write([0.2, 0.2])
    write_plan(
        store, "paper", store.done(), [LeftOut("dataset", "gone", "its owner keeps it")]
    )
    write_plan(
        store,
        "other",
        ["a" * 32],
        [LeftOut("dataset", "ring", "of another experiment")],
    )
    cells = [
        published(),
        published("gone"),
        published(learner="NEW"),
        published(learner="CW"),
        published(learner="LOL"),
    ]
    ledger = ledger_of(store, experiment(), [*cells, published("url")])
    assert [cell.verdict for cell in ledger] == [
        "reproduced",
        "data absent",
        "method absent",
        "method absent",
        "not run",
        "not run",
    ]
    assert ledger[1].reason == "its owner keeps it"
    assert ledger[5].reason == "experiment paper leaves it out"
    assert counts(ledger) == "1 reproduced; 1 data absent; 2 method absent; 2 not run"


def test_runs_that_only_other_experiments_planned_do_not_count(
    store: Store, write: Write
) -> None:
    """Another experiment in the store went through further permutations of the same setting."""
    write([0.20, 0.22, 0.40, 0.50])
    ids = store.read(["id", "protocol"]).to_pylist()
    write_plan(store, "other", [row["id"] for row in ids])
    (cell,) = ledger_of(store, experiment(), [published()])
    assert cell.summary is not None
    # there is no plan of the paper: the runs came from elsewhere
    assert cell.summary.n == 4
    write_plan(
        store,
        "paper",
        [row["id"] for row in ids if '"permutation":1' in row["protocol"]],
    )
    (cell,) = ledger_of(store, experiment(), [published()])
    assert cell.summary is not None
    assert (cell.summary.n, cell.summary.mean) == (1, 0.22)


def test_a_dataset_that_was_absent_once_is_not_for_ever(
    store: Store, write: Write
) -> None:
    write_plan(
        store, "paper", store.done(), [LeftOut("dataset", "ring", "no connection")]
    )
    assert (
        ledger_of(store, experiment(), [published(learner="LOL")])[0].verdict
        == "data absent"
    )
    write([0.2, 0.2])
    assert (
        ledger_of(store, experiment(), [published(learner="LOL")])[0].verdict
        == "not run"
    )


def test_a_learner_that_all_runs_diverged_is_not_reproduced(
    store: Store, write: Write
) -> None:
    write([None, None])
    [cell] = ledger_of(store, experiment(), [published()])
    assert (cell.verdict, cell.summary, cell.reason) == (
        "not reproduced",
        None,
        "2 runs diverged",
    )
    [(line, _)] = differences([cell])
    assert line == "Table 1, ring, PA: 2 runs diverged, published 20.00 ± 1.00"


def test_failed_runs_beside_good_ones_are_told(store: Store, write: Write) -> None:
    write([0.2, None])
    [cell] = ledger_of(store, experiment(), [published()])
    assert (cell.verdict, cell.reason) == ("reproduced", "1 further runs diverged")
    [table] = published_tables([cell])
    assert table.entries[0][0].partial
    assert "! PA on ring: 1 further runs diverged." in table.notes


def test_other_transforms_parameters_and_passes_are_not_taken_for_the_setting(
    store: Store, write: Write, make_record: Callable[..., Any]
) -> None:
    write([0.2, 0.2], transforms=())
    write([0.2, 0.2], given={"C": 4.0})
    params = make_learner("pa1", {"C": 0.5}).resolved_params()
    record = make_record(
        dataset="ring",
        params=params,
        transforms=("bias",),
        outcome="ok",
        metrics={"test_error": 0.2},
    )
    record.run["protocol"]["passes"] = 2
    store.write(
        make_record().__class__(
            run=record.run, id="b" * 32, outcome="ok", metrics={"test_error": 0.2}
        )
    )
    [cell] = ledger_of(store, experiment(), [published()])
    assert cell.verdict == "not run"


CAUSES = {
    "name": "paper-causes",
    "datasets": [
        {"name": "ring", "transforms": []},
        {"name": "ring", "transforms": ["bias"]},
    ],
    "learners": [
        {"name": "pa1", "label": "PA", "params": {"C": [0.5, 4.0]}},
        {"name": "lol", "label": "LOL"},
    ],
}


def test_the_causes_that_meet_a_figure_are_named(store: Store, write: Write) -> None:
    write([0.40, 0.42])
    write([0.21, 0.21], transforms=())
    write([0.50, 0.52], transforms=(), given={"C": 4.0})
    [cell] = ledger_of(store, experiment(), [published()], experiment(**CAUSES))
    assert [trial.meets for trial in cell.trials] == [True, False]
    [(line, causes)] = differences([cell])
    said = "Table 1, ring, PA: 41.00 ± 1.41, published 20.00 ± 1.00: not reproduced"
    assert line == f"{said} (+12.1 joint deviations, +105 %, Welch's p 0.0053)"
    assert causes == ["met by transforms none: 21.00 ± 0.00 (1 of 2 settings tried)"]


def test_a_cause_that_only_spreads_widely_meets_nothing(
    store: Store, write: Write
) -> None:
    write([0.40, 0.42])
    write([0.05, 0.65] * 10, transforms=())
    [cell] = ledger_of(store, experiment(), [published()], experiment(**CAUSES))
    [trial] = cell.trials
    assert abs(trial.difference.distance) < 1
    assert not trial.meets


def test_where_nothing_explains_it_what_was_tried_is_named(
    store: Store, write: Write
) -> None:
    write([0.40, 0.42])
    write([0.30, 0.30], given={"C": 4.0})
    write([0.31, 0.31], given={"C": 4.0}, transforms=())
    [cell] = ledger_of(store, experiment(), [published()], experiment(**CAUSES))
    [(_, [said])] = differences([cell])
    assert said == (
        "nothing tried explains it (2 settings: transforms bias | none, passes 1); nearest: C=4: "
        "30.00 ± 0.00"
    )
    [alone] = ledger_of(store, experiment(), [published()])
    assert differences([alone])[0][1] == ["nothing tried yet"]


def test_the_setting_itself_is_no_cause(store: Store, write: Write) -> None:
    write([0.40, 0.42])
    [cell] = ledger_of(store, experiment(), [published()], experiment(**CAUSES))
    assert cell.trials == ()


def test_how_to_get_absent_data_is_said_without_paths(
    store: Store, small_catalogue: dict[str, Any]
) -> None:
    reasons = [
        LeftOut("dataset", name, f"not in /home/me/{name}")
        for name in ("gone", "lost", "elsewhere")
    ]
    write_plan(store, "paper", store.done(), reasons)
    ledger = ledger_of(
        store, experiment(), [published(name) for name in ("gone", "lost", "elsewhere")]
    )
    assert ledger[0].reason.startswith(
        "its owner keeps it; with a copy of your own: `olscale ingest FILES HOME/gone`"
    )
    assert ledger[1].reason.startswith(
        "`olscale datasets fetch lost HOME/lost` gets it"
    )
    assert ledger[2].reason == "not in /home/me/elsewhere"


def test_cells_that_are_reproduced_need_no_causes(store: Store, write: Write) -> None:
    write([0.2, 0.2])
    write([0.2, 0.2], transforms=())
    [cell] = ledger_of(store, experiment(), [published()], experiment(**CAUSES))
    assert cell.trials == ()


def test_tuned_parameters_are_those_of_the_selection(
    store: Store, write: Write
) -> None:
    tuned = experiment(
        learners=[{"name": "pa1", "label": "PA", "tune": {"C": [0.5, 4.0]}}]
    )
    write([0.2, 0.22], given={"C": 4.0})
    assert ledger_of(store, tuned, [published()])[0].verdict == "not run"
    chosen = make_learner("pa1", {"C": 4.0}).resolved_params()
    definition = {
        "dataset": {"name": "ring", "fingerprint": "f" * 64},
        "transforms": ["bias"],
        "learner": {"name": "pa1", "version": 1, "params": {}},
        "grid": {"C": [0.5, 4.0]},
        "protocol": {"split": "half", "folds": 10, "seed": 0, "metric": "test_error"},
    }
    points = (
        Point(make_learner("pa1", {"C": 0.5}).resolved_params(), 0.2),
        Point(chosen, 0.1),
    )
    write_selection(store, Selection(definition, run_id(definition), points, chosen))
    [cell] = ledger_of(store, tuned, [published()])
    assert cell.setting is not None
    assert cell.setting.tuned == {"grid": {"C": [0.5, 4.0]}, **definition["protocol"]}
    assert cell.verdict == "reproduced"


def test_two_datasets_of_one_name_are_refused(store: Store, write: Write) -> None:
    write([0.2])
    write([0.2], fingerprint="e" * 64)
    with pytest.raises(StoreError, match="two different datasets called ring"):
        ledger_of(store, experiment(), [published()])


def test_a_learner_that_must_be_there_is_missed() -> None:
    with pytest.raises(UnknownNameError, match="none-such"):
        settings(experiment(learners=[{"name": "none-such"}]), [])


def test_ranks_are_those_of_the_means(store: Store, write: Write) -> None:
    write([0.1, 0.1])
    write([0.2, 0.2], "lol", {})
    cells = ledger_of(
        store,
        experiment(),
        [published(mean=0.3), published(learner="LOL", mean=0.2), published("gone")],
    )
    ranks = rank_methods(cells)
    assert ranks is not None
    assert (ranks.methods, ranks.datasets) == (("PA", "LOL"), ("ring",))
    assert (ranks.ours, ranks.published, ranks.agreement) == (
        ((1.0,), (2.0,)),
        ((2.0,), (1.0,)),
        0.0,
    )
    assert [entry.mean for entry in rank_table(ranks, "test_error").entries[0]] == [
        "1.00 (2.00)",
        "1 (2)",
    ]
    assert ranks.left_out == {}
    assert rank_methods(cells[:1]) is None
    assert rank_tables(cells[:1]) == []
    assert [table.title for table in rank_tables(cells)] == ["Ranks by test error"]


def test_a_method_without_a_rank_is_named(store: Store, write: Write) -> None:
    write([0.1, 0.1])
    write([0.2, 0.2], "lol", {})
    cells = ledger_of(store, experiment(), [published(), published(learner="LOL")])
    more = [("square", "PA"), ("ring", "NEW"), ("square", "NEW")]
    ranks = rank_methods(
        [*cells, *(replace(cells[0], published=published(*names)) for names in more)]
    )
    assert ranks is not None
    assert (ranks.methods, ranks.left_out) == (("PA", "NEW"), {"LOL": ("square",)})


def test_a_figure_after_so_many_rows_is_a_point_of_the_curve_on_the_test_split(
    store: Store, make_record: Callable[..., Any]
) -> None:
    made = make_learner("pa1", {"C": 0.5})
    for permutation, errors in enumerate(([0.30, 0.10], [0.34, 0.20])):
        record = make_record(
            learner="pa1",
            params=made.resolved_params(),
            version=made.version,
            permutation=permutation,
            dataset="ring",
            transforms=("bias",),
            outcome="ok",
            metrics={"test_error": errors[1], "holdout_error": sum(errors) / 2},
            series=(Series("holdout_error", np.array([40, 80]), np.array(errors)),),
        )
        run = {
            **record.run,
            "protocol": {**record.run["protocol"], "holdout_every": 40},
        }
        store.write(replace(record, run=run, id=run_id(run)))
    asked = experiment(protocol={"permutations": 2, "holdout_every": 40})
    cells = [
        replace(published(mean=0.32), metric=f"test_error@{rows}") for rows in (40, 60)
    ]
    first, none = ledger_of(store, asked, cells)
    assert first.summary is not None
    assert (first.summary.n, round(first.summary.mean, 9), first.verdict) == (
        2,
        0.32,
        "reproduced",
    )
    assert (none.summary, none.reason) == (None, "its runs have no test_error@60")
    assert (
        published_tables([first])[0].title
        == "paper, Table 1: test error after 40 rows (%)"
    )
