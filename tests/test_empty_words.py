"""What a variable that is not set makes of a path is refused wherever Python takes one, as on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import olscale
from olscale.data.catalogue.fetch import fetch
from olscale.data.generators import generate
from olscale.errors import OlscaleError, ParameterError
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.jobs.job_file import load_job
from olscale.models.file import load_model
from olscale.storage.open import open_storage

EXPERIMENT = {"datasets": [{"path": "d"}], "learners": [{"name": "pa1"}]}
TAKERS: dict[str, Callable[[Any, Path], object]] = {
    "ingest, source": lambda path, folder: olscale.ingest(path, folder / "d"),
    "ingest, one source of several": lambda path, folder: olscale.ingest(
        [folder / "t.csv", path], folder / "d"
    ),
    "ingest, dest": lambda path, folder: olscale.ingest(folder / "t.csv", path),
    "ingest, test": lambda path, folder: olscale.ingest(
        folder / "t.csv", folder / "d", test=[path]
    ),
    "open_dataset": lambda path, folder: olscale.open_dataset(path),
    "open_store": lambda path, folder: olscale.open_store(path),
    "open_store, create": lambda path, folder: olscale.open_store(path, create=True),
    "evaluate": lambda path, folder: olscale.evaluate(
        parse_experiment(EXPERIMENT), path, in_process=True
    ),
    "evaluate, background": lambda path, folder: olscale.evaluate(
        parse_experiment(EXPERIMENT), path, background=True
    ),
    "load_experiment": lambda path, folder: olscale.load_experiment(path),
    "load_model": lambda path, folder: load_model(path),
    "Results": lambda path, folder: olscale.Results(path),
    "watch": lambda path, folder: olscale.watch(path),
    "load_job": lambda path, folder: load_job(path),
    "generate": lambda path, folder: generate("rotating-xor", path, rows=10),
    "fetch": lambda path, folder: fetch("letter", path),
    "open_storage": lambda path, folder: open_storage(path),
}


@pytest.mark.parametrize("name", TAKERS)
def test_no_path_is_refused_and_leaves_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,0\n2,1\n")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for path in ("", "  ", None, 7, b"bytes"):
        with pytest.raises(
            ParameterError,
            match=r"is an empty path: a variable that is not set|expected a path",
        ) as caught:
            TAKERS[name](path, tmp_path)
        assert "\n" not in str(caught.value)
    assert not list((tmp_path / "here").iterdir())
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    "section",
    [{"path": ""}, {"path": " "}, {"name": ""}, {"path": "a\0b"}],
)
def test_a_dataset_of_an_experiment_has_a_path_or_name(section: dict[str, str]) -> None:
    with pytest.raises(OlscaleError, match=r"an empty path|null character"):
        parse_experiment({**EXPERIMENT, "datasets": [section]})


class Rows:
    def to_parquet(self, file: str) -> None: ...


@pytest.mark.parametrize(
    ("rows", "cure"),
    [
        (Rows(), r"a Rows, .* rows.to_parquet\('rows.parquet'\)"),
        (pa.table({"a": [1]}), r"pyarrow.parquet.write_table\(rows, 'rows.parquet'\)"),
        (np.ones((2, 2)), r"numpy.savez\('rows.npz', X=X, y=y\)"),
    ],
)
def test_rows_in_memory_are_refused_with_what_to_do(
    rows: Any, cure: str, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match=cure):
        olscale.ingest(rows, tmp_path / "d")
    with pytest.raises(ParameterError, match=r"dataset is a .*, expected a path"):
        olscale.open_dataset(rows)


def test_an_experiment_of_something_else_is_one_line() -> None:
    for content in (Rows(), [[1, 2]], "experiment.toml", 7):
        with pytest.raises(
            OlscaleError,
            match=r"experiment was a \w+, expected a dictionary as of a TOML file",
        ):
            Experiment.model_validate(content)


def test_a_store_is_taken_as_its_path(tmp_path: Path) -> None:
    dataset = olscale.ingest("sklearn:iris", tmp_path / "iris")
    experiment = Experiment.model_validate(
        {
            "datasets": [{"path": dataset.path}],
            "learners": [{"name": "pa1"}],
            "protocol": {"order": "time"},
        }
    )
    store = olscale.open_store(tmp_path / "s", create=True)
    assert olscale.evaluate(experiment, store, in_process=True).store.path == store.path
