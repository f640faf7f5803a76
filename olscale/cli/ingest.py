"""``olscale ingest``."""

from __future__ import annotations

import click

__all__ = ["ingest"]


class _SeveralTests(click.Command):
    """Lets ``--test`` take all that follows, once SOURCE and DEST stand before it: ``A DEST --test B C``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        words, previous, greedy = 0, "", False
        for arg in args:
            if arg == "--test":
                greedy = words >= 2
            elif arg.startswith("-"):
                greedy = False
            elif greedy and previous != "--test":
                spread.append("--test")
            elif not greedy and not previous.startswith("--"):
                words += 1
            spread.append(arg)
            previous = arg
        return super().parse_args(ctx, spread)


@click.command(cls=_SeveralTests, short_help="Convert source files to a dataset.")
@click.argument("source", nargs=-1, required=True)
@click.argument("dest")
@click.option("--test", multiple=True, metavar="SOURCE...", help="Sources of the test split.")
@click.option("--format", metavar="FORMAT", help="Format of the sources; guessed when left out.")
@click.option(
    "--layout", type=click.Choice(["parquet", "zarr"]), help="Default: zarr for dense, parquet for sparse rows."
)
@click.option(
    "--chunk-rows",
    type=click.IntRange(min=1),
    metavar="N",
    help="Rows of a chunk; default 16384, fewer if wide.",
)
@click.option("--segments", metavar="files|COLUMN", help="One segment a source, or at each change of COLUMN.")
@click.option("--label", metavar="COLUMN", help="Column of the target in tables: its name, or its position from 0.")
def ingest(
    source: tuple[str, ...],
    dest: str,
    test: tuple[str, ...],
    format: str | None,
    layout: str | None,
    chunk_rows: int | None,
    segments: str | None,
    label: str | None,
) -> None:
    """Convert SOURCE... (files, folders, patterns, tar archives, URLs, sklearn:NAME) to the dataset directory DEST.

    The dataset appears whole or not at all. After an interruption run the same command again.
    """
    import time

    from olscale.data.ingest import ingest as run

    start = time.perf_counter()
    dataset = run(
        source,
        dest,
        test=test,
        format=format,
        layout=layout,
        chunk_rows=chunk_rows,
        segments=segments,
        label=_column(label),
    )
    seconds = time.perf_counter() - start
    manifest = dataset.manifest
    rows = " + ".join(f"{dataset.rows(split):,} {split}" for split in dataset.splits)
    target = "regression" if manifest.classes is None else f"{len(manifest.classes)} classes"
    click.echo(
        f"{dataset.name}: {rows} rows x {manifest.columns:,} columns, {target}, {manifest.kind}, {manifest.layout}"
    )
    read = sum({entry.name: entry.bytes or 0 for entry in manifest.sources}.values()) / 1e6
    speed = f" ({read / seconds:.1f} MB/s)" if read else ""
    click.echo(f"{seconds:.1f} s{speed}, fingerprint {manifest.fingerprint[:12]}")


def _column(label: str | None) -> str | int | None:
    if label is None:
        return None
    try:
        return int(label)
    except ValueError:
        return label
