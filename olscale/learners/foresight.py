"""What sees rows before their turn, and which references predict late, by definition of a run.

Names and parameters decide it. No learner or transform is imported, so that reading a store stays
quick and figures of old and new stores are judged alike.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from olscale.named_parameters import parse_named
from olscale.registry import installed

REFERENCES = {
    "svm": "bpas or fogd",
    "batch-svm": "replay-svm",
    "batch-boosting": "hoeffding-tree",
    "batch-logistic": "logistic or arow",
    "svr": "krls or olk-r",
    "ls-svm": "krls or olk-r",
    "one-class-svm": "norma-n or olk-n",
    "pvm": "ospvm",
}
"""Batch learners, retrained as the number of rows doubles, and one-pass learners of their kind."""

FIRST_MACHINE = 64
"""Rows that a reference needs before its first training; it predicts nothing before."""

_TRANSFORMS = {
    "standardize": "take running-standardize",
    "minmax": "take running-standardize",
    "svd": "take ipca",
    "nystroem": "take rff",
}
"""Transforms of this package that are always fitted on all training rows, and the alternatives."""

_GIVE_WIDTH = "give gamma a number"


class Foresight(NamedTuple):
    """Something that sees rows of the future, without their labels except in tuning and passes.

    Parameters
    ----------
    name : str
        Its name in tables.
    cure : str
        What to do instead.
    """

    name: str
    cure: str


def transforms_ahead(transforms: Iterable[str]) -> list[Foresight]:
    """Return which transforms, with their parameters, are fitted ahead of the stream.

    Examples
    --------
    >>> transforms = ["standardize@age", "bias", "rff:features=8,gamma=median"]
    >>> [one.name for one in transforms_ahead(transforms)]
    ['standardize', 'rff gamma=median']
    """
    return [foresight for text in transforms for foresight in _transform_ahead(text)]


def ahead_text(names: Iterable[str]) -> str:
    """Return what things of these names did with rows before they were predicted.

    Examples
    --------
    >>> ahead_text(["standardize", "tuning"])
    'standardize was fitted on all training rows, tuning saw rows before they were predicted'
    """
    unique = list(dict.fromkeys(names))
    fitted = [name for name in unique if _is_of_transform(name)]
    others = [name for name in unique if name not in fitted]
    parts = []
    if fitted:
        verb = "was" if len(fitted) == 1 else "were"
        parts.append(f"{', '.join(fitted)} {verb} fitted on all training rows")
    if others:
        parts.append(f"{', '.join(others)} saw rows before they were predicted")
    return ", ".join(parts)


def _is_of_transform(name: str) -> bool:
    kind = name.partition(" ")[0]
    # Learners with a width of their own have names such as rff-rls.
    return kind in (*_TRANSFORMS, "rff") or any(
        point.name == kind for point in installed("olscale.transforms")
    )


def _transform_ahead(text: str) -> Iterator[Foresight]:
    # What a transform does is the same for some columns as for all.
    name, pairs = parse_named(text.partition("@")[0])
    if name in _TRANSFORMS:
        yield Foresight(name, _TRANSFORMS[name])
    elif ("gamma", "median") in pairs:
        yield Foresight(f"{name} gamma=median", _GIVE_WIDTH)
    elif any(
        point.name == name for point in installed("olscale.transforms")
    ) and _is_fitted(name):
        yield Foresight(name, "take a transform that learns as rows come")


def _is_fitted(name: str) -> bool:
    """Return whether a transform of another package is fitted; False if it is not installed."""
    from olscale.data.transforms.base import Transform
    from olscale.data.transforms.pipeline import TRANSFORMS
    from olscale.errors import OlscaleError

    try:
        kind = TRANSFORMS.load(name)
    except OlscaleError:
        return False
    return not kind.streams and kind.fit is not Transform.fit


def learner_ahead(
    name: str, params: Mapping[str, Any], prepares: bool = False
) -> list[Foresight]:
    """Return what lets a learner see rows ahead of the stream: at most one item.

    Parameters
    ----------
    name : str
    params : mapping of str to object
        All its parameters.
    prepares : bool
        Whether the learner is known to have seen rows: decides for external learners.

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
    if prepares:
        return [Foresight(name, "take a learner that is shown no rows ahead")]
    return []


TUNED = Foresight("tuning", "give params in place of tune")
"""Parameters were chosen by errors on rows of the stream: their labels were seen too."""


def passes_ahead(passes: int) -> list[Foresight]:
    """Return that rows of later passes are learned before they are predicted.

    Examples
    --------
    >>> passes_ahead(1), passes_ahead(2)
    ([], [Foresight(name='2 passes', cure='leave passes at 1')])
    """
    if passes > 1:
        return [Foresight(f"{passes} passes", "leave passes at 1")]
    return []


def first_predicted(learner: str, protocol: Mapping[str, Any]) -> int:
    """Return the first row, from 0, that a learner predicts from others: 0 but for references.

    Where rows are scored separately, as labels come late or another model learns, a reference
    predicts by a machine of all rows so far: from the first row, as other learners do.

    Examples
    --------
    >>> first_predicted("pa1", {}), first_predicted("svm", {})
    (0, 64)
    >>> first_predicted("svm", {"delay": 10})
    0
    """
    comes_late = bool(protocol.get("delay") or protocol.get("batch"))
    is_tested_apart = comes_late or str(protocol.get("split", "")).startswith(
        "prequential-"
    )
    if learner in REFERENCES and not is_tested_apart:
        return FIRST_MACHINE
    return 0


def is_counted_in_time(learner: str, protocol: Mapping[str, Any]) -> bool:
    """Return whether a protocol counts rows only from the first that the learner can predict.

    Examples
    --------
    >>> [is_counted_in_time("svm", {"burn_in": rows}) for rows in (0, 63, 64)]
    [False, False, True]
    """
    return int(protocol.get("burn_in", 0)) >= first_predicted(learner, protocol)
