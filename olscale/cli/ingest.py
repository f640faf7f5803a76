"""``olscale ingest``."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from olscale.cli.meter import meter
from olscale.cli.say import say
from olscale.cli.source_options import (
    arrays_option,
    cell_options,
    delimiter_option,
    layout_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from olscale.data.manifest import Manifest

_LABELS = ("class", "label", "target", "y")
_FEW_CLASSES = 20
_MOST_NAMES = 10_000
_MOST_NOTES = 5


class _SeveralTests(click.Command):
    """Lets ``--test`` take all words after it, once SOURCE and DEST precede it.

    An example is ``A DEST --test B C``.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = (
            option
            for option in self.params
            if isinstance(option, click.Option) and option.is_flag
        )
        flags = {
            name
            for option in options
            for name in (*option.opts, *option.secondary_opts)
        }
        spread: list[str] = []
        words = 0
        previous = ""
        greedy = False
        for arg in args:
            # Before SOURCE and DEST are given, the words after --test may be those.
            if arg == "--test":
                greedy = words >= 2
            elif arg.startswith("-"):
                greedy = False
            elif greedy and previous != "--test":
                spread.append("--test")
            elif not greedy and (previous in flags or not previous.startswith("--")):
                words += 1
            spread.append(arg)
            previous = arg
        return super().parse_args(ctx, spread)


def _note_workers(
    context: click.Context, option: click.Parameter, value: int | None
) -> None:
    """Accept an option of earlier versions, which scripts may still use."""
    if value is not None:
        say(
            "--workers has no effect: one process reads faster than several did",
            err=True,
        )


@click.command(cls=_SeveralTests, short_help="Convert source files to a dataset.")
@click.argument("source", nargs=-1, required=True)
@click.argument("dest")
@click.option(
    "--test", multiple=True, metavar="SOURCE...", help="Sources of the test split."
)
@click.option(
    "--format", metavar="FORMAT", help="Format of the sources (default: guessed)."
)
@layout_option
@click.option(
    "--chunk-rows",
    type=click.IntRange(min=1),
    metavar="N",
    help="Rows per chunk (default: 16384, fewer for wide rows).",
)
@click.option(
    "--segments",
    metavar="files|COLUMN",
    help="One segment per source, or a new one at each change of COLUMN.",
)
@click.option(
    "--label",
    metavar="COLUMN[,COLUMN]",
    help="Label column of a table: its name, or its position from 0; several names are several "
    "real-valued targets.",
)
@click.option(
    "--target",
    type=click.Choice(["classes", "real"]),
    help="Whether labels are classes or real numbers, for regression (default: guessed).",
)
@click.option(
    "--weights",
    metavar="COLUMN",
    help="Column of row weights, which is no feature; an array in NPZ and MAT, importance in VW "
    "text, instance for the braces behind rows of ARFF.",
)
@click.option(
    "--novel",
    metavar="LABEL",
    help="Label of novelties, for novelty detection; all other rows are normal.",
)
@click.option(
    "--drop",
    metavar="COLUMN[,COLUMN]",
    multiple=True,
    help="Columns of a table to leave out: names, or positions from 0; repeatable.",
)
@click.option(
    "--encode",
    metavar="COLUMN=hash|text|date|number|one-hot:values=N",
    multiple=True,
    help="Encode columns of a table into a bounded number of features, e.g. "
    "COLUMN=hash:features=2^18 or COLUMN=date:cyclic, or as numbers; repeatable.",
)
@click.option(
    "--decimal",
    metavar="MARK",
    type=click.Choice([".", ","]),
    help="Decimal mark of numbers in CSV and TSV (default: a point).",
)
@click.option(
    "--header/--no-header",
    default=None,
    help="Whether the first row of CSV and TSV names the columns (default: guessed).",
)
@click.option(
    "--delimiter",
    metavar="CHAR",
    callback=delimiter_option,
    help="Delimiter of cells in CSV and TSV: a character, tab or space (any white space) "
    "(default: guessed).",
)
@arrays_option
@click.option(
    "--index-base",
    type=click.Choice(["0", "1"]),
    help="First index of SVMlight text (default: 0 if any row has it, else 1).",
)
@cell_options
@click.option(
    "--like",
    metavar="DATASET",
    help="Columns, classes and reading of another dataset, whose models then take this one.",
)
@click.option(
    "--train-rows",
    type=click.IntRange(min=1),
    metavar="N",
    help="Use the first N rows for training and all others as the test split.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    expose_value=False,
    hidden=True,
    callback=_note_workers,
)
def ingest(
    source: tuple[str, ...],
    dest: str,
    test: tuple[str, ...],
    format: str | None,
    layout: str | None,
    chunk_rows: int | None,
    segments: str | None,
    label: str | None,
    target: str | None,
    weights: str | None,
    novel: str | None,
    drop: tuple[str, ...],
    encode: tuple[str, ...],
    decimal: str | None,
    header: bool | None,
    delimiter: str | None,
    index_base: str | None,
    arrays: dict[str, str] | None,
    quoting: str | None,
    escape: str | None,
    missing: tuple[str, ...],
    like: str | None,
    train_rows: int | None,
) -> None:
    """Convert SOURCE... to the dataset directory DEST.

    A source is a file, folder, pattern, archive, URL or sklearn:NAME.

    The dataset appears completely or not at all. After an interruption, run the same command again.
    """
    import time

    from olscale.cli.columns import read_as, weights_line
    from olscale.data.ingest.ingest import ingest as run

    notes: list[str] = []
    start = time.perf_counter()
    with ExitStack() as stack:
        progress = stack.enter_context(meter("reading"))
        dataset = run(
            source,
            dest,
            test=test,
            format=format,
            layout=layout,
            chunk_rows=chunk_rows,
            segments=segments,
            label=column_of(label),
            drop=drop,
            target=target,
            weights=weights,
            novel=novel,
            encode=encode,
            decimal=decimal,
            header=header,
            delimiter=delimiter,
            index_base=None if index_base is None else int(index_base),
            arrays=arrays,
            quoting=quoting,
            escape=escape,
            missing=missing,
            like=like,
            train_rows=train_rows,
            progress=progress,
            note=notes.append,
        )
    seconds = time.perf_counter() - start
    manifest = dataset.manifest
    rows = " + ".join(f"{dataset.rows(split):,} {split}" for split in dataset.splits)
    kind = _target(manifest)
    say(
        f"{dataset.name}: {rows} rows x {manifest.columns:,} columns, {kind}, {manifest.kind}, "
        f"{manifest.layout}"
    )
    if manifest.table is not None:
        say(f"read as: {read_as(manifest, _label(manifest, target))}")
    elif manifest.classes is None:
        say(f"label: {kind}{_values(manifest, target)}")
    if (weights_said := weights_line(manifest)) is not None:
        say(f"weights: {weights_said}")
    for line in notes[:_MOST_NOTES]:
        say(f"note: {line}")
    if len(notes) > _MOST_NOTES:
        more = f"{len(notes) - _MOST_NOTES:,} more notes on how sources are read"
        say(f"note: {more}")
    if manifest.unseen_classes and like is None:
        unseen = ", ".join(map(str, manifest.unseen_classes[:10]))
        say(
            f"note: test has labels that train lacks, which no learner can predict: {unseen}"
        )
    for title, line in _columns(manifest, given=label is not None):
        say(f"{title}: {line}")
    # A source of both splits is listed twice and read once.
    read = (
        sum({entry.name: entry.bytes or 0 for entry in manifest.sources}.values()) / 1e6
    )
    speed = ""
    if read >= 1:
        speed = f" ({read / seconds:.1f} MB/s)"
    say(f"{seconds:.1f} s{speed}, fingerprint {manifest.fingerprint[:12]}")


def _target(manifest: Manifest) -> str:
    if manifest.classes is None or manifest.task == "novelty":
        of_targets = ""
        if manifest.targets:
            of_targets = f" of {len(manifest.targets)} targets"
        if manifest.classes is None:
            return f"regression{of_targets}"
        return "novelty detection"
    if len(manifest.classes) == 1:
        return "1 class"
    return f"{len(manifest.classes)} classes"


def _columns(manifest: Manifest, given: bool) -> Iterator[tuple[str, str]]:
    """Yield lines on classes and columns; `given` means that the user chose the label."""
    from olscale.cli.columns import (
        classes_line,
        dates_line,
        encoding_line,
        identifiers_line,
        infinite_lines,
        missing_lines,
    )
    from olscale.cli.doubtful_labels import doubtful_label_lines
    from olscale.cli.doubtful_text import doubtful_text_lines

    if (classes := classes_line(manifest, "train")) is not None:
        yield "classes", classes
    if (encoding := encoding_line(manifest)) is not None:
        yield "columns", encoding
    if (dates := dates_line(manifest)) is not None:
        yield "dates", dates
    yield from doubtful_label_lines(manifest)
    yield from doubtful_text_lines(manifest)
    for line in missing_lines(manifest):
        yield "missing", line
    for line in infinite_lines(manifest):
        yield "infinite", line
    chosen = manifest.label_column
    names = manifest.feature_names or ()
    # A last column taken by default is suspicious if another one is called "label" or the like.
    if not given and isinstance(chosen, str) and chosen.lower() not in _LABELS:
        feature = next(
            (
                name
                for name in names[:_MOST_NAMES]
                if name.partition("=")[0].lower() in _LABELS
            ),
            None,
        )
        if feature is not None:
            column = feature.partition("=")[0]
            yield (
                "warning",
                f"there is a column {column!r}; if that is the label, use --label",
            )
    if (identifiers := identifiers_line(manifest)) is not None:
        yield "identifiers", identifiers


def _label(manifest: Manifest, target: str | None) -> str:
    """Return which column is the label, in the form of ``--label``, and the resulting task."""
    kind = f"{_target(manifest)}{_values(manifest, target)}"
    if manifest.targets:
        return f"labels {', '.join(map(repr, manifest.targets))} ({kind})"
    column = manifest.label_column
    if column is None:
        return f"label in a file of its own ({kind})"
    if isinstance(column, str):
        return f"label {column!r} ({kind})"
    table = manifest.table
    features = manifest.columns
    if table is not None:
        features = len(table.categorical) + table.numeric + len(table.dropped)
    # The weights were a column of the source too, so they shift its last position.
    features += table is not None and manifest.weights is not None
    place = {0: "the first", features: "the last"}.get(column, "counted from 0")
    return f"label column {column}, {place} ({kind})"


def _values(manifest: Manifest, target: str | None) -> str:
    """Say how many labels a regression has, if so few suggest classes, and how to override it."""
    if manifest.classes is not None:
        many = (
            target is None
            and manifest.label_names is None
            and len(manifest.classes) > _FEW_CLASSES
        )
        if many:
            return "; --target real to predict numbers"
        return ""
    if manifest.targets:
        return ""
    # Ingest stops to count there; the manifest then has no number.
    distinct = "over 10,000"
    if manifest.distinct_labels is not None:
        distinct = f"{manifest.distinct_labels:,}"
    return f", {distinct} distinct values" + (
        "" if target else "; --target classes for classes"
    )


def column_of(label: str | None) -> str | int | None:
    """Return a column as it was named or numbered on the command line."""
    if label is None:
        return None
    try:
        return int(label)
    except ValueError:
        return label
