"""A raw column of text as the features that a model has for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.data.formats.cells import is_missing
from olscale.data.formats.coding import OTHER, Coding, CodingError, parse_codings
from olscale.data.formats.spellings import spelled_as_in
from olscale.errors import ParameterError
from olscale.models.about import ColumnsEntry
from olscale.models.cell_values import is_no_value, words_of

_MISSING = -1
"""In place of the feature of a cell without a value."""

_UNKNOWN = -2
"""In place of the feature of a value that the model never met."""


class TextColumn:
    """A raw column of text: the features of its words, or those of its coding.

    Attributes
    ----------
    unknown : int
        Cells so far whose value has no feature.
    """

    def __init__(
        self, name: str, model: ColumnsEntry, places: Mapping[str, int]
    ) -> None:
        self._name = name
        start = f"{name}="
        self._features = {
            feature.removeprefix(start): place
            for feature, place in places.items()
            if feature.startswith(start)
        }
        self._words = set(model.missing)
        self._coding: Coding | None = None
        coding = model.coded.get(name)
        if coding == "":
            raise ParameterError(
                f"the model learned from column {name!r} by a coding of --encode that its dataset "
                "did not keep; ingest that dataset anew, and save a model of it"
            )
        # The first values of a column are features by name, as all values of a column
        # without a coding are.
        if coding is not None and name not in model.bounded:
            parsed = parse_codings([f"{name}={model.coding_of(name)}"])[name]
            assert isinstance(parsed, Coding)
            self._coding = parsed
        # None where no row of the model's dataset had another value: the cell then is
        # no feature.
        self._other = self._features.get(OTHER) if name in model.bounded else None
        self.unknown = 0

    @property
    def in_order(self) -> bool:
        """Whether features of a row depend on the rows before it."""
        return self._coding is not None and self._coding.in_order

    def _place(self, cell: Any) -> int:
        """Return the feature of a cell, `_MISSING` or `_UNKNOWN` where it has none."""
        if is_no_value(cell):
            return _MISSING
        for word in words_of(cell):
            known = spelled_as_in(word, self._features)
            if known is not None:
                return self._features[known]
        if isinstance(cell, str) and (is_missing(cell) or cell.strip() in self._words):
            return _MISSING
        return _UNKNOWN if self._other is None else self._other

    def _code(self, cells: Sequence[Any]) -> CSR:
        assert self._coding is not None
        # The likeliest word: a whole number without a point, as formats with types code it.
        words = [None if _is_empty(cell) else next(words_of(cell)) for cell in cells]
        try:
            # A coding begun anew for each call: the first row of a call has no row
            # before it.
            return self._coding.begin().encode(words)
        except CodingError as fault:
            cell, expected = fault.parts
            raise ParameterError(
                f"column {self._name!r} of X was {cell[:40]!r}, expected {expected}"
            ) from None

    @cached_property
    def _part_places(self) -> NDArray[np.int64]:
        assert self._coding is not None
        return np.array(
            [self._features[part] for part in self._coding.parts], dtype=np.int64
        )

    def put(self, cell: Any, row: int, entries: dict[int, float]) -> None:
        """Add the entries of a cell."""
        del row
        if self._coding is not None:
            coded = self._code([cell])
            for part, value in zip(
                coded.indices.tolist(), coded.data.tolist(), strict=True
            ):
                entries[int(self._part_places[part])] = value
            return
        place = self._place(cell)
        self.unknown += place == _UNKNOWN
        if place >= 0:
            entries[place] = 1.0

    def entries(
        self, cells: Iterable[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return row, feature and value of the entries of a column."""
        if self._coding is not None:
            coded = self._code(list(cells))
            row = np.repeat(np.arange(len(coded.indptr) - 1), np.diff(coded.indptr))
            return row, self._part_places[coded.indices], coded.data
        known: dict[Any, int] = {}
        places = []
        for cell in cells:
            # Most cells recur often; 1, 1.0 and True are the same key and not the same word.
            key = (type(cell), cell)
            if key not in known:
                known[key] = self._place(cell)
            places.append(known[key])
        features = np.array(places, dtype=np.int64)
        self.unknown += int(np.count_nonzero(features == _UNKNOWN))
        row = np.flatnonzero(features >= 0)
        return row, features[row], np.ones(len(row))


def _is_empty(cell: Any) -> bool:
    return is_no_value(cell) or (isinstance(cell, str) and is_missing(cell))
