"""The one text of a JSON value, which all digests and ids of JSON are made from."""

import hashlib
import json
from typing import Any

from olscale.errors import ParameterError

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


class ParsedJson(dict[str, Any]):
    """A JSON object that is never changed, with its text, so that `canonical_json` has it at once.

    Parameters
    ----------
    text : str
        Made by `canonical_json`.

    Examples
    --------
    >>> ParsedJson('{"C":0.5}')["C"]
    0.5
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        super().__init__(json.loads(text))
        self.text = text

    def __reduce__(self) -> "tuple[type[ParsedJson], tuple[str]]":
        return ParsedJson, (self.text,)


def canonical_json(value: Any) -> str:
    """Return the one text of a JSON value: keys sorted, no spaces, ASCII, no NaN.

    Parameters
    ----------
    value : object
        Anything JSON can hold; tuples become lists.

    Raises
    ------
    ParameterError
        If a part of `value` is not JSON (an array, a NaN).

    Examples
    --------
    >>> canonical_json({"b": [1, 2.5], "a": None})
    '{"a":null,"b":[1,2.5]}'
    """
    if isinstance(value, ParsedJson):
        return value.text
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError) as fault:
        raise ParameterError(
            f"a run's definition must be plain JSON, got a part that is not: {fault}"
        ) from fault


def json_digest(value: Any) -> str:
    """Return the SHA-256 of the canonical text of a JSON value, in hexadecimal digits.

    Examples
    --------
    >>> json_digest({})[:12]
    '44136fa355b3'
    """
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
