"""Which files of a folder or archive are read: none is left out in silence, and what is refused says what to write."""

from __future__ import annotations

import io
import shlex
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from olscale.data.dataset import Dataset
from olscale.data.ingest.data_files import is_note
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError, OlscaleError

CSV = "x,y\n1,0\n2,1\n"
SVM = "1 1:1\n-1 2:1\n"


def folder_of(path: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return path


def tar_of(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content.encode())
            tar.addfile(info, io.BytesIO(content.encode()))
    return path


def zip_of(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def packed(tmp_path: Path, form: str, files: dict[str, str]) -> Path:
    """Return the same files as a folder or an archive."""
    if form == "folder":
        return folder_of(tmp_path / "set", files)
    return (
        tar_of(tmp_path / "set.tgz", files)
        if form == "tar"
        else zip_of(tmp_path / "set.zip", files)
    )


def ingested(tmp_path: Path, source: Path) -> tuple[Dataset, list[str]]:
    notes: list[str] = []
    return ingest(source, tmp_path / "d", note=notes.append), notes


FORMS = pytest.mark.parametrize("form", ["folder", "tar", "zip"])


@FORMS
@pytest.mark.parametrize(
    ("files", "rows", "passed_over"),
    [
        ({"a.csv": CSV, "README.md": "# a"}, 2, "README.md"),
        (
            {"part-00000": SVM, "part-00001": SVM, "_SUCCESS": "", "_logs/x": "1 1:1"},
            4,
            "_SUCCESS, _logs/x",
        ),
        (
            {
                "a.csv": CSV,
                ".a.csv.crc": "x",
                "SHA256SUMS": "1 a",
                "iris.names": "1. Title",
            },
            2,
            ".a.csv.crc, SHA256SUMS, iris.names",
        ),
        (
            {"days/Day1.svm": SVM, "days/Day2.svm": SVM, "FeatureTypes": "4\n5\n"},
            4,
            "FeatureTypes",
        ),
        ({"a.csv": CSV, "columns.txt": "size\nweight\n"}, 2, "columns.txt"),
        (
            {"a.csv": CSV, "LICENSE": "free", "about.pdf": "%PDF"},
            2,
            "LICENSE, about.pdf",
        ),
    ],
)
def test_what_is_no_data_is_passed_over_and_told(
    tmp_path: Path, form: str, files: dict[str, str], rows: int, passed_over: str
) -> None:
    source = packed(tmp_path, form, files)
    dataset, notes = ingested(tmp_path, source)
    assert dataset.rows("train") == rows
    where, told = notes[0].split(": passed over as no data: ")
    assert (where, sorted(told.split(", ")), len(notes)) == (
        str(source),
        sorted(passed_over.split(", ")),
        1,
    )


@FORMS
@pytest.mark.parametrize(
    ("files", "train", "test"),
    [
        ({"a9a": SVM, "a9a.t": SVM}, "a9a", "a9a.t"),
        ({"train.csv": CSV, "test.csv": CSV}, "train.csv", "test.csv"),
        ({"opt.tra": CSV, "opt.tes": CSV, "opt.names": ""}, "opt.tra", "opt.tes"),
        ({"x.csv": CSV, "x_test.csv": CSV}, "x.csv", "x_test.csv"),
        (
            {"train-0.csv": CSV, "train-1.csv": CSV, "validation-0.csv": CSV},
            "train-*.csv",
            "validation-0.csv",
        ),
        (
            {"train-0.csv": CSV, "val-0.csv": CSV, "train-1.csv": CSV},
            "train-*.csv",
            "val-0.csv",
        ),
        (
            {"train/0.csv": CSV, "train/1.csv": CSV, "test/0.csv": CSV},
            "train/*",
            "test/0.csv",
        ),
        ({"ijcnn1.trn": SVM, "ijcnn1.tst": SVM}, "ijcnn1.trn", "ijcnn1.tst"),
    ],
)
def test_rows_to_train_and_to_test_with_are_named_apart(
    tmp_path: Path, form: str, files: dict[str, str], train: str, test: str
) -> None:
    """The words of the error, given to the command, read both."""
    source = packed(tmp_path, form, files)
    with pytest.raises(
        OlscaleError,
        match=r"holds files to train and to test with .*; name them apart: ",
    ) as fault:
        ingest(source, tmp_path / "d")
    words = shlex.split(str(fault.value).rpartition("name them apart: ")[2])
    assert words[1] == "--test"
    assert words[0].endswith(train)
    assert words[2].endswith(test)
    dataset = ingest(words[0], tmp_path / "d", test=words[2])
    several = sum(name.startswith("train") for name in files)
    assert (dataset.rows("train"), dataset.rows("test")) == (2 * max(1, several), 2)


@FORMS
@pytest.mark.parametrize(
    ("files", "rows"),
    [
        ({"a.csv": CSV, "b.csv": CSV, "c.svm": SVM}, 4),
        ({"a.svm": SVM, "b.txt": CSV}, 2),
        ({"sub/a.csv": CSV, "b.csv": CSV, "c.tsv": CSV.replace(",", "\t")}, 4),
        ({"a": SVM, "b.svm": SVM}, 2),
    ],
)
def test_the_pattern_for_files_of_several_kinds_works(
    tmp_path: Path, form: str, files: dict[str, str], rows: int
) -> None:
    source = packed(tmp_path, form, files)
    with pytest.raises(
        OlscaleError,
        match=r"holds files of different kinds .*; name the data files with a pattern such as ",
    ) as fault:
        ingest(source, tmp_path / "d")
    words = shlex.split(str(fault.value).rpartition("such as ")[2])
    assert ingest(words, tmp_path / "d").rows("train") == rows


def test_names_that_say_test_alone_are_no_split(tmp_path: Path) -> None:
    """Blood tests and crash tests are data as well."""
    folder_of(
        tmp_path / "set", {"test1.csv": CSV, "test2.csv": CSV, "crash-test.csv": CSV}
    )
    assert ingest(tmp_path / "set", tmp_path / "d").rows("train") == 6


def test_a_damaged_file_is_not_taken_for_a_note(tmp_path: Path) -> None:
    folder_of(tmp_path / "set", {"a.svm": SVM})
    (tmp_path / "set" / "b.gz").write_bytes(b"\x1f\x8b\x08 broken")
    with pytest.raises(FormatError, match=r"b\.gz"):
        ingest(tmp_path / "set", tmp_path / "d")


@FORMS
def test_nothing_but_notes_is_an_error(tmp_path: Path, form: str) -> None:
    source = packed(tmp_path, form, {"README.md": "x", "LICENSE": "x"})
    with pytest.raises(
        OlscaleError, match=r"(README\.md|LICENSE), (LICENSE|README\.md)"
    ):
        ingest(source, tmp_path / "d")


def test_labels_in_an_archive_beside_their_rows_are_refused(tmp_path: Path) -> None:
    """In a folder they are read; there the last feature was taken for the label."""
    files = {"a.data": "1 2\n3 4\n", "a.labels": "1\n-1\n"}
    assert ingest(folder_of(tmp_path / "set", files), tmp_path / "d").columns == 2
    for source in (
        tar_of(tmp_path / "a.tar.gz", files),
        zip_of(tmp_path / "a.zip", files),
    ):
        with pytest.raises(
            FormatError,
            match=r"a\.data has its labels in a file of their own \(a\.labels\); unpack it",
        ):
            ingest(source, tmp_path / "e")


def test_images_and_labels_of_a_folder_are_one_source(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    images = b"\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02" + bytes([1, 2, 3, 4])
    (tmp_path / "set/train-images-idx3-ubyte").write_bytes(images)
    (tmp_path / "set/train-labels-idx1-ubyte").write_bytes(
        b"\0\0\x08\x01\0\0\0\x02\x00\x01"
    )
    assert ingest(tmp_path / "set", tmp_path / "d").rows("train") == 2


@FORMS
@pytest.mark.parametrize("empty", ["", "x,y\n"])
def test_empty_parts_are_passed_over_and_told(
    tmp_path: Path, form: str, empty: str
) -> None:
    """The first, whose columns hold for all others, as well as the last."""
    source = packed(
        tmp_path,
        form,
        {
            "part-0.csv": empty,
            "part-1.csv": CSV,
            "part-2.csv": empty,
            "part-3.csv": CSV,
        },
    )
    dataset, notes = ingested(tmp_path, source)
    assert dataset.rows("train") == 4
    (note,) = notes
    assert "passed over as empty: " in note
    assert "part-0.csv" in note
    assert "part-2.csv" in note


def test_an_empty_part_of_parquet_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    table = pa.table({"x": [1.0, 2.0], "y": [0, 1]})
    parquet.write_table(table, tmp_path / "set/part-1.parquet")
    parquet.write_table(table.slice(0, 0), tmp_path / "set/part-0.parquet")
    (tmp_path / "set/part-2.parquet").write_bytes(b"")
    dataset, notes = ingested(tmp_path, tmp_path / "set")
    assert dataset.rows("train") == 2
    assert notes == [
        f"passed over as empty: {tmp_path}/set/part-0.parquet, {tmp_path}/set/part-2.parquet"
    ]


@FORMS
@pytest.mark.parametrize("content", ["", "x,y\n"])
def test_empty_parts_alone_are_an_error(
    tmp_path: Path, form: str, content: str
) -> None:
    source = packed(tmp_path, form, {"a.csv": content, "b.csv": content})
    with pytest.raises(OlscaleError, match="no rows"):
        ingest(source, tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_a_damaged_part_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    folder_of(tmp_path / "set", {"a.csv": CSV, "b.csv": "x,y\n1,0\n2\n"})
    with pytest.raises(FormatError, match=r"b\.csv, line 3"):
        ingest(tmp_path / "set", tmp_path / "d")


def test_folders_that_other_programs_keep_are_no_data() -> None:
    for path in (
        "_delta_log/0.json",
        "_temporary/0/part-0.parquet",
        ".ipynb_checkpoints/a.csv",
        "__MACOSX/._a.csv",
    ):
        assert is_note(path)
    for path in ("_kind=a/part-0.csv", "./a.csv", "../a.csv", "_a.csv", "index.csv"):
        assert not is_note(path)


def test_one_name_in_several_folders_is_told_apart(tmp_path: Path) -> None:
    folder_of(tmp_path / "set", {"a/x.csv": CSV, "b/x.csv": CSV, "c/y.csv": CSV})
    dataset = ingest(tmp_path / "set", tmp_path / "d", segments="files")
    assert [name for name, _ in dataset.segments()] == ["a/x", "b/x", "y"]
    assert [source.name for source in dataset.manifest.sources] == [
        "a/x.csv",
        "b/x.csv",
        "y.csv",
    ]
