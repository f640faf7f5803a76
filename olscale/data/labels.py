"""From raw labels to classes: what may be decided only after the last row."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from olscale.errors import DatasetError, FormatError

__all__ = ["Labels", "class_codes", "labels_fit"]

_MOST_CLASSES = 65_536
_MOST_FRACTIONAL = 32
_MOST_COUNTED = 10_000


class Labels:
    """Collects the labels of all splits.

    A numeric target is a class label when all its values are whole numbers (at most 65,536 different ones) or there are
    at most 32 different values; any other is the target of a regression. Text is always a class label.

    Examples
    --------
    >>> labels = Labels()
    >>> labels.encode(["spam", "ham", "spam"], "mail.csv")
    array([0., 1., 0.])
    >>> labels.classes, labels.names
    (('ham', 'spam'), ('spam', 'ham'))
    """

    def __init__(self) -> None:
        self._positions: dict[str, int] = {}
        self._values = np.empty(0)
        self._kind: type[str] | type[float] | None = None
        self._whole = self._counting = True
        self._regression = False

    def encode(
        self, target: NDArray[np.float64] | list[str], source: str, regression: bool = False
    ) -> NDArray[np.float64]:
        """Note the labels of the next rows and return them as they are stored.

        With `regression` numbers are no class labels, whatever they look like.

        Raises
        ------
        FormatError
            When a label is not finite.
        DatasetError
            When some sources have text labels and others numbers.
        """
        kind = str if isinstance(target, list) else float
        if self._kind not in (None, kind):
            raise DatasetError(f"{source} has {_WORDS[kind]} but the sources before it had {_WORDS[self._kind]}")
        self._kind = kind
        if isinstance(target, list):
            positions = self._positions
            return np.array([positions.setdefault(name, len(positions)) for name in target], dtype=np.float64)
        self._regression = self._regression or regression
        values = np.ascontiguousarray(target, dtype=np.float64)
        if not np.isfinite(values).all():
            raise FormatError(source, "a label is not a finite number; every row needs one")
        if self._counting:
            new = np.unique(values)
            self._whole = self._whole and bool((new == np.trunc(new)).all())
            self._values = np.union1d(self._values, new)
            self._counting = len(self._values) <= (_MOST_CLASSES if self._whole else _MOST_COUNTED)
        return values

    @property
    def task(self) -> Literal["classification", "regression"]:
        """What the labels seen so far make of the dataset."""
        if self._kind is str:
            return "classification"
        if self._regression:
            return "regression"
        few = len(self._values) <= (_MOST_CLASSES if self._whole else _MOST_FRACTIONAL)
        return "classification" if few else "regression"

    @property
    def distinct(self) -> int | None:
        """Number of different labels, None where it is more than was worth counting (10,000)."""
        if self._kind is str:
            return len(self._positions)
        return len(self._values) if self._counting else None

    @property
    def names(self) -> tuple[str, ...] | None:
        """Text labels in the order first seen."""
        return tuple(self._positions) if self._kind is str else None

    @property
    def classes(self) -> tuple[float | int | str, ...] | None:
        """Sorted class labels; None for a regression."""
        if self._kind is str:
            return tuple(sorted(self._positions))
        if self.task == "regression":
            return None
        return tuple(
            int(value) if value.is_integer() and abs(value) < 2**53 else value for value in self._values.tolist()
        )


_WORDS: dict[Any, str] = {str: "text labels", float: "numbers as labels"}


def class_codes(
    label: NDArray[np.float64],
    classes: tuple[float | int | str, ...] | None,
    names: tuple[str, ...] | None,
) -> NDArray[Any]:
    """Return stored labels as int64 positions in `classes`, or as they are for a regression.

    Examples
    --------
    >>> class_codes(np.array([1.0, -1.0, 1.0]), (-1, 1), None)
    array([1, 0, 1])
    >>> class_codes(np.array([0.0, 1.0]), ("ham", "spam"), ("spam", "ham"))
    array([1, 0])
    """
    if classes is None:
        return label
    if names is not None:
        position = {name: code for code, name in enumerate(classes)}
        codes = np.array([position[name] for name in names], dtype=np.int64)
        return codes[label.astype(np.int64)]
    return np.searchsorted(np.array(classes, dtype=np.float64), label).astype(np.int64, copy=False)


def labels_fit(
    label: NDArray[np.float64],
    classes: tuple[float | int | str, ...] | None,
    names: tuple[str, ...] | None,
) -> bool:
    """Return whether `class_codes` can be told: whether each stored label is one of the classes.

    Examples
    --------
    >>> labels_fit(np.array([1.0, 2.0]), (-1, 1), None), labels_fit(np.array([2.0]), ("ham", "spam"), ("spam", "ham"))
    (False, False)
    """
    if classes is None:
        return True
    known = np.arange(len(names)) if names is not None else np.array(classes, dtype=np.float64)
    place = np.minimum(np.searchsorted(known, label), len(known) - 1)
    return bool(len(known)) and bool((known[place] == label).all())
