"""Alternative values of a learner's parameters, for checks of what depends on them."""

from collections.abc import Iterator, Sequence
from typing import Any

from olscale.errors import ParameterError
from olscale.learners.contract.learner import Learner
from olscale.learners.contract.parameters import Choice, Domain, Flag, Maybe, Whole

_NUMBERS = (0.3, 0.95, 3.0)
_WHOLE_NUMBERS = (1, 2, 5, 60)
_BELOW_OTHERS = 0.02
"""A number that also fits below the defaults of others, as a lower bound has to."""


def other_values(learner: Learner) -> Iterator[tuple[str, Any]]:
    """Yield each parameter of `learner` with a few alternative values, one after another.

    Values are in the parameter's domain, but may conflict with other parameters.
    """
    for name, value in learner.get_params(deep=False).items():
        domain = learner.domains[name]
        for candidate in _candidates(domain):
            if candidate != value and _is_in(domain, name, candidate):
                yield name, candidate


def goes_together(learner: Learner) -> bool:
    """Return whether `learner` accepts its parameters together, as bounds in the right order."""
    try:
        learner.resolved_params()
    except ParameterError:
        return False
    return True


def two_settings(
    learner: type[Learner],
    params: dict[str, Any],
    varied: Sequence[str],
    numbers: tuple[float, float],
) -> list[dict[str, Any]]:
    """Return two settings, in which the parameters `varied` have one number and the other.

    Where a learner refuses one of the numbers, a small one takes its place: a single setting has
    nothing to be compared with.

    Raises
    ------
    AssertionError
        If the learner accepts fewer than two of them.

    Examples
    --------
    >>> from olscale.learners.kernel.olk import OLKN
    >>> two_settings(OLKN, {}, ["v"], (0.1, 0.9))
    [{'v': 0.1}, {'v': 0.02}]
    """
    settings = [
        {**params, **dict.fromkeys(varied, number)}
        for number in (*numbers, _BELOW_OTHERS)
    ]
    accepted = [setting for setting in settings if goes_together(learner(**setting))]
    assert len(accepted) >= 2, (
        f"{learner.__name__} accepts {len(accepted)} of {settings}, expected two settings to "
        "compare"
    )
    return accepted[:2]


def _candidates(domain: Domain) -> tuple[Any, ...]:
    if isinstance(domain, Maybe):
        return (None, *_candidates(domain.domain))
    if isinstance(domain, Choice):
        return domain.words
    if isinstance(domain, Flag):
        return (False, True)
    words: tuple[Any, ...] = getattr(domain, "words", ())
    numbers = _WHOLE_NUMBERS if isinstance(domain, Whole) else _NUMBERS
    return (*words, *numbers)


def _is_in(domain: Domain, name: str, value: Any) -> bool:
    try:
        domain.accept(name, value)
    except ParameterError:
        return False
    return True
