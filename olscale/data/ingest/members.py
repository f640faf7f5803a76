"""The members of a source: a file is its only member, an archive has one per data file.

The days of a stream lie in an archive in any order, but must be learned in theirs. A tar archive is
read once from its first byte to its last; every member is spilled to a file, and these are then
read in natural order (``Day2`` before ``Day10``). Text in a zip archive is read in place. No member
is ever unpacked under its own name: this module names the files, and removes each after reading it.
"""

import shutil
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from io import BufferedReader
from pathlib import Path, PurePosixPath
from shlex import quote

from olscale.data.formats import TEXT_FORMATS, find_format
from olscale.data.formats.base import Batch, Format, ReadOptions
from olscale.data.formats.compression import open_source
from olscale.data.formats.table_columns import Constant
from olscale.data.formats.text import labels_names
from olscale.data.ingest.archive import (
    fits,
    is_zip,
    open_member,
    open_members,
    open_zip_member,
    open_zip_members,
)
from olscale.data.ingest.data_files import (
    conflict,
    has_role,
    kind_of,
    listed,
    passed_over_note,
    pattern_of,
)
from olscale.data.ingest.selection import SVMLIGHT
from olscale.data.ingest.sources import (
    constants_of,
    folder_columns,
    natural_key,
    segment_names,
)
from olscale.errors import FormatError, NoRowsError

# Few enough to stay in the cache between decompressing and writing.
_COPY_BYTES = 1 << 17


@dataclass(frozen=True, slots=True)
class Member:
    """Rows that are read together: a file, a data file in an archive, or a stretch of a generator.

    Parameters
    ----------
    name : str
        Its name in messages and progress; also the name its format opens, unless it is in an
        archive.
    segment : str
        Name of its segment, if each member is one.
    archive : str, optional
        The archive that contains it, as file `number`.
    format : Format, optional
        For a member of an archive, whose content has been examined.
    rows, text, file : Path, optional
        Where its rows, its text or its bytes were spilled.
    part : bool
        Whether it is one of several, some of them possibly empty.
    constants : tuple of Constant
        Columns that its folders name.
    """

    name: str
    segment: str
    archive: str | None = None
    number: int = 0
    format: Format | None = None
    rows: Path | None = None
    text: Path | None = None
    file: Path | None = None
    part: bool = False
    constants: tuple[Constant, ...] = ()

    @property
    def key(self) -> str:
        """The key by which a resumed ingest finds it; names alone are not unique in an archive."""
        if self.archive is None:
            return self.name
        return f"{self.name} ({self.number})"


def spill_archive(
    archive: str,
    format: str | None,
    folder: Path,
    stored: Container[str] = (),
    pattern: str | None = None,
    note: Callable[[str], None] | None = None,
) -> list[Member]:
    """Read `archive` once, spill its members if needed, and return them in natural order.

    Parameters
    ----------
    archive : str
        Local path or fsspec address.
    format : str, optional
        Name of the members' format; guessed for each when left out.
    folder : Path
        Directory for the spill, made when needed.
    stored : container of str
        Keys of members whose rows an earlier ingest has stored.
    pattern : str, optional
        Pattern of the paths to read; all members that are data when left out.
    note : callable, optional
        Called with each line about members that were not read.

    Raises
    ------
    FormatError
        When the archive is damaged, or holds no data files or ones that do not belong together.
    """
    folder.mkdir(parents=True, exist_ok=True)
    members: list[tuple[str, Member]] = []
    passed_over: list[str] = []
    empty: list[str] = []
    paths: list[str] = []
    opened = _opened(archive, pattern, format, passed_over)
    for number, path, content in opened:
        paths.append(path)
        # Only such a member can conflict with those before it: thousands of others are not
        # compared.
        odd = has_role(path) or kind_of(path) != kind_of(paths[0])
        if pattern is None and odd and conflict(paths, " ".join) is not None:
            # Spilling stops, but the error needs all names to say which members to choose from.
            paths += [path for _, path, _ in opened]
            break
        member = Member(f"{archive}: {_shown(path)}", "", archive, number)
        if member.key not in stored:
            if not content.peek(1):
                empty.append(path)
                continue
            member = _spill(member, format, content, folder / str(number))
        members.append((path, member))
    if not paths:
        raise FormatError(archive, _no_data(pattern, passed_over))
    if pattern is None:
        _check_alike(archive, paths)
    _check_labels(archive, paths, passed_over)
    if not members:
        raise NoRowsError(
            archive, f"no rows: all data files in it are empty ({listed(empty)})"
        )
    if note is not None and passed_over and pattern is None:
        note(passed_over_note(archive, passed_over))
    if note is not None and empty:
        note(f"{archive}: passed over as empty: {listed(empty)}")
    members.sort(key=lambda member: natural_key(member[0]))
    paths = [path for path, _ in members]
    constants = constants_of(folder_columns(path) for path in paths)
    return [
        replace(member, segment=segment, constants=columns, part=len(members) > 1)
        for (_, member), segment, columns in zip(
            members,
            segment_names(paths),
            constants,
            strict=True,
        )
    ]


def _opened(
    archive: str,
    pattern: str | None,
    format: str | None,
    passed_over: list[str],
) -> Iterator[tuple[int, str, BufferedReader]]:
    if is_zip(archive):
        yield from open_zip_members(archive, pattern, format, passed_over)
        return
    for number, (path, content) in enumerate(
        open_members(archive, pattern, format, passed_over)
    ):
        yield number, path, content


def _check_alike(archive: str, paths: list[str]) -> None:
    """Refuse members that do not belong together."""
    names = {path: _shown(path) for path in paths}
    if len(set(names.values())) < len(paths):
        names = {path: path for path in paths}

    def words_for(group: Sequence[str]) -> str:
        def matches(pattern: str) -> list[str]:
            return [names[path] for path in paths if fits(path, pattern)]

        pattern = pattern_of([names[path] for path in group], matches)
        members = [names[path] for path in group[:3]] if pattern is None else [pattern]
        return " ".join(quote(f"{archive}#{member}") for member in members)

    if (problem := conflict(paths, words_for)) is not None:
        raise FormatError(archive, problem)


def _check_labels(archive: str, paths: list[str], others: list[str]) -> None:
    """Refuse rows whose labels are in another member: a feature would become the label."""
    for path in paths:
        labels = {*labels_names(path)}.intersection(others)
        if labels:
            problem = f"{path} has its labels in a file of their own ({labels.pop()}); unpack it"
            raise FormatError(archive, problem)


def _shown(path: str) -> str:
    """Return the displayed name of a member: its file name, or its path in folders ``a=b``."""
    if folder_columns(path):
        return path
    return PurePosixPath(path).name


def _no_data(pattern: str | None, passed_over: list[str]) -> str:
    files = ""
    if passed_over:
        files = f" (it has {listed(passed_over)})"
    if pattern is not None:
        return f"holds no file {pattern!r}{files}"
    return f"holds no data files, as .svm or .csv{files}"


def _spill(
    member: Member,
    name: str | None,
    content: BufferedReader,
    file: Path,
) -> Member:
    """Spill a member to `file`: SVMlight as rows, a quarter of the text, all others unchanged."""
    assert member.archive is not None
    format = find_format(member.name, name, content)
    if format.name == "idx":
        raise FormatError(
            member.name,
            "is idx, whose labels are a file of their own; unpack the archive",
        )
    if format.name not in TEXT_FORMATS:
        file = file.with_name(file.name + PurePosixPath(member.name).suffix)
        _copy(content, file)
        return replace(member, format=format, file=file)
    # A member of a zip archive can be opened on its own again, without a copy.
    if is_zip(member.archive):
        return replace(member, format=format)
    if format.name != SVMLIGHT:
        _copy(content, file)
        return replace(member, format=format, text=file)
    # Imported here and in the reader: no other source needs compiled loops before its rows do, and
    # they take long to import.
    from olscale.data.ingest.spill import spill_svmlight

    try:
        spill_svmlight(format, member.name, content, file)
    except FormatError as error:
        if error.source != member.name:
            raise
        # Its turn decides which error comes first: of an earlier row or of another member. It is
        # read from the archive.
        return replace(member, format=format)
    return replace(member, format=format, rows=file)


def _copy(content: BufferedReader, file: Path) -> None:
    with file.open("wb", buffering=0) as copy:
        shutil.copyfileobj(content, copy, _COPY_BYTES)


def read_member(
    member: Member, format: Format, options: ReadOptions
) -> Iterator[Batch]:
    """Yield the rows of `member` in order, and remove its spill."""
    if member.rows is not None and member.archive is not None:
        from olscale.data.ingest.spill import read_spill

        again = partial(open_member, member.archive, member.number)
        yield from read_spill(member.name, member.rows, options.zero_based, again)
    elif member.text is not None:
        with open_source(str(member.text)) as text:
            yield from format.read(member.name, replace(options, stream=text))
        member.text.unlink()
    elif member.file is not None:
        try:
            yield from format.read(str(member.file), options)
        except FormatError as error:
            # Under the name that the user knows, not under that of the copy.
            raise type(error)(member.name, error.problem, error.line) from error
        member.file.unlink()
    elif member.archive is not None:
        with _reopened(member.archive, member.number) as text:
            yield from format.read(member.name, replace(options, stream=text))
    else:
        yield from format.read(member.name, options)


def _reopened(archive: str, number: int) -> AbstractContextManager[BufferedReader]:
    if is_zip(archive):
        return open_zip_member(archive, number)
    return open_member(archive, number)
