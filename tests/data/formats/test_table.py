"""CSV and TSV: what is a header, a number, a category; and every fault named with its line."""

from __future__ import annotations

import csv as stdlib_csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import CSR, to_dense
from olscale.data.formats import ReadOptions, find_format
from olscale.data.formats.base import Batch
from olscale.data.formats.csv import read_table
from olscale.errors import FormatError, UnknownNameError


def read(tmp_path: Path, text: str, **options: object) -> list[Batch]:
    path = tmp_path / "table"
    path.write_text(text, newline="")
    return list(read_table(str(path), ReadOptions(**options)))


def test_numbers_are_dense_and_the_last_column_is_the_label(tmp_path: Path) -> None:
    (batch,) = read(tmp_path, "a,b,class\r\n1,2.5,1\r\n-1e3,,0")
    np.testing.assert_array_equal(batch.X, [[1, 2.5], [-1000, np.nan]])
    assert batch.target.tolist() == [1, 0]
    assert batch.feature_names == ("a", "b")
    assert batch.columns == 2


@pytest.mark.parametrize("label", ["b", 1, "1", -2, "-2"])
def test_the_label_is_named_or_counted(tmp_path: Path, label: str | int) -> None:
    (batch,) = read(tmp_path, "a,b,c\n1,2,3\n", label=label)
    assert batch.target.tolist() == [2]
    assert batch.feature_names == ("a", "c")


def test_a_label_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"clas.*did you mean 'class'"):
        read(tmp_path, "a,class\n1,2\n", label="clas")
    with pytest.raises(FormatError, match="no column 7"):
        read(tmp_path, "a,class\n1,2\n", label=7)


def test_values_of_the_first_batch_are_sorted_and_later_ones_are_appended(
    tmp_path: Path,
) -> None:
    text = "5,tcp,S,0,bad\n0,udp,?,1,good\n7,tcp,R,nan,bad\n"
    names_by_rows = {
        1: ("x0", "x3", "x1=tcp", "x2=S", "x1=udp", "x2=R"),
        2: ("x0", "x3", "x1=tcp", "x1=udp", "x2=S", "x2=R"),
        9: ("x0", "x3", "x1=tcp", "x1=udp", "x2=R", "x2=S"),
    }
    for chunk_rows, names in names_by_rows.items():
        batches = read(tmp_path, text, chunk_rows=chunk_rows)
        assert all(isinstance(batch.X, CSR) for batch in batches)
        assert batches[-1].feature_names == names
        dense = np.vstack([to_dense(batch.X, 6) for batch in batches])
        in_order = dense[:, [names.index(name) for name in names_by_rows[1]]]
        np.testing.assert_array_equal(
            in_order, [[5, 0, 1, 1, 0, 0], [0, 1, 0, 0, 1, 0], [7, np.nan, 1, 0, 0, 1]]
        )
        assert [label for batch in batches for label in batch.target] == [
            "bad",
            "good",
            "bad",
        ]
        for batch in batches:
            for i in range(len(batch)):
                assert (
                    np.diff(batch.X.indices[batch.X.indptr[i] : batch.X.indptr[i + 1]])
                    > 0
                ).all()


def test_columns_known_so_far_grow_from_batch_to_batch(tmp_path: Path) -> None:
    batches = read(tmp_path, "a,1\nb,2\n", chunk_rows=1)
    assert [batch.columns for batch in batches] == [1, 2]
    assert [batch.feature_names for batch in batches] == [("x0=a",), ("x0=a", "x0=b")]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b\n1,2\n", True),
        ("1,2\n3,4\n", False),
        ("x,1\ny,2\n", False),  # text and numbers stay in their columns
        ("color,2020\n1,2\n", True),
        ("p,x\ne,x\np,y\n", False),  # all text, but cells come back
        ("class,shape\ne,x\np,y\n", True),
        ("?,1\n2,3\n", False),
        ("a,a\nb,c\n", False),  # no two columns share a name
    ],
)
def test_a_header_is_told_from_a_row(tmp_path: Path, text: str, header: bool) -> None:
    rows = text.count("\n")
    assert sum(map(len, read(tmp_path, text))) == rows - header
    assert sum(map(len, read(tmp_path, text, header=False))) == rows


def test_a_header_can_be_forced(tmp_path: Path) -> None:
    (batch,) = read(tmp_path, "1,2\n3,4\n", header=True)
    assert batch.feature_names == ("1",)
    assert len(batch) == 1


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", " ", "   "])
def test_the_delimiter_is_found_out(tmp_path: Path, delimiter: str) -> None:
    (batch,) = read(
        tmp_path, "".join(delimiter.join(row) + "\n" for row in ("123", "456"))
    )
    np.testing.assert_array_equal(batch.X, [[1, 2], [4, 5]])


def test_quoted_cells_may_hold_delimiters_and_newlines(tmp_path: Path) -> None:
    (batch,) = read(tmp_path, 'name,y\n"a,""b""\nc",1\nd,2\n')
    assert batch.feature_names == ('name=a,"b"\nc', "name=d")


def test_blank_lines_and_byte_order_mark_are_skipped(tmp_path: Path) -> None:
    (batch,) = read(tmp_path, "\ufeffa,b\n\n1,2\n\n3,4\n\n")
    assert batch.feature_names == ("a",)
    assert len(batch) == 2


FAULTS = {
    "1,2\n3,4\n5\n": (3, "has 1 cells, expected 2"),
    "1,2\n\n3,4,5\n": (3, "has 3 cells, expected 2"),
    "1,2\n3,?\n": (2, "label is missing"),
    "1,x\n3,\n": (2, "label is missing"),
    '1,2\n"a\nb",3\n"c\n': (4, "cannot be split"),
    "one\ntwo\n": (1, "do not split into equally many cells"),
    "1,2\n3,\0\n": (2, "holds a NUL byte, expected UTF-8 text"),
    '1,2\n3,"a \\"b\\" c"\n': (
        2,
        r"cannot be split into cells .*; a quote within quotes is written twice",
    ),
    "sep=;\n1;2\n3;4;5\n": (3, "has 3 cells, expected 2"),
}


@pytest.mark.parametrize("text", FAULTS)
def test_faults_are_named_with_their_line(tmp_path: Path, text: str) -> None:
    line, problem = FAULTS[text]
    with pytest.raises(FormatError, match=problem) as caught:
        read(tmp_path, text)
    assert caught.value.line == line


@pytest.mark.parametrize("chunk_rows", [3, 100_000])
def test_text_that_shows_up_late_in_a_numeric_column_is_named(
    tmp_path: Path, chunk_rows: int
) -> None:
    with pytest.raises(FormatError, match="column 'x0' is 'abc'") as caught:
        read(tmp_path, "1,2\n" * 3000 + "abc,3\n", chunk_rows=chunk_rows)
    assert caught.value.line == 3001
    with pytest.raises(FormatError, match="label 'x1' is 'abc'") as caught:
        read(tmp_path, "1,2\n" * 3000 + "4,abc\n", chunk_rows=chunk_rows)
    assert caught.value.line == 3001


def test_a_row_split_wrongly_far_down_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="has 3 cells") as caught:
        read(tmp_path, "1,2\n" * 50_000 + "1,2,3\n")
    assert caught.value.line == 50_001


def test_text_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n\xff\xfe,3\n")
    with pytest.raises(FormatError, match="not UTF-8"):
        list(read_table(str(path), ReadOptions()))


@pytest.mark.parametrize("text", ["", "\n\n", "a,b\n"])
def test_a_table_without_rows_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(FormatError, match="no rows"):
        read(tmp_path, text, header=True)


cells = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers().map(str),
    st.sampled_from(["", "NA", "?"]),
)


@given(
    table=st.lists(
        st.tuples(cells, cells, st.integers(0, 9).map(str)), min_size=1, max_size=30
    )
)
@settings(max_examples=60, deadline=None)
def test_numbers_are_those_of_float(
    tmp_path_factory: pytest.TempPathFactory, table: list[tuple[str, ...]]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with path.open("w", newline="") as file:
        stdlib_csv.writer(file).writerows(table)
    expected = [
        [np.nan if cell in ("", "NA", "?") else float(cell) for cell in row]
        for row in table
    ]
    batches = list(read_table(str(path), ReadOptions(7, header=False)))
    np.testing.assert_array_equal(
        np.vstack([batch.X for batch in batches]), [row[:2] for row in expected]
    )
    np.testing.assert_array_equal(
        np.concatenate([batch.target for batch in batches]),
        [row[2] for row in expected],
    )


@pytest.mark.long
def test_usps_has_its_label_first(shared_data) -> None:  # type: ignore[no-untyped-def]
    source = str(shared_data("usps/zip.train.gz"))
    batches = list(
        find_format(source, "csv").read(source, ReadOptions(5000, label="0"))
    )
    X = np.vstack([b.X for b in batches])
    y = np.concatenate([b.target for b in batches])
    assert X.shape == (7291, 256)
    assert (X.min(), X.max()) == (-1, 1)
    assert sorted(set(y.tolist())) == list(range(10))


@pytest.mark.long
def test_secom_keeps_its_missing_values(shared_data) -> None:  # type: ignore[no-untyped-def]
    source = str(shared_data("secom/secom_431of590.csv.xz"))
    (batch,) = find_format(source).read(source, ReadOptions())
    assert batch.X.shape == (1567, 432)  # its first column numbers the rows
    assert np.isnan(batch.X).any()
    assert sorted(set(batch.target.tolist())) == [-1, 1]


def test_kdd99_has_text_columns_and_labels(shared_data) -> None:  # type: ignore[no-untyped-def]
    source = str(shared_data("kdd99/kddcup.data_10_percent.gz"))
    format = find_format(source)
    assert format.name == "csv"
    batch = next(iter(format.read(source, ReadOptions(1000))))
    assert isinstance(batch.X, CSR)
    assert batch.target[0] == "normal."
    assert "x1=tcp" in (batch.feature_names or ())


def test_a_nul_byte_is_told_whoever_says_the_delimiter(tmp_path: Path) -> None:
    for options in ({}, {"delimiter": "\t"}):
        with pytest.raises(FormatError, match="holds a NUL byte") as caught:
            read(tmp_path, "1\t2\n3\t\0\n", **options)
        assert caught.value.line == 2


@pytest.mark.parametrize(
    "first", ["sep=;\n", "sep=;\r\n", "\ufeffsep=;\n", '"sep=;"\r\n']
)
def test_excels_first_line_names_the_delimiter(tmp_path: Path, first: str) -> None:
    (batch,) = read(tmp_path, first + "a,b;c,d;y\n1;2;0\n3;4;1\n")
    assert batch.feature_names == ("a,b", "c,d")
    assert len(batch) == 2
    assert find_format(str(tmp_path / "table")).name == "csv"
    (batch,) = read(tmp_path, "sep,y\n1,0\n")
    assert batch.feature_names == ("sep",)


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_a_file_without_rows_is_told_where_the_delimiter_is_given(
    tmp_path: Path, content: str
) -> None:
    with pytest.raises(FormatError, match="no rows"):
        read(tmp_path, content, delimiter="\t")


@pytest.mark.parametrize(
    ("content", "problem"), [(b"", "is empty"), (b"\n\n", "has empty lines only")]
)
@pytest.mark.parametrize("name", ["t.csv", "t"])
def test_a_file_without_rows_is_told_by_what_it_has(
    tmp_path: Path, content: bytes, problem: str, name: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=f"no rows: the file {problem}"):
        list(
            find_format(str(tmp_path / name)).read(str(tmp_path / name), ReadOptions())
        )


def test_latin1_is_told_with_the_command_that_rewrites_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("a,y\n1,é\n".encode("latin1"))
    with pytest.raises(
        FormatError, match="if it is Latin-1, write it anew: iconv -f LATIN1 -t UTF-8"
    ) as caught:
        list(read_table(str(tmp_path / "t.csv"), ReadOptions()))
    assert caught.value.line == 2
