"""Put the figures of a store into docs/one-pass.md: ``python -m tests.one_pass STORE``.

The page has tables between ``<!-- NAME -->`` and ``<!-- end -->``. A cell without a figure has not been
run; ranks are over the data sets on which all ranked learners have one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, nan, sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from olscale.analysis.ledger import figures
from olscale.analysis.mcnemar import Bits, wrong_rows
from olscale.analysis.paired_tests import holm
from olscale.analysis.rank_tests import critical_difference, friedman, rank
from olscale.analysis.summary import Summary, summarise
from olscale.evaluation.pipelines import load_pipeline
from olscale.evaluation.settings import settings
from olscale.results import Store, open_store
from olscale.results.plans import read_plans
from olscale.results.selections import read_selections
from tests.performance import replace

PAGE = Path(__file__).parents[1] / "docs" / "one-pass.md"
SVM = "batch-svm (tuned)"
REST = "batch-svm, one-vs-rest (tuned)"
REPLAY = "replay-svm"
LARGER = "replay-svm, B = 4096"
SOFT = "soft-lol"
MOST_TIMES = 1.25
"""Test error of replay-svm over that of the tuned machine that counts as near it."""

LEVEL = 0.05
RARE = ("w7a", "ijcnn1", "cbcl_face", "secom", "kdd99")
"""Data sets that have a class of fewer than a tenth of the rows."""


@dataclass(frozen=True)
class Study:
    """What a store has of the pipeline: summaries and wrong rows by learner, then data set."""

    sets: Sequence[str]
    learners: Sequence[str]
    summaries: Mapping[tuple[str, str], Mapping[str, Summary]]
    wrong: Mapping[tuple[str, str], Bits]
    test_rows: Mapping[str, int]

    def mean(self, learner: str, name: str, metric: str = "test_error") -> float:
        """Return the mean of a metric, NaN where the store has none."""
        summary = self.summaries.get((learner, name), {}).get(metric)
        return nan if summary is None or not summary.n else summary.mean

    def cell(self, learner: str, name: str, metric: str = "test_error") -> str:
        """Return mean and standard deviation in percent; the latter of several runs only."""
        summary = self.summaries.get((learner, name), {}).get(metric)
        if summary is None or not summary.n:
            return ""
        mean, std = 100 * summary.mean, 100 * summary.std
        if metric.endswith("balanced_accuracy"):
            mean = 100 - mean
        return f"{mean:.2f} ± {std:.2f}" if summary.n > 1 else f"{mean:.2f}"

    def ratio(self, learner: str, name: str, machines: Sequence[str] = (SVM,)) -> float:
        """Return the test error over the least of tuned machines, infinite over no errors."""
        error = self.mean(learner, name)
        # A set of two classes has no machine of one class against the rest.
        of_svm = min(
            (self.mean(machine, name) for machine in machines),
            key=lambda of_machine: (np.isnan(of_machine), of_machine),
        )
        if np.isnan(error):
            return nan
        if of_svm == 0.0:
            return 1.0 if error == 0.0 else inf
        return error / of_svm

    def p_of_rows(self, learner: str, other: str, name: str) -> float:
        """Return the p of `paired_p` on the test rows, NaN without shared permutations."""
        own = self.wrong.get((learner, name), {})
        others = self.wrong.get((other, name), {})
        shared = sorted(own.keys() & others.keys())
        if not shared:
            return nan
        return paired_p(
            [own[key] for key in shared],
            [others[key] for key in shared],
            self.test_rows[name],
        )


def paired_p(
    own: Sequence[NDArray[np.uint32]], others: Sequence[NDArray[np.uint32]], rows: int
) -> float:
    """Return the two-sided p of the paired t test over test rows, of mean mistakes over permutations.

    The rows are what chance draws, so it counts how few there are; permutations alone would not.
    """
    difference = sum(
        _of_rows(a, rows) - _of_rows(b, rows) for a, b in zip(own, others, strict=True)
    ) / len(own)
    deviation = difference.std(ddof=1)
    if deviation == 0.0:
        return 1.0
    t = abs(difference.mean()) / (deviation / sqrt(rows))
    return float(2 * stdtr(rows - 1, -t))


def _of_rows(bits: NDArray[np.uint32], rows: int) -> NDArray[np.float64]:
    return np.unpackbits(bits.view(np.uint8), bitorder="little")[:rows].astype(float)


def read_study(store: Store) -> Study:
    """Return what a store has of the pipeline."""
    experiment = load_pipeline("one-pass")
    asked = settings(experiment, read_selections(store))
    shown = {
        name: spec.label or str(spec.name)
        for spec in experiment.datasets
        for name in spec.names()
    }
    of_store = figures(summarise(store))
    wrong = {
        key.as_asked(): bits
        for key, bits in wrong_rows(store, "test_wrong_rows").items()
    }
    summaries = {}
    bits_of = {}
    for setting in asked.settings:
        place = (setting.label, shown[setting.dataset])
        if setting.key in of_store:
            summaries[place] = of_store[setting.key]
            bits_of[place] = wrong.get(setting.key, {})
    test_rows = {
        shown[planned.name]: planned.facts["rows"]["test"]
        for plan in read_plans(store)
        for planned in plan.datasets
        if planned.name in shown
    }
    return Study(
        tuple(dict.fromkeys(shown.values())),
        tuple(dict.fromkeys(setting.label for setting in asked.settings)),
        summaries,
        bits_of,
        test_rows,
    )


def errors(study: Study) -> str:
    """Return the table of test errors, the largest ratio to the tuned machine first."""
    names = sorted(
        study.sets,
        key=lambda name: -np.nan_to_num(study.ratio(REPLAY, name), nan=-1.0),
    )
    p_of_set = dict(zip(names, corrected(study, names), strict=True))
    lines = []
    for name in names:
        p = p_of_set[name]
        sign = "<" if study.mean(REPLAY, name) < study.mean(SOFT, name) else ">"
        lines.append(
            (
                name,
                study.cell(SVM, name),
                study.cell(REST, name),
                study.cell(REPLAY, name),
                _times(study.ratio(REPLAY, name)),
                study.cell(LARGER, name),
                _times(study.ratio(LARGER, name)),
                study.cell(SOFT, name),
                "" if np.isnan(p) else f"{sign if p < LEVEL else '='} ({p:.2g})",
            )
        )
    head = (
        "",
        SVM,
        "one-vs-rest",
        REPLAY,
        "times",
        LARGER,
        "times",
        SOFT,
        "replay-svm is (p)",
    )
    return table(head, lines)


def corrected(study: Study, names: Sequence[str]) -> NDArray[np.float64]:
    """Return p of replay-svm against soft-lol on each data set, corrected by Holm's method."""
    p = np.array([study.p_of_rows(REPLAY, SOFT, name) for name in names])
    is_known = ~np.isnan(p)
    p[is_known] = holm(p[is_known])
    return p


def conditions(study: Study) -> str:
    """Return whether replay-svm is near the tuned machine, and never behind soft-lol.

    What was not run may still decide: it is open then.
    """
    lines = []
    opponents = {SVM: (SVM,), f"the better of {SVM} and one-vs-rest": (SVM, REST)}
    for learner, (opponent, machines) in product((REPLAY, LARGER), opponents.items()):
        ratios = np.array([study.ratio(learner, name, machines) for name in study.sets])
        missing = np.count_nonzero(np.isnan(ratios))
        near = np.count_nonzero(ratios <= MOST_TIMES)
        enough = 2 * len(study.sets) / 3
        what = f"{learner} at most {MOST_TIMES} times {opponent}, on two thirds of the sets"
        on = f"{near} of {len(ratios) - missing}, {missing} not run"
        lines.append((what, on, _verdict(near >= enough, near + missing >= enough)))
    p = corrected(study, study.sets)
    behind = [
        name
        for name, of_set in zip(study.sets, p, strict=True)
        if of_set < LEVEL and study.mean(REPLAY, name) > study.mean(SOFT, name)
    ]
    missing = np.count_nonzero(np.isnan(p))
    what = f"{REPLAY} above {SOFT} by more than chance, on none"
    on = f"{', '.join(behind) or 'none'}, {missing} not run"
    lines.append((what, on, _verdict(not behind and not missing, not behind)))
    return table(("condition", "on", ""), lines)


def _verdict(holds: bool, may_hold: bool) -> str:
    if holds:
        return "holds"
    return "open" if may_hold else "does not hold"


def others(study: Study) -> str:
    """Return the test errors of the learners that the first table leaves out."""
    learners = [
        learner
        for learner in study.learners
        if learner not in (SVM, REST, REPLAY, LARGER, SOFT)
        and any(study.cell(learner, name) for name in study.sets)
    ]
    return _by_set(study, learners, study.sets, "test_error")


def along(study: Study) -> str:
    """Return errors along the stream."""
    return _by_set(study, (REPLAY, LARGER, SOFT), study.sets, "cumulative_error")


def balanced(study: Study) -> str:
    """Return balanced errors on the test rows where a class is rare."""
    return _by_set(study, (SVM, REPLAY, LARGER, SOFT), RARE, "test_balanced_accuracy")


def costs(study: Study) -> str:
    """Return thousands of rows per processor second, and megabytes of the final model."""
    lines = []
    for name in study.sets:
        cells = []
        for learner in (REPLAY, LARGER, SOFT):
            speed = study.mean(learner, name, "rows_per_cpu_second") / 1e3
            size = study.mean(learner, name, "model_bytes") / 1e6
            cells.append("" if np.isnan(speed) else f"{speed:.1f}, {size:.2f}")
        lines.append((name, *cells))
    return table(("", REPLAY, LARGER, SOFT), lines)


def ranks(study: Study) -> str:
    """Return mean ranks by test error, with the difference that is no chance."""
    learners = list(study.learners)
    errors = np.array(
        [[study.mean(learner, name) for learner in learners] for name in study.sets]
    )
    # The machine and its rival are always ranked; a learner that was run on a few sets is not.
    is_ranked = (~np.isnan(errors)).mean(axis=0) >= 0.75
    errors = errors[:, is_ranked]
    compared = errors[~np.isnan(errors).any(axis=1)]
    names = [name for name, kept in zip(learners, is_ranked, strict=True) if kept]
    if len(names) < 3 or len(compared) < 5:
        return table(("learner", "mean rank"), [])
    by_set = rank(compared)
    means = by_set.mean(axis=0)
    test = friedman(by_set)
    distance = critical_difference(len(names), len(compared))
    lines = [(names[i], f"{means[i]:.2f}") for i in np.argsort(means, kind="stable")]
    note = (
        f"\nOver {len(compared)} sets; Friedman's p is {test.p:.2g}, and mean ranks that differ by less "
        f"than {distance:.2f} do not differ by Nemenyi's test.\n"
    )
    return table(("learner", "mean rank"), lines) + note


def _by_set(
    study: Study, learners: Sequence[str], names: Sequence[str], metric: str
) -> str:
    if not learners:
        return ""
    lines = [
        (name, *(study.cell(learner, name, metric) for learner in learners))
        for name in names
    ]
    return table(("", *learners), lines)


def _times(ratio: float) -> str:
    if np.isnan(ratio):
        return ""
    text = f"{ratio:.2f}" if ratio < inf else "none to compare with"
    return text if ratio <= MOST_TIMES else f"**{text}**"


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return lines of cells as Markdown."""
    rows = [head, ["---"] * len(head), *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main(store: str) -> None:
    """Renew the tables of the page."""
    study = read_study(open_store(store))
    page = PAGE.read_text(encoding="utf-8")
    for make in (conditions, errors, others, ranks, balanced, along, costs):
        page = replace(page, make.__name__, make(study))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
