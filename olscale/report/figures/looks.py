"""One look per learner in all figures of a report.

Colour and mark identify the learner; dashes and shade identify the setting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from olscale.analysis.curves import AlongStream
from olscale.analysis.summary import Summary, one_of_each_setting
from olscale.analysis.sweeps import Sweep
from olscale.report.figures.style import COLOURS, DASHES, MARKERS
from olscale.report.labels import Row, rows_of

Look = dict[str, Any]
"""Keywords of a matplotlib line: colour, dashes and marker."""

_Shown = Mapping[str, Summary] | Mapping[str, AlongStream] | Mapping[str, Sweep]

_SHADES = (0.0, 0.35, 0.55, 0.7)
"""How far settings of one learner are mixed with white; each shade serves four dash patterns."""


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """Return a look for each label by itself, where labels are no learners.

    Examples
    --------
    >>> looks(["sequential", "offline"])["offline"]
    {'color': '#d55e00', 'linestyle': '--', 'marker': 's'}
    """
    return {label: _look(i, 0) for i, label in enumerate(dict.fromkeys(labels))}


def looks_of(shown: _Shown, of_learner: Looks | None) -> dict[str, Look]:
    """Return the looks that the learners of a figure have in other figures too, if these are given.

    Otherwise they follow the order of the labels.
    """
    if of_learner is None:
        return looks(shown)
    return of_learner.of(shown)


class Looks:
    """The looks of a store's learners, the same in every figure.

    Parameters
    ----------
    summaries : iterable of Summary
        All that figures may show.
    """

    def __init__(self, summaries: Iterable[Summary] = ()) -> None:
        settings = one_of_each_setting(summaries)
        rows = sorted({rows_of(s)[0] for s in settings}, key=Row.order)
        self._learners = {
            label: i for i, label in enumerate(dict.fromkeys(row.label for row in rows))
        }

    def of(self, shown: _Shown) -> dict[str, Look]:
        """Return the looks of what a figure shows, by its label there."""
        by_label = {}
        settings = Counter[str]()
        for label, item in shown.items():
            summary = item
            if not isinstance(summary, Summary):
                summary = summary.summary
            name = summary.label
            learner = self._learners.setdefault(name, len(self._learners))
            by_label[label] = _look(learner, settings[name])
            settings[name] += 1
        return by_label


def _look(learner: int, setting: int) -> Look:
    return {
        "color": _shaded(
            COLOURS[learner % len(COLOURS)], _SHADES[setting // len(DASHES) % len(_SHADES)]
        ),
        # By learner too, since grey print leaves no colours to tell learners apart.
        "linestyle": DASHES[(learner + setting) % len(DASHES)],
        "marker": MARKERS[learner % len(MARKERS)],
    }


def _shaded(colour: str, share: float) -> str:
    """Return a colour mixed with a share of white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part + share * (255 - part)):02x}" for part in parts)
