"""Files that hold no rows are called by what they are; tables that look a little like them are read."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import sqlite3
import tarfile
import time
from pathlib import Path

import numpy as np
import pandas
import pyarrow
import pyarrow.feather
import pyarrow.orc
import pytest

from olscale.data.formats import TEXT_FORMATS, ReadOptions, find_format
from olscale.data.formats.base import Batch
from olscale.data.formats.other_kinds import refuse_other_kinds
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError, OlscaleError

TEXTS = {
    "JSON array": '[{"a": 1, "label": 0}, {"a": 2, "label": 1}]\n',
    "JSON array ": '[\n  {"a": 1},\n  {"a": 2}\n]\n',
    "JSON document over several lines": '{\n  "a": 1\n}\n',
    "JSON of pandas": '{"a":{"0":1,"1":2},"y":{"0":"u","1":"v"}}',
    "JSON of pandas ": '{"columns":["a","y"],"index":[0],"data":[[1,"u"]]}\n',
    "table with names of rows": '"x" "y" "k"\n"1" 1.5 2 "a"\n"2" 2.5 3 "b b"\n',
    "table with names of rows ": "x,y,k\nr1,1.5,2,a\nr2,2.5,3,b\n",
    "table with blanks between cells": '"x" "k"\n1.5 "a b"\n2.5 "b c"\n',
    "table whose rows end with a delimiter": "x,y,k\n1.5,2,a,\n2.5,3,b,\n",
    "table below lines that begin with #": "# made by x\nx,y\n1,2\n3,4\n",
    "table below lines that begin with # ": "# made, by, x\n1 2 0\n3 4 1\n",
    "dictionaries as Python prints them": "{'a': 1, 'y': 0}\n{'a': 2, 'y': 1}\n",
    "numbers in brackets": "[1.0, 2.0, 0]\n[2.0, 3.0, 1]\n",
    "numbers in brackets ": "[[1. 2.]\n [3. 4.]]\n",
    "MLlib's text": "(1.0,[0.1,2.0,3.0])\n(0.0,[0.2,1.0,3.0])\n",
    "MLlib's text ": "(1.0,(5,[0,2],[1.0,3.0]))\n(0.0,(5,[1],[2.0]))\n",
    "MLlib's text  ": "(5,[0,2],[1.0,3.0])\n(5,[],[])\n",
    "MLlib's text   ": "1.0,0.1 2.0 3.0\n0.0,0.2 1.0 -3e-2\n",
    "fastText's text": "__label__spam free money now\n__label__ham see you\n",
    "fastText's text ": "__label__a __label__b words\n__label__a more words\n",
    "LIBFFM's text": "1 0:1:0.5 1:2:1\n0 0:3:1 1:2:1\n",
    "SVMlight text of several labels": "1,3 1:0.5 4:1\n2 1:1\n 3:1\n",
    "SVMlight text of several labels ": "3 5 4\n0,1 1:0.5 4:1\n2,3 1:1\n",
    "SVMlight text with names": "1 a:2 b:3\n0 a:1 c:2\n1 b:1 c:1\n",
    "SVMlight text with names ": "+1 age:3 12:1 # of a person\n-1 age:4\n",
    "Git LFS pointer": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    "pointer of git-annex": "/annex/objects/SHA256E-s1--a.csv\n",
    "DVC pointer": "outs:\n- md5: a304afb96060aad90176268345e10355\n  size: 5\n  path: data.csv\n",
    "HTML page": "<!DOCTYPE html>\n<html><body><p>404 Not Found</p></body></html>\n",
    "HTML page ": "<!-- error -->\n<html>\n",
    "XML": '<?xml version="1.0"?>\n<Error><Code>NoSuchKey</Code></Error>\n',
    "XML ": "<rows>\n  <row a='1'/>\n</rows>\n",
    "answer of a web server": "HTTP/1.1 200 OK\nContent-Type: text/csv\n\na,b\n",
    "list of attributes (C4.5's names)": "| iris\nsetosa, virginica.\n\nlength: "
    "continuous.\nwidth: continuous.\n",
    "list of attributes "
    "(C4.5's names) ": ">50K, <=50K.\nworkclass: Private, Federal-gov.\nsex: Female, Male.\n",
    "table drawn with lines": "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
    "table drawn with lines ": "a | b\n:--- | ---:\n1 | 2\n",
    "table drawn with lines  ": "+---+---+\n| a | b |\n+---+---+\n| 1 | 2 |\n+---+---+\n",
    "table drawn with lines   ": " a | b \n---+---\n 1 | 2\n",
    "table drawn with lines    ": "===  ===\na    b\n===  ===\n1    2\n===  ===\n",
    "LaTeX": "\\begin{tabular}{ll}\na & b \\\\\n\\end{tabular}\n",
    "rows of LaTeX": "1 & 2 & a \\\\\n3 & 4 & b \\\\ \\hline\n",
    "SQL": "-- dump\nCREATE TABLE t (a int, b int);\nINSERT INTO t VALUES (1,2);\n",
    "SQL ": "INSERT INTO t VALUES (1,2),(3,4);\n",
    "YAML": "---\na: 1\nb: 2\n",
    "list of keys and values": "a: 1\nb: 2\nc: 3\n",
    "file of settings": "[data]\nrows = 5\n",
    "script": "#!/bin/sh\nwget http://example.org/a.csv\n",
    "LIBSVM's ranges": "x\n-1 1\n1 0 10\n2 -5 5\n",
    "a model, and not the rows": "svm_type c_svc\nkernel_type rbf\ngamma 0.5\n",
    "a model, and not the rows ": "solver_type L2R_L2LOSS_SVC\nnr_class 2\n",
    "matrix of Matrix Market": "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 5\n",
    "cells are apart by '::'": "1::1193::5::978300760\n1::661::3::978302109\n",
    "PDF document": "%PDF-1.7\n%\u00e2\n1 0 obj\n",
    "PostScript": "%!PS-Adobe-3.0\n",
}


def zip_of(name: bytes) -> bytes:
    return b"PK\x03\x04" + bytes(26) + name + bytes(100)


def tar_of(text: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        info = tarfile.TarInfo("a.csv")
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))
    return packed.getvalue()


def written(write: object) -> bytes:
    """Return what a writer of files writes."""
    file = io.BytesIO()
    write(file)  # type: ignore[operator]
    return file.getvalue()


FRAME = pandas.DataFrame({"a": [1.0, 2.0], "y": [0, 1]})
TABLE = pyarrow.table({"a": [1.0, 2.0], "y": [0, 1]})
BINARY = {
    "single array of NumPy": written(lambda file: np.save(file, np.eye(3))),
    "pickle": pickle.dumps(FRAME),
    "pickle ": pickle.dumps({"a": 1}, protocol=2),
    "pickle  ": pickle.dumps({"a": 1}, protocol=0),
    "Arrow or Feather file": written(
        lambda file: pyarrow.feather.write_feather(TABLE, file)
    ),
    "ORC file": written(lambda file: pyarrow.orc.write_table(TABLE, file)),
    "Stata file": written(lambda file: FRAME.to_stata(file)),
    "spreadsheet or document": zip_of(b"[Content_Types].xml"),
    "spreadsheet or document ": zip_of(
        b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"
    ),
    "spreadsheet of Excel": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500),
    "tar archive": tar_of(b"1,2\n"),
    "HDF5 file": b"\x89HDF\r\n\x1a\n" + bytes(500),
    "netCDF": b"CDF\x01\0\0\0\0" + bytes(50),
    "7z archive": b"7z\xbc\xaf\x27\x1c\0\4" + bytes(50),
    "RAR archive": b"Rar!\x1a\x07\x01\0" + bytes(50),
    "compressed by LZ4": b"\x04\x22\x4d\x18d@\xa7" + bytes(50),
    "Avro": b"Obj\x01\x04\x14avro.codec" + bytes(50),
    "SPSS": b"$FL2@(#) SPSS DATA FILE" + bytes(50),
    "SAS": bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\0" + bytes(50),
    "R file": b"RDX3\nX\n\0\0\0\x03" + bytes(50),
    "TensorFlow records": (200).to_bytes(8, "little") + b"crc!\x0a" + bytes(300),
    "binary file of LightGBM": b"______LightGBM_Binary_File_Token______\n" + bytes(50),
    "image": b"\x89PNG\r\n\x1a\n" + bytes(50),
    "UTF-16 text": "a,b\n1,2\n3,4\n".encode("utf-16-le"),
    "UTF-16 text ": "a,b\n1,2\n3,4\n".encode("utf-16"),
}


def read(path: Path, format: str | None = None, **options: object) -> list[Batch]:
    return list(find_format(str(path), format).read(str(path), ReadOptions(**options)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("file", ["rows.txt", "rows.csv", "rows.tsv", "rows"])
def test_text_of_another_kind_is_called_by_its_name(
    tmp_path: Path, name: str, file: str
) -> None:
    for begin in ("", "\ufeff"):
        if begin and name.startswith(("PDF", "PostScript")):
            continue
        (tmp_path / file).write_text(begin + TEXTS[name], encoding="utf-8")
        with pytest.raises(FormatError, match=r"^[^\n]*: is [^\n]*; [^\n]*$") as caught:
            read(tmp_path / file)
        assert name.strip() in str(caught.value)
        (tmp_path / file).write_text(
            (begin + TEXTS[name]).replace("\n", "\r\n"), newline="", encoding="utf-8"
        )
        with pytest.raises(FormatError, match=r"[;:] "):
            read(tmp_path / file)


@pytest.mark.parametrize("name", BINARY)
def test_other_binary_files_are_called_by_their_names_whatever_is_asked_for(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "rows").write_bytes(BINARY[name])
    text = not BINARY[name].startswith(b"(dp0")  # which a table may begin with
    for format in (None, *(TEXT_FORMATS if text else ())):
        with pytest.raises(FormatError, match=r"rows: is [^\n]*[;:] [^\n]*") as caught:
            read(tmp_path / "rows", format)
        assert name.strip() in str(caught.value)


def test_a_database_is_called_by_its_name(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "rows.db")
    connection.execute("create table t (a int)")
    connection.commit()
    connection.close()
    with pytest.raises(FormatError, match="is a database of SQLite; save it as CSV"):
        ingest(tmp_path / "rows.db", tmp_path / "out")


def test_an_archive_names_the_member(tmp_path: Path) -> None:
    (tmp_path / "days.tar").write_bytes(tar_of(TEXTS["Git LFS pointer"].encode()))
    with pytest.raises(
        FormatError, match=r"days\.tar: a\.csv: is a Git LFS pointer.*git lfs pull"
    ):
        ingest(tmp_path / "days.tar", tmp_path / "out")


TABLES = {
    "words in angle brackets": "<unk> 0.1 0.2\n<s> 0.3 0.4\nthe 0.5 0.6\n",
    "names in brackets": "[id],[name],[class]\n1,a,x\n2,b,y\n",
    "a column with dashes for missing": "a\tb\n-\t-\n1\t2\n3\t4\n",
    "labels as of adult": "39, State-gov, <=50K\n50, Self-emp, >50K\n",
    "numbers that end in points": "1. 2. 0.\n3. 4. 1.\n",
    "sentences": "label,text\n1,It is: good.\n0,It is: bad.\n",
    "numbers with spaces in a cell": "emotion,pixels,Usage\n0,70 80 82,Training\n1,71 81 83,Test\n",
    "SQL words": "set,create,class\n1,2,a\n3,4,b\n",
    "keys and values in other columns": "id,attribute,y\n1,colour: red,a\n2,colour: blue,b\n",
    "a word HTTP": "HTTP,1,2\nHTTP,2,3\n",
    "a name version": "version,https,y\n1,2,0\n2,3,1\n",
    "a name ORC": "ORC,CDF,y\n1,2,0\n2,3,1\n",
    "a name that begins with #": "#,x,y\n1,2,0\n2,3,1\n",
    "quotes behind blanks": 'x, "a b", y\n1, "c d", 0\n2, "e f", 1\n',
    "names with blanks": "first name,x,y\nAnn 2 E,2,0\nBob 3 F,3,1\n",
    "comments of SVMlight": "# a:1 b:2\n1 1:0.5 3:2 # a:1\n0 2:1 # b:2\n",
    "queries": "2 qid:10 1:0.5 2:1 # docid = GX029-35 inc = 0.1\n1 qid:10 1:0.1\n",
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_looks_a_little_like_one_is_read(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "rows").write_text(TABLES[name])
    assert sum(map(len, read(tmp_path / "rows"))) >= 2


@pytest.mark.parametrize(
    "text", ["1 10:30\n2 11:30\n", "1 10:30 5\n2 11:30 6\n", "5 10:30 a\n6 11:00 b\n"]
)
def test_times_in_a_file_called_csv_are_no_pairs(tmp_path: Path, text: str) -> None:
    (tmp_path / "rows.csv").write_text(text)
    assert sum(map(len, read(tmp_path / "rows.csv"))) == 2
    (tmp_path / "rows.csv").write_text("1 1:30 2:5\n2 1:31 2:6\n")
    with pytest.raises(FormatError, match="is svmlight text, though its name says csv"):
        read(tmp_path / "rows.csv")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("table drawn with lines ", {"delimiter": "|"}),
        ("list of keys and values", {"delimiter": " "}),
        ("SVMlight text with names", {"delimiter": " "}),
        ("MLlib's text   ", {}),
        ("rows of LaTeX", {"delimiter": "&"}),
        ("cells are apart by '::'", {"delimiter": ":"}),
    ],
)
def test_what_a_table_may_look_like_is_read_where_its_format_is_named(
    tmp_path: Path, name: str, options: dict[str, object]
) -> None:
    (tmp_path / "rows").write_text(TEXTS[name])
    assert read(tmp_path / "rows", "csv", **options)


def test_typing_errors_in_svmlight_text_are_named_with_their_line(
    tmp_path: Path,
) -> None:
    (tmp_path / "rows").write_text("1 1:2\n1 x:1\n")
    with pytest.raises(FormatError, match="line 2: got 'x:1', expected index:value"):
        read(tmp_path / "rows")


@pytest.mark.skipif("OLSCALE_SHARED_DATA" not in os.environ, reason="no shared data")
def test_no_file_of_the_field_is_refused() -> None:
    for path in sorted(Path(os.environ["OLSCALE_SHARED_DATA"]).rglob("*")):
        if path.is_file() and not path.name.endswith((".npz", ".mat", ".md", "SUMS")):
            with path.open("rb") as file:
                head = file.read(1 << 16)
            try:
                refuse_other_kinds(str(path), head, guessed=True)
            except OlscaleError as error:
                raise AssertionError(error) from None


@pytest.mark.parametrize(
    "piece", [" ", "\n", "-", "| ", "a:", "1,", "1 1:1 ", "% \n", "\\\\&", "<a "]
)
def test_long_lines_of_one_piece_are_looked_at_in_no_time(piece: str) -> None:
    head = (piece * 60_000)[:60_000].encode() + b"x"
    began = time.process_time()
    with contextlib.suppress(FormatError):
        refuse_other_kinds("rows", head, guessed=True)
    assert time.process_time() - began < 2
