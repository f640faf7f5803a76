"""Experiments: datasets x learners x protocol, declared in a TOML file.

::

    name = "letter"
    seed = 0
    transforms = ["standardize", "bias"]

    [protocol]
    order = "permuted"          # or "time": the order of the file
    permutations = 10
    window = 1000               # error over the last 1000 rows as well: `olscale.evaluation.protocol` has more of the kind

    [[datasets]]
    path = "data/letter"        # relative to this file

    [[datasets]]
    name = "usps"               # of the catalogue, fetched when it is first needed
    optional = true             # if it cannot be had, go on without

    [[learners]]
    name = "pa1"
    params = { C = [0.25, 1.0] }   # a list: one learner a value

    [[learners]]
    name = "pa2"
    tune = { C = [0.25, 1.0] }     # one of these, chosen on parts of the training split

    [tuning]
    folds = 10                     # random halves of the training split

    [budget]
    max_seconds = 3600             # of each run; what takes more ends as "timeout"
    max_memory = "2GB"             # likewise, as "oom"
"""

from __future__ import annotations

import tomllib
from contextvars import ContextVar
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from olscale.data.transforms.pipeline import canonical_transform
from olscale.errors import ExperimentError, UnknownNameError
from olscale.evaluation.budget import Budget
from olscale.evaluation.explain import check_numbers, explain
from olscale.evaluation.protocol import ProtocolSpec
from olscale.measures import MEASURES, askable, base_name
from olscale.task import Task

__all__ = [
    "EVERY",
    "DatasetSpec",
    "Experiment",
    "LearnerSpec",
    "ProtocolSpec",
    "TuningSpec",
    "load_experiment",
    "parse_experiment",
]


EVERY = "*"
"""In place of a learner's name: all of the registry."""

Transforms = tuple[Annotated[str, AfterValidator(canonical_transform)], ...]
"""In canonical form, so that ``project:100`` and ``project:features=100`` are one run."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DatasetSpec(_Section):
    """A dataset of an experiment.

    Attributes
    ----------
    path : str, optional
        Directory or URL of the dataset.
    name : str, optional
        Name of a data set of the catalogue, in place of `path`.
    transforms : tuple of str, optional
        Transforms for this dataset in place of the experiment's.
    protocol : ProtocolSpec, optional
        Protocol for this dataset in place of the experiment's.
    label : str, optional
        What tables and figures call it; its name when left out.
    rows : int, optional
        Most rows of each split; a larger dataset is drawn from, and then called by its name and this number.
    optional : bool
        Whether to go on without it where it cannot be had.
    """

    path: str | None = None
    name: str | None = None
    rows: int | None = Field(default=None, ge=1)
    transforms: Transforms | None = None
    protocol: ProtocolSpec | None = None
    label: str | None = None
    optional: bool = False

    @model_validator(mode="after")
    def _path_or_name(self) -> DatasetSpec:
        if (self.path is None) == (self.name is None):
            raise ValueError("expected path (of a dataset) or name (of a set in the catalogue), and not both")
        if "\0" in (self.path or ""):
            raise ValueError("no path holds a null character")
        return self


class LearnerSpec(_Section):
    """A learner of an experiment.

    Attributes
    ----------
    name : str
        Registry name or ``module:Class``; ``*`` for every learner of the registry, each on the datasets of its task.
    params : dict
        Parameters; a list of values stands for one learner a value.
    tune : dict of str to list
        Parameters of which one combination is chosen by tuning, for each dataset by itself.
    datasets : tuple of str, optional
        Names of the only datasets that it meets; all when left out.
    transforms : tuple of str, optional
        Transforms of the rows that it meets, in place of the datasets'.
    label : str, optional
        What tables and figures call it, the published ones among them; its name when left out.
    optional : bool
        Whether to go on without it where this version has no such learner.
    """

    name: str
    params: dict[str, Any] = Field(default_factory=dict)
    tune: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)
    datasets: tuple[str, ...] | None = None
    transforms: Transforms | None = None
    label: str | None = None
    optional: bool = False

    @model_validator(mode="after")
    def _given_or_tuned(self) -> LearnerSpec:
        both = sorted(self.tune.keys() & self.params.keys())
        if both:
            raise ValueError(f"{both[0]} is both in params and in tune; expected it in one of them")
        if self.name == EVERY and (self.params or self.tune or self.label):
            raise ValueError("name = '*' is every learner at its defaults; expected no params, tune or label beside it")
        return self

    def meets(self, dataset: str) -> bool:
        """Return whether this learner is for the dataset of that name."""
        return self.datasets is None or dataset in self.datasets

    def settings(self) -> list[dict[str, Any]]:
        """Return one dictionary of parameters for each combination of listed values.

        Examples
        --------
        >>> LearnerSpec(name="pa1", params={"C": [0.5, 1.0]}).settings()
        [{'C': 0.5}, {'C': 1.0}]
        """
        values = self.params.items()
        return _combinations({name: value if isinstance(value, list) else [value] for name, value in values})

    def points(self) -> list[dict[str, Any]]:
        """Return one dictionary of parameters for each combination to choose from.

        Examples
        --------
        >>> LearnerSpec(name="scw1", tune={"C": [0.5, 1.0], "eta": [0.9]}).points()
        [{'C': 0.5, 'eta': 0.9}, {'C': 1.0, 'eta': 0.9}]
        """
        return _combinations(self.tune)


def _combinations(values: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def _tuning_metric(name: str) -> str:
    bases = [base for base in askable() if base not in ("cost", "confusion")]
    known = ["test_error", "cumulative_error", *bases, *(f"test_{base}" for base in bases)]
    if name not in known:
        raise ValueError(str(UnknownNameError("metric", name, known)))
    return name


class TuningSpec(_Section):
    """How parameters under `tune` are chosen: by the mean over parts of the training split that are held out.

    Attributes
    ----------
    split : {"half", "stratified-half", "kfold", "stratified"}
        How rows are held out, as in `ProtocolSpec`; random halves are the LOL paper's way.
    folds : int
        How many times.
    metric : str, optional
        What is to be best in the mean: `cumulative_error`, `test_error` or any other of the measures that a number is best
        by, on the rows that train or, with the prefix ``test_``, of the final model on the rows held out. When left out
        `test_error`, or `test_rmse` in a regression.
    """

    split: Literal["kfold", "stratified", "half", "stratified-half"] = "half"
    folds: int = Field(default=10, ge=1)
    metric: Annotated[str, AfterValidator(_tuning_metric)] | None = None

    def metric_for(self, task: Task) -> str:
        """Return the metric by which candidates are compared."""
        return self.metric or ("test_rmse" if task == "regression" else "test_error")

    def protocol(self, task: Task) -> ProtocolSpec:
        """Return how tuning runs meet a dataset."""
        base = base_name(self.metric_for(task))
        by_itself = base not in askable() or task in MEASURES[base].default
        return ProtocolSpec(split=self.split, folds=self.folds, measures=() if by_itself else (base,))

    def definition(self, seed: int, task: Task) -> dict[str, Any]:
        """Return how candidates are compared as plain JSON values."""
        return {"split": self.split, "folds": self.folds, "seed": seed, "metric": self.metric_for(task)}


class Experiment(_Section):
    """Datasets x learners x protocol.

    Attributes
    ----------
    name : str
        Name in progress reports and in the store's list of plans.
    seed : int
        Seed of all permutations.
    transforms : tuple of str
        Transforms of every dataset that does not name its own.

    Raises
    ------
    ExperimentError
        If a value does not fit, or a key does not exist: one line that says what to write.
    """

    name: str = "experiment"
    seed: int = Field(default=0, ge=0)
    transforms: Transforms = ()
    protocol: ProtocolSpec = ProtocolSpec()
    tuning: TuningSpec = TuningSpec()
    budget: Budget = Budget()
    datasets: tuple[DatasetSpec, ...] = Field(min_length=1)
    learners: tuple[LearnerSpec, ...] = Field(min_length=1)

    def transforms_of(self, dataset: DatasetSpec, learner: LearnerSpec | None = None) -> tuple[str, ...]:
        """Return the transforms under which a learner meets a dataset; those of the dataset without a learner."""
        own = None if learner is None else learner.transforms
        in_turn = (own, dataset.transforms, self.transforms)
        return next(transforms for transforms in in_turn if transforms is not None)

    def __init__(self, **content: Any) -> None:
        check_numbers(content, _SOURCE.get())
        try:
            super().__init__(**content)
        except ValidationError as error:
            raise explain(error, _SOURCE.get(), Experiment, _SECTIONS) from None


_SECTIONS: dict[str, type[BaseModel | ProtocolSpec]] = {
    "datasets": DatasetSpec,
    "learners": LearnerSpec,
    "protocol": ProtocolSpec,
    "tuning": TuningSpec,
    "budget": Budget,
}
_SOURCE: ContextVar[str] = ContextVar("source", default="experiment")
"""What error messages call that which an experiment is made from: its file, if it has one."""


def load_experiment(path: str | Path) -> Experiment:
    """Read an experiment file.

    Raises
    ------
    ExperimentError
        If the file is missing, is no TOML or has a value that does not fit.
    UnknownNameError
        If a key or a transform does not exist; the message offers the nearest one.
    """
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExperimentError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a number of thousands of digits, 1,000 brackets
        raise ExperimentError(f"{path}: not a TOML file: {error}") from None
    content.setdefault("name", path.stem)
    experiment = parse_experiment(content, str(path))
    datasets = [
        spec if spec.path is None else spec.model_copy(update={"path": _relative_to(path.parent, spec.path)})
        for spec in experiment.datasets
    ]
    return experiment.model_copy(update={"datasets": tuple(datasets)})


def parse_experiment(content: dict[str, Any], source: str = "experiment") -> Experiment:
    """Check the content of an experiment; `source` names it in error messages.

    Examples
    --------
    >>> parse_experiment({"datasets": [{"path": "letter"}], "lerners": [{"name": "pa"}]})
    Traceback (most recent call last):
    ...
    olscale.errors.ExperimentError: experiment: unknown key 'lerners'; did you mean 'learners'? there are: ...
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
