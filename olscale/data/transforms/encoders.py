"""Categories as numbers, learned as rows come: codes, frequencies, and means of their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, rows_of
from olscale.data.transforms.base import FloatArray
from olscale.data.transforms.categories import CategoryTransform, Slots
from olscale.data.transforms.streaming import Arrays, StreamLabels
from olscale.errors import ParameterError

if TYPE_CHECKING:
    from olscale.data.transforms.known_columns import KnownColumns


class FrequencyEncode(CategoryTransform):
    """The share of the rows so far, including this one, that have the category of a row.

    A column becomes one feature. Where a row has several features of a column, as words of a text,
    it gets the mean of their shares.

    Examples
    --------
    >>> step = FrequencyEncode()
    >>> step.begin(1)
    >>> step.learn(np.array([[7.0], [3.0], [7.0], [7.0]]), 1, np.ones(4, dtype=bool))[:, 0]
    array([1.        , 0.5       , 0.66666667, 0.75      ])
    """

    name = "frequency-encode"

    def width(self, columns: int) -> int:
        return self.columns_of(columns)

    def feature_names(self, names: Sequence[str]) -> list[str]:
        return [f"{name} frequency" for name in self.column_names(names)]

    def empty_arrays(self, slots: int) -> Arrays:
        return {"rows": np.zeros(1, np.int64), "counts": np.zeros(slots, np.int64)}

    def grow(self, slots: int) -> None:
        self.learned["counts"] = _longer(self.learned["counts"], slots)

    def slot_values(self) -> tuple[FloatArray, FloatArray]:
        rows = max(1, int(self.learned["rows"][0]))
        return self.learned["counts"][:, np.newaxis] / rows, np.zeros(1)

    def learn(self, X: Rows, columns: int, trains: NDArray[np.bool_]) -> FloatArray:
        from olscale.data.transforms._category_loops import encode_frequencies

        slots = self.slots_of(X, trains)
        out = np.zeros((rows_of(X), self.width(columns)))
        learned = self.learned
        encode_frequencies(*slots, trains, learned["rows"], learned["counts"], out)
        return out


class OrdinalEncode(CategoryTransform):
    """The code 0, 1, ... of the category of a row, and -1 where it is missing or unknown.

    A column of text becomes one feature, whose codes follow the order of its values in the dataset:
    as declared, or sorted. Those of a column of numbers follow the rows that bring them. A learner
    that knows nominal columns, as `hoeffding-tree`, splits on them as such; others take codes for
    numbers. Hashed columns are refused: their values are not known.

    Examples
    --------
    >>> step = OrdinalEncode()
    >>> step.begin(1)
    >>> step.learn(np.array([[7.0], [3.0], [np.nan], [7.0]]), 1, np.ones(4, dtype=bool))[:, 0]
    array([ 0.,  1., -1.,  0.])
    """

    name = "ordinal-encode"

    def bound_to(
        self, known: KnownColumns, chosen: NDArray[np.int64]
    ) -> CategoryTransform:
        hashed = known.groups.get("hashed", frozenset())
        if any(known.names[place] in hashed for place in chosen.tolist()):
            raise ParameterError(
                "transform ordinal-encode: the values of a hashed column are not known; choose "
                "columns of one feature per value, as with ordinal-encode@onehot"
            )
        return super().bound_to(known, chosen)

    def width(self, columns: int) -> int:
        return self.columns_of(columns)

    def feature_names(self, names: Sequence[str]) -> list[str]:
        return self.column_names(names)

    def code_counts(
        self, names: Sequence[str], counts: Mapping[str, int]
    ) -> Mapping[str, int]:
        columns = self.column_names(names)
        if self._column_of is None:
            return dict.fromkeys(columns, 0)
        features = np.bincount(self._column_of)
        # A column of numbers has the codes that its rows bring.
        features[self._by_value == 1] = 0
        return dict(zip(columns, features.tolist(), strict=True))

    def empty_arrays(self, slots: int) -> Arrays:
        return {}

    def grow(self, slots: int) -> None:
        # A code is a place among the values, which the base class keeps.
        pass

    def slot_values(self) -> tuple[FloatArray, FloatArray]:
        column_of = self.learned["column"]
        missing = np.full(len(self.learned["by_value"]), -1.0)
        codes = [_places_within(column_of), missing]
        codes.append(_places_within(self.learned["owners"]))
        return np.concatenate(codes)[:, np.newaxis], np.array([-1.0])

    def learn(self, X: Rows, columns: int, trains: NDArray[np.bool_]) -> FloatArray:
        rows = rows_of(X)
        width = self.width(columns)
        known = len(self.slot_values()[0])
        slots = self.slots_of(X, trains)
        values, of_unknown = self.slot_values()
        row = np.repeat(np.arange(rows), np.diff(slots.ends))
        # A slot of -1 is that of a value that no row has taught: the last one here.
        codes = np.append(values[:, 0], of_unknown)[slots.slots]
        codes[_is_early(slots.slots - known, row, trains)] = of_unknown
        cell = row * width + slots.columns
        sums = np.bincount(cell, codes, rows * width)
        # Each cell has a slot, that of a missing value if no other.
        return (sums / np.bincount(cell, minlength=rows * width)).reshape(rows, width)

    def can_continue(self) -> bool:
        return True


class TargetEncode(CategoryTransform):
    """The mean label of the earlier rows with the category of a row, drawn to the overall mean.

    With the sum s of n labels of a category and the mean p of all labels so far it is
    ``(s + smoothing * p) / (n + smoothing)``, the estimate of Micci-Barreca [1]_ on the rows
    before, as CatBoost's ordered target statistics [2]_ are: labels of the row and of later ones
    never count, and a late label counts once it has arrived. A column becomes one feature: the
    share of the second of two classes, or the mean of the target; of more classes and of several
    targets it becomes one for each. Before any label p is the same for all classes, and 0 in a
    regression.

    Parameters
    ----------
    smoothing : float
        How many labels of the mean each category is given, more than 0; CatBoost gives 1.

    References
    ----------
    .. [1] D. Micci-Barreca. "A preprocessing scheme for high-cardinality categorical attributes in
       classification and prediction problems." SIGKDD Explorations 3(1), 27-32, 2001.
    .. [2] L. Prokhorenkova, G. Gusev, A. Vorobev, A. V. Dorogush, A. Gulin. "CatBoost: unbiased
       boosting with categorical features." NeurIPS 2018.

    Examples
    --------
    >>> step = TargetEncode()
    >>> step.begin(1)
    >>> X, y = np.array([[7.0], [7.0], [3.0], [7.0]]), np.array([4.0, 2.0, 9.0, 5.0])
    >>> labels = StreamLabels(y, np.zeros(4, dtype=np.int64))
    >>> step.learn_labelled(X, 1, np.ones(4, dtype=bool), labels)[:, 0]
    array([0.        , 4.        , 3.        , 3.66666667])
    """

    name = "target-encode"
    learns_labels = True

    def __init__(self, smoothing: float = 1.0) -> None:
        if not 0.0 < smoothing < np.inf:
            raise ParameterError(
                f"transform target-encode: smoothing was {smoothing}, expected a number above 0"
            )
        self.smoothing = float(smoothing)
        self._start = np.zeros(1)
        self._answers: tuple[str, ...] = ("",)

    def bound_to(
        self, known: KnownColumns, chosen: NDArray[np.int64]
    ) -> CategoryTransform:
        if known.task == "novelty":
            raise ParameterError(
                "transform target-encode needs labels, which novelty detectors never see; take "
                "frequency-encode"
            )
        step = super().bound_to(known, chosen)
        assert isinstance(step, TargetEncode)
        answers = known.answers if len(known.answers) > 1 else ("",)
        if known.task == "classification" and len(answers) == 2:
            answers = ("",)
        step._answers = answers
        share = 1.0 / max(2, len(answers)) if known.task == "classification" else 0.0
        step._start = np.full(len(answers), share)
        return step

    def width(self, columns: int) -> int:
        return self.columns_of(columns) * len(self._start)

    def feature_names(self, names: Sequence[str]) -> list[str]:
        return [
            f"{name} target {answer}".rstrip()
            for name in self.column_names(names)
            for answer in self._answers
        ]

    def empty_arrays(self, slots: int) -> Arrays:
        width = len(self._start)
        return {
            "start": self._start.copy(),
            "rows": np.zeros(1, np.int64),
            "totals": np.zeros(width),
            "counts": np.zeros(slots, np.int64),
            "sums": np.zeros((slots, width)),
            # Rows whose labels have not arrived, as `Slots`, and how many rows they wait for.
            "left": np.zeros(0, np.int64),
            "labels": np.zeros((0, width)),
            "ends": np.zeros(1, np.int64),
            "slots": np.zeros(0, np.int64),
        }

    def grow(self, slots: int) -> None:
        for name in ("counts", "sums"):
            self.learned[name] = _longer(self.learned[name], slots)

    def slot_values(self) -> tuple[FloatArray, FloatArray]:
        learned = self.learned
        prior = learned["start"]
        if learned["rows"][0]:
            prior = learned["totals"] / learned["rows"][0]
        sums = learned["sums"] + self.smoothing * prior
        return sums / (learned["counts"][:, np.newaxis] + self.smoothing), prior

    def learn(self, X: Rows, columns: int, trains: NDArray[np.bool_]) -> FloatArray:
        return self.learn_labelled(X, columns, trains, None)

    def learn_labelled(
        self,
        X: Rows,
        columns: int,
        trains: NDArray[np.bool_],
        labels: StreamLabels | None,
    ) -> FloatArray:
        from olscale.data.transforms._category_loops import encode_targets

        learned = self.learned
        rows = rows_of(X)
        no_rows = np.zeros(rows, dtype=np.bool_)
        slots = self.slots_of(X, no_rows if labels is None else trains)
        queue = _Queue(learned, slots)
        if labels is None:
            # What waits stays: these rows are no part of the stream.
            arrivals = np.zeros(0, dtype=np.int64)
        else:
            queue.add(labels, trains, len(self._start))
            arrivals = queue.arrivals
        out = np.zeros((rows, self.width(columns)))
        encode_targets(
            *slots,
            arrivals,
            np.argsort(arrivals, kind="stable"),
            queue.starts,
            queue.ends,
            queue.slots,
            queue.labels,
            learned["rows"],
            learned["totals"],
            learned["start"],
            learned["counts"],
            learned["sums"],
            self.smoothing,
            out,
        )
        if labels is not None:
            queue.keep(learned, rows)
        return out

    def can_continue(self) -> bool:
        # A model waits for no label: its rows are no part of a stream.
        return self.learned["ends"].tolist() == [0] and super().can_continue()

    def state(self) -> Arrays:
        """Return copies of the learned arrays, without the labels that have not arrived."""
        none_waits = {
            name: self.empty_arrays(0)[name]
            for name in ("left", "labels", "ends", "slots")
        }
        return {**super().state(), **none_waits}

    def restore(self, state: Mapping[str, NDArray[Any]], columns: int) -> None:
        start = state.get("start", np.zeros(0))
        if start.dtype != np.float64 or start.ndim != 1 or not len(start):
            raise ValueError("transform target-encode has no mean to begin with")
        self._start = np.array(start)
        if len(start) != len(self._answers):
            self._answers = tuple(str(number) for number in range(len(start)))
        super().restore(state, columns)


class _Queue:
    """Events: the rows whose labels have not arrived, in the order of the stream."""

    def __init__(self, learned: Arrays, slots: Slots) -> None:
        waiting = len(learned["slots"])
        self.arrivals = learned["left"]
        self.labels = learned["labels"]
        self.starts = learned["ends"][:-1]
        self.ends = learned["ends"][1:]
        self.slots = np.concatenate([learned["slots"], slots.slots])
        self._new_starts = slots.ends[:-1] + waiting
        self._new_ends = slots.ends[1:] + waiting

    def add(self, labels: StreamLabels, trains: NDArray[np.bool_], width: int) -> None:
        """Add the rows that train, and whose labels arrive at all."""
        has_label = labels.waits >= 0
        if labels.y.dtype.kind == "i":
            # A class that is not known is no label.
            has_label = has_label & (labels.y >= 0)
        [at] = np.nonzero(trains & has_label)
        self.arrivals = np.concatenate([self.arrivals, at + labels.waits[at]])
        self.labels = np.concatenate([self.labels, _as_numbers(labels.y[at], width)])
        self.starts = np.concatenate([self.starts, self._new_starts[at]])
        self.ends = np.concatenate([self.ends, self._new_ends[at]])

    def keep(self, learned: Arrays, rows: int) -> None:
        """Keep the events whose labels have not arrived after so many rows."""
        [at] = np.nonzero(self.arrivals >= rows)
        lengths = self.ends[at] - self.starts[at]
        learned["left"] = self.arrivals[at] - rows
        learned["labels"] = self.labels[at]
        learned["ends"] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        spans = [self.slots[self.starts[i] : self.ends[i]] for i in at.tolist()]
        learned["slots"] = np.concatenate([np.zeros(0, dtype=np.int64), *spans])


def _as_numbers(y: NDArray[Any], width: int) -> FloatArray:
    """Return a column for each class, or for each target."""
    if width > 1 and y.ndim == 1:
        return np.eye(width)[y.astype(np.int64)]
    numbers: FloatArray = y.reshape(len(y), width).astype(np.float64)
    return numbers


def _is_early(
    slot: NDArray[np.int64], row: NDArray[np.int64], trains: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which slots, numbered from the first new one, precede the row that teaches them."""
    [new] = np.nonzero(slot >= 0)
    first = np.full(int(slot.max(initial=-1)) + 1, len(trains))
    teaches = new[trains[row[new]]]
    np.minimum.at(first, slot[teaches], row[teaches])
    is_early = np.zeros(len(slot), dtype=np.bool_)
    is_early[new] = row[new] < first[slot[new]]
    return is_early


def _places_within(column_of: NDArray[np.int64]) -> FloatArray:
    """Return the place of each item among those of its column."""
    places = np.empty(len(column_of))
    for column in np.unique(column_of).tolist():
        own = column_of == column
        places[own] = np.arange(np.count_nonzero(own))
    return places


def _longer(array: NDArray[Any], length: int) -> NDArray[Any]:
    """Return the array, with zeros at its end."""
    longer = np.zeros((length, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer
