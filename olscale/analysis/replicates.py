"""Learners compared on one data set: over test folds, prequential folds or permutations."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from olscale.analysis.aggregate import codes_of, groups_of, metrics_and_timings
from olscale.analysis.compare import LEAST, Pair, PairTest, compare_pairs
from olscale.analysis.matched_blocks import shared_keys
from olscale.analysis.paired_tests import corrected_t, wilcoxon
from olscale.arrays import BoolArray, FloatArray
from olscale.data.splits import HALVES
from olscale.results import Store
from olscale.results.arrow_arrays import arrow_array
from olscale.results.settings import KEY_COLUMNS, SettingKey, replicate_text
from olscale.results.store import OnDamage

T = TypeVar("T")
# What replicates are called, by their key, in the order in which they are compared.
_WORDS = {
    "fold": "folds",
    "permutation": "permutations",
    "projection": "random projections",
}


@dataclass(frozen=True, slots=True)
class Within:
    """The comparison on one data set.

    Parameters
    ----------
    dataset : str
    transforms : tuple of str
    over : str
        What was compared over: ``"10 folds"``.
    pairs : tuple of Pair
        p is that of `test`; NaN if there are fewer than five.
    test : str
    note : str
        What a reader must know.
    """

    dataset: str
    transforms: tuple[str, ...]
    over: str
    pairs: tuple[Pair, ...]
    test: str
    note: str


Values = Mapping[str, float]
"""The figures of a setting by what tells its replicates apart, as canonical JSON."""


SettingFigures = Mapping[SettingKey, Values]
"""The figures of a store, by setting and replicate."""


class ReplicateFigures:
    """The metrics and timings of each run that ended ``ok``; the store is read once for all.

    Parameters
    ----------
    store : Store
    on_damage : {"raise", "skip"}
    """

    def __init__(self, store: Store, on_damage: OnDamage = "raise") -> None:
        runs = ok_runs(store, ("id", "metrics"), on_damage)
        with store.adding_damage():
            timings = store.timings(
                on_damage,
                ("id", "timings"),
                runs["id"],
                dictionaries=True,
            )
        self._columns: dict[
            str,
            list[tuple[FloatArray, BoolArray | None]],
        ]
        self._columns = defaultdict(list)
        self._settings: list[SettingKey] = []
        self._by_metric: dict[str, SettingFigures] = {}
        if not runs.num_rows:
            return
        group, self._settings = groups_of(runs)
        # The runs of a setting lie side by side, by id.
        self._order = np.argsort(group, kind="stable")
        self._ends = np.cumsum(np.bincount(group))
        self._replicates = _replicate_texts(runs)
        for columns in metrics_and_timings(runs, timings):
            for name, column in zip(columns.names, columns.values.T, strict=True):
                self._columns[name].append((column, columns.present))

    def of(self, metric: str) -> SettingFigures:
        """Return one metric or timing, of the runs that have it; tables share the answer."""
        if metric not in self._by_metric:
            self._by_metric[metric] = self._figures(metric)
        return self._by_metric[metric]

    def _figures(self, metric: str) -> SettingFigures:
        figures: dict[SettingKey, dict[str, float]] = defaultdict(dict)
        # A metric counts more than a timing of its name, which comes after it.
        for values, present in reversed(self._columns.get(metric, [])):
            start = 0
            for setting, end in zip(self._settings, self._ends.tolist(), strict=True):
                rows = self._order[start:end]
                start = end
                if present is not None:
                    rows = rows[present[rows]]
                if len(rows):
                    replicates = self._replicates[rows].tolist()
                    figures[setting].update(
                        zip(
                            replicates,
                            values[rows].tolist(),
                            strict=True,
                        )
                    )
        return dict(figures)


def by_replicate(
    store: Store,
    column: str,
    read: Callable[[pa.ChunkedArray], Iterable[T | None]],
    on_damage: OnDamage = "raise",
) -> dict[SettingKey, dict[str, T]]:
    """Return what `read` makes of a column of runs that ended ``ok``, by setting and replicate.

    It makes None of the runs that are left out.
    """
    runs = ok_runs(store, (column,), on_damage)
    if not runs.num_rows:
        return {}
    values: dict[SettingKey, dict[str, T]] = defaultdict(dict)
    group, settings = groups_of(runs)
    replicates = _replicate_texts(runs)
    for i, value in enumerate(read(runs[column])):
        if value is not None:
            values[settings[group[i]]][replicates[i]] = value
    return values


def ok_runs(store: Store, columns: Sequence[str], on_damage: OnDamage) -> pa.Table:
    """Return columns of the runs that ended ``ok``, and their keys; texts as dictionary arrays."""
    runs = store.read(
        (*KEY_COLUMNS, "outcome", *columns),
        on_damage,
        dictionaries=True,
    )
    [ok] = arrow_array(["ok"], pa.string())
    outcomes = runs["outcome"].cast(pa.string())
    return runs.filter(pc.equal(outcomes, ok))


def _replicate_texts(runs: pa.Table) -> NDArray[np.object_]:
    """Return the replicate of each run."""
    codes, protocols = codes_of(runs["protocol"])
    return np.array(
        [replicate_text(protocol) for protocol in protocols],
        dtype=object,
    )[codes]


def compare_within(
    dataset: str,
    learners: Sequence[str],
    values: Sequence[Values],
    protocol: Mapping[str, Any],
    metric: str,
    higher: bool = False,
    baseline: str | None = None,
    transforms: tuple[str, ...] = (),
) -> Within | None:
    """Compare learners over what was repeated on one data set; None if nothing was.

    Folds come first, with permutations of theirs averaged; else permutations, with projections
    averaged; else projections. Only replicates that all have count.

    References
    ----------
    A. Bifet, G. de Francisci Morales, J. Read, G. Holmes, B. Pfahringer, Efficient online
    evaluation of big data stream classifiers, KDD 2015.
    """
    replicates = {text: json.loads(text) for text in shared_keys(values)}
    # Folds have new test rows, permutations only another order, so folds come first.
    repeated = [name for name in _WORDS if _count(replicates, name) > 1]
    if not repeated:
        return None
    over = repeated[0]
    groups: dict[Any, list[str]] = defaultdict(list)
    for text, replicate in sorted(replicates.items()):
        groups[replicate[over]].append(text)
    # In the order of folds, permutations or projections, the same for all learners.
    texts = [of_one for _, of_one in sorted(groups.items())]
    matrix = np.array([_means(of_learner, texts) for of_learner in values]).T
    if not np.isfinite(matrix).all():
        return None
    design = _design(over, len(matrix), protocol, metric)
    means = matrix.mean(axis=0)
    order = np.argsort(-means if higher else means, kind="stable")
    names = [learners[i] for i in order]
    pairs = compare_pairs(matrix[:, order], names, higher, design.p_of, baseline)
    words = f"{len(matrix)} {design.words}"
    return Within(dataset, transforms, words, pairs, design.test, design.note)


class _Design(NamedTuple):
    """How learners are compared over replicates: in words, by a test, and with a note."""

    words: str
    test: str
    note: str
    p_of: PairTest | None = None


def _design(over: str, n: int, protocol: Mapping[str, Any], metric: str) -> _Design:
    """Return how learners are compared over `n` replicates of a kind."""
    split = str(protocol.get("split", "given"))
    if over == "fold" and split.startswith("prequential-"):
        note = (
            "These tests say whether a difference is larger than that between models that saw "
            "other rows of this stream."
        )
        design = _Design("models of prequential folds", "Wilcoxon", note, wilcoxon)
    elif over == "fold":
        note = "Nadeau and Bengio's corrected t accounts for the training rows that folds share."
        if not metric.startswith("test_"):
            note = (
                f"Not tested: {metric} is of training rows, which folds share; a metric that "
                "begins with test_ is not."
            )
            return _Design(_WORDS[over], "corrected t", note)
        # Rows tested on over rows trained on: halves are as large as each other.
        ratio = 1.0
        if split not in HALVES:
            ratio = 1 / (int(protocol.get("folds", n)) - 1)
        design = _Design(
            _WORDS[over],
            "corrected t",
            note,
            partial(corrected_t, ratio=ratio),
        )
    else:
        kind = "orders" if over == "permutation" else "projections"
        note = f"These tests speak of the same rows in other {kind}, not of new rows."
        design = _Design(_WORDS[over], "Wilcoxon", note, wilcoxon)
    if n < LEAST:
        note = f"Not tested: {n} {design.words}, and at least {LEAST} are needed."
        return design._replace(note=note, p_of=None)
    return design


def _count(replicates: Mapping[str, Mapping[str, Any]], name: str) -> int:
    return len(
        {replicate[name] for replicate in replicates.values() if name in replicate}
    )


def _means(values: Values, groups: Sequence[Sequence[str]]) -> list[float]:
    """Return the mean figure of each group of replicates."""
    # Most groups are one figure, whose mean NumPy takes a microsecond each to make.
    return [
        float(np.mean([values[text] for text in group]))
        if len(group) > 1
        else values[group[0]]
        for group in groups
    ]
