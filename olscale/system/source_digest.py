"""A digest of source texts, and that of olscale's own."""

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]

STAMPED = ("compiled", "data", "learners", "bench")
"""Folders of the package whose sources machine code is made from."""


def text_digest(texts: Iterable[tuple[str, bytes]]) -> str:
    """Return the SHA-256 of named texts, in hexadecimal digits.

    Examples
    --------
    >>> text_digest([("a", b"b")])[:12]
    '8fb20ef63ced'
    """
    digest = hashlib.sha256()
    for name, text in texts:
        # Zero bytes, which no source has, keep the end of one text from being the next one's begin.
        digest.update(b"%s\0%s\0" % (name.encode(), text))
    return digest.hexdigest()


@cache
def package_digest(*folders: str) -> str:
    """Return a digest of olscale's sources as this process sees them, or of some folders.

    Two checkouts of one version differ in it.
    """
    files = (
        path
        for folder in folders or ("",)
        for path in (_PACKAGE / folder).rglob("*.py")
    )
    # Sorted and by relative name: the order of a directory and its place differ among machines.
    return text_digest(
        (path.relative_to(_PACKAGE).as_posix(), path.read_bytes())
        for path in sorted(files)
    )
