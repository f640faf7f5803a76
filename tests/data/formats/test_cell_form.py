"""Quotes, backslashes and words for no value: what Python's csv and pandas write is read back, by either way of reading."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.data.formats import ReadOptions
from olscale.data.formats.csv import read_table
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError, ParameterError
from tests.fuzz.tables import outcome

PARTS = st.sampled_from(
    [
        *"abN0n-?,;|",
        "\t",
        " ",
        '"',
        '""',
        "'",
        "\\",
        "\n",
        "\r\n",
        "é",
        "\u2028",
        "NA",
        "\\N",
    ]
)
CELLS = st.lists(PARTS, max_size=6).map("".join)
BLOCKS = st.sampled_from([None, 16, 64, 1 << 20])

Rows = list[list[str]]


def written(rows: Rows, **form: Any) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n", **form).writerows(rows)
    return text.getvalue()


def cells_of(path: Path, block_bytes: int | None, columns: int, **options: Any) -> Rows:
    """Return the text cells of all columns but the last, ``?`` for none."""
    found = []
    for column in range(columns):
        given = ReadOptions(
            header=False, segments=f"x{column}", chunk_rows=3, **options
        )
        read = outcome(path, "csv", given, block_bytes)
        assert not isinstance(read[-1], tuple), read[-1]
        found.append([cell for cells in read[2:-1:5] for cell in cells])
    return [list(row) for row in zip(*found, strict=True)]


def word(cell: str, missing: tuple[str, ...] = ()) -> str:
    """Return a cell of text as it is read."""
    bare = cell.strip()
    return "?" if bare.lower() in ("", "na", "?") or bare in missing else bare


def with_text(rows: Rows) -> Rows:
    """Return rows whose columns are text, and whose last cell is a label."""
    first = ["word"] * len(rows[0])
    return [[*row, str(i % 2)] for i, row in enumerate([first, *rows])]


@st.composite
def tables(draw: st.DrawFn, without: str = "") -> Rows:
    width = draw(st.integers(1, 2))
    cells = CELLS.filter(lambda cell: not set(cell) & set(without))
    rows = draw(
        st.lists(
            st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=12
        )
    )
    return with_text(rows)


FORMS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "doubled quotes": ({}, {}),
    "all in quotes": ({"quoting": csv.QUOTE_ALL}, {}),
    "backslashes in quotes": (
        {"doublequote": False, "escapechar": "\\", "quoting": csv.QUOTE_ALL},
        {"escape": "backslash"},
    ),
    "backslashes alone": (
        {"quoting": csv.QUOTE_NONE, "escapechar": "\\", "quotechar": None},
        {"escape": "backslash", "quoting": "none"},
    ),
    "backslashes alone, quotes allowed": (
        {"quoting": csv.QUOTE_NONE, "escapechar": "\\"},
        {"escape": "backslash"},
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
@given(rows=tables(), delimiter=st.sampled_from(",\t;|"), block=BLOCKS)
@settings(max_examples=30, deadline=None)
def test_what_pythons_csv_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    form: str,
    rows: Rows,
    delimiter: str,
    block: int | None,
) -> None:
    written_as, read_as = FORMS[form]
    # not every Python writes a backslash before a return
    if written_as.get("quoting") == csv.QUOTE_NONE:
        rows = [[cell.replace("\r", "") for cell in row] for row in rows]
    path = tmp_path_factory.mktemp("t", numbered=True) / "t.csv"
    text = written(rows, delimiter=delimiter, **written_as)
    path.write_bytes(text.encode())
    found = cells_of(path, block, len(rows[0]) - 1, delimiter=delimiter, **read_as)
    assert found == [[word(cell) for cell in row[:-1]] for row in rows]


@pytest.mark.long
@given(rows=tables(without="\t\n\r"), block=BLOCKS)
@settings(max_examples=40, deadline=None)
def test_without_quoting_cells_are_what_is_between_tabs(
    tmp_path_factory: pytest.TempPathFactory, rows: Rows, block: int | None
) -> None:
    path = tmp_path_factory.mktemp("t", numbered=True) / "t.tsv"
    path.write_bytes("".join("\t".join(row) + "\n" for row in rows).encode())
    options = {"delimiter": "\t", "quoting": "none", "missing": ("-", "N,", "a\\")}
    found = cells_of(path, block, len(rows[0]) - 1, **options)
    assert found == [
        [word(cell, ("-", "N,", "a\\")) for cell in row[:-1]] for row in rows
    ]
    theirs = pandas.read_csv(
        path,
        sep="\t",
        quoting=3,
        header=None,
        dtype=str,
        na_values=["-", "N,", "a\\"],
        skipinitialspace=False,
    )
    exact = theirs.iloc[:, :-1].fillna("?").map(word)
    ours = [[word(cell, ("-", "N,", "a\\")) for cell in row[:-1]] for row in rows]
    # pandas has more words for no value
    kept = [[cell not in ("n", "?") for cell in row] for row in ours]
    assert np.array(ours)[kept].tolist() == exact.to_numpy()[kept].tolist()


NUMBERS = st.sampled_from(
    [
        "1.5",
        "-999",
        "-999.0",
        " -9.99e2",
        "0",
        "-",
        "#N/A",
        "",
        "-99",
        "7",
        '"-999"',
        '"-"',
    ]
)


@pytest.mark.long
@given(
    columns=st.lists(st.lists(NUMBERS, min_size=9, max_size=9), min_size=1, max_size=3),
    null=st.booleans(),
    block=BLOCKS,
)
@settings(max_examples=40, deadline=None)
def test_numbers_that_mean_no_value_do_so_by_their_value(
    tmp_path_factory: pytest.TempPathFactory,
    columns: Rows,
    null: bool,
    block: int | None,
) -> None:
    if null:
        columns = [
            [cell.replace("-", r"\N") if cell == "-" else cell for cell in column]
            for column in columns
        ]
    rows = [[*row, str(i % 2)] for i, row in enumerate(zip(*columns, strict=True))]
    path = tmp_path_factory.mktemp("t", numbered=True) / "t.csv"
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    missing = ("-999", "-", "#N/A")
    escape = "backslash" if null else None
    options = ReadOptions(header=False, delimiter=",", missing=missing, escape=escape)
    arrays = outcome(path, "csv", options, block)[0]
    ours = np.frombuffer(arrays[0][2]).reshape(arrays[0][1])
    theirs = pandas.read_csv(
        path, header=None, na_values=[*missing, r"\N"], skipinitialspace=True
    )
    np.testing.assert_array_equal(ours, theirs.iloc[:, :-1].to_numpy(dtype=np.float64))


@pytest.mark.parametrize("block", [None, 1 << 20])
def test_backslashes_are_read_as_mysql_writes_them(
    tmp_path: Path, block: int | None
) -> None:
    path = tmp_path / "t.tsv"
    lines = [
        ["word", "one", "0"],
        [r"two\nlines", r"\N", "1"],
        [r"a\tb", "2", "1"],
        [r"\N", "3", "0"],
        [r"\\N", "4", "0"],
        ["split\\\nin two", r"\N ", "1"],
        [r"\"5\" disk", "6", "0"],
        [r"C:\\new", r"7\N", "1"],
        [r"c\ab", "8", "1"],
        ["end", "9", "0"],
    ]
    path.write_text("".join("\t".join(line) + "\n" for line in lines))
    found = cells_of(path, block, 2, delimiter="\t", escape="backslash")
    words = [
        "word",
        "two\nlines",
        "a\tb",
        "?",
        "\\N",
        "split\nin two",
        '"5" disk',
        "C:\\new",
        "cab",
        "end",
    ]
    assert [row[0] for row in found] == words
    assert [row[1] for row in found] == [
        "one",
        "?",
        "2",
        "3",
        "4",
        "?",
        "6",
        "7N",
        "8",
        "9",
    ]


OPEN = (
    'ham\tok lar\nspam\tfree entry\nham\t"Hello, see you\nspam\tWin cash\nham\tfine by '
    'me"\nham\tok\n'
)


@pytest.mark.parametrize("lines_before", [0, 3000])
@pytest.mark.parametrize("drop", [(), ("1",)])
def test_a_quote_that_swallows_rows_is_noted_with_its_line(
    tmp_path: Path, lines_before: int, drop: tuple[str, ...]
) -> None:
    """Also by the loop, and in a column that is left out."""
    path = tmp_path / "t.tsv"
    path.write_text("ham\tok\t1\n" * lines_before + OPEN.replace("\n", "\t1\n"))
    first = lines_before + 3
    (note,) = notes_of(path, label=0, drop=drop)
    cure = "--quoting none if quotes are part of the text"
    assert (
        note
        == f"{path}: the quote that opens a cell in line {first} closes in line {first + 2}; {cure}"
    )
    assert notes_of(path, label=0, drop=drop, quoting="none") == []


def notes_of(path: Path, **options: Any) -> list[str]:
    given = ReadOptions(**options)
    return [note for batch in read_table(str(path), given) for note in batch.notes]


@pytest.mark.parametrize("lines_before", [0, 3000])
def test_a_tab_in_quotes_is_noted_and_a_comma_is_not(
    tmp_path: Path, lines_before: int
) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(
        "ham\tok\n" * lines_before
        + 'ham\t"so\tlong"\nspam\t"a ""b"""\nham\t"so\tlong"\n'
    )
    (note,) = notes_of(path, label=0, delimiter="\t")
    assert note.startswith(
        f"{path}, line {lines_before + 1}: a cell in quotes holds a tab; --quoting none"
    )
    path.write_text(
        "ham,ok\n" * lines_before + 'ham,"so, long"\nspam,"a ""b"""\nham,5" disk\n'
    )
    assert notes_of(path, label=0, delimiter=",") == []


def test_single_quotes_around_all_cells_of_a_column_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,color,y\n1,'red',0\n2,'dark blue',1\n")
    (note,) = notes_of(path)
    assert (
        "the cells of column 'color' stand between single quotes, which are part of them"
        in note
    )
    path.write_text("x,color,y\n1,'red',0\n2,it's,1\n")
    assert notes_of(path) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('"x" "y"\n1.5 "a"\n2 "b"\n', "quotes are part of cells where white space is"),
        (
            'x, "y"\n1, "a"\n2, "b"\n',
            "a blank before a quote makes it part of the cell",
        ),
    ],
)
def test_quotes_that_enclose_no_cell_are_noted(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    (note,) = notes_of(path)
    assert problem in note
    assert notes_of(path, quoting="none") == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            'a\t1\n"b\t2\nc\t3\n',
            "line 2: cannot be split into cells: the quote that opens one is not closed;",
        ),
        ('a\t1\n"b" c\t2\n', "line 2: cannot be split into cells ("),
        (
            'a\t1\n"b\n2\t3"\t2\t4\n',
            "as in the first row; the quote that opens a cell in line 2 closes in line 3",
        ),
    ],
)
def test_an_error_of_quotes_says_what_to_do(
    tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(text)
    with pytest.raises(FormatError) as fault:
        notes_of(path, delimiter="\t", header=False)
    assert told in str(fault.value)
    assert "--quoting none if quotes are part of the text" in str(fault.value)


def test_the_form_of_cells_is_told_to_the_guesses_of_delimiter_and_header(
    tmp_path: Path,
) -> None:
    """A comma behind a backslash ends no cell, and a word for no value above numbers names no column."""
    path = tmp_path / "t.csv"
    path.write_text("a\\, b|-|0\nc|1.5|1\nd\\, e\\\nf|2.5|1\n")
    dataset = ingest(path, tmp_path / "d", escape="backslash", missing="-")
    table = dataset.manifest.table
    assert table is not None
    assert (table.delimiter, table.header, table.escape, table.missing) == (
        "|",
        False,
        "backslash",
        ("-",),
    )
    assert dataset.manifest.feature_names == ("x1", "x0=a, b", "x0=c", "x0=d, e\nf")
    assert dataset.manifest.splits["train"].missing == {"x1": 1}


def test_a_label_that_means_no_value_is_an_error_in_either_way(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for rows in (3, 3000):
        for label in ("-1", "0"):
            path.write_text("1,0,0.5\n0,1,1.5\n" * rows + f"1,{label},2.5\n")
            with pytest.raises(
                FormatError,
                match=f"line {1 if label == '0' else 2 * rows + 1}: the label is missing",
            ):
                list(
                    read_table(
                        str(path), ReadOptions(label=1, missing=(label,), header=False)
                    )
                )


def test_what_is_no_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,2\n3,4\n")
    for options in (
        {"quoting": "all"},
        {"escape": "\\"},
        {"missing": ","},
        {"missing": [""]},
    ):
        with pytest.raises(ParameterError, match=next(iter(options))):
            ingest(path, tmp_path / "d", **options)
    with pytest.raises(ParameterError, match="leave one of them out"):
        ingest(path, tmp_path / "d", escape="backslash", delimiter="\\")
    (tmp_path / "t.svm").write_text("1 1:1\n")
    for options in ({"quoting": "none"}, {"escape": "backslash"}, {"missing": "-"}):
        with pytest.raises(
            FormatError,
            match=f"--{next(iter(options))} is for CSV and TSV; leave it out",
        ):
            ingest(tmp_path / "t.svm", tmp_path / "d", **options)
