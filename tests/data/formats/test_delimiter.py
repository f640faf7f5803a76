"""What is between the cells of a table, as its first lines show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from olscale.data.formats.base import ReadOptions
from olscale.data.formats.csv import read_table
from olscale.data.formats.dialect import delimiter_of, text_lines
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("0,49;0,44;b\n0,5;0,6;a\n", ";"),
        ("8,1;a\n9,1;b\n", ";"),
        ("len,cm;wid,cm;label\n5,1;3,5;a\n5,2;3,7;b\n", ";"),
        ("Doe, A\t0.02\tx\nRoe, B\t0.5\ty\n", "\t"),
        ("1,5|2,5\n3,5|4,5\n", "|"),
        ("1,5;2,5\n3,5;4,5\n", ";"),
        ("1,5 2,5 1\n2,5 3,5 0\n", " "),
        ("1 000,5;2 000,5\n3 000,1;1 000,5\n", ";"),
        ("1.000,5;2.000,5\n3.000,1;1.000,5\n", ";"),
        ("5,1;;a\n5,2;;b\n", ";"),  # a missing cell says nothing
        ("a;b,1\nc;d,2\n", ","),
        ("1;x,2\n3;y,4\n", ","),
        ("x,y;\nz,w;\n", ","),
        ("1, 2, 3\n4, 5, 6\n", ","),
        ("a b,1\nc d,2\n", ","),
        ("2020-01-01 10:00,5\n2020-01-02 10:00,6\n", ","),
        ("1.5 2.5,3.5\n1.5 2.5,3.5\n", ","),
        ("a,b\tc,d\ne,f\tg,h\n", ","),  # columns decide last
        ("a,b;c;d\ne,f;g;h\n", ";"),
    ],
)
def test_numbers_tell_the_delimiter(text: str, delimiter: str) -> None:
    assert delimiter_of(text_lines(text.encode())) == delimiter


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0,49;0,44;b\n0,5;0,6;a\n", "x0"),
        ("8,1;a\n9,1;b\n", "x0"),
        ("len,cm;wid,cm;label\n5,1;3,5;a\n5,2;3,7;b\n", "len,cm"),
        ("0,49\tb\n0,5\ta\n", "x0"),
    ],
)
def test_decimal_commas_beside_labels_are_asked_about_and_then_read(
    tmp_path: Path, text: str, name: str
) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(
        FormatError,
        match=rf"column '{name}' is '\d,\d+': a number with a decimal comma is read with",
    ):
        list(read_table(str(tmp_path / "t"), ReadOptions()))
    (batch,) = read_table(str(tmp_path / "t"), ReadOptions(decimal=","))
    assert batch.feature_names is None or batch.feature_names[0] == name
    assert set(batch.target) == {"a", "b"}


def test_the_delimiter_that_was_found_stands_in_the_manifest(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("1|2|3,a,b\n4|5|6,b,a\n" * 5)
    for delimiter, found in ((None, "|"), (",", ",")):
        made = ingest(path, tmp_path / f"d{ord(found)}", delimiter=delimiter)
        assert made.manifest.table is not None
        assert made.manifest.table.delimiter == found
