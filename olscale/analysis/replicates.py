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
from olscale.analysis.paired_tests import corrected_t, wilcoxon
from olscale.analysis.summary import Summary, without_replicate
from olscale.data.splits import HALVES
from olscale.results import Store, canonical_json
from olscale.results.settings import REPLICATES
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
    over : str
        What was compared over: ``"10 folds"``.
    pairs : tuple of Pair
        p is that of `test`; NaN if there are fewer than five.
    test : str
    note : str
        What a reader must know.
    """

    dataset: str
    over: str
    pairs: tuple[Pair, ...]
    test: str
    note: str


Values = Mapping[str, float]
"""The figures of a setting by what tells its replicates apart, as canonical JSON."""


def replicate_values(
    store: Store, metric: str, on_damage: OnDamage = "raise"
) -> dict[tuple[Any, ...], dict[str, float]]:
    """Return a metric of each run that ended ``ok``, by setting (`setting_of`) and replicate."""
    return by_replicate(store, "metrics", lambda cells: pc.map_lookup(cells, metric, "first").to_pylist(), on_damage)


def by_replicate(
    store: Store, column: str, read: Callable[[pa.ChunkedArray], Iterable[T | None]], on_damage: OnDamage = "raise"
) -> dict[tuple[Any, ...], dict[str, T]]:
    """Return what `read` makes of a column of runs that ended ``ok``, where it is something, by setting and replicate."""
    runs = store.read((*_KEY, "protocol", "outcome", column), on_damage)
    runs = runs.filter(pc.equal(runs["outcome"], "ok"))
    found: dict[tuple[Any, ...], dict[str, T]] = defaultdict(dict)
    cells = [runs[name].to_pylist() for name in (*_KEY, "protocol")]
    for value, *key, protocol in zip(read(runs[column]), *cells, strict=True):
        if value is not None:
            given = json.loads(protocol)
            replicate = canonical_json({name: given[name] for name in REPLICATES if name in given})
            key[2] = tuple(key[2])
            found[*key, without_replicate(protocol)][replicate] = value
    return found


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
) -> Within | None:
    """Compare learners over what was repeated on one data set; None if nothing was.

    Folds come first, with permutations of theirs averaged; else permutations, with projections averaged; else projections.

    References
    ----------
    A. Bifet, G. de Francisci Morales, J. Read, G. Holmes, B. Pfahringer, Efficient online evaluation of big data stream
    classifiers, KDD 2015.
    """
    common = set.intersection(*(set(of) for of in values)) if values else set()
    parsed = {text: json.loads(text) for text in common}
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
    p_of: Callable[[NDArray[np.float64]], float] | None = None
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
    return Within(
        dataset, f"{n} {words}", compare_pairs(matrix[:, order], names, higher, p_of, None, baseline), test, note
    )


def _count(parsed: Mapping[str, Mapping[str, Any]], name: str) -> int:
    return len({of[name] for of in parsed.values() if name in of})


def _means(values: Values, parsed: Mapping[str, Mapping[str, Any]], over: str) -> list[float]:
    groups: dict[Any, list[float]] = defaultdict(list)
    for text, of in sorted(parsed.items()):
        groups[of[over]].append(values[text])
    return [float(np.mean(groups[which])) for which in sorted(groups)]
