"""What is known of the columns of a dataset: their names, their kinds, and which have gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.table_columns import value_of
from olscale.errors import UnknownNameError
from olscale.task import Task

if TYPE_CHECKING:
    from olscale.data.manifest import Manifest

GROUPS = ("numeric", "onehot", "hashed", "gaps")
"""Words for all columns of a kind, and for those that have missing values."""

_PATTERN = frozenset("*?[")
# Codings of text columns whose features are not one per value.
_HASHED = ("hash", "hash-as-written", "text", "")
_NUMBERS = ("date",)


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """The columns that a transform gets, and what the manifest says of them.

    Parameters
    ----------
    dataset : str
        What messages call the dataset.
    names : tuple of str
        Names of the columns, in order.
    groups : dict of str to frozenset of str
        The names of the columns in each of `GROUPS`.
    text : dict of str to tuple of str
        Column of the source that held text -> names of its features.
    answers : tuple of str
        Names of the classes, or of several targets.
    task : {"regression", "classification", "novelty"}
    """

    dataset: str
    names: tuple[str, ...]
    groups: dict[str, frozenset[str]]
    text: dict[str, tuple[str, ...]]
    answers: tuple[str, ...] = ()
    task: Task = "regression"

    def after(self, names: Sequence[str]) -> KnownColumns:
        """Return the columns behind a transform that gives them these names."""
        return replace(self, names=tuple(names))

    def positions(self, items: Sequence[str], words: bool) -> NDArray[np.int64]:
        """Return the positions of chosen columns, ascending.

        A group may have no columns; a name or pattern must fit one.

        Parameters
        ----------
        items : sequence of str
            Names of columns or of text columns, or patterns with ``*``, ``?`` and ``[...]``.
        words : bool
            Whether an item may also be one of `GROUPS`.

        Raises
        ------
        UnknownNameError
            With the nearest name.
        """
        chosen: set[str] = set()
        for item in items:
            chosen |= self._fitting(item, words)
        return np.array(
            [place for place, name in enumerate(self.names) if name in chosen],
            dtype=np.int64,
        )

    def _fitting(self, item: str, words: bool) -> frozenset[str]:
        if words and item in GROUPS:
            return self.groups[item]
        # A name is that column, even if it reads as a pattern.
        if item in self.names:
            return frozenset([item])
        if item in self.text:
            return frozenset(self.text[item])
        if not _PATTERN.isdisjoint(item):
            fitting = {name for name in self.names if fnmatchcase(name, item)}
            for column, features in self.text.items():
                if fnmatchcase(column, item):
                    fitting.update(features)
            if fitting:
                return frozenset(fitting)
        # Thousands of features of a text column would hide the names that people gave.
        of_text = {name for features in self.text.values() for name in features}
        known = [name for name in self.names if name not in of_text]
        raise UnknownNameError(f"column of {self.dataset}", item, [*known, *self.text])


def known_columns(manifest: Manifest, dataset: str = "the dataset") -> KnownColumns:
    """Return what a manifest says of the columns of its dataset.

    Columns without names are ``x0``, ``x1`` and so on.

    Examples
    --------
    >>> import tempfile
    >>> from olscale.data.generators import generate
    >>> dataset = generate("rotating-xor", tempfile.mkdtemp() + "/xor", seed=0)
    >>> known_columns(dataset.manifest).positions(["numeric"], words=True)
    array([0, 1])
    """
    names = manifest.feature_names or tuple(f"x{i}" for i in range(manifest.columns))
    table = manifest.table
    text: dict[str, list[str]] = {}
    numeric = list(names)
    by_kind: dict[str, list[str]] = {"onehot": [], "hashed": []}
    if table is not None:
        numeric = list(names[: table.numeric])
        coded = table.coded or {}
        text = {column: [] for column in table.categorical}
        for name in names[table.numeric :]:
            column = value_of(name, table.categorical)[0]
            text[column].append(name)
            coding = coded.get(column, "one-hot").partition(":")[0]
            if coding in _NUMBERS:
                numeric.append(name)
            else:
                by_kind["hashed" if coding in _HASHED else "onehot"].append(name)
    gaps: set[str] = set()
    for split in manifest.splits.values():
        # Sparse text does not count its gaps: every number may have some.
        gaps.update(numeric if split.missing is None else split.missing)
    return KnownColumns(
        dataset,
        names,
        {
            "numeric": frozenset(numeric),
            "onehot": frozenset(by_kind["onehot"]),
            "hashed": frozenset(by_kind["hashed"]),
            # A gap in a text column is a row without its features, and no missing value.
            "gaps": frozenset(gaps.intersection(numeric)),
        },
        {column: tuple(features) for column, features in text.items()},
        tuple(map(str, manifest.classes or manifest.targets or ())),
        manifest.task,
    )
