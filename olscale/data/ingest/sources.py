"""What is to be ingested: files, folders, patterns and names, in a fixed order."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, cast

from olscale.data.formats.compression import errors_of, open_raw, strip_compression, unreadable
from olscale.data.formats.text import labels_beside
from olscale.data.manifest import MANIFEST
from olscale.errors import DatasetError
from olscale.storage.clients import split_url

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
        The file whose SHA-256 is recorded; None for a source that is no file.
    """

    name: str
    path: str
    file: str | None


def segment_name(file: str) -> str:
    """Return the name of the segment made of `file`: its name without endings.

    Examples
    --------
    >>> segment_name("Day45.svm.gz")
    'Day45'
    """
    return PurePosixPath(strip_compression(file)).stem


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key in which numbers count as numbers.

    Examples
    --------
    >>> sorted(["Day10.svm", "Day2.svm"], key=natural_key)
    ['Day2.svm', 'Day10.svm']
    """
    parts = [part for part in re.split(r"(\d+)", name) if part]
    # By length and then as text: Python refuses to read numbers of thousands of digits.
    numbers = [part.lstrip("0") for part in parts]
    return [
        (0, len(number), number) if part.isdecimal() else (1, 0, part)
        for part, number in zip(parts, numbers, strict=True)
    ]


def expand(sources: Iterable[str]) -> list[Source]:
    """Return the sources to read, in order.

    A folder or pattern (``days/*.svm``) stands for its files in natural order (``Day2`` before ``Day10``).

    Raises
    ------
    DatasetError
        When a source does not exist, or a folder holds files of different kinds.
    """
    found: list[Source] = []
    for source in sources:
        with errors_of(source):
            found += _expand_one(source)
    return found


def _expand_one(source: str) -> list[Source]:
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
        if fs.exists(f"{path}/{MANIFEST}"):
            raise DatasetError(f"source {source} already is a dataset; name the files it was made from")
        entries = [str(entry) for entry in fs.find(path)]
        visible = [entry for entry in entries if "/." not in entry[len(path) :]]
        return _files(fs, _alike(sorted(visible, key=natural_key), source))
    return [Source(PurePosixPath(path).name, source, source)]


def _files(fs: Any, paths: list[str]) -> list[Source]:
    urls = [str(fs.unstrip_protocol(path)).removeprefix("file://") for path in paths]
    return [Source(PurePosixPath(url).name, url, url) for url in urls]


def _alike(paths: list[str], folder: str) -> list[str]:
    """Return the data files among `paths`: those with a suffix, all the same one.

    The URL set has a file without suffix (``FeatureTypes``) beside its days, UCI sets have labels beside their data,
    hence these exceptions.
    """
    labels = {labels_beside(path) for path in paths}
    paths = [path for path in paths if path not in labels]
    suffixes = {_kind(path) for path in paths}
    if not paths:
        raise DatasetError(f"source {folder} holds no files")
    if len(suffixes - {""}) > 1:
        several = ", ".join(sorted(suffixes - {""}))
        raise DatasetError(
            f"source {folder} holds files of different kinds ({several}); "
            f"name the data files with a pattern such as '{folder}/*{PurePosixPath(paths[0]).suffix}'"
        )
    return [path for path in paths if _kind(path)] if len(suffixes) == 2 else paths


def _kind(path: str) -> str:
    return PurePosixPath(strip_compression(path)).suffix


def sha256_and_size(file: str) -> tuple[str, int]:
    """Return SHA-256 (hex) and size in bytes of `file`."""
    with open_raw(file) as stream:
        try:
            digest = hashlib.file_digest(cast(Any, stream), "sha256")
        except OSError as error:
            raise unreadable(file, error) from error
        return digest.hexdigest(), stream.tell()


def stamp(file: str) -> str:
    """Return what changes when `file` is written anew: a digest of its size, time and place."""
    fs, path = split_url(file)
    with errors_of(file):
        return str(fs.ukey(path))
