"""The settings of an experiment: its groups of runs in a store, found without its datasets."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olscale.errors import OlscaleError
from olscale.evaluation.candidates import plain_space
from olscale.evaluation.experiment import Experiment
from olscale.evaluation.experiment_sections import EVERY, DatasetSpec, LearnerSpec
from olscale.evaluation.protocol import weighing_of
from olscale.evaluation.run import Run, stream_keys
from olscale.learners.registry import learner_class, learner_names, make_learner
from olscale.results.selections import Selection
from olscale.results.settings import REPLICATES, ExperimentSettings, Setting, SettingKey
from olscale.storage.canonical_json import canonical_json


def settings(
    experiment: Experiment, selections: Iterable[Selection]
) -> ExperimentSettings:
    """Return the settings of an experiment; no dataset is opened.

    Parameters
    ----------
    experiment : Experiment
    selections : iterable of Selection
        Choices of tuning, as stored.

    Raises
    ------
    UnknownNameError, ParameterError
        If a required learner does not exist, or a parameter is wrong.
    """
    chosen = list(selections)
    specs = [named for spec in experiment.learners for named in _named(spec)]
    settings_by_key: dict[tuple[str, SettingKey], Setting] = {}
    named_datasets = (
        (dataset, name)
        for dataset in experiment.datasets
        for name in sorted(dataset.names())
    )
    for dataset, name in named_datasets:
        for spec in specs:
            transforms = experiment.transforms_of(dataset, spec)
            if spec.meets(name):
                weighing = weighing_of(dataset.protocol or experiment.protocol)
                for version, params, tuned in _choices(
                    experiment,
                    spec,
                    name,
                    transforms,
                    chosen,
                    weighing,
                ):
                    label = spec.label or spec.name
                    for protocol in _protocols(experiment, dataset, name, transforms):
                        setting = Setting(
                            name,
                            transforms,
                            label,
                            spec.name,
                            version,
                            params,
                            protocol,
                            tuned,
                        )
                        # A learner with transforms of its own runs on a dataset once, however often
                        # the dataset is listed.
                        settings_by_key.setdefault((label, setting.key), setting)
    labels = frozenset(spec.label or spec.name for spec in specs)
    streams = {
        name: dataset.name
        for dataset in experiment.datasets
        if dataset.name is not None and dataset.seed is not None
        for name in dataset.names()
    }
    return ExperimentSettings(
        experiment.name, labels, tuple(settings_by_key.values()), streams
    )


def _named(spec: LearnerSpec) -> list[LearnerSpec]:
    """Return a learner by its name; ``*`` is every learner, also one that no dataset here fits."""
    if spec.name != EVERY:
        return [spec]
    return [
        spec.model_copy(update={"name": name, "without": ()})
        for name in spec.stands_for(learner_names())
    ]


def _choices(
    experiment: Experiment,
    spec: LearnerSpec,
    dataset: str,
    transforms: tuple[str, ...],
    selections: list[Selection],
    weighing: Mapping[str, Any],
) -> Iterator[tuple[str, Mapping[str, Any] | None, Mapping[str, Any] | None]]:
    """Yield version, parameters and their tuning for each setting of a learner."""
    try:
        learner_class(spec.name)
    except OlscaleError:
        if not spec.optional:
            raise
        # Its stored runs still belong to the experiment, whatever their version.
        yield "", None, None
        return
    for params in spec.settings():
        if not spec.tune:
            learner = make_learner(spec.name, params)
            yield str(learner.version), learner.resolved_params(), None
            continue
        learner = make_learner(spec.name, params | spec.first_point())
        version = learner.version
        search: Any = {
            "transforms": list(transforms),
            "learner": {"name": spec.name, "version": version, "params": params},
            "grid": plain_space(spec.tune),
            "protocol": experiment.tuning.definition(
                experiment.seed, learner.task, weighing
            ),
        }
        search = canonical_json(search)
        # The dataset may have changed since: only its name is known without opening it.
        of_dataset = (
            selection
            for selection in selections
            if selection.definition["dataset"]["name"] == dataset
        )
        matching = (
            selection
            for selection in of_dataset
            if canonical_json(_of_any_version(selection.definition)) == search
        )
        newest = max(
            matching,
            key=lambda selection: selection.definition["protocol"].get(
                "transforms_version", 1
            ),
            default=None,
        )
        yield (
            str(version),
            newest.chosen if newest else None,
            newest.summary() if newest else None,
        )


def _protocols(
    experiment: Experiment,
    dataset: DatasetSpec,
    name: str,
    transforms: tuple[str, ...],
) -> list[dict[str, Any]]:
    protocols: dict[str, dict[str, Any]] = {}
    for key in stream_keys(
        name,
        "",
        transforms,
        dataset.protocol or experiment.protocol,
        experiment.seed,
    ):
        definition = Run(key, "", 1, {}).definition()
        protocol = {
            key: value
            for key, value in definition["protocol"].items()
            if key not in REPLICATES
        }
        protocols[canonical_json(protocol)] = protocol
    return list(protocols.values())


def _of_any_version(search: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition of a search without its dataset and the version of its transforms."""
    how = {
        name: value
        for name, value in search["protocol"].items()
        if name != "transforms_version"
    }
    return {
        **{key: search[key] for key in ("transforms", "learner", "grid")},
        "protocol": how,
    }
