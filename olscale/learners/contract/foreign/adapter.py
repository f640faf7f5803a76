"""The version of the adapter: what it does with a model of unknown make is part of what the figures are of."""

import re

ADAPTER = 2
"""Raised where models get something else than before. 1 gave River's features their numbers for names, ranked rows by the
predicted class, and left seeds within models open; runs that had none of this are still those of 1, and keep their ids."""

_SUFFIX = re.compile(r"[+.]adapter\d+$")


def adapted(version: str) -> str:
    """Return the version of a learner whose runs are not those of the first adapter.

    Examples
    --------
    >>> adapted("0.26.1"), adapted("0+7ff6253c0c3b"), adapted("0.26.1+adapter2")
    ('0.26.1+adapter2', '0+7ff6253c0c3b.adapter2', '0.26.1+adapter2')
    """
    own = own_version(version)
    return f"{own}{'.' if '+' in own else '+'}adapter{ADAPTER}"


def own_version(version: str) -> str:
    """Return the version of a learner without that of the adapter."""
    return _SUFFIX.sub("", version)
