"""Names of series for people: what they all share is left out."""

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from olscale.jobs.series import NightSeries
from olscale.report.wording import value_text


def short_names(series: Iterable[NightSeries]) -> dict[str, str]:
    """Return a short name for the name of each series.

    Of parameters those are in it that differ among the settings of a learner; of transforms and
    protocols likewise.

    Examples
    --------
    >>> settings = [("xor", "bias", "pa1", f'{{"C": {C}, "dtype": "float64"}}', "{}") for C in (0.5, 1.0)]
    >>> list(short_names(NightSeries("error", f"{s}", setting=s) for s in settings).values())
    ['pa1 C=0.5 on xor', 'pa1 C=1 on xor']
    """
    found = {one.name: one.setting for one in series}
    settings = [setting for setting in found.values() if setting]
    values: dict[tuple[str, str], set[str]] = defaultdict(set)
    ways: dict[str, set[str]] = defaultdict(set)
    for dataset, transforms, learner, params, _ in settings:
        ways[dataset].add(transforms)
        for name, value in _params(params).items():
            values[learner, name].add(json.dumps(value))
    several = len({setting[4] for setting in settings}) > 1

    def short(dataset: str, transforms: str, learner: str, params: str, protocol: str) -> str:
        own = [
            f"{name}={value_text(value)}"
            for name, value in _params(params).items()
            if len(values[learner, name]) > 1
        ]
        way = [f"({transforms or 'raw'})"] if len(ways[dataset]) > 1 else []
        return " ".join([learner, *own, "on", dataset, *way, *([protocol] if several else [])])

    return {name: short(*setting) if setting else name for name, setting in found.items()}


def _params(text: str) -> dict[str, Any]:
    params: dict[str, Any] = json.loads(text or "{}")
    return params
