"""First rows: names or data, and what is said where that is unclear."""

from __future__ import annotations

import io
from csv import reader
from pathlib import Path

import numpy as np
import pytest

from olscale.data.formats.header import header_notes, is_header
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


@pytest.mark.parametrize(
    ("text", "header"), [*((text, True) for text in NAMES), *((text, False) for text in DATA)]
)
def test_a_clear_first_row_is_read_without_a_word(text: str, header: bool) -> None:
    assert is_header(rows(text)) is header
    assert header_notes(rows(text), header) == ()


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


@pytest.mark.parametrize("text", UNCLEAR)
def test_an_unclear_first_row_is_told(text: str) -> None:
    header = is_header(rows(text))
    assert header is UNCLEAR[text]
    row = text.split("\n")[0].replace(",", ", ")
    read = (
        "names of columns; --no-header if it is data"
        if header
        else "data, not as names; --header if it is names"
    )
    assert header_notes(rows(text), header) == (f"the first row ({row}) is read as {read}",)


def test_a_long_row_is_told_in_short() -> None:
    text = "label" + ",y" * 20 + ",1\n" + "a" * 50 + ",p" * 20 + ",2\n"
    (note,) = header_notes(rows(text), False)
    assert "(label, y, y, y, y, y, ...) is read" in note


@pytest.mark.parametrize("index", [False, True])
def test_an_array_as_pandas_writes_it_has_all_its_rows(tmp_path: Path, index: bool) -> None:
    X = np.random.default_rng(0).random((300, 4))
    X[:, 3] = np.arange(300) % 2
    lines = [
        ",".join(["", "0", "1", "2", "3"]),
        *(f"{i}," + ",".join(map(repr, row)) for i, row in enumerate(X.tolist())),
    ]
    (tmp_path / "t.csv").write_text(
        "".join(f"{line if index else line.partition(',')[2]}\n" for line in lines)
    )
    dataset = ingest(tmp_path / "t.csv", tmp_path / "d", drop="Unnamed: 0" if index else ())
    assert (dataset.rows("train"), dataset.manifest.feature_names) == (300, ("0", "1", "2"))


def test_notes_are_given_or_warned_of_and_not_where_the_user_has_decided(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("unknown,5.5,1\n0.5,2.5,0\n1.5,2.5,1\n")
    notes: list[str] = []
    ingest([tmp_path / "t.csv"] * 2, tmp_path / "told", note=notes.append)
    assert notes == [
        "the first row (unknown, 5.5, 1) is read as names of columns; --no-header if it is data"
    ]
    with pytest.warns(UserWarning, match=r"the first row \(unknown, 5\.5, 1\) is read as names"):
        ingest(tmp_path / "t.csv", tmp_path / "warned")
    ingest(tmp_path / "t.csv", tmp_path / "decided", header=False, note=notes.append)
    assert len(notes) == 1
