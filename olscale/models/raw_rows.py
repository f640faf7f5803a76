"""Raw rows as a model takes them: frames, dictionaries, datasets, chunks, matrices and arrays.

Columns with names are matched by name, in any order, and raw cells are encoded as they were at
ingest. Columns without names are taken by place, which is safe only where the model's columns have
no names either: an array of encoded columns has to say so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, read_only, read_only_rows, to_csr, to_dense
from olscale.data.chunk import Chunk
from olscale.data.formats.cells import is_number
from olscale.errors import ParameterError
from olscale.learners.contract.estimator import to_rows
from olscale.models.about import ColumnsEntry, place_of
from olscale.models.cell_values import cells_in, number_of, numbers_in
from olscale.models.rows_at_hand import refuse_rows_elsewhere
from olscale.models.text_column import TextColumn
from olscale.models.unknown_values import warn_of_unknown
from olscale.system.plain_arrays import refuse_masked

ColumnOf: TypeAlias = Callable[[str], Any]
"""Returns the cells of a column of a frame, by its name."""

_FEW_DICTS = 32
"""Up to so many dictionaries are encoded cell by cell; more of them column by column."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Rows in the columns of a model already, which need no further look."""

    X: Rows


class RowEncoder:
    """Encodes rows of every kind as the columns of a model, before its transforms.

    Parameters
    ----------
    columns : ColumnsEntry
        Those of the model.

    Examples
    --------
    >>> names = ("age", "job=cook", "job=smith")
    >>> columns = ColumnsEntry(count=3, kind="dense", names=names, text=("job",), label="pay")
    >>> RowEncoder(columns).rows([{"job": "smith", "age": 31}, {"age": 40, "job": None}])
    array([[31.,  0.,  1.],
           [40.,  0.,  0.]])
    """

    def __init__(self, columns: ColumnsEntry) -> None:
        self._columns = columns
        self._warned: set[str] = set()
        self._no_values = frozenset(columns.missing)
        # A word such as -999 that means "no value" comes as a number from a frame.
        self._no_numbers = tuple(
            float(word) for word in columns.missing if is_number(word)
        )

    def rows(self, X: Any, encoded: bool = False) -> Rows:
        """Return rows of any kind, except a `Dataset`, as those of the model.

        Values of text columns that the model never met are ignored, with a warning that counts
        them.

        Parameters
        ----------
        X : dict, sequence of dict, data frame, Chunk, sparse matrix or array-like
        encoded : bool
            Whether the columns are those of the dataset already, in its order.

        Raises
        ------
        ParameterError
            If columns are missing, have no names where the model's have, or hold what the model's
            do not.
        """
        if isinstance(X, Encoded):
            return X.X
        rows = self._rows(X, encoded)
        # Rows that are encoded already need no columns of text, which may have no known coding.
        for _, column in vars(self).get("_text", ()):
            if column.unknown:
                warn_of_unknown(self._take_unknown())
                break
        return rows

    def _take_unknown(self) -> dict[str, int]:
        """Return how many cells of each text column were unknown since the last call."""
        counts = {name: column.unknown for name, column in self._text}
        for _, column in self._text:
            column.unknown = 0
        return counts

    def _rows(self, X: Any, encoded: bool) -> Rows:
        if isinstance(X, Mapping):
            return self._of_dicts([X])
        refuse_rows_elsewhere(X)
        refuse_masked(X, "X")
        if isinstance(X, Chunk):
            return self._of_chunk(X)
        if (frame := _frame(X)) is not None:
            return self._of_frame(*frame, encoded)
        if (
            isinstance(X, Sequence)
            # A list of no rows has no names, and needs none.
            and (len(X) or self._columns.names)
            and all(isinstance(row, Mapping) for row in X)
        ):
            return self._of_dicts(X)
        return self._of_array(X, encoded)

    def labels(self, X: Any) -> Any | None:
        """Return the column of the labels that rows bring along, or None.

        Several targets give an array of shape (rows, targets).
        """
        model = self._columns
        names = model.targets or (
            (model.label,) if isinstance(model.label, str) else ()
        )
        if not names:
            return None
        if isinstance(X, Mapping):
            X = [X]
        if (frame := _frame(X)) is not None:
            present, column_of = frame
        elif isinstance(X, Sequence) and len(X) and isinstance(X[0], Mapping):
            present = [name for name in names if all(name in row for row in X)]
            records = X

            def column_of(name: str) -> Any:
                return [row[name] for row in records]

        else:
            return None
        if not set(names) <= set(present):
            return None
        labels = [list(cells_in(column_of(name))) for name in names]
        return np.array(labels).T if model.targets else labels[0]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self._columns.names or ())}

    @cached_property
    def _table(self) -> tuple[str, ...]:
        """The columns of raw rows: those of numbers, then those of text."""
        return self._columns.table

    @cached_property
    def _numeric(self) -> tuple[tuple[str, int], ...]:
        """Name and feature of each column of numbers."""
        text = set(self._columns.text)
        return tuple(
            (name, self._places[name]) for name in self._table if name not in text
        )

    @cached_property
    def _text(self) -> tuple[tuple[str, TextColumn], ...]:
        return tuple(
            (name, TextColumn(name, self._columns, self._places))
            for name in self._columns.text
        )

    @cached_property
    def _reads_order(self) -> bool:
        """Whether a row's features depend on the rows before it, as the time since the last does.

        The row before is one of the same call: the first of a call has none, whatever came before.
        """
        return any(column.in_order for _, column in self._text)

    @cached_property
    def _ignored(self) -> frozenset[str]:
        """Columns that rows may have though they are no features."""
        model = self._columns
        label = (model.label,) if isinstance(model.label, str) else ()
        return frozenset((*label, *model.targets, *model.dropped))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset((*self._table, *self._ignored))

    @property
    def _lists_nonzeros(self) -> bool:
        """Whether rows list only some features, as text of Vowpal Wabbit does: others are 0."""
        model = self._columns
        return model.kind == "sparse" and not model.text and model.label is None

    def _of_dicts(self, records: Sequence[Mapping[Any, Any]]) -> Rows:
        if self._columns.names is None:
            raise ParameterError(
                "X is a dictionary, but the columns that the model learned from have no names; "
                "give an array or a sparse matrix"
            )
        self._check_names(records)
        in_columns = len(records) > _FEW_DICTS or self._reads_order
        if in_columns and not self._lists_nonzeros:
            rows = records

            def column_of(name: str) -> Any:
                return [record[name] for record in rows]

            return self._encoded(column_of, len(records))
        return self._of_few_dicts(records)

    def _check_names(self, records: Sequence[Mapping[Any, Any]]) -> None:
        table = self._table
        known = self._known
        for row, record in enumerate(records):
            if not self._lists_nonzeros:
                lacking = [name for name in table if name not in record]
                if lacking:
                    raise _lack(lacking, f" in row {row}")
            # By now a record has every column of the table: with no more keys than that
            # it has no others, and most records skip the comparison of sets.
            if len(record) > len(table) and not record.keys() <= known:
                self._warn(record.keys() - known)

    def _of_few_dicts(self, records: Sequence[Mapping[Any, Any]]) -> Rows:
        # Without NumPy until the end: one row then takes microseconds per column.
        if self._is_plain:
            return read_only(
                np.array(
                    [
                        [
                            self._number(record[name], name, row)
                            for name, _ in self._numeric
                        ]
                        for row, record in enumerate(records)
                    ]
                ).reshape(len(records), len(self._numeric))
            )
        indices: list[int] = []
        values: list[float] = []
        ends = [0]
        for row, record in enumerate(records):
            entries: dict[int, float] = {}
            for name, place in self._numeric:
                value = self._number(record.get(name, 0.0), name, row)
                if value != 0.0:
                    entries[place] = value
            for name, column in self._text:
                column.put(record[name], row, entries)
            for place in sorted(entries):
                indices.append(place)
                values.append(entries[place])
            ends.append(len(indices))
        return self._in_layout(
            CSR(
                np.array(ends, dtype=np.int64),
                np.array(indices, dtype=np.int32),
                np.array(values, dtype=np.float64),
            )
        )

    @cached_property
    def _is_plain(self) -> bool:
        """Whether rows are dense and columns of numbers alone, in the order of the features."""
        return self._columns.kind == "dense" and not self._columns.text

    def _number(self, cell: Any, name: str, row: int) -> float:
        if self._no_values and (cell in self._no_values or cell in self._no_numbers):
            return np.nan
        return cell if type(cell) is float else number_of(cell, name, row)

    def _numbers(self, cells: Any, name: str) -> NDArray[np.float64]:
        if not self._no_values:
            return numbers_in(cells, name)
        numbers = [
            self._number(cell, name, row) for row, cell in enumerate(cells_in(cells))
        ]
        return np.array(numbers, dtype=np.float64)

    def _of_frame(
        self, names: Sequence[str], column_of: ColumnOf, encoded: bool
    ) -> Rows:
        model = self._columns
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ParameterError(
                f"X has the column {twice[0]!r} twice; name each column once"
            )
        if model.names is None:
            # Nothing can be matched: places are all that there is.
            columns = [numbers_in(column_of(name), name) for name in names]
            return self._of_array(np.column_stack(columns), encoded)
        rows = len(column_of(names[0])) if names else 0
        present = set(names)
        if encoded:
            self._check_columns(model.names, present)
            columns = [numbers_in(column_of(name), name) for name in model.names]
            return self._of_array(np.column_stack(columns), encoded)
        # A frame may have the features of a column of text in place of the column itself.
        by_feature = {
            name: [feature for feature in model.names if feature.startswith(f"{name}=")]
            for name in model.text
            if name not in present
        }
        by_feature = {
            name: features
            for name, features in by_feature.items()
            if features and present.issuperset(features)
        }
        if not self._lists_nonzeros:
            self._check_columns(
                [name for name in self._table if name not in by_feature], present
            )
        features = {feature for listed in by_feature.values() for feature in listed}
        self._warn(present - self._known - features)
        return self._encoded(column_of, rows, by_feature, present)

    def _check_columns(self, names: Iterable[str], present: set[str]) -> None:
        if lacking := [name for name in names if name not in present]:
            raise _lack(lacking)

    def _encoded(
        self,
        column_of: ColumnOf,
        rows: int,
        by_feature: Mapping[str, Sequence[str]] | None = None,
        present: set[str] | None = None,
    ) -> Rows:
        """Return raw columns as the features of the model, column by column."""
        if self._is_plain:
            return read_only(
                np.column_stack(
                    [self._numbers(column_of(name), name) for name, _ in self._numeric]
                )
            )
        parts: list[
            tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
        ] = []

        def put(place: int, numbers: NDArray[np.float64]) -> None:
            # NaN differs from 0 and is kept: a missing number is not a zero.
            at = np.flatnonzero(numbers != 0.0)
            parts.append((at, np.full(len(at), place, dtype=np.int64), numbers[at]))

        for name, place in self._numeric:
            if present is None or name in present:
                put(place, self._numbers(column_of(name), name))
        for name, column in self._text:
            if by_feature is not None and name in by_feature:
                for feature in by_feature[name]:
                    put(self._places[feature], numbers_in(column_of(feature), feature))
            else:
                parts.append(column.entries(cells_in(column_of(name))))
        if not parts:
            parts.append((np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)))
        row = np.concatenate([part[0] for part in parts])
        place_of_entry = np.concatenate([part[1] for part in parts])
        # CSR rows need ascending features, and parts come column by column.
        order = np.lexsort((place_of_entry, row))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
        return self._in_layout(
            CSR(
                indptr.astype(np.int64),
                place_of_entry[order].astype(np.int32),
                np.concatenate([part[2] for part in parts])[order],
            )
        )

    def _of_chunk(self, chunk: Chunk) -> Rows:
        model = self._columns
        origin = chunk.origin
        names = None if origin is None else origin.feature_names
        if chunk.columns != model.count:
            raise ParameterError(
                f"the chunk has {chunk.columns} features, the model learned from {model.count}; "
                "ingest its sources with --like the model's dataset"
            )
        if not model.by_name or names is None or names == model.names:
            return chunk.X
        if lacking := [name for name in model.names or () if name not in set(names)]:
            raise _lack(lacking)
        order = np.array([names.index(name) for name in model.names or ()])
        return read_only_rows(to_dense(chunk.X, chunk.columns)[:, order])

    def _of_array(self, X: Any, encoded: bool) -> Rows:
        model = self._columns
        count = model.count
        is_sparse = hasattr(X, "tocsr")
        if model.has_given_names and not encoded:
            raise ParameterError(
                "X has no column names, but the columns that the model learned from have; give a "
                "data frame or dictionaries with raw columns, or encoded=True where the columns "
                "are those of feature_names_in_, in this order"
            )
        if is_sparse:
            if X.dtype.kind not in "biuf":
                raise ParameterError(f"X cannot be read as numbers: it holds {X.dtype}")
            self._check_count(X.shape[1])
            # Sparse rows are never matched by name: a SciPy matrix has no names.
            return to_rows(X)
        if model.text and not encoded:
            return self._by_place(X)
        try:
            values = np.asarray(X)
            if values.dtype.kind in "cmM":
                raise TypeError(f"it holds {values.dtype}")
            dense = values.astype(np.float64, copy=False)
        except (TypeError, ValueError) as fault:
            raise ParameterError(f"X cannot be read as numbers: {fault}") from None
        if dense.ndim != 2:
            raise ParameterError(f"X has shape {dense.shape}, expected (rows, {count})")
        self._check_count(dense.shape[1])
        return read_only(dense)

    def _check_count(self, got: int) -> None:
        count = self._columns.count
        if got != count:
            raise ParameterError(
                f"X has {got} features, the model learned from {count}"
            )

    def _by_place(self, X: Any) -> Rows:
        """Return raw rows of a table whose columns have no names, without its label."""
        cells = np.asarray(X, dtype=object)
        names = sorted(self._table, key=lambda name: place_of(name) or 0)
        if cells.ndim != 2 or cells.shape[1] != len(names):
            raise ParameterError(
                f"X has shape {cells.shape}, expected (rows, {len(names)}): raw columns in the "
                "order of the table, without its label"
            )
        places = {name: place for place, name in enumerate(names)}
        return self._encoded(lambda name: cells[:, places[name]].tolist(), len(cells))

    def _in_layout(self, X: CSR) -> Rows:
        # Another layout may give other bits than those of the run.
        if self._columns.kind == "dense":
            return read_only(to_dense(X, self._columns.count))
        return to_csr(X)

    def _warn(self, odd: Iterable[str]) -> None:
        """Warn once of columns that the model does not know."""
        new = sorted(str(name) for name in odd if name not in self._warned)
        if not new:
            return
        self._warned.update(new)
        more = f" and {len(new) - 5} more" if len(new) > 5 else ""
        warnings.warn(
            f"columns of X that the model does not know are ignored: {', '.join(new[:5])}{more}",
            stacklevel=6,
        )


def _frame(X: Any) -> tuple[list[str], ColumnOf] | None:
    """Return the names of the columns of a frame or table, and a way to their cells, if it is one.

    An array has neither.
    """
    # of Arrow tables; their `columns` are arrays
    names = getattr(X, "column_names", None)
    if names is None and hasattr(X, "schema") and hasattr(X, "num_columns"):
        names = X.schema.names  # a batch of Arrow
    if names is None:
        names = getattr(X, "columns", None)
    if (
        names is None
        or isinstance(X, Chunk)
        or not (hasattr(X, "loc") or hasattr(X, "__getitem__"))
    ):
        return None
    originals = list(names)
    words = [str(name) for name in originals]
    places = {word: place for place, word in enumerate(words)}

    def column_of(name: str) -> Any:
        place = places[name]
        if hasattr(X, "iloc"):  # by place, since pandas may have names that are no text
            return X.iloc[:, place]
        if hasattr(X, "column"):
            return X.column(place)
        return X[originals[place]]

    return words, column_of


def _lack(names: Sequence[str], where: str = "") -> ParameterError:
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    listed = ", ".join(map(repr, names[:5]))
    return ParameterError(
        f"X lacks columns that the model learned from{where}: {listed}{more}; a cell without a "
        "value is None"
    )
