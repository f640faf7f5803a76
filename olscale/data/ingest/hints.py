"""Columns of a table that are probably no features, and what to do about each."""

import re
from collections.abc import Iterator, Sequence
from shlex import quote

from olscale.data.formats.cells import is_missing, is_number, point_cure
from olscale.data.formats.table_columns import listed_columns, value_of
from olscale.data.ingest.number_looks import has_thousands, look_of
from olscale.data.manifest import Manifest, TableEntry

_FEW = 50
"""Largest number of values for which a column needs no hint."""
_FEW_NUMBERS = 20
_LEAST_NUMBERS = 3
"""Smallest number of numbers next to a word for which a column is reported.

Without such a word up to `_FEW_NUMBERS` numbers may be meant as categories.
"""
_SEGMENT = 20
"""Rows that a segment should have at least."""
_TIME = re.compile(
    r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([ T].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?|\d{1,2}:\d{2}(:.*)?"
)

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")


def column_hints(manifest: Manifest) -> list[str]:
    """Return a line for each column that is hardly a feature, with the cure.

    Reported are labels and columns of text that look like numbers, of dates, and of numbers with a
    word among them; text with more values than half the rows; numbers that never fall, such as row
    numbers; whole numbers, all different or from 2^53 on; and labels that usually mean that there
    is none.
    """
    table = manifest.table
    label = label_hint(manifest)
    hints = [] if label is None else [label]
    if table is None:
        cure = "take them out of the array"
        return [*hints, *(_rounded_hint(column, cure) for column in manifest.rounded or ())]
    return [*hints, *_of_text(manifest), *_of_numbers(table)]


def label_hint(manifest: Manifest) -> str | None:
    """Return a line about text labels that look like something else: each would be a class."""
    labels = [str(label) for label in manifest.label_names or ()]
    mark = (manifest.table and manifest.table.decimal) or "."
    where = (
        "the label"
        if manifest.label_column is None
        else f"the label, column {manifest.label_column!r},"
    )
    absent = [label for label in labels if is_missing(label)]
    word = _word_among(labels, mark)
    points = _points(labels, mark)
    looks = look_of(_pointed(labels, mark), mark == ".")
    if len(labels) > 1 and all(map(_TIME.fullmatch, labels)):
        return (
            f"{where} holds dates or times, {len(labels):,} of them; each is a class now: name "
            "another column with --label"
        )
    if points:
        cure = point_cure(points[0])
        return (
            f"{where} is text because of {points[0][:40]!r}; each is a class now. With "
            f"--decimal , {cure}"
        )
    if looks is not None:
        return f"{where} is text, {looks.told}; each is a class now: {looks.cure}"
    if word is not None:
        numbers = sum(is_number(label, mark) for label in labels)
        return (
            f"{where} is text because of {word[:40]!r}, but {numbers:,} of its {len(labels):,} "
            "values are numbers; each is a "
            "class now: take the rows out whose label is none"
        )
    if absent:
        which = "which is a class" if len(absent) == 1 else "which are classes"
        examples = ", ".join(map(repr, absent[:3]))
        return (
            f"{where} is {examples} in some rows, {which} now; if that means that there is none, "
            "take these rows out"
        )
    return None


def _of_text(manifest: Manifest) -> Iterator[str]:
    table = manifest.table
    assert table is not None
    rows = sum(split.rows for split in manifest.splits.values())
    values: dict[str, list[str]] = {column: [] for column in table.categorical}
    for name in (manifest.feature_names or ())[table.numeric :]:
        column, value = value_of(name, table.categorical)
        values[column].append(value)
    mark = table.decimal or "."
    # With thousands among the words --decimal would take 1,000 for 1.
    asks = mark == "." and not any(map(has_thousands, values.values()))
    for column, words in values.items():
        if column in (table.coded or ()):
            continue
        count = f"{len(words):,}"
        cure = f"--drop {listed_columns([column])}"
        numbers = sum(is_number(value, mark) for value in words)
        looks = look_of(_pointed(words, mark), asks)
        points = _points(words, mark)
        word = _word_among(words, mark)
        if len(words) > 1 and all(map(_TIME.fullmatch, words)):
            also = ""
            if _SEGMENT * len(words) <= rows:
                also = f" (--segments {listed_columns([column])} shows the error in each)"
            encode = (
                f" or --encode {quote(f'{column}=date')}" if all(map(_ISO.match, words)) else ""
            )
            yield (
                f"column {column!r} holds dates or times, {count} of them; each became a column, "
                "and those to come are new "
                f"ones: {cure}{encode}{also}"
            )
        elif points:
            yield (
                f"column {column!r} is text because of {points[0][:40]!r}; each of its {count} "
                "values became a column. With "
                f"--decimal , {point_cure(points[0])}, or {cure}"
            )
        elif looks is not None:
            yield (
                f"column {column!r} is text, {looks.told}; each became a column: {looks.cure}, "
                f"or {cure}"
            )
        elif word is not None or numbers == len(words) > _FEW_NUMBERS:
            why = "" if word is None else f" because of {word[:40]!r}"
            numeric = (
                f"--encode {quote(f'{column}=number')}"
                if word is None
                else "empty the cells that are none"
            )
            yield (
                f"column {column!r} is text{why}, but {numbers:,} of its {count} values are "
                "numbers; each became a column: "
                f"{numeric}, or {cure}"
            )
        elif len(words) > _FEW and 2 * len(words) > rows:
            yield (
                f"column {column!r} has {count} values in {rows:,} rows; each became a column, "
                "which says nothing about "
                f"other rows: {cure} or --encode {quote(f'{column}=hash')}"
            )


def _word_among(values: Sequence[str], mark: str) -> str | None:
    """Return the first of `values` that is no number, if most are."""
    plain = [is_number(value, mark) for value in values]
    is_suspicious = _LEAST_NUMBERS <= sum(plain) < len(values) < 2 * sum(plain)
    return values[plain.index(False)] if is_suspicious else None


def _points(values: Sequence[str], mark: str) -> list[str]:
    """Return those of `values` that are numbers except for their points, if the mark is a comma.

    Empty unless most values are numbers.
    """
    points = [value for value in values if mark == "," and point_cure(value)]
    numbers = sum(is_number(value, mark) for value in values)
    return points if 2 * (numbers + len(points)) > len(values) else []


def _pointed(values: Sequence[str], mark: str) -> list[str]:
    """Return `values`, with points for the decimal mark in numbers."""
    return [value.replace(mark, ".") if is_number(value, mark) else value for value in values]


def _of_numbers(table: TableEntry) -> Iterator[str]:
    rounded = table.rounded or ()
    for column in table.growing:
        yield (
            f"column {column!r} grows from row to row, as a row's number or time does: --drop "
            f"{listed_columns([column])}"
        )
    for column in rounded:
        if column not in table.growing:
            yield _rounded_hint(column, f"--drop {listed_columns([column])}")
    for column in table.distinct:
        if column not in rounded:
            yield (
                f"column {column!r} holds whole numbers that are all different in the first rows; "
                "if they are identifiers: "
                f"--drop {listed_columns([column])}"
            )


def _rounded_hint(column: str, cure: str) -> str:
    return (
        f"column {column!r} holds whole numbers from 2^53 on, which float64 rounds: different "
        "ones may be the same "
        f"now; if they are identifiers: {cure}"
    )
