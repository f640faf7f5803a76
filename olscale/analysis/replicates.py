"""Learners compared on one data set: over its test folds, over the models of prequential folds, or over permutations."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from olscale.analysis.aggregate import codes_of, groups_of, metrics_and_timings
from olscale.analysis.compare import LEAST, Pair, compare_pairs
from olscale.analysis.matched_blocks import shared_keys
from olscale.analysis.paired_tests import corrected_t, wilcoxon
from olscale.data.splits import HALVES
from olscale.results import Store
from olscale.results.settings import KEY_COLUMNS, SettingKey, replicate_text
from olscale.results.store import OnDamage

T = TypeVar("T")
_WORDS = {"fold": "folds", "permutation": "permutations", "projection": "random projections"}


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
    """The metrics and timings of each run that ended ``ok``; the store is read once, however many are asked for.

    Parameters
    ----------
    store : Store
    on_damage : {"raise", "skip"}
    """

    def __init__(self, store: Store, on_damage: OnDamage = "raise") -> None:
        runs = ok_runs(store, ("id", "metrics"), on_damage)
        with store.adding_damage():
            timings = store.timings(on_damage, ("id", "timings"), runs["id"], dictionaries=True)
        self._columns: dict[str, list[tuple[NDArray[np.float64], NDArray[np.bool_] | None]]]
        self._columns = defaultdict(list)
        self._settings: list[SettingKey] = []
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
        """Return one metric or timing, of the runs that have it."""
        figures: dict[SettingKey, dict[str, float]] = {}
        for values, there in reversed(
            self._columns.get(metric, [])
        ):  # a metric counts more than a timing of its name
            start = 0
            for setting, end in zip(self._settings, self._ends.tolist(), strict=True):
                rows = self._order[start:end]
                start = end
                having = rows if there is None else rows[there[rows]]
                if len(having):
                    of_setting = dict(
                        zip(self._replicates[having].tolist(), values[having].tolist(), strict=True)
                    )
                    figures[setting] = figures.get(setting, {}) | of_setting
        return figures


def by_replicate(
    store: Store,
    column: str,
    read: Callable[[pa.ChunkedArray], Iterable[T | None]],
    on_damage: OnDamage = "raise",
) -> dict[SettingKey, dict[str, T]]:
    """Return what `read` makes of a column of runs that ended ``ok``, where it is something, by setting and replicate."""
    runs = ok_runs(store, (column,), on_damage)
    values: dict[SettingKey, dict[str, T]] = defaultdict(dict)
    if runs.num_rows:
        group, settings = groups_of(runs)
        for i, replicate, value in zip(
            group.tolist(), _replicate_texts(runs), read(runs[column]), strict=True
        ):
            if value is not None:
                values[settings[i]][replicate] = value
    return values


def ok_runs(store: Store, columns: Sequence[str], on_damage: OnDamage) -> pa.Table:
    """Return columns of the runs that ended ``ok``, and those that tell their settings; texts as dictionary arrays."""
    runs = store.read((*KEY_COLUMNS, "outcome", *columns), on_damage, dictionaries=True)
    return runs.filter(pc.equal(runs["outcome"].cast(pa.string()), "ok"))


def _replicate_texts(runs: pa.Table) -> NDArray[np.object_]:
    """Return the replicate of each run."""
    codes, protocols = codes_of(runs["protocol"])
    return np.array([replicate_text(protocol) for protocol in protocols], dtype=object)[codes]


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
    A. Bifet, G. de Francisci Morales, J. Read, G. Holmes, B. Pfahringer, Efficient online evaluation of big data stream
    classifiers, KDD 2015.
    """
    parsed = {text: json.loads(text) for text in shared_keys(values)}
    over = next(
        (name for name in ("fold", "permutation", "projection") if _count(parsed, name) > 1), None
    )
    if over is None:
        return None
    matrix = np.array([_means(of, parsed, over) for of in values]).T
    split = str(protocol.get("split", "given"))
    n, words = len(matrix), _WORDS[over]
    if over == "fold" and split.startswith("prequential-"):
        words, test = "models of prequential folds", "Wilcoxon"
        note = (
            "These tests say whether a difference is larger than that between models that saw "
            "other rows of this stream."
        )
    elif over == "fold":
        test = "corrected t"
        note = "Nadeau and Bengio's corrected t accounts for the training rows that folds share."
    else:
        test = "Wilcoxon"
        other = "orders" if over == "permutation" else "projections"
        note = f"These tests speak of the same rows in other {other}, not of new rows."
    p_of: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None
    if over == "fold" and test == "corrected t" and not metric.startswith("test_"):
        note = (
            f"Not tested: {metric} is of training rows, which folds share; a metric that "
            "begins with test_ is not."
        )
    elif n < LEAST:
        note = f"Not tested: {n} {words}, and at least {LEAST} are needed."
    elif test == "corrected t":
        p_of = partial(
            corrected_t, ratio=1.0 if split in HALVES else 1 / (int(protocol.get("folds", n)) - 1)
        )
    else:
        p_of = wilcoxon
    if not np.isfinite(matrix).all():
        return None
    means = matrix.mean(axis=0)
    order = np.argsort(-means if higher else means, kind="stable")
    names = [learners[i] for i in order]
    pairs = compare_pairs(matrix[:, order], names, higher, p_of, baseline)
    return Within(dataset, transforms, f"{n} {words}", pairs, test, note)


def _count(parsed: Mapping[str, Mapping[str, Any]], name: str) -> int:
    return len({of[name] for of in parsed.values() if name in of})


def _means(values: Values, parsed: Mapping[str, Mapping[str, Any]], over: str) -> list[float]:
    groups: dict[Any, list[float]] = defaultdict(list)
    for text, of in sorted(parsed.items()):
        groups[of[over]].append(values[text])
    return [float(np.mean(groups[which])) for which in sorted(groups)]
