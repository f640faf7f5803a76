"""A quick look at the entry points of installed packages.

``importlib.metadata`` takes longer to import, with Python's modules for mail that it parses
metadata with, than the files of all packages take to read.
"""

import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

_METADATA = (".dist-info", ".egg-info")
_FILE = "entry_points.txt"


def may_have_group(prefix: str) -> bool:
    """Return whether an installed package may have an entry point group that begins so.

    Parameters
    ----------
    prefix : str
        Of the name of a group, such as ``"olscale."``.

    Returns
    -------
    bool
        False only if none has; True also where packages are in archives or are found by
        finders of their own, into which this does not look.

    Examples
    --------
    >>> may_have_group("console_script")
    True
    """
    has_other_finders = any(
        hasattr(finder, "find_distributions")
        for finder in sys.meta_path
        if finder is not PathFinder
    )
    if has_other_finders:
        return True
    section = f"[{prefix}".encode()
    for place in map(Path, dict.fromkeys(sys.path)):
        if place.is_file():
            return True
        if any(section in content for content in _contents(place)):
            return True
    return False


def _contents(place: Path) -> Iterator[bytes]:
    """Yield the files of entry points of the packages in one folder of ``sys.path``."""
    try:
        names = [path.name for path in place.iterdir()]
    except OSError:
        # Python passes over what it cannot list, too.
        return
    folders = [name for name in names if name.lower().endswith(_METADATA)]
    # The name of the metadata in an egg, which is a folder of ``sys.path`` itself.
    folders += [name for name in names if name.lower() == "egg-info"]
    for name in folders:
        try:
            yield (place / name / _FILE).read_bytes()
        except OSError:
            continue
