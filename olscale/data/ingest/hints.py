"""Columns of a table that are probably no features, and what to do about each."""

import re
from collections.abc import Iterator
from shlex import quote

from olscale.data.formats.cells import is_number
from olscale.data.formats.table_columns import value_of
from olscale.data.manifest import Manifest

_FEW = 50
"""Values up to which a column is not worth a word."""
_FEW_NUMBERS = 20
_SEGMENT = 20
"""Rows that a segment should have."""
_TIME = re.compile(
    r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([ T].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?|\d{1,2}:\d{2}(:.*)?"
)

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")


def column_hints(manifest: Manifest) -> list[str]:
    """Return a line for each column that is hardly a feature, with the cure.

    Told are text columns of dates, of numbers with a word among them, and with more values than half the rows; numbers that
    never fall, as a row's number; and whole numbers that are all different.
    """
    table = manifest.table
    if table is None:
        return []
    return [*_of_text(manifest), *_of_numbers(table.growing, table.distinct)]


def _of_text(manifest: Manifest) -> Iterator[str]:
    table = manifest.table
    assert table is not None
    rows = sum(split.rows for split in manifest.splits.values())
    values: dict[str, list[str]] = {column: [] for column in table.categorical}
    for name in (manifest.feature_names or ())[table.numeric :]:
        column, value = value_of(name, table.categorical)
        values[column].append(value)
    for column, found in values.items():
        if column in (table.coded or ()):
            continue
        count, cure = f"{len(found):,}", f"--drop {_quoted(column)}"
        numbers = sum(map(is_number, found))
        if len(found) > 1 and all(map(_TIME.fullmatch, found)):
            also = f" (--segments {_quoted(column)} shows the error in each)" if _SEGMENT * len(found) <= rows else ""
            encode = f" or --encode {quote(f'{column}=date')}" if all(map(_ISO.match, found)) else ""
            yield (
                f"column {column!r} holds dates or times, {count} of them; each became a column, and those to come are new "
                f"ones: {cure}{encode}{also}"
            )
        elif numbers > _FEW_NUMBERS and 2 * numbers > len(found):
            word = next(value for value in found if not is_number(value)) if numbers < len(found) else None
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
