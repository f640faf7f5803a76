"""What is to be ingested: files, folders, patterns, archives and names, in a fixed order."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from olscale.data.storage import split_url
from olscale.errors import DatasetError, FormatError

__all__ = ["Source", "expand", "natural_key", "sha256_and_size"]

_ARCHIVE = re.compile(r"\.(tar|tar\.(gz|bz2|xz|zst)|tgz|tbz2|txz)$", re.IGNORECASE)
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_NAME = re.compile(r"^[a-z][a-z0-9_-]+:(?!//)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """One source to read.

    Parameters
    ----------
    name : str
        Last component of the path, or the whole name of a source that is no file.
    path : str
        What its format reads.
    file : str or None
        The file whose SHA-256 is recorded: the archive of a member; None for a source that is no file.
    """

    name: str
    path: str
    file: str | None

    @property
    def segment(self) -> str:
        """Name of the segment made of this source: the file name without endings.

        Examples
        --------
        >>> Source("Day45.svm.gz", "url/Day45.svm.gz", None).segment
        'Day45'
        """
        name = self.name
        for suffix in _COMPRESSED:
            name = name.removesuffix(suffix)
        return PurePosixPath(name).stem


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key in which numbers count as numbers.

    Examples
    --------
    >>> sorted(["Day10.svm", "Day2.svm"], key=natural_key)
    ['Day2.svm', 'Day10.svm']
    """
    parts = [part for part in re.split(r"(\d+)", name) if part]
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def expand(sources: Iterable[str], spool: Path) -> list[Source]:
    """Return the sources to read, in order.

    A folder, pattern (``days/*.svm``) or tar archive stands for its files in natural order (``Day2`` before ``Day10``).
    Members of an archive are unpacked below `spool`, since they must be read in another order than they lie in it.

    Raises
    ------
    DatasetError
        When a source does not exist, or a folder or archive holds files of different kinds.
    """
    found: list[Source] = []
    for number, source in enumerate(sources):
        found += _expand_one(source, spool / str(number))
    return found


def _expand_one(source: str, spool: Path) -> list[Source]:
    fs, path = split_url(source)
    if not fs.exists(path):
        if _NAME.match(source):
            return [Source(source, source, None)]
        bare = path.rpartition("#")[0]
        if bare and fs.exists(bare):
            return [Source(PurePosixPath(path).name, source, source.rpartition("#")[0])]
        matches = [match for match in fs.glob(path) if fs.isfile(match)] if re.search(r"[*?\[]", path) else []
        if not matches:
            raise DatasetError(f"source {source} does not exist")
        return _files(fs, sorted(matches, key=natural_key))
    if fs.isdir(path):
        entries = [str(entry) for entry in fs.find(path)]
        visible = [entry for entry in entries if "/." not in entry[len(path) :]]
        return _files(fs, _alike(sorted(visible, key=natural_key), source))
    if _ARCHIVE.search(path):
        _unpack(source, spool)
        members = sorted((str(member) for member in spool.rglob("*") if member.is_file()), key=natural_key)
        return [Source(PurePosixPath(member).name, member, source) for member in _alike(members, source)]
    return [Source(PurePosixPath(path).name, source, source)]


def _files(fs: Any, paths: list[str]) -> list[Source]:
    urls = [str(fs.unstrip_protocol(path)).removeprefix("file://") for path in paths]
    return [Source(PurePosixPath(url).name, url, url) for url in urls]


def _alike(paths: list[str], source: str) -> list[str]:
    """Return the data files among `paths`: those with a suffix, all the same one.

    The URL archive holds a file without suffix (``FeatureTypes``) beside its days, hence that exception.
    """
    suffixes = {PurePosixPath(path).suffix for path in paths}
    if not paths:
        raise DatasetError(f"source {source} holds no files")
    if len(suffixes - {""}) > 1:
        raise DatasetError(
            f"source {source} holds files of different kinds ({', '.join(sorted(suffixes))}); "
            f"name the data files with a pattern such as {source}/*{max(suffixes)}"
        )
    return [path for path in paths if PurePosixPath(path).suffix] if len(suffixes) == 2 else paths


def _unpack(source: str, spool: Path) -> None:
    import tarfile

    from olscale.data.formats.compression import open_source

    try:
        with open_source(source) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if member.isfile() and not PurePosixPath(member.name).name.startswith("."):
                    archive.extract(member, spool, filter="data")
    except tarfile.TarError as error:
        raise FormatError(source, f"not a readable tar archive ({error})") from error


def sha256_and_size(file: str) -> tuple[str, int]:
    """Return SHA-256 (hex) and size in bytes of `file`."""
    fs, path = split_url(file)
    with fs.open(path, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
        return digest.hexdigest(), stream.tell()
