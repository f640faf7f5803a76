"""Before planning: names become paths, optional parts that cannot be had are left out and said so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.data.dataset import Dataset
from olscale.data.generators import generate
from olscale.errors import (
    DatasetError,
    ExperimentError,
    OlscaleError,
    ParameterError,
    UnknownNameError,
)
from olscale.evaluation.experiment import Experiment, load_experiment, parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.evaluation.resolve import permutation_notes, resolve
from olscale.evaluation.settings import settings
from olscale.execution.evaluate import evaluate
from olscale.learners.foresight import REFERENCES
from olscale.learners.registry import learner_class, learner_names
from olscale.results import LeftOut, read_plans
from olscale.results.opening import open_store
from olscale.task import Task

PA = [{"name": "pa"}]


def experiment(
    datasets: list[dict[str, Any]], learners: list[dict[str, Any]] = PA
) -> Experiment:
    return parse_experiment(
        {"datasets": datasets, "learners": learners, "protocol": {"permutations": 1}}
    )


def test_a_name_becomes_the_path_of_a_dataset_in_the_data_home(
    small_catalogue: dict[str, Any], tmp_path: Path
) -> None:
    said: list[str] = []
    resolution = resolve(
        experiment([{"name": "ring", "transforms": ["bias"]}]), said.append
    )
    path = str(tmp_path / "home" / "ring")
    [dataset] = resolution.experiment.datasets
    assert (dataset.path, dataset.transforms, resolution.left_out) == (
        path,
        ("bias",),
        (),
    )
    assert said == [f"fetching data set ring into {path}"]
    assert [run.stream.dataset for run in make_plan(resolution.experiment).runs] == [
        "ring"
    ]


def test_a_generated_set_comes_once_for_each_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLSCALE_DATASETS", str(tmp_path))
    asked = experiment([{"name": "two-gaussians", "seed": [3, 4]}])
    resolution = resolve(asked, lambda line: None)
    names = ["two-gaussians-seed-3", "two-gaussians-seed-4"]
    assert [dataset.name for dataset in resolution.datasets] == names
    assert settings(asked, []).streams == dict.fromkeys(names, "two-gaussians")
    made = generate("two-gaussians", tmp_path / "by-hand", seed=4)
    rows = [next(iter(d.chunks())).X for d in (*resolution.datasets, made)]
    assert not np.array_equal(rows[0], rows[1])
    assert np.array_equal(rows[1], rows[2])


@pytest.mark.parametrize(
    ("section", "fault"),
    [
        ({"name": "ring", "seed": 3}, "only generated sets have a seed"),
        ({"path": "ring", "seed": 3}, "a path is of rows that are there already"),
    ],
)
def test_rows_that_are_there_have_no_seed(
    small_catalogue: dict[str, Any], section: dict[str, Any], fault: str
) -> None:
    with pytest.raises(OlscaleError, match=fault):
        resolve(experiment([section]), lambda line: None)


def test_planning_fetches_nothing(
    small_catalogue: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(ExperimentError, match="data set ring has no path yet"):
        make_plan(experiment([{"name": "ring"}]))
    assert not (tmp_path / "home").exists()


def test_optional_parts_that_cannot_be_had_are_left_out_and_said(
    small_catalogue: dict[str, Any], tmp_path: Path
) -> None:
    datasets = [{"name": name, "optional": True} for name in ("gone", "lost", "ring")]
    datasets.append({"path": str(tmp_path / "nowhere"), "optional": True})
    learners = [
        {"name": name, "optional": True}
        for name in ("pa", "tomorrow", "no_such_module:Learner")
    ]
    said: list[str] = []
    resolution = resolve(experiment(datasets, learners), said.append)
    assert [(part.kind, part.name) for part in resolution.left_out] == [
        ("dataset", "gone"),
        ("dataset", "lost"),
        ("dataset", str(tmp_path / "nowhere")),
        ("learner", "tomorrow"),
        ("learner", "no_such_module:Learner"),
    ]
    assert [line for line in said if not line.startswith("fetching")] == [
        str(part) for part in resolution.left_out
    ]
    assert said[0].startswith(
        "dataset gone is left out: data set gone cannot be fetched: its owner keeps it"
    )
    resolved = resolution.experiment
    assert ([spec.name for spec in resolved.learners], len(resolved.datasets)) == (
        ["pa"],
        1,
    )


@pytest.mark.parametrize(
    ("datasets", "learners", "error", "said"),
    [
        ([{"name": "gone"}], PA, DatasetError, "gone cannot be fetched"),
        ([{"name": "rings"}], PA, UnknownNameError, "did you mean 'ring'"),
        (
            [{"name": "gone", "optional": True}],
            PA,
            ExperimentError,
            "has no dataset left: dataset gone is left out",
        ),
        (
            [{"name": "ring"}],
            [{"name": "new", "optional": True}],
            ExperimentError,
            "has no learner left",
        ),
    ],
)
def test_what_is_needed_but_cannot_be_had_is_an_error(
    small_catalogue: dict[str, Any],
    datasets: Any,
    learners: Any,
    error: type[Exception],
    said: str,
) -> None:
    with pytest.raises(error, match=said):
        resolve(experiment(datasets, learners), [].append)


def test_optional_excuses_no_wrong_parameter(
    small_catalogue: dict[str, Any], tmp_path: Path
) -> None:
    wrong = experiment(
        [{"name": "ring"}], [{"name": "pa1", "params": {"C": -1}, "optional": True}]
    )
    with pytest.raises(ParameterError, match="parameter C was -1"):
        evaluate(wrong, tmp_path / "store", in_process=True)


def test_an_evaluation_in_process_opens_its_dataset_once(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    begin = Dataset.__init__

    def counted(self: Dataset, path: str, *rest: Any) -> None:
        opened.append(path)
        begin(self, path, *rest)

    monkeypatch.setattr(Dataset, "__init__", counted)
    asked = experiment([{"path": str(shelf / "dense")}], [{"name": "pa1"}])
    evaluate(asked, tmp_path / "store", in_process=True)
    assert opened == [str(shelf / "dense")]


def test_the_store_keeps_what_a_plan_left_out(
    small_catalogue: dict[str, Any], tmp_path: Path
) -> None:
    whole = experiment([{"name": "ring"}])
    part = experiment([{"name": "ring"}, {"name": "gone", "optional": True}])
    done = evaluate(part, tmp_path / "store", in_process=True)
    assert [(left.kind, left.name) for left in done.left_out] == [("dataset", "gone")]
    again = evaluate(part, tmp_path / "store", in_process=True)
    assert (done.computed, again.computed) == (1, 0)
    (plan,) = read_plans(open_store(tmp_path / "store"))
    assert (len(plan.runs), plan.left_out) == (1, done.left_out)
    assert isinstance(plan.left_out[0], LeftOut)
    evaluate(whole, tmp_path / "store", in_process=True)
    plans = read_plans(open_store(tmp_path / "store"))
    assert sorted(len(plan.left_out) for plan in plans) == [0, 1]


@pytest.mark.parametrize("dataset", ["", 'path = "a"\nname = "b"', "optional = true"])
def test_a_dataset_has_either_a_path_or_a_name(tmp_path: Path, dataset: str) -> None:
    file = tmp_path / "e.toml"
    file.write_text(f'[[datasets]]\n{dataset}\n[[learners]]\nname = "pa"\n')
    with pytest.raises(ExperimentError, match=r"datasets\.0 .* and not both") as caught:
        load_experiment(file)
    assert "\n" not in str(caught.value)


def test_a_name_in_a_file_is_not_taken_for_a_relative_path(tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text(
        'datasets = [{name = "ring"}, {path = "d", optional = true}]\nlearners = [{name = "pa"}]\n'
    )
    first, second = load_experiment(file).datasets
    assert (first.name, first.path, second.path, second.optional) == (
        "ring",
        None,
        str(tmp_path / "d"),
        True,
    )


def test_a_misspelt_directory_gets_the_nearest_dataset(shelf: Path) -> None:
    with pytest.raises(
        DatasetError,
        match=r"digts does not exist; did you mean '.*/digits'\? else make it with `olscale",
    ):
        make_plan(experiment([{"path": str(shelf / "digts")}]))
    with pytest.raises(
        DatasetError,
        match=r"none-like-it does not exist; make it with `olscale ingest`",
    ):
        make_plan(experiment([{"path": str(shelf / "none-like-it")}]))


@pytest.mark.parametrize("name", ["pa", "*"])
def test_a_learner_meets_no_dataset_that_is_not_there(shelf: Path, name: str) -> None:
    """One that is misspelt met none, without a word."""
    learners = [{"name": "pa"}, {"name": name, "datasets": ["digts"]}]
    said = r"unknown dataset in learners\.1\.datasets 'digts'; did you mean 'digits'\?"
    with pytest.raises(UnknownNameError, match=said):
        resolve(experiment([{"path": str(shelf / "digits")}], learners), [].append)


@pytest.mark.parametrize("word", ["The ring", "ring", "ring-10"])
def test_a_learner_may_call_a_dataset_what_its_entry_says(
    shelf: Path, small_catalogue: dict[str, Any], word: str
) -> None:
    datasets = [
        {"name": "ring", "rows": 10, "label": "The ring"},
        {"path": str(shelf / "sparse")},
    ]
    learners = [{"name": "pa", "datasets": [word]}, {"name": "pa1"}]
    resolution = resolve(experiment(datasets, learners), [].append)
    assert [spec.datasets for spec in resolution.experiment.learners] == [
        ("ring-10",),
        None,
    ]


def test_a_name_in_stores_comes_before_a_label(shelf: Path) -> None:
    datasets = [
        {"path": str(shelf / "dense"), "label": "sparse"},
        {"path": str(shelf / "sparse")},
    ]
    learners = [{"name": "pa", "datasets": ["sparse"]}]
    resolution = resolve(experiment(datasets, learners), [].append)
    assert resolution.experiment.learners[0].datasets == ("sparse",)


def test_a_label_for_one_of_two_entries_on_the_same_rows_is_no_dataset(
    shelf: Path,
) -> None:
    """It would name both."""
    datasets = [
        {"path": str(shelf / "dense"), "label": "raw"},
        {"path": str(shelf / "dense"), "label": "scaled", "transforms": ["bias"]},
    ]
    learners = [{"name": "pa", "datasets": ["raw"]}]
    with pytest.raises(UnknownNameError, match="datasets 'raw'; there are: dense"):
        resolve(experiment(datasets, learners), [].append)


@pytest.mark.parametrize("name", ["pa", "*"])
def test_a_learner_may_name_a_dataset_that_is_absent_today(
    shelf: Path, small_catalogue: dict[str, Any], name: str
) -> None:
    """Also by as many of its rows as are asked for, and by no other number."""
    datasets = [
        {"path": str(shelf / "dense")},
        {"name": "gone", "rows": 20, "optional": True},
    ]
    datasets.append({"path": str(shelf / "nowhere"), "optional": True})

    def learners(*names: str) -> list[dict[str, Any]]:
        return [{"name": "pa1"}, {"name": name, "datasets": list(names)}]

    resolution = resolve(
        experiment(datasets, learners("gone", "gone-20", "nowhere")), [].append
    )
    assert {run.learner for run in make_plan(resolution.experiment).runs} == {"pa1"}
    with pytest.raises(
        UnknownNameError, match="datasets 'gone-30'; did you mean 'gone-20'"
    ):
        resolve(experiment(datasets, learners("gone-30")), [].append)


def test_a_star_on_datasets_that_are_absent_is_no_learner(
    shelf: Path, small_catalogue: dict[str, Any]
) -> None:
    datasets = [{"path": str(shelf / "dense")}, {"name": "gone", "optional": True}]
    with pytest.raises(
        ExperimentError, match="has no learner left: no dataset that they name is there"
    ):
        resolve(experiment(datasets, [{"name": "*", "datasets": ["gone"]}]), [].append)


def test_a_dataset_of_more_rows_than_asked_is_drawn_from_once(
    shelf: Path, small_catalogue: dict[str, Any]
) -> None:
    said: list[str] = []
    datasets = [
        {"path": str(shelf / name), "rows": rows}
        for name, rows in (("dense", 50), ("sparse", 1000))
    ]
    learners = [{"name": "pa", "datasets": ["dense-50"]}, {"name": "pa1"}]
    for _ in range(2):
        resolution = resolve(experiment(datasets, learners), said.append)
        streams = {
            (run.learner, run.stream.dataset)
            for run in make_plan(resolution.experiment).runs
        }
        assert streams == {("pa", "dense-50"), ("pa1", "dense-50"), ("pa1", "sparse")}
    assert len(said) == 1
    assert said[0].startswith("drawing 50 rows of each split of dense into ")


def test_a_share_of_the_rows_tests_learners_with_fewer_permutations(
    shelf: Path, small_catalogue: dict[str, Any]
) -> None:
    asked = parse_experiment(
        {
            "datasets": [{"path": str(shelf / "digits"), "test_share": 0.25}],
            "learners": [
                {"name": "pa"},
                {"name": "pa1", "permutations": 2, "datasets": ["digits-tested-0.25"]},
            ],
            "protocol": {"permutations": 3},
        }
    )
    resolved = resolve(asked, lambda line: None)
    [dataset] = resolved.datasets
    assert (dataset.name, "test" in dataset.splits) == ("digits-tested-0.25", True)
    runs = [
        (run.learner, run.stream.shuffle.index)  # type: ignore[union-attr]
        for run in make_plan(resolved.experiment).runs
    ]
    assert sorted(runs) == [
        *(("pa", index) for index in range(3)),
        *(("pa1", index) for index in range(2)),
    ]


def test_fewer_permutations_need_some(small_catalogue: dict[str, Any]) -> None:
    asked = experiment([{"name": "ring", "protocol": {"order": "time"}}])
    learners = asked.learners[0].model_copy(update={"permutations": 1})
    resolved = resolve(asked.model_copy(update={"learners": (learners,)}), print)
    with pytest.raises(ExperimentError, match=r"order is 'time' .* leave permutations"):
        make_plan(resolved.experiment)


def in_a_star(task: Task) -> set[str]:
    """Return the learners of a task that any rows fit."""
    names = learner_names(task)
    return {name for name in names if learner_class(name).takes_negative}


def test_a_star_is_every_learner_on_the_datasets_of_its_task(shelf: Path) -> None:
    datasets = [{"path": str(shelf / name)} for name in ("dense", "targets", "digits")]
    resolution = resolve(
        experiment(datasets, [{"name": "*"}, {"name": "pa1", "params": {"C": 0.5}}]),
        print,
    )
    met = {
        (run.learner, run.stream.dataset)
        for run in make_plan(resolution.experiment).runs
    }
    wanted = {
        (name, d) for name in in_a_star("classification") for d in ("dense", "digits")
    }
    assert met == wanted | {(name, "targets") for name in in_a_star("regression")}
    assert "multinomial-naive-bayes" not in in_a_star("classification")


def test_a_star_goes_without_learners_that_are_named(shelf: Path) -> None:
    star = {"name": "*", "without": ["pa1", "olk"]}
    datasets = [{"path": str(shelf / "dense")}]
    asked = experiment(datasets, [star])
    names = in_a_star("classification") - {"pa1", "olk"}
    resolved = resolve(asked, print).experiment
    assert {run.learner for run in make_plan(resolved).runs} == names
    assert {setting.learner for setting in settings(resolved, []).settings} == names
    unknown = experiment(datasets, [star | {"without": ["pa3"]}])
    with pytest.raises(UnknownNameError, match=r"learners\.0\.without 'pa3'; did you"):
        resolve(unknown, print)
    with pytest.raises(ExperimentError, match=r"without is for name = '\*'"):
        experiment(datasets, [star | {"name": "pa"}])


def test_a_star_is_no_batch_reference_where_it_has_no_figure(shelf: Path) -> None:
    """Along a stream tables show none for it, however long it is trained again and again."""
    datasets = [
        {"path": str(shelf / name), "protocol": {"order": "time"}}
        for name in ("dense", "digits")
    ]
    resolution = resolve(experiment(datasets, [{"name": "*"}]), print)
    learners = {
        dataset: {
            run.learner
            for run in make_plan(resolution.experiment).runs
            if run.stream.dataset == dataset
        }
        for dataset in ("dense", "digits")
    }
    references = learners["dense"] - learners["digits"]
    assert references == REFERENCES.keys() & set(learner_names("classification"))


def test_a_learner_without_a_dataset_of_its_task_is_refused(shelf: Path) -> None:
    datasets = [{"path": str(shelf / "dense")}]
    resolution = resolve(experiment(datasets, [{"name": "rls"}]), print)
    with pytest.raises(ExperimentError, match="learner rls predicts numbers"):
        make_plan(resolution.experiment)


@pytest.mark.parametrize(
    "more", [{"params": {"C": 1.0}}, {"tune": {"C": [1.0]}}, {"label": "all"}]
)
def test_a_star_is_at_its_defaults(more: dict[str, Any]) -> None:
    with pytest.raises(
        ExperimentError,
        match=r"learners\.0 .* expected no params, tune or label beside it",
    ):
        experiment([{"path": "here"}], [{"name": "*"} | more])


def test_batch_references_are_refused_where_labels_come_late(shelf: Path) -> None:
    """They would be trained anew for every row; a star leaves them out."""
    late = {"path": str(shelf / "digits"), "protocol": {"delay": 5}}
    for name in sorted(REFERENCES.keys() & set(learner_names("classification"))):
        resolved = resolve(experiment([late], [{"name": name}]), print)
        wanted = f"learner {name}: protocol.delay was 5, .* leave delay out"
        with pytest.raises(ExperimentError, match=wanted):
            make_plan(resolved.experiment)
    star = resolve(experiment([late], [{"name": "*"}]), print).experiment
    assert not {spec.name for spec in star.learners} & REFERENCES.keys()


def test_more_permutations_of_a_learner_than_there_are_is_said(shelf: Path) -> None:
    datasets = [{"path": str(shelf / "dense")}]
    learners = [{"name": "pa", "permutations": 3}, {"name": "pa1", "permutations": 1}]
    assert permutation_notes(resolve(experiment(datasets, learners), print)) == [
        "pa: its permutations were 3, and the protocol has 1, which it gets; for more, raise "
        "protocol.permutations"
    ]
