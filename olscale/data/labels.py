"""From raw labels to classes: decisions that must wait for the last row."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.errors import DatasetError, FormatError
from olscale.task import NORMAL, NOVEL, Task

_MOST_CLASSES = 65_536
_MOST_FRACTIONAL = 32
_MOST_COUNTED = 10_000
# From here on float64 does not represent every whole number.
_SAME_WHOLE = 2.0**53


class Labels:
    """Collects the labels of all splits.

    A numeric target is a class label if all its values are whole numbers (at most 65,536 different
    ones) or there are at most 32 different values; otherwise it is the target of a regression. Text
    is always a class label.

    Parameters
    ----------
    target : {"classes", "real"}, optional
        The kind of the labels; guessed as above when left out.
    novel : str, optional
        Label of novelties, as text: it becomes -1 and all others +1.

    classes, names : tuple, optional
        Classes, and text labels in their stored order, that another dataset has: these rows may
        lack some of them.

    Examples
    --------
    >>> labels = Labels()
    >>> labels.encode(["spam", "ham", "spam"], "mail.csv")
    array([0., 1., 0.])
    >>> labels.classes, labels.names
    (('ham', 'spam'), ('spam', 'ham'))
    """

    def __init__(
        self,
        target: str | None = None,
        novel: str | None = None,
        classes: tuple[float | int | str, ...] | None = None,
        names: tuple[str, ...] | None = None,
    ) -> None:
        self._target = target
        self._novel = novel
        self._positions: dict[str, int] = {}
        self._kind: type[str] | type[float] | None = None
        self._whole = self._counting = True
        self._regression: bool | None = None
        self._beyond: float | None = None
        self._split = "train"
        # For each split the rows of each label. The time per batch depends only on its own labels,
        # never on all of them.
        self._rows: dict[str, dict[Any, int]] = {}
        self._values: dict[float, None] = {}
        if names is not None:
            self._kind = str
            self._positions = {name: place for place, name in enumerate(names)}
        elif classes is not None:
            self._values = {float(label): None for label in classes}

    def begin(self, split: str) -> None:
        """Begin a split, or restart it."""
        self._split = split
        self._rows[split] = {}

    def encode(
        self,
        target: NDArray[np.float64] | list[str],
        source: str,
        regression: bool | None = None,
    ) -> NDArray[np.float64]:
        """Record the labels of the next rows and return them as they are stored.

        If `regression` is True numbers are no class labels, whatever their values; if it is False
        they are, no matter how many there are. The first source that knows decides. Several targets
        per row are numbers, which must have been requested: a column for each class looks the same.

        Raises
        ------
        FormatError
            When a label is not finite, or there are several targets that may not be targets.
        DatasetError
            When some sources have text labels and others numbers.
        """
        kind = str if isinstance(target, list) else float
        if self._kind not in (None, kind):
            raise DatasetError(
                f"{source} has {_WORDS[kind]} but the sources before it had {_WORDS[self._kind]}"
            )
        self._kind = kind
        if not isinstance(target, list):
            values = np.asarray(target, dtype=np.float64)
            broken = values[~np.isfinite(values)]
            if broken.size:
                raise FormatError(
                    source,
                    f"a label is {broken.flat[0]}, and not a finite number; every row needs one",
                )
        if (
            not isinstance(target, list)
            and self._beyond is None
            and np.max(np.abs(target), initial=0) >= _SAME_WHOLE
        ):
            self._beyond = float(target[np.abs(target) >= _SAME_WHOLE][0])
        if self._novel is not None:
            target = _normal(target, self._novel)
        if self._target == "real" and isinstance(target, list):
            raise FormatError(
                source,
                f"the label {target[0]!r} is no number, which a real-valued target must be",
            )
        if self._regression is None:
            self._regression = regression
        rows = self._rows.setdefault(self._split, {})
        if not isinstance(target, list) and target.ndim == 2:
            if self.task != "regression":
                raise FormatError(
                    source,
                    f"a row has {target.shape[1]} targets; add --target real if they are numbers "
                    "to be predicted",
                )
            # Targets of a regression may all be different: nothing is gained by counting them.
            self._counting = False
            return np.ascontiguousarray(target, dtype=np.float64)
        if isinstance(target, list):
            positions = self._positions
            for name, count in Counter(target).items():
                rows[name] = rows.get(name, 0) + count
                # A Counter keeps the order of first appearance.
                positions.setdefault(name, len(positions))
            return np.array([positions[name] for name in target], dtype=np.float64)
        values = np.ascontiguousarray(target, dtype=np.float64)
        if self._counting:
            new, counts = np.unique(values, return_counts=True)
            self._whole = self._whole and bool((new == np.trunc(new)).all())
            for value, count in zip(new.tolist(), counts.tolist(), strict=True):
                rows[value] = rows.get(value, 0) + count
                self._values[value] = None
            most = _MOST_CLASSES if self._whole or self._declared else _MOST_COUNTED
            # With more values it is a regression anyway, and a set of all could fill the memory.
            self._counting = len(self._values) <= most
        return values

    def class_rows(self, split: str) -> tuple[int, ...] | None:
        """Return the number of rows per class in `split`, in the order of `classes`, or None.

        None for a regression.
        """
        classes = self.classes
        rows = self._rows[split]
        if classes is None:
            return None
        return tuple(rows.get(label, 0) for label in classes)

    @property
    def _text(self) -> bool:
        """Whether labels are stored as positions among texts; novelty labels are numbers."""
        return self._kind is str and self._novel is None

    @property
    def _declared(self) -> bool:
        """Whether the source declares that the labels are classes."""
        return self._regression is False and self._target is None

    @property
    def task(self) -> Task:
        """The task that the labels so far imply."""
        if self._novel is not None:
            return "novelty"
        if self._text:
            return "classification"
        if self._target == "real" or (self._regression and self._target is None):
            return "regression"
        most = _MOST_CLASSES if self._whole or self._declared else _MOST_FRACTIONAL
        if len(self._values) <= most:
            return "classification"
        return "regression"

    @property
    def distinct(self) -> int | None:
        """Number of different labels, None if more than 10,000, where counting stops."""
        if self._text:
            return len(self._positions)
        if self._counting:
            return len(self._values)
        return None

    def check(self) -> None:
        """Refuse labels of all splits that are not of the requested kind.

        Raises
        ------
        DatasetError
            If there are too many different labels for classes, whole numbers that a float64 cannot
            distinguish, or only novelties or none.
        """
        if self._beyond is not None and (
            self._novel is not None or self.task == "classification"
        ):
            raise DatasetError(
                f"the label {self._beyond:.0f} is one of several whole numbers that are the same "
                "in float64, as all from "
                "2^53 on: they would be one class; write labels as smaller numbers or as text"
            )
        if (self._target == "classes" or self._declared) and self.task == "regression":
            fractions = not self._whole and not self._declared
            most = (
                f"{_MOST_FRACTIONAL} fractions"
                if fractions
                else f"{_MOST_CLASSES:,} whole numbers"
            )
            raise DatasetError(
                f"the labels have more different values than classes may have: {most}; use "
                "--target real"
            )
        if self._novel is not None and len(self._values) < 2:
            which = "no row"
            if NOVEL in self._values:
                which = "every row"
            raise DatasetError(
                f"{which} has the label {self._novel!r} of novelties (--novel); expected some of "
                "both kinds"
            )

    @property
    def names(self) -> tuple[str, ...] | None:
        """Text labels in order of first appearance."""
        if self._text:
            return tuple(self._positions)
        return None

    @property
    def classes(self) -> tuple[float | int | str, ...] | None:
        """Sorted class labels; None for a regression."""
        if self._text:
            return tuple(sorted(self._positions))
        if self.task == "regression":
            return None
        values = sorted(self._values)
        return tuple(
            int(value) if value.is_integer() and abs(value) < 2**53 else value
            for value in values
        )

    @property
    def unseen(self) -> tuple[float | int | str, ...]:
        """Classes without a row in the train split."""
        train = self._rows.get("train", {})
        return tuple(label for label in self.classes or () if label not in train)


def _normal(target: NDArray[np.float64] | list[str], novel: str) -> NDArray[np.float64]:
    """Return -1 for labels that equal `novel` and +1 for all others."""
    if isinstance(target, list):
        return np.array(
            [NOVEL if label == novel else NORMAL for label in target], dtype=np.float64
        )
    try:
        number = float(novel)
    except ValueError:
        raise DatasetError(
            f"the labels are numbers, and {novel!r} of --novel is none; expected one of them"
        ) from None
    return np.where(
        np.asarray(target, dtype=np.float64) == number, float(NOVEL), float(NORMAL)
    )


_WORDS: dict[Any, str] = {str: "text labels", float: "numbers as labels"}


class ClassCodes:
    """Turns stored labels into int64 positions in `classes`, or leaves those of a regression.

    Created once per dataset: its look-up table is as long as there are classes.

    Parameters
    ----------
    classes : tuple of float, int or str, optional
        Sorted classes; None for a regression.
    names : tuple of str, optional
        Text labels; stored labels are positions in it.

    Examples
    --------
    >>> ClassCodes((-1, 1), None)(np.array([1.0, -1.0, 1.0]))
    array([1, 0, 1])
    >>> codes = ClassCodes(("ham", "spam"), ("spam", "ham"))
    >>> codes(np.array([0.0, 1.0])), codes.fit(np.array([2.0]))
    (array([1, 0]), False)
    """

    def __init__(
        self,
        classes: tuple[float | int | str, ...] | None,
        names: tuple[str, ...] | None,
    ) -> None:
        self._regression = classes is None
        self._codes: NDArray[np.int64] | None = None
        if names is not None:
            position = {name: code for code, name in enumerate(classes or ())}
            self._codes = np.array([position[name] for name in names], dtype=np.int64)
            self._known = np.arange(len(names), dtype=np.float64)
        else:
            self._known = np.array(classes or (), dtype=np.float64)
        # Whole numbers without gaps are looked up by arithmetic, ten times as fast as by a search.
        first = self._known[:1]
        steps = np.diff(self._known)
        self._consecutive = bool(
            (first == np.floor(first)).all() and (steps == 1.0).all()
        )

    def __call__(self, label: NDArray[np.float64]) -> NDArray[Any]:
        """Return the codes of stored labels."""
        if self._regression:
            return label
        if self._codes is not None:
            return self._codes[label.astype(np.int64)]
        # `fit` has seen each label when the chunk was read, so that each is found.
        return self._places(label)

    def fit(self, label: NDArray[np.float64]) -> bool:
        """Return whether each stored label is one of the classes."""
        if self._regression:
            return True
        known = self._known
        if not len(known):
            return False
        if not len(label):
            return True
        if self._consecutive:
            inside = known[0] <= label.min() and label.max() <= known[-1]
            return bool(inside) and bool((np.floor(label) == label).all())
        if len(known) == 2:
            return bool(((label == known[0]) | (label == known[1])).all())
        # A label that is no class may have any place.
        places = np.minimum(self._places(label), len(known) - 1)
        return bool((known[places] == label).all())

    def _places(self, label: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the positions of labels among the sorted ones."""
        known = self._known
        if not len(known):
            return np.zeros(len(label), dtype=np.int64)
        places: NDArray[Any]
        if self._consecutive:
            places = label - known[0]
        elif len(known) == 2:
            places = label > known[0]
        else:
            places = np.searchsorted(known, label)
        return places.astype(np.int64, copy=False)
