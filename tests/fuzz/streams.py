"""Compressed text and tar archives."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

from olscale.data.formats import find_format
from olscale.data.formats.base import ReadOptions
from olscale.data.ingest.members import read_member, spill_archive
from olscale.data.stored_rows import DEFAULT_CHUNK_ROWS
from tests.fuzz.batches import checked, read_rows
from tests.fuzz.mutate import Mutator
from tests.fuzz.target import Files, Target
from tests.fuzz.texts import SVMLIGHT, SVMLIGHT_WORDS


def read_packed(folder: Path) -> None:
    read_rows(folder / "rows.svm.gz", "svmlight")


def read_archive(folder: Path) -> None:
    options = ReadOptions(chunk_rows=DEFAULT_CHUNK_ROWS)
    for member in spill_archive(
        str(folder / "days.tar.gz"), "svmlight", folder / "spill"
    ):
        checked(
            read_member(member, find_format(member.name, "svmlight"), options),
            DEFAULT_CHUNK_ROWS,
        )


def packed(data: bytes, codec: int) -> bytes:
    if codec == 0:
        return gzip.compress(data, 1, mtime=0)
    if codec == 1:
        return bz2.compress(data)
    if codec == 2:
        return lzma.compress(data)
    import pyarrow

    return pyarrow.compress(data, codec="zstd", asbytes=True)  # type: ignore[no-any-return]


def packed_seeds() -> list[Files]:
    return [
        {"rows.svm.gz": packed(data, codec)}
        for codec in range(4)
        for data in SVMLIGHT[:2]
    ] + [
        {"rows.svm.gz": packed(SVMLIGHT[0], codec) + packed(SVMLIGHT[0], codec)}
        for codec in range(3)
    ]


def tar_of(
    members: Sequence[tuple[str, bytes]], format: int = tarfile.GNU_FORMAT
) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def archive_seeds() -> list[Files]:
    days = [
        ("url/Day10.svm", SVMLIGHT[0]),
        ("url/Day2.svm", b"1 1:1\n"),
        ("url/FeatureTypes", b"4\n"),
    ]
    packed_days = [
        ("a" * 120 + "/d.svm.gz", packed(b"1 1:1\n", 0)),
        ("e.svm.gz", packed(b"1 2:1\n", 1)),
    ]
    return [
        {"days.tar.gz": tar_of(days)},
        {"days.tar.gz": tar_of(packed_days, tarfile.PAX_FORMAT)},
        {"days.tar.gz": packed(tar_of(days[:2]), 0)},
    ]


_TEXT = Mutator(SVMLIGHT_WORDS)


_NAMES = (
    *(
        "Day1.svm",
        "a/../../b.svm",
        "/etc/c.svm",
        "d.csv",
        "e" * 300 + ".svm",
        "f.svm.xz",
    ),
    "9" * 5000 + ".svm",
)
_PAX: tuple[dict[str, str], ...] = (
    *({}, {}),
    {"size": "99999999999999999999"},
    {"path": "x\0y.svm"},
    {"GNU.sparse.major": "1"},
)


def vary_archive(random: Random, files: Files) -> Files:
    """Write members and headers of all kinds under right checksums."""
    buffer = io.BytesIO()
    with tarfile.open(
        fileobj=buffer,
        mode="w",
        format=random.choice((tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)),
    ) as tar:
        for _ in range(random.randrange(4)):
            info = tarfile.TarInfo(random.choice(_NAMES))
            data = _TEXT.mutate(random, random.choice(SVMLIGHT), SVMLIGHT)
            info.size = random.choice(
                (len(data), len(data), len(data), 0, 10**6, 2**40, 7)
            )
            if random.random() < 0.3:
                info.type = random.choice(
                    (*(bytes([byte]) for byte in b"01234567gxLKSDMVN"), b"\0")
                )
                info.linkname = random.choice(("Day1.svm", "", "../x"))
            if info.type in (b"0", b"\0"):
                info.pax_headers = random.choice(_PAX)
            tar.fileobj.write(info.tobuf(tar.format, "utf-8", "surrogateescape"))  # type: ignore[union-attr]
            tar.fileobj.write(data + bytes(-len(data) % 512))  # type: ignore[union-attr]
    data = buffer.getvalue()
    return {"days.tar.gz": packed(data, 0) if random.random() < 0.2 else data}


TARGETS = (
    Target("compressed", packed_seeds, read_packed),
    Target("archive", archive_seeds, read_archive, vary=vary_archive),
)
