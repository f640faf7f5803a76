"""Reading source after source, each with what the ones before it have shown."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from olscale.data.formats import ENCODED_FORMATS, TABLE_FORMATS, TEXT_FORMATS, find_format
from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.ingest.archive import is_archive
from olscale.data.ingest.members import SVMLIGHT, Member, read_member, spill_archive
from olscale.data.ingest.resume import Earlier, Journal
from olscale.data.ingest.selection import check_form, drop_columns
from olscale.data.ingest.sources import Source, segment_name
from olscale.data.rebatch import DEFAULT_CHUNK_ROWS
from olscale.errors import FormatError

_BATCH_ROWS = 2_048
"""Rows asked of formats that may be dense and wide."""


class Reader:
    """Reads the sources of a dataset, whose files number their features alike and have the label in one place.

    Parameters
    ----------
    format : str, optional
        Name of the format; guessed for each source when left out.
    options : ReadOptions
        Of the first source.
    folder : Path
        Scratch folder for members of archives.
    journal : Journal
        Keeps what is read, for an ingest that resumes this one.

    Attributes
    ----------
    formats : set of str
        Names of the formats met so far.
    notes : list of str
        How sources were read where that was unclear, each line once.
    """

    def __init__(self, format: str | None, options: ReadOptions, folder: Path, journal: Journal) -> None:
        self.formats: set[str] = set()
        self.notes: list[str] = []
        self._format, self._options, self._folder, self._journal = format, options, folder, journal
        self._earlier = Earlier(journal.directory)

    def members(self, source: Source) -> list[Member]:
        """Return what `source` is made of, in order; an archive is read to its end."""
        if is_archive(source.path):
            return spill_archive(source.path, self._format, self._folder, self._earlier.members)
        return [Member(source.path, segment_name(source.name))]

    def batches(self, member: Member) -> Iterator[Batch]:
        """Yield the rows of `member`.

        Raises
        ------
        FormatError
            When it breaks its format, or has no rows.
        """
        rows = 0
        for batch in self._read(member):
            self._learn(batch)
            rows += len(batch)
            if len(batch):
                yield batch
        if not rows:
            raise FormatError(member.name, "no rows")
        self._journal.read(member.key, rows)

    def _read(self, member: Member) -> Iterator[Batch]:
        if member.key in self._earlier.members:
            self.formats.add(SVMLIGHT)
            return self._earlier.batches(member.key)
        format = member.format or find_format(member.name, self._format)
        self.formats.add(format.name)
        if self._options.encode and format.name not in ENCODED_FORMATS:
            raise FormatError(member.name, f"is {format.name} and has no columns of text; leave --encode out")
        check_form(member.name, format.name, self._options)
        # Not the dataset's chunk_rows: what a format finds out from its first batch must not depend on that.
        rows = DEFAULT_CHUNK_ROWS if format.name in TEXT_FORMATS else _BATCH_ROWS
        batches = read_member(member, format, replace(self._options, chunk_rows=rows))
        if not self._options.drop or format.name in TABLE_FORMATS:
            return batches
        return (drop_columns(batch, self._options.drop, member.name) for batch in batches)

    def _learn(self, batch: Batch) -> None:
        """Keep what holds for the sources to come, and what is to be said of this one."""
        self.notes += [note for note in batch.notes if note not in self.notes]
        if batch.zero_based is not None:
            self._options = replace(self._options, zero_based=batch.zero_based)
            self._journal.zero_based = batch.zero_based
        if isinstance(batch.label, int):
            self._options = replace(self._options, label=batch.label)
        if batch.table is not None and self._options.table is None:
            self._options = replace(self._options, table=batch.table.columns)
