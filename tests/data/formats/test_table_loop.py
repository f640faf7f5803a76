"""The compiled loop over cells and Python's csv read the same of every table, to the bit and to the message."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.data.formats import ReadOptions, table_parser
from tests.fuzz.tables import outcome

NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1e3, 1e3).map("{:.3f}".format),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["0", "1", "-0", "17", ".5", "5.", "1e5", "-2.5E-3", "+7"]),
)
PLAIN_WORDS = st.sampled_from(
    [
        "red",
        "blue",
        "été",
        "a b",
        "x" * 9,
        "0",
        "none",
        "?",
        "",
        '"a,b"',
        '"q""q"',
        "'s'",
    ]
)
# fmt: off
ODD = st.sampled_from([
    " 1", "1 ", "\t2", "'2'", "\"2\"", "\" 2 \"", "nan", "NaN", "-nan", "+nan", "inf", "-Infinity", "infinit",
    "1_000", "0x10", "1e400", "4.9e-324", "2e-310", "1e-400", ".", "1e", "1,5", "--1", "NULL", "None", "n/a",
    "NA", "N/A", "nul", "?", " ? ", "\"\"", "\"?\"", "'?'", "\u00e9", "\u00a05", "\u0663", "\u2003",
    "\"x\ny\"", "\"x\r\ny\"", "\"open", "a\"b", "\"a\"b", "a\\,b", "%x", "{1 2}", "{0 3, 2 red}", "'it''s'",
    "'it\\'s'", "\u0000", "1\u0000", "na\u0000", "\u000b", "\u001f", "7\f",
    "0.1000000000000000055511151231257827", "12345678901234567890123", "\ufeff1", "red ,", "1;2",
])
# fmt: on
COLUMN = st.sampled_from(
    [
        NUMBERS,
        NUMBERS,
        PLAIN_WORDS,
        st.one_of(NUMBERS, st.sampled_from(["", "NA", "?", "nan"])),
    ]
)
LINE_END = st.sampled_from(["\n"] * 6 + ["\r\n", "\r", "\n\n", " \n", "\n \r\n"])


@st.composite
def tables(
    draw: st.DrawFn, delimiters: str
) -> tuple[list[list[str]], str, list[str], str]:
    """Return rows of cells, the delimiter, the lines' ends and what may come before: most tables are sound, some are not."""
    columns = draw(st.lists(COLUMN, min_size=2, max_size=6))
    rows = draw(st.lists(st.tuples(*columns).map(list), min_size=1, max_size=25))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2, 5]))):
        row = rows[draw(st.integers(0, len(rows) - 1))]
        row[draw(st.integers(0, len(row) - 1))] = draw(ODD)
    if draw(st.integers(0, 9)) == 0:
        rows[draw(st.integers(0, len(rows) - 1))].append("1")
    if draw(st.integers(0, 3)) == 0:
        rows.insert(0, [f"name{i}" for i in range(len(columns))])
    if draw(st.integers(0, 9)) == 0:
        rows = [[*row, ""] for row in rows]
    ends = draw(st.lists(LINE_END, min_size=len(rows), max_size=len(rows)))
    if draw(st.booleans()):
        ends = [ends[0]] * len(rows)
    ends[-1] = draw(st.sampled_from([ends[-1], ""]))
    return (
        rows,
        draw(st.sampled_from(delimiters)),
        ends,
        draw(st.sampled_from(["", "", "\ufeff"])),
    )


def options_of(draw: st.DrawFn, width: int) -> ReadOptions:
    position = st.integers(0, width - 1)
    return ReadOptions(
        chunk_rows=draw(st.sampled_from([3, 1000])),
        label=draw(st.one_of(st.none(), position)),
        drop=draw(st.sampled_from([(), (), ("0",), ("1",)])),
        segments=draw(st.sampled_from([None, None, "x0", "name1", "x1"])),
        decimal=draw(st.sampled_from([None, None, ".", ","])),
    )


def same(path: Path, format: str, options: ReadOptions, block_bytes: int) -> None:
    assert outcome(path, format, options, block_bytes) == outcome(path, format, options)


@pytest.mark.long
@given(data=st.data(), table=tables(",,,\t; "))
@settings(max_examples=300, deadline=None)
def test_both_ways_read_the_same_of_text(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    table: tuple[list[list[str]], str, list[str], str],
) -> None:
    rows, delimiter, ends, mark = table
    path = tmp_path_factory.mktemp("t", numbered=True) / "t.csv"
    text = mark + "".join(
        chain(*zip((delimiter.join(row) for row in rows), ends, strict=True))
    )
    path.write_bytes(
        text.encode() + data.draw(st.sampled_from([b""] * 9 + [b"\xe9,1\n"]))
    )
    same(
        path,
        "csv",
        options_of(data.draw, len(rows[0])),
        data.draw(st.sampled_from([16, 64, 1 << 20])),
    )


@pytest.mark.long
@given(data=st.data(), table=tables(",,,\t"))
@settings(max_examples=200, deadline=None)
def test_both_ways_read_the_same_of_arff(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    table: tuple[list[list[str]], str, list[str], str],
) -> None:
    rows, _, ends, mark = table
    kinds = data.draw(
        st.lists(
            st.sampled_from(
                ["numeric", "string", "{red,blue,'a b',?}", "{0,1}", "real"]
            ),
            min_size=max(2, len(rows[0])),
            max_size=max(2, len(rows[0])),
        )
    )
    head = (
        "@relation r\n"
        + "".join(f"@attribute name{i} {kind}\n" for i, kind in enumerate(kinds))
        + "@data\n"
    )
    path = tmp_path_factory.mktemp("t", numbered=True) / "t.arff"
    text = (
        mark
        + head
        + "".join(chain(*zip((",".join(row) for row in rows), ends, strict=True)))
    )
    path.write_bytes(text.encode())
    same(
        path,
        "arff",
        options_of(data.draw, len(kinds)),
        data.draw(st.sampled_from([16, 64, 1 << 20])),
    )


TAME = {
    "numbers": "a,b,c\n" + "1.5,-2e-3,0\n0.1,1e300,1\n" * 50,
    "missing values": "1,?,0\nNA,2,1\n,nan,0\nNull,N/A,1\n" * 20,
    "categories": "1,red,yes\n2,blue,no\n3,,yes\n" * 20,
    "quotes": "a,b\n" + '"1","x, y"\n"2","say ""no"""\n"3","two\nlines"\n' * 20,
    "tabs and returns": "1\t2\r\n3\t4\r\n\r\n" * 20,
    "white space": " 1   2.5\n3\t4 \n\n" * 20,
    "hard numbers": "1e-310,0.1000000000000000055511151231257827\n1e400,3\n" * 20,
}


@pytest.mark.parametrize("case", TAME)
def test_what_is_common_is_read_by_the_loop(tmp_path: Path, case: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TAME[case], newline="")
    slow = outcome(path, "csv", ReadOptions())
    with patch.object(
        table_parser.TableParser, "_parse", autospec=True, side_effect=_only_by_the_loop
    ):
        assert outcome(path, "csv", ReadOptions(), 1 << 20) == slow


def _only_by_the_loop(parser: table_parser.TableParser, cells: Any) -> None:
    parser._loop = parser._loop or table_parser._Loop(
        parser._encoder, parser._dialect, parser._declared
    )
    assert parser._loop.parse(parser._text, cells, parser._cell_of)
