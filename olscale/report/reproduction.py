"""Published tables next to ours, and a ledger of their differences, for terminal and Markdown."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from olscale.analysis.ledger import (
    DIFFERING,
    VERDICTS,
    Cell,
    Ranks,
    Trial,
    figures,
    rank_methods,
)
from olscale.analysis.published import AFTER, CLOSE, LIMIT, REPRODUCED
from olscale.analysis.standing import looked_ahead
from olscale.analysis.summary import summarise
from olscale.report.labels import protocol_text
from olscale.report.marks import Mark, look_ahead_mark
from olscale.report.over_seeds import seed_tables
from olscale.report.selection import select
from olscale.report.tables import Entry, Table, tables
from olscale.results import Store
from olscale.results.settings import ExperimentSettings, Setting

MARKS = {
    "reproduced": "=",
    "compatible, wide": "~",
    "better": "<",
    "not reproduced": "x",
}
LEGEND = (
    f"= reproduced: within {LIMIT:g} joint standard deviations, sqrt(ours^2 + published^2), of "
    "the published mean, "
    f"and within {100 * CLOSE:g} % of it; ~ compatible, wide: within those deviations, which are "
    "wide, and further off; "
    "< better by more than those; x not reproduced. Below each of our figures, the published one."
)
SHOWN_TRIALS = 3


def published_tables(cells: Sequence[Cell]) -> list[Table]:
    """Return one table per published one: a line of ours and one of theirs per method."""
    results = []
    for name in dict.fromkeys(cell.published.table for cell in cells):
        of = {
            (cell.published.learner, cell.published.dataset): cell
            for cell in cells
            if cell.published.table == name
        }
        methods = list(dict.fromkeys(method for method, _ in of))
        datasets = list(dict.fromkeys(dataset for _, dataset in of))
        look_ahead = look_ahead_mark(
            item
            for cell in of.values()
            if cell.summary is not None
            for item in looked_ahead(cell.summary)
        )
        rows = []
        entries = []
        for method in methods:
            line = [of.get((method, dataset)) for dataset in datasets]
            # The published figures stand below ours, where the eye compares them; the
            # blanks make them belong to it.
            rows += [method, "  published"]
            entries += [
                tuple(_ours(cell, look_ahead) for cell in line),
                tuple(map(_theirs, line)),
            ]
        first = next(iter(of.values())).published
        results.append(
            Table(
                title=f"{first.source}, {name}: {_words(first.metric)} (%)",
                columns=tuple(datasets),
                rows=tuple(rows),
                entries=tuple(entries),
                notes=(LEGEND, *_notes(list(of.values()))),
            )
        )
    return results


def _words(metric: str) -> str:
    name, _, rows = metric.replace("_", " ").partition(AFTER)
    if rows:
        return f"{name} after {rows} rows"
    return name


def measured_tables(store: Store, asked: ExperimentSettings) -> list[Table]:
    """Return the tables of an experiment without published counterparts."""
    if asked.streams:
        return seed_tables(store, asked)
    summaries = figures(summarise(store, experiments=[asked.name]))
    return tables(
        select(
            [
                summary
                for setting in asked.settings
                for summary in summaries.get(setting.key, {}).values()
            ]
        )
    )


def _ours(cell: Cell | None, ahead: Mark) -> Entry:
    if cell is None:
        return Entry(note="-")
    if cell.summary is None:
        if cell.verdict == "not reproduced":
            # Without a figure only failed runs get this verdict.
            return Entry(note="failed x")
        return Entry(note=cell.verdict)
    std = "-"
    if cell.summary.n > 1:
        std = percent(cell.summary.std)
    return Entry(
        percent(cell.summary.mean),
        f"{std} {MARKS[cell.verdict]}",
        partial=bool(cell.summary.failures),
        marks=(ahead,) if looked_ahead(cell.summary) else (),
    )


def _theirs(cell: Cell | None) -> Entry:
    if cell is None:
        return Entry(note="-")
    published = cell.published
    if published.std is None:
        return Entry(percent(published.mean))
    # Two blanks where our line has the mark of its verdict, so that digits line up.
    return Entry(percent(published.mean), f"{percent(published.std)}  ")


def _notes(cells: Sequence[Cell]) -> list[str]:
    """Say what a table's figures rest on: runs, transforms, absences, failures."""
    notes = []
    runs = sorted({cell.summary.n for cell in cells if cell.summary is not None})
    if runs:
        notes.append(
            f"Means and sample standard deviations over {' or '.join(map(str, runs))} runs."
        )
    met = {
        cell.published.dataset: protocol_text(cell.setting.protocol)
        for cell in cells
        if cell.setting is not None
    }
    if len(set(met.values())) == 1:
        notes.append(f"Protocol: {next(iter(met.values()))}.")
    elif met:
        notes.append(
            "Protocol: "
            + "; ".join(f"{name} {how}" for name, how in sorted(met.items()))
            + "."
        )
    notes += _transform_notes(cells)
    # One note per data set that is absent, not one per method.
    absent = {
        cell.published.dataset: cell.reason
        for cell in cells
        if cell.verdict == "data absent"
    }
    notes += [f"{name}: data not present: {reason}." for name, reason in absent.items()]
    missing: dict[tuple[str, str], list[str]] = defaultdict(list)
    for cell in cells:
        if cell.verdict == "method absent":
            missing[cell.verdict, cell.reason].append(cell.published.learner)
        elif cell.verdict == "not run":
            missing[cell.verdict, cell.reason].append(cell.published.dataset)
    for (verdict, reason), names in missing.items():
        notes.append(f"{', '.join(dict.fromkeys(names))}: {verdict}: {reason}.")
    for cell in cells:
        if cell.reason and cell.verdict in (*DIFFERING, REPRODUCED):
            notes.append(
                f"! {cell.published.learner} on {cell.published.dataset}: {cell.reason}."
            )
    return notes


def _transform_notes(cells: Sequence[Cell]) -> list[str]:
    """Describe how the rows of each dataset were transformed, and for which methods otherwise."""
    met: dict[str, dict[str, str]] = defaultdict(dict)
    for cell in cells:
        if cell.setting is not None:
            met[cell.published.dataset][cell.published.learner] = (
                ", ".join(cell.setting.transforms) or "none"
            )
    usual = {
        dataset: Counter(by_method.values()).most_common(1)[0][0]
        for dataset, by_method in met.items()
    }
    if not usual:
        return []
    exceptions: dict[tuple[str, str], list[str]] = defaultdict(list)
    for learner in dict.fromkeys(cell.published.learner for cell in cells):
        own = {
            name: by_method[learner]
            for name, by_method in met.items()
            if by_method.get(learner, usual[name]) != usual[name]
        }
        # One sentence per kind of exception, instead of one per data set.
        for transforms in sorted(set(own.values())):
            exceptions[
                transforms,
                ", ".join(sorted(name for name in own if own[name] == transforms)),
            ].append(learner)
    return [
        "Transforms: "
        + "; ".join(f"{name} {usual[name]}" for name in sorted(usual))
        + ".",
        *(
            f"{', '.join(learners)} on {names}: transforms {transforms}."
            for (transforms, names), learners in exceptions.items()
        ),
    ]


def counts(cells: Iterable[Cell]) -> str:
    """Return the number of cells with each verdict, on one line."""
    number = Counter(cell.verdict for cell in cells)
    return "; ".join(
        f"{number[verdict]} {verdict}" for verdict in VERDICTS if number[verdict]
    )


def differences(cells: Iterable[Cell]) -> list[tuple[str, list[str]]]:
    """Return, for each cell that differs from the published one, a line on it and its causes."""
    return [
        (_difference(cell), _causes(cell))
        for cell in cells
        if cell.verdict in DIFFERING
    ]


def _difference(cell: Cell) -> str:
    published = cell.published
    name = f"{published.table}, {published.dataset}, {published.learner}"
    theirs = with_deviation(published.mean, published.std)
    # All of its runs failed: the reason stands in place of a figure.
    if cell.summary is None or cell.difference is None:
        return f"{name}: {cell.reason}, published {theirs}"
    our_text = with_deviation(cell.summary.mean, cell.summary.std)
    difference = cell.difference
    measured = (
        f"{difference.distance:+.1f} joint deviations, {100 * difference.relative:+.0f} %, "
        f"Welch's p {p_text(difference.p)}"
    )
    return f"{name}: {our_text}, published {theirs}: {cell.verdict} ({measured})"


def p_text(p: float) -> str:
    """Return a p value with two digits, or say that there is none."""
    if math.isnan(p):
        return "-"
    if p >= 0.001:
        return f"{p:.2g}"
    return "<0.001"


def _causes(cell: Cell) -> list[str]:
    # A cause found in one pass needs no second one; the sort keeps the nearest first.
    met = sorted(
        (trial for trial in cell.trials if trial.meets),
        key=lambda trial: _passes(trial.setting),
    )
    if met:
        more = ""
        if len(met) > SHOWN_TRIALS:
            more = f" and {len(met) - SHOWN_TRIALS} more"
        trials = "; ".join(_trial(trial, cell.setting) for trial in met[:SHOWN_TRIALS])
        return [
            f"met by {trials}{more} ({len(met)} of {_settings(len(cell.trials))} tried)"
        ]
    if cell.trials:
        return [
            f"nothing tried explains it ({_settings(len(cell.trials))}: {_tried(cell)}); nearest: "
            # Trials come nearest first.
            + _trial(cell.trials[0], cell.setting)
        ]
    return ["nothing tried yet"]


def _settings(count: int) -> str:
    if count == 1:
        return "1 setting"
    return f"{count} settings"


def _trial(trial: Trial, usual: Setting | None) -> str:
    error = with_deviation(trial.summary.mean, trial.summary.std)
    return f"{_unlike(trial.setting, usual)}: {error}"


def _unlike(setting: Setting, usual: Setting | None) -> str:
    """Say how a setting differs from the usual one."""
    parts = []
    if usual is None or setting.transforms != usual.transforms:
        parts.append("transforms " + (", ".join(setting.transforms) or "none"))
    our_params = dict(setting.params or {})
    theirs = {}
    if usual is not None:
        theirs = dict(usual.params or {})
    parts += [
        f"{name}={value(our_params[name])}"
        for name in sorted(our_params)
        if name not in theirs or our_params[name] != theirs[name]
    ]
    passes = _passes(setting)
    if usual is None or passes != _passes(usual):
        parts.append(f"{passes} passes" if passes != 1 else "1 pass")
    return ", ".join(parts) or "the same setting"


def _tried(cell: Cell) -> str:
    """Sum up the trials, one list per varied parameter."""
    transforms = sorted(
        {" + ".join(trial.setting.transforms) or "none" for trial in cell.trials}
    )
    passes = sorted({_passes(trial.setting) for trial in cell.trials})
    names = sorted(
        {name for trial in cell.trials for name in trial.setting.params or {}}
    )
    parts = [f"transforms {' | '.join(transforms)}"]
    for name in names:
        # Parameters with one value were not varied.
        values = {
            value((trial.setting.params or {}).get(name)) for trial in cell.trials
        }
        if len(values) > 1:
            parts.append(f"{name} {' | '.join(sorted(values, key=_number))}")
    parts.append(f"passes {' | '.join(map(str, passes))}")
    return ", ".join(parts)


def _passes(setting: Setting) -> int:
    return int(setting.protocol.get("passes", 1))


def _number(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return math.inf, text


def described(setting: Setting) -> str:
    """Return the parameters of a setting that differ from the defaults, and the tuning data."""
    # Only this page needs learners; tables of a store do not wait for numba.
    from olscale.learners.registry import make_learner

    params = dict(setting.params or {})
    usual = {}
    # A learner without a version is not installed here: nothing is known of its
    # defaults.
    if setting.version:
        usual = make_learner(setting.learner, {}).resolved_params()
    grid: dict[str, Any] = {}
    if setting.tuned:
        grid = dict(setting.tuned["grid"])
    shown = [
        f"{name}={value(params[name])}"
        for name in params
        if name in grid or params[name] != usual.get(name)
    ]
    return ", ".join(shown) or "defaults"


def rank_tables(cells: Sequence[Cell]) -> list[Table]:
    """Return the ranks of the methods, one table per metric; none for fewer than two methods."""
    results = []
    for metric in dict.fromkeys(cell.published.metric for cell in cells):
        ranks = rank_methods(cell for cell in cells if cell.published.metric == metric)
        if ranks is not None:
            results.append(rank_table(ranks, metric))
    return results


def rank_table(ranks: Ranks, metric: str) -> Table:
    """Return our ranks and the published ones, with means, and test results as notes."""
    entries = []
    for theirs, our_rank in zip(ranks.published, ranks.ours, strict=True):
        means = (sum(our_rank) / len(our_rank), sum(theirs) / len(theirs))
        entries.append(
            (
                Entry(f"{means[0]:.2f} ({means[1]:.2f})"),
                *(
                    Entry(f"{a:g} ({b:g})")
                    for a, b in zip(our_rank, theirs, strict=True)
                ),
            )
        )
    notes = [
        f"Ours (published). {100 * ranks.agreement:.0f} % of the pairs of methods are in the "
        "published order."
    ]
    if ranks.left_out:
        without = (
            f"{method} (none of {', '.join(datasets)})"
            for method, datasets in ranks.left_out.items()
        )
        notes.append(f"Left out for want of figures: {'; '.join(without)}.")
    # NaN, which equals nothing, where there are too few methods or tables for a test.
    if ranks.p == ranks.p:
        notes.append(
            f"Friedman test on our ranks: p = {ranks.p:.2g}; Nemenyi's critical difference of "
            "mean ranks at 5 %: "
            f"{ranks.critical:.2f}."
        )
    return Table(
        f"Ranks by {_words(metric)}",
        ("mean", *ranks.datasets),
        ranks.methods,
        tuple(entries),
        tuple(notes),
    )


def percent(fraction: float) -> str:
    """Return a fraction in percent with two digits."""
    return f"{100 * fraction:.2f}"


def with_deviation(mean: float, std: float | None) -> str:
    """Return ``mean ± std`` in percent."""
    if std is None:
        return percent(mean)
    return f"{percent(mean)} ± {percent(std)}"


def value(of: Any) -> str:
    """Return a parameter as a reader would type it; computed values have six digits."""
    if not isinstance(of, float):
        return str(of)
    text = repr(of).removesuffix(".0")
    if len(text) <= 12:  # longer ones are computed, such as 2 ** 0.5
        return text
    return f"{of:.6g}"
