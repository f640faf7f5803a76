"""Ingestion: whole or not at all, whatever happens on the way."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from olscale.compiled.csr import to_dense
from olscale.data.ingest.ingest import ingest
from olscale.errors import DatasetError, FormatError, OlscaleError, UnknownNameError


def svm(path: Path, rows: int, seed: int = 0, first: int = 1) -> Path:
    """Write sparse SVMlight text of `rows` rows."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(rows):
        indices = np.sort(rng.choice(np.arange(first, 200), size=5, replace=False))
        lines.append(
            f"{rng.choice([-1, 1])} "
            + " ".join(f"{i}:{rng.random():.3f}" for i in indices)
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def test_manifest_records_the_sources(tmp_path: Path):
    train = svm(tmp_path / "a.svm", 30)
    test = svm(tmp_path / "b.svm", 20, seed=1)
    dataset = ingest(train, tmp_path / "d", test=[test])
    assert (dataset.name, dataset.kind, dataset.classes) == ("d", "sparse", (-1, 1))
    assert (dataset.rows("train"), dataset.rows("test")) == (30, 20)
    assert [(s.name, s.split, s.bytes, s.sha256) for s in dataset.manifest.sources] == [
        (
            path.name,
            split,
            path.stat().st_size,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path, split in ((train, "train"), (test, "test"))
    ]
    assert names(tmp_path / "d") == ["manifest.json", "test", "train"]


def test_ingest_is_deterministic(tmp_path: Path):
    source = svm(tmp_path / "a.svm", 50)
    for layout in ("parquet", "zarr"):
        ingest(source, tmp_path / "1" / layout, layout=layout)
        ingest(source, tmp_path / "2" / layout, layout=layout)
    assert tree(tmp_path / "1") == tree(tmp_path / "2")


def test_folder_is_read_in_natural_order_with_a_segment_a_file(tmp_path: Path):
    for day, rows in ((10, 4), (2, 3), (0, 5)):
        svm(tmp_path / "url" / f"Day{day}.svm", rows, seed=day)
    expected = [("Day0", 0, 5), ("Day2", 5, 3), ("Day10", 8, 4)]
    for number, source in enumerate(("url", "url/*.svm")):
        dataset = ingest(
            str(tmp_path / source),
            tmp_path / f"d{number}",
            segments="files",
            chunk_rows=4,
        )
        assert [
            (s.name, s.start, s.rows) for s in dataset.manifest.splits["train"].segments
        ] == expected
        assert [s.name for s in dataset.manifest.sources] == [
            "Day0.svm",
            "Day2.svm",
            "Day10.svm",
        ]


def test_tar_archive_is_a_folder(tmp_path: Path):
    """As the URL set is published: a member a day, not in order, and a file that holds no rows beside them."""
    for day in (10, 2):
        svm(tmp_path / "url" / f"Day{day}.svm", day, seed=day)
    archive = tmp_path / "url.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in ("Day10.svm", "Day2.svm"):
            tar.add(tmp_path / "url" / name, f"url/{name}")
        tar.addfile(tarfile.TarInfo("url/FeatureTypes"), io.BytesIO())
    calls: list[tuple[str, int, int]] = []
    notes: list[str] = []
    packed = ingest(
        archive,
        tmp_path / "packed",
        segments="files",
        progress=lambda *read: calls.append(read),
        note=notes.append,
    )
    assert notes == [f"{archive}: passed over as no data: url/FeatureTypes"]
    assert [(name, rows) for name, rows, _ in calls] == [
        (f"{archive}: Day2.svm", 2),
        (f"{archive}: Day10.svm", 10),
    ]
    plain = ingest(tmp_path / "url", tmp_path / "plain", segments="files")
    assert packed.fingerprint == plain.fingerprint
    assert packed.segments() == plain.segments()
    assert [s.name for s in packed.manifest.sources] == ["url.tar.gz"]
    assert names(tmp_path / "packed") == ["manifest.json", "train"]


def test_error_in_an_archive_names_archive_member_and_line(tmp_path: Path):
    archive = tmp_path / "days.tar"
    with tarfile.open(archive, "w") as tar:
        content = b"1 1:2\n1 x:1\n"
        member = tarfile.TarInfo("Day0.svm")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    with pytest.raises(FormatError, match=rf"{archive}: Day0\.svm, line 2"):
        ingest(archive, tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_sources_are_concatenated_in_the_order_given(tmp_path: Path):
    (tmp_path / "b.csv").write_text("x,y,label\n1,2,0\n")
    (tmp_path / "a.csv").write_text("x,y,label\n3,4,1\n")
    dataset = ingest([tmp_path / "b.csv", tmp_path / "a.csv"], tmp_path / "d")
    chunk = dataset.chunk("train", 0)
    assert to_dense(chunk.X, 2).tolist() == [[1, 2], [3, 4]]
    assert dataset.manifest.feature_names == ("x", "y")


def test_columns_are_matched_by_name(tmp_path: Path):
    (tmp_path / "a.csv").write_text("x,y,label\n1,2,0\n")
    (tmp_path / "b.csv").write_text("y,x,label\n4,3,1\n")
    (tmp_path / "c.csv").write_text("y,z,label\n4,3,1\n")
    dataset = ingest([tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "d")
    assert to_dense(dataset.chunk("train", 0).X, 2).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(DatasetError, match=r"c\.csv has other column names"):
        ingest(tmp_path / "a.csv", tmp_path / "e", test=tmp_path / "c.csv")


def test_segments_by_column(tmp_path: Path):
    (tmp_path / "a.csv").write_text("day,x,label\n1,5,0\n1,6,1\n2,7,0\n1,8,1\n")
    dataset = ingest(tmp_path / "a.csv", tmp_path / "d", segments="day")
    assert [
        (s.name, s.start, s.rows) for s in dataset.manifest.splits["train"].segments
    ] == [
        ("1", 0, 2),
        ("2", 2, 1),
        ("1", 3, 1),
    ]
    with pytest.raises(UnknownNameError, match="'dya'; did you mean 'day'"):
        ingest(tmp_path / "a.csv", tmp_path / "e", segments="dya")
    with pytest.raises(DatasetError, match="does not name its columns"):
        ingest(svm(tmp_path / "a.svm", 3), tmp_path / "e", segments="day")


def test_text_labels_become_sorted_classes(tmp_path: Path):
    (tmp_path / "a.csv").write_text("x,label\n1,spam\n2,ham\n")
    (tmp_path / "b.csv").write_text("x,label\n1,eggs\n2,spam\n")
    dataset = ingest(tmp_path / "a.csv", tmp_path / "d", test=tmp_path / "b.csv")
    assert dataset.classes == ("eggs", "ham", "spam")
    assert dataset.manifest.label_names == ("spam", "ham", "eggs")
    assert dataset.chunk("train", 0).y.tolist() == [2, 1]
    assert dataset.chunk("test", 0).y.tolist() == [0, 2]


def test_test_split_inside_a_source_is_taken(tmp_path: Path):
    rng = np.random.default_rng(0)
    arrays = {
        "X_train": rng.integers(0, 9, (6, 2), dtype=np.uint8),
        "y_train": np.arange(6) % 2,
    }
    np.savez(tmp_path / "a.npz", **arrays, X_test=arrays["X_train"][:2], y_test=[0, 1])
    dataset = ingest(tmp_path / "a.npz", tmp_path / "d")
    assert (dataset.splits, dataset.manifest.dtype) == (("train", "test"), "uint8")
    np.testing.assert_array_equal(dataset.chunk("test", 0).X, arrays["X_train"][:2])


def test_source_without_a_file(tmp_path: Path):
    dataset = ingest("sklearn:iris", tmp_path / "iris")
    assert (dataset.rows(), dataset.columns, dataset.classes) == (150, 4, (0, 1, 2))
    assert dataset.manifest.sources[0].sha256 is None


@pytest.mark.parametrize("content", ["1 1:1\n1 bad\n", "", "1 1:1\nnan 1:1\n"])
def test_failed_ingest_leaves_nothing(tmp_path: Path, content: str):
    good = svm(tmp_path / "a.svm", 40)
    bad = tmp_path / "bad.svm"
    bad.write_text(content)
    with pytest.raises(OlscaleError, match=r"bad\.svm"):
        ingest([good, bad], tmp_path / "d", chunk_rows=8)
    assert names(tmp_path) == ["a.svm", "bad.svm"]
    (tmp_path / "d").mkdir()
    with pytest.raises(OlscaleError):
        ingest([good, bad], tmp_path / "d", chunk_rows=8)
    assert names(tmp_path / "d") == [], "a directory that was there stays"


def test_bad_arguments_leave_nothing(tmp_path: Path):
    source = svm(tmp_path / "a.svm", 4)
    for arguments in ({"layout": "tar"}, {"chunk_rows": 0}, {"format": "svn"}):
        with pytest.raises(OlscaleError):
            ingest(source, tmp_path / "d", **arguments)
    with pytest.raises(DatasetError, match="does not exist"):
        ingest(tmp_path / "no.svm", tmp_path / "d")
    assert names(tmp_path) == ["a.svm"]


def test_taken_destination_stays_untouched(tmp_path: Path):
    source = svm(tmp_path / "a.svm", 10)
    ingest(source, tmp_path / "d")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    before = tree(tmp_path)
    for dest, message in (
        ("d", "already is a dataset"),
        ("mine", "holds other files"),
        ("a.svm", "is a file"),
    ):
        with pytest.raises(DatasetError, match=message):
            ingest(source, tmp_path / dest)
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("svmguide1/svmguide1", ("dense", 3089, 4, 2)),
        ("url_sample/Day45.svm", ("sparse", 130, None, 2)),
        ("letter/letter.scale", ("dense", 15000, 16, 26)),
    ],
)
def test_real_files(tmp_path: Path, shared_data, name: str, expected):
    dataset = ingest(shared_data(name), tmp_path / "d", format="svmlight")
    kind, rows, columns, classes = expected
    assert (dataset.kind, dataset.rows(), len(dataset.classes)) == (kind, rows, classes)
    assert columns in (None, dataset.columns)
    dataset.verify()


def test_numbering_of_indices_does_not_depend_on_chunk_rows(tmp_path: Path):
    """A file from zero that shows it only in a late row is the same dataset however it is cut."""
    (tmp_path / "a.svm").write_text("1 3:1\n" * 50 + "-1 0:1 90:1\n")
    made = [
        ingest(tmp_path / "a.svm", tmp_path / f"d{rows}", chunk_rows=rows)
        for rows in (10, 1000)
    ]
    assert made[0].fingerprint == made[1].fingerprint


@pytest.mark.parametrize("layout", ["parquet", "zarr"])
@pytest.mark.parametrize("wide", ["train", "second", "test"])
def test_dense_types_are_promoted(tmp_path: Path, layout: str, wide: str):
    """Pixels and floats go together, within a split and across splits."""
    X = np.arange(120.0).reshape(40, 3)
    for name, dtype in (("train", "u1"), ("second", "i1"), ("test", "u1")):
        values = X + 0.5 if name == wide else X.astype(dtype)
        np.savez(tmp_path / f"{name}.npz", X=values, y=np.arange(40) % 2)
    sources = [tmp_path / "train.npz", tmp_path / "second.npz"]
    dataset = ingest(
        sources,
        tmp_path / "d",
        test=tmp_path / "test.npz",
        layout=layout,
        chunk_rows=16,
    )
    got = {
        split: np.concatenate([chunk.X for chunk in dataset.chunks(split)])
        for split in ("train", "test")
    }
    expected = {name: X + 0.5 * (name == wide) for name in ("train", "second", "test")}
    np.testing.assert_array_equal(
        got["train"], np.concatenate([expected["train"], expected["second"]])
    )
    np.testing.assert_array_equal(got["test"], expected["test"])
    assert dataset.manifest.dtype == "float64"
    assert dataset.block("test", 0).X.dtype == (
        "float64" if wide == "test" else "uint8"
    )
    dataset.verify()


def test_spilled_members_are_removed(tmp_path: Path):
    """A fault in the last member leaves nothing of the first ones, nor of the directories made."""
    archive = tmp_path / "days.tar"
    with tarfile.open(archive, "w") as tar:
        for name, content in (
            ("Day1.svm", b"1 1:2\n"),
            ("../Day0.svm", b"1 1:2\n1 x:1\n"),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    with pytest.raises(FormatError, match=r"Day0\.svm, line 2"):
        ingest(archive, tmp_path / "new" / "deeper" / "d")
    assert names(tmp_path) == ["days.tar"]


@pytest.mark.parametrize(
    ("content", "label", "task"),
    [
        # as USPS: only the first column is whole
        (
            "1 0.5 0.25\n2 0.5 0.25\n" * 8,
            0,
            "classification",
        ),
        ("1 7 0.25\n2 0.5 0.75\n" * 40, 0, "classification"),
        ("1 0 0.25\n2 1 0.75\n" * 40, 2, "classification"),  # a feature is whole too
        # a counter, no label
        ("".join(f"{i} {i}.5\n" for i in range(50)), 1, "regression"),
        ("1 2.5\n3 1.5\n", 1, "classification"),  # too few rows to tell
        # columns with names: the last
        (
            "a,b,c\n" + "1,0.5,0.25\n2,0.5,0.25\n" * 8,
            "c",
            "classification",
        ),
    ],
)
def test_label_column_is_guessed(
    tmp_path: Path, content: str, label: object, task: str
):
    (tmp_path / "a").write_text(content)
    manifest = ingest(tmp_path / "a", tmp_path / "d").manifest
    assert (manifest.label_column, manifest.task) == (label, task)


def test_guessed_label_column_holds_for_all_sources(tmp_path: Path):
    (tmp_path / "a").write_text("1 0.5 0.25\n2 0.5 0.25\n" * 8)
    (tmp_path / "b").write_text("3 1 4.5\n")
    dataset = ingest(tmp_path / "a", tmp_path / "d", test=tmp_path / "b")
    assert dataset.chunk("test", 0).X.tolist() == [[1.0, 4.5]]


def test_labels_are_counted(tmp_path: Path):
    (tmp_path / "a.csv").write_text("".join(f"1.5,{i / 7}\n" for i in range(60)))
    manifest = ingest(tmp_path / "a.csv", tmp_path / "d").manifest
    assert (manifest.task, manifest.distinct_labels) == ("regression", 60)
