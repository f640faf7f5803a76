"""An ingest that was interrupted goes on where it was, to the same bytes."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from olscale.data.dataset import open_dataset
from olscale.data.formats.base import ReadOptions
from olscale.data.formats.svmlight import SvmlightFormat
from olscale.data.ingest.claim import EARLIER, PROGRESS, Earlier, Journal
from olscale.data.ingest.ingest import ingest
from olscale.data.manifest import ChunkEntry
from olscale.errors import DatasetError, FormatError
from olscale.storage.open import open_storage
from tests.data.ingest.test_ingest import names, svm, tree

SLOW = """
import sys, time
from olscale.data.ingest.ingest import ingest
ingest(sys.argv[1], sys.argv[2], chunk_rows=100, segments="files",
       progress=lambda name, rows, size: (print(rows, flush=True), time.sleep(0.2)))
"""


@pytest.fixture
def killed(tmp_path: Path):
    """An ingest killed in the third of ten files: source, destination."""
    source = tmp_path / "days"
    for day in range(10):
        svm(source / f"Day{day}.svm", 200, seed=day)
    command = [sys.executable, "-c", SLOW, str(source), str(tmp_path / "d")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
    )
    assert process.stdout is not None
    for _ in range(3):
        assert process.stdout.readline()
    with pytest.raises(DatasetError, match="interrupted or is still running"):
        open_dataset(tmp_path / "d")
    with pytest.raises(DatasetError, match="another process is building"):
        ingest(source, tmp_path / "d")
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    return source, tmp_path / "d"


@pytest.mark.long
def test_killed_ingest_does_not_open_and_a_rerun_finishes_it(killed, tmp_path: Path):
    source, dest = killed
    assert (dest / "train" / "00000.parquet").exists(), "it was killed in the middle"
    marker = json.loads((dest / "ingest.json").read_text())
    assert marker["train"] == [str(source)]
    assert not (dest / "manifest.json").exists()
    with pytest.raises(DatasetError, match="run the same ingest again"):
        open_dataset(dest)
    ingest(source, dest, chunk_rows=100, segments="files")
    ingest(source, tmp_path / "undisturbed", chunk_rows=100, segments="files")
    assert tree(dest) == tree(tmp_path / "undisturbed")


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the sources whose text was parsed."""
    names: list[str] = []
    read = SvmlightFormat.read

    def noting(self: SvmlightFormat, source: str, options: ReadOptions):
        names.append(source.rsplit("/", 1)[-1].rsplit(": ", 1)[-1])
        return read(self, source, options)

    monkeypatch.setattr(SvmlightFormat, "read", noting)
    return names


@pytest.mark.parametrize(
    ("layout", "form", "stops", "train_rows"),
    [  # any two of these meet
        ("parquet", "folder", [3, 6], None),
        ("parquet", "archive", [8, 2], 430),
        ("zarr", "folder", [8, 2], 430),
        ("zarr", "archive", [3, 6], 430),
        ("zarr", "archive", [8, 2], None),
    ],
)
def test_interrupted_ingest_goes_on_with_the_day_it_was_in(
    tmp_path: Path,
    parsed: list[str],
    layout: str,
    form: str,
    stops: list[int],
    train_rows: int | None,
):
    """Whatever was interrupted how often: the same bytes, and no day parsed whose rows were all written."""
    for day in range(10):
        svm(tmp_path / "days" / f"Day{day}.svm", 90 + day, seed=day)
    source = tmp_path / "days"
    if form == "archive":
        source = tmp_path / "days.tar"
        with tarfile.open(source, "w") as tar:
            for day in (3, 1, 0, 2, 9, 8, 7, 4, 5, 6):
                tar.add(tmp_path / "days" / f"Day{day}.svm", f"days/Day{day}.svm")
    options = {
        "layout": layout,
        "chunk_rows": 50,
        "segments": "files",
        "train_rows": train_rows,
    }
    most = 0
    for stop in stops:
        told: set[str] = set()

        def progress(
            name: str, rows: int, size: int, told: set[str] = told, stop: int = stop
        ):
            told.add(name)
            if len(told) == stop:
                raise SystemExit  # which nothing clears up after

        with pytest.raises(SystemExit):
            ingest(source, tmp_path / "d", progress=progress, **options)
        most = max(most, stop)
    parsed.clear()
    ingest(source, tmp_path / "d", **options)
    again = list(parsed)
    ingest(source, tmp_path / "undisturbed", **options)
    assert tree(tmp_path / "d") == tree(tmp_path / "undisturbed")
    # A chunk (50 rows) and, in zarr, the piece before it (1,024 entries) may not have been written.
    behind = 1 if layout == "parquet" else 3
    assert len(again) <= 10 - (most - 1) + behind
    assert len(again) > 0
    assert sorted(again) == [f"Day{day}.svm" for day in range(10 - len(again), 10)]


def test_members_of_one_name_are_not_taken_for_each_other_by_a_resumed_ingest(
    tmp_path: Path,
):
    archive = tmp_path / "days.tar"
    with tarfile.open(archive, "w") as tar:
        for number, name in enumerate(("b/1.svm", "a/1.svm", "a/2.svm")):
            content = b"+1 %d:1\n-1 50000:1\n" % (number + 1) * 3
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))

    def progress(name: str, rows: int, size: int):
        if name.endswith("2.svm"):
            raise SystemExit

    with pytest.raises(SystemExit):
        ingest(archive, tmp_path / "d", chunk_rows=2, progress=progress)
    resumed = ingest(archive, tmp_path / "d", chunk_rows=2)
    assert (
        resumed.fingerprint
        == ingest(archive, tmp_path / "undisturbed", chunk_rows=2).fingerprint
    )


@pytest.mark.long
def test_rows_of_other_sources_or_options_are_not_taken(
    killed, tmp_path: Path, parsed: list[str]
):
    source, dest = killed
    ingest(source, dest, chunk_rows=90, segments="files")
    assert len(parsed) == 10
    assert names(dest) == ["manifest.json", "train"]


@pytest.mark.long
def test_changed_source_is_parsed_again(killed, tmp_path: Path, parsed: list[str]):
    source, dest = killed
    svm(source / "Day0.svm", 210, seed=77)
    assert ingest(source, dest, chunk_rows=100, segments="files").rows() == 2010
    assert len(parsed) == 10


@pytest.mark.long
def test_damaged_rows_of_an_interrupted_ingest_are_told(killed):
    source, dest = killed
    file = dest / "train" / "00000.parquet"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(DatasetError, match="rows of an interrupted ingest are damaged"):
        ingest(source, dest, chunk_rows=100, segments="files")
    assert not dest.exists()


@pytest.mark.long
def test_failing_rerun_of_a_killed_ingest_leaves_nothing(killed):
    source, dest = killed
    (source / "Day7.svm").write_text("1 1:1\nbad\n")
    with pytest.raises(FormatError):
        ingest(source, dest)
    assert not dest.exists()


@pytest.mark.parametrize("of", ["damaged", "earlier version"])
def test_rows_are_not_taken_from_a_place_that_a_wrong_digit_names(
    tmp_path: Path, of: str
) -> None:
    """Of what has a wrong checksum or none, all is read again."""
    directory = open_storage(tmp_path)
    journal = Journal(directory, zero_based=False)
    journal.read("Day0.svm", 200)
    journal.written(
        "train",
        [ChunkEntry(rows=100, nonzeros=9, file=name) for name in "ab"],
        {"00000.parquet": 0},
        "parquet",
        100,
        5,
    )
    directory.put(f"{EARLIER}/{PROGRESS}", directory.read(PROGRESS))
    assert Earlier(directory).members == {"Day0.svm": (0, 200)}
    content = json.loads(directory.read(PROGRESS))
    content["pieces"] = [["Day0.svm", 100]]
    if of == "earlier version":
        del content["checksum"]
    directory.put(f"{EARLIER}/{PROGRESS}", json.dumps(content).encode())
    assert Earlier(directory).members == {}
