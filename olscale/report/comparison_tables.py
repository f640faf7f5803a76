"""A comparison of learners as tables and as JSON."""

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from olscale.analysis.compare import LEAST, Comparison, Pair
from olscale.analysis.mcnemar import PairCounts
from olscale.analysis.rank_tests import ALPHA
from olscale.analysis.replicates import Within
from olscale.analysis.standing import looked_ahead
from olscale.analysis.status import ExperimentProgress
from olscale.measures import figure_of, measure_of, metric_words
from olscale.report.comparison import Compared
from olscale.report.labels import metric_text, protocol_parts, protocol_text
from olscale.report.marks import Mark, caution_marks, is_of_classes, look_ahead_mark
from olscale.report.tables import Entry, Table

P = TypeVar("P", Pair, PairCounts)
SHADES = 5
_ENCODER = json.JSONEncoder(allow_nan=False)
_MOST_PAIRS = 200
"""Most pairs in a table; twenty learners have 190."""

_SURE = 0.95
_BOLD = "corrected p at most 0.05, or probability above 0.95"


def rank_table(one: Compared) -> Table:
    """Return learners by data sets, the best mean rank first, with what the tests say below."""
    outcome = one.outcome
    columns = ["mean rank", *outcome.datasets]
    if one.beside is not None:
        columns.insert(1, f"by {metric_words(one.beside.metric)}")
    rows = [i for i, name in enumerate(outcome.learners) if name in one.shown]
    alike = set()
    if outcome.tested:
        # The learner that others are compared with needs no mark of being like itself.
        alike = set(outcome.alike()) - {_against(outcome)}
    best = _best_learners(one)
    mark = look_ahead_mark(
        item for names in _looked_ahead(one).values() for item in names
    )
    entries = [_rank_entries(one, i, alike, best, mark) for i in rows]
    title = f"Ranks by {metric_text(one.metric)}, {protocol_text(one.protocol)}"
    notes = [*_shown_note(one), *one.notes, *verdicts(one)]
    names = tuple(outcome.learners[i] for i in rows)
    return Table(
        title,
        tuple(columns),
        names,
        tuple(entries),
        tuple(notes),
        one.advice,
        heading=f"Ranks by {metric_text(one.metric)}",
        chips=tuple(protocol_parts(one.protocol)),
    )


def _best_learners(one: Compared) -> list[set[int]]:
    """Return the learners to be marked, by mean rank and then per data set.

    Figures of classes are left out; a single figure among them is not marked.
    """
    outcome = one.outcome
    settings = [[one.behind(name) for name in outcome.learners]]
    for dataset in outcome.datasets:
        settings.append([one.settings(name, dataset) for name in outcome.learners])
    best = []
    for ranks, of_learners in zip(
        [outcome.mean_ranks, *outcome.ranks], settings, strict=True
    ):
        able = [
            i
            for i, summaries in enumerate(of_learners)
            if not is_of_classes(summaries, one.metric)
        ]
        # NaN equals no rank, so nothing is marked without a competitor.
        least = math.nan
        if len(able) > 1:
            least = ranks[able].min()
        best.append({i for i in able if ranks[i] == least})
    return best


def _rank_entries(
    one: Compared, i: int, alike: Collection[str], best: Sequence[set[int]], ahead: Mark
) -> tuple[Entry, ...]:
    """Return a learner's line: mean rank, the rank by the other metric if any, and figures."""
    outcome = one.outcome
    name = outcome.learners[i]
    marks = caution_marks(one.behind(name), one.metric)
    mean_rank = f"{outcome.mean_ranks[i]:.2f}"
    line = [Entry(mean_rank, best=i in best[0], alike=name in alike, marks=marks)]
    if one.beside is not None:
        line.append(_rank_beside(one.beside, name))
    for j, dataset in enumerate(outcome.datasets):
        place = float(outcome.ranks[j, i])
        settings = one.settings(name, dataset)
        cell_marks = caution_marks(settings, one.metric)
        if _seen_on(one, name, dataset):
            cell_marks = (*cell_marks, ahead)
        line.append(
            Entry(
                figure_of(one.metric, float(outcome.values[j, i])),
                best=i in best[j + 1],
                partial=any(s.failures for s in settings),
                shade=1
                # Ranks 1 to the number of learners are spread over the shades 1 to 5;
                # ties have ranks between.
                + round((SHADES - 1) * (place - 1) / (len(outcome.learners) - 1)),
                marks=cell_marks,
            )
        )
    return tuple(line)


def _rank_beside(other: Compared, name: str) -> Entry:
    """Return the mean rank of a learner by the other headline."""
    ranks = _mean_ranks(other.outcome)
    if name not in ranks:
        return Entry(note="-")
    return Entry(
        f"{ranks[name]:.2f}", marks=caution_marks(other.behind(name), other.metric)
    )


def _looked_ahead(one: Compared) -> dict[str, list[str]]:
    """Return, by learner, what saw rows before they were predicted, if anything did."""
    by_learner = {}
    for name in one.outcome.learners:
        items = [
            what
            for dataset in one.outcome.datasets
            for what in _seen_on(one, name, dataset)
        ]
        # Data sets repeat items; a dict drops repetitions and keeps the order.
        by_learner[name] = list(dict.fromkeys(items))
    return {name: items for name, items in by_learner.items() if items}


def _seen_on(one: Compared, learner: str, dataset: str) -> list[str]:
    return [
        what
        for setting in one.settings(learner, dataset)
        for what in looked_ahead(setting)
    ]


def _mean_ranks(outcome: Comparison) -> dict[str, float]:
    return dict(zip(outcome.learners, outcome.mean_ranks.tolist(), strict=True))


def _shown_note(one: Compared) -> list[str]:
    """Say which ranked and tested learners are not shown."""
    shown = len(one.shown)
    every = len(one.outcome.learners)
    if shown == every:
        return []
    return [
        f"{shown} of {every} learners and settings are shown, of each learner the best setting; "
        f"ranks, p values and groups are those of all {every}, which olscale compare shows."
    ]


def _against(outcome: Comparison) -> str:
    return outcome.baseline or outcome.learners[0]


def verdicts(one: Compared) -> list[str]:
    """Return the results of the tests over data sets, one sentence per test."""
    outcome = one.outcome
    n = len(outcome.datasets)
    pairs = len(outcome.pairs)
    # A reader would take silence for "no difference".
    if not outcome.tested:
        few = f"Not tested: {n} data sets, and at least {LEAST} are needed"
        if n == 1:
            few = f"Not tested: 1 data set, and at least {LEAST} are needed"
        return [
            f"{few}; of so few no test over data sets can tell a difference from chance."
        ]
    notes = []
    friedman = outcome.friedman
    # NaN equals nothing, itself included: the statistic may be undefined.
    if friedman.p == friedman.p:
        davenport = (
            f"Iman-Davenport: F {friedman.f:.2f}, p {p_text(friedman.f_p, '= ')}"
        )
        notes.append(
            f"Friedman: chi-square {friedman.statistic:.2f}, p {p_text(friedman.p, '= ')}; "
            f"{davenport}."
        )
    if outcome.test == "nemenyi" and outcome.baseline is None:
        notes.append(
            f"Nemenyi: mean ranks differ at 5 % if by {outcome.critical:.2f} or more."
        )
    else:
        what = "each two"
        if outcome.baseline:
            what = f"{outcome.baseline} with each other"
        corrected = f", Holm's correction of {pairs}"
        if pairs == 1:
            corrected = ""
        notes.append(f"Tests of {what}: Wilcoxon's signed ranks{corrected}, level 5 %.")
        notes += too_few_note(outcome)
    if len(outcome.alike()) > 1:
        than = "from the best"
        if outcome.baseline:
            than = f"from {outcome.baseline}"
        elif is_of_classes(one.behind(outcome.learners[0]), one.metric):
            than = f"from {outcome.learners[0]}, which has the best mean rank"
        notes.append(
            f"~ does not differ significantly {than}; that is no proof that they are equal."
        )
    if outcome.baseline is None:
        groups = "; ".join(", ".join(clique) for clique in outcome.cliques)
        if len(outcome.cliques) == 1 and len(outcome.cliques[0]) == len(
            outcome.learners
        ):
            notes.append("No two differ significantly.")
        elif groups:
            notes.append(f"No significant difference within: {groups}.")
        else:
            notes.append("Every two differ significantly.")
    return notes


def too_few_note(outcome: Comparison) -> list[str]:
    """Say that no test of a pair can be significant, if the data sets are too few for it."""
    if not outcome.tested or (outcome.test == "nemenyi" and outcome.baseline is None):
        return []
    n = len(outcome.datasets)
    pairs = len(outcome.pairs)
    # Signed ranks of n data sets have 2 ** n equally likely signs: p is at least 2 ** (1 - n).
    least = pairs * 2.0 ** (1 - n)
    if least <= ALPHA:
        return []
    tests = f"{pairs} tests"
    if pairs == 1:
        tests = "one test"
    return [
        f"With {n} data sets the least p of {tests} is {p_text(min(1.0, least))}: "
        "none can be significant."
    ]


def p_text(p: float, sign: str = "") -> str:
    """Return a p value."""
    if p < 1e-4:
        return "< 0.0001"
    if math.isnan(p):
        return "-"
    if p < 0.1:
        return f"{sign}{p:.2g}"
    return f"{sign}{p:.2f}"


def pair_table(
    pairs: Sequence[Pair],
    metric: str,
    title: str,
    notes: Sequence[str] = (),
    rope: float = 0.0,
) -> Table:
    """Return one row per pair: wins, ties and losses, differences, p values, probabilities."""
    tested = any(not math.isnan(pair.p) for pair in pairs)
    bayes = any(pair.posterior for pair in pairs)
    columns = ["wins/ties/losses", "difference"]
    if tested:
        columns += ["p", "corrected p", "sign p"]
    if bayes:
        columns += ["better", "same", "worse"]
    entries = []
    for pair in pairs:
        line = [
            Entry(f"{pair.wins}/{pair.ties}/{pair.losses}"),
            Entry(figure_of(metric, pair.difference)),
        ]
        if tested:
            line += [
                Entry(p_text(pair.p)),
                Entry(p_text(pair.p_corrected), best=pair.p_corrected <= ALPHA),
            ]
            line.append(Entry(p_text(pair.p_sign)))
        if pair.posterior:
            below, within, above = pair.posterior
            # Posteriors are of differences, whose good direction depends on the metric.
            better = below
            worse = above
            if measure_of(metric).better == "higher":
                better = above
                worse = below
            line += [
                Entry(f"{share:.2f}", best=share > _SURE)
                for share in (better, within, worse)
            ]
        entries.append(tuple(line))
    lines = list(notes)
    if bayes:
        width = "no difference counts as the same"
        if rope:
            width = f"differences up to {figure_of(metric, rope)} are the same"
        lines.append(
            f"better, same, worse: probabilities by Bayesian signed ranks; {width}."
        )
    names = tuple(f"{pair.a} : {pair.b}" for pair in pairs)
    return Table(title, tuple(columns), names, tuple(entries), tuple(lines), best=_BOLD)


def comparison_tables(one: Compared, within: Sequence[Within] = ()) -> list[Table]:
    """Return all tables of a comparison."""
    results = [rank_table(one)]
    cautions = one.cautions(one.metric, one.outcome.learners)
    if one.outcome.pairs:
        shown, note = shown_pairs(one.outcome.pairs, _against(one.outcome))
        pairs = one.outcome.with_posteriors(shown, one.rope)
        title = f"Pairs by {metric_text(one.metric)}"
        results.append(
            pair_table(pairs, one.metric, title, [*note, *cautions], one.rope)
        )
    for of_dataset in within:
        title = f"Pairs on {of_dataset.dataset}, over {of_dataset.over}"
        notes = [of_dataset.note]
        if not of_dataset.note.startswith("Not"):
            notes = [f"p: {of_dataset.test}, corrected by Holm.", of_dataset.note]
        shown, note = shown_pairs(of_dataset.pairs, _against(one.outcome))
        results.append(pair_table(shown, one.metric, title, [*notes, *note, *cautions]))
    return results


def shown_pairs(pairs: Sequence[P], best: str) -> tuple[Sequence[P], list[str]]:
    """Return the pairs that a reader can take in, and a note on the others.

    If there are very many, only the pairs with the best learner are shown.
    """
    if len(pairs) <= _MOST_PAIRS:
        return pairs, []
    with_best = [pair for pair in pairs if best in (pair.a, pair.b)]
    return with_best, [
        f"{len(with_best)} of {len(pairs):,} pairs, those with {best}; --format json has all."
    ]


def comparison_json(
    comparisons: Sequence[tuple[Compared, Sequence[Within], Sequence[dict[str, Any]]]],
    unfinished: Sequence[ExperimentProgress] = (),
) -> str:
    """Return a JSON object of the first comparison, with those of other protocols under ``others``.

    Each comes with comparisons within data sets, and with the content of ``mcnemar``.
    """
    objects = [
        _object(comparison, within) | {"mcnemar": list(on_rows)}
        for comparison, within, on_rows in comparisons
    ]
    if not objects:
        return "{}\n"
    first = objects[0] | {
        "unfinished": [asdict(progress) for progress in unfinished],
        "others": objects[1:],
    }
    return _lines(first) + "\n"


def _lines(value: Any, margin: str = "") -> str:
    """Return JSON with one line per item of an object and per item of a list in an object."""
    inner = margin + " "
    if isinstance(value, dict) and value:
        items = [
            f"{json.dumps(name)}: {_lines(item, inner)}" for name, item in value.items()
        ]
        brackets = "{}"
    elif isinstance(value, list) and value:
        # The indenting encoder would take seconds for many pairs.
        items = [_ENCODER.encode(item) for item in value]
        brackets = "[]"
    else:
        return _ENCODER.encode(value)
    separator = f",\n{inner}"
    return f"{brackets[0]}\n{inner}{separator.join(items)}\n{margin}{brackets[1]}"


def _object(one: Compared, within: Sequence[Within]) -> dict[str, Any]:
    o = one.outcome
    return {
        "metric": one.metric,
        "protocol": dict(one.protocol),
        "datasets": list(o.datasets),
        "learners": list(o.learners),
        "values": o.values.tolist(),
        "mean_ranks": _mean_ranks(o),
        "friedman_statistic": _finite(o.friedman.statistic),
        "friedman_p": _finite(o.friedman.p),
        "iman_davenport_f": _finite(o.friedman.f),
        "iman_davenport_p": _finite(o.friedman.f_p),
        "test": o.test if o.tested else None,
        "critical_difference": _finite(o.critical),
        "cliques": [list(clique) for clique in o.cliques],
        "baseline": o.baseline,
        "rope": one.rope,
        "pairs": [_pair(pair) for pair in o.with_posteriors(o.pairs, one.rope)],
        "within": [
            {
                "dataset": w.dataset,
                "transforms": list(w.transforms),
                "over": w.over,
                "test": w.test,
                "note": w.note,
                "pairs": list(map(_pair, w.pairs)),
            }
            for w in within
        ],
        "blocks": {
            name: [
                {"transforms": list(way.transforms), "runs": len(blocks)}
                for way, blocks in one.ways(name).items()
            ]
            for name in o.datasets
        },
        "left_out": [asdict(omission) for omission in one.left_out],
        "own_transforms": _own_transforms(one),
        "looks_ahead": _looked_ahead(one),
        "beside": _beside(one.beside),
        "notes": [*one.notes, *verdicts(one)],
        "cautions": {
            name: sorted({text for s in one.behind(name) for text in s.cautions})
            for name in o.learners
            if any(s.cautions for s in one.behind(name))
        },
    }


def _own_transforms(one: Compared) -> dict[str, dict[str, list[str]]]:
    """Return, by learner and data set, transforms that are not those of its column."""
    transforms = {
        name: {
            dataset: list(s.transforms)
            for dataset in one.outcome.datasets
            for s in one.settings(name, dataset)
            if s.joined is not None
        }
        for name in one.outcome.learners
    }
    return {name: own for name, own in transforms.items() if own}


def _beside(other: Compared | None) -> dict[str, Any] | None:
    """Return the ranks by the other headline."""
    if other is None:
        return None
    o = other.outcome
    return {
        "metric": other.metric,
        "datasets": list(o.datasets),
        "mean_ranks": _mean_ranks(o),
        "friedman_p": _finite(o.friedman.p),
    }


def _pair(pair: Pair) -> dict[str, Any]:
    fields: dict[str, Any] = {
        name: getattr(pair, name)
        for name in ("a", "b", "wins", "ties", "losses", "difference")
    }
    fields |= {
        name: _finite(getattr(pair, name)) for name in ("p", "p_corrected", "p_sign")
    }
    fields["posterior"] = None
    # The key is always there, so that readers of JSON need not ask for it.
    if pair.posterior:
        fields["posterior"] = pair.posterior._asdict()
    return fields


def _finite(value: float) -> float | None:
    # JSON has no NaN, and strict readers refuse Python's.
    if math.isfinite(value):
        return value
    return None
