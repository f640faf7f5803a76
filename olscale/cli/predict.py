"""``olscale predict``."""

from __future__ import annotations

import click

from olscale.cli.command import collect_as_usual
from olscale.cli.ingest import column_of
from olscale.cli.say import say
from olscale.cli.source_options import arrays_option, cell_options, delimiter_option


@click.command(short_help="Predict the rows of SOURCE with the model MODEL.")
@click.argument("model")
@click.argument("source")
@click.option(
    "--out",
    "--to",
    metavar="FILE",
    help="File that ends in .csv or .parquet; standard output when left out.",
)
@click.option("--scores", is_flag=True, help="Also write the scores.")
@click.option("--labels", is_flag=True, help="Also write the labels of SOURCE, and tell the error.")
@click.option(
    "--split", metavar="SPLIT", help="Split of a dataset; test, where there is one, when left out."
)
@click.option("--format", metavar="FORMAT", help="Format of the source; guessed when left out.")
@click.option(
    "--label",
    metavar="COLUMN",
    help="Column of the labels in tables; that of the model's dataset by default.",
)
@click.option(
    "--drop", metavar="COLUMN[,COLUMN]", multiple=True, help="Columns to leave out; repeatable."
)
@click.option(
    "--decimal",
    metavar="MARK",
    type=click.Choice([".", ","]),
    help="Mark within numbers in CSV and TSV.",
)
@click.option(
    "--header/--no-header",
    default=None,
    help="Whether the first row of CSV and TSV names the columns.",
)
@click.option(
    "--delimiter",
    metavar="CHAR",
    callback=delimiter_option,
    help="What is between cells in CSV and TSV.",
)
@click.option(
    "--index-base",
    type=click.Choice(["0", "1"]),
    help="First index of SVMlight text; as the model's dataset has it by default.",
)
@click.option(
    "--keep",
    metavar="COLUMN[,COLUMN]",
    multiple=True,
    help="Columns of a table to write with the predictions, also such as are dropped; repeatable.",
)
@click.option(
    "--unknown",
    type=click.Choice(["ignore", "refuse"]),
    default="ignore",
    help="Whether values and indices that the model never met count as none, the default, or end "
    "the command.",
)
@arrays_option
@cell_options
@click.option(
    "--learner",
    metavar="MODULE:CLASS",
    help="Learner of your own that the model is of; it is imported.",
)
def predict(
    model: str,
    source: str,
    out: str | None,
    scores: bool,
    labels: bool,
    split: str | None,
    format: str | None,
    label: str | None,
    drop: tuple[str, ...],
    decimal: str | None,
    header: bool | None,
    delimiter: str | None,
    arrays: dict[str, str] | None,
    quoting: str | None,
    escape: str | None,
    missing: tuple[str, ...],
    index_base: str | None,
    keep: tuple[str, ...],
    unknown: str,
    learner: str | None,
) -> None:
    """Predict the rows of SOURCE with the model MODEL.

    SOURCE is a dataset, or anything that olscale ingest reads.

    Columns go by their names where there are names. Rows need no labels, and columns that were
    dropped at ingest are dropped again.
    """
    from olscale.cli.command import find_modules_here
    from olscale.data.formats.base import ReadOptions
    from olscale.models.file import load_model
    from olscale.models.predict import predict as run
    from olscale.models.source import ModelSource

    if learner is not None:
        find_modules_here()
    collect_as_usual()
    loaded = load_model(model, learner)
    zero_based = None if index_base is None else index_base == "0"
    options = ReadOptions(
        label=column_of(label),
        drop=drop,
        decimal=decimal,
        zero_based=zero_based,
        header=header,
        delimiter=delimiter,
        arrays=arrays,
        quoting=quoting,
        escape=escape,
        missing=missing,
    )
    rows = ModelSource(
        loaded.about.columns,
        source,
        split,
        format,
        options,
        keep=keep,
        refuse_unknown=unknown == "refuse",
    )
    prediction = run(loaded, rows, out, scores, labels)
    text = f"{prediction.rows:,} rows"
    if prediction.labels:
        percent = 100 * prediction.wrong / prediction.labels
        text += (
            f", error {percent:.2f} % of {prediction.labels:,} with a label that the model knows"
        )
    if prediction.squares is not None and prediction.known is not None and prediction.known.all():
        errors = (prediction.squares / prediction.known) ** 0.5
        by_target = zip(loaded.about.columns.targets, errors, strict=False)
        text += f", RMSE {errors.mean():.4g}" + "".join(
            f", {target} {rmse:.4g}" for target, rmse in by_target
        )
    if prediction.unlabelled:
        text += f", {prediction.unlabelled:,} without a label"
    say(text, err=True)
    for line in rows.notes:
        say(f"note: {line}", err=True)
    if prediction.unknown:
        say(
            f"note: {prediction.unknown:,} cells of text hold values that the model never met; "
            "they count as none",
            err=True,
        )
    if prediction.unknown_indices:
        say(
            f"note: {prediction.unknown_indices:,} values are at indices that the model never met; "
            "they count as none",
            err=True,
        )
