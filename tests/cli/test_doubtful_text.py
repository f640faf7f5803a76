"""Columns of text that may be meant as numbers or dates are named, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from olscale.cli.doubtful_text import doubtful_text_lines
from olscale.data.ingest.ingest import ingest


def lines_of(tmp_path: Path, rows: str, **options: str) -> dict[str, str]:
    """Return the lines on a table of a column `a`, whose cells `rows` holds, and a label."""
    text = "".join(f"{cell};{i % 2}\n" for i, cell in enumerate(rows.split("|")))
    (tmp_path / "t.csv").write_text(f"a;y\n{text}", encoding="utf-8")
    made = ingest(tmp_path / "t.csv", tmp_path / f"made-{len(options)}", **options)  # type: ignore[arg-type]
    return dict(doubtful_text_lines(made.manifest))


def test_the_option_that_is_named_makes_numbers(tmp_path: Path) -> None:
    said = lines_of(tmp_path, "1|2.5|n.d.|4|-")["mixed"]
    assert said == (
        "numbers are text beside a word: a for '-', 'n.d.'; --missing=-,n.d. makes numbers of them"
    )
    assert lines_of(tmp_path, "1|2.5|n.d.|4|-", missing="-,n.d.") == {}


@pytest.mark.parametrize(
    ("cells", "title"),
    [
        ("1,200|2,300|12", "marked"),
        ("12%|13%|14%", "marked"),
        ("\u22121|2|3", "marked"),
        ("$ 1,200.50|$900|$7", "marked"),
        ("02.01.2020|03.01.2020", "dates"),
        ("12/31/2020 10:00 AM|11/30/20", "dates"),
        ("Jan 2 2020|Feb 13, 2021", "dates"),
    ],
)
def test_numbers_and_dates_that_are_written_otherwise_are_named(
    tmp_path: Path, cells: str, title: str
) -> None:
    said = lines_of(tmp_path, cells, decimal=".")
    assert [*said] == [title]
    assert any(repr(cell) in said[title] for cell in cells.split("|"))


@pytest.mark.parametrize("cells", ["red|green|3", "2020-01-31|2020-02-01", "1|2|3"])
def test_words_iso_dates_and_numbers_are_not(tmp_path: Path, cells: str) -> None:
    assert lines_of(tmp_path, cells) == {}
