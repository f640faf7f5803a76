"""The options of a protocol, each declared once.

The field of an option below is its only declaration: its type and limits check ``[protocol]`` of an
experiment file and, with its help, define the flag of ``olscale evaluate``. An option of
`ScoringOptions` is part of a run's definition only if it is given: runs without it keep the ids
they had before it existed. `conflicts` yields options that exclude each other; what does not fit a
dataset is in `olscale.evaluation.protocol_fit`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from annotated_types import Ge
from pydantic import AfterValidator, BeforeValidator

from olscale.data.splits import HALVES
from olscale.errors import ExperimentError
from olscale.evaluation.batches import faults_of_batches
from olscale.evaluation.class_options import F1, costs_of, label_text, threshold_text
from olscale.measures import (
    ALONG_THE_STREAM,
    OF_CLASSES,
    UNWEIGHTED,
    check_measures,
)
from olscale.system.paths import text_of_path

if TYPE_CHECKING:
    from olscale.evaluation.online_folds import OnlineFolds


class RowsOrColumn:
    """Marks an option that is a number of rows, or the name of a column with one per row."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Check the value before pydantic converts a string to a number."""
        from pydantic_core.core_schema import no_info_before_validator_function

        return no_info_before_validator_function(self._check, handler(source))

    @staticmethod
    def _check(value: object) -> object:
        number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        if not number and not (isinstance(value, str) and value):
            raise ValueError(
                "expected a number of rows, 0 or more, or the name of a column that has it for "
                "each row"
            )
        return value


DEFAULT_REPEATS = 10


def option(
    default: object,
    description: str,
    metavar: str | None = None,
    flag: bool = True,
    **limits: float,
) -> Any:
    """Declare an option.

    Parameters
    ----------
    default : object
        Value when left out.
    description : str
        Help of the flag.
    metavar : str, optional
        Name of the value in the help.
    flag : bool
        Whether ``olscale evaluate`` has a flag for it; otherwise only files can set it.
    **limits : float
        ``ge``, ``gt`` or ``lt``: bounds of the value.
    """
    return field(
        default=default,
        metadata={
            "description": description,
            "metavar": metavar,
            "flag": flag,
            **limits,
        },
    )


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """Which rows are streamed in which order, and which rows test the final models."""

    order: Literal["time", "permuted"] = option(
        "permuted", "Order of the rows (default: permuted)."
    )
    permutations: int | None = option(
        None, "Number of permutations (default: 10).", "N", ge=1
    )
    projections: int | None = option(
        None,
        "Number of random projections, in time order (default: 1); permutation i has projection i.",
        "N",
        ge=1,
    )
    split: Literal[
        "given",
        "kfold",
        "stratified",
        "half",
        "stratified-half",
        "prequential-kfold",
        "prequential-split",
        "prequential-bootstrap",
    ] = option("given", "What is tested on (default: given, the test split).")
    folds: int | None = option(
        None, "Number of folds of --split (default: 10).", "K", ge=1
    )
    # A list stands for one protocol per number. More than 1 is a diagnostic: such a run is not
    # single-pass.
    passes: Annotated[int, Ge(1)] | tuple[Annotated[int, Ge(1)], ...] = option(
        1,
        "How often the rows are learned from.",
        flag=False,
    )
    # Not part of a run's definition: no result depends on them.
    keep_model: bool = option(False, "Keep the final models in the store.")
    allow_pickle: bool = option(
        False,
        "Kept models of estimators from elsewhere are pickles, which run code when read.",
    )
    # The definition has the model's digest, as `Scoring.from_model`.
    from_model: Annotated[str | None, BeforeValidator(text_of_path)] = option(
        None, "Streams begin with this saved model instead of a new one.", "MODEL"
    )

    @property
    def online(self) -> bool:
        """Whether the folds are models that process one stream together."""
        return self.split.startswith("prequential-")


@dataclass(frozen=True, kw_only=True)
class ScoringOptions:
    """What is measured along a stream, and when its labels arrive."""

    window: int | None = option(None, "Also the error over the last N rows.", "N", ge=1)
    fading: float | None = option(
        None,
        "Also the error with this fading factor, e.g. 0.999.",
        "ALPHA",
        gt=0.0,
        lt=1.0,
    )
    delay: Annotated[int | str, RowsOrColumn()] = option(
        0,
        "Labels arrive N rows after the prediction, or as a column says.",
        "N|COLUMN",
    )
    batch: int | None = option(
        None,
        "Test-then-train in batches: N rows are predicted, then learned.",
        "N",
        ge=2,
    )
    holdout_every: int | None = option(
        None,
        "Also the error on the test split every N rows.",
        "N",
        ge=1,
    )
    holdout_rows: int | None = option(
        None,
        "... on the next M rows, not learned from, instead.",
        "M",
        ge=1,
    )
    drift: Literal["adwin", "ddm", "page-hinkley"] | None = option(
        None, "Also the alarms of a drift detector."
    )
    measures: Annotated[tuple[str, ...], AfterValidator(check_measures)] = option(
        (),
        "Also these measures, with their curves, e.g. kappa,auc.",
        "NAME,...",
    )
    # Cost of a mistake on a row of each class, in the order of the classes; without them there is
    # no `cost`.
    costs: tuple[Annotated[float, Ge(0)], ...] = option(
        (),
        "Costs of mistakes by class.",
        flag=False,
    )
    positive: Annotated[str | None, BeforeValidator(label_text)] = option(
        None,
        "Class of precision, recall, f1, average_precision (default: second of two).",
        "LABEL",
    )
    threshold: Annotated[str | None, BeforeValidator(threshold_text)] = option(
        None,
        "Decide by probabilities: for the best F1, or the least cost, e.g. 0,1;10,0.",
        "f1|COSTS",
    )
    epsilon: float = option(
        0.1,
        "Residuals up to this cost nothing in epsilon_loss.",
        flag=False,
        ge=0.0,
    )
    burn_in: int = option(
        0, "The first N rows are learned from and not counted.", "N", ge=0
    )
    mcnemar: bool = option(
        False, "Keep which rows are predicted wrongly, for McNemar's test."
    )
    weights: str | None = option(
        None,
        "Rows count by this column: that of ingest --weights.",
        "COLUMN",
    )
    weighted_measures: bool = option(
        False, "Rows count by their weights in measures, too."
    )
    test_only: bool = option(
        False,
        "Only the final models are measured, on test rows; nothing along the stream.",
    )


@dataclass(frozen=True, kw_only=True)
class ProtocolSpec(ScoringOptions, StreamOptions):
    """How learners process a dataset; docs/protocols.md documents each option."""

    __pydantic_config__: ClassVar[Any] = {
        "extra": "forbid",
        "revalidate_instances": "always",
    }

    def check(self) -> None:
        """Refuse options that exclude each other.

        Raises
        ------
        ExperimentError
            States the first of the `conflicts`.
        """
        for line in conflicts(self):
            raise ExperimentError(f"protocol.{line}")

    def first(self, permutations: int | None) -> ProtocolSpec:
        """Return the protocol with at most its first `permutations`; None stands for all of them.

        Raises
        ------
        ExperimentError
            If it permutes no rows, or permutes each of several folds.

        Examples
        --------
        >>> ProtocolSpec().first(3).permutations, ProtocolSpec(permutations=2).first(3).permutations
        (3, 2)
        """
        if permutations is None:
            return self
        if self.order != "permuted" or self.split != "given":
            raise ExperimentError(
                f"permutations of a learner was {permutations}, where protocol.order is "
                f"{self.order!r} and protocol.split {self.split!r}; expected 'permuted' and "
                "'given': leave permutations out"
            )
        return replace(self, permutations=min(self.repeats(), permutations))

    def repeats(self) -> int:
        """Return how many permutations there are of rows that are permuted."""
        return self.permutations or DEFAULT_REPEATS


@dataclass(frozen=True, kw_only=True)
class Scoring(ScoringOptions):
    """Scoring options of a run's definition; without options, plain prequential evaluation.

    Attributes
    ----------
    delay_position : int, optional
        Index of the column of delays: names of columns are not part of a fingerprint.
    drift_version : str
        Package and version of the detector: other versions may raise other alarms.
    folds : OnlineFolds, optional
        How rows are distributed to several models that process the stream together.
    from_model : str
        SHA-256 of the model file that the stream begins with.

    Examples
    --------
    >>> Scoring(window=100).definition()
    {'window': 100}
    """

    delay_position: int | None = None
    drift_version: str = ""
    folds: OnlineFolds | None = None
    from_model: str = ""

    @property
    def interrupts(self) -> bool:
        """Whether the learner is needed between rows; its run shares no pass and has no shards."""
        return bool(self.delay or self.batch or self.holdout_every or self.folds)

    @property
    def has_late_labels(self) -> bool:
        """Whether further rows are predicted before the label of a row arrives."""
        return bool(self.delay or self.batch)

    @property
    def predicts_again(self) -> bool:
        """Whether the final model predicts the rows that it learned from."""
        return "train_error" in self.measures

    @property
    def delay_column(self) -> str | None:
        """Name of the column with the delay of each row; None if the delay is a number."""
        if isinstance(self.delay, str):
            return self.delay
        return None

    def rows_to_measurement(self, row: int) -> int | None:
        """Return the rows from number `row` on before the next test error; None if none is due."""
        if self.holdout_every is None or self.holdout_rows:
            return None
        return (
            self.holdout_every
            # Within the burn-in, its remaining rows come before the first period.
            - min(0, row - self.burn_in)
            - max(0, row - self.burn_in) % self.holdout_every
        )

    def definition(self) -> dict[str, Any]:
        """Return the options in use as plain JSON values."""
        return dict(self._definition)

    @cached_property
    def _definition(self) -> dict[str, Any]:
        # Unset options stay out, so that ids of runs without them never change.
        names = [
            declared.name
            for declared in fields(self)
            if getattr(self, declared.name) != declared.default
        ]
        used = {name: getattr(self, name) for name in names if name != "folds"}
        return used | (self.folds.definition() if self.folds else {})


def weighing_of(options: ScoringOptions) -> dict[str, Any]:
    """Return the options that define how rows count, if they are set.

    Examples
    --------
    >>> weighing_of(Scoring(weights="w")), weighing_of(Scoring())
    ({'weights': 'w'}, {})
    """
    weighing: dict[str, Any] = {}
    if options.weights is not None:
        weighing["weights"] = options.weights
    if options.weighted_measures:
        weighing["weighted_measures"] = True
    return weighing


PLAIN = Scoring()
"""Prequential evaluation, and a test of the final model."""


def conflicts(p: ProtocolSpec) -> Iterator[str]:
    """Yield the conflicts between options of a protocol."""
    if p.order == "time" and p.permutations is not None:
        yield "permutations needs protocol.order = 'permuted'; it was 'time'"
    if p.order == "permuted" and p.projections is not None:
        yield "projections needs protocol.order = 'time'; permutation i has projection i"
    if p.split == "given" and p.folds is not None:
        yield "folds needs a protocol.split other than 'given'"
    # A single random half is a split; a single fold would leave nothing to train on.
    if p.split not in ("given", *HALVES) and p.folds == 1:
        yield f"folds was 1, expected at least 2 for split = {p.split!r}"
    if p.holdout_rows is not None and p.holdout_every is None:
        yield "holdout_rows needs protocol.holdout_every: after how many rows they are held out"
    if p.online and p.holdout_every is not None:
        yield f"holdout_every does not go with split = {p.split!r}; leave one of them out"
    if p.passes not in (1, (1,)) and (p.online or p.holdout_rows is not None):
        rival = "holdout_rows"
        if p.online:
            rival = f"split = {p.split!r}"
        yield f"passes does not go with {rival}: a later pass would test on rows learned before"
    if p.batch is not None:
        yield from faults_of_batches(
            p.batch,
            delay=p.delay,
            holdout_every=p.holdout_every,
            holdout_rows=p.holdout_rows,
            burn_in=p.burn_in,
            measures=p.measures,
            is_one_pass=p.passes in (1, (1,)),
        )
    if p.from_model is not None and p.online:
        yield f"from_model does not go with split = {p.split!r}: one model cannot be several"
    if p.allow_pickle and not (p.keep_model or p.from_model):
        yield "allow_pickle needs protocol.keep_model: nothing else is written or read as a pickle"
    if "cost" in p.measures and not (p.costs or costs_of(p.threshold)):
        yield (
            "measures has 'cost', which needs protocol.costs: what a mistake costs, a number "
            "for each class in order; or a threshold of costs"
        )
    if p.costs and costs_of(p.threshold):
        yield "costs does not go with a threshold of costs, which says what each mistake costs"
    if p.test_only:
        along = (
            "window",
            "fading",
            "delay",
            "batch",
            "holdout_every",
            "drift",
            "burn_in",
        )
        conflicting = [name for name in along if getattr(p, name) not in (None, 0)]
        conflicting += [
            f"measures = {name!r}" for name in p.measures if name in ALONG_THE_STREAM
        ]
        if p.online:
            conflicting.append(f"split = {p.split!r}")
        yield from (
            f"test_only does not go with {name}, which needs predictions along the stream"
            for name in conflicting
        )
    if "train_error" in p.measures and (
        p.online or p.delay or p.holdout_rows is not None
    ):
        yield (
            "measures has 'train_error', which needs a model that learns from every row: no "
            "delay, holdout_rows, folds"
        )
    if p.weighted_measures and p.weights is None:
        yield "weighted_measures needs protocol.weights: the column by which rows count"
    if p.weighted_measures:
        conflicting = [name for name in ("drift", "mcnemar") if getattr(p, name)]
        conflicting += [
            f"measures = {name!r}" for name in p.measures if name in UNWEIGHTED
        ]
        yield from (
            f"weighted_measures does not go with {name}, where all rows count alike"
            for name in conflicting
        )
    # An unused option would change the ids of runs for nothing.
    if (
        p.positive is not None
        and p.threshold != F1
        and not set(OF_CLASSES) & set(p.measures)
    ):
        yield (
            f"positive was {p.positive!r}, and nothing asks for that class; expected one of "
            f"{', '.join(OF_CLASSES)} in measures, or threshold = 'f1'"
        )
    if p.epsilon != 0.1 and "epsilon_loss" not in p.measures:
        yield "epsilon needs 'epsilon_loss' in protocol.measures"
