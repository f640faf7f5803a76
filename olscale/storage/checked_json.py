"""JSON files with a checksum of their content, so that any reader can detect damage."""

import json
from collections.abc import Mapping
from typing import Any

from olscale.storage.canonical_json import json_digest

_KEY = "checksum"

DAMAGE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""Errors from reading a damaged file."""


def json_bytes(
    content: Mapping[str, Any],
    indent: int | None = None,
    sort_keys: bool = False,
) -> bytes:
    """Return a JSON file of an object, with a checksum.

    Examples
    --------
    >>> json_content(json_bytes({"runs": []}), checked=True)
    {'runs': []}
    """
    content = {**content, _KEY: json_digest(content)}
    return (json.dumps(content, indent=indent, sort_keys=sort_keys) + "\n").encode()


def json_content(data: bytes, checked: bool) -> dict[str, Any]:
    """Return the object in a JSON file, without its checksum.

    Parameters
    ----------
    data : bytes
    checked : bool
        Whether a file without a checksum is damaged; those of earlier versions have none.

    Raises
    ------
    ValueError, TypeError, RecursionError
        If the file is damaged.
    """
    content = json.loads(data)
    if not isinstance(content, dict):
        raise TypeError("is no JSON object")
    checksum = content.pop(_KEY, None)
    if checksum is None and checked:
        raise ValueError("has no checksum")
    if checksum is not None and checksum != json_digest(content):
        raise ValueError("its checksum is wrong")
    return content
