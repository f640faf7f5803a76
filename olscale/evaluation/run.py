"""A run: one learner with its parameters on one stream; a hash identifies it.

A protocol has a stream per number of passes, fold, permutation and random projection.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any

from olscale.data.stream import Part, Shuffle
from olscale.data.transforms.pipeline import check_order, make_transform
from olscale.errors import ExperimentError
from olscale.evaluation.metrics.drift import detector_version
from olscale.evaluation.online_folds import OnlineFolds
from olscale.evaluation.protocol import (
    DEFAULT_REPEATS,
    PLAIN,
    ProtocolSpec,
    Scoring,
    ScoringOptions,
)
from olscale.models.saved_model import saved_model
from olscale.results.record import run_id


@dataclass(frozen=True, slots=True)
class StreamKey:
    """What runs must have in common to share a stream.

    These are dataset, transforms, order, part of the rows, passes and scoring. `projection` is the
    number of the random projection, or None. `transforms_version` is that of
    `olscale.data.transforms.scaling`. `chosen_columns` is the digest of the positions of columns
    that transforms choose, since the fingerprint says nothing of names; empty if none does.
    """

    dataset: str
    fingerprint: str
    transforms: tuple[str, ...]
    shuffle: Shuffle | None
    part: Part | None = None
    passes: int = 1
    projection: int | None = None
    scoring: Scoring = PLAIN
    transforms_version: int = 1
    chosen_columns: str = ""

    @property
    def entropy(self) -> tuple[int, ...]:
        """What distinguishes the random numbers of learners on this permutation; empty without."""
        if self.shuffle is None:
            return ()
        return (self.shuffle.seed, self.shuffle.index)


@dataclass(frozen=True)
class Run:
    """The definition of a run: everything that its result depends on, and nothing else.

    Attributes
    ----------
    stream : StreamKey
        Dataset, transforms and order.
    learner : str
        Registry name or ``module:Class``.
    version : int or str
        Version of the learner's numerical results.
    params : dict
        All parameters, in canonical form.
    fold : int, optional
        Number of the model, where several process the stream together (`Scoring.folds`).
    """

    stream: StreamKey
    learner: str
    version: int | str
    params: dict[str, Any] = field(hash=False)
    fold: int | None = None

    def definition(self) -> dict[str, Any]:
        """Return the definition as plain JSON values."""
        protocol = dict(_protocol(self.stream))
        if self.fold is not None:
            protocol["fold"] = self.fold
        dataset = {"name": self.stream.dataset, "fingerprint": self.stream.fingerprint}
        if self.stream.chosen_columns:
            dataset["chosen_columns"] = self.stream.chosen_columns
        return {
            "dataset": dataset,
            "transforms": list(self.stream.transforms),
            "learner": {
                "name": self.learner,
                "version": self.version,
                "params": self.params,
            },
            "protocol": protocol,
        }

    @cached_property
    def id(self) -> str:
        """Content hash of the definition, in 32 hexadecimal digits."""
        return run_id(self.definition())


@lru_cache
def _protocol(stream: StreamKey) -> dict[str, Any]:
    """Return the protocol in the definitions of all runs on a stream."""
    shuffle = stream.shuffle
    part = stream.part
    protocol: dict[str, Any] = {"order": "time"}
    if shuffle is not None:
        protocol = {
            "order": "permuted",
            "seed": shuffle.seed,
            "permutation": shuffle.index,
        }
    if part is not None:
        protocol |= {
            "split": part.kind,
            "split_seed": part.seed,
            "folds": part.folds,
            "fold": part.fold,
        }
        if part.share < 1.0:
            protocol["share"] = part.share
    if stream.passes > 1:
        protocol["passes"] = stream.passes
    if stream.projection is not None:
        protocol["projection"] = stream.projection
    if stream.transforms_version > 1:
        protocol["transforms_version"] = stream.transforms_version
    return protocol | stream.scoring.definition()


def stream_keys(
    dataset: str,
    fingerprint: str,
    transforms: tuple[str, ...],
    protocol: ProtocolSpec,
    seed: int,
    transforms_version: int = 1,
    chosen_columns: str = "",
) -> Iterator[StreamKey]:
    """Yield each stream of a dataset; every fold has its own permutations and random projections.

    Raises
    ------
    ExperimentError
        If options of the protocol conflict with each other or with the transforms, or need
        something that is not installed.
    """
    protocol.check()
    check_order(transforms)
    projected = any(make_transform(text).is_random for text in transforms)
    parts, repeats = _parts(protocol, seed)
    scoring = _scoring(protocol, seed)
    if protocol.projections is not None and not projected:
        raise ExperimentError(
            f"protocol.projections was {protocol.projections}, but no transform of {dataset} "
            "projects at random; add one, "
            "such as project:features=100, or leave projections out"
        )
    for passes in (
        (protocol.passes,) if isinstance(protocol.passes, int) else protocol.passes
    ):
        for number, part in enumerate(parts):
            # Each fold has its own range of permutations, so that no two folds share one.
            for index in range(number * repeats, (number + 1) * repeats):
                shuffle = None
                if protocol.order == "permuted":
                    shuffle = Shuffle(seed, index)
                projection = None
                if projected:
                    projection = index
                yield StreamKey(
                    dataset,
                    fingerprint,
                    transforms,
                    shuffle,
                    part,
                    passes,
                    projection,
                    scoring,
                    transforms_version,
                    chosen_columns,
                )


def _parts(protocol: ProtocolSpec, seed: int) -> tuple[list[Part | None], int]:
    """Return the parts of the training rows, None for all, and how often each is streamed."""
    parts: list[Part | None] = [None]
    folds = protocol.folds or DEFAULT_REPEATS
    if protocol.split != "given" and not protocol.online:
        parts = [Part(protocol.split, seed, fold, folds) for fold in range(folds)]
    if protocol.order == "time":
        return parts, protocol.projections or 1
    return parts, protocol.permutations or (
        DEFAULT_REPEATS if protocol.split == "given" else 1
    )


def _scoring(protocol: ProtocolSpec, seed: int) -> Scoring:
    """Return how a protocol scores the rows of its streams."""
    return Scoring(
        **{
            option.name: getattr(protocol, option.name)
            for option in fields(ScoringOptions)
        },
        drift_version=detector_version(protocol.drift) if protocol.drift else "",
        from_model=""
        if protocol.from_model is None
        else saved_model(protocol.from_model).digest,
        folds=OnlineFolds(protocol.split, seed, protocol.folds or DEFAULT_REPEATS)
        if protocol.online
        else None,
    )
