"""Labels of text that may be one class written in several ways, or a line of names among rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from olscale.data.manifest import Manifest

_MOST_GROUPS = 3
_MOST_WORDS = 4
_TRUTHS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1", "on"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0", "off"), False),
}


def doubtful_label_lines(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield a title and a line for each kind of doubtful classes."""
    names = manifest.label_names
    if names is None:
        return
    groups: dict[object, list[str]] = {}
    for name in sorted(names):
        groups.setdefault(_folded(name), []).append(name)
    # Letters alone are letters.
    has_words = any(len(str(folded)) > 1 for folded in groups)
    if has_words and len(names) > 2 and all(folded in _TRUTHS for folded in groups):
        truths: dict[object, list[str]] = {}
        for folded, spellings in groups.items():
            truths.setdefault(_TRUTHS[str(folded)], []).extend(spellings)
        groups = truths
    doubtful = [
        f"{' and '.join(map(repr, spellings[:_MOST_WORDS]))}"
        f"{' ...' if len(spellings) > _MOST_WORDS else ''}"
        for spellings in groups.values()
        if len(spellings) > 1
    ]
    if doubtful:
        more = ""
        if len(doubtful) > _MOST_GROUPS:
            more = f", and {len(doubtful) - _MOST_GROUPS:,} more"
        yield (
            "labels",
            f"{', '.join(doubtful[:_MOST_GROUPS])}{more} are different classes; write them alike "
            "in the source if they are one",
        )
    if manifest.label_column in names:
        yield (
            "labels",
            f"a class is called as its column, {manifest.label_column!r}; take the row out if it "
            "repeats the names of the columns",
        )


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()
