"""``olscale evaluate``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import partial, wraps
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import click

from olscale.cli.command import GroupedCommand, find_modules_here
from olscale.cli.execution_options import cluster_options
from olscale.cli.say import say, show
from olscale.evaluation.protocol import ProtocolSpec

if TYPE_CHECKING:
    from olscale.evaluation.experiment import Experiment


class _RowsOrColumn(click.ParamType):  # type: ignore[type-arg]
    name = "N|COLUMN"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        # A negative number is a mistake, not a column called "-3".
        number = str(value).removeprefix("-").isdecimal()
        if number:
            return click.IntRange(min=0).convert(value, param, ctx)
        return str(value)


class _Names(click.ParamType):  # type: ignore[type-arg]
    name = "NAME,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        return tuple(name.strip() for name in str(value).split(","))


def _joined(
    context: click.Context, option: click.Parameter, groups: tuple[tuple[str, ...], ...]
) -> Any:
    # None and not an empty tuple: absent options stay out of the definition of runs,
    # and so of their ids.
    return tuple(chain.from_iterable(groups)) or None


def _click_type(hint: Any, limits: Mapping[str, Any]) -> Any:
    """Return click's type for that of an option."""
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not type(None)]
    if get_origin(hint) is Literal:
        return click.Choice(kinds)
    if get_origin(hint) is tuple:
        return _Names()
    if len(kinds) > 1:
        return _RowsOrColumn()
    [kind] = kinds
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if kind is str:
        return click.STRING
    if kind is float:
        return click.FloatRange(
            limits["gt"], limits["lt"], min_open=True, max_open=True
        )
    return click.IntRange(min=limits["ge"])


def protocol_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to `command`, passed as dict `protocol` by key; absent ones are None."""
    hints = get_type_hints(ProtocolSpec)
    declared = [option for option in fields(ProtocolSpec) if option.metadata["flag"]]

    @wraps(command)
    def called(**options: Any) -> None:
        protocol = {option.name: options.pop(option.name) for option in declared}
        command(**options, protocol=protocol)

    for option in reversed(declared):
        about = option.metadata
        flag = f"--{option.name.replace('_', '-')}"
        hint = hints[option.name]
        if hint is not bool:
            kind: dict[str, Any] = {"type": _click_type(hint, about)}
        else:
            # None is "not said", which leaves it to the default of the protocol.
            kind = {"is_flag": True, "default": None}
        # A list may come in one flag or in several; click alone would keep only the last.
        if isinstance(kind.get("type"), _Names):
            kind |= {"multiple": True, "callback": _joined}
        called = click.option(
            flag, metavar=about["metavar"], help=about["description"], **kind
        )(called)
    return called


@click.command(cls=GroupedCommand, short_help="Run an experiment.")
@click.argument("experiment", required=False, type=click.Path())
@click.option(
    "--store",
    metavar="STORE",
    required=True,
    help="Metrics store, created if it is missing.",
)
@click.option(
    "--dataset",
    "datasets",
    metavar="DATASET",
    multiple=True,
    help="Dataset, or name in the catalogue, instead of an experiment file; repeatable.",
)
@click.option(
    "--learner",
    "learners",
    metavar="LEARNER",
    multiple=True,
    help="NAME:param=value,param=value; repeatable.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="Name of the experiment in STORE, in place of its own.",
)
@click.option(
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="Another value for a key of the experiment, e.g. protocol.permutations=20 or "
    "learners.pa1.params.C=0.5; repeatable.",
)
@protocol_options
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="S",
    help="Seed of the permutations (default: 0).",
)
@click.option(
    "--transform",
    "transforms",
    metavar="NAMES",
    multiple=True,
    help="Transforms in order, e.g. running-standardize,bias or "
    "project:features=100,kind=sparse,bias, or of some columns: standardize@amount+age, "
    "impute:mean@numeric; repeatable.",
)
@cluster_options
@click.option(
    "--class-shards",
    type=click.IntRange(min=1),
    metavar="N",
    help="Split one-vs-all runs into N tasks by class (default: only if workers would be idle).",
)
@click.option(
    "--memory-limit",
    metavar="SIZE",
    help="Worker memory for the rows of a permutation or fold, e.g. 2GB (default: half of the "
    "worker's); larger datasets are permuted on disk.",
)
@click.option(
    "--max-seconds",
    type=float,
    metavar="S",
    help="Time limit of each run, counted in its learner.",
)
@click.option(
    "--max-memory", metavar="SIZE", help="Memory limit of each run, e.g. 2GB."
)
@click.option(
    "--retry",
    type=click.Choice(["lost", "failed", "all"]),
    help="Runs to compute again although STORE has them: those lost with their workers "
    "(default), all that failed, or all.",
)
@click.option(
    "--force", is_flag=True, help="Compute every run again: the same as --retry all."
)
@click.option(
    "--strict-online",
    is_flag=True,
    help="Refuse everything that sees rows before they are predicted: transforms fitted ahead, "
    "tuning, learners that look ahead, batch references.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print what would be computed, how many rows and about how long, and what STORE has; run "
    "and write nothing.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 if any run failed (default: only if all did).",
)
def evaluate(
    experiment: str | None,
    store: str,
    datasets: tuple[str, ...],
    learners: tuple[str, ...],
    name: str | None,
    overrides: tuple[str, ...],
    seed: int | None,
    transforms: tuple[str, ...],
    class_shards: int | None,
    memory_limit: str | None,
    max_seconds: float | None,
    max_memory: str | None,
    retry: str | None,
    force: bool,
    strict_online: bool,
    dry_run: bool,
    strict: bool,
    cluster: dict[str, Any],
    protocol: dict[str, Any],
) -> None:
    """Run the runs of EXPERIMENT that STORE does not have yet.

    EXPERIMENT is a TOML file, or the name of a pipeline that comes with olscale, e.g. quickstart.
    Without it, run the datasets and learners that are given as options.

    Streams in file order (--order time) run as Dask actors, permutations as Dask tasks;
    --in-process gives the same results without Dask. Running the same experiment again computes
    nothing unless --force or --retry ask for it; a record then stays until the new one replaces it.
    Damaged files are set aside and computed again.

    Ctrl-C or SIGTERM saves running work and stops; the same command resumes it. A second Ctrl-C
    does not wait.
    """
    chosen: dict[str, Any] = {
        "--dataset": datasets,
        "--learner": learners,
        "--transform": transforms,
        "--seed": seed,
    }
    chosen |= {f"--{name.replace('_', '-')}": value for name, value in protocol.items()}
    options = [name for name, value in chosen.items() if value not in (None, ())]
    if experiment is not None and options:
        raise click.UsageError(
            f"{', '.join(options)} cannot be combined with an experiment file"
        )
    if experiment is None and not (datasets and (learners or protocol["from_model"])):
        raise click.UsageError(
            "expected an EXPERIMENT.toml, or --dataset and --learner"
        )
    if force and retry not in (None, "all"):
        raise click.UsageError(
            f"--force computes every run again, --retry {retry} only some; give only one of them"
        )

    # Imported after the checks above, so that usage errors need not wait for NumPy.
    from olscale.cli.progress import progress_for
    from olscale.evaluation.experiment import load_experiment, parse_experiment
    from olscale.evaluation.overrides import with_overrides
    from olscale.evaluation.pipelines import experiment_file
    from olscale.execution.evaluate import evaluate as run

    find_modules_here()
    if experiment is not None:
        spec = _overridden(
            partial(load_experiment, experiment_file(experiment)), overrides
        )
    else:
        content = _content(datasets, learners, protocol, seed, transforms)
        # The same parser as for files, so that options get the same checks and run ids.
        spec = _overridden(
            lambda values: parse_experiment(with_overrides(content, values), "options"),
            overrides,
        )
    if name is not None:
        # The name is no part of a run's definition: the same runs under another name
        # are not computed again.
        spec = spec.model_copy(update={"name": name})
    if dry_run:
        again = "all" if force else retry or "lost"
        limits = {"class_shards": class_shards, "memory_limit": memory_limit}
        _preview(
            spec,
            store,
            cluster,
            limits | {"retry": again, "strict_online": strict_online},
        )
        return
    with progress_for(sys.stderr) as progress:
        evaluation = run(
            spec,
            store,
            class_shards=class_shards,
            memory_limit=memory_limit,
            budget=_budget(max_seconds, max_memory),
            retry=retry or "lost",
            force=force,
            strict_online=strict_online,
            progress=progress,
            **cluster,
        )
    if evaluation.computed == 0 and evaluation.runs == 1:
        say(f"nothing to compute: the run is in {store}")
    elif evaluation.computed == 0:
        say(f"nothing to compute: all {evaluation.runs} runs are in {store}")
    else:
        say(
            f"{evaluation.computed} of {evaluation.runs} runs computed, results in {store}"
        )
    if force or retry == "all" or evaluation.changed:
        say(f"{evaluation.changed} of them differ from what was in {store}")
    if evaluation.failed:
        noun = "runs"
        if evaluation.failed == 1:
            noun = "run"
        say(f"{evaluation.failed} {noun} failed; see `olscale status {store}`")
    # Last: everything is printed before a failure of runs becomes the exit code.
    evaluation.check(strict)


def _budget(max_seconds: float | None, max_memory: str | None) -> Any:
    from pydantic import ValidationError

    from olscale.evaluation.budget import Budget

    try:
        return Budget(max_seconds=max_seconds, max_memory=max_memory)
    except ValidationError as error:
        # In the words of the command line, whose user knows no field names.
        first = error.errors(include_url=False)[0]
        option = f"--{first['loc'][0]}".replace("_", "-")
        raise click.UsageError(
            f"{option} was {first['input']!r}: {first['msg']}"
        ) from None


def _preview(
    spec: Experiment, store: str, cluster: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Print what an evaluation would do."""
    from olscale.cli.dry_run import dry_run_text
    from olscale.cli.progress import progress_for
    from olscale.execution.preview import preview

    with progress_for(sys.stderr) as progress:
        expected = preview(
            spec,
            store,
            progress,
            workers=cluster["workers"],
            in_process=cluster["in_process"],
            on_cluster=cluster["scheduler"] is not None,
            **options,
        )
    show(dry_run_text(expected, store))


def _overridden(
    read: Callable[[Iterable[tuple[str, Any]]], Experiment], overrides: tuple[str, ...]
) -> Experiment:
    """Read an experiment with the values of --set; a fault of these alone is one of usage."""
    from olscale.errors import OlscaleError
    from olscale.evaluation.overrides import parse_override

    try:
        return read([parse_override(text) for text in overrides])
    except OlscaleError as fault:
        # Without them, the experiment's own fault is raised, where it has one.
        read(())
        raise click.UsageError(f"--set: {fault}") from None


def _content(
    datasets: tuple[str, ...],
    learners: tuple[str, ...],
    protocol: dict[str, Any],
    seed: int | None,
    transforms: tuple[str, ...],
) -> dict[str, Any]:
    """Return the content of the experiment that options describe, as a file would have it."""
    from olscale.data.transforms.pipeline import split_transforms

    if protocol["from_model"] is not None and not learners:
        return _continued(datasets, protocol, seed, transforms)
    # What is not given stays out, so that the defaults of experiments hold.
    return {
        "name": "evaluate",
        "protocol": {
            key: value for key, value in protocol.items() if value is not None
        },
        "transforms": split_transforms(",".join(transforms)),
        "datasets": [_dataset(path) for path in datasets],
        "learners": [parse_learner(text) for text in learners],
        "seed": seed or 0,
    }


def _continued(
    datasets: tuple[str, ...],
    protocol: dict[str, Any],
    seed: int | None,
    transforms: tuple[str, ...],
) -> dict[str, Any]:
    """Return the content of the experiment of a saved model, which knows its learner."""
    from olscale.models.saved_model import saved_model

    if transforms:
        raise click.UsageError(
            "--transform does not go with --from-model, which has its own"
        )
    about = saved_model(protocol["from_model"]).about
    return {
        "name": "evaluate",
        "protocol": {
            key: value for key, value in protocol.items() if value is not None
        },
        "transforms": list(about.transforms.names),
        "datasets": [_dataset(path) for path in datasets],
        "learners": [{"name": about.learner.name, "params": about.learner.params}],
        "seed": seed or 0,
    }


def _dataset(path: str) -> dict[str, str]:
    """Treat a word as a catalogue name if it is one and not a directory."""
    from olscale.data.catalogue.entries import catalogue
    from olscale.storage.open import open_storage

    if path not in catalogue() or open_storage(path).exists():
        return {"path": path}
    # A directory that happens to bear a public name is the user's own data.
    say(f"no directory {path} here; using dataset {path} of the catalogue", err=True)
    return {"name": path}


def parse_learner(text: str) -> dict[str, Any]:
    """Return name and parameters of ``NAME:param=value,param=value``.

    Examples
    --------
    >>> parse_learner("pa1:C=0.5")
    {'name': 'pa1', 'params': {'C': 0.5}}
    >>> parse_learner("sklearn.linear_model:Perceptron:shuffle=false")
    {'name': 'sklearn.linear_model:Perceptron', 'params': {'shuffle': False}}
    """
    from olscale.learners.registry import learner_names
    from olscale.named_parameters import parse_named, parse_value

    name, pairs = parse_named(text, learner_names())
    params = {}
    for key, value in pairs:
        if key and value is not None:
            params[key] = parse_value(value)
        elif key or value is not None:
            raise click.UsageError(
                f"--learner {text}: {key or f'={value}'!r} is not param=value"
            )
    return {"name": name, "params": params}
