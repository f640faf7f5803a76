"""Results as Python shows them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import olscale
from olscale.errors import ReportError, UnknownNameError


@pytest.fixture(scope="module")
def done(shelf: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An evaluation in a store that has another one."""
    store = tmp_path_factory.mktemp("seen") / "store"
    made = []
    for name, learners in (("first", ["pa", "pa1"]), ("second", ["pa1", "lol", "pa"])):
        experiment = olscale.Experiment(
            name=name,
            protocol={"permutations": 2},
            datasets=[{"path": str(shelf / "dense"), "label": "<dense>"}],
            learners=[{"name": learner} for learner in learners],
        )
        made.append(olscale.evaluate(experiment, store, in_process=True))
    return made


@pytest.mark.long
def test_they_are_those_of_the_experiment_in_its_order(done: Any) -> None:
    first, second = done

    assert [table.rows for table in first.results().tables()] == [("pa", "pa1")] * 2
    assert [table.rows for table in second.results().tables()] == [
        ("pa1", "lol", "pa")
    ] * 2
    assert olscale.Results(first.store).tables()[0].rows == ("pa", "pa1", "lol")
    assert len(olscale.Results(first.store, ids=())) == 0


def test_they_show_themselves_as_text_and_as_html(done: Any) -> None:
    results = done[1].results()

    assert repr(results).startswith("Test error (%), permuted order, seed 0\n\nlearner")
    assert "<dense>" in repr(results)
    html = results._repr_html_()
    assert html.count("<table>") == 2
    assert "&lt;dense&gt;" in html
    assert '<td class="best">' in html
    assert "Updates, permuted" in repr(done[1].results("updates"))
    assert "ids" not in repr(done[1])


def test_they_can_be_narrowed(done: Any) -> None:
    results = done[1].results()

    assert {row["metric"] for row in results.select("updates")} == {"updates"}
    assert [table.rows for table in results.select(learner="lol").tables()] == [
        ("lol",)
    ] * 2
    assert (
        len(results.select(dataset="<dense>"))
        == len(results.select(dataset="dense"))
        == len(results)
    )
    with pytest.raises(UnknownNameError, match="did you mean 'updates'"):
        results.select("update")


def test_rows_are_what_the_command_prints_as_json(done: Any) -> None:
    import json

    from click.testing import CliRunner

    from olscale.cli import olscale as command

    printed = (
        CliRunner()
        .invoke(command, ["results", done[0].store.path, "--format", "json"])
        .stdout
    )
    assert list(olscale.Results(done[0].store.path)) == json.loads(printed)


def test_a_frame_has_a_row_for_each(done: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pandas is not installed, a stand-in that keeps what it is given."""
    fake = ModuleType("pandas")
    fake.DataFrame = list  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", fake)

    assert done[0].results().to_pandas() == list(done[0].results())


def test_without_pandas_it_says_what_to_type(
    done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(ReportError, match="pip install pandas"):
        done[0].results().to_pandas()
