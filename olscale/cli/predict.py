"""``olscale predict``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from olscale.cli.command import Respelled, collect_as_usual
from olscale.cli.reading_options import Reading, allow_pickle_option, source_options
from olscale.cli.say import say
from olscale.errors import DatasetError


@click.command(short_help="Predict the rows of SOURCE with the model MODEL.")
@click.argument("model")
@click.argument("source")
@click.option(
    "--out",
    "--to",
    cls=Respelled,
    metavar="FILE",
    help="Output file, .csv or .parquet (default: standard output).",
)
@click.option("--scores", is_flag=True, help="Also write the scores.")
@click.option(
    "--probabilities", is_flag=True, help="Also write the probability of each class."
)
@click.option(
    "--labels",
    is_flag=True,
    help="Also write the labels of SOURCE, and report the error.",
)
@click.option(
    "--split",
    metavar="SPLIT",
    help="Split of a dataset (default: test, if there is one).",
)
@source_options
@click.option(
    "--keep",
    metavar="COLUMN[,COLUMN]",
    multiple=True,
    help="Columns of a table to write with the predictions, including dropped ones; repeatable.",
)
@click.option(
    "--unknown",
    type=click.Choice(["ignore", "refuse"]),
    default="ignore",
    help="Ignore values and indices that the model has never seen (default), or refuse them.",
)
@click.option(
    "--learner",
    metavar="MODULE:CLASS",
    help="Your own learner class of the model, which is imported.",
)
@allow_pickle_option
def predict(
    model: str,
    source: str,
    out: str | None,
    scores: bool,
    probabilities: bool,
    labels: bool,
    split: str | None,
    reading: Reading,
    keep: tuple[str, ...],
    unknown: str,
    learner: str | None,
    allow_pickle: bool,
) -> None:
    """Predict the rows of SOURCE with the model MODEL.

    SOURCE is a dataset, anything that olscale ingest reads, or - for rows from
    standard input, which are read to their end first.

    Columns are matched by name if they have names. Rows need no labels, and columns that were
    dropped at ingest are dropped again.
    """
    from olscale.cli.command import find_modules_here
    from olscale.models.file import load_model
    from olscale.models.predict import predict as run
    from olscale.models.source import ModelSource

    if learner is not None or allow_pickle:
        # A model alone imports no code of the user's, and needs no modules from here.
        find_modules_here()
    collect_as_usual()
    loaded = load_model(model, learner, allow_pickle=allow_pickle)
    with _as_file(source) as file:
        rows = ModelSource(
            loaded.about.columns,
            file,
            split,
            reading.format,
            reading.options(),
            keep=keep,
            refuse_unknown=unknown == "refuse",
        )
        prediction = run(loaded, rows, out, scores, labels, probabilities)
    text = f"{prediction.rows:,} rows"
    if prediction.rows == 1:
        text = "1 row"
    if prediction.labels:
        percent = 100 * prediction.wrong / prediction.labels
        text += f", error {percent:.2f} % ({prediction.labels:,} labelled rows)"
    # Of several targets some may have no label at all, and so no error.
    if (
        prediction.squares is not None
        and prediction.known is not None
        and prediction.known.all()
    ):
        errors = (prediction.squares / prediction.known) ** 0.5
        by_target = zip(loaded.about.columns.targets, errors, strict=False)
        text += f", RMSE {errors.mean():.4g}" + "".join(
            f", {target} {rmse:.4g}" for target, rmse in by_target
        )
    if prediction.unlabelled:
        text += f", {prediction.unlabelled:,} without a label"
    # Standard output has the predictions, unless --out names a file.
    say(text, err=True)
    for line in rows.notes:
        say(f"note: {line}", err=True)
    if prediction.unknown:
        say(
            f"note: {prediction.unknown:,} text cells have values that the model has never seen; "
            "they are ignored",
            err=True,
        )
    if prediction.unknown_indices:
        say(
            f"note: {prediction.unknown_indices:,} values are at indices that the model has never "
            "seen; they are ignored",
            err=True,
        )


@contextmanager
def _as_file(source: str) -> Iterator[str]:
    """Yield `source`, or for ``-`` a temporary file of what standard input has."""
    if source != "-":
        yield source
        return
    if sys.stdin.isatty():
        raise DatasetError(
            "source - is standard input, which is a terminal: pipe rows into it, or name a file"
        )
    # The kind of file shows in its content, which readers look at more than once.
    with TemporaryDirectory(prefix="olscale-") as folder:
        path = Path(folder) / "standard-input"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield str(path)
