"""Rows to predict: any source that ingest reads, or a dataset, brought to the columns of a model.

Columns are matched by name if people named them, otherwise by place. What the model needs
must be present, and a column that it does not know is refused; but a value of a text column that it
never met is no feature, as a missing cell is none, and neither is an index of SVMlight text beyond
the last of the model: how many there were is counted. Labels may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, rows_of, to_csr, trim
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.formats import ENCODED_FORMATS, TABLE_FORMATS, find_format
from olscale.data.formats.base import Batch, Format, ReadOptions
from olscale.data.formats.coding import OTHER
from olscale.data.formats.svmlight import index_range
from olscale.data.formats.table_columns import Carried, value_of
from olscale.data.ingest.archive import is_archive
from olscale.data.ingest.selection import (
    SVMLIGHT,
    check_form,
    drop_columns,
    refuse_label,
)
from olscale.data.ingest.sources import Source, expand, partition_names, with_partitions
from olscale.data.manifest import MANIFEST
from olscale.errors import FormatError, ModelError, NoRowsError, UnknownNameError
from olscale.models.about import ColumnsEntry, with_values
from olscale.models.cell_values import number_or_nan, pointed
from olscale.models.source_encoding import (
    check_codings,
    check_index_base,
    check_values,
    column_of,
    listed_names,
    spelled_feature,
)
from olscale.models.table_plan import TablePlan, TablePlanner
from olscale.storage.open import open_storage


@dataclass(frozen=True, slots=True)
class RowsToPredict:
    """Consecutive rows with the columns of a model.

    Parameters
    ----------
    X : ndarray or CSR
    labels : ndarray of shape (rows,) or (rows, targets), or list of str or None, optional
        Labels if the source has them; NaN or None if a row has none.
    targets : tuple of str
        Names of the targets, if a row has several.
    kept : dict of str to (ndarray or list of str or None)
        Cells of the columns to copy next to the answers, by name.
    weights : ndarray of shape (rows,), optional
        How much each row counts, if the source is a dataset that says so.
    """

    X: Rows
    labels: Carried | None
    targets: tuple[str, ...] = ()
    kept: Mapping[str, Carried] = field(default_factory=dict)
    weights: NDArray[np.float64] | None = None


class ModelSource:
    """A source in the form that a model takes.

    Parameters
    ----------
    columns : ColumnsEntry
        Those of the model.
    source : str
        Dataset, file, folder, pattern or address.
    split : str, optional
        A split of a dataset; by default its test split, if it has one.
    format : str, optional
        Of a source that is no dataset; guessed when left out.
    options : ReadOptions
        Of the first source; a label left out is the model's.
    keep : sequence of str
        Columns of a table that go with the answers: names or positions, or several with commas
        between.
    refuse_unknown : bool
        Whether a value of a text column that the model never met, and an index beyond its last, is
        an error.

    Attributes
    ----------
    rows : int
        Rows read so far.
    unknown : int
        Values of text columns so far that the model never met.
    unknown_indices : int
        Values so far at indices beyond the last of the model.
    notes : list of str
        How files were read where that was unclear, each line once.
    grow : callable, optional
        Called with all features where new ones come, which the model then has; None where they are
        ignored.
    """

    def __init__(
        self,
        columns: ColumnsEntry,
        source: str,
        split: str | None = None,
        format: str | None = None,
        options: ReadOptions | None = None,
        keep: Sequence[str] = (),
        refuse_unknown: bool = False,
    ) -> None:
        self._columns = columns
        self._source = source
        self._split = split
        self._format = format
        self._options = options or ReadOptions()
        self._keep = keep
        self._refuse_unknown = refuse_unknown
        self._base = 1
        self._places: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.rows = self.unknown = self.unknown_indices = 0
        self.grow: Callable[[ColumnsEntry], None] | None = None
        self.notes: list[str] = []

    def __iter__(self) -> Iterator[RowsToPredict]:
        if open_storage(self._source).is_file(MANIFEST):
            yield from self._of_dataset(open_dataset(self._source))
            return
        sources = self._expanded()
        for source in sources:
            if is_archive(source.path):
                raise ModelError(
                    f"{source.path} is an archive; unpack it and name the files"
                )
        zero_based = self._zero_based(sources)
        self._base = 0 if zero_based else 1
        for source in sources:
            # Files of one source may order their columns differently.
            self._places = self._places[:0]
            try:
                yield from self._of_file(source, zero_based)
            except NoRowsError:
                # An empty part among other files of a folder is no failure; an empty
                # source is.
                if not source.part:
                    raise
                self.notes.append(f"passed over as empty: {source.path}")

    def _of_dataset(self, dataset: Dataset) -> Iterator[RowsToPredict]:
        if self._keep:
            raise ModelError(
                f"{self._source} is a dataset, which has features and labels alone; leave --keep "
                "out, or predict the "
                "files that it was made of"
            )
        # Rows that the model has not learned, where the dataset has any.
        split = self._split or ("test" if "test" in dataset.splits else "train")
        manifest = dataset.manifest
        columns = None if manifest.table is None else [*manifest.table.categorical]
        check_index_base(
            self._columns, self._source, manifest.index_base, self._options.zero_based
        )
        # For error messages alone: features of a dataset count from 0 by now.
        self._base = 0 if manifest.index_base == 0 else 1
        codings = {} if manifest.table is None else manifest.table.coded or {}
        check_codings(self._columns, self._source, codings)
        check_values(self._columns, self._source, set(manifest.feature_names or ()))
        classes = (
            None if dataset.classes is None else np.array(dataset.classes, dtype=object)
        )
        for chunk in dataset.chunks(split):
            labels = chunk.y if classes is None else classes[chunk.y].tolist()
            X = chunk.X
            names = manifest.feature_names
            if (
                manifest.index_base is not None
                and dataset.columns != self._columns.count
            ):
                # Dense SVMlight text is still text: it may have more indices, or fewer.
                X = to_csr(X)
            X = self._placed(
                X, dataset.columns, names, columns, indexed=isinstance(X, CSR)
            )
            yield RowsToPredict(
                X, labels, manifest.targets or (), weights=chunk.weights
            )

    def _expanded(self) -> list[Source]:
        """Return the files of the source, with the folder columns that the model knows."""
        model = self._columns
        sources = expand([self._source], self.notes.append)
        names = partition_names(sources)
        if model.by_name:
            names = (*model.table, *model.targets, *model.dropped)
            if isinstance(model.label, str):
                names += (model.label,)
        return with_partitions(sources, names)

    def _of_file(
        self, source: Source, zero_based: bool | None
    ) -> Iterator[RowsToPredict]:
        """Yield the rows of one file, with or without labels, as it turns out to have them."""
        path = source.path
        model = self._columns
        options = replace(self._options, constants=source.constants)
        format = find_format(path, self._format)
        if format.name in ("csv", "tsv"):
            options = self._written_alike(options)
        check_form(path, format.name, options)
        try:
            if format.name in TABLE_FORMATS:
                check_codings(model, self._source, model.coded)
                plan = TablePlanner(model, options, self._keep).plan(path, format)
            else:
                refuse_label(path, format.name, options)
                plan = self._plan_without_columns(path, format, zero_based)
            self._note(plan.notes)
            for batch in format.read(path, plan.options):
                self._note(batch.notes)
                # Formats of tables drop columns as they read; other formats know of
                # none.
                if plan.options.drop and batch.table is None:
                    batch = drop_columns(batch, plan.options.drop, path)
                labels, targets = self._labels(batch, plan)
                carried = {} if batch.table is None else batch.table.carried
                indexed = batch.zero_based is not None
                X = self._placed(
                    batch.X,
                    batch.columns,
                    batch.feature_names,
                    _columns_of(batch),
                    indexed=indexed,
                )
                yield RowsToPredict(
                    X, labels, targets, {name: carried[name] for name in plan.kept}
                )
        except UnknownNameError as fault:
            if fault.got not in model.coded:
                raise
            raise _lack(path, [fault.got]) from None

    def _plan_without_columns(
        self, path: str, format: Format, zero_based: bool | None
    ) -> TablePlan:
        if self._keep:
            raise FormatError(
                path, f"is {format.name} and has no columns to keep; leave --keep out"
            )
        options = replace(self._options, labels_needed=False)
        if format.name == SVMLIGHT:
            options = replace(options, zero_based=zero_based)
        if format.name in ENCODED_FORMATS:
            options = replace(options, encode=self._columns.codings)
        return TablePlan(options)

    def _labels(
        self, batch: Batch, plan: TablePlan
    ) -> tuple[Carried | None, tuple[str, ...]]:
        """Return the labels of `batch`, and the names of its targets if there are several."""
        if batch.table is None:
            target: Any = batch.target
            # Without labels `target` holds placeholders, which must not pass as labels.
            return None if batch.unlabelled else target, batch.targets
        carried = batch.table.carried
        if not plan.labels or not all(name in carried for name in plan.labels):
            return None, ()
        mark = self._options.decimal or "."
        if len(plan.labels) == 1:
            cells = carried[plan.labels[0]]
            if mark == "." or not isinstance(cells, list):
                return cells, ()
            return [pointed(cell, mark) for cell in cells], ()
        columns = [
            [number_or_nan(cell, mark) for cell in carried[name]]
            for name in plan.labels
        ]
        return np.array(columns).T, plan.labels

    def _note(self, lines: Sequence[str]) -> None:
        self.notes += [line for line in lines if line not in self.notes]

    def _zero_based(self, sources: Sequence[Source]) -> bool | None:
        """Return whether SVMlight text counts from 0: by option, by the model, or by an index 0.

        Without an option the files are read once before, so that nothing is predicted
        from columns that are off by one.
        """
        if self._options.zero_based is not None:
            return self._options.zero_based
        model = self._columns
        if model.index_base == 1:
            return False
        paths = [source.path for source in sources]
        ranges = {
            path: index_range(path)
            for path in paths
            if find_format(path, self._format).name == SVMLIGHT
        }
        if model.index_base is None:
            return any(indices.smallest == 0 for indices in ranges.values())
        for path, indices in ranges.items():
            # Either base would fit this file, and a wrong one would shift every feature silently.
            if indices.smallest > 0 and indices.largest == model.count:
                raise ModelError(
                    f"{path} has no index 0, and its largest index {indices.largest} is one above "
                    "the last of the model, "
                    "which counts from 0: give --index-base 1 if it counts from 1, else "
                    "--index-base 0"
                )
        return True

    def _written_alike(self, options: ReadOptions) -> ReadOptions:
        """Return `options`, completed by how the cells were written that the model learned from."""
        model = self._columns
        return replace(
            options,
            quoting=options.quoting or model.quoting,
            escape=options.escape or model.escape,
            missing=options.missing or model.missing,
        )

    def _placed(
        self,
        X: Rows,
        count: int,
        names: Sequence[str] | None,
        tables: Sequence[str] | None,
        *,
        indexed: bool,
    ) -> Rows:
        """Return rows of `count` columns as those of the model.

        `indexed` says that columns are numbered by the indices of text, and some may be new.
        """
        columns = self._columns
        first = self.rows
        self.rows += rows_of(X)
        if names is not None and columns.by_name:
            if len(self._places) != count:
                self._add_values(names)
                self._places = self._found(names, tables)
            X = self._moved(X, names, first)
        elif (
            indexed
            and isinstance(X, CSR)
            and count > columns.count
            and self.grow is not None
        ):
            self._columns = columns.model_copy(update={"count": count})
            self.grow(self._columns)
        elif indexed and isinstance(X, CSR) and count > columns.count:
            X = self._without_new_indices(X, first)
        elif count > columns.count or (
            count < columns.count and not isinstance(X, CSR)
        ):
            raise ModelError(
                f"{self._source} has {count:,} features, the model learned from {columns.count:,}"
            )
        return X if isinstance(X, CSR) else np.asarray(X, dtype=np.float64)

    def _add_values(self, names: Sequence[str]) -> None:
        """Give the model a feature for each value of a text column that it never met."""
        columns = self._columns
        if self.grow is None:
            return
        known = set(columns.names or ())
        values = tuple(
            f"{column}=" for column in columns.text if column not in columns.coded
        )
        new = [
            name
            for name in names
            if values and name.startswith(values)
            if spelled_feature(name, columns.text, known) is None
        ]
        if new:
            self._columns = with_values(columns, new)
            self.grow(self._columns)

    def _found(
        self, names: Sequence[str], tables: Sequence[str] | None
    ) -> NDArray[np.int64]:
        """Return the model's feature for each column of the source, -1 for an unknown value."""
        columns = self._columns
        places = {name: place for place, name in enumerate(columns.names or ())}
        if tables is None and columns.kind == "sparse":
            # Text that lists only nonzeros: features may be new, or absent from these rows.
            return np.array([places.get(name, -1) for name in names], dtype=np.int64)
        values = tuple(f"{column}=" for column in columns.text)
        odd = [
            name for name in names if name not in places and not name.startswith(values)
        ]
        if odd:
            unknown = [*dict.fromkeys(column_of(name, tables or ()) for name in odd)]
            raise ModelError(
                f"{self._source} has columns that the model does not know: "
                f"{listed_names(unknown)}; leave them out with --drop"
            )
        present = {*names, *(tables or ())}
        if lacking := [name for name in columns.table if name not in present]:
            raise _lack(self._source, lacking)
        other_values = {
            f"{column}=": places.get(f"{column}={OTHER}", -1)
            for column in columns.bounded
        }
        known_names = [spelled_feature(name, columns.text, places) for name in names]
        return np.array(
            [
                _prefixed(name, other_values) if known is None else places[known]
                for name, known in zip(names, known_names, strict=True)
            ],
            dtype=np.int64,
        )

    def _moved(self, X: Rows, names: Sequence[str], first: int) -> Rows:
        places = self._places
        count = self._columns.count
        if not isinstance(X, CSR) and len(places) == count and places.min() >= 0:
            # The columns are only permuted: a dense copy avoids the detour through CSR.
            moved = np.empty(X.shape)
            moved[:, places] = X
            return moved
        indptr, indices, data = trim(
            to_csr(np.asarray(X, dtype=np.float64) if not isinstance(X, CSR) else X)
        )
        row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        feature = places[indices]
        new = np.flatnonzero(feature < 0)
        self.unknown += len(new)
        if self._refuse_unknown and len(new):
            name = names[indices[new[0]]]
            what = f"the feature {name!r}"
            if column_of(name, self._columns.text) != name:
                column, value = value_of(name, self._columns.text)
                what = f"{value!r} in column {column!r}"
            raise ModelError(
                f"row {first + row[new[0]]} of {self._source} has {what}, which the model never "
                "met; "
                "--unknown ignore counts it as no value"
            )
        # CSR rows need ascending features, but the source may order them differently.
        order = np.lexsort((feature, row))
        order = order[feature[order] >= 0]
        ends = np.cumsum(np.bincount(row[order], minlength=len(indptr) - 1))
        return CSR(
            np.concatenate([[0], ends]), feature[order].astype(np.int32), data[order]
        )

    def _without_new_indices(self, X: CSR, first: int) -> CSR:
        indptr, indices, data = trim(X)
        is_known = indices < self._columns.count
        if is_known.all():
            return X
        self.unknown_indices += int(np.count_nonzero(~is_known))
        if self._refuse_unknown:
            entry = int(np.argmin(is_known))
            row = int(np.searchsorted(indptr, entry, side="right")) - 1
            raise ModelError(
                f"row {first + row} of {self._source} has a value at index "
                f"{indices[entry] + self._base}, which the "
                f"model never met: it learned from {self._columns.count:,} features; --unknown "
                "ignore counts it as no value"
            )
        ends = np.concatenate([[0], np.cumsum(is_known)])[indptr]
        return CSR(ends, indices[is_known], data[is_known])


def _columns_of(batch: Batch) -> Sequence[str] | None:
    columns = None if batch.table is None else batch.table.columns
    return (
        None
        if columns is None
        else [columns.names[place] for place in columns.features]
    )


def _prefixed(feature: str, places: Mapping[str, int]) -> int:
    return next(
        (place for start, place in places.items() if feature.startswith(start)), -1
    )


def _lack(source: str, names: Sequence[str]) -> ModelError:
    return ModelError(
        f"{source} lacks columns that the model learned from: {listed_names(names)}"
    )
