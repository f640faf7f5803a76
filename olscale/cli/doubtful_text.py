"""Columns of text that may be meant as numbers or dates: what stands in them, and what to do.

One word among numbers, a sign or a mark between thousands make text of a whole column of CSV, with
a feature for each of its numbers. Readers of other programs do so silently, too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from olscale.data.manifest import Manifest

_MOST_WORDS = 3
"""Words among numbers that are shown; a column of more is one of words."""
_MOST_COLUMNS = 8
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    r"(?:\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d\d)|\d{4}([./])\d{1,2}\2\d{1,2}"
    rf"|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})"
    r"(?:[T ,]+\d{1,2}:\d\d.*)?",
    re.IGNORECASE,
)
_MARKED = re.compile(
    r"[-+\u2212(]?\s*[$\u20ac\u00a3\u00a5]?\s*"
    r"(?:\d{1,3}(?:[,.' \u00a0\u202f]\d{3})+|\d+)(?:[.,]\d+)?\s*[%$\u20ac\u00a3\u00a5]?\)?"
)


def doubtful_text_lines(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield a title and a line for each kind of doubtful text in a table of CSV or TSV."""
    from olscale.data.formats.cells import is_number

    table = manifest.table
    if table is None or table.delimiter is None:
        return
    mark = table.decimal or "."
    mixed: dict[str, list[str]] = {}
    marked = []
    dates = []
    for column, values in _values(manifest).items():
        words = [value for value in values if not is_number(value, mark)]
        if words and all(map(_MARKED.fullmatch, words)):
            marked.append(f"{column} as {words[0]!r}")
        elif words and all(map(_DATE.fullmatch, words)):
            dates.append(f"{column} as {words[0]!r}")
        elif 0 < len(words) <= _MOST_WORDS and 2 * len(words) < len(values):
            mixed[column] = words
    if mixed:
        yield "mixed", _mixed(mixed)
    if marked:
        what = "one feature a value; write plain numbers such as 1200.5, or --drop"
        yield "marked", f"numbers with signs or marks: {_listed(marked)}, {what}"
    if dates:
        what = (
            "one feature a date; write 2024-01-31 for --encode COLUMN=date, or --drop"
        )
        yield "dates", f"{_listed(dates)}, {what}"


def _values(manifest: Manifest) -> dict[str, list[str]]:
    """Return the values of each column of text that is not encoded."""
    from olscale.data.formats.table_columns import value_of

    table = manifest.table
    assert table is not None
    values: dict[str, list[str]] = {}
    for name in (manifest.feature_names or ())[table.numeric :]:
        column, value = value_of(name, table.categorical)
        if column not in (table.coded or ()):
            values.setdefault(column, []).append(value)
    return values


def _mixed(words: Mapping[str, Sequence[str]]) -> str:
    """Return which words make columns of text, and how they become numbers."""
    listed = [
        f"{column} for {', '.join(repr(word[:20]) for word in among)}"
        for column, among in words.items()
    ]
    every = sorted({word for among in words.values() for word in among})
    cure = f"--missing={shlex.quote(','.join(every))}"
    # The option is read as words with commas between them.
    if any("," in word for word in every):
        cure = "an empty cell in its place"
    return f"numbers are text beside a word: {_listed(listed)}; {cure} makes numbers of them"


def _listed(columns: Sequence[str]) -> str:
    more = len(columns) - _MOST_COLUMNS
    if more <= 0:
        return ", ".join(columns)
    return f"{', '.join(columns[:_MOST_COLUMNS])} and {more:,} more"
