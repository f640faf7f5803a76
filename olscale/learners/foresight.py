"""What sees rows before their turn, and references, which predict late: told from the definition of a run.

Names and parameters tell it. No learner and no transform of ours is imported, so that reading a
store stays quick, and figures of an old store say what they rest on as those of a new one do.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from olscale.named_parameters import parse_named
from olscale.registry import installed

REFERENCES = {
    "svm": "bpas or fogd",
    "svr": "krls or olk-r",
    "ls-svm": "krls or olk-r",
    "one-class-svm": "norma-n or olk-n",
    "pvm": "ospvm",
}
"""Batch learners, which are trained anew as rows double in number, and one-pass learners of their kind."""

FIRST_MACHINE = 64
"""Rows that a reference learns from before it is trained for the first time along a stream; it predicts nothing before."""

_TRANSFORMS = {
    "standardize": "take running-standardize",
    "minmax": "take running-standardize",
    "svd": "take ipca",
    "nystroem": "take rff",
}
"""Transforms of ours that are always fitted on all rows that train, and what to do instead."""

_GIVE_WIDTH = "give gamma a number"


class Foresight(NamedTuple):
    """Something that sees rows of the future, without labels but for tuning and passes.

    Parameters
    ----------
    name : str
        What tables call it.
    cure : str
        What to do instead.
    """

    name: str
    cure: str


def transforms_ahead(transforms: Iterable[str]) -> list[Foresight]:
    """Return those of some transforms, with their parameters, that are fitted ahead of the stream.

    Examples
    --------
    >>> [one.name for one in transforms_ahead(["standardize", "bias", "rff:features=8,gamma=median"])]
    ['standardize', 'rff gamma=median']
    """
    return [one for text in transforms for one in _transform_ahead(text)]


def _transform_ahead(text: str) -> Iterator[Foresight]:
    name, pairs = parse_named(text)
    if name in _TRANSFORMS:
        yield Foresight(name, _TRANSFORMS[name])
    elif ("gamma", "median") in pairs:
        yield Foresight(f"{name} gamma=median", _GIVE_WIDTH)
    elif any(point.name == name for point in installed("olscale.transforms")) and _is_fitted(name):
        yield Foresight(name, "take a transform that learns as rows come")


def _is_fitted(name: str) -> bool:
    """Return whether a transform of another package is fitted; one that is not here any more cannot tell."""
    from olscale.data.transforms.base import Transform
    from olscale.data.transforms.pipeline import TRANSFORMS
    from olscale.errors import OlscaleError

    try:
        kind = TRANSFORMS.load(name)
    except OlscaleError:
        return False
    return not kind.streams and kind.fit is not Transform.fit


def learner_ahead(name: str, params: Mapping[str, Any], prepares: bool = False) -> list[Foresight]:
    """Return what lets a learner see rows ahead of the stream: at most one thing.

    Parameters
    ----------
    name : str
    params : mapping of str to object
        All its parameters.
    prepares : bool
        Whether it is known to have been shown rows: what tells it of a learner from elsewhere.

    Examples
    --------
    >>> learner_ahead("rff-rls", {"gamma": "median"}), learner_ahead("rff-rls", {"gamma": 0.5})
    ([Foresight(name='rff-rls gamma=median', cure='give gamma a number')], [])
    """
    if name == "svd-oselm":
        return [Foresight(name, "take oselm")]
    if ":" not in name and params.get("gamma") == "median":
        return [Foresight(f"{name} gamma=median", _GIVE_WIDTH)]
    if ":" not in name and params.get("prototypes") == "offline":
        return [Foresight(f"{name} prototypes=offline", "take prototypes=sequential")]
    return [Foresight(name, "take a learner that is shown no rows ahead")] if prepares else []


TUNED = Foresight("tuning", "give params in place of tune")
"""Parameters were chosen by errors on rows that come along the stream: labels, too, were seen."""


def passes_ahead(passes: int) -> list[Foresight]:
    """Return that rows of later passes were learned from before they are predicted.

    Examples
    --------
    >>> passes_ahead(1), passes_ahead(2)
    ([], [Foresight(name='2 passes', cure='leave passes at 1')])
    """
    return [Foresight(f"{passes} passes", "leave passes at 1")] if passes > 1 else []


def first_predicted(learner: str, protocol: Mapping[str, Any]) -> int:
    """Return the row, counted from 0, that a learner first predicts by others: 0 but of references.

    A row that is scored apart, as its label comes late or another model learns from it, a reference
    predicts by a machine of all rows so far: by the first, as other learners do.

    Examples
    --------
    >>> first_predicted("pa1", {}), first_predicted("svm", {}), first_predicted("svm", {"delay": 10})
    (0, 64, 0)
    """
    apart = bool(protocol.get("delay")) or str(protocol.get("split", "")).startswith("prequential-")
    return FIRST_MACHINE if learner in REFERENCES and not apart else 0


def is_counted_in_time(learner: str, protocol: Mapping[str, Any]) -> bool:
    """Return whether a protocol counts no row before the learner predicts by others.

    Examples
    --------
    >>> [is_counted_in_time("svm", {"burn_in": rows}) for rows in (0, 63, 64)]
    [False, False, True]
    """
    return int(protocol.get("burn_in", 0)) >= first_predicted(learner, protocol)
