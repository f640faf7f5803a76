"""A transform of some columns, which leaves the others as they are.

``NAME@COLUMNS`` names it in experiments: ``standardize@amount+age``, ``impute:median@*_gap``,
``running-standardize@numeric``. Columns are known once the step is bound to a dataset; a saved
model has their positions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, read_only_rows, rows_of, to_csr, trim
from olscale.data.transforms.base import Transform, dense_rows
from olscale.data.transforms.known_columns import GROUPS, KnownColumns
from olscale.data.transforms.streaming import StreamingTransform, StreamLabels
from olscale.errors import ParameterError

_CHOSEN = "chosen"
_SPECIAL = frozenset('+,@"')


def split_choice(text: str) -> tuple[str, str]:
    """Return a transform and the columns it is for, empty if these are all.

    Examples
    --------
    >>> split_choice("impute:mean@amount+age"), split_choice("bias")
    (('impute:mean', 'amount+age'), ('bias', ''))
    """
    name, at, columns = text.partition("@")
    if at and not columns.strip():
        raise ParameterError(
            f"transform {text}: no columns after the @; expected e.g. {name}@amount+age"
        )
    return name.strip(), columns.strip()


def choice_text(transform: str, columns: Sequence[str]) -> str:
    """Return the text of a transform of columns with these names, or names that fit patterns.

    Examples
    --------
    >>> choice_text("standardize", ["b", "a"]), choice_text("standardize", ["a+b"])
    ('standardize@a+b', 'standardize@["a+b"]')
    """
    items = sorted(set(columns))
    # A column that is called as a group, or has a sign of this notation, can only be
    # named in JSON.
    if any(not _SPECIAL.isdisjoint(item) or item in GROUPS for item in items):
        return f"{transform}@{json.dumps(items, ensure_ascii=False)}"
    return f"{transform}@{'+'.join(items)}"


class OnColumns(StreamingTransform):
    """Apply `inner` to chosen columns; others keep their values, and sparse rows stay sparse.

    New values take the places of the old ones, and added features come last. A transform that
    combines features puts its own last, and the chosen columns are left out.

    Parameters
    ----------
    inner : Transform
    columns : str
        Names, patterns or groups, separated by ``+``; or a list of names in JSON.

    Examples
    --------
    >>> from olscale.data.transforms.scaling import UnitNorm
    >>> known = KnownColumns("sales", ("a", "b", "c"), {}, {})
    >>> step = OnColumns(UnitNorm(), "a+c").bound(known)
    >>> step.apply(np.array([[3.0, 9.0, 4.0]]), 3)
    array([[0.6, 9. , 0.8]])
    """

    name = "on-columns"
    takes_sparse = True
    fits_sparse = True

    def __init__(self, inner: Transform, columns: str) -> None:
        self.inner = inner
        self.items, self.words = _parsed(inner, columns)
        self.chosen: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.is_bound = False
        self.streams = inner.streams
        self.keeps_missing = inner.keeps_missing
        self.mixes_features = inner.mixes_features
        self.is_random = inner.is_random
        self.keeps_values = inner.keeps_values
        self.learns_labels = (
            isinstance(inner, StreamingTransform) and inner.learns_labels
        )

    @property
    def text(self) -> str:
        """The columns in canonical form."""
        if not self.words:
            return choice_text("", self.items).removeprefix("@")
        return "+".join(sorted(set(self.items)))

    @property
    def projection(self) -> int:
        """Number of the draw of a random transform."""
        return self.inner.projection

    @projection.setter
    def projection(self, number: int) -> None:
        self.inner.projection = number

    @property
    def learned(self) -> dict[str, NDArray[Any]]:
        """Everything that the inner transform has learned."""
        if isinstance(self.inner, StreamingTransform) and len(self.chosen):
            return self.inner.learned
        return {}

    @learned.setter
    def learned(self, learned: dict[str, NDArray[Any]]) -> None:
        if isinstance(self.inner, StreamingTransform) and len(self.chosen):
            self.inner.learned = learned

    def bound(self, known: KnownColumns) -> OnColumns:
        """Return the transform for the columns of a dataset.

        Raises
        ------
        UnknownNameError
            If there is no such column.
        """
        step = copy(self)
        step.chosen = known.positions(self.items, self.words)
        step.inner = self.inner.bound_to(known, step.chosen)
        step.is_bound = True
        return step

    @property
    def _replaces(self) -> bool:
        """Whether chosen columns keep their places; otherwise they are left out."""
        width = self.inner.width(len(self.chosen))
        return not self.inner.mixes_features and width >= len(self.chosen)

    def width(self, columns: int) -> int:
        if not len(self.chosen):
            return columns
        made = self.inner.width(len(self.chosen))
        if self._replaces:
            return columns + made - len(self.chosen)
        return columns - len(self.chosen) + made

    def feature_names(self, names: Sequence[str]) -> list[str]:
        if not len(self.chosen):
            return list(names)
        made = self.inner.feature_names([names[place] for place in self.chosen])
        if self._replaces:
            return [*names, *made[len(self.chosen) :]]
        chosen = set(self.chosen.tolist())
        return [
            *(name for place, name in enumerate(names) if place not in chosen),
            *made,
        ]

    def code_counts(
        self, names: Sequence[str], counts: Mapping[str, int]
    ) -> Mapping[str, int]:
        chosen = [names[place] for place in self.chosen]
        if not chosen:
            return counts
        of_chosen = {name: counts[name] for name in chosen if name in counts}
        others = {
            name: count for name, count in counts.items() if name not in of_chosen
        }
        return {**others, **self.inner.code_counts(chosen, of_chosen)}

    def size_after(self, columns: int, values: float) -> tuple[int, float]:
        if not len(self.chosen):
            return columns, values
        # Which of the values are in chosen columns is not known: all may be.
        count = len(self.chosen)
        made = self.inner.size_after(count, min(values, count))[1]
        width = self.width(columns)
        return width, min(width, values + made)

    def start_rows(self) -> tuple[int, str]:
        return self.inner.start_rows()

    def fit(self, chunks: Callable[[], Iterator[Any]], columns: int) -> None:
        def rows() -> Iterator[Rows]:
            for X in chunks():
                part = self._part(X)
                if not self.inner.fits_sparse:
                    part = dense_rows(self.inner.name, part, len(self.chosen))
                yield read_only_rows(part)

        del columns
        # Before it is bound, `check_order` only asks whether the inner transform reads rows.
        if len(self.chosen) or not self.is_bound:
            self.inner.fit(rows, len(self.chosen))

    def begin(self, columns: int) -> None:
        del columns
        # Copies of a step serve several streams.
        self.inner = copy(self.inner)
        if isinstance(self.inner, StreamingTransform) and len(self.chosen):
            self.inner.begin(len(self.chosen))

    def learn(self, X: Rows, columns: int, trains: NDArray[np.bool_]) -> Rows:
        return self.learn_labelled(X, columns, trains, None)

    def learn_labelled(
        self,
        X: Rows,
        columns: int,
        trains: NDArray[np.bool_],
        labels: StreamLabels | None,
    ) -> Rows:
        count = len(self.chosen)
        if not count:
            return X
        part = read_only_rows(self.inner.rows(self._part(X), count))
        if isinstance(self.inner, StreamingTransform):
            made = self.inner.learn_labelled(part, count, trains, labels)
        else:
            made = self.inner.apply(part, count)
        if isinstance(X, CSR):
            return self._with_sparse(X, to_csr(made), columns)
        assert not isinstance(made, CSR)  # dense rows stay dense
        if not self._replaces:
            return np.hstack([np.delete(X, self.chosen, axis=1), made])
        # A new array: rows of a stream are read-only, and other runs read them too.
        out = np.hstack([X, made[:, count:]])
        out[:, self.chosen] = made[:, :count]
        return out

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the positions of the columns, and the arrays of the inner transform."""
        if not len(self.chosen):
            return {_CHOSEN: self.chosen}
        return {_CHOSEN: self.chosen, **self.inner.state()}

    def restore(self, state: Mapping[str, NDArray[Any]], columns: int) -> None:
        chosen = state.get(_CHOSEN)
        if chosen is None or chosen.ndim != 1 or chosen.dtype != np.int64:
            raise ValueError(
                f"transform {self.inner.name} has no positions of its columns"
            )
        # `searchsorted` needs them in order.
        rises = (np.diff(chosen) > 0).all()
        if len(chosen) and not (rises and chosen[0] >= 0 and chosen[-1] < columns):
            raise ValueError(
                f"transform {self.inner.name} has positions beyond {columns} columns"
            )
        self.chosen = np.array(chosen)
        self.is_bound = True
        inner = {name: array for name, array in state.items() if name != _CHOSEN}
        if len(chosen):
            self.inner.restore(inner, len(chosen))
        elif inner:
            raise ValueError(f"transform {self.inner.name} has arrays, and no columns")

    def places(self, columns: int) -> NDArray[np.int64]:
        """Return where each new column is among the old ones and, behind these, those made."""
        count = len(self.chosen)
        made = columns + np.arange(self.inner.width(count))
        if not self._replaces:
            return np.append(np.delete(np.arange(columns), self.chosen), made)
        places = np.arange(columns)
        places[self.chosen] = made[:count]
        return np.append(places, made[count:])

    def _part(self, X: Rows) -> Rows:
        """Return the chosen columns."""
        if not isinstance(X, CSR):
            return X[:, self.chosen]
        indptr, indices, data = trim(X)
        place, is_chosen = self._places(indices)
        before = np.concatenate([[0], np.cumsum(is_chosen)])
        return CSR(
            before[indptr].astype(np.int64),
            place[is_chosen].astype(np.int32),
            data[is_chosen],
        )

    def _places(
        self, indices: NDArray[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return how many chosen columns come before each index, and which are chosen."""
        place = np.searchsorted(self.chosen, indices)
        last = len(self.chosen) - 1
        if last < 0:
            return place, np.zeros(len(indices), dtype=np.bool_)
        return place, self.chosen[np.minimum(place, last)] == indices

    def _with_sparse(self, X: CSR, made: CSR, columns: int) -> CSR:
        """Return the other columns with those that the inner transform has made."""
        count = len(self.chosen)
        rows = rows_of(X)
        indptr, indices, data = trim(X)
        place, is_chosen = self._places(indices)
        row = np.repeat(np.arange(rows), np.diff(indptr))[~is_chosen]
        other = indices[~is_chosen].astype(np.int64)
        new_indptr, new_indices, new_data = trim(made)
        new_row = np.repeat(np.arange(rows), np.diff(new_indptr))
        new = new_indices.astype(np.int64)
        if self._replaces:
            # The first features that are made take the places of the chosen ones, the
            # others come last.
            kept = new < count
            new = np.where(
                kept, self.chosen[np.minimum(new, count - 1)], new - count + columns
            )
        else:
            # Each moves to the left by the chosen columns before it.
            other = other - place[~is_chosen]
            new = new + columns - count
        all_rows = np.concatenate([row, new_row])
        all_indices = np.concatenate([other, new])
        # Both parts are sorted, which a stable sort merges in one pass.
        order = np.argsort(all_rows * self.width(columns) + all_indices, kind="stable")
        return CSR(
            np.concatenate(
                [[0], np.cumsum(np.bincount(all_rows, minlength=rows))]
            ).astype(np.int64),
            all_indices[order].astype(np.int32),
            np.concatenate([data[~is_chosen], new_data])[order],
        )


def _parsed(inner: Transform, columns: str) -> tuple[tuple[str, ...], bool]:
    """Return the items of a choice, and whether they may be words for groups."""
    if columns.startswith('["'):
        try:
            listed = json.loads(columns)
        except json.JSONDecodeError:
            listed = []
        if listed and all(isinstance(item, str) for item in listed):
            return tuple(listed), False
    items = tuple(item.strip() for item in columns.split("+"))
    if not all(items) or not set('@"').isdisjoint(columns):
        raise ParameterError(
            f"transform {inner.name}@{columns}: expected names of columns with + between them; "
            'names with + , @ or " stand in a table: '
            f'{{ name = "{inner.name}", columns = ["NAME"] }}'
        )
    return items, True


def bound_steps(steps: Sequence[Transform], known: KnownColumns) -> list[Transform]:
    """Return steps, bound to the columns of a dataset where they choose some.

    Raises
    ------
    UnknownNameError
        If there is no such column.
    """
    bound: list[Transform] = []
    for step in steps:
        if isinstance(step, OnColumns):
            step = step.bound(known)
        bound.append(step)
        known = known.after(step.feature_names(known.names))
    return bound
