"""Addresses without their secrets: user information and query values that identify clients.

Code that stores, shows, logs or sends an address passes it through here first; only the client that
asks gets it whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "***"
RAW_PASSWORD = "its password has a /, ? or #: write %2F, %3F or %23 instead"

_IN_TEXT = re.compile(r"[A-Za-z][\w+.-]*://\S+")
_AUTHORITY = re.compile(r"://([^/\s?#]*)")
_PORT = re.compile(r":\d*$|\]$")
_VALUES = re.compile(r"([?&#;][^=&#;/\s]*=)[^&#;\s]*?(?=[:.,)\]}'\"]*(?:[&#;\s]|$))")
_BARE = re.compile(r"(\?)[^=&#\s:.,]+(?=[:.,)\]}'\"]*(?:[#\s]|$))")


def redacted(text: str) -> str:
    """Return a text with the secrets of all addresses in it hidden.

    Examples
    --------
    >>> redacted("https://me:pw@host/a.csv?sig=S3CRET&v=2: no such file")
    'https://***@host/a.csv?sig=***&v=***: no such file'
    >>> redacted("https://me:p/w@?#@host/a.csv")
    'https://***@host/a.csv'
    >>> redacted("s3://bucket/rows.svm, of 3 rows?")
    's3://bucket/rows.svm, of 3 rows?'
    """
    # Most texts have no address, and every line that is printed comes through here.
    if "://" in text:
        return _IN_TEXT.sub(lambda match: redacted_address(match[0]), text)
    return text


def redacted_address(address: str) -> str:
    """Return an address, or the end of one, with its secrets hidden.

    Examples
    --------
    >>> redacted_address("a.csv?sig=S3CRET"), redacted_address("data.zip#*.csv")
    ('a.csv?sig=***', 'data.zip#*.csv')
    """
    hidden = _VALUES.sub(rf"\1{HIDDEN}", _without_user(address))
    return _BARE.sub(rf"\1{HIDDEN}", hidden)


def _without_user(address: str) -> str:
    """Hide user information.

    A password may hold what ends the name of a server (``/``, ``?``, ``#``, ``@``), so behind a
    colon all is hidden up to the last ``@``, at the risk of hiding a port and a part of a path.
    """
    last = address.rfind("@")
    parts = []
    start = 0
    for authority in _AUTHORITY.finditer(address, 0, max(last, 0)):
        begin, end = authority.span(1)
        if begin < start:  # within the password of the one before
            continue
        at = last
        if ":" not in authority[1]:
            at = address.rfind("@", begin, end + 1)
        if at >= 0:
            parts += [address[start:begin], HIDDEN]
            start = at
    return "".join([*parts, address[start:]])


def has_user(address: str) -> bool:
    """Return whether there is user information in an address."""
    return _without_user(address) != address


def has_raw_password(address: str) -> bool:
    """Return whether user information holds what ends the name of a server.

    Clients then take a part of the password for the name of a port, and print it.

    Examples
    --------
    >>> has_raw_password("https://me:p/w@host/a"), has_raw_password("https://host:80/a@b")
    (True, False)
    """
    authority = _AUTHORITY.search(address)
    # `::` is of chained addresses of fsspec, `zip://a::https://b`, and of IPv6.
    if authority is None or "@" in authority[1] or "::" in authority[1]:
        return False
    is_server = ":" not in authority[1] or _PORT.search(authority[1]) is not None
    return not is_server and "@" in address[authority.end() :]


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
        return {
            redacted_parts(name): redacted_parts(value)
            for name, value in content.items()
        }
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
    scheme, colon, location = _without_user(address).partition("://")
    if not colon:
        return HIDDEN
    host = re.split(r"[/?#]", location, maxsplit=1)[0].rpartition("@")[2]
    return f"{scheme}{colon}{host}/{HIDDEN}"
