"""``olscale reproduce``: runs, resumes, prints; a page of Markdown; one line for a fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from olscale.analysis.published import PublishedCell
from olscale.cli import olscale
from olscale.data.catalogue.entries import CatalogueEntry
from olscale.evaluation import pipelines

MAIN = """
[protocol]
permutations = 2
[[datasets]]
name = "ring"
[[datasets]]
name = "gone"
optional = true
[[learners]]
name = "pa1"
label = "PA"
tune = { C = [0.1, 1.0] }
[[learners]]
name = "bsgd9"
label = "NEW"
optional = true
[tuning]
folds = 2
"""
CAUSES = """
[protocol]
permutations = 2
passes = [1, 2]
[[datasets]]
name = "ring"
transforms = ["standardize"]
[[learners]]
name = "pa1"
label = "PA"
params = { C = [0.1, 1.0] }
"""


@pytest.fixture
def tiny(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_catalogue: dict[str, Any]
) -> Path:
    """Put a pipeline `tiny` with a published table of our own in place of the real ones; return where its store is to be."""
    folder = tmp_path / "pipelines"
    folder.mkdir()
    (folder / "tiny.toml").write_text(MAIN)
    (folder / "tiny-quick.toml").write_text(
        MAIN.replace("permutations = 2", "permutations = 1")
    )
    (folder / "tiny-causes.toml").write_text(CAUSES)
    monkeypatch.setattr(pipelines, "FOLDERS", (folder,))
    cells = [
        PublishedCell("tiny", "Table 1", dataset, learner, "test_error", mean, 0.001)
        for dataset, learner, mean in (
            ("ring", "PA", 0.9),
            ("gone", "PA", 0.1),
            ("ring", "NEW", 0.1),
        )
    ]
    monkeypatch.setattr("olscale.analysis.published.read_published", lambda: cells)
    return tmp_path / "store"


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(
        olscale, ["reproduce", *map(str, args)], prog_name="olscale"
    )


def test_it_runs_prints_and_resumes(tiny: Path) -> None:
    done = run("tiny", "--store", tiny, "--in-process")
    assert done.exit_code == 0, done.output
    assert "tiny: 6 of 6 runs computed" in done.stderr
    assert "tiny-causes: 8 of 8 runs computed" in done.stderr
    assert "tiny, Table 1: test error (%)" in done.stdout
    assert (
        "gone: data not present: its owner keeps it; with a copy of your own: `olscale ingest "
        "FILES HOME/gone`" in done.stdout
    )
    assert (
        "tiny: 3 published cells: 1 better; 1 data absent; 1 method absent"
        in done.stdout
    )
    assert (
        "nothing tried explains it (4 settings: transforms standardize, C 0.1 | 1, passes 1 | 2)"
        in done.stdout
    )
    again = run("tiny", "--store", tiny, "--in-process")
    assert "tiny: 0 of 6 runs computed" in again.stderr
    assert (
        again.stdout == done.stdout == run("tiny", "--store", tiny, "--no-run").stdout
    )


def test_quick_runs_the_short_form_alone(tiny: Path) -> None:
    done = run("tiny", "--store", tiny, "--in-process", "--quick")
    assert "tiny-quick: 5 of 5 runs computed" in done.stderr
    assert "causes: " not in done.stderr
    assert "nothing tried yet" in done.stdout


def test_the_page_is_the_same_each_time(tiny: Path, tmp_path: Path) -> None:
    run("tiny", "--store", tiny, "--in-process")
    pages = []
    for name in ("a.md", "b.md"):
        assert (
            run(
                "tiny",
                "--store",
                tiny,
                "--no-run",
                "--markdown",
                tmp_path / "docs" / name,
            ).exit_code
            == 0
        )
        pages.append((tmp_path / "docs" / name).read_text())
    assert pages[0] == pages[1]
    assert (
        "Made by `olscale reproduce tiny --store STORE --no-run --markdown FILE`"
        in pages[0]
    )
    assert "| Table 1 | ring | PA | 90.00 ± 0.10 |" in pages[0]
    assert pages[0].count("= reproduced: within 2 joint standard deviations") == 1
    assert pages[0].index("- Means and sample standard deviations") < pages[0].index(
        "### "
    )
    assert "C (2 values) on 2 random halves" in pages[0]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (
            ["tinny"],
            1,
            "unknown pipeline 'tinny'; did you mean 'tiny'? there are: tiny",
        ),
        (["tiny", "--no-run"], 1, "there is no metrics store at"),
        (["tiny", "--workers", "2", "--in-process"], 2, "exclude each other"),
        ([], 2, "Missing argument 'NAME...'"),
    ],
)
def test_a_fault_is_one_line_and_makes_no_store(
    tiny: Path, options: list[str], code: int, said: str
) -> None:
    done = run(*options, "--store", tiny)
    assert done.exit_code == code
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not tiny.exists()


STREAMS = """
datasets = [
  { name = "turning", seed = [0, 1, 2, 3, 4] },
  { name = "turning", seed = [0, 1, 2, 3, 4], protocol = { order = "time", delay = 9 } },
]
[protocol]
order = "time"
[[learners]]
name = "majority"
[[learners]]
name = "knn-window"
[[learners]]
name = "pa1"
datasets = ["turning-seed-2"]
"""


def test_seeds_of_a_stream_are_one_row_with_defeats_first(
    tiny: Path, tmp_path: Path, small_catalogue: dict[str, Any]
) -> None:
    small_catalogue["turning"] = CatalogueEntry(
        name="turning",
        title="t",
        what="a rule that turns",
        rows={"train": 300},
        columns=2,
        classes=2,
        generated={"generator": "rotating-xor", "seed": 0, "rows": 300},
    )
    (tmp_path / "pipelines" / "streams.toml").write_text(STREAMS)
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n<!-- olscale reproduce streams -->\nold\n<!-- end -->\n\n"
        "<!-- olscale reproduce streams, table 1 -->\n<!-- end -->\n"
    )
    done = run("streams", "--store", tiny, "--in-process", "--markdown", page)
    assert done.exit_code == 0, done.output
    assert "streams: 22 of 22 runs computed" in done.stderr
    text = page.read_text()
    assert text.startswith(
        "# A page\n\n<!-- olscale reproduce streams -->\n\n### Where"
    )
    assert text.endswith("\n\n<!-- end -->\n")
    assert "old" not in text
    rows = [line.split(" | ") for line in text.splitlines() if "turning" in line]
    # Defeats, means and differences, and defeats once more in a place of their own.
    assert [row[0] for row in rows] == ["| turning", "| turning, 9 rows late"] * 4
    assert rows[0] == rows[6]
    # A rule that turns has no majority class: neighbours win on each seed.
    assert rows[0][1] == "knn-window"
    assert rows[0][5] == "5 of 5"
    assert rows[2][2].endswith("<")
    assert "(1)" in rows[2][3]
    assert rows[4][1] == f"{rows[0][4]}, {rows[0][6].rstrip(' |')}"
    run("streams", "--store", tiny, "--no-run", "--markdown", page)
    assert page.read_text() == text
