"""Labels and order of an experiment, wherever its learners and data sets are shown to people."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from olscale.analysis import store_status, summarise
from olscale.cli import olscale as command
from olscale.report import as_csv, as_json, latex, plain, status_text, tables
from olscale.report.choice import labelled, streams
from olscale.results import (
    LeftOut,
    PlannedDataset,
    PlannedLearner,
    Store,
    open_store,
    read_plans,
    write_plan,
)
from olscale.results.version import version_bytes

ZOO = PlannedDataset("zoo", "f" * 64, ("bias",), "The zoo")
ANT = PlannedDataset("ant", "f" * 64, ())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "store", create=True)


@pytest.fixture
def fill(store: Store, make_record: Any) -> Any:
    """Return a writer of two permutations of a learner on each dataset; it returns the ids."""

    def write(
        learner: str,
        error: float,
        params: dict[str, Any] | None = None,
        on: Any = (ZOO, ANT),
        **rest: Any,
    ) -> Any:
        ids = []
        for dataset in on:
            for i in range(2):
                known = {
                    "dataset": dataset.name,
                    "transforms": dataset.transforms,
                    "permutation": i,
                }
                result = {
                    "metrics": {"cumulative_error": error},
                    "curve_rows": np.array([5, 10]),
                }
                result |= {"curve_mistakes": np.array([1, round(10 * error)])}
                record = make_record(
                    learner=learner, params=params or {}, **known, **(result | rest)
                )
                store.write(record)
                ids.append(record.id)
        return ids

    return write


def learner(
    name: str,
    params: dict[str, Any] | None = None,
    at: tuple[int, ...] = (0, 1),
    label: str = "",
) -> Any:
    return PlannedLearner(name, "1", params or {}, at, label)


@pytest.fixture
def planned(store: Store, fill: Any) -> Store:
    """A store of an experiment whose order is not that of the alphabet."""
    ids = [
        *fill("pa1", 0.2, {"C": 1.0}),
        *fill("lol", 0.1),
        *fill("arow", 0.3, outcome="diverged", reason="at row 3"),
    ]
    of = [
        learner("lol", label="Ours"),
        learner("pa1", {"C": 1.0}, label="PA-I"),
        learner("arow"),
    ]
    write_plan(store, "demo", ids, (), (ZOO, ANT), of)
    return store


def test_tables_have_labels_in_the_order_of_the_experiment(planned: Store) -> None:
    [table] = tables(summarise(planned))

    assert table.rows == ("Ours", "PA-I", "arow")
    assert table.columns == ("The zoo", "ant")
    assert "Transforms: bias (The zoo); none (ant)." in table.notes


def test_every_format_has_them(planned: Store) -> None:
    found = summarise(planned)

    for text in (plain(tables(found)), latex(tables(found))):
        assert text.index("Ours") < text.index("PA-I") < text.index("arow")
        assert text.index("The zoo") < text.index("ant")
    listed = [row for row in json.loads(as_json(found)) if row["metric"] != "outcome"]
    assert [
        (row["dataset"], row["dataset_label"], row["learner"], row["label"])
        for row in listed
    ] == [
        ("zoo", "The zoo", "lol", "Ours"),
        ("zoo", "The zoo", "pa1", "PA-I"),
        ("ant", "ant", "lol", "Ours"),
        ("ant", "ant", "pa1", "PA-I"),
    ]
    lines = list(csv.DictReader(io.StringIO(as_csv(found))))
    assert [row["label"] for row in lines] == ["Ours", "PA-I", "arow"] * 2


def test_status_has_them(planned: Store) -> None:
    status = store_status(planned)

    assert (list(status.datasets), list(status.learners)) == (
        ["The zoo", "ant"],
        ["Ours", "PA-I", "arow"],
    )
    assert "arow on The zoo: 2 diverged" in status_text(status)


@pytest.mark.long
def test_figures_and_the_page_have_them(planned: Store, tmp_path: Path) -> None:
    found = [s for s in summarise(planned) if s.n]
    groups = streams(found)
    assert {title: list(labelled(group)) for title, group in groups.items()} == {
        "The zoo": ["Ours", "PA-I"],
        "ant": ["Ours", "PA-I"],
    }
    done = CliRunner().invoke(
        command, ["report", planned.path, "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 0, done.output
    page = (tmp_path / "out" / "index.html").read_text()
    assert (
        page.index('<th scope="row">Ours')
        < page.index('<th scope="row">PA-I')
        < page.index('<th scope="row">arow')
    )
    assert (tmp_path / "out" / "figures" / "The-zoo-curves.svg").exists()
    assert "Transforms: bias." in page


def test_results_take_a_label_or_a_name(planned: Store) -> None:
    for words in (
        ["--learner", "Ours", "--dataset", "The zoo"],
        ["--learner", "lol", "--dataset", "zoo"],
    ):
        done = CliRunner().invoke(
            command, ["results", planned.path, "--format", "csv", *words]
        )
        assert [row["learner"] for row in csv.DictReader(io.StringIO(done.stdout))] == [
            "lol"
        ]


def test_the_same_runs_under_two_labels_are_in_both_rows(
    store: Store, fill: Any
) -> None:
    """Tuning chose on one data set what the other learner is set to."""
    ids = [*fill("pa1", 0.2, {"C": 1.0}), *fill("pa1", 0.1, {"C": 4.0}, on=(ANT,))]
    of = [
        learner("pa1", {"C": 1.0}, label="PA-I"),
        learner("pa1", {"C": 1.0}, (0,), "tuned"),
    ]
    write_plan(
        store,
        "demo",
        ids,
        (),
        (ZOO, ANT),
        [*of, learner("pa1", {"C": 4.0}, (1,), "tuned")],
    )

    [table] = tables(summarise(store))

    assert table.rows == ("PA-I", "tuned")
    assert [[entry.mean for entry in line] for line in table.entries] == [
        ["20.00", "20.00"],
        ["20.00", "10.00"],
    ]


def test_settings_and_learners_of_one_label_are_told_apart(
    store: Store, fill: Any
) -> None:
    ids = [
        *fill("pa1", 0.2, {"C": 1.0}),
        *fill("pa1", 0.1, {"C": 4.0}),
        *fill("lol", 0.3),
    ]
    of = [
        learner("pa1", {"C": 4.0}, label="x"),
        learner("pa1", {"C": 1.0}, label="x"),
        learner("lol", label="x"),
    ]
    write_plan(store, "demo", ids, (), (ZOO, ANT), of)

    [table] = tables(summarise(store))

    assert table.rows == ("x (pa1) C=4", "x (pa1) C=1", "x (lol)")


def test_experiments_come_in_the_order_of_their_first_appearance(
    store: Store, fill: Any
) -> None:
    for name, other in (("pa1", "lol"), ("arow", "pa1")):
        ids = [*fill(name, 0.2), *fill(other, 0.1)]
        write_plan(
            store,
            f"with-{name}",
            ids,
            (),
            (ANT,),
            [learner(name, at=(0,)), learner(other, at=(0,))],
        )

    [table] = tables(summarise(store))

    assert table.rows == ("pa1", "lol", "arow")
    assert table.columns == ("ant", "zoo")  # which no experiment has


def test_an_experiment_that_was_edited_shows_as_it_is_now(
    store: Store, fill: Any
) -> None:
    ids = fill("pa1", 0.2)
    write_plan(store, "demo", ids, (), (ZOO, ANT), [learner("pa1")])
    [before] = read_plans(store)
    write_plan(store, "demo", ids, (), (ZOO, ANT), [learner("pa1", label="PA-I")])
    assert tables(summarise(store))[0].rows == ("PA-I",)
    [after] = read_plans(store)
    assert (before.number, after.number) == (1, 1)

    of = [learner("lol"), learner("pa1", label="PA-I")]
    write_plan(store, "demo", [*ids, *fill("lol", 0.1)], (), (ZOO, ANT), of)
    assert tables(summarise(store))[0].rows == ("lol", "PA-I")
    write_plan(store, "demo", ids, (), (ZOO, ANT), [learner("pa1", label="PA-I")])
    assert tables(summarise(store))[0].rows == ("PA-I", "lol")


def test_a_plan_that_says_the_same_is_not_written_again(
    planned: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that cannot be written to can still be evaluated on, where there is nothing to do."""
    [plan] = read_plans(planned)
    monkeypatch.setattr(Store, "put", None)
    assert (
        write_plan(planned, "demo", plan.runs, (), plan.datasets, plan.learners) == plan
    )


def test_plans_of_the_first_version_are_read_and_get_their_order_at_the_next_evaluation(
    store: Store, fill: Any
) -> None:
    ids = fill("pa1", 0.2)
    plan = write_plan(store, "demo", ids, [LeftOut("dataset", "gone", "once")])
    [file] = [name for name in store.files.names("plans") if name.endswith(".json")]
    store.put("store.json", version_bytes(2))
    store = open_store(store.path)
    parts = [{"kind": "dataset", "name": "gone", "reason": "once"}]
    store.put(
        file,
        json.dumps(
            {"experiment": "demo", "runs": plan.runs, "left_out": parts}
        ).encode(),
    )
    assert tables(summarise(store))[0].columns == ("ant", "zoo")

    write_plan(
        store,
        "demo",
        ids,
        [LeftOut("dataset", "gone", "again")],
        (ZOO, ANT),
        [learner("pa1")],
    )

    assert tables(summarise(store))[0].columns == ("The zoo", "ant")
    [plan] = read_plans(store)
    assert (plan.number, plan.left_out[0].reason) == (1, "once")


@pytest.mark.long
def test_an_evaluation_writes_them(shelf: Path, tmp_path: Path) -> None:
    import olscale

    experiment = olscale.Experiment(
        protocol={"permutations": 1},
        datasets=[
            {"path": str(shelf / "sparse"), "label": "wide"},
            {"path": str(shelf / "dense"), "transforms": ["bias"]},
        ],
        learners=[
            {"name": "perceptron", "datasets": ["dense"], "label": "P"},
            {"name": "pa1", "params": {"C": [1.0, 0.5]}},
            {"name": "pa", "label": "PA"},
        ],
    )
    done = olscale.evaluate(experiment, tmp_path / "store", in_process=True)

    assert list(dict.fromkeys(s.dataset_label for s in summarise(done.store))) == [
        "wide",
        "dense",
    ]
    table = tables(summarise(done.store))[-1]
    assert table.rows == ("P", "pa1 C=1", "pa1 C=0.5", "PA")
    assert table.entries[0][0].note == "-"
    assert all(
        '"label"' not in run for run in done.store.read(["run"])["run"].to_pylist()
    )


def test_what_tuning_compares_names_nothing_that_an_experiment_asks_for(
    store: Store, fill: Any
) -> None:
    """The default is a candidate that was not chosen: its runs are the default's, not those of the learner that is tuned."""
    candidates = [
        fill("pa1", error, {"C": C})
        for C, error in ((1.0, 0.3), (0.5, 0.2), (0.25, 0.1))
    ]
    points = [learner("pa1", {"C": C}, label="pa1, tuned") for C in (1.0, 0.5, 0.25)]
    write_plan(
        store,
        "demo: tuning",
        [id for ids in candidates for id in ids],
        (),
        (ZOO, ANT),
        points,
    )
    asked = [
        learner("pa1", {"C": 1.0}),
        learner("pa1", {"C": 0.25}, label="pa1, tuned"),
    ]
    write_plan(store, "demo", candidates[0] + candidates[2], (), (ZOO, ANT), asked)
    shown = [
        {(s.params["C"], s.label) for s in summarise(store, tuning=tuning)}
        for tuning in (False, True)
    ]
    assert shown == [
        {(1.0, "pa1"), (0.25, "pa1, tuned")},
        {(1.0, "pa1"), (0.25, "pa1, tuned"), (0.5, "pa1, tuned")},
    ]


def test_an_external_learner_that_gets_names_on_some_datasets_is_one_row(
    store: Store, fill: Any
) -> None:
    """An older adapter's runs, which the experiment does not ask for, are a row of their own."""
    forest = "river.forest:ARFClassifier"
    bee = PlannedDataset("bee", "f" * 64, ())
    of = [
        PlannedLearner(forest, "0.26.1", {}, (1,)),
        learner("pa1"),
        PlannedLearner(forest, "0.26.1+adapter2", {}, (0,)),
    ]
    ids = [
        *fill("pa1", 0.3),
        *fill(forest, 0.2, on=(ANT,), version="0.26.1"),
        *fill(forest, 0.1, on=(ZOO,), version="0.26.1+adapter2"),
    ]
    write_plan(store, "demo", ids, (), (ZOO, ANT), of)

    [table] = tables(summarise(store))
    assert table.rows == (forest, "pa1")
    assert not any("versions" in note for note in table.notes)

    fill(forest, 0.4, on=(bee,), version="0.26.1")
    [table] = tables(summarise(store))
    assert set(table.rows) == {
        f"{forest} v0.26.1",
        f"{forest} v0.26.1+adapter2",
        "pa1",
    }
