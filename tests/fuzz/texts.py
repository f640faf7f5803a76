"""Text: SVMlight, tables, ARFF, labels in a file of their own, and files whose format is guessed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from olscale.data.formats import ReadOptions, find_format, jsonl, lines
from olscale.data.formats.base import Batch
from olscale.data.formats.svmlight import read_svmlight
from olscale.data.formats.vw import VwFormat
from olscale.errors import FormatError, OlscaleError
from tests.fuzz.arrays import npz_seeds
from tests.fuzz.batches import (
    ROWS,
    checked,
    read_rows,
    same_as_slow_svmlight,
    same_as_slow_table,
    same_batches,
)
from tests.fuzz.tables import both_ways
from tests.fuzz.target import Broken, Files, Target

SVMLIGHT = (
    b"+1 1:0.5 2:1 7:-3e-2\n-1 2:1\n1 qid:3 1:1 4:2.25 # note\n\n-1\n+1 3:1e400 "
    b"9:0.1234567890123456789012\n" * 3,
    b"0 0:1 5:2\r\n1 1:nan 3:inf\r\n# only a comment\r\n2 2147483646:1\r\n",
    b"1.5\t1:1\t2:2\n2.5 1:0x10\n".replace(b"0x10", b"12345678901234567890"),
)
SVMLIGHT_WORDS = (
    b" 1:1", b"qid:", b":", b"#", b"\n", b"1e", b"e+", b"nan",
    b"-Infinity", b".", b" 0:0", b"-", b"2147483647:1",
)  # fmt: skip
TABLE = (
    b"age,sex,class\n17,f,yes\n18.5,m,no\n?,f,yes\n" + b"20,x,no\n" * 9,
    b'"a b",b,"c\n1"\n' + b"1,2,3\n4,5,6\nNA,1e-3,7\n" * 2,
    b"1 0.5 0.25\n1 0.75 0.5\n2 0.5 1.5\n2 1.5 2.5\n" * 3,
    "größe;farbe;klasse\n1;röt;a\n2;grün;b\n".encode("utf-8-sig"),
)
TABLE_WORDS = (
    b",",
    b'"',
    b";",
    b"\t",
    b"|",
    b"NA",
    b"nan",
    b"null",
    b"1_0",
    b"\n",
    b'""',
    b"'",
    b"1e999",
    b"text",
)
ARFF = (
    b"% note\n@relation r\n@attribute a numeric\n@attribute 'b c' {x,'y z',w}\n@attribute k "
    b"{1,2}\n@data\n"
    b"1,x,1\n2.5,'y z',2\n?,w,1\n",
    b"@relation s\n@attribute a real\n@attribute s string\n@attribute c {p,n}\n@data\n"
    b"{0 2, 2 n}\n{1 'hello'}\n{}\n0,t,p\n",
    b"@relation s\n@attribute a real\n@attribute b{x,'y z'}%note\n@attribute k\n{0,1}\n@attribute "
    b"c {2,1}\n@data\n"
    b"{0 2,1 'y\\u0020z', 3 1},{0.5}\n{ }%\n{2 1 0 ? 1 ?}\n0\tx,1,2,\n",
)
ARFF_WORDS = (
    b"@attribute ", b"@data\n", b"{", b"}", b"'", b"\\", b"%",
    b"numeric", b"{a,b}", b"string", b"date", b"\n{", b"{}", b"?", b"\\u", b" ", b"\t", b"},{2}",
)  # fmt: skip

VW = (
    b"1 |f a:2 b:3\n-1 2.5 'tag|f:0.5 a |g b:-1e-3 c\n\n1 1 0 | x :4 7:1 |g b:red\n"
    * 3,
    "-1 | größe:0.1234567890123456789012 a a:2\r\n2 |f^g x^y:5.\n3 |f".encode(),
)
VW_WORDS = (
    b"|",
    b" |f ",
    b":",
    b"1e",
    b"nan",
    b"'",
    b"\t",
    b"\r",
    b"\n",
    b" 1:2:3 ",
    b"0",
    b"^",
    b".",
    b"1e400",
)
JSONL = (
    b'{"a": 1, "b": "x", "c": true, "y": 0}\n{"b": null, "a": 2.5e3, "y": 1}\n' * 4,
    '{"größe": "\\u00e9", "y": "no"}\r\n\n{"y": "yes", "größe": "NA"}\n'.encode(
        "utf-8-sig"
    ),
)
JSONL_WORDS = (
    b'"', b"{", b"}", b"[", b"]", b",", b":", b"null", b"true", b"NaN", b"1e400", b"\n", b'"a"', b'"new": 1', b"\\ud800",
)  # fmt: skip


def read_svm(folder: Path) -> None:
    path = folder / "rows.svm"
    # Blocks far shorter than the input: lines and numbers lie across their ends.
    batches = checked(
        read_svmlight(str(path), ReadOptions(chunk_rows=ROWS), block_bytes=64), ROWS
    )
    same_as_slow_svmlight(path, batches)


def read_csv(folder: Path) -> None:
    both_ways(folder / "rows.csv", "csv")
    read_rows(folder / "rows.csv", "csv")


def read_tsv(folder: Path) -> None:
    path = folder / "rows.tsv"
    both_ways(path, "tsv")
    batches = checked(
        find_format(str(path), "tsv").read(str(path), ReadOptions(chunk_rows=ROWS)),
        ROWS,
    )
    same_as_slow_table(path, batches, "\t")


def read_arff(folder: Path) -> None:
    both_ways(folder / "rows.arff", "arff")
    read_rows(folder / "rows.arff", "arff")


def read_vw(folder: Path) -> None:
    path = folder / "rows.vw"
    for encode in ((), ("*=hash:features=2^5",)):
        options = ReadOptions(chunk_rows=ROWS, encode=encode)
        with patch.object(lines, "BLOCK_BYTES", 64):
            parts = checked(VwFormat().read(str(path), options), ROWS)
        same_batches(parts, checked(VwFormat().read(str(path), options), ROWS))


def read_jsonl(folder: Path) -> None:
    path = str(folder / "rows.jsonl")
    options = ReadOptions(chunk_rows=ROWS)
    with patch.object(jsonl, "SAMPLE_ROWS", 2):
        fast = _outcome(path, options)
        with patch.object(jsonl._Records, "_parsed", lambda self: None):
            slow = _outcome(path, options)
    if isinstance(fast, str) or isinstance(slow, str):
        if fast != slow:
            raise Broken(f"Arrow's parser gives {fast!r:.300}, Python's {slow!r:.300}")
        raise FormatError(path, "refused")
    same_batches(fast, slow)


def _outcome(path: str, options: ReadOptions) -> list[Batch] | str:
    try:
        return checked(jsonl.JsonLinesFormat().read(path, options), ROWS)
    except OlscaleError as error:
        return str(error)


def read_guessed(folder: Path) -> None:
    read_rows(folder / "rows", None)


def read_labelled(folder: Path) -> None:
    read_rows(folder / "x_train.data", None)


def one(name: str, contents: Sequence[bytes]) -> list[Files]:
    return [{name: content} for content in contents]


def guessable() -> tuple[bytes, ...]:
    return (*SVMLIGHT, *TABLE, *ARFF, *VW, *JSONL, npz_seeds()[0]["rows.npz"])


def labelled_seeds() -> list[Files]:
    return [
        {"x_train.data": b"1,2,3\n4,5,6\n", "x_train.labels": b"1\n-1\n"},
        {"x_train.data": b"1:2 7:3\n\n3:1\n", "x_train.labels": b"1\n-1\n1\n"},
        {"x_train.data": b"1 2 3\n4 5 6\n", "x_train.labels": b"a\nb\n"},
    ]


TARGETS = (
    Target("svmlight", lambda: one("rows.svm", SVMLIGHT), read_svm, SVMLIGHT_WORDS),
    Target("csv", lambda: one("rows.csv", TABLE), read_csv, TABLE_WORDS),
    Target(
        "tsv",
        lambda: one("rows.tsv", [text.replace(b",", b"\t") for text in TABLE[:2]]),
        read_tsv,
        TABLE_WORDS,
    ),
    Target("arff", lambda: one("rows.arff", ARFF), read_arff, ARFF_WORDS),
    Target("vw", lambda: one("rows.vw", VW), read_vw, VW_WORDS),
    Target("jsonl", lambda: one("rows.jsonl", JSONL), read_jsonl, JSONL_WORDS),
    Target("labelled", labelled_seeds, read_labelled, TABLE_WORDS),
    Target("guessed", lambda: one("rows", guessable()), read_guessed, TABLE_WORDS),
)
