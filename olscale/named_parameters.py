"""The grammar of ``NAME:key=value,key=value``, by which options and experiments name learners and transforms."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

__all__ = ["parse_named", "parse_value"]


def parse_named(text: str, registered: Container[str] | None = None) -> tuple[str, dict[str, str]]:
    """Return the name and the texts of its parameters.

    Parameters
    ----------
    text : str
        The first value may stand without its key, and has the key ``""`` then.
    registered : container of str, optional
        Names; where given, any other may be ``module:attribute``.

    Raises
    ------
    ValueError
        If a pair is no ``key=value``.

    Examples
    --------
    >>> parse_named("project:100,kind=sparse")
    ('project', {'': '100', 'kind': 'sparse'})
    >>> parse_named("sklearn.linear_model:Perceptron:shuffle=false", registered=["pa"])
    ('sklearn.linear_model:Perceptron', {'shuffle': 'false'})
    """
    name, *rest = text.split(":")
    if rest and registered is not None and name not in registered and "=" not in rest[0]:
        name = f"{name}:{rest.pop(0)}"
    params: dict[str, str] = {}
    for pair in filter(None, ":".join(rest).split(",")):
        key, equals, value = map(str.strip, pair.partition("="))
        if (equals and not key) or (not equals and params):
            raise ValueError(f"{pair!r} is not param=value")
        params[key if equals else ""] = value if equals else key
    return name, params


def parse_value(text: str) -> Any:
    """Return what a parameter's text says: a truth value, None, a number, or else the text.

    Examples
    --------
    >>> [parse_value(text) for text in ("false", "none", "3", "0.5", "sparse")]
    [False, None, 3, 0.5, 'sparse']
    """
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text
