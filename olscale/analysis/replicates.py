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

from olscale.analysis.compare import LEAST, Pair, compare_pairs
from olscale.analysis.matched_blocks import shared_keys
from olscale.analysis.paired_tests import corrected_t, wilcoxon
from olscale.analysis.summary import Summary, replicate_text, without_replicate
from olscale.data.splits import HALVES
from olscale.results import Store, canonical_json
from olscale.results.store import OnDamage

T = TypeVar("T")
_KEY = ("dataset", "fingerprint", "transforms", "learner", "version", "params")
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


SettingFigures = Mapping[tuple[Any, ...], Values]
"""The figures of a store, by setting (`setting_of`) and replicate."""


class ReplicateFigures:
    """The metrics and timings of each run that ended ``ok``; the store is read once, however many are asked for.

    Parameters
    ----------
    store : Store
    on_damage : {"raise", "skip"}
    """

    def __init__(self, store: Store, on_damage: OnDamage = "raise") -> None:
        runs = _ok_runs(store, ("id", "metrics"), on_damage)
        damaged = store.damaged
        timings = store.timings(on_damage, ("id", "timings"), runs["id"])
        store.damaged = (*damaged, *store.damaged)
        rows = pc.index_in(runs["id"], timings["id"].combine_chunks())
        self._maps = (runs["metrics"], timings["timings"].take(rows))
        self._keys = list(_keys(runs))

    def of(self, metric: str) -> SettingFigures:
        """Return one metric or timing, of the runs that have it."""
        figures: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
        columns = [pc.map_lookup(maps, metric, "first").to_pylist() for maps in self._maps]
        for (setting, replicate), measured, timed in zip(self._keys, *columns, strict=True):
            value = timed if measured is None else measured
            if value is not None:
                figures[setting][replicate] = value
        return figures


def by_replicate(
    store: Store, column: str, read: Callable[[pa.ChunkedArray], Iterable[T | None]], on_damage: OnDamage = "raise"
) -> dict[tuple[Any, ...], dict[str, T]]:
    """Return what `read` makes of a column of runs that ended ``ok``, where it is something, by setting and replicate."""
    runs = _ok_runs(store, (column,), on_damage)
    values: dict[tuple[Any, ...], dict[str, T]] = defaultdict(dict)
    for (setting, replicate), value in zip(_keys(runs), read(runs[column]), strict=True):
        if value is not None:
            values[setting][replicate] = value
    return values


def _ok_runs(store: Store, columns: Sequence[str], on_damage: OnDamage) -> pa.Table:
    runs = store.read((*_KEY, "protocol", "outcome", *columns), on_damage)
    return runs.filter(pc.equal(runs["outcome"], "ok"))


def _keys(runs: pa.Table) -> Iterable[tuple[tuple[Any, ...], str]]:
    """Yield the setting and the replicate of each run."""
    cells = [runs[name].to_pylist() for name in (*_KEY, "protocol")]
    for *key, protocol in zip(*cells, strict=True):
        key[2] = tuple(key[2])
        yield (*key, without_replicate(protocol)), replicate_text(protocol)


def setting_of(s: Summary) -> tuple[Any, ...]:
    """Return the key of a summary in `replicate_values`."""
    setting = s.dataset, s.fingerprint, s.transforms, s.learner, s.version
    return *setting, canonical_json(dict(s.params)), canonical_json(dict(s.protocol))


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

    Folds come first, with permutations of theirs averaged; else permutations, with projections averaged; else projections.
    Only replicates that all have count.

    References
    ----------
    A. Bifet, G. de Francisci Morales, J. Read, G. Holmes, B. Pfahringer, Efficient online evaluation of big data stream
    classifiers, KDD 2015.
    """
    parsed = {text: json.loads(text) for text in shared_keys(values)}
    over = next((name for name in ("fold", "permutation", "projection") if _count(parsed, name) > 1), None)
    if over is None:
        return None
    matrix = np.array([_means(of, parsed, over) for of in values]).T
    split = str(protocol.get("split", "given"))
    n, words = len(matrix), _WORDS[over]
    if over == "fold" and split.startswith("prequential-"):
        words, test = "models of prequential folds", "Wilcoxon"
        note = "These tests say whether a difference is larger than that between models that saw other rows of this stream."
    elif over == "fold":
        test = "corrected t"
        note = "Nadeau and Bengio's corrected t accounts for the training rows that folds share."
    else:
        test = "Wilcoxon"
        other = "orders" if over == "permutation" else "projections"
        note = f"These tests speak of the same rows in other {other}, not of new rows."
    p_of: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None
    if over == "fold" and test == "corrected t" and not metric.startswith("test_"):
        note = f"Not tested: {metric} is of training rows, which folds share; a metric that begins with test_ is not."
    elif n < LEAST:
        note = f"Not tested: {n} {words}, and at least {LEAST} are needed."
    elif test == "corrected t":
        p_of = partial(corrected_t, ratio=1.0 if split in HALVES else 1 / (int(protocol.get("folds", n)) - 1))
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
