"""Declared pipelines are found by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from olscale.analysis.published import read_published
from olscale.errors import ExperimentError, UnknownNameError
from olscale.evaluation import pipelines
from olscale.evaluation.experiment import load_experiment
from olscale.evaluation.pipelines import (
    CAUSES,
    QUICK,
    experiment_file,
    has_pipeline,
    load_pipeline,
    pipeline_names,
)
from olscale.evaluation.run import stream_keys


def test_an_unknown_name_lists_the_names_with_the_nearest() -> None:
    with pytest.raises(
        UnknownNameError,
        match=r"unknown pipeline 'lol2016'; did you mean 'lol-2016'\? there are: .*pamo",
    ):
        load_pipeline("lol2016")


def test_forms_beside_a_pipeline_are_no_names() -> None:
    assert "lol-2016" in pipeline_names()
    assert not [name for name in pipeline_names() if name.endswith((QUICK, CAUSES))]
    assert load_pipeline("lol-2016", QUICK).name == "lol-2016-quick"


def test_a_form_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.toml").write_text(
        '[[datasets]]\nname = "ring"\n[[learners]]\nname = "pa"\n'
    )
    (tmp_path / "job.toml").write_text('name = "job"\n[[bench]]\nnames = ["linear"]\n')
    monkeypatch.setattr(pipelines, "FOLDERS", (tmp_path / "absent", tmp_path))
    assert pipeline_names() == ["mine"]
    assert not has_pipeline("mine", CAUSES)
    with pytest.raises(ExperimentError, match="pipeline mine has no quick form"):
        load_pipeline("mine", QUICK)


def test_the_package_comes_before_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("package", "repository"):
        (tmp_path / folder).mkdir()
        text = f'name = "{folder}"\n[[datasets]]\nname = "ring"\n[[learners]]\nname = "pa"\n'
        (tmp_path / folder / "mine.toml").write_text(text)
    monkeypatch.setattr(
        pipelines, "FOLDERS", (tmp_path / "package", tmp_path / "repository")
    )
    assert load_pipeline("mine").name == "package"


def test_an_experiment_is_a_file_or_the_name_of_a_pipeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert experiment_file("mine/letter.toml") == Path("mine/letter.toml")
    assert load_experiment(experiment_file("quickstart")).name == "quickstart"
    with pytest.raises(
        UnknownNameError,
        match="unknown experiment file or pipeline 'quikstart'; did you mean 'quickstart'",
    ):
        experiment_file("quikstart")
    Path("quickstart").mkdir()
    assert experiment_file("quickstart").parent.name == "pipelines"
    Path("quickstart").rmdir()
    # A file of that name in the working directory comes first.
    Path("quickstart").touch()
    assert experiment_file("quickstart") == Path("quickstart")


@pytest.mark.parametrize("name", sorted(pipelines.pipeline_files()))
def test_pipelines_run_anywhere(name: str) -> None:
    experiment = load_experiment(pipelines.pipeline_files()[name])
    assert [spec.path for spec in experiment.datasets if spec.path is not None] == []


@pytest.mark.parametrize("source", sorted({cell.source for cell in read_published()}))
def test_every_published_method_and_dataset_is_declared(source: str) -> None:
    """A cell that its pipeline cannot meet by name would be taken for one that was not run."""
    experiment = load_pipeline(source)
    datasets = {spec.name for spec in experiment.datasets}
    labels = {spec.label or spec.name for spec in experiment.learners}
    cells = [cell for cell in read_published() if cell.source == source]
    assert {cell.learner for cell in cells} <= labels
    assert {cell.dataset for cell in cells} <= datasets
    for cell in cells:
        meeting = [
            s
            for s in experiment.learners
            if (s.label or s.name) == cell.learner and s.meets(cell.dataset)
        ]
        assert len(meeting) == 1, (cell.dataset, cell.learner)


@pytest.mark.parametrize(("form", "projections"), [("", 10), (QUICK, 3)])
def test_url_is_projected_in_time_order(form: str, projections: int) -> None:
    experiment = load_pipeline("lol-2016", form)
    [url] = [spec for spec in experiment.datasets if spec.name == "url"]
    assert (url.optional, url.transforms) == (
        True,
        ("project:features=100,kind=gaussian,seed=0",),
    )
    assert url.protocol is not None
    keys = list(
        stream_keys("url", "", url.transforms or (), url.protocol, experiment.seed)
    )
    assert [(key.shuffle, key.projection) for key in keys] == [
        (None, i) for i in range(projections)
    ]
