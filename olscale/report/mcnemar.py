"""McNemar's test of learners on the same rows, as tables and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from olscale.analysis.mcnemar import ROWS, PairCounts, compare_rows, wrong_rows
from olscale.analysis.rank_tests import ALPHA
from olscale.learners.foresight import is_counted_in_time
from olscale.report.comparison import Compared
from olscale.report.comparison_tables import p_text, shown_pairs
from olscale.report.comparison_within import dataset_text
from olscale.report.tables import Entry, Table
from olscale.results import Store
from olscale.results.store import OnDamage

_WARNING = (
    "Along one stream McNemar's test finds differences too easily, also between two models of one "
    "learner: prequential "
    "folds, compared by Wilcoxon's test, are the better answer (Bifet et al. 2015)."
)
_OF_PASSES = (
    " A row counts once in each of {} passes, though these are not independent: p is too "
    "small."
)
_OF_TEST_ROWS = (
    "The test speaks of these two final models, not of learners trained on other rows."
)


@dataclass(frozen=True, slots=True, eq=False)
class RowsCompared:
    """The learners of one protocol on the rows of one data set.

    Parameters
    ----------
    dataset : str
        Its name, with the transforms if it occurs with several.
    transforms : tuple of str
    rows : str
        One of the values of `olscale.analysis.mcnemar.ROWS`.
    pairs : tuple of PairCounts
    best : str
        The learner of the best mean rank, or the baseline.
    note : str
        A caution for readers.
    """

    dataset: str
    transforms: tuple[str, ...]
    rows: str
    pairs: tuple[PairCounts, ...]
    best: str
    note: str


def rows_compared(
    one: Compared, store: Store, on_damage: OnDamage = "raise"
) -> Iterator[RowsCompared]:
    """Yield the results of McNemar's test on each data set whose protocol requests it."""
    if not one.protocol.get("mcnemar"):
        return
    outcome = one.outcome
    # Bits of all runs are read once, not once per data set.
    for name, rows in ROWS.items():
        bits = wrong_rows(store, name, on_damage)
        # On test rows every learner predicts, so only rows of the stream exclude late ones.
        late = []
        if name == "wrong_rows":
            late = _late_learners(one)
        if outcome.baseline in late:  # then no pair is left
            continue
        learners = [learner for learner in outcome.learners if learner not in late]
        for dataset in outcome.datasets:
            for way, blocks in one.ways(dataset).items():
                of = [one.by_replicate(bits, learner, blocks) for learner in learners]
                pairs = compare_rows(learners, of, outcome.baseline)
                # No run has such rows, for example without a test split.
                if not pairs and not any(of):
                    continue
                note = _OF_TEST_ROWS
                if not pairs:
                    note = (
                        "The test was asked for, but no run is common to all learners: nothing "
                        "is compared."
                    )
                elif name == "wrong_rows":
                    passes = one.protocol.get("passes", 1)
                    note = _WARNING
                    if passes > 1:
                        note += _OF_PASSES.format(passes)
                if late:
                    names = ", ".join(late)
                    note += f" Left out, as they predict nothing by the first rows: {names}."
                if pairs:
                    note = " ".join([note, *one.cautions("error", learners)])
                # Learners are in the order of their mean ranks.
                best = outcome.baseline or learners[0]
                yield RowsCompared(
                    dataset_text(one, dataset, way),
                    way.transforms,
                    rows,
                    pairs,
                    best,
                    note,
                )


def _late_learners(one: Compared) -> list[str]:
    """Return the learners that make no predictions for the first rows, although these count."""
    return [
        learner
        for learner in one.outcome.learners
        if not all(
            is_counted_in_time(setting.learner, setting.protocol)
            for dataset in one.outcome.datasets
            for setting in one.settings(learner, dataset)
        )
    ]


def rows_table(found: RowsCompared) -> Table:
    """Return one row per pair: rows that only one of them predicts correctly, and p."""
    title = f"McNemar's test on {found.rows} of {found.dataset}"
    if not found.pairs:
        return Table(
            title, ("common runs",), ("all learners",), ((Entry("0"),),), (found.note,)
        )
    pairs, note = shown_pairs(found.pairs, found.best)
    n = len(pairs[0].p)
    columns = ["first only", "second only", "p", "corrected p"]
    if n > 1:
        columns.append("significant")
    entries = []
    for pair in pairs:
        counts = [
            Entry(_count(float(of.mean()))) for of in (pair.a_alone, pair.b_alone)
        ]
        # The median, because means of p values over runs have no meaning.
        corrected = float(np.median(pair.p_corrected))
        # By run: how often a difference shows says more than a p value that is
        # averaged.
        significant = int((pair.p_corrected <= ALPHA).sum())
        line = [
            *counts,
            Entry(p_text(float(np.median(pair.p)))),
            Entry(p_text(corrected), best=corrected <= ALPHA),
        ]
        if n > 1:
            line.append(Entry(f"{significant} of {n}"))
        entries.append(tuple(line))
    notes = [
        "Rows that only one of the two predicts rightly; p: exact McNemar test, corrected by Holm."
    ]
    if n > 1:
        notes.append(
            f"Means of the counts and medians of p over {n} runs of each learner; significant: in "
            "how many."
        )
    names = tuple(f"{pair.a} : {pair.b}" for pair in pairs)
    return Table(
        title,
        tuple(columns),
        names,
        tuple(entries),
        (*notes, found.note, *note),
        best="corrected p at most 0.05",
    )


def rows_data(
    comparisons: Sequence[RowsCompared], learners: Sequence[str]
) -> list[dict[str, Any]]:
    """Return what a page shows of two learners that its reader chooses among `learners`.

    Each pair is the places of both, the rows that only one of them predicts rightly, and p.
    """
    place = {name: i for i, name in enumerate(learners)}
    tests = []
    for compared_rows in comparisons:
        pairs = [
            [
                place[pair.a],
                place[pair.b],
                _count(float(pair.a_alone.mean())),
                _count(float(pair.b_alone.mean())),
                p_text(float(np.median(pair.p_corrected))),
            ]
            for pair in compared_rows.pairs
            if pair.a in place and pair.b in place
        ]
        where = f"{compared_rows.dataset}, {compared_rows.rows}"
        tests.append({"where": where, "pairs": pairs, "note": compared_rows.note})
    # A page that offers a test has figures for it.
    return [test for test in tests if test["pairs"]]


def _count(mean: float) -> str:
    return f"{mean:,.1f}".removesuffix(".0")


def rows_objects(compared: Sequence[RowsCompared]) -> list[dict[str, Any]]:
    """Return plain JSON values; the arrays of a pair have a number for each run of a learner."""
    return [
        {
            "dataset": compared_rows.dataset,
            "transforms": list(compared_rows.transforms),
            "rows": compared_rows.rows,
            "note": compared_rows.note,
            "pairs": [_object(pair) for pair in compared_rows.pairs],
        }
        for compared_rows in compared
    ]


def _object(pair: PairCounts) -> dict[str, Any]:
    values = {field.name: getattr(pair, field.name) for field in fields(pair)}
    return {
        name: value if isinstance(value, str) else value.tolist()
        for name, value in values.items()
    }
