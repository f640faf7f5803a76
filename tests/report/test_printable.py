"""Hostile names and reasons, in every form in which they are shown."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from olscale.analysis import summarise
from olscale.cli import olscale as command
from olscale.cli.progress import LineProgress, TerminalProgress
from olscale.errors import OlscaleError
from olscale.execution.progress import LiveProgress
from olscale.report import as_csv, latex, plain, print_rich, tables
from olscale.report.markdown import markdown_table
from olscale.results import (
    PlannedDataset,
    PlannedLearner,
    Store,
    open_store,
    write_plan,
)

ESC = "\x1b"
BEL = "\x07"
TURN = "\u202e"
EVIL = f"=1+[red]{ESC}[31m{BEL}\n{TURN}|$x_$"
WIDE = "数字"
CONTROLS = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]"
)


@pytest.fixture
def store(tmp_path: Path, make_record: Any) -> Store:
    """A store whose dataset, learner, label, experiment and reason are all hostile, beside a harmless learner."""
    store = open_store(tmp_path / "store", create=True)
    ids = []
    for name, of in ((EVIL, WIDE), ("-pa", "plain"), ("cw", "")):
        result: dict[str, Any] = {"outcome": "diverged", "reason": f"row 3\n{EVIL}"}
        if name != "cw":
            result = {
                "metrics": {"cumulative_error": 0.1},
                "segments": [(EVIL, 5, 1), ("b", 5, 0)],
            }
            result |= {
                "curve_rows": np.array([5, 10]),
                "curve_mistakes": np.array([1, 1]),
            }
        record = make_record(dataset=EVIL, learner=name, **result)
        store.write(record)
        ids.append(record.id)
        learner = PlannedLearner(name, "1", {}, (0,), EVIL if of == "plain" else of)
        write_plan(
            store,
            f"{EVIL}{of}",
            [record.id],
            (),
            [PlannedDataset(EVIL, "f" * 64)],
            [learner],
        )
    return store


def run(*args: str) -> Any:
    return CliRunner().invoke(command, list(args))


@pytest.mark.parametrize(
    "words",
    [
        ["results"],
        ["results", "--format", "latex"],
        ["results", "--format", "json"],
        ["results", "--format", "csv"],
        ["results", "--curve", "segment_error"],
        ["results", "--curve", "segment_error", "--format", "csv"],
        ["status"],
    ],
    ids=" ".join,
)
def test_no_control_character_is_printed(store: Store, words: list[str]) -> None:
    done = run(words[0], store.path, *words[1:])

    assert done.exit_code == 0, done.output
    assert "x1b" in done.stdout or "u001b" in done.stdout
    assert not CONTROLS.search(done.stdout)


def test_rows_stay_lines_and_columns_stand_below_each_other(store: Store) -> None:
    [table] = tables(summarise(store))
    text = plain([table])
    lines = text.splitlines()

    assert len(lines) == 6 + len(table.rows) + len(table.notes) + len(table.advice)
    row = next(line for line in lines if line.startswith(WIDE))
    other = next(
        line
        for line in lines
        if "plain" not in line and line.startswith("=1+") and "10.00" in line
    )
    # Each of the two characters takes two columns of the terminal.
    assert row.index("10.00") + 2 == other.index("10.00")


def test_markup_in_a_name_is_no_markup(store: Store) -> None:
    out = io.StringIO()
    print_rich(tables(summarise(store)), file=out, columns=300)

    plain_text = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert "[red]" in plain_text
    assert not CONTROLS.search(plain_text)


def test_csv_cells_are_no_formulas_and_numbers_stay_numbers(
    store: Store, make_record: Any
) -> None:
    store.write(make_record(learner="r", metrics={"r2": -0.5}))
    lines = list(csv.DictReader(io.StringIO(as_csv(summarise(store)))))

    assert all(
        cell[:1] not in "=+@" or not cell for row in lines for cell in row.values()
    )
    assert {row["learner"] for row in lines if row["learner"].endswith("pa")} == {
        "'-pa"
    }
    assert [row["mean"] for row in lines if row["metric"] == "r2"] == ["-0.5"]
    assert next(row["dataset"] for row in lines).startswith(
        "'=1+[red]\\x1b[31m\\x07\\n\\u202e"
    )


def test_json_holds_the_names_themselves(store: Store) -> None:
    found = json.loads(run("results", store.path, "--format", "json").stdout)

    assert {row["dataset"] for row in found} == {EVIL}


def test_latex_has_no_argument_where_a_row_begins(store: Store) -> None:
    text = latex(tables(summarise(store)))
    [table] = tables(summarise(store))

    assert not re.search(r"(\\\\|rule)\s*[\[*]", text)
    assert r"\textbar{}\$x\_\$" in text
    assert len(re.findall(r" \\\\$", text, re.M)) == 1 + len(table.rows)
    assert not re.search(r"(?<!\\)[_#]", text)
    starred = latex([type(table)("t", ("[c",), ("[red]", "*b"), table.entries[:2], ())])
    assert "{[}red{]}" in starred
    assert "{*}b" in starred


@pytest.mark.long
def test_a_page_and_its_figures_are_whole(store: Store, tmp_path: Path) -> None:
    done = run("report", store.path, "--out", str(tmp_path / "out"))

    assert done.exit_code == 0, done.output
    page = (tmp_path / "out" / "index.html").read_text()
    assert not CONTROLS.search(page)
    assert "row 3\\n=1+[red]\\x1b" in page
    files = list((tmp_path / "out" / "figures").glob("*.svg"))
    assert len(files) == 3
    for file in files:
        ElementTree.parse(file)  # no XML may hold a control character
        assert not CONTROLS.search(file.read_text())


def test_markdown_keeps_its_columns() -> None:
    lines = markdown_table([["a", "b"], ["x|y\nz", "<script>"]]).splitlines()

    assert lines == ["| a | b |", "| --- | --- |", "| x\\|y\\nz | &lt;script> |"]


def test_errors_are_one_printable_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(OlscaleError(f"bad{ESC}[2J\nname{TURN}")) == "bad\\x1b[2J name\\u202e"
    done = run("results", f"no{ESC}[2Jstore")
    assert done.exit_code == 1
    assert not CONTROLS.search(done.stderr)
    usage = run("results", "x", "--format", f"a{ESC}[2J")
    assert usage.exit_code == 2
    assert not CONTROLS.search(usage.stderr)


def test_progress_is_printable() -> None:
    for kind in (LineProgress, TerminalProgress):
        out = io.StringIO()
        with kind(out) as display:
            progress = LiveProgress(display)
            progress.start(EVIL, 1, 0, {})
            progress.note(f"left out {EVIL}")
        assert "[red]\\x1b[31m\\x07" in out.getvalue()
        assert not CONTROLS.search(
            out.getvalue().replace("\x1b[?25h", "").replace("\x1b[?25l", "")
        )


def test_lists_of_datasets_take_names_as_they_are(tmp_path: Path) -> None:
    from olscale.data.ingest.ingest import ingest

    np.savez(tmp_path / "a.npz", X=np.eye(4), y=np.array([0, 1, 0, 1]))
    ingest([str(tmp_path / "a.npz")], str(tmp_path / "sets" / f"[red]a{ESC}[31m"))

    done = run("datasets", "list", str(tmp_path / "sets"))

    assert done.exit_code == 0
    assert "[red]a\\x1b[31m" in done.stdout
    shown = run("datasets", "show", str(tmp_path / "sets" / f"[red]a{ESC}[31m"))
    assert "[red]a\\x1b[31m" in shown.stdout
    assert not CONTROLS.search(done.stdout + shown.stdout)
