"""Text that looks like numbers: with thousands separators, currency or percent signs, units.

A decimal comma makes such text, too.

Read as text, such cells are categories, and a number that did not occur before has no meaning.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from olscale.data.formats.cells import is_number

_LEAST = 3
_SHARE = 0.5
_SIGNS = "$\u20ac\u00a3\u00a5\u20b9\u20a9\u20ba\u20bd"
_LOOK = re.compile(
    rf"""
    (?P<before>\(|(?:[A-Z]{{3}}|[A-Z]{{0,2}}[{_SIGNS}])\s?)?
    [-+\u2212]?[{_SIGNS}]?
    (?P<number>
        \d{{1,3}}(?P<mark>[ ,.'_\u2019\u00a0\u202f])\d{{3}}(?:(?P=mark)\d{{3}})*(?:[.,]\d+)?   # thousands apart
        | \d+(?:[.,]\d+)? | [.,]\d+
    )
    (?:[eE][-+]?\d+)?
    (?P<after>\)|\s?[%\u2030\u00b0{_SIGNS}]C?|\s[A-Za-z\u00b5\u03bc\u00b0][\w\u00b2\u00b3/\u00b0]{{0,5}}|[A-Za-z\u00b5]{{1,3}})?
    """,
    re.VERBOSE,
)
_DECIMAL = re.compile(r"[-+]?\d*,(?:\d{1,2}|\d{4,})")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+")


class NumberLook(NamedTuple):
    """How text looks like numbers: the share of it, in words, and what to do."""

    told: str
    cure: str


def has_thousands(values: Sequence[str]) -> bool:
    """Return whether some of `values` have commas between thousands, and none a decimal comma."""
    commas = [value for value in values if "," in value]
    return any(map(_THOUSANDS.fullmatch, commas)) and not any(map(_DECIMAL.fullmatch, commas))


def look_of(values: Sequence[str], decimal: bool = True) -> NumberLook | None:
    """Return how `values`, all different, look like numbers, or None.

    The result is None if at most half of them do, or all are plain numbers. `decimal` says whether
    ``--decimal``, which applies to all columns of a file, may be suggested. Letters after a number
    are a unit if all values have the same, else part of a name, as in ``3a`` and ``3b``.

    Examples
    --------
    >>> look_of(["1,000", "2,500", "900"]).told
    "but 3 of its 3 values look like numbers, as '1,000'"
    >>> look_of(["1,5", "2,25", "3"]).cure
    '--decimal , reads them as numbers in CSV and TSV'
    >>> look_of(["3a", "3b", "4c"]), look_of(["10", "20", "30"]), look_of(["A1", "A2", "A3"])
    (None, None, None)
    """
    odd = [value for value in values if not is_number(value)]
    matches = [(value, match["after"] or "") for value in odd if (match := _LOOK.fullmatch(value))]
    one_unit = len({after for _, after in matches if after[:1].isalpha()}) == 1
    looks = [value for value, after in matches if one_unit or not after[:1].isalpha()]
    count = len(values) - len(odd) + len(looks)
    if not looks or count < _LEAST or count <= _SHARE * len(values):
        return None
    summary = f"but {count:,} of its {len(values):,} values look like numbers, as {looks[0][:40]!r}"
    commas = [value for value in odd if "," in value]
    if decimal and len(commas) == len(odd) and all(map(_DECIMAL.fullmatch, commas)):
        return NumberLook(summary, "--decimal , reads them as numbers in CSV and TSV")
    what = (
        "no mark between thousands"
        if all(map(_THOUSANDS.fullmatch, odd))
        else "a decimal point and nothing around them"
    )
    return NumberLook(summary, f"write them as plain numbers, with {what}, and ingest again")
