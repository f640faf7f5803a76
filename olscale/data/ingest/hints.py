"""Columns of a table that are probably no features, and what to do about each."""

import re
from collections.abc import Iterator, Sequence
from shlex import quote

from olscale.data.formats.cells import is_number, point_cure
from olscale.data.formats.table_columns import value_of
from olscale.data.ingest.number_looks import has_thousands, look_of
from olscale.data.manifest import Manifest

_FEW = 50
"""Values up to which a column is not worth a word."""
_FEW_NUMBERS = 20
_LEAST_NUMBERS = 3
"""Numbers beside a word from which on a column is told; where there is none among them, they may be meant as categories."""
_SEGMENT = 20
"""Rows that a segment should have."""
_TIME = re.compile(
    r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([ T].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?|\d{1,2}:\d{2}(:.*)?"
)

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")


def column_hints(manifest: Manifest) -> list[str]:
    """Return a line for each column that is hardly a feature, with the cure.

    Told are labels and columns of text that looks like numbers; text columns of dates, of numbers with a word among them,
    and with more values than half the rows; numbers that never fall, as a row's number; whole numbers, all different.
    """
    table, label = manifest.table, label_hint(manifest)
    found = [] if label is None else [label]
    if table is None:
        return found
    return [*found, *_of_text(manifest), *_of_numbers(table.growing, table.distinct)]


def label_hint(manifest: Manifest) -> str | None:
    """Return a line for labels that are text and look like numbers: they are classes then."""
    found = [str(label) for label in manifest.label_names or ()]
    looks = look_of(found)
    if looks is None:
        return None
    where = "the label" if manifest.label_column is None else f"the label, column {manifest.label_column!r},"
    return f"{where} is text, {looks.told}; each is a class now: {looks.cure}"


def _of_text(manifest: Manifest) -> Iterator[str]:
    table = manifest.table
    assert table is not None
    rows = sum(split.rows for split in manifest.splits.values())
    values: dict[str, list[str]] = {column: [] for column in table.categorical}
    for name in (manifest.feature_names or ())[table.numeric :]:
        column, value = value_of(name, table.categorical)
        values[column].append(value)
    mark = table.decimal or "."
    asks = mark == "." and not any(map(has_thousands, values.values()))  # --decimal would take 1,000 for 1
    for column, found in values.items():
        if column in (table.coded or ()):
            continue
        count, cure = f"{len(found):,}", f"--drop {_quoted(column)}"
        plain = [is_number(value, mark) for value in found]
        points = [value for value in found if mark == "," and point_cure(value)]
        numbers, looks = sum(plain), look_of(_pointed(found, mark), asks)
        if len(found) > 1 and all(map(_TIME.fullmatch, found)):
            also = f" (--segments {_quoted(column)} shows the error in each)" if _SEGMENT * len(found) <= rows else ""
            encode = f" or --encode {quote(f'{column}=date')}" if all(map(_ISO.match, found)) else ""
            yield (
                f"column {column!r} holds dates or times, {count} of them; each became a column, and those to come are new "
                f"ones: {cure}{encode}{also}"
            )
        elif points and 2 * (numbers + len(points)) > len(found):
            yield (
                f"column {column!r} is text because of {points[0][:40]!r}; each of its {count} values became a column. With "
                f"--decimal , {point_cure(points[0])}, or {cure}"
            )
        elif looks is not None:
            yield f"column {column!r} is text, {looks.told}; each became a column: {looks.cure}, or {cure}"
        elif 2 * numbers > len(found) and (_LEAST_NUMBERS <= numbers < len(found) or numbers > _FEW_NUMBERS):
            word = found[plain.index(False)] if numbers < len(found) else None
            why = "" if word is None else f" because of {word[:40]!r}"
            yield (
                f"column {column!r} is text{why}, but {numbers:,} of its {count} values are numbers; each became a column: "
                f"empty the cells that are none, or {cure}"
            )
        elif len(found) > _FEW and 2 * len(found) > rows:
            yield (
                f"column {column!r} has {count} values in {rows:,} rows; each became a column, which says nothing about "
                f"other rows: {cure} or --encode {quote(f'{column}=hash')}"
            )


def _pointed(values: Sequence[str], mark: str) -> list[str]:
    """Return `values` with points for the decimal mark in numbers."""
    return [value.replace(mark, ".") if is_number(value, mark) else value for value in values]


def _of_numbers(growing: tuple[str, ...], distinct: tuple[str, ...]) -> Iterator[str]:
    for column in growing:
        yield f"column {column!r} grows from row to row, as a row's number or time does: --drop {_quoted(column)}"
    for column in distinct:
        yield (
            f"column {column!r} holds whole numbers that are all different in the first rows; if they are identifiers: "
            f"--drop {_quoted(column)}"
        )


def _quoted(name: str) -> str:
    """Return `name` as a shell and ``--drop`` take it."""
    if re.fullmatch(r"[\w.:/@%+-]+", name):
        return name
    word = f'"{name}"' if "," in name else name
    return "'" + word.replace("'", "'\\''") + "'"
