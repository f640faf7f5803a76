"""Which columns of a stream are nominal: a parameter that names them, by number or name."""

import numbers
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, to_dense
from olscale.data.feature_names import FeatureNames
from olscale.errors import ParameterError, UnknownNameError
from olscale.learners.contract.capability import ExplainsNoScore, Label, TakesNames
from olscale.learners.contract.learner import Learner
from olscale.learners.contract.parameters import Maybe, param
from olscale.learners.tree.value_counts import MOST_VALUES

_NUMBERS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
# Longer ranges are slips, and would be written out column by column.
_MOST_COLUMNS = 1 << 20


@dataclass(frozen=True, slots=True)
class ColumnList:
    """Columns by number or name, with ``+`` between them."""

    def accept(self, name: str, value: Any) -> str:
        """Return `value` as text, each column once: numbers first, ascending.

        Examples
        --------
        >>> ColumnList().accept("nominal", "car+4+3+0-2"), ColumnList().accept("nominal", 7)
        ('0-4+car', '7')
        """
        text = value
        if isinstance(value, numbers.Integral) and not isinstance(value, bool):
            text = str(int(value))
        if not isinstance(text, str):
            raise ParameterError(f"parameter {name} was {value!r}, expected {self}")
        columns, names = _parsed(text)
        # Two plus signs in a row, or one at an end.
        if "" in names:
            raise ParameterError(f"parameter {name} was {value!r}, expected {self}")
        return "+".join([*_ranges(columns), *sorted(names)])

    def __str__(self) -> str:
        return (
            "columns by number from 0 or by name with + between them, as 3+5, 0-23 or "
            "car+zipcode"
        )


def _parsed(text: str) -> tuple[set[int], set[str]]:
    """Return the numbers and the names in `text`."""
    columns: set[int] = set()
    names = set()
    for item in text.split("+"):
        match = _NUMBERS.fullmatch(item.strip())
        if match is None:
            names.add(item.strip())
            continue
        first = int(match[1])
        last = int(match[2] or first)
        # No range of columns, but a column may be called so.
        if not first <= last < _MOST_COLUMNS:
            names.add(item.strip())
            continue
        columns.update(range(first, last + 1))
    return columns, names


def _ranges(columns: Iterable[int]) -> list[str]:
    """Return the numbers ascending, three and more that follow one another as ``first-last``."""
    ranges: list[list[int]] = []
    for column in sorted(columns):
        if ranges and ranges[-1][-1] == column - 1:
            ranges[-1].append(column)
        else:
            ranges.append([column])
    texts = []
    for numbers_of in ranges:
        if len(numbers_of) > 2:
            texts.append(f"{numbers_of[0]}-{numbers_of[-1]}")
        else:
            texts.extend(map(str, numbers_of))
    return texts


class KnowsNominal(Learner, TakesNames, ExplainsNoScore):
    """Base of learners that know nominal columns: adds `nominal`."""

    nominal: str | None = param(
        None,
        Maybe(ColumnList()),
        "Columns of codes 0, 1, ... that stand for values without an order, by number or name: "
        "``3+5``, ``0-23``, ``car+zipcode``; without them those that ``ordinal-encode`` makes. A "
        "negative code is a missing value.",
    )
    _feature_names = tuple[str, ...]()
    _codes = tuple[int, ...]()

    def expect_names(self, features: FeatureNames, labels: Sequence[Label]) -> None:
        """Let `nominal` name columns by these names; features that are codes are its default."""
        del labels
        self._feature_names = tuple(features.names)
        self._codes = tuple(features.codes)

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form, nominal columns by number if names are known."""
        params = super().resolved_params()
        nominal = params["nominal"]
        if nominal is None and self._codes:
            params["nominal"] = "+".join(_ranges(self._codes))
            return params
        if nominal is None:
            # Runs and models without nominal columns stay what they were.
            del params["nominal"]
            return params
        if self._known_names():
            columns, names = _parsed(nominal)
            columns.update(self._numbers_of(names))
            params["nominal"] = "+".join(_ranges(columns))
        return params

    def nominal_columns(self, columns: int) -> NDArray[np.int64]:
        """Return the numbers of the nominal ones of so many columns, ascending.

        Raises
        ------
        ParameterError
            If there is no such column.
        """
        if self.nominal is None:
            return np.array(self._codes, dtype=np.int64)
        listed, names = _parsed(ColumnList().accept("nominal", self.nominal))
        listed.update(self._numbers_of(names))
        if max(listed) >= columns:
            raise ParameterError(
                f"learner {self.name}: nominal names column {max(listed)}, and the last of "
                f"{columns:,} columns is {columns - 1}; columns count from 0"
            )
        return np.array(sorted(listed), dtype=np.int64)

    def _can_continue(self) -> bool:
        nominal = self.nominal_columns(self._columns)
        return super()._can_continue() and np.array_equal(
            self.state_.get("nominal", nominal), nominal
        )

    def _known_names(self) -> Sequence[str]:
        """Return the names of the features: of the dataset, or those of a table that is fitted."""
        return self._feature_names or tuple(getattr(self, "feature_names_in_", ()))

    def _numbers_of(self, names: set[str]) -> list[int]:
        known = list(self._known_names())
        for name in sorted(names):
            if not known:
                raise ParameterError(
                    f"learner {self.name}: nominal names {name!r}, and the columns have no names "
                    "here; give their numbers, from 0"
                )
            if name not in known:
                kind = f"column in nominal of learner {self.name}"
                raise UnknownNameError(kind, name, known)
        return [known.index(name) for name in names]

    def why_no_score(self, row: Rows) -> str:
        """Return which nominal column of a row has no code, or an empty text."""
        x = to_dense(row, self._columns)[0]
        for j in self.nominal_columns(self._columns):
            if not x[j] < MOST_VALUES or x[j] != np.floor(x[j]):
                known = self._known_names()
                name = repr(known[j]) if j < len(known) else str(j)
                return (
                    f"nominal column {name} has {x[j]:g}, expected a code 0, 1, ... below "
                    f"{MOST_VALUES:,}, or -1 for a missing value"
                )
        return ""
