"""The streams of a protocol: one per number of passes, fold, permutation and random projection."""

from collections.abc import Iterator
from dataclasses import fields

from olscale.data.stream import Part, Shuffle
from olscale.data.transforms.pipeline import check_order, make_transform
from olscale.errors import ExperimentError
from olscale.evaluation.from_model import saved_model
from olscale.evaluation.metrics.drift import detector_version
from olscale.evaluation.online_folds import OnlineFolds
from olscale.evaluation.protocol import DEFAULT_REPEATS, ProtocolSpec, Scoring, ScoringOptions
from olscale.evaluation.run import StreamKey


def stream_keys(
    dataset: str, fingerprint: str, transforms: tuple[str, ...], protocol: ProtocolSpec, seed: int
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
    for passes in (protocol.passes,) if isinstance(protocol.passes, int) else protocol.passes:
        for number, part in enumerate(parts):
            # Each fold has its own range of permutations, so that no two folds share one.
            for index in range(number * repeats, (number + 1) * repeats):
                shuffle = Shuffle(seed, index) if protocol.order == "permuted" else None
                projection = index if projected else None
                yield StreamKey(
                    dataset, fingerprint, transforms, shuffle, part, passes, projection, scoring
                )


def _parts(protocol: ProtocolSpec, seed: int) -> tuple[list[Part | None], int]:
    """Return the parts of the training rows, None for all, and how often each is streamed."""
    parts: list[Part | None] = [None]
    folds = protocol.folds or DEFAULT_REPEATS
    if protocol.split != "given" and not protocol.online:
        parts = [Part(protocol.split, seed, fold, folds) for fold in range(folds)]
    if protocol.order == "time":
        return parts, protocol.projections or 1
    return parts, protocol.permutations or (DEFAULT_REPEATS if protocol.split == "given" else 1)


def _scoring(protocol: ProtocolSpec, seed: int) -> Scoring:
    """Return how a protocol scores the rows of its streams."""
    return Scoring(
        **{option.name: getattr(protocol, option.name) for option in fields(ScoringOptions)},
        drift_version=detector_version(protocol.drift) if protocol.drift else "",
        from_model="" if protocol.from_model is None else saved_model(protocol.from_model).digest,
        folds=OnlineFolds(protocol.split, seed, protocol.folds or DEFAULT_REPEATS)
        if protocol.online
        else None,
    )
