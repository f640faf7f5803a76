"""The grammar of ``NAME:key=value,key=value``, which names learners and transforms."""

from collections.abc import Container, Sequence
from typing import Any

from olscale.errors import ParameterError

_COMMAND_LINE = "vw:"
"""What is behind it is a command line, which has colons and equals signs of its own."""


def parse_named(
    text: str, registered: Container[str] | None = None
) -> tuple[str, list[tuple[str, str | None]]]:
    """Return the name, and each key with the text of its value, None if there is no ``=``.

    Parameters
    ----------
    text : str
    registered : container of str, optional
        Names; where given, any other may be ``module:attribute``.

    Raises
    ------
    ParameterError
        If a parameter is given twice.

    Examples
    --------
    >>> parse_named("project:100,kind=sparse")
    ('project', [('100', None), ('kind', 'sparse')])
    >>> parse_named("sklearn.linear_model:Perceptron:shuffle=false", registered=["pa"])
    ('sklearn.linear_model:Perceptron', [('shuffle', 'false')])
    """
    if registered is not None and text.startswith(_COMMAND_LINE):
        return text, []
    name, *parts = text.split(":")
    # `module:attribute` has a colon too; a parameter has an equals sign before any other colon.
    if (
        parts
        and registered is not None
        and name not in registered
        and "=" not in parts[0]
    ):
        name = f"{name}:{parts.pop(0)}"
    pairs = []
    if parts:
        pairs = [pair.partition("=") for pair in ":".join(parts).split(",")]
    parameters = [
        (key.strip(), value.strip() if equals else None) for key, equals, value in pairs
    ]
    check_once(text, [key for key, value in parameters if value is not None])
    return name, parameters


def check_once(text: str, keys: Sequence[str]) -> None:
    """Refuse parameters of `text` that are given more than once.

    Raises
    ------
    ParameterError
        With the first of them.
    """
    for key in keys:
        if keys.count(key) > 1:
            raise ParameterError(
                f"{text}: {key} is given {keys.count(key)} times, expected once"
            )


def parse_value(text: str) -> Any:
    """Return the value of a parameter's text: a truth value, None, a number, or the text.

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
