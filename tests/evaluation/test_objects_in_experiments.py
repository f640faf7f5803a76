"""What a script in Python puts into an experiment besides text: paths are taken, learners are refused."""

from pathlib import Path
from typing import Any

import pytest

import olscale
from olscale.errors import ExperimentError, ParameterError
from olscale.evaluation.experiment import Experiment

DATASETS: Any = [{"path": "data/letter"}]
LEARNERS: Any = [{"name": "pa1"}]


def test_paths_are_taken_as_their_text() -> None:
    datasets: Any = [{"path": Path("data") / "letter"}]
    protocol: Any = {"from_model": Path("m.zip")}
    experiment = Experiment(
        datasets=datasets, learners=LEARNERS, protocol={**protocol, "order": "time"}
    )
    as_text = Experiment(
        datasets=DATASETS,
        learners=LEARNERS,
        protocol={"from_model": "m.zip", "order": "time"},  # type: ignore[arg-type]
    )
    assert experiment == as_text
    assert type(experiment.datasets[0].path) is str
    assert type(experiment.protocol.from_model) is str


def test_an_estimator_is_no_table_of_a_learner() -> None:
    learners: Any = [olscale.make_learner("pa1")]
    with pytest.raises(ExperimentError, match=r"write \[\[learners\]\] with name = "):
        Experiment(datasets=DATASETS, learners=learners)


@pytest.mark.parametrize("name", [None, type(olscale.make_learner("pa1"))])
def test_a_learner_is_made_by_name(name: Any) -> None:
    with pytest.raises(
        ParameterError, match=r"name of make_learner is .*, expected a text"
    ):
        olscale.make_learner(name)
