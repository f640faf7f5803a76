"""Experiments: datasets x learners x protocol, declared in a TOML file.

::

    name = "letter"
    seed = 0
    transforms = ["standardize", "bias"]

    [protocol]
    order = "permuted"          # or "time": the order of the file
    permutations = 10
    window = 1000               # error over the last 1000 rows too; more in `protocol`

    [[datasets]]
    path = "data/letter"        # relative to this file

    [[datasets]]
    name = "usps"               # in the catalogue, fetched when first needed
    optional = true             # continue without it if it is unavailable

    [[learners]]
    name = "pa1"
    params = { C = [0.25, 1.0] }   # a list: one learner per value

    [[learners]]
    name = "pa2"
    tune = { C = [0.25, 1.0] }     # choose one value on parts of the training split

    [tuning]
    folds = 10                     # random halves of the training split
    search = "halving"             # all values, or "random" or "halving" draws ...
    budget = 64                    # ... of so many candidates

    [budget]
    max_seconds = 3600             # per run; a longer one ends as "timeout"
    max_memory = "2GB"             # likewise, as "oom"
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from olscale.errors import ExperimentError
from olscale.evaluation.budget import Budget
from olscale.evaluation.experiment_sections import (
    DatasetSpec,
    LearnerSpec,
    Range,
    Section,
    Transforms,
    TuningSpec,
)
from olscale.evaluation.explain import check_numbers, explain
from olscale.evaluation.overrides import with_overrides
from olscale.evaluation.protocol import ProtocolSpec
from olscale.system.paths import path_text


class Experiment(Section):
    """Datasets x learners x protocol.

    Attributes
    ----------
    name : str
        Name in progress reports and in the store's list of plans.
    seed : int
        Seed of all permutations.
    transforms : tuple of str
        Transforms of every dataset that does not list its own.
    protocol : table
        Order of the rows, splits, folds, and what is measured.
    tuning : table
        How the parameters in ``tune`` of learners are searched.
    budget : table
        What each run may take: ``max_seconds``, ``max_memory``.
    datasets : array of tables
        The datasets.
    learners : array of tables
        The learners.

    Raises
    ------
    ExperimentError
        If a value is invalid or a key does not exist; one line says what to write.
    """

    name: str = "experiment"
    seed: int = Field(default=0, ge=0)
    transforms: Transforms = ()
    protocol: ProtocolSpec = ProtocolSpec()
    tuning: TuningSpec = TuningSpec()
    budget: Budget = Budget()
    datasets: tuple[DatasetSpec, ...] = Field(min_length=1)
    learners: tuple[LearnerSpec, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _tables(cls, content: Any) -> Any:
        if not isinstance(content, Mapping | Experiment):
            what = f"{_SOURCE.get()} was a {type(content).__name__}"
            raise ExperimentError(
                f"{what}, expected a dictionary as of a TOML file, with datasets and learners"
            )
        return content

    @field_validator("datasets", mode="before")
    @classmethod
    def _one_per_seed(cls, sections: Any) -> Any:
        if not isinstance(sections, list | tuple):
            return sections
        return [part for section in sections for part in _with_each_seed(section)]

    @model_validator(mode="after")
    def _ranges_are_drawn_from(self) -> Experiment:
        for learner in self.learners:
            for name, values in learner.tune.items():
                if self.tuning.search == "grid" and isinstance(values, Range):
                    raise ExperimentError(
                        f"{_SOURCE.get()}: tune.{name} of {learner.name} is a range, but a "
                        "grid has listed values: list them, or write tuning = "
                        '{ search = "random" } or "halving"'
                    )
        return self

    def transforms_of(
        self,
        dataset: DatasetSpec,
        learner: LearnerSpec | None = None,
    ) -> tuple[str, ...]:
        """Return the transforms of a dataset for a learner; without one, the dataset's own."""
        of_learner = None
        if learner is not None:
            of_learner = learner.transforms
        in_turn = (of_learner, dataset.transforms, self.transforms)
        return next(transforms for transforms in in_turn if transforms is not None)

    def __init__(self, **content: Any) -> None:
        try:
            super().__init__(**content)
        except ValidationError as error:
            raise explain(error, _SOURCE.get(), Experiment, _SECTIONS) from None
        check_numbers(content, _SOURCE.get())


def _with_each_seed(section: Any) -> list[Any]:
    """Return a table of a dataset once for each of its seeds."""
    if not isinstance(section, Mapping) or not isinstance(section.get("seed"), list):
        return [section]
    return [{**section, "seed": seed} for seed in section["seed"]]


_SECTIONS: dict[str, type[BaseModel | ProtocolSpec]] = {
    "datasets": DatasetSpec,
    "learners": LearnerSpec,
    "protocol": ProtocolSpec,
    "tuning": TuningSpec,
    "budget": Budget,
}
_SOURCE: ContextVar[str] = ContextVar("source", default="experiment")
"""What error messages call the source of an experiment: its file, if it has one."""


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file, by default under the name of the file.

    Raises
    ------
    ExperimentError
        If the file is missing or is not TOML.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExperimentError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        # Not TOML, not UTF-8, a number of thousands of digits, or 1,000 brackets.
        raise ExperimentError(f"{path}: not a TOML file: {error}") from None
    content.setdefault("name", path.stem)
    return content


def load_experiment(
    path: str | Path,
    overrides: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
) -> Experiment:
    """Read an experiment file.

    Parameters
    ----------
    path : str or Path
    overrides : mapping of str to object, or iterable of (str, object)
        Dotted keys and their values, in place of those of the file, such as
        ``{"protocol.permutations": 20, "learners.pa1.params.C": 0.5}``.

    Raises
    ------
    ExperimentError
        If the file is missing, is not TOML or has an invalid value.
    UnknownNameError
        If a key or a transform does not exist; the message suggests the nearest one.
    """
    path = Path(path_text(path, "experiment"))
    content = read_toml(path)
    content = with_overrides(content, overrides)
    experiment = parse_experiment(content, str(path))
    datasets = [
        # Paths in a file are relative to the file, so that it works from any directory.
        spec
        if spec.path is None
        else spec.model_copy(update={"path": _relative_to(path.parent, spec.path)})
        for spec in experiment.datasets
    ]
    return experiment.model_copy(
        update={
            "datasets": tuple(datasets),
            "protocol": _from_model_beside(path, experiment),
        }
    )


def _from_model_beside(path: Path, experiment: Experiment) -> ProtocolSpec:
    protocol = experiment.protocol
    if protocol.from_model is None:
        return protocol
    return replace(protocol, from_model=_relative_to(path.parent, protocol.from_model))


def parse_experiment(content: dict[str, Any], source: str = "experiment") -> Experiment:
    """Check the content of an experiment; `source` names it in error messages.

    Examples
    --------
    >>> parse_experiment({"datasets": [{"path": "letter"}], "lerners": [{"name": "pa"}]})
    Traceback (most recent call last):
    ...
    olscale.errors.ExperimentError: experiment: unknown key 'lerners'; did you mean 'learners'? ...
    """
    token = _SOURCE.set(source)
    try:
        return Experiment.model_validate(content)
    finally:
        _SOURCE.reset(token)


def _relative_to(folder: Path, path: str) -> str:
    if "://" in path or Path(path).is_absolute():
        return path
    return str((folder / path).resolve())
