"""``olscale datasets``: list, verify and export datasets, fetch public and generate ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from olscale.addresses import redacted_address
from olscale.cli.command import Group
from olscale.cli.meter import meter
from olscale.cli.say import say
from olscale.cli.say import show as print_lines
from olscale.cli.source_options import layout_option
from olscale.printable import printable
from olscale.system.sizes import size_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from olscale.data.dataset import Dataset
    from olscale.data.manifest import Manifest

_MOST_COLUMNS = 20


@click.group(cls=Group)
def datasets() -> None:
    """List, show, verify, export, fetch and generate datasets."""


@datasets.command("list")
@click.argument("root", required=False)
def list_datasets(root: str | None) -> None:
    """List the datasets directly under ROOT.

    Without ROOT, list those here and the catalogue of public datasets.
    """
    _list_here(root or ".")
    if root is None:
        say()
        _list_catalogue()


def _list_here(root: str) -> None:
    from olscale.data.catalogue.fetch import datasets_under

    table = _table(
        "name", "kind", "train", "test", "columns", "classes", "nonzeros", "size"
    )
    listed = datasets_under(root)
    for name, entry in listed:
        if isinstance(entry, str):
            # A dataset that does not open is listed with a word, and hides no other.
            table.add_row(printable(name), entry)
            continue
        facts = _facts(entry)
        classes = "-"
        if facts["classes"] is not None:
            classes = str(len(facts["classes"]))
        table.add_row(
            printable(name),
            facts["kind"],
            f"{facts['rows']['train']:,}",
            _count(facts["rows"].get("test")),
            f"{facts['columns']:,}",
            classes,
            f"{facts['nonzeros']:,}",
            size_text(facts["bytes"]),
        )
    if not listed:
        say(f"no datasets under {root}")
        return
    _print(table)


def _list_catalogue() -> None:
    from olscale.data.catalogue.entries import catalogue
    from olscale.data.catalogue.fetch import availability

    table = _table("catalogue", "what", "train", "test", "columns", "classes", "at")
    for name, entry in catalogue().items():
        table.add_row(
            name,
            entry.what,
            f"{entry.rows['train']:,}",
            _count(entry.rows.get("test")),
            f"{entry.columns:,}",
            str(entry.classes or "-"),
            availability(entry),
        )
    _print(table)


def _count(rows: int | None) -> str:
    if rows is None:
        return "-"
    return f"{rows:,}"


def _table(*titles: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    words = ("name", "kind", "catalogue", "what", "at", "column", "read as")
    for title in titles:
        if title in words:
            table.add_column(title, no_wrap=title != "what")
        else:
            table.add_column(title, justify="right", no_wrap=True)
    return table


def _print(table: Table) -> None:
    from rich.console import Console

    # In a file the table keeps its full width, because scripts read it. Names are not markup.
    width: int | None = 200
    if Console().is_terminal:
        width = None
    Console(width=width, markup=False, emoji=False).print(table)


@datasets.command(short_help="Fetch the public dataset NAME.")
@click.argument("name")
@click.argument("dest")
def fetch(name: str, dest: str) -> None:
    """Fetch the public dataset NAME of the catalogue and convert it to the dataset directory DEST.

    Files are taken from the folder in OLSCALE_DATA if it has them, and downloaded otherwise.
    """
    from olscale.data.catalogue.entries import find_entry
    from olscale.data.catalogue.fetch import fetch as run

    with meter("reading") as progress:
        fetched = run(
            name, dest, say=lambda line: say(line, err=True), progress=progress
        )
    entry = find_entry(name)
    rows = " + ".join(f"{fetched.rows(split):,} {split}" for split in fetched.splits)
    say(
        f"{fetched.name}: {rows} rows x {fetched.columns:,} columns, "
        f"fingerprint {fetched.fingerprint[:12]}"
    )
    for note in entry.notes:
        say(f"note: {note}")


@datasets.command()
@click.argument("dataset")
@click.option(
    "--columns",
    "all_columns",
    is_flag=True,
    help="List all columns, not only the first 20.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def show(dataset: str, all_columns: bool, as_json: bool) -> None:
    """Show the contents of DATASET."""
    import json

    from olscale.cli.columns import target_words
    from olscale.data.dataset import open_dataset

    opened = open_dataset(dataset)
    facts = _facts(opened)
    if as_json:
        print_lines(json.dumps(facts, indent=2) + "\n")
        return
    classes = facts["classes"]
    rows = ", ".join(f"{count:,} {split}" for split, count in facts["rows"].items())
    labels = f"none, a {target_words(opened.manifest)}"
    if classes is not None:
        labels = f"{len(classes)}: {_shortened(classes)}"
    shown = {
        "name": facts["name"],
        "rows": rows,
        "columns": f"{facts['columns']:,}",
        "kind": f"{facts['kind']}, {facts['dtype']}, {facts['nonzeros']:,} nonzeros",
        "classes": labels,
        "layout": f"{facts['layout']}, {facts['chunk_rows']:,} rows per chunk, "
        f"{size_text(facts['bytes'])}",
        "segments": ", ".join(
            f"{len(segments):,} {split}"
            for split, segments in facts["segments"].items()
            if segments
        )
        or "none",
        "sources": _shortened(
            [redacted_address(source["name"]) for source in facts["sources"]]
        ),
        "order": facts["order"],
        "made by": facts["created_by"],
        "fingerprint": facts["fingerprint"],
    }
    for title, value in [*shown.items(), *_more(opened.manifest)]:
        say(f"{title:<12} {value}")
    _list_columns(opened.manifest, all_columns)


def _more(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield lines on classes and columns, which only newer manifests have."""
    from olscale.cli.columns import (
        classes_line,
        columns_line,
        dates_line,
        identifiers_line,
        infinite_lines,
        missing_lines,
        weights_line,
    )
    from olscale.cli.doubtful_labels import doubtful_label_lines
    from olscale.cli.doubtful_text import doubtful_text_lines

    for split in manifest.splits:
        if (classes := classes_line(manifest, split)) is not None:
            yield f"{split} rows", classes
    if (columns := columns_line(manifest)) is not None:
        yield "encoding", columns
    if (dates := dates_line(manifest)) is not None:
        yield "dates", dates
    yield from doubtful_label_lines(manifest)
    yield from doubtful_text_lines(manifest)
    if (weights := weights_line(manifest)) is not None:
        yield "weights", weights
    if manifest.index_base is not None:
        yield "indices", f"those of the sources count from {manifest.index_base}"
    yield from (("missing", line) for line in missing_lines(manifest))
    yield from (("infinite", line) for line in infinite_lines(manifest))
    if (identifiers := identifiers_line(manifest)) is not None:
        yield "identifiers", identifiers


def _list_columns(manifest: Manifest, all_columns: bool) -> None:
    from olscale.cli.columns import column_rows

    rows = column_rows(manifest)
    if not rows:
        if all_columns:
            say("the columns have no names")
        return
    table = _table("column", "read as", "missing")
    most = _MOST_COLUMNS
    if all_columns:
        most = len(rows)
    for name, what, missing in rows[:most]:
        table.add_row(printable(name), what, missing)
    say()
    _print(table)
    if len(rows) > most:
        say(f"and {len(rows) - most:,} more columns; --columns lists them all")


@datasets.command(short_help="Read all of DATASET and check every checksum.")
@click.argument("dataset")
def verify(dataset: str) -> None:
    """Read all of DATASET and check every checksum and the fingerprint."""
    from olscale.data.dataset import open_dataset

    opened = open_dataset(dataset)
    with meter("verifying") as progress:
        opened.verify(progress)
    chunks = sum(opened.chunk_count(split) for split in opened.splits)
    intact = "1 chunk is"
    if chunks != 1:
        intact = f"{chunks:,} chunks are"
    say(
        f"{opened.name}: {intact} intact, fingerprint {opened.fingerprint[:12]} is right"
    )
    # Datasets of early versions stay readable, and verifying one must not promise more
    # than was checked.
    if opened.manifest.checksum is None:
        say(
            f"note: its manifest, of format version {opened.manifest.format_version}, has no "
            "checksum, so names and segments cannot be checked; ingest the sources again to get one"
        )


@datasets.command()
@click.argument("dataset")
@click.argument("file")
@click.option(
    "--split", help="Split to write (default: train; a dense npz file holds all)."
)
@click.option(
    "--format",
    metavar="svmlight|csv|npz",
    help="Format (default: by the suffix of FILE: .svm .csv .npz, text also .gz).",
)
def export(dataset: str, file: str, split: str | None, format: str | None) -> None:
    """Write DATASET to FILE for other programs."""
    from olscale.data.dataset import open_dataset
    from olscale.data.export import export as run

    with meter("writing") as progress:
        run(open_dataset(dataset), file, split=split, format=format, progress=progress)
    say(f"wrote {file}")


@datasets.command(short_help="Make the synthetic dataset NAME.")
@click.argument("name")
@click.argument("dest")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="S",
    help="Seed of the generator.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of rows (default: the generator's own).",
)
@click.option(
    "--columns",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of features, if the generator lets it be chosen.",
)
@layout_option
@click.option(
    "--chunk-rows", type=click.IntRange(min=1), metavar="N", help="Rows per chunk."
)
def generate(
    name: str,
    dest: str,
    seed: int,
    rows: int | None,
    columns: int | None,
    layout: str | None,
    chunk_rows: int | None,
) -> None:
    """Make the synthetic dataset NAME in the directory DEST.

    NAME may have options, NAME:key=value,key=value. Those of the drifting streams of MOA take
    several values, one for each concept: sea:function=1/2/3,position=20000 changes at rows 20,000
    and 40,000, sea:function=1/2,period=5000,width=500 gradually every 5,000 rows.

    If DEST ends in .tar.gz, url-like is written as the URL set is published: an archive with one
    file per day.
    """
    from olscale.bench.workloads import generate as run
    from olscale.bench.workloads import generate_archive

    # The ending decides, as it does where such an archive is ingested.
    if dest.endswith((".tar.gz", ".tgz")):
        count, size = generate_archive(
            name, dest, seed=seed, rows=rows, columns=columns
        )
        say(f"wrote {dest}: {count:,} rows, {size_text(size)} of text")
        return
    manifest = run(
        name,
        dest,
        seed=seed,
        rows=rows,
        columns=columns,
        layout=layout,
        chunk_rows=chunk_rows,
    )
    say(
        f"{manifest.name}: {manifest.rows():,} rows x {manifest.columns:,} columns, fingerprint "
        f"{manifest.fingerprint[:12]}"
    )


def _facts(dataset: Dataset) -> dict[str, Any]:
    from olscale.storage.strict_json import as_json

    manifest = dataset.manifest
    facts = as_json(manifest)
    for name in ("splits", "target_nonzeros"):
        facts.pop(name, None)
    return {
        "name": dataset.name,
        "path": dataset.path,
        "rows": {split: dataset.rows(split) for split in dataset.splits},
        "chunks": {split: dataset.chunk_count(split) for split in dataset.splits},
        "segments": {
            name: as_json(split.segments) for name, split in manifest.splits.items()
        },
        "class_rows": {
            name: split.class_rows for name, split in manifest.splits.items()
        },
        "missing": {name: split.missing for name, split in manifest.splits.items()},
        "infinite": {name: split.infinite for name, split in manifest.splits.items()},
        "bytes": dataset.size(),
        **facts,
        "nonzeros": manifest.feature_nonzeros,
    }


def _shortened(values: list[Any], most: int = 10) -> str:
    # Ten of ten thousand classes say how they are called; the last one, how far that goes.
    shown = ", ".join(map(str, values[:most]))
    if len(values) <= most:
        return shown
    return f"{shown}, ... {values[-1]}"
