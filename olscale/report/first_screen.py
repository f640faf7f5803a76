"""What a report shows first: what was run, who wins, how sure that is, and what failed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np

from olscale.analysis.compare import LEAST, Comparison
from olscale.analysis.curves import Curve
from olscale.analysis.live import LiveLearner
from olscale.analysis.status import Status
from olscale.arrays import FloatArray
from olscale.measures import figure_of
from olscale.report.comparison import Compared
from olscale.report.comparison_tables import p_text, too_few_note
from olscale.report.html import first_screen_html, json_html
from olscale.report.labels import heading, metric_text, protocol_parts
from olscale.report.mcnemar import RowsCompared, rows_data
from olscale.report.palette import BASELINES, DASH_LENGTHS, Look
from olscale.report.papers.base import FigureSource
from olscale.results.settings import SettingKey
from olscale.version import __version__

_POINTS = 32
"""Points of a sparkline."""

_MOST = 12
"""Most learners of the leaderboard."""

_FAR = 3.0
"""Sparklines that end above this multiple of the best one are cut at their upper edge."""


class Card(NamedTuple):
    """A figure that stands out: what it is, its value, and a word on it."""

    name: str
    value: str
    note: str = ""
    link: str = ""
    kind: str = ""


def first_screen(
    source: FigureSource,
    status: Status,
    comparisons: Sequence[Compared],
    link: Mapping[str, str],
) -> str:
    """Return the head of a report as HTML.

    Parameters
    ----------
    source : FigureSource
    status : Status
    comparisons : sequence of Compared
        The first is the one that the leaderboard shows.
    link : mapping of str to str
        The anchors of ``ranks`` and ``failed``, where the page has these sections.
    """
    cards = _cards(source, status, comparisons, link)
    board: dict[str, Any] = {}
    if comparisons:
        board = _leaderboard(source, comparisons[0])
    return first_screen_html(_made(status), cards, board)


def leaderboard_html(source: FigureSource, one: Compared) -> str:
    """Return the leaderboard of a comparison by itself."""
    return first_screen_html("", [], _leaderboard(source, one))


def looks_of_comparison(source: FigureSource, one: Compared) -> dict[str, Look]:
    """Return the looks of the learners that a comparison shows, by their names in it."""
    dataset = one.outcome.datasets[0]
    shown = [name for name in one.outcome.learners if name in one.shown]
    return source.looks.of({name: one.settings(name, dataset)[0] for name in shown})


def comparison_data(one: Compared, on_rows: Sequence[RowsCompared] = ()) -> str:
    """Return the figures of a comparison as JSON, by which a page compares two learners.

    Parameters
    ----------
    one : Compared
    on_rows : sequence of RowsCompared
        McNemar's tests of its learners, where the protocol asks for them.
    """
    outcome = one.outcome.part(one.shown)
    values = [
        [figure_of(one.metric, float(value)) for value in of_learner]
        for of_learner in outcome.values.T
    ]
    return json_html(
        {
            "metric": heading(one.metric),
            "datasets": list(outcome.datasets),
            "learners": list(outcome.learners),
            "values": values,
            "mcnemar": rows_data(on_rows, outcome.learners),
        }
    )


def _made(status: Status) -> str:
    """Say when the runs ended and what made them: the same store gives the same words."""
    when = ""
    if status.last_finished:
        when = f"Last run {status.last_finished:%Y-%m-%d %H:%M} UTC. "
    return f"{when}olscale {__version__}."


def _cards(
    source: FigureSource,
    status: Status,
    comparisons: Sequence[Compared],
    link: Mapping[str, str],
) -> list[Card]:
    total = sum(status.outcomes.values())
    good = status.outcomes.get("ok", 0)
    cards = [Card("runs", f"{good:,}", f"ok, of {total:,}")]
    if total > good:
        outcomes = [
            f"{n:,} {name}" for name, n in status.outcomes.items() if name != "ok"
        ]
        cards.append(
            Card(
                "failed",
                f"{total - good:,}",
                ", ".join(outcomes),
                link.get("failed", ""),
                "failed",
            )
        )
    finished = sum(p.done for p in status.experiments)
    planned = sum(p.total for p in status.experiments)
    if planned > finished:
        cards.append(
            Card("to do", f"{planned - finished:,}", f"of {planned:,} planned runs")
        )
    cards.append(Card("data sets", f"{len(status.datasets):,}", _few(status.datasets)))
    cards.append(Card("learners", f"{len(status.learners):,}", _few(status.learners)))
    if comparisons:
        cards.append(_leader(comparisons[0], link.get("ranks", "")))
    measured = defaultdict(list)
    for s in source.summaries:
        # Baselines learn next to nothing: being fastest is no news of them.
        if s.metric == "rows_per_cpu_second" and s.n and s.learner not in BASELINES:
            measured[s.label].append(s.mean)
    speeds = {name: _typical(values) for name, values in measured.items()}
    if len(speeds) > 1:
        fast = max(speeds, key=speeds.__getitem__)
        slow = min(speeds, key=speeds.__getitem__)
        note = f"{_rate(speeds[fast])} rows/s; slowest {slow}: {_rate(speeds[slow])}"
        cards.append(Card("fastest", fast, note))
    return cards


def _leader(one: Compared, link: str) -> Card:
    outcome = one.outcome
    p = outcome.friedman.p
    sure = "too few data sets to test"
    if outcome.tested and not math.isnan(p):
        sure = f"Friedman p {p_text(p, '= ')} over {len(outcome.datasets)} data sets"
    name = outcome.learners[0]
    return Card("best mean rank", name, f"{outcome.mean_ranks[0]:.2f}; {sure}", link)


def _few(names: Mapping[str, int], most: int = 3) -> str:
    shown = list(names)[:most]
    if len(names) > most:
        return f"{', '.join(shown)}, ..."
    return ", ".join(shown)


def _typical(speeds: Sequence[float]) -> float:
    """Return the geometric mean: speeds on data sets differ by factors."""
    return float(np.exp(np.mean(np.log(speeds))))


def _rate(value: float) -> str:
    return f"{value:,.0f}"


def _leaderboard(source: FigureSource, one: Compared) -> dict[str, Any]:
    outcome = one.outcome.part(one.shown)
    shown = list(outcome.learners)[:_MOST]
    letters = _letters(outcome.cliques)
    if _none_differ(one.outcome):
        # One letter in every row is a column that says nothing.
        letters = {}
    looks = looks_of_comparison(source, one)
    sparks = _sparklines(source, one, shown)
    speeds = {
        s.key: s.mean
        for s in source.summaries
        if s.metric == "rows_per_cpu_second" and s.n
    }
    # Equal learners share a rank, which is then above 1, and both are the best.
    least_ranks = one.outcome.ranks.min(axis=1)
    rows = []
    for i, name in enumerate(shown):
        look = looks[name]
        dash = DASH_LENGTHS[look["linestyle"]]
        speed = [speeds[s.key] for s in one.behind(name) if s.key in speeds]
        rows.append(
            {
                "place": i + 1,
                "name": name,
                "colour": look["color"],
                "dash": "" if not dash[1] else " ".join(map(str, dash)),
                "rank": f"{outcome.mean_ranks[i]:.2f}",
                "group": letters.get(name, ""),
                "mean": figure_of(one.metric, float(outcome.values[:, i].mean())),
                "wins": int((outcome.ranks[:, i] == least_ranks).sum()),
                "spark": sparks.get(name, ""),
                "speed": _rate(_typical(speed)) if speed else "-",
            }
        )
    return {
        "heading": metric_text(one.metric),
        "chips": protocol_parts(one.protocol),
        "rows": rows,
        "grouped": bool(letters),
        "verdict": _verdict(one.outcome, letters),
        "datasets": len(outcome.datasets),
        "every": len(one.outcome.learners),
        "has_sparks": bool(sparks),
    }


def _verdict(outcome: Comparison, letters: Mapping[str, str]) -> str:
    """Say what the tests of pairs found, as far as a leaderboard shows it."""
    if len(outcome.datasets) < LEAST:
        return f"With fewer than {LEAST} data sets nothing is tested."
    too_few = "".join(f" {note}" for note in too_few_note(outcome))
    if _none_differ(outcome):
        return f"No two learners differ significantly.{too_few}"
    if not letters:
        return "Every two differ significantly."
    return f"Learners that share a letter do not differ significantly.{too_few}"


def _none_differ(outcome: Comparison) -> bool:
    """Return whether all learners are in one group."""
    return any(len(clique) == len(outcome.learners) for clique in outcome.cliques)


def _letters(cliques: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return the letters of each learner: two that share one do not differ significantly."""
    letters: dict[str, str] = {}
    # More than 26 groups are no help to readers: the others go without a letter.
    for letter, clique in zip(ascii_lowercase, cliques, strict=False):
        for name in clique:
            letters[name] = letters.get(name, "") + letter
    return letters


def _sparklines(
    source: FigureSource, one: Compared, shown: Sequence[str]
) -> dict[str, str]:
    """Return the points of each learner's mean error along the streams, as SVG has them.

    The mean is over the data sets that all of them have a curve on; the height is common to all.
    """
    curves = _curves(source, one, shown)
    lines = {}
    for name in shown:
        of_learner = [
            _resampled(curves[s.key]) for s in one.behind(name) if s.key in curves
        ]
        if of_learner:
            lines[name] = np.mean(of_learner, axis=0)
    if not lines:
        return {}
    # Early errors are mostly chance, and a learner far above the best would flatten the others.
    least = min(float(line[-1]) for line in lines.values())
    near = [line for line in lines.values() if line[-1] <= _FAR * least]
    later = np.array([line[_POINTS // 8 :] for line in near])
    low = float(later.min())
    # The worst of the others ends at half the height or below.
    worst = max(float(line[-1]) for line in near)
    high = max(float(np.quantile(later, 0.9)), 2 * worst - low)
    span = max(high - low, 1e-9)
    texts = {}
    for name, line in lines.items():
        # The box is 96 wide and 22 high, in SVG's coordinates, whose y grows downwards;
        # a margin keeps lines whole at the edges.
        heights = 20 - 18 * np.clip((line - low) / span, 0, 1)
        texts[name] = " ".join(
            f"{96 * i / (_POINTS - 1):.1f},{height:.1f}"
            for i, height in enumerate(heights)
        )
    return texts


def _curves(
    source: FigureSource, one: Compared, shown: Sequence[str]
) -> dict[SettingKey, Curve]:
    """Return the error along the stream of the settings behind a comparison's figures."""
    # A comparison by the test error has no curve of its own; that along the stream
    # stands for it.
    metric = "rmse" if one.metric.endswith("rmse") else "cumulative_error"
    keys = {s.key for name in shown for s in one.behind(name)}
    of_metric = [
        s for s in source.summaries if s.metric == metric and s.n and s.key in keys
    ]
    return {curve.summary.key: curve for curve in source.curves(of_metric, metric)}


def curves_by_dataset(
    source: FigureSource, one: Compared, most: int
) -> dict[str, list[LiveLearner]]:
    """Return the lines of the learners of a comparison on its first `most` data sets."""
    sets = {}
    for dataset, curves in curves_for_paper(source, one, most).items():
        lines = []
        for name, curve in curves.items():
            errors = curve.errors.mean(axis=0).tolist()
            line = LiveLearner(
                label=name,
                runs=len(curve.errors),
                done=len(curve.errors),
                failed=0,
                error=errors[-1],
                metric=curve.summary.metric,
                stream="",
                rows=curve.rows.tolist(),
                errors=errors,
                name=curve.summary.label,
            )
            lines.append(line)
        sets[dataset] = lines
    return sets


def curves_for_paper(
    source: FigureSource, one: Compared, most: int
) -> dict[str, dict[str, Curve]]:
    """Return the curves of the learners of a comparison, by name, on its first `most` data sets."""
    shown = [name for name in one.outcome.learners if name in one.shown]
    curves = _curves(source, one, shown)
    sets = {}
    for dataset in one.outcome.datasets[:most]:
        keys = {name: one.settings(name, dataset)[0].key for name in shown}
        if of_dataset := {
            name: curves[key] for name, key in keys.items() if key in curves
        }:
            sets[dataset] = of_dataset
    return sets


def _resampled(curve: Curve) -> FloatArray:
    """Return the mean error of a curve at equal steps of its stream."""
    # Without the first rows, where an error is 0 or 1 by chance.
    at = np.linspace(0.03, 1.0, _POINTS) * curve.rows[-1]
    errors: FloatArray = np.interp(at, curve.rows, curve.errors.mean(axis=0))
    return errors
