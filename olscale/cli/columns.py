"""Descriptions of a dataset's columns and classes, in few lines for any number of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from olscale.data.manifest import Manifest, TableEntry

_MOST = 8
"""Names in a line: a set of a million features must not fill the terminal."""
_EXAMPLE = 20
"""Most characters of a value that is shown."""


def target_words(manifest: Manifest) -> str:
    """Return a description of a regression's targets."""
    targets = manifest.targets or ()
    if targets:
        return f"regression of {len(targets)} targets: {_listed(targets)}"
    return "regression"


def read_as(manifest: Manifest, label: str) -> str:
    """Return, in one line, how a table was read and which options override it.

    `label` describes the label.
    """
    table = manifest.table
    assert table is not None
    words = [*_form(table), label]
    options = ["--label", "--target", "--encode", "--drop"]
    if table.delimiter is not None:
        options[:0] = ["--delimiter", "--no-header" if table.header else "--header"]
    coded = [name for name in table.coded or () if name in table.categorical]
    counts = (
        (table.numeric, "number"),
        (len(table.categorical) - len(coded), "category"),
        (len(coded), "encoded column"),
    )
    words += [_plural(count, noun) for count, noun in counts if count]
    return f"{', '.join(words)}; override with {', '.join(options)}"


def _form(table: TableEntry) -> list[str]:
    """Return how the text of a table is written."""
    words = []
    if table.delimiter is not None:
        called = {"\t": "tab", " ": "white space"}.get(
            table.delimiter, repr(table.delimiter)
        )
        words.append(f"delimiter {called}")
        words.append("header" if table.header else "no header")
    if table.decimal is not None:
        words.append(f"decimal {table.decimal!r}")
    if table.quoting is not None:
        words.append(f"quoting {table.quoting}")
    if table.escape is not None:
        words.append(f"escape {table.escape}")
    if table.missing:
        words.append(f"missing {_listed(table.missing)}")
    return words


def columns_line(manifest: Manifest) -> str | None:
    """Return how the columns of a table were encoded; None if this is unknown."""
    table = manifest.table
    if table is None:
        return None
    words = []
    if table.numeric or not table.categorical:
        words = [f"{table.numeric:,} numeric"]
    return ", ".join([*words, *_encodings(table, manifest.feature_names or ())])


def encoding_line(manifest: Manifest) -> str | None:
    """Return how the columns of a table were converted; None if all of them are numbers."""
    table = manifest.table
    if table is None or not _encodings(table, ()):
        return None
    return columns_line(manifest)


def identifiers_line(manifest: Manifest) -> str | None:
    """Return the columns of numbers that may be identifiers, and why; None if there are none."""
    table = manifest.table
    reasons = {
        "never falls": () if table is None else table.growing,
        "from 2^53 on, where float64 rounds": (
            manifest.rounded if table is None else table.rounded
        ),
        "all different in the first rows": () if table is None else table.distinct,
    }
    words: dict[str, str] = {}
    for reason, columns in reasons.items():
        for column in columns or ():
            # A column for which several reasons hold is named once.
            words.setdefault(column, f"{column} ({reason})")
    if not words:
        return None
    return f"{_listed([*words.values()])}; leave out what is no feature (--drop)"


def dates_line(manifest: Manifest) -> str | None:
    """Return the text columns whose values are dates, and what to do with them; None if none is."""
    from olscale.data.formats.date_coding import ADVISED, is_date

    table = manifest.table
    if table is None:
        return None
    examples = _first_values(table, manifest.feature_names or ())
    dates = [column for column, value in examples.items() if is_date(value)]
    if not dates:
        return None
    encoded = " ".join(
        f"--encode {shlex.quote(f'{column}=date:{ADVISED}')}"
        for column in dates[:_MOST]
    )
    return f"{_listed(dates)}, one feature a date; {encoded} makes few features of each (or --drop)"


def _first_values(table: TableEntry, names: Sequence[str]) -> dict[str, str]:
    """Return a value of each column of text that is not encoded."""
    from olscale.data.formats.table_columns import value_of

    first: dict[str, str] = {}
    for name in names[table.numeric :]:
        column, value = value_of(name, table.categorical)
        # Features of numbers come first, as many as there are numeric columns; all
        # others are COLUMN=VALUE.
        if column not in (table.coded or ()):
            first.setdefault(column, value)
    return first


def _encodings(table: TableEntry, names: Sequence[str]) -> list[str]:
    """Return how columns were converted that are not numbers, or not features.

    A column of text comes with one of its values among `names`, those of all features: of `1,000`
    or `12 kg` the reader sees that numbers were meant.
    """
    words = []
    examples = _examples(table, names)
    coded = {
        name: count
        for name, count in table.categorical.items()
        if name in (table.coded or ())
    }
    text = {
        name: count for name, count in table.categorical.items() if name not in coded
    }
    for what, columns, how in (
        ("text", text, "one per value"),
        ("encoded", coded, "fixed in advance"),
    ):
        if columns:
            # Columns of most values first: these make the many features that a reader
            # wonders about.
            order = sorted(columns, key=lambda name: -columns[name])
            values = _listed(
                [f"{name} {columns[name]:,}{examples.get(name, '')}" for name in order]
            )
            words.append(
                f"{len(columns):,} {what} -> {sum(columns.values()):,} columns, {how} ({values})"
            )
    if table.dropped:
        words.append(f"dropped {_listed(table.dropped)}")
    if table.segments is not None:
        words.append(f"segments by {table.segments}")
    return words


def _examples(table: TableEntry, names: Sequence[str]) -> dict[str, str]:
    """Return a value of each column of text that is no number, if it has one."""
    from olscale.data.formats.cells import is_number
    from olscale.data.formats.table_columns import value_of

    mark = table.decimal or "."
    examples: dict[str, str] = {}
    for name in names[table.numeric :]:
        column, value = value_of(name, table.categorical)
        if column not in (table.coded or ()) and not is_number(value, mark):
            examples.setdefault(column, f" as {value[:_EXAMPLE]!r}")
    return examples


def weights_line(manifest: Manifest) -> str | None:
    """Return a description of the row weights; None if there are none."""
    weights = manifest.weights
    if weights is None:
        return None
    zeros = ""
    if weights.zeros:
        zeros = f", {_plural(weights.zeros, 'row')} of weight 0"
    return (
        f"column {weights.column!r}, {weights.least:g} to {weights.greatest:g}{zeros}"
    )


def missing_lines(manifest: Manifest) -> list[str]:
    """Return the columns with missing values, and how these are represented."""
    counts = _counts(split.missing for split in manifest.splits.values())
    text = {}
    if manifest.table is not None:
        text = manifest.table.categorical
    numbers = {name: count for name, count in counts.items() if name not in text}
    words = {name: count for name, count in counts.items() if name in text}
    lines = []
    if numbers:
        lines.append(
            f"{_values(numbers)} of numeric columns ({_counted(numbers)}), encoded as NaN: such a "
            "row ends a run as diverged; impute them on the fly "
            '(transforms = ["impute:mean"]), or drop such columns (--drop)'
        )
    if words:
        lines.append(
            f"{_values(words)} of text columns ({_counted(words)}), encoded as all zeros"
        )
    return lines


def infinite_lines(manifest: Manifest) -> list[str]:
    """Return the columns with infinite values, and their consequences."""
    counts = _counts(split.infinite for split in manifest.splits.values())
    if not counts:
        return []
    return [
        f"{_values(counts)} ({_counted(counts)}), or too large for a float64: such a row ends a "
        "run as diverged; leave such rows out, empty the cells and impute them, or drop such "
        "columns (--drop)"
    ]


def classes_line(manifest: Manifest, split: str) -> str | None:
    """Return the rows of each class in `split`, with codes if informative; None if unknown."""
    counts = manifest.splits[split].class_rows
    entry = manifest.splits[split]
    if counts is None or manifest.classes is None:
        return None
    shares = {
        f"{name} {count:,} ({100 * count / entry.rows:.1f} %)": count
        for name, count in zip(manifest.classes, counts, strict=True)
    }
    if len(shares) <= _MOST:
        return ", ".join(shares)
    # Of many classes the ends say how unbalanced they are.
    order = sorted(shares, key=lambda share: -shares[share])
    return f"most {', '.join(order[:3])}; fewest {', '.join(order[-3:])}"


def column_rows(manifest: Manifest) -> list[tuple[str, str, str]]:
    """Return name, encoding and missing values per source column, or per feature as a fallback."""
    table = manifest.table
    names = manifest.feature_names or ()
    missing = _counts(split.missing for split in manifest.splits.values())
    is_counted = any(split.missing is not None for split in manifest.splits.values())

    def row(name: str, what: str) -> tuple[str, str, str]:
        # Manifests of earlier versions counted no missing values, and what is dropped is not read.
        if not is_counted or what == "dropped":
            return name, what, "-"
        return name, what, f"{missing.get(name, 0):,}"

    if table is None:
        return [row(name, "feature") for name in names]
    rows = [row(name, "numeric") for name in names[: table.numeric]]
    for name, count in table.categorical.items():
        what = f"text, {_plural(count, 'value')}"
        if name in (table.coded or ()):
            what = f"encoded, {_plural(count, 'column')}"
        rows.append(row(name, what))
    rows += [row(name, "dropped") for name in table.dropped]
    if manifest.weights is not None:
        rows.append((manifest.weights.column, "weights", "-"))
    if isinstance(manifest.label_column, str):
        rows += [
            (name, "label", "-")
            for name in manifest.targets or (manifest.label_column,)
        ]
    return rows


def _counts(splits: Iterable[Mapping[str, int] | None]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for split in splits:
        for name, count in (split or {}).items():
            counts[name] = counts.get(name, 0) + count
    return counts


def _values(counts: Mapping[str, int]) -> str:
    return _plural(sum(counts.values()), "value")


def _plural(count: int, thing: str) -> str:
    if count == 1:
        return f"1 {thing}"
    if thing.endswith("y"):
        return f"{count:,} {thing[:-1]}ies"
    return f"{count:,} {thing}s"


def _counted(counts: Mapping[str, int]) -> str:
    order = sorted(counts, key=lambda name: -counts[name])
    return _listed([f"{name} {counts[name]:,}" for name in order])


def _listed(words: Sequence[str]) -> str:
    more = len(words) - _MOST
    if more <= 0:
        return ", ".join(words)
    return f"{', '.join(words[:_MOST])} and {more:,} more"
