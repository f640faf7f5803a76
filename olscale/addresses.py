"""Addresses without their secrets: user information and the values of queries, by which servers know who asks.

Whatever stores, shows, logs or sends an address passes it through here first; only the client that
asks gets it whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "***"

_IN_TEXT = re.compile(r"[A-Za-z][\w+.-]*://\S+")
_USER = re.compile(r"(://)[^/\s?#]*@")
_VALUES = re.compile(r"([?&#;][^=&#;/\s]*=)[^&#;\s]*?(?=[:.,)\]}'\"]*(?:[&#;\s]|$))")
_BARE = re.compile(r"(\?)[^=&#\s:.,]+(?=[:.,)\]}'\"]*(?:[#\s]|$))")


def redacted(text: str) -> str:
    """Return a text with the secrets of all addresses in it hidden.

    Examples
    --------
    >>> redacted("https://me:pw@host/a.csv?sig=S3CRET&v=2: no such file")
    'https://***@host/a.csv?sig=***&v=***: no such file'
    >>> redacted("s3://bucket/rows.svm, of 3 rows?")
    's3://bucket/rows.svm, of 3 rows?'
    """
    return _IN_TEXT.sub(lambda found: redacted_address(found[0]), text) if "://" in text else text


def redacted_address(address: str) -> str:
    """Return an address, or the end of one, with its secrets hidden.

    Examples
    --------
    >>> redacted_address("a.csv?sig=S3CRET"), redacted_address("data.zip#*.csv")
    ('a.csv?sig=***', 'data.zip#*.csv')
    """
    hidden = _VALUES.sub(rf"\1{HIDDEN}", _USER.sub(rf"\1{HIDDEN}@", address))
    return _BARE.sub(rf"\1{HIDDEN}", hidden)


def redacted_name(path: str) -> str:
    """Return the last component of a path or address, with its secrets hidden.

    Examples
    --------
    >>> redacted_name("https://host/a.csv?sig=S/3")
    'a.csv?sig=***'
    """
    return redacted_address(path).rstrip("/").rpartition("/")[2]


def redacted_parts(content: Any) -> Any:
    """Return plain JSON with the secrets of all addresses in its texts hidden."""
    if isinstance(content, str):
        return redacted(content)
    if isinstance(content, Mapping):
        return {redacted_parts(name): redacted_parts(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [redacted_parts(value) for value in content]
    return content


def server_of(address: str) -> str:
    """Return what of an address names the server alone: the paths of webhooks are secrets too.

    Examples
    --------
    >>> server_of("https://me:pw@hooks.example/services/T0/S3CRET")
    'https://hooks.example/***'
    """
    scheme, colon, rest = address.partition("://")
    if not colon:
        return HIDDEN
    host = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    return f"{scheme}{colon}{host}/{HIDDEN}"
