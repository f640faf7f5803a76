"""Facts about the columns of tables, gathered during the build, and missing or infinite values."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.data.formats.base import Batch
from olscale.data.formats.coding import Hash
from olscale.data.formats.column_watch import RoundedColumns
from olscale.data.formats.feature_order import has_order, sorted_places
from olscale.data.formats.table_columns import TableColumns, listed_columns, value_of
from olscale.data.manifest import TableEntry
from olscale.errors import DatasetError

# Share of the rows in which a column that never falls must rise to be a row number or time.
_SHARE = 0.5
# Columns that an error names.
_MOST_NAMED = 3


class TableNotes:
    """Gathers facts about the columns of all sources of a dataset."""

    def __init__(self) -> None:
        self._first: TableColumns | None = None
        self._others: list[TableColumns] = []
        self._rows: dict[str, int] = {}
        self._missing: dict[str, dict[str, int]] = {}
        self._infinite: dict[str, dict[str, int]] = {}
        self._uncounted: set[str] = set()
        self._rounded: dict[str, RoundedColumns] = {}
        self._split = "train"

    def begin(self, split: str) -> None:
        """Begin a split, or restart it."""
        self._split = split
        self._rows[split] = 0
        self._missing[split] = {}
        self._infinite[split] = {}
        self._uncounted.discard(split)
        self._rounded[split] = RoundedColumns()
        if split == "train":
            self._first = None
            self._others = []

    def add(self, batch: Batch, source: str) -> None:
        """Record the next rows.

        Raises
        ------
        DatasetError
            When the columns of `source`, or which of them hold text, differ from earlier tables.
        """
        self._rows[self._split] += len(batch)
        if batch.table is None:
            self._count(batch, batch.X, missing=True)
            if isinstance(batch.X, CSR):
                self._uncounted.add(self._split)
            elif batch.X.dtype.kind == "f":  # stored integers are exact
                self._rounded[self._split].add(batch.X)
            return
        columns = batch.table.columns
        if self._first is None:
            self._first = columns
        # Batches of a source share their columns, which are compared once.
        elif columns is not self._first and (
            not self._others or columns is not self._others[-1]
        ):
            _check_alike(self._first, columns, source)
            self._others.append(columns)
        if batch.table.missing is not None:
            missing = batch.table.missing
            if isinstance(missing, CSR):
                listed = missing.indices[missing.indptr[0] : missing.indptr[-1]]
                counts = np.bincount(listed, minlength=len(columns.names))
            else:
                counts = missing.sum(axis=0)
            self._note(self._missing, columns.names, counts)
        self._count(batch, batch.X, missing=False)

    def _count(
        self,
        batch: Batch,
        X: NDArray[Any] | CSR,
        missing: bool,
    ) -> None:
        # A sum is a number only if all values are: one pass that reads, whereas a mask is also
        # written and read again.
        values = X.data[X.indptr[0] : X.indptr[-1]] if isinstance(X, CSR) else X
        # Integers are always finite.
        if values.dtype.kind != "f":
            return
        # for infinities or large numbers
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.add.reduce(values, axis=None)
        if np.isfinite(total):
            return
        names = batch.feature_names or tuple(
            f"x{position}" for position in range(batch.columns)
        )
        infinite = _by_column(X, np.isinf(values), batch.columns)
        self._note(self._infinite, names, infinite)
        if missing:
            absent = _by_column(X, np.isnan(values), batch.columns)
            self._note(self._missing, names, absent)

    def _note(
        self,
        counted: dict[str, dict[str, int]],
        names: tuple[str, ...],
        counts: NDArray[Any],
    ) -> None:
        counts_by_name = counted[self._split]
        for position in np.flatnonzero(counts).tolist():
            counts_by_name[names[position]] = counts_by_name.get(
                names[position], 0
            ) + int(counts[position])

    def missing(self, split: str) -> dict[str, int] | None:
        """Return the number of missing cells of `split` by column; None for sparse text without."""
        if split in self._uncounted:
            return self._missing[split] or None
        return self._missing[split]

    def infinite(self, split: str) -> dict[str, int] | None:
        """Return the number of infinite cells of `split` by column, or None."""
        return self._infinite[split] or None

    def rounded(
        self, columns: int, names: tuple[str, ...] | None
    ) -> tuple[str, ...] | None:
        """Return the columns of arrays in which some numbers may have been rounded, or None."""
        positions = {
            position for split in self._rounded.values() for position in split.positions
        }
        called = names or [f"x{position}" for position in range(columns)]
        return tuple(called[position] for position in sorted(positions)) or None

    def sorted_places(self, names: tuple[str, ...] | None) -> NDArray[np.int64] | None:
        """Return the places of features in an order that no row decides; None if they have it."""
        table = self._first
        if table is None or names is None or not table.has_categories:
            return None
        text = [i for i in table.features if table.text[i]]
        fixed = {name for name, coding in table.coded.items() if has_order(coding)}
        return sorted_places(
            names,
            len(table.features) - len(text),
            [table.names[i] for i in text],
            fixed | table.declared,
            set(table.coded) - fixed,
        )

    def entry(self, feature_names: tuple[str, ...] | None) -> TableEntry | None:
        """Return the manifest's entry for the columns; None if the sources are no tables."""
        table = self._first
        if table is None or feature_names is None:
            return None
        names = table.names
        numeric = [i for i in table.features if not table.text[i]]
        categorical = {names[i]: 0 for i in table.features if table.text[i]}
        for name in feature_names[len(numeric) :]:
            categorical[value_of(name, categorical)[0]] += 1
        sources = [table, *self._others]
        places = [
            {name: i for i, name in enumerate(source.names)} for source in sources
        ]
        growing = []
        for name in (names[i] for i in table.rises):
            rises = [
                source.rises.get(place[name])
                for source, place in zip(sources, places, strict=True)
            ]
            # What falls in one source is no row number.
            rise_counts = [count for count in rises if count is not None]
            never_falls = len(rise_counts) == len(sources)
            if never_falls and sum(rise_counts) > _SHARE * sum(self._rows.values()):
                growing.append(name)
        distinct = [names[i] for i in sorted(table.distinct) if names[i] not in growing]
        # A later source may have columns to drop that the first lacks.
        dropped = dict.fromkeys(
            source.names[i]
            for source in sources
            for i in sorted(source.dropped)
            if i != source.weights
        )
        large = {source.names[i] for source in sources for i in source.rounded}
        return TableEntry(
            numeric=len(numeric),
            categorical=categorical,
            dropped=tuple(dropped),
            segments=None if table.segments is None else names[table.segments],
            growing=tuple(growing),
            distinct=tuple(distinct),
            coded=table.coded or None,
            decimal="," if table.decimal == "," else None,
            rounded=tuple(name for name in names if name in large) or None,
            delimiter=table.delimiter,
            header=table.header,
            quoting="none" if table.quoting else None,
            escape="backslash" if table.escape else None,
            missing=table.missing or None,
            hashed="values" if _hashes(table.coded.values()) else None,
        )


def _by_column(
    X: NDArray[Any] | CSR, mask: NDArray[np.bool_], columns: int
) -> NDArray[Any]:
    """Return how many `found` values each column has."""
    if isinstance(X, CSR):
        return np.bincount(
            X.indices[X.indptr[0] : X.indptr[-1]][mask], minlength=columns
        )
    counts: NDArray[Any] = mask.sum(axis=0)
    return counts


def _check_alike(first: TableColumns, later: TableColumns, source: str) -> None:
    was_text = {first.names[i]: first.text[i] for i in first.features}
    is_text = {later.names[i]: later.text[i] for i in later.features}
    if was_text == is_text:
        return
    if was_text.keys() != is_text.keys() and first.header != later.header:
        named, unnamed = "has no line that names its columns", "have one"
        if later.header:
            named, unnamed = "has a line that names its columns", "have none"
        raise DatasetError(
            f"{source} {named}, the sources before it {unnamed}; write all alike, or give "
            "--header or --no-header where that is a wrong guess"
        )
    if first.header is False and len(first.names) != len(later.names):
        raise DatasetError(
            f"{source} has {len(later.names)} columns but the sources before it had "
            f"{len(first.names)}"
        )
    lacks = [name for name in was_text if name not in is_text]
    has = [name for name in is_text if name not in was_text]
    if lacks or has:
        differences = [
            f"it {verb} {_listed(names)}"
            for verb, names in (("lacks", lacks), ("has", has))
            if names
        ]
        raise DatasetError(
            f"{source} has other column names than the sources before it: "
            f"{', and '.join(differences)}; write the same columns to all of them, or leave out "
            f"what some lack with --drop {listed_columns(lacks + has)}"
        )
    name = next(name for name in was_text if was_text[name] != is_text[name])
    new_kind, old_kind = ("text", "numbers") if is_text[name] else ("numbers", "text")
    raise DatasetError(
        f"{source} has {new_kind} in column {name!r}, the sources before it have {old_kind}"
    )


def _listed(names: Sequence[str]) -> str:
    listed = ", ".join(map(repr, names[:_MOST_NAMED]))
    if len(names) > _MOST_NAMED:
        listed = f"{listed} and {len(names) - _MOST_NAMED:,} more"
    return listed


def _hashes(codings: Iterable[str]) -> bool:
    """Return whether a column is hashed by the value of its cells."""
    return any(coding.partition(":")[0] == Hash.name for coding in codings)
