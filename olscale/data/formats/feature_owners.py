"""The column of each feature, where features of two columns may have the same name.

A value of a text column ``a`` is the feature ``a=VALUE``; a column of numbers may have that name,
and so may a value of a text column ``a=b``. Most tables have no such names; then nothing is stored
and nothing is looked up.
"""

from collections.abc import Iterable, Sequence

from olscale.errors import FormatError


class FeatureOwners:
    """Records the column of each feature whose name another column may also make.

    Parameters
    ----------
    source : str
        Named in errors.
    numeric, text : sequence of str
        Names of the numeric columns, each a feature, and of the text columns, which make features.
    known : dict of str to str
        Feature -> column, for the sources before this one; those of this one are added.

    Examples
    --------
    >>> owners = FeatureOwners("t.csv", ["size", "color=red"], ["color", "shape"], {})
    >>> owners.claim("color", "color=blue")
    >>> owners.claim("color", "color=red")
    Traceback (most recent call last):
    ...
    olscale.errors.FormatError: t.csv: columns 'color=red' and 'color' both make a feature 'color=red'; rename one of \
them in the file, or leave one out with --drop
    """

    def __init__(
        self, source: str, numeric: Sequence[str], text: Sequence[str], known: dict[str, str]
    ) -> None:
        self._source = source
        self._known = known
        self._watched = _watched([*numeric, *text], set(text))
        for name in self._watched.intersection(numeric):
            self.claim(name, name)

    def __bool__(self) -> bool:
        """Whether two columns may make features of the same name at all."""
        return bool(self._watched)

    def claim(self, column: str, feature: str) -> None:
        """Record that `feature` belongs to `column`.

        Raises
        ------
        FormatError
            When it belongs to another column.
        """
        if column not in self._watched:
            return
        owner = self._known.setdefault(feature, column)
        if owner != column:
            raise FormatError(
                self._source,
                f"columns {owner!r} and {column!r} both make a feature {feature[:60]!r}; rename "
                "one of them in the file, or "
                "leave one out with --drop",
            )


def _watched(names: Iterable[str], text: set[str]) -> set[str]:
    """Return those of `names` that begin like features of a column in `text`, and these columns."""
    lengths = {len(column) for column in text}
    watched = set[str]()
    for name in names:
        if "=" not in name:
            continue
        for length in lengths:
            if name[length : length + 1] == "=" and name[:length] in text:
                watched |= {name, name[:length]}
    return watched
