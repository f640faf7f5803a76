"""What a model file records besides arrays: ``model.json``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from olscale.data.formats.coding import FirstValues, Hash, HashAsWritten
from olscale.data.manifest import Manifest
from olscale.version import __version__

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]


class _Entry(BaseModel):
    # A model file may come from anywhere: strict types and no unknown keys, so that a
    # header is refused rather than guessed at.
    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False
    )


class LearnerEntry(_Entry):
    """The learner: registry name or ``module:Class``, version, all parameters, initial values."""

    name: str
    version: int | str
    params: dict[str, Any]
    entropy: tuple[Count, ...] = ()


class TransformsEntry(_Entry):
    """The canonical transforms, the column dropped before them, and the projection's number."""

    names: tuple[str, ...] = ()
    dropped: Count | None = None
    projection: Count = 0


class ColumnsEntry(_Entry):
    """The features before the transforms.

    Attributes
    ----------
    count : int
    kind : {"dense", "sparse"}
        The layout in which rows reach the learner: another may give other bits.
    names : tuple of str, optional
        If the dataset has names; a value of a text column is ``COLUMN=VALUE``.
    text : tuple of str
        The columns of text.
    coded : dict of str to str
        Text columns whose features are a coding of ``olscale ingest --encode`` instead of values;
        empty if this is unknown.
    label : str or int, optional
        The column of tables that was the target, which is no feature; its position where columns
        have no names.
    targets : tuple of str
        Names of the targets, if a row has several; in tables their columns.
    dropped : tuple of str
        Columns of tables that were left out, and the column of weights.
    index_base : {0, 1}, optional
        The index of the first feature in SVMlight text; None if it is unknown.
    quoting, escape : str, optional
    missing : tuple of str
        How the cells of CSV and TSV are written, if an option said so.
    hashed : {'values'}, optional
        As in `olscale.data.manifest.TableEntry`.
    """

    count: Annotated[int, Field(ge=1, le=2**31 - 1)]
    kind: Literal["dense", "sparse"]
    names: tuple[str, ...] | None = None
    text: tuple[str, ...] = ()
    # Fields that came after the first release stay out of the header where they are
    # empty: models without them are written byte for byte as before.
    coded: dict[str, str] = Field(
        default_factory=dict, exclude_if=lambda coded: not coded
    )
    label: str | int | None = None
    targets: tuple[str, ...] = Field(default=(), exclude_if=lambda targets: not targets)
    dropped: tuple[str, ...] = Field(default=(), exclude_if=lambda dropped: not dropped)
    index_base: Literal[0, 1] | None = Field(
        default=None, exclude_if=lambda base: base is None
    )
    quoting: Literal["none"] | None = Field(
        default=None, exclude_if=lambda quoting: not quoting
    )
    escape: Literal["backslash"] | None = Field(
        default=None, exclude_if=lambda escape: not escape
    )
    missing: tuple[str, ...] = Field(default=(), exclude_if=lambda missing: not missing)
    hashed: Literal["values"] | None = Field(
        default=None, exclude_if=lambda hashed: not hashed
    )

    @model_validator(mode="after")
    def _consistent(self) -> ColumnsEntry:
        if (
            self.names is not None
            and not len(set(self.names)) == len(self.names) == self.count
        ):
            raise ValueError(
                f"columns.names has {len(self.names)} names, each to be there once, for "
                f"{self.count} columns"
            )
        return self

    @classmethod
    def of(cls, manifest: Manifest) -> ColumnsEntry:
        """Return the features of a dataset."""
        names = manifest.feature_names
        table = manifest.table
        text, coded = (
            ((), None) if table is None else (tuple(table.categorical), table.coded)
        )
        dropped = () if table is None else table.dropped
        # like dropped columns, it may be present or not
        if table is not None and manifest.weights is not None:
            dropped += (manifest.weights.column,)
        return cls(
            count=manifest.columns,
            kind=manifest.kind,
            names=names,
            text=text,
            coded=coded or {},
            label=manifest.label_column,
            targets=manifest.targets or (),
            dropped=dropped,
            index_base=manifest.index_base,
            quoting=table.quoting if table else None,
            escape=table.escape if table else None,
            missing=(table.missing or ()) if table else (),
            hashed=table.hashed if table else None,
        )

    def coding_of(self, column: str) -> str:
        """Return the coding of a column; that of an earlier version has a name of its own now."""
        name, colon, argument = self.coded[column].partition(":")
        # All features of Vowpal Wabbit's text are hashed as it does itself.
        if name == Hash.name and self.hashed is None and column != "*":
            name = HashAsWritten.name
        return f"{name}{colon}{argument}"

    @property
    def codings(self) -> tuple[str, ...]:
        """The codings of all coded columns, as ``--encode`` takes them."""
        return tuple(f"{column}={self.coding_of(column)}" for column in self.coded)

    def values(self, column: str) -> list[str]:
        """Return the values of a column of text that have features."""
        start = f"{column}="
        # A feature of a text column is called COLUMN=VALUE, and a value may contain
        # `=`: only the beginning of a name says which column it is of.
        return [
            name.removeprefix(start)
            for name in self.names or ()
            if name.startswith(start)
        ]

    @property
    def bounded(self) -> tuple[str, ...]:
        """The columns of text that have a feature for each of their first values."""
        return tuple(
            name
            for name, coding in self.coded.items()
            if coding.startswith(FirstValues.name)
        )

    @property
    def by_name(self) -> bool:
        """Whether columns are matched by name: because people named them, or they hold text."""
        return self.names is not None and (bool(self.text) or self.has_given_names)

    @property
    def has_given_names(self) -> bool:
        """Whether people named the columns; otherwise they are called ``x0``, ``x1`` and so on."""
        if self.names is None or isinstance(self.label, int):
            return False
        return self.label is not None or any(
            place_of(name) is None for name in self.table
        )

    @property
    def table(self) -> tuple[str, ...]:
        """The columns of a table that has these features: those of numbers, then those of text."""
        values = tuple(f"{column}=" for column in self.text)
        return (
            *(name for name in self.names or () if not name.startswith(values)),
            *self.text,
        )


def with_values(columns: ColumnsEntry, names: Sequence[str]) -> ColumnsEntry:
    """Return features with new ones of text columns after them, by column and value.

    Examples
    --------
    >>> columns = ColumnsEntry(count=1, kind="sparse", names=("job=cook",), text=("job",))
    >>> with_values(columns, ["job=smith", "job=clerk"]).names
    ('job=cook', 'job=clerk', 'job=smith')
    """

    def order(name: str) -> tuple[int, str]:
        place = next(
            i for i, text in enumerate(columns.text) if name.startswith(f"{text}=")
        )
        return place, name

    # Old features keep their places, and with them the weights of the learner; only the
    # new ones are sorted.
    every = (*(columns.names or ()), *sorted(names, key=order))
    return columns.model_copy(update={"names": every, "count": len(every)})


def place_of(name: str) -> int | None:
    """Return the place in a column name of a table without names; None for any other name.

    Examples
    --------
    >>> place_of("x12"), place_of("age")
    (12, None)
    """
    digits = name.removeprefix("x")
    return (
        # No table has a place of ten digits, and int() raises an error of its own on
        # thousands of them.
        int(digits)
        if name == f"x{digits}" and digits.isdecimal() and len(digits) < 10
        else None
    )


class DatasetEntry(_Entry):
    """The dataset of the run.

    Attributes
    ----------
    name, fingerprint : str
    sources : tuple of str
        SHA-256 of the files whose rows were learned, by which they are known again.
    """

    name: str
    fingerprint: str
    sources: tuple[str, ...] = Field(default=(), exclude_if=lambda sources: not sources)

    @classmethod
    def of(cls, name: str, manifest: Manifest) -> DatasetEntry:
        """Return the entry of a dataset."""
        digests = [
            source.sha256
            for source in manifest.sources
            # Sources of earlier datasets have no digest, and rows of the test split
            # were never learned.
            if source.sha256 is not None and source.split == "train"
        ]
        return cls(name=name, fingerprint=manifest.fingerprint, sources=tuple(digests))


class LearnedEntry(_Entry):
    """A source that a model learned from after the run that it is of.

    Attributes
    ----------
    source : str
        Name of the file, pattern or dataset, without its folder.
    digests : tuple of str
        Fingerprint of the dataset, or SHA-256 of each file: what shows that it was learned.
    rows : int
        Rows that were learned.
    time : str
        When learning ended, in UTC and ISO 8601 notation.
    parent : str
        SHA-256 of the model file that learned it.
    measures : dict of str to float
        Prequential error and measures over these rows.
    """

    source: str
    digests: tuple[str, ...]
    rows: Count
    time: str
    parent: str
    measures: dict[str, float] = Field(default_factory=dict)


class About(_Entry):
    """Everything in a model except its arrays.

    Attributes
    ----------
    classes : tuple, optional
        Sorted class labels; none for a model that predicts something else.
    dataset, run : DatasetEntry, str, optional
        The origin of the model.
    history : tuple of LearnedEntry
        What it learned after that, in order.
    pickled : bool
        Whether the learner is a pickle, which runs code where it is read: never unasked.
    skops : bool
        Whether the learner is an estimator in the format of skops, which runs no code.
    """

    format: Literal[1, 2, 3] = 1
    olscale: str = __version__
    learner: LearnerEntry
    transforms: TransformsEntry = TransformsEntry()
    columns: ColumnsEntry
    classes: tuple[int | float | str, ...] | None = None
    dataset: DatasetEntry | None = None
    run: str | None = None
    history: tuple[LearnedEntry, ...] = Field(
        default=(), exclude_if=lambda history: not history
    )
    pickled: bool = Field(default=False, exclude_if=lambda pickled: not pickled)
    skops: bool = Field(default=False, exclude_if=lambda skops: not skops)

    @model_validator(mode="after")
    def _consistent(self) -> About:
        if self.pickled and self.skops:
            raise ValueError("the learner cannot be both a pickle and of skops")
        if self.format != self.needed_format:
            raise ValueError(f"format was {self.format}, expected {self.needed_format}")
        classes = self.classes or ()
        if len({type(label) is str for label in classes}) > 1 or sorted(
            set(classes)
        ) != list(classes):
            raise ValueError("classes must be numbers or texts, sorted, each once")
        if any(
            isinstance(label, float) and not math.isfinite(label) for label in classes
        ):
            raise ValueError("classes must be finite")
        return self

    @property
    def needed_format(self) -> Literal[1, 2, 3]:
        """The format of the file: an olscale that cannot read its content says so."""
        if self.skops:
            # A reader refuses formats above its own, so each file has the lowest that
            # its content needs: earlier releases still read it.
            return 3
        return 2 if self.history or self.pickled else 1

    def changed(self, **fields: Any) -> About:
        """Return it with other `fields`, in the format that they need."""
        changed = self.model_copy(update=fields)
        return changed.model_copy(update={"format": changed.needed_format})

    def has_learned(self, digest: str) -> str | None:
        """Return what the model learned that has this digest, or None."""
        if self.dataset is not None and digest in (
            self.dataset.fingerprint,
            *self.dataset.sources,
        ):
            return f"dataset {self.dataset.name}"
        for entry in self.history:
            if digest in entry.digests:
                return f"{entry.source}, learned at {entry.time}"
        return None
