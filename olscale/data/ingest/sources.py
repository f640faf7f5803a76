"""The sources of an ingest: files, folders, patterns and names, in a fixed order.

Folders such as ``day=mon`` in ``day=mon/part-0.parquet`` name columns, see `Constant`.
"""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import PurePosixPath
from shlex import quote
from typing import Any, cast
from urllib.parse import unquote

from olscale.addresses import redacted, redacted_name
from olscale.data.formats.cells import is_number
from olscale.data.formats.compression import (
    errors_of,
    open_raw,
    open_source,
    strip_compression,
    unreadable,
)
from olscale.data.formats.idx import labels_among
from olscale.data.formats.table_columns import Constant
from olscale.data.formats.text import labels_beside
from olscale.data.ingest.archive import split_archive
from olscale.data.ingest.data_files import (
    conflict,
    data_among,
    is_note,
    listed,
    looks_like_rows,
    passed_over_note,
    pattern_of,
)
from olscale.data.manifest import MANIFEST
from olscale.errors import DatasetError
from olscale.storage.clients import local_path, split_url

_NAME = re.compile(r"^[a-z][a-z0-9_-]+:(?!//)", re.IGNORECASE)
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Source:
    """One source to read.

    Parameters
    ----------
    name : str
        Last component of the path, or the path from the common folder of all sources if that
        component is not unique; the whole name of a source that is no file.
    path : str
        The name that its format opens.
    file : str or None
        The file whose SHA-256 is recorded; None if the source is no file.
    place : str
        Full path of the file in its file system.
    root : str
        Full path of the folder that the user named, or of the folder of the named file.
    below : str
        Path of the file from the common folder of all sources named together.
    segment : str
        Name of its segment, if each source is one.
    part : bool
        Whether it is one of several files of a folder or pattern.
    members : str, optional
        Pattern of the files of an archive to read.
    constants : tuple of Constant
        Columns that its folders name, see `olscale.data.ingest.sources`.
    """

    name: str
    path: str
    file: str | None
    place: str = ""
    root: str = ""
    below: str = ""
    segment: str = ""
    part: bool = False
    members: str | None = None
    constants: tuple[Constant, ...] = ()


def segment_name(file: str) -> str:
    """Return the name of the segment made of `file`: its name without endings.

    Examples
    --------
    >>> segment_name("Day45.svm.gz")
    'Day45'
    """
    return PurePosixPath(strip_compression(file)).stem


def segment_names(files: Sequence[str]) -> list[str]:
    """Return a unique name for the segment made of each of `files` (paths).

    Examples
    --------
    >>> segment_names(["day=mon/part-0.csv", "day=tue/part-0.csv", "Day3.svm"])
    ['day=mon', 'day=tue', 'Day3']
    >>> segment_names(["day=mon/part-0.csv", "day=mon/part-1.csv"])
    ['day=mon/part-0', 'day=mon/part-1']
    """
    names = [_partition(file) or segment_name(file) for file in files]
    long_names = [
        str(PurePosixPath(file).parent / segment_name(file)) for file in files
    ]
    return _distinct(names, long_names)


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that compares numbers by value.

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


def expand(
    sources: Iterable[str], note: Callable[[str], None] | None = None
) -> list[Source]:
    """Return the sources to read, in order.

    A folder or pattern (``days/*.svm``) stands for its files in natural order (``Day2`` before
    ``Day10``).

    Parameters
    ----------
    sources : iterable of str
    note : callable, optional
        Called with each line about files of a folder that are skipped.

    Raises
    ------
    DatasetError
        When a source does not exist, or a folder holds files that do not belong together.
    """
    expanded: list[Source] = []
    for source in sources:
        with errors_of(source):
            expanded += _expand_one(source, note or _say_nothing)
    common = redacted(
        _common_folder([source.root for source in expanded if source.file])
    )
    paths = [
        redacted(source.place).removeprefix(common) if source.file else source.name
        for source in expanded
    ]
    names = _distinct([source.name for source in expanded], paths)
    return [
        replace(source, name=name, below=path, segment=segment)
        for source, name, path, segment in zip(
            expanded,
            names,
            paths,
            segment_names(paths),
            strict=True,
        )
    ]


def _say_nothing(line: str) -> None:
    pass


def _expand_one(source: str, note: Callable[[str], None]) -> list[Source]:
    # Without fsspec where possible: to import it takes as long as to read a small table.
    place = local_path(source)
    # Path.is_file raises where it may not look.
    if place is not None and os.path.isfile(place):  # noqa: PTH113
        return [_file(source, place)]
    fs, path = split_url(source)
    if fs.exists(path):
        if not fs.isdir(path):
            return [_file(source, path)]
        # The files of its chunks would pass for a table in parts.
        if fs.exists(f"{path}/{MANIFEST}"):
            raise DatasetError(
                f"source {source} already is a dataset; name the files it was made from"
            )
        return _in_folders(fs, [path], path, source, note)
    if _NAME.match(source):
        return [Source(source, source, None)]
    archive, members = split_archive(source)
    inside, place = split_url(archive)
    if members and inside.isfile(place):
        return [replace(_file(archive, place), members=members)]
    bare = path.rpartition("#")[0]
    if bare and fs.exists(bare):
        return [replace(_file(source.rpartition("#")[0], bare), path=source)]
    matches = (
        sorted(map(str, fs.glob(path)), key=natural_key) if _MAGIC.search(path) else []
    )
    if source == "-":
        raise DatasetError(
            "source - would be standard input, which is not read: write it to a file first"
        )
    if not matches:
        raise DatasetError(f"source {source} does not exist")
    root = path[: _MAGIC.search(path).start()].rpartition("/")[0]  # type: ignore[union-attr]
    files = [match for match in matches if fs.isfile(match)]
    if not files:
        return _in_folders(fs, matches, root, source, note)
    # A pattern that fits notes alone means them.
    data = [file for file in files if not is_note(PurePosixPath(file).name)] or files
    _tell_passed_over(source, files, data, note)
    return _files(fs, data, root)


def _tell_passed_over(
    source: str,
    files: Sequence[str],
    data: Sequence[str],
    note: Callable[[str], None],
) -> None:
    read = set(data)
    passed_over = [file for file in files if file not in read]
    if passed_over:
        note(passed_over_note(source, passed_over))


def _file(source: str, path: str) -> Source:
    return Source(
        redacted_name(path), source, source, place=path, root=path.rpartition("/")[0]
    )


def _files(fs: Any, paths: Sequence[str], root: str) -> list[Source]:
    urls = [str(fs.unstrip_protocol(path)).removeprefix("file://") for path in paths]
    return [
        Source(redacted_name(url), url, url, place=path, root=root, part=len(paths) > 1)
        for url, path in zip(urls, paths, strict=True)
    ]


def _in_folders(
    fs: Any,
    folders: Sequence[str],
    root: str,
    source: str,
    note: Callable[[str], None],
) -> list[Source]:
    """Return the data files in `folders`, below `root`; the user wrote `source`."""
    entries = [
        entry for folder in folders for entry in fs.find(folder, detail=True).items()
    ]
    # pipes, sockets and devices
    places = [str(place) for place, detail in entries if detail.get("type") != "other"]
    names = sorted(
        (place.removeprefix(f"{root}/") for place in places), key=natural_key
    )

    def address(name: str) -> str:
        return str(fs.unstrip_protocol(f"{root}/{name}")).removeprefix("file://")

    def holds_data(name: str) -> bool:
        with open_source(address(name)) as content:
            return looks_like_rows(name, content)

    # Labels are read together with their rows, whose file is named.
    labels = {labels_beside(address(name)) for name in names}
    images = labels_among(names)
    names = [
        name for name in names if address(name) not in labels and name not in images
    ]
    data = data_among(names, holds_data)
    if not data:
        passed_over = ""
        if names:
            passed_over = f"; passed over: {listed(names)}"
        raise DatasetError(f"source {source} holds no files of data{passed_over}")
    base = source.rstrip("/") if len(folders) == 1 and folders[0] == root else root

    def pattern(group: Sequence[str]) -> str:
        def matches(glob: str) -> list[str]:
            return [
                str(place).removeprefix(f"{root}/")
                for place in fs.glob(f"{root}/{glob}")
                if fs.isfile(place)
            ]

        fit = pattern_of(group, matches)
        if fit is None:
            return " ".join(quote(f"{base}/{name}") for name in group[:3])
        return quote(f"{base}/{fit}")

    if (problem := conflict(data, pattern)) is not None:
        raise DatasetError(f"source {source} {problem}")
    _tell_passed_over(source, names, data, note)
    return _files(fs, [f"{root}/{name}" for name in data], root)


def _common_folder(folders: Sequence[str]) -> str:
    """Return the folder that contains all of `folders`, with a trailing slash."""
    if not folders:
        return ""
    common = folders[0].split("/")
    for folder in folders[1:]:
        pairs = zip(common, folder.split("/"), strict=False)
        common = [
            part for part, peer in takewhile(lambda pair: pair[0] == pair[1], pairs)
        ]
    return "".join(f"{part}/" for part in common)


def _partition(file: str) -> str:
    """Return the folders ``column=value`` in the path of `file`."""
    return "/".join(folder for folder in file.split("/")[:-1] if folder.find("=") > 0)


def _distinct(names: Sequence[str], longer: Sequence[str]) -> list[str]:
    """Return `names`, with the `longer` name in place of each duplicate."""
    counts = Counter(names)
    return [
        name if counts[name] == 1 else more
        for name, more in zip(names, longer, strict=True)
    ]


def sha256_and_size(file: str) -> tuple[str, int]:
    """Return SHA-256 (hex) and size in bytes of `file`."""
    with open_raw(file) as stream:
        try:
            digest = hashlib.file_digest(cast(Any, stream), "sha256")
        except OSError as error:
            raise unreadable(file, error) from error
        return digest.hexdigest(), stream.tell()


def stamp(file: str) -> str:
    """Return a digest of the file's size, time and place, which changes if it is rewritten."""
    with errors_of(file):
        place = local_path(file)
        if place is not None:
            status = os.stat(place)  # noqa: PTH116 - the path as it was found
            # The time of change cannot be set back, as that of modification can.
            facts = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
            return hashlib.sha256(facts.encode()).hexdigest()
        fs, path = split_url(file)
        # Made by the store, of a tag or a time.
        return str(fs.ukey(path))


_NO_VALUE = ("", "__HIVE_DEFAULT_PARTITION__")


def folder_columns(path: str) -> dict[str, str | None]:
    """Return the columns that the folders of `path` name, outermost first; None for no value.

    Examples
    --------
    >>> folder_columns("sales/day=mon/shop=a%2Fb/item=__HIVE_DEFAULT_PARTITION__/part-0.parquet")
    {'day': 'mon', 'shop': 'a/b', 'item': None}
    """
    columns: dict[str, str | None] = {}
    for folder in path.split("/")[:-1]:
        name, mark, value = folder.partition("=")
        if name and mark:
            columns[_decoded(name)] = None if value in _NO_VALUE else _decoded(value)
    return columns


def constants_of(
    files: Iterable[Mapping[str, str | None]],
) -> list[tuple[Constant, ...]]:
    """Return the constant columns of each of `files`; numeric if all files have numbers.

    Examples
    --------
    >>> constants_of([{"hour": "07"}, {"hour": None}])  # doctest: +NORMALIZE_WHITESPACE
    [(Constant(name='hour', value='07', text=False),),
     (Constant(name='hour', value=None, text=False),)]
    """
    files = list(files)
    words = {
        name
        for columns in files
        for name, value in columns.items()
        if value is not None and not is_number(value)
    }
    return [
        tuple(Constant(name, value, name in words) for name, value in columns.items())
        for columns in files
    ]


def partition_names(sources: Iterable[Source]) -> tuple[str, ...]:
    """Return the columns named by folders below the common folder of all `sources`."""
    return tuple(
        dict.fromkeys(
            name for source in sources for name in folder_columns(source.below)
        )
    )


def with_partitions(sources: Sequence[Source], names: Collection[str]) -> list[Source]:
    """Return `sources` with those of the columns `names` that their folders name.

    A folder above the named one counts as well, so that a further day, ``days/day=sun``, is read
    like the days before it, ``days``.
    """
    columns = [
        {
            name: value
            for name, value in folder_columns(source.place).items()
            if name in names
        }
        for source in sources
    ]
    return [
        replace(source, constants=constants)
        for source, constants in zip(sources, constants_of(columns), strict=True)
    ]


def _decoded(word: str) -> str:
    try:
        return unquote(word, errors="strict")
    except UnicodeDecodeError:
        return word  # a percent sign that stands for itself
