"""Figures of a sweep: one per parameter, with a line per learner, and maps of two parameters."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from olscale.analysis.summary import Summary
from olscale.analysis.sweeps import Sweep, find_sweeps
from olscale.measures import HEADLINES
from olscale.report.figures import parameter_figure, surface_figure
from olscale.report.figures.words import metric_text, params_text
from olscale.report.gallery import Gallery, Part
from olscale.report.html import paragraphs
from olscale.report.panels import legible, rank_of
from olscale.report.papers.base import FigureSource

_MAPS = 6
"""Most maps of two parameters per stream: readers look at no more."""


def sweep_figures(
    title: str, group: Sequence[Summary], gallery: Gallery, source: FigureSource
) -> list[Part]:
    """Return a figure per parameter, with a line per learner, and a map per parameter pair."""
    metric = next(
        (name for name in HEADLINES if any(s.metric == name for s in group)), None
    )
    of_names: dict[tuple[str, ...], list[Sweep]] = defaultdict(list)
    for sweep in find_sweeps(s for s in group if s.metric == metric):
        of_names[sweep.names].append(sweep)
    parts: list[Part] = []
    for names, sweeps in of_names.items():
        if len(names) == 1:
            shown, note = legible(sweeps)
            parts.append(_lines(title, shown, note, gallery, source))
            continue
        best = sorted(sweeps, key=rank_of)[:_MAPS]
        parts += [
            _map(title, sweep, gallery)
            for sweep in sweeps
            if any(sweep is best_sweep for best_sweep in best)
        ]
        if hidden := [
            sweep.summary.label
            for sweep in sweeps
            if not any(sweep is best_sweep for best_sweep in best)
        ]:
            over = " and ".join(names)
            sentence = (
                f"Against {over} the {_MAPS} best of {len(sweeps)} learners are drawn, not "
                f"{', '.join(hidden)}."
            )
            parts.append(paragraphs([sentence], "note"))
    return parts


def _lines(
    title: str,
    shown: Mapping[str, Sweep],
    note: str,
    gallery: Gallery,
    source: FigureSource,
) -> Part:
    sweeps = list(shown.values())
    [name], metric = sweeps[0].names, sweeps[0].summary.metric
    if len(sweeps) == 1:
        caption = _caption(title, sweeps[0])
        of = f"{sweeps[0].summary.label}-{name}"
    else:
        best = ", ".join(
            f"{label} {params_text({name: item.summary.params[name]})}"
            for label, item in shown.items()
        )
        unlisted = (
            ""
            if all(len(item.summary.params) == 1 for item in sweeps)
            else ", its other parameters at their best"
        )
        caption = (
            f"{title}: {metric_text(metric)} of each learner against {name}{unlisted}{note}; "
            "best at "
            f"{best}."
        )
        of = name
    panel = {sweeps[0].summary.label if len(sweeps) == 1 else "": shown}
    return gallery.add(
        f"{title}-{of}",
        caption,
        parameter_figure,
        panel,
        "parameters",
        of_learner=source.looks,
    )


def _map(title: str, sweep: Sweep, gallery: Gallery) -> Part:
    learner = sweep.summary.label
    name = f"{title}-{learner}-{'-'.join(sweep.names)}"
    return gallery.add(
        name, _caption(title, sweep), surface_figure, {learner: sweep}, "parameters"
    )


def _caption(title: str, sweep: Sweep) -> str:
    learner = sweep.summary.label
    metric = sweep.summary.metric
    other_params = {
        name: value
        for name, value in sweep.summary.params.items()
        if name not in sweep.names
    }
    fixed = f", with {params_text(other_params)}" if other_params else ""
    best = params_text({name: sweep.summary.params[name] for name in sweep.names})
    return (
        f"{title}: {metric_text(metric)} of {learner} against "
        f"{' and '.join(sweep.names)}{fixed}; best at {best}."
    )
