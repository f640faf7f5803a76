"""The tables of an experiment's file: a data set, a learner, how parameters are tuned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    ValidationError,
    field_validator,
    model_validator,
)

from olscale.data.catalogue.entries import seeded_name
from olscale.data.transforms.on_columns import choice_text
from olscale.data.transforms.pipeline import canonical_transform
from olscale.errors import ParameterError, UnknownNameError
from olscale.evaluation.protocol import ProtocolSpec
from olscale.learners.registry import registered_name
from olscale.measures import MEASURES, OF_CLASSES, askable, base_name
from olscale.system.paths import path_text, text_of_path
from olscale.task import Task

EVERY = "*"
"""Stands for all registered learners in place of a learner's name."""

_LONGEST_LABEL = 200

_BUDGET = 64
"""Candidates that tuning draws where the experiment does not say how many."""


def _readable(label: str | None) -> str | None:
    if label is not None and (
        len(label) > _LONGEST_LABEL or (label and not label.strip())
    ):
        raise ValueError(
            f"label was {label[:40]!r}, expected up to {_LONGEST_LABEL} characters that are seen "
            "in a table"
        )
    return label


Label = Annotated[str | None, AfterValidator(_readable)]
"""The name of something in tables and figures."""


def _text_of_table(value: object) -> object:
    """Return the text of a transform that is written as a table with its columns."""
    if not isinstance(value, Mapping):
        return value
    name = value.get("name")
    columns = value.get("columns")
    is_known = set(value) == {"name", "columns"} and isinstance(name, str)
    if not is_known or not isinstance(columns, list | tuple) or not columns:
        raise ParameterError(
            f"transform was {dict(value)}, expected a table like "
            '{ name = "standardize", columns = ["amount", "age"] }'
        )
    if "@" in str(name) or not all(isinstance(column, str) for column in columns):
        raise ParameterError(
            f"transform was {dict(value)}, expected a name without @ and the names of columns"
        )
    return choice_text(str(name), columns)


Transforms = tuple[
    Annotated[
        str, BeforeValidator(_text_of_table), AfterValidator(canonical_transform)
    ],
    ...,
]
"""Transforms in canonical form: ``project:100`` and ``project:features=100`` are one run.

One of some columns may be a table: ``{ name = "standardize", columns = ["a+b"] }``.
"""


class Section(BaseModel):
    """A table of the file: it is immutable and refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DatasetSpec(Section):
    """A dataset of an experiment.

    Attributes
    ----------
    path : str, optional
        Directory or URL of the dataset.
    name : str, optional
        Name of a data set in the catalogue, in place of `path`.
    transforms : tuple of str, optional
        Transforms of this dataset in place of the experiment's.
    protocol : ProtocolSpec, optional
        Protocol of this dataset in place of the experiment's.
    label : str, optional
        Name in tables and figures; defaults to the dataset's name.
    seed : int, optional
        Seed of a generated set of the catalogue, in place of its own; the dataset's name then
        includes it. In a file a list stands for one dataset per seed.
    rows : int, optional
        Most rows of each split; a larger dataset is sampled, and its name then includes this
        number.
    test_share : float, optional
        Share of the rows that are drawn to be the test split of a dataset without one; its name
        then includes this number.
    optional : bool
        Whether to continue without the dataset if it is unavailable.
    """

    path: Annotated[str | None, BeforeValidator(text_of_path)] = None
    name: str | None = None
    seed: int | None = Field(default=None, ge=0)
    rows: int | None = Field(default=None, ge=1)
    test_share: float | None = Field(default=None, gt=0.0, lt=1.0)
    transforms: Transforms | None = None
    protocol: ProtocolSpec | None = None
    label: Label = None
    optional: bool = False

    @model_validator(mode="after")
    def _path_or_name(self) -> DatasetSpec:
        if (self.path is None) == (self.name is None):
            raise ValueError(
                "expected path (of a dataset) or name (of a set in the catalogue), and not both"
            )
        path_text(
            self.name if self.path is None else self.path,
            "name" if self.path is None else "path",
        )
        if self.seed is not None and self.name is None:
            raise ValueError(
                f"seed was {self.seed}, but a path is of rows that are there already; expected "
                "the name of a generated set in the catalogue, or no seed"
            )
        return self

    @property
    def catalogue_name(self) -> str | None:
        """Name of a data set of the catalogue in stores and in the data home."""
        if self.name is None:
            return None
        return seeded_name(self.name, self.seed)

    def names(self) -> set[str]:
        """Return the names that the dataset may have in stores, with and without its limit of rows.

        Examples
        --------
        >>> sorted(DatasetSpec(name="kdd99", rows=2000, test_share=0.5).names())
        ['kdd99-2000-tested-0.5', 'kdd99-tested-0.5']
        """
        name = str(self.catalogue_name or self.path).rstrip("/").rpartition("/")[2]
        names = {name}
        # Only larger datasets are sampled, and how large one is shows when it is opened.
        if self.rows is not None:
            names |= {f"{name}-{self.rows}"}
        if self.test_share is not None:
            names = {f"{name}-tested-{self.test_share:g}" for name in names}
        return names


class Range(Section):
    """An interval that random search and halving draw a parameter from.

    Attributes
    ----------
    low, high : int or float
        Its ends; whole numbers are drawn where both are whole.
    log : bool
        Whether the logarithm is uniform, as suits steps and penalties.
    """

    low: StrictInt | StrictFloat
    high: StrictInt | StrictFloat
    log: bool = False

    @model_validator(mode="after")
    def _is_an_interval(self) -> Range:
        if not self.low < self.high or (self.log and self.low <= 0):
            least = "0 < low < high" if self.log else "low < high"
            raise ValueError(
                f"expected {least}, got low = {self.low} and high = {self.high}"
            )
        return self

    @property
    def whole(self) -> bool:
        """Whether whole numbers are drawn."""
        return isinstance(self.low, int) and isinstance(self.high, int)


class LearnerSpec(Section):
    """A learner of an experiment.

    Attributes
    ----------
    name : str
        Registry name or ``module:Class``; ``*`` for every registered learner, each on the datasets
        of its task.
    without : tuple of str
        Registered learners that ``*`` does not stand for.
    params : dict
        Parameters; a list of values stands for one learner per value.
    tune : dict of str to list or Range
        Parameters with candidate values, or with the range that they are drawn from; tuning chooses
        one combination for each dataset.
    datasets : tuple of str, optional
        Names or labels of the only datasets that it runs on; all by default.
    transforms : tuple of str, optional
        Transforms of its rows, in place of the datasets' own.
    permutations : int, optional
        Only so many of the protocol's permutations, the first ones; all by default, and where
        the protocol has fewer.
    label : str, optional
        Name in tables and figures, including the published ones; defaults to the learner's name.
    optional : bool
        Whether to continue without the learner if this version has none of that name.
    """

    name: str
    without: tuple[str, ...] = ()
    params: dict[str, Any] = Field(default_factory=dict)
    tune: dict[str, Annotated[list[Any], Field(min_length=1)] | Range] = Field(
        default_factory=dict
    )
    datasets: tuple[str, ...] | None = None
    transforms: Transforms | None = None
    permutations: int | None = Field(default=None, ge=1)
    label: Label = None
    optional: bool = False

    @field_validator("name")
    @classmethod
    def _registered(cls, name: str) -> str:
        return registered_name(name)

    @field_validator("without")
    @classmethod
    def _all_registered(cls, without: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(registered_name, without))

    @field_validator("tune", mode="before")
    @classmethod
    def _ranges(cls, tune: Any) -> Any:
        """Read tables as ranges; left to the union, a fault would be called that of a list."""
        if not isinstance(tune, Mapping):
            return tune
        return {
            name: _range(name, values) if isinstance(values, Mapping) else values
            for name, values in tune.items()
        }

    @model_validator(mode="after")
    def _given_or_tuned(self) -> LearnerSpec:
        clashing = sorted(self.tune.keys() & self.params.keys())
        if clashing:
            raise ValueError(
                f"{clashing[0]} is both in params and in tune; expected it in one of them"
            )
        if self.name == EVERY and (self.params or self.tune or self.label):
            raise ValueError(
                "name = '*' is every learner at its defaults; expected no params, tune or label "
                "beside it"
            )
        if self.without and self.name != EVERY:
            raise ValueError(
                f"without is for name = '*', the name is {self.name!r}; leave it out"
            )
        return self

    def stands_for(self, names: Sequence[str]) -> list[str]:
        """Return the learners of `names`, all registered ones of a kind, that ``*`` stands for."""
        return [name for name in names if name not in self.without]

    def meets(self, dataset: str) -> bool:
        """Return whether this learner is for the dataset of that name."""
        return self.datasets is None or dataset in self.datasets

    def settings(self) -> list[dict[str, Any]]:
        """Return one dictionary of parameters per combination of listed values.

        Examples
        --------
        >>> LearnerSpec(name="pa1", params={"C": [0.5, 1.0]}).settings()
        [{'C': 0.5}, {'C': 1.0}]
        """
        values = self.params.items()
        return _combinations(
            {
                name: value if isinstance(value, list) else [value]
                for name, value in values
            }
        )

    def points(self) -> list[dict[str, Any]]:
        """Return one dictionary of parameters per combination of the values to choose from.

        Examples
        --------
        >>> LearnerSpec(name="scw1", tune={"C": [0.5, 1.0], "eta": [0.9]}).points()
        [{'C': 0.5, 'eta': 0.9}, {'C': 1.0, 'eta': 0.9}]
        """
        return _combinations(
            {
                name: values if isinstance(values, list) else [values.low, values.high]
                for name, values in self.tune.items()
            }
        )

    def first_point(self) -> dict[str, Any]:
        """Return some combination of the values to choose from.

        Examples
        --------
        >>> LearnerSpec(name="scw1", tune={"C": {"low": 0.5, "high": 2.0}}).first_point()
        {'C': 0.5}
        """
        return {
            name: values[0] if isinstance(values, list) else values.low
            for name, values in self.tune.items()
        }


def _range(name: str, values: Mapping[str, Any]) -> Range:
    try:
        return Range(**values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = "".join(f"{part}: " for part in first["loc"])
        fault = first["msg"].removeprefix("Value error, ")
        raise ValueError(
            f"{name}: {key}{fault}; a range is {{ low = 0.001, high = 10.0, log = true }}"
        ) from None


def _combinations(values: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [
        dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())
    ]


def _tuning_metric(name: str) -> str:
    # Measures of one class would need its label, and macro_f1 is there for all of them.
    left_out = ("cost", "confusion", "train_error", *OF_CLASSES)
    bases = [base for base in askable() if base not in left_out]
    metrics = [
        "test_error",
        "cumulative_error",
        *bases,
        *(f"test_{base}" for base in bases),
    ]
    if name not in metrics:
        raise ValueError(str(UnknownNameError("metric", name, metrics)))
    return name


class TuningSpec(Section):
    """How parameters under `tune` are chosen: by the mean over held-out parts of the training rows.

    Attributes
    ----------
    split : {"half", "stratified-half", "kfold", "stratified"}
        How rows are held out, as in `ProtocolSpec`; random halves follow the LOL paper.
    folds : int
        Number of times that rows are held out.
    metric : str, optional
        Metric whose mean decides: `cumulative_error`, `test_error` or any other measure with a
        best direction, on the rows that train or, with the prefix ``test_``, of the final model
        on the held-out rows. Defaults to `test_error`, or `test_rmse` in a regression.
    search : {"grid", "random", "halving"}
        Every combination, or as many as `budget` at random; with ``"halving"`` these learn the
        first rows of their streams, and the better half proceeds to twice as many, up to all.
    budget : int, optional
        Candidates that ``"random"`` and ``"halving"`` draw; 64 by default.
    """

    search: Literal["grid", "random", "halving"] = "grid"
    budget: int | None = Field(default=None, ge=1)
    split: Literal["kfold", "stratified", "half", "stratified-half"] = "half"
    folds: int = Field(default=10, ge=1)
    metric: Annotated[str, AfterValidator(_tuning_metric)] | None = None

    @model_validator(mode="after")
    def _grids_have_no_budget(self) -> TuningSpec:
        if self.search == "grid" and self.budget is not None:
            raise ValueError(
                f"budget was {self.budget}, but a grid has all its candidates; leave it out, or "
                "add search = 'random' or 'halving'"
            )
        return self

    @property
    def most_candidates(self) -> int:
        """Candidates that are drawn at most."""
        return self.budget or _BUDGET

    def metric_for(self, task: Task) -> str:
        """Return the metric by which candidates are compared."""
        return self.metric or ("test_rmse" if task == "regression" else "test_error")

    def protocol(
        self,
        task: Task,
        weighing: Mapping[str, Any] = MappingProxyType({}),
    ) -> ProtocolSpec:
        """Return the protocol of tuning runs, whose rows count as `weighing` says."""
        base = base_name(self.metric_for(task))
        # Default measures are in every run without being asked for.
        by_itself = base not in askable() or task in MEASURES[base].default
        return ProtocolSpec(
            split=self.split,
            folds=self.folds,
            measures=() if by_itself else (base,),
            **weighing,
        )

    def definition(
        self,
        seed: int,
        task: Task,
        weighing: Mapping[str, Any] = MappingProxyType({}),
    ) -> dict[str, Any]:
        """Return the comparison of candidates as plain JSON values."""
        # A grid is not named, so that the ids of its choices stay what they were.
        search = {}
        if self.search != "grid":
            search = {"search": self.search, "budget": self.most_candidates}
        return {
            "split": self.split,
            "folds": self.folds,
            "seed": seed,
            "metric": self.metric_for(task),
            **search,
            **weighing,
        }
