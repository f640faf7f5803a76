"""First rows: names of columns, or data."""

from __future__ import annotations

import io
from csv import reader
from pathlib import Path

import numpy as np
import pytest

from olscale.data.formats.dialect import is_header, names_again
from olscale.data.ingest.ingest import ingest


def rows(text: str) -> list[list[str]]:
    return list(reader(io.StringIO(text)))


NAMES = [
    "0,1,2,3\n5.1,3.5,1.4,0\n4.9,3,1.4,0\n",
    "0,1,2,3\n1,0,1,1\n0,1,1,0\n",  # zeros and ones have no 3
    ",0,1,2\n0,5.1,3.5,1\n1,4.9,3,0\n",
    ",0,1,2\n17,5.1,3.5,1\n3,4.9,3,0\n",  # of a frame with rows taken out
    ",0\n0,5.1\n1,4.9\n",
    "0,1,2,3,kind\n5.1,3.5,1.4,0,a\n4.9,3,1.4,0,b\n",
    "kind,0,1,2,3\n5,0,0,1,2\n4,2,2,1,1\n",
]
DATA = [
    "0,1,2,3\n4,5,6,7\n8,9,10,11\n",
    "0,1,2,3\n1,2,3,4\n2,3,4,5\n",
    "0,1,2,3\n0,2,4,6\n0,3,6,9\n",
    "0,1,2\n2,0,1\n1,1,0\n0,2,2\n",  # each comes back in its column
    "0,1\n1,0\n0,0\n",
    ",0,1\n3,0,1\n4,1,0\n",
    "0,1,2,a\n1,0,1,b\n3,0,1,a\n",  # a word that comes back
    "5.1,3.5,a\n4.9,3,a\n4.7,3.2,b\n",
    "1,0.5,a\n1.5,0.5,a\n2.5,3.2,b\n",  # whole by chance
    "p,x\ne,x\np,y\n",
]


UNCLEAR = {
    "unknown,5.5,1\n0.5,2.5,0\n1.5,2.5,1\n": True,
    "color,2020\n1,2\n": True,
    "0,1\nsome text,spam\nother,ham\n": True,
    "2001,2002,label\n1.5,2.5,a\n2.5,3.5,b\n": False,
    "2001,2002,2003\n1.5,2.5,0\n2.5,3.5,1\n": False,
    "region,2019,2020,label\nnorth,1.5,2.5,a\nsouth,2.5,3.5,b\n": False,
    "region,2019,kind\nnorth,1,a\nnorth,2,b\nsouth,2,b\nsouth,1,b\nsouth,2,a\n": False,
    "text,spam\nhello you,ham\nbuy,spam\n": False,
    "q,q,label\nred,a,x\nblue,b,y\n": False,
    "nan,inf,label\n1.5,2,a\n2.5,3,b\n": False,
}


@pytest.mark.parametrize(
    ("text", "header"),
    [
        *((text, True) for text in NAMES),
        *((text, False) for text in DATA),
        *UNCLEAR.items(),
    ],
)
def test_a_first_row_is_names_or_data(text: str, header: bool) -> None:
    assert is_header(rows(text)) is header


AGAIN = {
    "a,label\n1,p\na,label\n2,n\n": 2,
    "a,label\n1,p\n a , label\n2,n\na,label\n": 2,
    "a,label\n1,p\n2,n\n": None,
    "-,no\n5,yes\n-,no\n": None,
    "red,no\nblue,yes\nred,no\n": None,
    "a,a\n1,2\na,a\n": None,
    "a,label\na,label\n": None,
}


@pytest.mark.parametrize("text", AGAIN)
def test_names_among_the_rows_are_no_data(text: str) -> None:
    assert names_again(rows(text)) == AGAIN[text]


@pytest.mark.parametrize("index", [False, True])
def test_an_array_as_pandas_writes_it_has_all_its_rows(
    tmp_path: Path, index: bool
) -> None:
    X = np.random.default_rng(0).random((300, 4))
    X[:, 3] = np.arange(300) % 2
    lines = [
        ",".join(["", "0", "1", "2", "3"]),
        *(f"{i}," + ",".join(map(repr, row)) for i, row in enumerate(X.tolist())),
    ]
    (tmp_path / "t.csv").write_text(
        "".join(f"{line if index else line.partition(',')[2]}\n" for line in lines)
    )
    dataset = ingest(
        tmp_path / "t.csv", tmp_path / "d", drop="Unnamed: 0" if index else ()
    )
    assert (dataset.rows("train"), dataset.manifest.feature_names) == (
        300,
        ("0", "1", "2"),
    )


def test_notes_are_given_or_warned_of_and_not_where_the_user_has_decided(
    tmp_path: Path,
) -> None:
    (tmp_path / "t.csv").write_text('name,a,y\n"two\nlines",2.5,0\n1.5,2.5,1\n')
    notes: list[str] = []
    ingest([tmp_path / "t.csv"] * 2, tmp_path / "told", note=notes.append)
    (note,) = notes
    assert (
        "the quote that opens a cell in line 2 closes in line 3; --quoting none" in note
    )
    with pytest.warns(
        UserWarning, match="the quote that opens a cell in line 2 closes in line 3"
    ):
        ingest(tmp_path / "t.csv", tmp_path / "warned")
