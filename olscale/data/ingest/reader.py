"""Reading source after source, each with what the ones before it have shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from olscale.data.formats import (
    ENCODED_FORMATS,
    TABLE_FORMATS,
    TEXT_FORMATS,
    find_format,
)
from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.compression import open_source
from olscale.data.formats.svmlight import IndexRange, ZeroIndexError
from olscale.data.formats.table_columns import TableColumns
from olscale.data.ingest.archive import is_archive
from olscale.data.ingest.claim import Earlier, Journal
from olscale.data.ingest.data_files import listed
from olscale.data.ingest.members import Member, read_member, spill_archive
from olscale.data.ingest.selection import (
    SVMLIGHT,
    check_form,
    drop_columns,
    refuse_label,
)
from olscale.data.ingest.sources import Source
from olscale.data.stored_rows import DEFAULT_CHUNK_ROWS
from olscale.errors import DatasetError, FormatError, NoRowsError

# Rows per batch requested from formats that may be dense and wide.
_BATCH_ROWS = 2_048


class Reader:
    """Reads the sources of a dataset, all with the same numbering of features and label column.

    Parameters
    ----------
    format : str, optional
        Name of the format; guessed for each source when left out.
    options : ReadOptions
        Options for the first source.
    folder : Path
        Scratch folder for members of archives.
    journal : Journal
        Records the members that are read, for an ingest that resumes this one.

    Attributes
    ----------
    journal : Journal
    formats : set of str
        Names of the formats so far.
    notes : list of str
        How ambiguous sources were read, each line once.
    """

    def __init__(
        self,
        format: str | None,
        options: ReadOptions,
        folder: Path,
        journal: Journal,
    ) -> None:
        self.formats: set[str] = set()
        self.notes: list[str] = []
        self._may_be_dense = True
        self._format = format
        self._options = options
        self._folder = folder
        self.journal = journal
        self._earlier = Earlier(journal.directory)
        self._empty: list[str] = []
        # As the user gave them, before any source has decided something.
        self._first = options
        self._label: str | int | None = None
        self._ranges: list[tuple[str, IndexRange]] = []

    @property
    def may_be_dense(self) -> bool:
        """Whether all rows are sparse only because their text lists just the nonzero numbers."""
        return self.formats <= {SVMLIGHT, "arff"} and self._may_be_dense

    def members(self, source: Source) -> list[Member]:
        """Return the members of `source`, in order; an archive is read to its end."""
        if not is_archive(source.path):
            return [
                Member(
                    source.path,
                    source.segment,
                    part=source.part,
                    constants=source.constants,
                )
            ]
        members = spill_archive(
            source.path,
            self._format,
            self._folder,
            self._earlier.members,
            source.members,
            self.notes.append,
        )
        return [
            replace(
                member,
                constants=source.constants + member.constants,
                part=source.part or member.part,
            )
            for member in members
        ]

    def batches(self, member: Member) -> Iterator[Batch]:
        """Yield the rows of `member`; none if it is an empty one of several parts.

        Raises
        ------
        FormatError
            When it breaks its format, or has no rows.
        """
        rows = 0
        indices = IndexRange()
        try:
            for batch in self._read(member):
                self._learn(batch, member)
                rows += len(batch)
                if batch.zero_based:
                    indices = indices.widened(batch)
                if len(batch):
                    yield batch
            if not rows:
                raise NoRowsError(member.name, "no rows")
        except FormatError as error:
            # Writers of tables in parts leave empty files among them.
            if rows or not member.part:
                raise
            if not isinstance(error, NoRowsError) and not _is_blank(member):
                raise
            self._empty.append(member.name)
            return
        self.journal.read(member.key, rows)
        self._ranges.append((member.name, indices))

    def counting_from_0(self, fault: ZeroIndexError) -> Reader:
        """Return a reader that starts over and takes all indices to count from 0.

        `fault` is the index 0 that proves it.
        """
        options = replace(self._first, zero_based=True)
        reader = Reader(
            self._format, options, self._folder, Journal(self.journal.directory)
        )
        if self._ranges:
            reader.notes.append(
                f"the indices of all sources are taken to count from 0, as line {fault.line:,} of "
                f"{fault.source} shows, the "
                "first with an index 0"
            )
        return reader

    def check_bases(self) -> None:
        """Refuse SVMlight text that seems to count from 1 while other sources count from 0.

        Raises
        ------
        DatasetError
            When a source without an index 0 has the largest index of all, one more than the sources
            with an index 0.
        """
        counted_from_0 = [
            indices.largest for _, indices in self._ranges if indices.smallest == 0
        ]
        if not counted_from_0:
            return
        for name, indices in self._ranges:
            if indices.smallest > 0 and indices.largest == max(counted_from_0) + 1:
                raise DatasetError(
                    f"{name} has no index 0, and its largest index {indices.largest} is one above "
                    "that of the sources that "
                    "count from 0: it seems to count from 1; write its indices anew, or give "
                    "--index-base 0 if all "
                    "sources count from 0"
                )

    def check_drops(self) -> None:
        """Refuse a column to drop that no source has.

        Raises
        ------
        UnknownNameError
            When there is one.
        """
        if self._first.drop_list is not None:
            self._first.drop_list.check()

    def all_notes(self) -> list[str]:
        """Return notes about ambiguous sources, and about empty ones."""
        if not self._empty:
            return self.notes
        return [*self.notes, f"passed over as empty: {listed(self._empty)}"]

    def _read(self, member: Member) -> Iterator[Batch]:
        if member.key in self._earlier.members:
            self.formats.add(SVMLIGHT)
            return self._earlier.batches(member.key)
        format = member.format or find_format(member.name, self._format)
        self.formats.add(format.name)
        if self._options.encode and format.name not in ENCODED_FORMATS:
            raise FormatError(
                member.name,
                f"is {format.name} and has no columns of text; leave --encode out",
            )
        check_form(member.name, format.name, self._first)
        # Not the dataset's chunk_rows: what a format learns from its first batch must not depend on
        # it.
        rows = DEFAULT_CHUNK_ROWS if format.name in TEXT_FORMATS else _BATCH_ROWS
        options = replace(self._options, chunk_rows=rows, constants=member.constants)
        batches = read_member(member, format, options)
        if format.name in TABLE_FORMATS:
            return batches
        self._check_unused(member, format.name)
        # A label names a column of tables, where any source before is one.
        if self.formats.isdisjoint(TABLE_FORMATS):
            refuse_label(member.name, format.name, self._first)
        names = {constant.name for constant in member.constants}
        drop = [word for word in options.drop if word not in names]
        if options.drop_list is not None:
            # What names of folders do not say is refused below.
            options.drop_list.meet(options.drop)
        if not drop:
            return batches
        return (drop_columns(batch, drop, member.name) for batch in batches)

    def _check_unused(self, member: Member, format: str) -> None:
        """Note that rows without table columns use the columns of folders for segments only."""
        options = self._options
        for constant in member.constants:
            name = constant.name
            if options.label == name:
                problem = (
                    f"is {format}, whose labels are in the rows, not in a column {name!r} "
                    "of its folder"
                )
                raise FormatError(member.name, f"{problem}; leave --label out")
            if name not in options.drop and name != options.segments:
                self._note(
                    f"column {name!r}, which names of folders say, is no feature of rows in "
                    f"{format}; "
                    f"--segments {name} makes segments of it"
                )

    def _note(self, line: str) -> None:
        if line not in self.notes:
            self.notes.append(line)

    def _learn(self, batch: Batch, member: Member) -> None:
        """Record the decisions that hold for later sources, and the notes about this one."""
        for note in batch.notes:
            self._note(note)
        if batch.table is not None:
            columns = batch.table.columns
            in_file = columns.names[: columns.width]
            for name in (
                constant.name
                for constant in member.constants
                if constant.name in in_file
            ):
                self._note(
                    f"column {name!r} is in the files and in the names of their folders; the "
                    "files' is read"
                )
        if batch.zero_based is not None:
            self._options = replace(self._options, zero_based=batch.zero_based)
            self.journal.zero_based = batch.zero_based
        if isinstance(batch.label, int):
            self._options = replace(self._options, label=batch.label)
        if batch.table is not None:
            columns = batch.table.columns
            self._may_be_dense = (
                self._may_be_dense
                and bool(columns.sparse)
                and not columns.has_categories
            )
        # The first table decides the columns of all.
        if batch.table is not None and self._options.table is None:
            self._options = replace(self._options, table=batch.table.columns)
            self._label = batch.label
        elif batch.table is not None:
            self._check_label(batch, batch.table.columns, member.name)

    def _check_label(
        self,
        batch: Batch,
        columns: TableColumns,
        source: str,
    ) -> None:
        """Refuse a table whose label has another name, unless all other columns agree."""
        first = self._options.table
        is_chosen = self._options.label is not None or columns is first
        if (
            first is None
            or is_chosen
            or not isinstance(self._label, str)
            or not isinstance(batch.label, str)
        ):
            return
        features = {columns.names[position] for position in columns.features}
        lacking = [
            first.names[i] for i in first.features if first.names[i] not in features
        ]
        if self._label not in columns.names and lacking:
            raise DatasetError(
                f"{source} has no column {self._label!r}, which is the label of the sources "
                "before it, and with "
                f"{batch.label!r} as its label it has no feature {lacking[0]!r}; name its columns "
                "as theirs"
            )


def _is_blank(member: Member) -> bool:
    """Return whether a file has no bytes, which formats with a signature call damaged."""
    if member.archive is not None:
        return False
    with open_source(member.name) as content:
        return not content.peek(1)
