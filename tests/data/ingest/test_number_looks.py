"""Text that looks like numbers never becomes categories, or classes, without a word."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from olscale.data.ingest.hints import column_hints
from olscale.data.ingest.ingest import ingest
from olscale.data.ingest.number_looks import look_of

LOOKS: dict[str, Callable[[int], str]] = {
    "thousands": lambda i: f"{1000 + 37 * i:,}",
    "thousands by points": lambda i: f"{1000 + 37 * i:,}.5".replace(",", " "),
    "thousands by spaces": lambda i: f"{1000 + 37 * i:,}".replace(",", " "),
    "thousands by narrow spaces": lambda i: f"{1000 + 37 * i:,}".replace(",", "\u202f"),
    "thousands by apostrophes": lambda i: f"{1000 + 37 * i:,}".replace(",", "'"),
    "thousands by underscores": lambda i: f"{1000 + 37 * i:_}",
    "euros as in Berlin": lambda i: f"{i}.{100 + i},50 \u20ac",
    "percent": lambda i: f"{i}%",
    "percent apart": lambda i: f"{i / 4} %",
    "dollars": lambda i: f"${i}.50",
    "dollars lost": lambda i: f"-${i}.50",
    "a currency's name": lambda i: f"USD {i}",
    "an accountant's minus": lambda i: f"({i})",
    "a printer's minus": lambda i: f"\u2212{i}",
    "kilogrammes": lambda i: f"{i} kg",
    "kilogrammes beside": lambda i: f"{i}kg",
    "degrees": lambda i: f"{i}.5 \u00b0C",
    "decimal commas": lambda i: f"{i},5",
    "some are plain": lambda i: f"{i}%" if i % 3 else f"{i}",
    "a few words": lambda i: f"{i}%" if i % 5 else "none of it",
    "few numbers and a word": lambda i: str(i % 6) if i % 6 else "-",
}
OTHERS: dict[str, Callable[[int], str]] = {
    "codes": lambda i: f"A{i}",
    "flats": lambda i: f"{i % 9}{'abcd'[i % 4]}",
    "names": lambda i: f"Day {i % 9}",
    "versions": lambda i: f"1.{i % 7}.0",
    "addresses": lambda i: f"10.0.{i % 3}.{i % 5}",
    "ranges": lambda i: f"{i % 5}-{i % 5 + 5}",
    "phones": lambda i: f"555-01{i % 9:02}",
    "grades": lambda i: "ABC+-"[i % 5],
}


def rows(folder: Path, cell: Callable[[int], str], kind: str) -> Path:
    table = [(cell(i), i % 7, "uv"[i % 2]) for i in range(40)]
    if kind == "parquet":
        columns = dict(zip(("odd", "size", "y"), map(list, zip(*table, strict=True)), strict=True))
        pq.write_table(pa.table(columns), folder / "t.parquet")
        return folder / "t.parquet"
    with (folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("odd", "size", "y"), *table])
    return folder / "t.csv"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("name", LOOKS)
def test_a_column_that_looks_like_numbers_is_told_with_a_cure(
    tmp_path: Path, name: str, kind: str
) -> None:
    [hint] = column_hints(ingest(rows(tmp_path, LOOKS[name], kind), tmp_path / "d").manifest)
    assert hint.startswith("column 'odd' is text")
    assert " values look like numbers, as " in hint or "5 of its 6 values are numbers" in hint
    assert "--drop odd" in hint
    assert "\n" not in hint


@pytest.mark.parametrize("name", OTHERS)
def test_names_that_have_digits_are_no_numbers(name: str) -> None:
    assert look_of(list(dict.fromkeys(map(OTHERS[name], range(40))))) is None


def test_labels_that_look_like_numbers_are_told(tmp_path: Path) -> None:
    """A price written with commas is no target of a regression, but as many classes as prices."""
    found = ingest(rows(tmp_path, LOOKS["thousands"], "csv"), tmp_path / "d", label="odd").manifest
    assert found.task == "classification"
    [hint] = column_hints(found)
    assert hint.startswith(
        "the label, column 'odd', is text, but 40 of its 40 values look like numbers, as '1,000'; "
        "each is"
    )


def test_the_decimal_comma_is_offered_unless_it_would_misread_thousands(tmp_path: Path) -> None:
    """With ``--decimal ,`` the 1,000 of another column would be 1."""
    assert (
        "--decimal ,"
        in column_hints(
            ingest(rows(tmp_path, LOOKS["decimal commas"], "csv"), tmp_path / "d").manifest
        )[0]
    )
    with (tmp_path / "both.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [("a", "b", "y"), *((f"{i},5", f"{i + 1},000", "uv"[i % 2]) for i in range(40))]
        )
    hints = column_hints(ingest(tmp_path / "both.csv", tmp_path / "both").manifest)
    assert [hint.partition(" is ")[0] for hint in hints] == ["column 'a'", "column 'b'"]
    assert not any("--decimal" in hint for hint in hints)


LABELS: dict[str, tuple[Callable[[int], str], str]] = {
    "a word among numbers": (
        lambda i: "missing" if i == 7 else f"{i}.25",
        "is text because of 'missing', but 39 of its 40 values are numbers; each is a class now: "
        "take the rows out",
    ),
    "dates": (
        lambda i: f"2024-01-{i % 28 + 1:02}",
        "holds dates or times, 28 of them; each is a class now",
    ),
    "one that is missing": (
        lambda i: "NA" if i == 3 else "uv"[i % 2],
        "is 'NA' in some rows, which is a class now; if",
    ),
    "several": (
        lambda i: ("none", "n/a", "yes")[i % 3],
        "is 'none', 'n/a' in some rows, which are classes now; if",
    ),
    "missing beside a number": (
        lambda i: ("null", "0", "x")[i % 3],
        "is 'null' in some rows, which is a class now; if",
    ),
}


@pytest.mark.parametrize("case", LABELS)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_labels_that_are_hardly_classes_are_told(tmp_path: Path, case: str, kind: str) -> None:
    cell, told = LABELS[case]
    made = ingest(rows(tmp_path, cell, kind), tmp_path / "d", label="odd").manifest
    assert [
        hint for hint in column_hints(made) if hint.startswith(f"the label, column 'odd', {told}")
    ]
    assert set(made.classes or ()) == {cell(i) for i in range(40)}


@pytest.mark.parametrize("case", OTHERS)
def test_labels_that_are_words_are_not_told(tmp_path: Path, case: str) -> None:
    made = ingest(rows(tmp_path, OTHERS[case], "csv"), tmp_path / "d", label="odd").manifest
    assert not [hint for hint in column_hints(made) if "the label" in hint]


def test_a_label_with_points_beside_decimal_commas_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "a;y\n" + "".join(f"{i % 5};{i},5\n" for i in range(40)) + "1;31.310\n"
    )
    (hint,) = column_hints(ingest(tmp_path / "t.csv", tmp_path / "d", decimal=",").manifest)
    assert hint.startswith(
        "the label, column 'y', is text because of '31.310'; each is a class now. With --decimal "
        ", a "
    )
