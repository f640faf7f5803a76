"""One look per learner in all figures of a report: who gets which line of the palette."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from olscale.analysis.curves import AlongStream
from olscale.analysis.summary import Summary, one_of_each_setting
from olscale.analysis.sweeps import Sweep
from olscale.measures import distance_from_best
from olscale.report.labels import Row, column_of, rows_of
from olscale.report.palette import BASELINES, COLOURS, Look, baseline_look, series_look

_ERRORS = ("test_error", "cumulative_error", "test_rmse", "rmse")
"""By what learners are put in order for colours and legends."""

_Shown = Mapping[str, Summary] | Mapping[str, AlongStream] | Mapping[str, Sweep]


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """Return a look for each label by itself, where labels are no learners.

    Examples
    --------
    >>> looks(["sequential", "offline"])["offline"]
    {'color': '#dd7700', 'linestyle': '-', 'marker': 's'}
    """
    return {label: series_look(i) for i, label in enumerate(dict.fromkeys(labels))}


def looks_of(shown: _Shown, of_learner: Looks | None) -> dict[str, Look]:
    """Return the looks that the learners of a figure have in other figures too, if these are given.

    Otherwise they follow the order of the labels.
    """
    if of_learner is None:
        return looks(shown)
    return of_learner.of(shown)


class Looks:
    """The looks of a store's learners, the same in every figure.

    Up to ten learners have their colours in the order of the store's experiments, as live views
    have them; of more, the best of the store come first, since these are the ones that are shown.
    Baselines are grey.

    Parameters
    ----------
    summaries : iterable of Summary
        All that figures may show.
    """

    def __init__(self, summaries: Iterable[Summary] = ()) -> None:
        every = list(summaries)
        rows = sorted(
            {rows_of(s)[0] for s in one_of_each_setting(every)}, key=Row.order
        )
        self._baselines: dict[str, int] = {}
        self._learners: dict[str, int] = {}
        for row in rows:
            self._add(row.label, row.learner)
        self._places = _mean_places(every)
        # Colours repeat after the last one: the learners that are shown together must
        # not share one.
        if len(self._learners) > len(COLOURS):
            best_first = sorted(
                self._learners, key=lambda label: self._places.get(label, 1.0)
            )
            self._learners = {label: i for i, label in enumerate(best_first)}

    def of(self, shown: _Shown) -> dict[str, Look]:
        """Return the looks of what a figure shows, by its label there."""
        by_label = {}
        settings = Counter[str]()
        for label, item in shown.items():
            summary = item
            if not isinstance(summary, Summary):
                summary = summary.summary
            name = summary.label
            self._add(name, summary.learner)
            if name in self._baselines:
                by_label[label] = baseline_look(self._baselines[name] + settings[name])
            else:
                by_label[label] = series_look(self._learners[name], settings[name])
            # Several settings of a learner have its colour, and dashes of their own.
            settings[name] += 1
        return by_label

    def in_order(self, labels: Iterable[str], shown: _Shown) -> list[str]:
        """Return labels by the mean place of their learners; baselines come last.

        Legends have the same order in all figures.
        """
        place = {}
        for label, item in shown.items():
            summary = item
            if not isinstance(summary, Summary):
                summary = summary.summary
            is_baseline = summary.label in self._baselines
            place[label] = (is_baseline, self._places.get(summary.label, 1.0))
        return sorted(labels, key=place.__getitem__)

    def _add(self, label: str, learner: str) -> None:
        """Give a learner that is new the next look of its kind."""
        of_kind = self._learners
        if learner in BASELINES:
            of_kind = self._baselines
        of_kind.setdefault(label, len(of_kind))


def _mean_places(summaries: Iterable[Summary]) -> dict[str, float]:
    """Return the mean place of each learner over data sets, from 0 for the best to 1."""
    best: dict[tuple[object, str], dict[str, float]] = defaultdict(dict)
    for s in summaries:
        if s.metric in _ERRORS and s.n:
            of_learner = best[column_of(s), s.metric]
            distance = distance_from_best(s.metric, s.mean)
            # A learner with several settings has the place of its best.
            of_learner[s.label] = min(distance, of_learner.get(s.label, distance))
    places: dict[str, list[float]] = defaultdict(list)
    for distances in best.values():
        for place, label in enumerate(sorted(distances, key=distances.__getitem__)):
            # As a share, since data sets have different numbers of learners.
            places[label].append(place / len(distances))
    return {label: sum(of) / len(of) for label, of in places.items()}
