"""What the user reads: one line a fault, and nothing left behind."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from olscale.cli import main
from olscale.cli.ingest import ingest
from olscale.data.dataset import open_dataset

GOOD = "1 1:1 9:2\n-1 2:1\n"


def tar(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content.encode()))
    return buffer.getvalue()


NOISE = "".join(f"1 {i}:{i * 7919 % 1000}\n" for i in range(1, 20_000)).encode()
FILES: dict[str, str | bytes] = {
    "good.svm": GOOD,
    "cut.svm.gz": gzip.compress(NOISE)[:9000],
    "value.svm": "1 1:1\n-1 3:abc\n",
    "order.svm": "1 1:1\n-1 3:1 2:1\n",
    "twice.svm": "1 1:1\n-1 3:1 3:1\n",
    "negative.svm": "1 1:1\n-1 -3:1\n",
    "nolabel.svm": "1 1:1\n3:1 4:1\n",
    "nanlabel.svm": "1 1:1\n# comment\n\nnan 1:1\n",
    "rows.svm": "1\n-1\n",
    "empty.svm": "",
    "empty": "",
    "ragged.csv": "a,b,label\n1,2,0\n1,0\n",
    "header.csv": "a,b,label\n",
    "late.csv": "a,label\n" + "1,0\n" * 3000 + "x,0\n",
    "quote.csv": 'a,b\n1,"2\n3,4\n',
    "nolabel.csv": "a,label\n1,0\n2,\n",
    "nanlabel.csv": "a,label\n1,0\n2,nan\n",
    "latin.csv": "a,label\n1,é\n".encode("latin1"),
    "wide-text.csv": "a,label\n1,p\n".encode("utf-16"),
    "wider-text.csv": "a,label\n1,p\n".encode("utf-32"),
    "inf-label.csv": "a,label\n1,0\n2,-1e400\n",
    "wide-text.svm.gz": gzip.compress(GOOD.encode("utf-16")),
    "train.csv": "a,b,label\n1,2,0\n3,4,1\n",
    "wide.csv": "a,b,c,label\n1,2,3,0\n",
    "mark.csv": b"\xef\xbb\xbf\n",
    "again.csv": "a,b,label\n1,2,p\n3,4,n\n" * 2,
    "late-again.csv": "a,label\n" + "1,0\n" * 3000 + "a,label\n",
    "words.csv": "a,b,label\nr,2,0\ns,4,1\n",
    "one-name.csv": "a,label\n1,0\n2,1\n",
    "no-names.csv": "1,2,0\n3,4,1\n",
    "no-keys.jsonl": "{}\n{}\n",
    "noise.bin": b"\x7fELF\0\0\0 noise" * 10,
    "mixed/a.svm": GOOD,
    "mixed/b.csv": "1,2\n",
    "none/.hidden": "",
    "taken/notes.txt": "keep",
    "file": "keep",
    "bad.tar.gz": b"junk",
    "notes.tar.gz": tar({"README": "1 1:1\n", "FeatureTypes": "4\n"}),
    "days.tar.gz": tar({"Day1.svm": GOOD, "Day0.svm": "1 1:1\n1 2:x\n"}),
    "kinds.tar.gz": tar({"a.svm": GOOD, "b.csv": "1,2\n"}),
    "short.data": "1 2\n3 4\n",
    "short.labels": "1\n",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with good and bad sources."""
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def everything(folder: Path) -> dict[str, bytes | None]:
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None
        for p in sorted(folder.rglob("*"))
    }


FAULTS = {
    "cut.svm.gz p/q/D": "cut.svm.gz: truncated: its gzip data end early; get the file again",
    "value.svm p/q/D": "value.svm, line 2: the value in '3:abc' is not a number",
    "order.svm D": "order.svm, line 2: index 2 in '2:1' comes after 3, expected indices to "
    "increase",
    "twice.svm D": "twice.svm, line 2: index 3 in '3:1' comes twice, expected indices to increase",
    "negative.svm D": "negative.svm, line 2: index -3 in '-3:1' is negative",
    "nolabel.svm D": "nolabel.svm, line 2: the line starts with '3:1', expected a label before "
    "the first index:value",
    "nanlabel.svm D": "nanlabel.svm, line 4: the label is 'nan', expected a finite number",
    "rows.svm D": "the sources hold no features: every row is empty",
    "empty.svm D": "empty.svm: no rows: the file is empty",
    "empty D": "empty: no rows: the file is empty",
    "good.svm empty.svm D": "empty.svm: no rows: the file is empty",
    "ragged.csv D": "ragged.csv, line 3: the row has 2 cells, expected 3 as in the first row",
    "header.csv D": "header.csv, line 1: no rows below the line that names the columns",
    "late.csv D": "late.csv, line 3002: column 'a' is 'x', expected a number as in the first rows",
    "quote.csv D": "quote.csv, line 2: cannot be split into cells",
    "nolabel.csv D": "nolabel.csv, line 3: the label is missing",
    "nanlabel.csv D": "nanlabel.csv, line 3: the label is missing",
    "latin.csv D": "latin.csv, line 2: is not UTF-8 text",
    "wide-text.csv D": "wide-text.csv: is UTF-16 text, expected UTF-8; write it anew: iconv",
    "wider-text.csv D": "wider-text.csv: is UTF-32 text, expected UTF-8; write it anew: iconv -f UTF-32",
    "inf-label.csv D": "inf-label.csv: a label is -inf, and not a finite number",
    "wide-text.svm.gz D": "wide-text.svm.gz: is UTF-16 text, expected UTF-8; write it anew: iconv",
    "mark.csv D": "mark.csv: no rows: the file has empty lines only",
    "again.csv D": "again.csv, line 4: the row repeats the names of the columns in line 1",
    "again.csv D --header": "again.csv, line 4: the row repeats the names of the columns in line 1",
    "late-again.csv D": "line 3002: label 'label' is 'label', expected a number as in the first rows; the "
    "row seems to repeat the names",
    "no-keys.jsonl D": "no-keys.jsonl: no columns; every row needs features and a label",
    "train.csv D --test wide.csv": "wide.csv has other column names than the sources before it: it "
    "has 'c'",
    "words.csv D --test one-name.csv": "one-name.csv has other column names than the sources "
    "before it: it lacks 'b'",
    "train.csv D --test no-names.csv": "no-names.csv has no line that names its columns, the "
    "sources before it have one",
    "words.csv D --test no-names.csv": "no-names.csv has no line that names its columns",
    "train.csv D --test "
    "good.svm": "good.svm has sparse rows but the sources before it had dense ones",
    "train.csv D --label c": "unknown label column of train.csv 'c'",
    "train.csv D --label 9": "train.csv: there is no column 9 for the label, the rows have 3 cells",
    "train.csv D --segments c": "unknown segment column 'c'",
    "good.svm D --segments c": "good.svm does not name its columns",
    "noise.bin p/q/D": "noise.bin: looks like none of the formats arff, csv,",
    "good.svm p/q/D --format svmlite": "unknown format 'svmlite'; did you mean 'svmlight'?",
    "good.svm D --label c": "good.svm: is svmlight, whose labels are not in a column 'c' of a table; "
    "leave --label out",
    "good.svm D --no-header": "good.svm: is svmlight and has no row of names to choose; leave "
    "--no-header out",
    "absent.svm p/q/D": "source absent.svm does not exist",
    "absent*.svm D": "source absent*.svm does not exist",
    "- D": "source - would be standard input, which is not read: write it to a file first",
    "nosuch://a/b D": "nosuch://a/b cannot be opened (Protocol not known: nosuch)",
    "sklearn:irs D": "unknown scikit-learn data set 'irs'; did you mean 'iris'?",
    "mixed D": "source mixed holds files of different kinds (.csv, .svm); name the data files "
    "with a pattern",
    "none D": "source none holds no files",
    "good.svm taken": "taken holds other files (notes.txt ...); choose a new or empty directory",
    "good.svm file": "file is a file; name a new directory for the dataset",
    "good.svm file/p/D": "file/p/D cannot be made (Not a directory)",
    "bad.tar.gz D": "bad.tar.gz: is no tar archive or is damaged",
    "notes.tar.gz D": "notes.tar.gz: holds no data files",
    "days.tar.gz p/q/D": "days.tar.gz: Day0.svm, line 2: the value in '2:x' is not a number",
    "kinds.tar.gz D": "kinds.tar.gz: holds files of different kinds (.csv, .svm); name the data "
    "files with a pattern",
    "short.data D": "short.labels: ends after 1 labels but short.data goes on",
}
MISUSES = {
    "good.svm D --chunk-rows 0": "'--chunk-rows': 0 is not in the range x>=1",
    "good.svm D --layout tar": "'--layout': unknown layout 'tar'; did you mean 'zarr'?",
    "train.csv D --delimiter ab": "'--delimiter': delimiter is 'ab', expected one character such "
    "as ';'",
    "good.svm": "Missing argument 'SOURCE...'",
}


@pytest.mark.parametrize("command", [*FAULTS, *MISUSES])
def test_fault_is_one_line_and_leaves_nothing(
    here: Path, capsys: pytest.CaptureFixture[str], command: str
):
    before = everything(here)
    with pytest.raises(SystemExit) as exit:
        main(["ingest", *command.split()])
    printed = capsys.readouterr()
    assert exit.value.code == (2 if command in MISUSES else 1)
    assert printed.out == ""
    assert (FAULTS | MISUSES)[command] in printed.err
    assert printed.err.startswith("olscale")
    assert printed.err.count("\n") == 1
    assert "internal error" not in printed.err
    assert everything(here) == before


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "olscale", "ingest", *args],
        capture_output=True,
        text=True,
    )


def test_the_process_says_the_same(here: Path):
    failed = run("value.svm", "p/q/D")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert (
        failed.stderr
        == "olscale: error: value.svm, line 2: the value in '3:abc' is not a number\n"
    )
    assert not Path("p").exists()
    made = run("good.svm", "p/q/D")
    assert (made.returncode, made.stderr) == (0, ""), (
        "no progress where there is no terminal"
    )
    taken = run("good.svm", "p/q/D")
    assert (taken.returncode, taken.stderr.count("\n")) == (1, 1)
    assert "already is a dataset" in taken.stderr


def ingested(capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
    with pytest.raises(SystemExit) as exit:
        main(["ingest", *args])
    printed = capsys.readouterr()
    assert (exit.value.code, printed.err) == (0, "")
    return printed.out.splitlines()


def test_taken_label_is_told(here: Path, capsys: pytest.CaptureFixture[str]):
    rng = np.random.default_rng(0)
    np.savetxt(
        "first", np.column_stack([rng.integers(0, 10, 200), rng.random((200, 3))])
    )
    np.savetxt("last", rng.random((200, 4)))
    space = "read as: delimiter white space, no header"
    other = "3 numbers; override with --delimiter, --header, --label, --target, --encode, --drop"
    assert (
        ingested(capsys, "first", "D1")[1]
        == f"{space}, label column 0, the first (10 classes), {other}"
    )
    real = "(regression, 200 distinct values; --target classes for classes)"
    assert (
        ingested(capsys, "last", "D2")[1]
        == f"{space}, label column 3, the last {real}, {other}"
    )
    assert (
        ingested(capsys, "first", "D3", "--label", "1")[1]
        == f"{space}, label column 1, counted from 0 {real}, {other}"
    )
    read = (
        "read as: delimiter ',', header, label 'label' (2 classes), 2 numbers; override with "
        "--delimiter, --no-header,"
    )
    assert ingested(capsys, "train.csv", "D4")[1].startswith(read)
    assert not any(
        line.startswith(("label", "read as"))
        for line in ingested(capsys, "good.svm", "D5")
    )


def test_how_cells_are_written_is_told_and_kept(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    Path("sms.tsv").write_text('ham\t"so\t1,5\tx\nspam\tno"\t-\ty\nham\ta\\\tb\t2\tx\n')
    form = [
        "--quoting",
        "none",
        "--escape",
        "backslash",
        "--missing",
        r"-,\N",
        "--missing",
        "#N/A",
        "--decimal",
        ",",
    ]
    lines = ingested(
        capsys, "sms.tsv", "D", *form, "--encode", "x3=hash:8", "--label", "0"
    )
    assert lines[1] == (
        r"read as: delimiter tab, no header, decimal ',', quoting none, escape backslash, missing -, \N, #N/A, "
        "label column 0, the first (2 classes), 1 number, 1 category, 1 encoded column; override "
        "with --delimiter, "
        "--header, --label, --target, --encode, --drop"
    )
    table = open_dataset("D").manifest.table
    assert (table.quoting, table.escape, table.missing) == (
        "none",
        "backslash",
        ("-", r"\N", "#N/A"),
    )
    assert open_dataset("D").manifest.feature_names[-3:] == (
        'x1="so',
        "x1=a\tb",
        'x1=no"',
    )


def test_labels_that_only_test_has_are_told(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    Path("test.svm").write_text("7 1:1\n1 30:1\n")
    lines = ingested(capsys, "good.svm", "D", "--test", "test.svm")
    assert lines[0].startswith("D: 2 train + 2 test rows x 30 columns, 3 classes")
    assert (
        lines[1]
        == "note: test has labels that train lacks, which no learner can predict: 7"
    )


def test_usps_needs_no_option(
    shared_data, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    lines = ingested(
        capsys, str(shared_data("usps/zip.train.gz")), str(tmp_path / "usps")
    )
    assert "label column 0, the first (10 classes), 256 numbers" in lines[1]


def test_workers_of_older_scripts_are_taken_and_said_to_have_no_effect(tmp_path: Path):
    (tmp_path / "a.svm").write_text("1 1:1\n-1 1:2\n")
    result = CliRunner().invoke(
        ingest, [str(tmp_path / "a.svm"), str(tmp_path / "d"), "--workers", "2"]
    )
    assert result.exit_code == 0
    assert result.stderr.startswith(
        "--workers has no effect: one process reads faster than several did"
    )
    assert result.stdout.startswith("d: 2 train rows x 1 columns")
    result = CliRunner().invoke(
        ingest, [str(tmp_path / "a.svm"), str(tmp_path / "e"), "--workers", "0"]
    )
    assert result.exit_code == 2


ORDERS = "id,when,shop,age,paid,returned\n" + "".join(
    f"{100 + i},2024-01-{1 + i // 4:02},{'north' if i % 3 else ''},"
    f"{'' if i % 10 == 0 else 20 + i % 7},{i % 9}.5,{'yes' if i % 4 == 0 else 'no'}\n"
    for i in range(120)
)


def test_ingest_says_how_each_column_was_read(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    Path("orders.csv").write_text(ORDERS)
    lines = ingested(capsys, "orders.csv", "all")
    assert lines[0].startswith("all: 120 train rows x 34 columns, 2 classes, sparse")
    assert lines[2:7] == [
        "classes: no 90 (75.0 %), yes 30 (25.0 %)",
        "columns: 3 numeric, 2 text -> 31 columns, one per value (when 30 as '2024-01-01', shop 1 "
        "as 'north')",
        "dates: when, one feature a date; --encode when=date:cyclic makes few features of each (or --drop)",
        "missing: 12 values of numeric columns (age 12), encoded as NaN: such a row ends a run "
        'as diverged; impute them on the fly (transforms = ["impute:mean"]), or drop such columns (--drop)',
        "missing: 40 values of text columns (shop 40), encoded as all zeros",
    ]
    assert lines[7:-1] == [
        "identifiers: id (never falls); leave out what is no feature (--drop)"
    ]
    less = ingested(capsys, "orders.csv", "less", "--drop", "id,when", "--drop", "age")
    assert less[3:-1] == [
        "columns: 1 numeric, 1 text -> 1 columns, one per value (shop 1 as 'north'), dropped id, "
        "when, age",
        "missing: 40 values of text columns (shop 40), encoded as all zeros",
    ]


@pytest.mark.parametrize("shop", ["1", "north"])
def test_ingest_says_where_values_are_infinite(
    here: Path, capsys: pytest.CaptureFixture[str], shop: str
):
    """A number too large for a float64 is no longer itself; what is missing beside it is counted as ever."""
    Path("rates.csv").write_text(
        f"rate,age,shop,y\n1e400,5,{shop},p\n-inf,,2,q\n3,inf,3,p\n,4,{shop},q\n"
    )
    lines = ingested(capsys, "rates.csv", "D")
    assert (
        sum(
            line.startswith("missing: 2 values of numeric columns (rate 1, age 1)")
            for line in lines
        )
        == 1
    )
    assert (
        sum(
            line.startswith(
                "infinite: 3 values (rate 2, age 1), or too large for a float64"
            )
            for line in lines
        )
        == 1
    )
    assert open_dataset("D").manifest.splits["train"].infinite == {"rate": 2, "age": 1}
    np.savez(
        "X.npz",
        X_train=np.array([[1.0, np.inf], [2.0, np.nan]]),
        y_train=[0, 1],
        X_test=np.ones((2, 2)),
        y_test=[0, 1],
    )
    lines = ingested(capsys, "X.npz", "E")
    assert sum(line.startswith("infinite: 1 value (x1 1)") for line in lines) == 1
    assert open_dataset("E").manifest.splits["test"].infinite is None


def test_ingest_says_what_is_no_number_in_sparse_text(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    Path("odd.svm").write_text("1 1:inf 2:1e400 9:1\n-1 1:nan\n")
    Path("more.svm").write_text("1 3:-inf\n")
    lines = ingested(capsys, "odd.svm", "more.svm", "D")
    assert any(line.startswith("missing: 1 value") for line in lines)
    assert any(line.startswith("infinite: 3 values") for line in lines)
    assert open_dataset("D").manifest.splits["train"].infinite == {
        "x0": 1,
        "x1": 1,
        "x2": 1,
    }


def test_rows_without_columns_are_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    np.savez("none.npz", X=np.ones((2, 0)), y=np.arange(2))
    with pytest.raises(SystemExit):
        main(["ingest", "none.npz", "D"])
    assert "none.npz: has no features" in capsys.readouterr().err


def test_what_is_said_of_many_columns_is_short(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    wide = ",".join(f"c{i}" for i in range(300))
    Path("wide.csv").write_text(
        f"{wide},y\n" + ",".join(["p"] * 300) + ",0\n" + ",".join(["q"] * 299) + ",,1\n"
    )
    line = next(
        line for line in ingested(capsys, "wide.csv", "D") if line.startswith("columns")
    )
    assert line.startswith(
        "columns: 300 text -> 599 columns, one per value (c0 2 as 'p', c1 2 "
    )
    assert line.endswith("c7 2 as 'p' and 292 more)")


def test_a_column_that_looks_like_the_label_is_told(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    Path("first.csv").write_text("class,a,b\nham,1,2.5\nspam,2,0.5\n")
    assert (
        "warning: there is a column 'class'; if that is the label, use --label"
        in ingested(capsys, "first.csv", "D")
    )
    assert not any(
        "if that is the label" in line
        for line in ingested(capsys, "first.csv", "E", "--label", "class")
    )


def test_the_form_of_a_table_is_given_on_the_command_line(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    Path("a.txt").write_text("1~2\n3~4\n")
    Path("b.txt").write_text("1~2\n")
    words = [
        "--no-header",
        "a.txt",
        "D",
        "--test",
        "b.txt",
        "b.txt",
        "--format",
        "csv",
        "--delimiter",
        "~",
    ]
    assert ingested(capsys, *words)[0].startswith(
        "D: 2 train + 2 test rows x 1 columns"
    )
    assert ingested(
        capsys, "a.txt", "E", "--header", "--format", "csv", "--delimiter", "~"
    )[0].startswith("E: 1 train")


def test_of_many_notes_some_are_shown(here: Path, capsys: pytest.CaptureFixture[str]):
    for i in range(8):
        Path(f"{i}.csv").write_text('a,b,label\n"1\n2",2.5,a\n2.5,3.5,b\n')
    lines = [
        line
        for line in ingested(capsys, *(f"{i}.csv" for i in range(8)), "D")
        if line.startswith("note")
    ]
    assert "0.csv: the quote that opens a cell in line 2 closes in line 3" in lines[0]
    assert lines[5:] == ["note: 3 more notes on how sources are read"]
