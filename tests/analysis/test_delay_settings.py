"""A setting names the column of delays; its results say which column that is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from olscale.analysis.ledger import figures
from olscale.analysis.summary import summarise
from olscale.data.ingest.ingest import ingest
from olscale.errors import StoreError
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.settings import settings
from olscale.execution.evaluate import evaluate


def experiment(path: Path, header: str) -> Experiment:
    table = np.column_stack(
        [np.random.default_rng(0).integers(0, 9, (90, 3)), np.arange(90) % 2]
    )
    np.savetxt(f"{path}.csv", table, "%g", ",", header=header, comments="")
    ingest(f"{path}.csv", path)
    content = {
        "datasets": [{"path": str(path)}],
        "learners": [{"name": "pa1"}],
        "protocol": {"delay": "late"},
    }
    return parse_experiment(content)


def test_a_setting_with_a_delay_column_finds_its_results(tmp_path: Path) -> None:
    asked = experiment(tmp_path / "claims", "x,late,z,label")
    done = evaluate(asked, tmp_path / "store", in_process=True)
    [setting] = settings(asked, []).settings
    assert figures(summarise(done.store))[setting.key]["cumulative_error"].n == 10


def test_results_of_before_positions_were_kept_are_not_taken_for_those_with_one(
    tmp_path: Path,
) -> None:
    done = evaluate(
        experiment(tmp_path / "claims", "x,late,z,label"),
        tmp_path / "store",
        in_process=True,
    )
    [*summaries] = summarise(done.store)
    older = {
        name: value
        for name, value in summaries[0].protocol.items()
        if name != "delay_position"
    }
    with pytest.raises(
        StoreError, match=r"two columns called late \(numbers 1 and None\)"
    ):
        figures([*summaries, replace(summaries[0], protocol=older)])


def test_results_on_two_columns_of_one_name_are_not_taken_for_each_other(
    tmp_path: Path,
) -> None:
    for folder, header in (("a", "x,late,z,label"), ("b", "late,x,z,label")):
        (tmp_path / folder).mkdir()
        done = evaluate(
            experiment(tmp_path / folder / "claims", header),
            tmp_path / "store",
            in_process=True,
        )
    with pytest.raises(
        StoreError,
        match=r"results on claims with two columns called late \(numbers [01] and [01]\)",
    ):
        figures(summarise(done.store))
