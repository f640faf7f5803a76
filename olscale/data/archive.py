"""Tar archives with a file a segment, as the URL set is published: one pass, whatever the order of the members.

The days of a stream lie in an archive in any order, but must be learnt in theirs. So the archive is read once from its
first byte to its last; the rows of every member are parsed as they come by and set aside in a file of their own, and
are then handed on in natural order (``Day2`` before ``Day10``). No member is ever unpacked: the files set aside are
named by us, hold parsed rows and are removed as soon as they are read again.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import numpy as np

from olscale.data.build import Piece
from olscale.data.chunk import CSR
from olscale.data.formats import TEXT_FORMATS, known_suffixes
from olscale.data.formats.base import Batch
from olscale.data.formats.compression import decompressed, open_source, strip_compression
from olscale.data.sources import natural_key, segment_name
from olscale.errors import FormatError

__all__ = ["archive_pieces", "is_archive", "open_members"]

_ARCHIVE = re.compile(r"\.(tar|tar\.(gz|bz2|xz|zst)|tgz|tbz2|txz)$", re.IGNORECASE)
_DATA = frozenset((".txt", ".dat", ".data", ".t", ".trn", ".tst", ".train", ".test"))
_NOTES = re.compile(r"(\.|readme|license|copying|featuretypes)", re.IGNORECASE)
_READ_BYTES = 1 << 20

Parse = Callable[[str, BufferedReader], Iterator[Batch]]
"""Given the name of a member and its text, yields its rows, and tells how far it is."""


def is_archive(source: str) -> bool:
    """Return whether `source` is a tar archive by its name.

    Examples
    --------
    >>> is_archive("url_svmlight.tar.gz"), is_archive("Day0.svm.gz")
    (True, False)
    """
    return _ARCHIVE.search(source) is not None


def open_members(archive: str) -> Iterator[tuple[str, BufferedReader]]:
    """Yield name and decompressed content of the data files in `archive`, in its order; read one before the next.

    A data file has an ending that tells its format, or one of ``.txt .dat .data .t .trn .tst .train .test``. All others
    (``FeatureTypes``, ``README``) are passed over.

    Raises
    ------
    FormatError
        When `archive` is missing, damaged or no tar archive.
    """
    suffixes = known_suffixes() | _DATA
    with open_source(archive) as stream:
        try:
            with tarfile.open(fileobj=stream, mode="r|", bufsize=_READ_BYTES) as tar:
                for info in tar:
                    path = PurePosixPath(info.name)
                    data = PurePosixPath(strip_compression(path.name)).suffix.lower() in suffixes
                    content = tar.extractfile(info) if info.isfile() and data and not _NOTES.match(path.name) else None
                    if content is not None:
                        buffered = BufferedReader(content.raw, _READ_BYTES)  # type: ignore[attr-defined]
                        yield info.name, decompressed(f"{archive}: {info.name}", buffered, buffered.peek(6)[:6])
        except tarfile.TarError as error:
            raise FormatError(archive, f"is no tar archive or is damaged ({error})") from error


def _write_batch(file: BinaryIO, batch: Batch) -> None:
    """Write a line of JSON and then plain arrays."""
    text = isinstance(batch.target, list)
    about = {
        "columns": int(batch.columns),
        "feature_names": batch.feature_names,
        "zero_based": batch.zero_based,
        "label": batch.label,
        "regression": batch.regression,
        "text": batch.target if text else None,
    }
    arrays = [*(batch.X if isinstance(batch.X, CSR) else [batch.X]), *([] if text else [batch.target])]
    file.write(json.dumps({"arrays": len(arrays), **about}, default=lambda value: value.item()).encode() + b"\n")
    for array in arrays:
        np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)


def _read_batch(file: BinaryIO) -> Batch:
    about = json.loads(file.readline())
    arrays = [np.lib.format.read_array(file, allow_pickle=False) for _ in range(about.pop("arrays"))]
    text, names = about.pop("text"), about.pop("feature_names")
    target = arrays.pop() if text is None else text
    X = CSR(*arrays) if len(arrays) > 1 else arrays[0]
    return Batch(X, target, feature_names=None if names is None else tuple(names), **about)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """The rows of one member, set aside."""

    member: str
    file: Path

    def batches(self) -> Iterator[Batch]:
        with self.file.open("rb") as stream:
            while stream.peek(1):
                yield _read_batch(stream)
        self.file.unlink()


def archive_pieces(archive: str, parse: Parse, spool: Path) -> Iterator[Piece]:
    """Yield the members of `archive` in natural order.

    Parameters
    ----------
    archive : str
        Local path or fsspec address.
    parse : callable
        Reads one member.
    spool : Path
        Directory for parsed rows, made when needed.

    Raises
    ------
    FormatError
        When the archive is damaged, holds no data files or several kinds of them.
    """
    spool.mkdir(parents=True, exist_ok=True)
    parsed: list[_Parsed] = []
    for number, (member, content) in enumerate(open_members(archive)):
        if parsed and _kind(member) != _kind(parsed[0].member):
            raise FormatError(
                archive,
                f"holds files of different kinds ({parsed[0].member}, {member}); unpack it and name the data files",
            )
        kept = _Parsed(member, spool / str(number))
        with kept.file.open("wb") as file:
            for batch in parse(member, content):
                _write_batch(file, batch)
        parsed.append(kept)
    if not parsed:
        raise FormatError(archive, f"holds no data files, as .svm or .csv; it must hold {', '.join(TEXT_FORMATS)} text")
    for kept in sorted(parsed, key=lambda kept: natural_key(kept.member)):
        name = PurePosixPath(kept.member).name
        yield Piece(f"{archive}: {name}", segment_name(name), partial(_Parsed.batches, kept), told=True)


def _kind(member: str) -> str:
    return PurePosixPath(strip_compression(member)).suffix.lower()
