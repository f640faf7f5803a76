"""What a source is made of: a file is its own only member, an archive has one for each data file in it.

The days of a stream lie in an archive in any order, but must be learnt in theirs. So the archive is read once from its
first byte to its last; every member is spilled to a file, and these are then read in natural order (``Day2`` before
``Day10``). No member is ever unpacked under its own name: we name the files, and remove each as soon as it is read.
"""

import shutil
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from functools import partial
from io import BufferedReader
from pathlib import Path, PurePosixPath

from olscale.data.formats import TEXT_FORMATS, find_format
from olscale.data.formats.base import Batch, Format, ReadOptions
from olscale.data.formats.compression import open_source, strip_compression
from olscale.data.ingest.archive import open_member, open_members
from olscale.data.ingest.selection import SVMLIGHT
from olscale.data.ingest.sources import natural_key, segment_name
from olscale.data.ingest.spill_svmlight import read_spill, spill_svmlight
from olscale.errors import FormatError

_COPY_BYTES = 1 << 17
"""Few enough to stay in the cache between decompressing and writing."""


@dataclass(frozen=True, slots=True)
class Member:
    """Rows that are read together: a file, a data file in an archive, or a stretch of a generator.

    Parameters
    ----------
    name : str
        What messages and progress call it; what its format opens, where it is no member of an archive.
    segment : str
        Name of the segment that it makes where each member is one.
    archive : str, optional
        The archive that it lies in, as data file `number`.
    format : Format, optional
        Of a member of an archive, whose text was looked at already.
    rows, text : Path, optional
        Where its rows or its text were spilled.
    """

    name: str
    segment: str
    archive: str | None = None
    number: int = 0
    format: Format | None = None
    rows: Path | None = None
    text: Path | None = None

    @property
    def key(self) -> str:
        """What a resumed ingest knows it by: members in different folders of an archive may have one name."""
        return self.name if self.archive is None else f"{self.name} ({self.number})"


def spill_archive(archive: str, format: str | None, folder: Path, stored: Container[str] = ()) -> list[Member]:
    """Read `archive` once, spill its members, and return them in natural order.

    Parameters
    ----------
    archive : str
        Local path or fsspec address.
    format : str, optional
        Name of the members' format; guessed for each when left out.
    folder : Path
        Directory for the spill, made when needed.
    stored : container of str
        Keys of members whose rows are there from an earlier ingest.

    Raises
    ------
    FormatError
        When the archive is damaged, holds no data files or several kinds of them, or such as cannot be read from a
        stream.
    """
    folder.mkdir(parents=True, exist_ok=True)
    members: list[tuple[str, Member]] = []
    for number, (path, content) in enumerate(open_members(archive)):
        if members and _kind(path) != _kind(members[0][0]):
            raise FormatError(
                archive,
                f"holds files of different kinds ({members[0][0]}, {path}); unpack it and name the data files",
            )
        name = PurePosixPath(path).name
        member = Member(f"{archive}: {name}", segment_name(name), archive, number)
        if member.key not in stored:
            member = _spill(member, format, content, folder / str(number))
        members.append((path, member))
    if not members:
        raise FormatError(archive, f"holds no data files, as .svm or .csv; it must hold {', '.join(TEXT_FORMATS)} text")
    return [member for _, member in sorted(members, key=lambda each: natural_key(each[0]))]


def _kind(path: str) -> str:
    return PurePosixPath(strip_compression(path)).suffix.lower()


def _spill(member: Member, name: str | None, content: BufferedReader, file: Path) -> Member:
    """Keep a member in `file`: SVMlight as rows, which take a quarter of their text, all others as text."""
    format = find_format(member.name, name, content)
    if format.name not in TEXT_FORMATS:
        raise FormatError(
            member.name, f"is {format.name}, but archives are read only for {', '.join(TEXT_FORMATS)}; unpack it"
        )
    if format.name != SVMLIGHT:
        with file.open("wb", buffering=0) as text:
            shutil.copyfileobj(content, text, _COPY_BYTES)
        return replace(member, format=format, text=file)
    try:
        spill_svmlight(format, member.name, content, file)
    except FormatError as error:
        if error.source != member.name:
            raise
        # Its turn decides what is wrong first: a row before it, or one of another member. It is read from the archive.
        return replace(member, format=format)
    return replace(member, format=format, rows=file)


def read_member(member: Member, format: Format, options: ReadOptions) -> Iterator[Batch]:
    """Yield the rows of `member` in their order, and remove its spill."""
    if member.rows is not None and member.archive is not None:
        again = partial(open_member, member.archive, member.number)
        yield from read_spill(member.name, member.rows, options.zero_based, again)
    elif member.text is not None:
        with open_source(str(member.text)) as text:
            yield from format.read(member.name, replace(options, stream=text))
        member.text.unlink()
    elif member.archive is not None:
        with open_member(member.archive, member.number) as text:
            yield from format.read(member.name, replace(options, stream=text))
    else:
        yield from format.read(member.name, options)
