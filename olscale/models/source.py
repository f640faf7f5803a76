"""Rows to predict: any source that ingest reads, or a dataset, brought to the columns of a model.

Columns go by their names where people gave them names, else by their places. What the model needs must be there, and what it
does not know is refused; but a value of a text column that it never met is no feature, as a missing cell is none: how many
there were is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, rows_of, to_csr, trim
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.formats import TABLE_FORMATS, find_format
from olscale.data.formats.base import Batch, Format, ReadOptions
from olscale.data.formats.coding import OTHER, FirstValues
from olscale.data.formats.table_columns import UNLABELLED, TableColumns, Target
from olscale.data.ingest.archive import is_archive
from olscale.data.ingest.selection import check_form, drop_columns
from olscale.data.ingest.sources import expand
from olscale.data.manifest import MANIFEST
from olscale.errors import ModelError, UnknownNameError
from olscale.models.about import ColumnsEntry
from olscale.storage.open import open_storage


@dataclass(frozen=True, slots=True)
class RowsToPredict:
    """Consecutive rows with the columns of a model, and labels (and names of several targets) where the source has them."""

    X: Rows
    labels: Target | None
    targets: tuple[str, ...] = ()


class ModelSource:
    """A source as a model takes it.

    Parameters
    ----------
    columns : ColumnsEntry
        Those of the model.
    source : str
        Dataset, file, folder, pattern or address.
    split : str, optional
        Of a dataset; its test split, where it has one, when left out.
    format : str, optional
        Of a source that is no dataset; guessed when left out.
    options : ReadOptions
        Of the first source; a label left out is the model's.

    Attributes
    ----------
    rows : int
        Rows read so far.
    unknown : int
        Values of text columns so far that the model never met.
    notes : list of str
        How files were read where that was unclear, each line once.
    """

    def __init__(
        self,
        columns: ColumnsEntry,
        source: str,
        split: str | None = None,
        format: str | None = None,
        options: ReadOptions | None = None,
    ) -> None:
        self._columns, self._source, self._split, self._format = columns, source, split, format
        self._options = options or ReadOptions()
        self._places: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._bounded = [name for name, coding in columns.coded.items() if coding.startswith(FirstValues.name)]
        self.rows = self.unknown = 0
        self.notes: list[str] = []

    def __iter__(self) -> Iterator[RowsToPredict]:
        if open_storage(self._source).is_file(MANIFEST):
            yield from self._of_dataset(open_dataset(self._source))
            return
        for source in expand([self._source]):
            if is_archive(source.path):
                raise ModelError(f"{source.path} is an archive; unpack it and name the files")
            self._places = self._places[:0]
            for batch in self._read(source.path):
                labels = None if batch.unlabelled else batch.target
                yield self._placed(
                    batch.X, batch.columns, batch.feature_names, _columns_of(batch), labels, batch.targets
                )

    def _of_dataset(self, dataset: Dataset) -> Iterator[RowsToPredict]:
        split = self._split or ("test" if "test" in dataset.splits else "train")
        manifest = dataset.manifest
        columns = None if manifest.table is None else [*manifest.table.categorical]
        self._check_codings({} if manifest.table is None else manifest.table.coded or {})
        self._check_values(set(manifest.feature_names or ()))
        classes = None if dataset.classes is None else np.array(dataset.classes, dtype=object)
        for chunk in dataset.chunks(split):
            labels = chunk.y if classes is None else classes[chunk.y].tolist()
            targets = manifest.targets or ()
            yield self._placed(chunk.X, dataset.columns, manifest.feature_names, columns, labels, targets)

    def _read(self, path: str) -> Iterator[Batch]:
        """Yield the batches of one file, with or without a label column, as it turns out to have one."""
        model, given = self._columns, self._options.label
        label = ",".join(map(_quoted, model.targets)) if model.targets and model.label is not None else model.label
        options = replace(self._options, label=label if given is None else given)
        if model.by_name:
            text = tuple(name in model.text for name in model.table)
            encode = tuple(f"{column}={coding}" for column, coding in model.coded.items())
            table = TableColumns(
                model.table, UNLABELLED, text, kept={name: model.values(name) for name in self._bounded}
            )
            options = replace(options, table=table, encode=encode)
        format = find_format(path, self._format)
        check_form(path, format.name, options)
        if format.name in TABLE_FORMATS:
            self._check_codings(model.coded)
        bare = replace(options, label=None, labelled=False)
        if given is None and format.name in TABLE_FORMATS and self._is_bare(path, format, options, bare):
            options = bare
        try:
            for batch in format.read(path, options):
                self.notes += [note for note in batch.notes if note not in self.notes]
                if batch.zero_based is not None:
                    self._options = replace(self._options, zero_based=batch.zero_based)
                drop = self._options.drop if batch.table is None else ()
                yield drop_columns(batch, drop, path) if drop else batch
        except UnknownNameError as fault:
            if fault.got not in model.coded:
                raise
            raise _lack(path, [fault.got]) from None

    def _check_codings(self, found: Mapping[str, str]) -> None:
        """Refuse text that is encoded otherwise than the model learned it: the same features would mean other things."""
        model, source = self._columns, self._source
        for column in model.text:
            here, there = found.get(column), model.coded.get(column)
            if there == "":
                raise ModelError(
                    f"the model learned from column {column!r} by a coding of --encode that its dataset did not keep: "
                    f"{source} cannot be encoded alike; ingest that dataset anew, and save a model of it"
                )
            if here != there:
                was, wanted = ("one feature a value" if how is None else how or "not kept" for how in (here, there))
                cure = f"with --encode {column}={there}" if there else f"without --encode {column}=..."
                raise ModelError(
                    f"the coding of column {column!r} of {source} is {was}, expected {wanted}, as the model learned it; "
                    f"ingest it anew {cure}"
                )

    def _check_values(self, names: Set[str]) -> None:
        """Refuse a dataset whose `OTHER` may hide values that the model tells apart."""
        for column in self._bounded:
            lost = [value for value in self._columns.values(column) if f"{column}={value}" not in names]
            if lost and f"{column}={OTHER}" in names:
                raise ModelError(
                    f"column {column!r} of {self._source} has {_listed(lost)} among its other values, where the model has a "
                    "feature for each; predict the table that the dataset was made of"
                )

    def _is_bare(self, path: str, format: Format, options: ReadOptions, bare: ReadOptions) -> bool:
        """Return whether a table has no column for the label: no such name, or no column more than the model's."""
        model = self._columns
        if isinstance(model.label, str):
            try:
                next(format.read(path, options))
            except UnknownNameError as fault:
                return fault.got in (model.label, *model.targets)
            return False
        first = next(format.read(path, bare))
        found = first.columns if first.table is None else len(first.table.columns.features)
        if found != (len(model.table) if model.names is not None else model.count):
            return False
        if model.by_name and isinstance(model.label, int) and model.label < found:
            raise ModelError(f"{path} has no label, and its columns no names: which are they? Give it a header")
        return True

    def _placed(
        self,
        X: Rows,
        count: int,
        names: Sequence[str] | None,
        tables: Sequence[str] | None,
        labels: Target | None,
        targets: tuple[str, ...],
    ) -> RowsToPredict:
        columns = self._columns
        self.rows += rows_of(X)
        if names is not None and columns.by_name:
            if len(self._places) != count:
                self._places = self._found(names, tables)
            X = self._moved(X)
        elif count > columns.count or (count < columns.count and not isinstance(X, CSR)):
            raise ModelError(f"{self._source} has {count:,} features, the model learned from {columns.count:,}")
        return RowsToPredict(X if isinstance(X, CSR) else np.asarray(X, dtype=np.float64), labels, targets)

    def _found(self, names: Sequence[str], tables: Sequence[str] | None) -> NDArray[np.int64]:
        """Return the feature of the model that each column of the source is, -1 for a value that the model never met."""
        columns = self._columns
        known = {name: place for place, name in enumerate(columns.names or ())}
        if tables is None and columns.kind == "sparse":
            # Of text that names what is not zero: any feature may be new, or not in these rows.
            return np.array([known.get(name, -1) for name in names], dtype=np.int64)
        values = tuple(f"{column}=" for column in columns.text)
        odd = [name for name in names if name not in known and not name.startswith(values)]
        if odd:
            unknown = [*dict.fromkeys(_column_of(name, tables or ()) for name in odd)]
            raise ModelError(
                f"{self._source} has columns that the model does not know: {_listed(unknown)}; leave them out with --drop"
            )
        there = {*names, *(tables or ())}
        if lacking := [name for name in columns.table if name not in there]:
            raise _lack(self._source, lacking)
        others = {f"{column}=": known.get(f"{column}={OTHER}", -1) for column in self._bounded}
        return np.array([known.get(name, _prefixed(name, others)) for name in names], dtype=np.int64)

    def _moved(self, X: Rows) -> Rows:
        places, count = self._places, self._columns.count
        if not isinstance(X, CSR) and len(places) == count and places.min() >= 0:
            moved = np.empty(X.shape)
            moved[:, places] = X
            return moved
        indptr, indices, data = trim(to_csr(np.asarray(X, dtype=np.float64) if not isinstance(X, CSR) else X))
        row, feature = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), places[indices]
        self.unknown += int(np.count_nonzero(feature < 0))
        order = np.lexsort((feature, row))
        order = order[feature[order] >= 0]
        ends = np.cumsum(np.bincount(row[order], minlength=len(indptr) - 1))
        return CSR(np.concatenate([[0], ends]), feature[order].astype(np.int32), data[order])


def _quoted(name: str) -> str:
    """Return the name of a column as one of several with commas between."""
    return '"{}"'.format(name.replace('"', '""'))


def _columns_of(batch: Batch) -> Sequence[str] | None:
    columns = None if batch.table is None else batch.table.columns
    return None if columns is None else [columns.names[place] for place in columns.features]


def _column_of(feature: str, tables: Sequence[str]) -> str:
    """Return the column that a feature is, or is a value of."""
    return feature if feature in tables else next((name for name in tables if feature.startswith(f"{name}=")), feature)


def _prefixed(feature: str, places: Mapping[str, int]) -> int:
    return next((place for start, place in places.items() if feature.startswith(start)), -1)


def _lack(source: str, names: Sequence[str]) -> ModelError:
    return ModelError(f"{source} lacks columns that the model learned from: {_listed(names)}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
