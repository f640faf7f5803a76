"""``manifest.json``: all facts about a dataset that are known without reading its rows."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Literal, TypeAlias

from olscale.data.layouts import LAYOUTS
from olscale.errors import DatasetError, UnknownNameError
from olscale.storage.canonical_json import json_digest
from olscale.storage.strict_json import (
    LATER,
    AtLeast,
    Formerly,
    Matching,
    Passing,
    as_json,
    json_text,
    read_strictly,
)
from olscale.task import NORMAL, NOVEL, Task

MANIFEST = "manifest.json"
MARKER = "ingest.json"
"""Exists from the start of a build to its end; alone it means that the build did not finish."""
FORMAT_VERSION: Final = 3
"""Version of the format.

Version 1 had checksums of decoded chunks in place of checksums of files, and fingerprints of
SHA-256. Versions 1 and 2 had no checksum of the manifest, and fingerprints without the segments.
"""
_CHECKED_FROM = 3
ORDER = "rows are in the order of their sources, and the sources in the order listed"

_DTYPES = (
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "int64",
    "float32",
    "float64",
)

Count: TypeAlias = Annotated[int, AtLeast(0)]
_Hex: TypeAlias = Annotated[str, Matching(r"[0-9a-f]{64}")]


def _known_layout(name: str) -> None:
    try:
        LAYOUTS.check(name)
    except UnknownNameError as fault:
        # A rule of a field raises ValueErrors only.
        raise ValueError(str(fault)) from None


def _with_codings(value: object) -> object:
    """Return the coded columns of an early manifest, which has only names, with unknown codings."""
    if isinstance(value, list | tuple):
        return dict.fromkeys(value, "")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkEntry:
    """One chunk: its rows, stored entries, and its file (or range of files).

    Format version 1 keeps the crc32 of the decoded arrays here, and no checksums of files.
    """

    rows: Count
    nonzeros: Count
    file: str
    crc32: Count | None = field(default=None, metadata=LATER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Rows of a split that belong together in time, from `start` on."""

    name: str
    start: Count
    rows: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitEntry:
    """One split: ``train`` or ``test``, with the crc32 of its files by their names below it.

    `class_rows` are the rows of each class, in the order of the manifest's classes. `missing` are
    the cells without a value by column, if there are any; None for sparse text. Datasets before
    format version 3 have neither. `infinite` are the infinite cells of a table or array by column;
    None if there are none.
    """

    rows: Count
    nonzeros: Count
    chunks: tuple[ChunkEntry, ...]
    files: dict[str, Count] | None = None
    segments: tuple[Segment, ...] = ()
    class_rows: tuple[Count, ...] | None = field(default=None, metadata=LATER)
    missing: dict[str, Count] | None = field(default=None, metadata=LATER)
    infinite: dict[str, Count] | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        for what, total, parts in (
            ("rows", self.rows, [chunk.rows for chunk in self.chunks]),
            ("nonzeros", self.nonzeros, [chunk.nonzeros for chunk in self.chunks]),
        ):
            if total != sum(parts):
                raise ValueError(
                    f"{what} is {total} but its chunks add up to {sum(parts)}"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """The columns of a table, and their treatment.

    Parameters
    ----------
    numeric : int
        Number of numeric columns, which are the first features.
    categorical : dict of str to int
        Text columns -> number of values, each a feature ``COLUMN=VALUE``.
    dropped : tuple of str
        Columns that were left out.
    segments : str, optional
        Column whose changes begin a segment.
    growing : tuple of str
        Numeric columns that never fall and differ in most rows: row numbers or times.
    distinct : tuple of str
        Columns of whole numbers, all different in the first rows: perhaps an identifier.
    coded : dict of str to str, optional
        Columns whose features are hashes or parts of dates instead of values, or that are numeric
        despite their type -> their codings, as ``--encode`` takes them, empty if unknown; None if
        there are none.
    decimal : {','}, optional
        Mark between whole part and fraction of a number; a point when None.
    rounded : tuple of str, optional
        Columns of whole numbers, some so large that float64 may have rounded them; None if there
        are none.
    delimiter : str, optional
        Character between cells of the first source, if that is CSV or TSV; a space is any white
        space.
    header : bool, optional
        Whether its first row names the columns.
    quoting : {'none'}, optional
        Quotes are ordinary characters; None if cells may stand between them.
    escape : {'backslash'}, optional
        A backslash removes the meaning of the next character; None if it does not.
    missing : tuple of str, optional
        Words that mean "no value", in addition to those of all tables.
    hashed : {'values'}, optional
        Hashed cells of one value, as 7 and 7.0, share a feature; None where nothing is hashed, or
        by an olscale that hashed cells as they are written.
    """

    numeric: Count
    categorical: dict[str, Count]
    dropped: tuple[str, ...] = ()
    segments: str | None = None
    growing: tuple[str, ...] = ()
    distinct: tuple[str, ...] = ()
    coded: Annotated[dict[str, str] | None, Formerly(_with_codings)] = field(
        default=None, metadata=LATER
    )
    decimal: Literal[","] | None = field(default=None, metadata=LATER)
    rounded: tuple[str, ...] | None = field(default=None, metadata=LATER)
    delimiter: str | None = field(default=None, metadata=LATER)
    header: bool | None = field(default=None, metadata=LATER)
    quoting: Literal["none"] | None = field(default=None, metadata=LATER)
    escape: Literal["backslash"] | None = field(default=None, metadata=LATER)
    missing: tuple[str, ...] | None = field(default=None, metadata=LATER)
    hashed: Literal["values"] | None = field(default=None, metadata=LATER)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsEntry:
    """The column of row weights: its smallest and largest value, and the number of zeros."""

    column: str
    least: Annotated[float, AtLeast(0)]
    greatest: Annotated[float, AtLeast(0)]
    zeros: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEntry:
    """A source: file name, bytes and SHA-256 (None if it is no file), and its split."""

    name: str
    split: str
    bytes: Count | None = None
    sha256: _Hex | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The manifest of a dataset.

    It does not contain the name: a dataset has the name of its directory.

    Parameters
    ----------
    kind : {'dense', 'sparse'}
    layout : str
        ``parquet``, ``zarr``, or a layout of another package.
    dtype : str
        Type that holds the stored values of all splits; chunks are returned as float64.
    columns, nonzeros, chunk_rows : int
        Features, stored entries of all splits, rows per chunk except the last of a split.
    classes : tuple of float, int or str, optional
        Sorted class labels over all splits; None for regression.
    label_column : str or int, optional
        Column of the sources that was taken as the target, the first of several: its name, or its
        position from 0 if it has none. None for formats whose target has a fixed place.
    targets : tuple of str, optional
        Names of the targets of a row, if there are several; all but the first are stored before the
        features.
    target_nonzeros : int, optional
        How many of the `nonzeros` are such targets.
    weights : WeightsEntry, optional
        The weights of the rows, if any: they are stored before targets and features.
    distinct_labels : int, optional
        Different labels over all splits; None for a regression with more than 10,000.
    unseen_classes : tuple of float, int or str
        Classes without a row in the train split.
    label_names : tuple of str, optional
        Text labels in order of first appearance; stored labels are positions in it.
    feature_names : tuple of str, optional
        Names of the columns, where the source has them.
    table : TableEntry, optional
        For tables: their columns. Absent before format version 3.
    index_base : {0, 1}, optional
        For SVMlight text: the index of its first column. None for other sources, and if unknown.
    rounded : tuple of str, optional
        For arrays: columns of whole numbers, some so large that float64 may have rounded them,
        ``x0`` for the first of columns without names; None if there are none.
    checksum : str, optional
        SHA-256 of everything else in the file, from format version 3 on; see `to_json`.
    """

    format_version: Literal[1, 2, 3] = FORMAT_VERSION
    kind: Literal["dense", "sparse"]
    layout: Annotated[str, Passing(_known_layout)]
    dtype: str
    columns: Annotated[int, AtLeast(1)]
    nonzeros: Count
    chunk_rows: Annotated[int, AtLeast(1)]
    task: Task
    classes: tuple[int | float | str, ...] | None
    label_column: str | int | None = None
    targets: tuple[str, ...] | None = field(default=None, metadata=LATER)
    target_nonzeros: Count | None = field(default=None, metadata=LATER)
    weights: WeightsEntry | None = field(default=None, metadata=LATER)
    distinct_labels: int | None = None
    unseen_classes: tuple[int | float | str, ...] = ()
    label_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    table: TableEntry | None = field(default=None, metadata=LATER)
    index_base: Literal[0, 1] | None = field(default=None, metadata=LATER)
    rounded: tuple[str, ...] | None = field(default=None, metadata=LATER)
    splits: dict[str, SplitEntry]
    sources: tuple[SourceEntry, ...]
    order: str = ORDER
    created_by: str
    fingerprint: _Hex
    checksum: _Hex | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        if "train" not in self.splits:
            raise ValueError("splits has no 'train'")
        if (self.classes is None) != (self.task == "regression"):
            raise ValueError(
                "classes must be listed for classification and novelty, and null for regression"
            )
        if self.targets is not None and (
            self.task != "regression"
            or not len(set(self.targets)) == len(self.targets) > 1
        ):
            raise ValueError(
                "targets must be the names of two or more targets of a regression, each once, or "
                "absent"
            )
        if self.task == "novelty" and self.classes != (NOVEL, NORMAL):
            raise ValueError(
                f"classes of novelty detection must be {NOVEL} and {NORMAL}"
            )
        if self.checksum is not None and self.format_version < _CHECKED_FROM:
            raise ValueError("checksum is of manifests from format version 3 on")
        texts = {type(name) is str for name in self.classes or ()}
        if len(texts) > 1 or sorted(set(self.classes or ())) != list(
            self.classes or ()
        ):
            raise ValueError("classes must be numbers or texts, sorted, each once")
        class_names = set(self.classes or ()) if texts == {True} else set()
        if set(self.label_names or ()) != class_names:
            raise ValueError(
                "label_names must be the classes where these are texts, and null where they are "
                "numbers"
            )
        if self.dtype not in _DTYPES:
            raise ValueError(
                f"dtype is {self.dtype!r}, expected one of {', '.join(_DTYPES)}"
            )
        if self.nonzeros != (
            total := sum(split.nonzeros for split in self.splits.values())
        ):
            raise ValueError(
                f"nonzeros is {self.nonzeros} but its splits add up to {total}"
            )
        if self.feature_names is not None and len(self.feature_names) != self.columns:
            raise ValueError(
                f"feature_names has {len(self.feature_names)} names but columns is {self.columns}"
            )
        for name, split in self.splits.items():
            if (split.files is None) != (self.format_version == 1):
                raise ValueError(
                    f"splits.{name} must have the checksums of its files from format version 2 on"
                )
            if any(chunk.rows != self.chunk_rows for chunk in split.chunks[:-1]):
                raise ValueError(
                    f"splits.{name} has a chunk before the last without chunk_rows = "
                    f"{self.chunk_rows} rows"
                )
            if not split.chunks or not 1 <= split.chunks[-1].rows <= self.chunk_rows:
                raise ValueError(
                    f"splits.{name} must end in a chunk of 1 to chunk_rows = {self.chunk_rows} rows"
                )
            ends = list(
                itertools.accumulate(segment.rows for segment in split.segments)
            )
            if ends and (
                [segment.start for segment in split.segments] != [0, *ends[:-1]]
                or ends[-1] != split.rows
            ):
                raise ValueError(
                    f"splits.{name} has segments that do not cover its rows one after another"
                )
            counts = split.class_rows
            if counts is not None and (
                len(counts) != len(self.classes or ()) or sum(counts) != split.rows
            ):
                raise ValueError(
                    f"splits.{name}.class_rows must count each of its {split.rows} rows in one "
                    "class"
                )

    @property
    def more_targets(self) -> int:
        """The number of targets of a row besides its label; they are stored before the features."""
        return len(self.targets or ("",)) - 1

    @property
    def stored_columns(self) -> int:
        """Number of columns of the stored rows."""
        return (self.weights is not None) + self.more_targets + self.columns

    @property
    def feature_nonzeros(self) -> int:
        """How many of the `nonzeros` are values of features."""
        rows = sum(split.rows for split in self.splits.values())
        of_weights = 0
        if self.weights is not None:
            of_weights = rows - self.weights.zeros
        return self.nonzeros - (self.target_nonzeros or 0) - of_weights

    def to_json(self) -> bytes:
        """Return the file's content, with the checksum of all of it as the last field."""
        content = as_json(replace(self, checksum=None))
        # Over parsed JSON: a manifest that was only reformatted still says the same.
        checksum = manifest_checksum(content)
        return f"{json_text({**content, 'checksum': checksum})}\n".encode()

    @classmethod
    def from_json(cls, content: bytes, dataset: str) -> Manifest:
        """Parse the file's `content`.

        Raises
        ------
        DatasetError
            Naming `dataset` and the first wrong field, or reporting a change.
        """
        try:
            parsed = json.loads(content)
            manifest = read_strictly(cls, parsed)
        except ValueError as fault:
            where = getattr(fault, "where", "") or "the whole"
            raise DatasetError(
                f"{dataset}: {MANIFEST} is broken at {where}: {fault}; ingest the dataset again"
            ) from None
        if manifest.format_version >= _CHECKED_FROM:
            got = manifest_checksum(parsed)
            if got != manifest.checksum:
                raise DatasetError(
                    f"{dataset}: {MANIFEST} was changed after it was written: its checksum is "
                    f"{got[:12]}, expected "
                    f"{(manifest.checksum or 'none')[:12]}; restore it, or ingest the dataset again"
                )
        return manifest


def manifest_checksum(content: dict[str, Any]) -> str:
    """Return the checksum of a manifest; white space and the order of fields do not matter."""
    fields = {name: value for name, value in content.items() if name != "checksum"}
    return json_digest(fields)


# Largest number of classes that are listed.
_MOST_CLASSES = 100


def dataset_facts(manifest: Manifest) -> dict[str, Any]:
    """Return ``rows`` by split, ``columns``, ``nonzeros``, ``classes`` and ``class_rows``.

    The last two are only there for a classification with at most 100 classes.
    """
    facts: dict[str, Any] = {
        "rows": {name: split.rows for name, split in manifest.splits.items()}
    }
    facts |= {"columns": manifest.columns, "nonzeros": manifest.feature_nonzeros}
    if manifest.classes is not None and len(manifest.classes) <= _MOST_CLASSES:
        counts = None
        if "train" in manifest.splits:
            counts = manifest.splits["train"].class_rows
        facts |= {"classes": list(manifest.classes), "class_rows": list(counts or ())}
    return facts
