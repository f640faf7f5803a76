"""Text columns as a bounded number of features, without looking ahead.

``hash``: the whole cell is hashed, as scikit-learn's ``FeatureHasher`` hashes a string. ``text``:
its words are hashed, as by scikit-learn's ``HashingVectorizer`` without norm. ``date``: its parts
are numbers. ``one-hot``: the first distinct values are features, and one more feature stands for
all others. Memory does not grow with the values. ``number``: the words are numbers, and the column
is numeric.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from olscale.compiled.csr import CSR
from olscale.data.formats.cell_coding import Coding, CodingError
from olscale.data.formats.cells import Cell
from olscale.data.formats.date_coding import Date
from olscale.data.formats.spellings import canonical_word
from olscale.errors import ParameterError

__all__ = [
    "CODINGS",
    "OTHER",
    "AnyCoding",
    "AsNumber",
    "Coding",
    "CodingError",
    "Date",
    "FirstValues",
    "Hash",
    "HashAsWritten",
    "Words",
    "coded_as_text",
    "coding_texts",
    "parse_codings",
]

FEATURES = 1 << 18
"""Features of a column that is hashed."""

_MOST_FEATURES = 1 << 22
_POWER = re.compile(r"2(?:\^|\*\*)(\d+)")
_ENCODE = re.compile(
    r"(.+?)=([\w-]+)(?::(?:(features|values|parts)=)?([^:=]*))?", re.DOTALL
)

OTHER = "other"
"""The value that stands for all values without features; it may also occur itself."""


class _Hashed(Coding):
    def __init__(self, features: int = FEATURES) -> None:
        if not 1 <= features <= _MOST_FEATURES:
            raise ParameterError(
                f"encode: features was {features}, expected 1 to {_MOST_FEATURES:,}"
            )
        self.parts = [f"#{number}" for number in range(features)]

    def __str__(self) -> str:
        return f"{self.name}:features={len(self.parts)}"

    def encode(self, cells: Sequence[Cell]) -> CSR:
        # scikit-learn's hasher fails without any.
        if not cells:
            return CSR(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
        hashed = self._transform(["" if cell is None else cell for cell in cells])
        # Words of a cell that share a feature are added, and may cancel each other out.
        hashed.sum_duplicates()
        hashed.eliminate_zeros()
        return CSR(
            hashed.indptr.astype(np.int64), hashed.indices.astype(np.int32), hashed.data
        )

    @abstractmethod
    def _transform(self, cells: Sequence[str]) -> Any:
        """Return the hashed cells as SciPy's CSR."""


class Hash(_Hashed):
    """A category of many values: 1 or -1 in the feature that the hash of the cell selects.

    Words of one value have one hash: ``7.0`` that of ``7``, ``True`` that of ``true``.

    Examples
    --------
    >>> Hash(8).encode(["cook", None, "cook"])
    CSR(indptr=array([0, 1, 1, 2]), indices=array([3, 3], dtype=int32), data=array([-1., -1.]))
    """

    name = "hash"

    def _transform(self, cells: Sequence[str]) -> Any:
        from sklearn.feature_extraction import FeatureHasher

        hasher = FeatureHasher(len(self.parts), input_type="string")
        return hasher.transform([self._word(cell)] if cell else [] for cell in cells)

    def _word(self, cell: str) -> str:
        """Return the word that is hashed for a cell."""
        return canonical_word(cell)


class HashAsWritten(Hash):
    """The same with cells as they are written: that of datasets and models up to olscale 0.3.0.

    Examples
    --------
    >>> Hash(8).encode(["7", "7.0"]).indices, HashAsWritten(8).encode(["7", "7.0"]).indices
    (array([0, 0], dtype=int32), array([0, 1], dtype=int32))
    """

    name = "hash-as-written"

    def _word(self, cell: str) -> str:
        return cell


class Words(_Hashed):
    """Text: lower-case words of two or more letters, counted in the features of their hashes."""

    name = "text"

    def _transform(self, cells: Sequence[str]) -> Any:
        from sklearn.feature_extraction.text import HashingVectorizer

        return HashingVectorizer(n_features=len(self.parts), norm=None).transform(cells)


class FirstValues:
    """One feature per value for the first `values` of them; `OTHER` is one more for the rest."""

    name = "one-hot"

    def __init__(self, values: int) -> None:
        if not 1 <= values <= _MOST_FEATURES:
            raise ParameterError(
                f"encode: values was {values}, expected 1 to {_MOST_FEATURES:,}"
            )
        self.values = values

    def __str__(self) -> str:
        return f"{self.name}:values={self.values}"


@dataclass(frozen=True, slots=True)
class AsNumber:
    """No features of its own: the words of the column are numbers, and it becomes numeric."""

    name: ClassVar[str] = "number"

    def __str__(self) -> str:
        return self.name


AnyCoding: TypeAlias = Coding | FirstValues | AsNumber


CODINGS: dict[str, type[AnyCoding]] = {
    coding.name: coding
    for coding in (Hash, HashAsWritten, Words, Date, FirstValues, AsNumber)
}
"""Codings by name."""


def coded_as_text(
    names: Sequence[str],
    text: Sequence[bool],
    codings: Mapping[str, AnyCoding],
) -> tuple[bool, ...]:
    """Return which columns are read as text, given `text`, the types of their cells.

    A coding decides for its column.

    Examples
    --------
    >>> codings = parse_codings(["id=hash", "day=number"])
    >>> coded_as_text(["id", "day", "x"], [False, True, False], codings)
    (True, False, False)
    """
    return tuple(
        not isinstance(codings[name], AsNumber) if name in codings else is_text
        for name, is_text in zip(names, text, strict=True)
    )


def coding_texts(
    encode: str | Sequence[str] | Mapping[str, str],
) -> tuple[str, ...]:
    """Return codings as ``COLUMN=NAME``, also those of a table of columns.

    Examples
    --------
    >>> coding_texts({"placed": "date"}), coding_texts("shop=hash")
    (('placed=date',), ('shop=hash',))
    """
    if isinstance(encode, str):
        return (encode,)
    if isinstance(encode, Mapping):
        return tuple(f"{column}={coding}" for column, coding in encode.items())
    return tuple(encode)


def parse_codings(texts: Iterable[str]) -> dict[str, AnyCoding]:
    """Return the codings in `texts`, ``COLUMN=NAME`` or ``COLUMN=NAME:...``, by column.

    Raises
    ------
    ParameterError
        If a text is none of these.

    Examples
    --------
    >>> codings = parse_codings(["shop=hash:features=2^10", "placed=date"])
    >>> {column: str(coding) for column, coding in codings.items()}
    {'shop': 'hash:features=1024', 'placed': 'date'}
    """
    codings: dict[str, AnyCoding] = {}
    for text in texts:
        match = _ENCODE.fullmatch(text)
        kind = None
        if match:
            kind = CODINGS.get(match[2])
        if match is None or kind is None or not _fits(kind, match[3], match[4]):
            raise ParameterError(
                f"encode was {text!r}, expected COLUMN=hash, COLUMN=text (both may end in "
                ":features=N), COLUMN=date (or e.g. COLUMN=date:cyclic, "
                "COLUMN=date:parts=hour,weekday), COLUMN=number or COLUMN=one-hot:values=N"
            )
        if match[1] in codings:
            raise ParameterError(
                f"encode names the column {match[1]!r} twice; expected one coding for it"
            )
        codings[match[1]] = _make_coding(kind, match[4])
    return codings


def _fits(kind: type[AnyCoding], word: str | None, argument: str | None) -> bool:
    """Return whether a coding takes an argument, called `word` if it is not left out."""
    if kind is AsNumber:
        return argument is None
    if kind is FirstValues:
        return bool(argument) and word != "parts"
    return word is None or (kind is Date) is (word == "parts")


def _make_coding(kind: type[AnyCoding], argument: str | None) -> AnyCoding:
    if argument is None:
        return kind()  # type: ignore[call-arg]
    if issubclass(kind, Date):
        return kind(argument)
    return kind(_number(argument))  # type: ignore[call-arg]


def _number(text: str) -> int:
    power = _POWER.fullmatch(text)
    if power and int(power[1]) < 64:
        return 1 << int(power[1])
    if not text.isdecimal():
        raise ParameterError(
            f"encode: the number was {text!r}, expected a whole one, as 1000 or 2^18"
        )
    return int(text)
