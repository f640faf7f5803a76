"""A run: one learner with its parameters on one dataset in one order; a hash identifies it."""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from olscale.data.stream import Part, Shuffle
from olscale.evaluation.protocol import PLAIN, Scoring
from olscale.results.record import run_id


@dataclass(frozen=True, slots=True)
class StreamKey:
    """What runs must have in common to share a stream.

    These are dataset, transforms, order, part of the rows, passes and scoring. `projection` is the
    number of the random projection, or None. `transforms_version` is that of
    `olscale.data.transforms.scaling`.
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
        return {
            "dataset": {"name": self.stream.dataset, "fingerprint": self.stream.fingerprint},
            "transforms": list(self.stream.transforms),
            "learner": {"name": self.learner, "version": self.version, "params": self.params},
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
        protocol = {"order": "permuted", "seed": shuffle.seed, "permutation": shuffle.index}
    if part is not None:
        protocol |= {
            "split": part.kind,
            "split_seed": part.seed,
            "folds": part.folds,
            "fold": part.fold,
        }
    if stream.passes > 1:
        protocol["passes"] = stream.passes
    if stream.projection is not None:
        protocol["projection"] = stream.projection
    if stream.transforms_version > 1:
        protocol["transforms_version"] = stream.transforms_version
    return protocol | stream.scoring.definition()
