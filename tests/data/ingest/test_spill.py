"""Members of an archive are spilled as packed rows, and come back as if their text had been parsed in its turn."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import CSR
from olscale.data.formats.base import Batch
from olscale.data.ingest import spill
from olscale.data.ingest.archive import open_member
from olscale.data.ingest.ingest import ingest
from olscale.data.ingest.spill import read_batches, write_batch
from olscale.errors import FormatError

VALUES = st.one_of(
    st.just(1.0), st.floats(allow_nan=False), st.sampled_from([-0.0, float("nan")])
)
ENTRIES = st.dictionaries(
    st.integers(0, 2**31 - 2) | st.integers(0, 200), VALUES, max_size=12
)


@pytest.mark.long
@given(st.lists(ENTRIES, max_size=8))
@settings(max_examples=200)
def test_packed_rows_come_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[int, float]]
) -> None:
    """Whatever the gaps between indices, also the largest, and whatever the values."""
    lengths = [len(row) for row in rows]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    indices = np.array([index for row in rows for index in sorted(row)], np.int32)
    data = np.array([row[index] for row in rows for index in sorted(row)], np.float64)
    file = tmp_path_factory.mktemp("packed") / "0"
    with pytest.MonkeyPatch.context() as patch, file.open("wb") as out:
        patch.setattr(spill, "_PIECE_ROWS", 3)
        # the second begins in the middle of its arrays
        for part in (
            slice(0, None),
            slice(len(rows) // 2, None),
        ):
            X = CSR(indptr[part.start :], indices, data)
            write_batch(
                out,
                Batch(X, np.arange(len(rows))[part] * 0.5, columns=7, zero_based=True),
            )
    whole, half = read_batches(file)
    assert not file.exists()
    for batch, start in ((whole, 0), (half, len(rows) // 2)):
        assert isinstance(batch.X, CSR)
        np.testing.assert_array_equal(batch.X.indptr, indptr[start:] - indptr[start])
        np.testing.assert_array_equal(batch.X.indices, indices[indptr[start] :])
        assert batch.X.data.tobytes() == data[indptr[start] :].tobytes()
        assert [array.dtype for array in batch.X] == [np.int64, np.int32, np.float64]
        assert (batch.columns, batch.zero_based) == (7, True)


def archive(folder: Path, days: dict[str, str]) -> str:
    file = folder / "days.tar.gz"
    with tarfile.open(file, "w:gz") as tar:
        for name, text in days.items():
            info = tarfile.TarInfo(f"{name}.svm")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return str(file)


DAYS = {
    "from one": {
        "Day10": "+1 3:1\n",
        "Day2": "-1 1:0.5 2:1\n",
        "Day1": "\n-1 4:1 # first\n+1\n",
    },
    "from zero, which the first day says": {
        "Day10": "+1 3:1\n",
        "Day2": "-1 1:0.5 2:1\n",
        "Day1": "-1 0:1 4:1\n",
    },
    "a first day of empty rows": {"Day2": "-1 1:0.5 7:1\n", "Day1": "+1\n-1\n"},
}


@pytest.mark.parametrize("days", DAYS.values(), ids=DAYS)
def test_an_archive_is_read_as_its_files_in_natural_order(
    tmp_path: Path, days: dict[str, str]
) -> None:
    for name, text in days.items():
        (tmp_path / f"{name}.svm").write_text(text)
    names = sorted(days, key=lambda name: int(name[3:]))
    files = ingest(
        [str(tmp_path / f"{name}.svm") for name in names],
        str(tmp_path / "files"),
        segments="files",
    )
    packed = ingest(archive(tmp_path, days), str(tmp_path / "packed"), segments="files")
    assert packed.fingerprint == files.fingerprint
    assert (
        packed.manifest.splits["train"].segments
        == files.manifest.splits["train"].segments
    )
    assert packed.columns == files.columns


@pytest.mark.parametrize(
    "days",
    [
        {"Day1": "+1 1:1\n+1 2:1\n-1 0:1\n+1 3:x\n"},
        {"Day2": "+1 3:1\n-1 2:x\n", "Day1": "+1 1:1\n-1 2:\n"},
        {"Day10": "+1 3:x\n", "Day3": "+1 3:1\n-1 0:1\n", "Day1": "+1 1:1\n"},
    ],
)
def test_the_first_fault_in_natural_order_is_the_error_as_for_files(
    tmp_path: Path, days: dict[str, str]
) -> None:
    for name, text in days.items():
        (tmp_path / f"{name}.svm").write_text(text)
    names = sorted(days, key=lambda name: int(name[3:]))
    with pytest.raises(FormatError) as plain:
        ingest([str(tmp_path / f"{name}.svm") for name in names], str(tmp_path / "d"))
    packed = archive(tmp_path, days)
    with pytest.raises(FormatError) as fault:
        ingest(packed, str(tmp_path / "d"))
    assert str(fault.value) == str(plain.value).replace(f"{tmp_path}/", f"{packed}: ")


def test_an_archive_that_shrank_is_one_line(tmp_path: Path) -> None:
    file = archive(tmp_path, {"Day1": "+1 1:1\n"})
    with open_member(file, 0) as text:
        assert text.read() == b"+1 1:1\n"
    with (
        pytest.raises(FormatError, match="changed while it was read"),
        open_member(file, 1),
    ):
        pass


def test_a_tar_that_ends_in_a_member_is_damaged(tmp_path: Path) -> None:
    file = tmp_path / "days.tar"
    with tarfile.open(file, "w") as tar:
        info = tarfile.TarInfo("Day1.svm")
        info.size = 480_000
        tar.addfile(info, io.BytesIO(b"+1 1:1\n" * 70_000))
    file.write_bytes(file.read_bytes()[:300_000])
    with pytest.raises(
        FormatError,
        match=r"days\.tar: is no tar archive or is damaged \(unexpected end of data\)",
    ):
        ingest(str(file), str(tmp_path / "d"))


def test_a_member_of_less_than_no_bytes_is_damage(tmp_path: Path) -> None:
    """Not all versions of tarfile refuse it."""
    file = tmp_path / "days.tar"
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("Day1.svm")
        info.size = 7
        info.pax_headers = {"size": "-7"}
        tar.addfile(info, io.BytesIO(b"+1 1:1\n"))
    with pytest.raises(
        FormatError,
        match=r"days\.tar: is no tar archive or is damaged|holds no data files",
    ):
        ingest(str(file), str(tmp_path / "d"))


@pytest.mark.parametrize(
    ("days", "where"),
    [
        (
            {"Day2": "+1 3:1\n\n-1 0:1 2:1\n", "Day1": "+1 1:1\n"},
            r"Day2.svm, line 3: index 0 in '0:1'",
        ),
        (
            {"Day1": "+1 1:1\n" * 16_384 + "+1 0:5\n"},
            r"Day1.svm, line 16385: index 0 in '0:5'",
        ),
    ],
)
def test_an_index_0_in_text_that_counts_from_1_is_an_error_of_its_line(
    tmp_path: Path, days: dict[str, str], where: str
) -> None:
    with pytest.raises(FormatError, match=where):
        ingest(archive(tmp_path, days), str(tmp_path / "d"), index_base=1)
    assert not (tmp_path / "d").exists()
