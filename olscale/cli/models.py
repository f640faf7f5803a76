"""``olscale models``: the final models of runs as files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from olscale.cli.command import Group, Respelled
from olscale.cli.meter import meter
from olscale.cli.reading_options import Reading, allow_pickle_option, source_options
from olscale.cli.results import dataset_option, learner_option
from olscale.cli.say import say
from olscale.cli.say import show as print_lines

if TYPE_CHECKING:
    from olscale.models.about import LearnedEntry
    from olscale.results.record import Record
    from olscale.results.store import Store

_SHOWN = 12


@click.group(cls=Group, short_help="Save, show and export the final models of runs.")
def models() -> None:
    """Save, show and export the final models of runs."""


@models.command("list", short_help="List the runs of STORE whose models can be saved.")
@click.argument("store")
@dataset_option
@learner_option
def list_models(
    store: str, datasets: tuple[str, ...], learners: tuple[str, ...]
) -> None:
    """List the runs of STORE that succeeded, lowest error first.

    "kept" marks the runs whose models are in STORE.
    """
    from math import nan

    from olscale.measures import HEADLINES, figure_of, measure_of, metric_words
    from olscale.results.opening import open_store
    from olscale.results.plans import PlannedNames, read_plans

    opened = open_store(store)
    with_models = opened.model_ids()
    # Curves, which make up most of a record, are not read.
    columns = [
        "id",
        "dataset",
        "fingerprint",
        "transforms",
        "learner",
        "version",
        "params",
    ]
    rows = []
    names = PlannedNames(read_plans(opened, "skip"))
    for row in opened.read([*columns, "protocol", "outcome", "metrics"]).to_pylist():
        is_selected = (
            not datasets or not names.dataset(row).isdisjoint(datasets)
        ) and (not learners or not names.learner(row).isdisjoint(learners))
        if row["outcome"] == "ok" and is_selected:
            metrics = dict(row["metrics"])
            metric = next((name for name in HEADLINES if name in metrics), "")
            # Sorted by metric before error: errors of different metrics are not
            # comparable.
            rows.append((row["dataset"], metric, float(metrics.get(metric, nan)), row))
    for dataset, metric, error, row in sorted(
        rows, key=lambda row: (*row[:3], row[3]["id"])
    ):
        params = ", ".join(
            f"{name}={value}" for name, value in _object(row["params"]).items()
        )
        protocol = _object(row["protocol"])
        order = "time order"
        if "permutation" in protocol:
            order = f"permutation {protocol['permutation']}"
        more = ""
        if row["id"] in with_models:
            more = ", kept"
        figure = f"{figure_of(metric, error)}{' %' if measure_of(metric).unit == 'percent' else ''}"
        words = "no error"
        if metric:
            words = f"{metric_words(metric)} {figure}"
        learner = _in_setting(row["learner"], params)
        say(f"{row['id'][:_SHOWN]}  {words}  {dataset}, {learner}, {order}{more}")
    if not rows:
        say(f"the metrics store {store} has no successful run of these", err=True)


def _in_setting(learner: str, params: str) -> str:
    return f"{learner} ({params})" if params else learner


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        value = json.loads(value)
    return dict(value)


@models.command(short_help="Write the final model of the run RUN to FILE.")
@click.argument("store")
@click.argument("run")
@click.argument("file")
@click.option(
    "--dataset",
    metavar="DATASET",
    help="Dataset of the run (default: looked for here and next to STORE).",
)
@allow_pickle_option
def save(
    store: str, run: str, file: str, dataset: str | None, allow_pickle: bool
) -> None:
    """Write the final model of RUN to FILE.

    RUN is the id of a run in STORE, or a unique prefix of it.

    A model that STORE keeps is copied. Otherwise the run is repeated here, and its results are
    compared with those in STORE.
    """
    from olscale.cli.command import find_modules_here
    from olscale.models.file import load_model
    from olscale.results.opening import open_store
    from olscale.results.store import model_file

    find_modules_here()
    opened = open_store(store)
    record = _record(opened, run)
    learner = record.run["learner"]["name"]
    name = record.run["dataset"]["name"]
    if opened.exists(model_file(record.id)):
        kept = f"{opened.path}/{model_file(record.id)}"
        model = load_model(kept, learner, allow_pickle=allow_pickle)
        how = "copied from the store"
    else:
        from olscale.data.catalogue.fetch import data_home
        from olscale.evaluation.final_models import compute_model, find_dataset

        # A record has the dataset's name and fingerprint, not its path: that differs by machine.
        parent, slash, _ = opened.path.rstrip("/").rpartition("/")
        folders = dict.fromkeys(
            [
                "",
                "data/",
                f"{parent}{slash}",
                f"{parent}{slash}data/",
                f"{data_home()}/",
            ]
        )
        place = dataset or find_dataset(
            record.run, [folder + name for folder in folders]
        )
        with meter("computing") as progress:
            model = compute_model(record, place, progress, allow_pickle=allow_pickle)
        how = "trained again, with the same results as the record"
    model.save(file, allow_pickle=allow_pickle)
    say(f"{file}: {learner} on {name}, run {record.id[:_SHOWN]}, {how}")


def _record(store: Store, run: str) -> Record:
    """Return the record of the run whose id begins with `run`."""
    from olscale.errors import StoreError

    ids = sorted(id for id in store.done() | store.lost() if id.startswith(run))
    if len(ids) != 1:
        which = "no run"
        if ids:
            which = f"{len(ids)} runs"
        raise StoreError(
            f"the metrics store {store.path} has {which} whose id begins with {run!r}; olscale "
            f"models list {store.path} "
            "shows the ids"
        )
    return store.get(ids[0])


@models.command(short_help="Show the contents of FILE.")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def show(file: str, as_json: bool) -> None:
    """Show the learner, transforms, classes and columns of the model FILE.

    Reads and checks the complete file.
    """
    from olscale.models.file import read_about

    about = read_about(file)
    if as_json:
        print_lines(about.model_dump_json(indent=2) + "\n")
        return
    columns = about.columns
    dataset = about.dataset
    transforms = about.transforms
    targets = ""
    if columns.targets:
        targets = f", {len(columns.targets)} targets: {_shortened(columns.targets)}"
    names = "without names"
    if columns.names is not None:
        names = _shortened(columns.names)
    params = ", ".join(
        f"{name}={value}" for name, value in about.learner.params.items()
    )
    classes = f"none{targets}"
    if about.classes is not None:
        classes = f"{len(about.classes)}: {_shortened(about.classes)}"
    origin = "unknown"
    if dataset is not None:
        origin = f"{dataset.name}, fingerprint {dataset.fingerprint[:12]}"
    shown = {
        "learner": f"{_in_setting(about.learner.name, params)}, version {about.learner.version}",
        "transforms": ", ".join(transforms.names) or "none",
        "columns": f"{columns.count:,} {columns.kind}, {names}",
        "classes": classes,
        "dataset": origin,
        "run": about.run or "unknown",
        "made by": f"olscale {about.olscale}",
    }
    if about.pickled:
        shown["pickle"] = "yes: reading the learner runs code, and needs --allow-pickle"
    if about.skops:
        shown["estimator"] = "in the format of skops, which runs no code"
    for title, value in shown.items():
        say(f"{title:<12} {value}")
    for number, entry in enumerate(about.history, 1):
        say(f"{f'learned {number}':<12} {_learned(entry)}")


def _learned(entry: LearnedEntry) -> str:
    """Return what a model learned, in one line."""
    from olscale.measures import figure_of, measure_of, metric_words

    words = [
        f"{entry.source}, {entry.rows:,} rows, {entry.time}, by {entry.parent[:_SHOWN]}"
    ]
    for name, value in entry.measures.items():
        percent = " %" if measure_of(name).unit == "percent" else ""
        words.append(f"{metric_words(name)} {figure_of(name, value)}{percent}")
    return ", ".join(words)


def _shortened(values: tuple[Any, ...]) -> str:
    more = ""
    if len(values) > 10:
        more = f" ... ({len(values):,})"
    return ", ".join(map(str, values[:10])) + more


@models.command(short_help="Predict and learn the rows of SOURCE with the model MODEL.")
@click.argument("model")
@click.argument("source")
@click.option(
    "--out",
    metavar="NEW",
    required=True,
    help="File of the model that has learned; MODEL itself is replaced once it has.",
)
@click.option(
    "--split", metavar="SPLIT", help="Split of a dataset; train when left out."
)
@source_options
@click.option(
    "--measures",
    metavar="NAME,...",
    multiple=True,
    help="Also these measures, e.g. kappa,auc.",
)
@click.option(
    "--grow",
    type=click.Choice(["none", "classes", "features", "all"]),
    default="none",
    help="What the model may get: new classes, new values of text columns and features of "
    "SVMlight text. By default a new class ends the command, and new features count as none.",
)
@click.option(
    "--again", is_flag=True, help="Learn a source that the model has learned already."
)
@click.option(
    "--learner",
    metavar="MODULE:CLASS",
    help="Learner of your own that the model is of; it is imported.",
)
@allow_pickle_option
def learn(
    model: str,
    source: str,
    out: str,
    split: str | None,
    reading: Reading,
    measures: tuple[str, ...],
    grow: str,
    again: bool,
    learner: str | None,
    allow_pickle: bool,
) -> None:
    """Predict each row of SOURCE with the model MODEL, then learn it, and write the model to NEW.

    The error is that of the predictions before each row was learned. The model notes what it has
    learned, and models show prints it. NEW appears whole or not at all.
    """
    from olscale.cli.command import find_modules_here
    from olscale.evaluation.learn_on import learn_on
    from olscale.models.file import load_model
    from olscale.models.learned import (
        check_new,
        learned_now,
        model_digest,
        source_digests,
    )
    from olscale.models.source import ModelSource

    if learner is not None or allow_pickle:
        find_modules_here()
    # Before it is loaded: NEW may be MODEL, and the entry names the file that was read.
    parent = model_digest(model)
    loaded = load_model(model, learner, allow_pickle=allow_pickle)
    digests = source_digests(source)
    # Before any row is learned, since a model cannot forget.
    if not again:
        check_new(loaded.about, source, digests)
    rows = ModelSource(
        loaded.about.columns,
        source,
        split or "train",
        reading.format,
        reading.options(),
    )
    names = [name.strip() for part in measures for name in part.split(",")]
    learned = learn_on(loaded, rows, names, grow)
    # After learning: a source whose rows were refused midway is not noted as learned.
    entry = learned_now(source, digests, learned.rows, parent, learned.measures)
    loaded.about = loaded.about.changed(history=(*loaded.about.history, entry))
    loaded.save(out, allow_pickle=allow_pickle)
    say(f"{out}: {_learned(entry)}")
    for line in rows.notes:
        say(f"note: {line}", err=True)
    counts = {
        "rows without a label were left out": learned.unlabelled,
        "values and indices that the model never met count as none": learned.unknown,
        "classes are new": learned.classes,
        "features are new": learned.features,
    }
    for name in learned.undefined:
        say(f"note: {name} has no value for these classes and rows", err=True)
    for what, count in counts.items():
        if count:
            say(f"note: {count:,} {what}", err=True)


@models.command(short_help="Write the model FILE for other programs.")
@click.argument("file")
@click.option(
    "--out",
    "--onnx",
    "out",
    cls=Respelled,
    metavar="FILE",
    required=True,
    help="ONNX file to write; needs the package onnx.",
)
@click.option(
    "--learner",
    metavar="MODULE:CLASS",
    help="Your own learner class of the model, which is imported.",
)
def export(file: str, out: str, learner: str | None) -> None:
    """Write the model FILE as ONNX: float64 rows X in, labels and scores out.

    Nearly all transforms and learners have a form in ONNX; others are refused with the reason.
    """
    from olscale.cli.command import find_modules_here
    from olscale.models.file import load_model
    from olscale.models.onnx import export_onnx

    find_modules_here()
    model = load_model(file, learner)
    outputs = export_onnx(model, out)
    say(f"{out}: input X (float64), outputs {', '.join(outputs)}")
